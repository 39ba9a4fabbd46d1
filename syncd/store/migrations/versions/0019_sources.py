"""Sources of feeds: the state of each after its last turn."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.create_table(
        "source",
        sa.Column("feed", sa.String(), primary_key=True),
        sa.Column("state", sa.Text(), nullable=False),
    )
