"""How many active jobs each feed owns, by day."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.create_table(
        "feed_day",
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("feed_id", sa.Integer(), sa.ForeignKey("feed.id"), primary_key=True),
        sa.Column("active", sa.Integer(), nullable=False),
    )
