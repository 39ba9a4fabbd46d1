"""Sources of feeds: what was seen there, how the last turns ended, and when the next one is."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_table(
        "source",
        sa.Column("feed", sa.String(), primary_key=True),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("seen", sa.Text(), nullable=False),
        sa.Column("succeeded_at", sa.BigInteger()),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failing_since", sa.BigInteger()),
        sa.Column("reason", sa.Text()),
        sa.Column("next_at", sa.BigInteger()),
    )
