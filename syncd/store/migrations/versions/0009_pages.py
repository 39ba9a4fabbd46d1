"""For the pages of the operator: how many jobs there were by day, and how many active jobs each feed owns."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "job_day",
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("status", sa.String(10), primary_key=True),
        sa.Column("n", sa.Integer(), nullable=False),
    )
    op.drop_index("ix_feed_job_feed_id_job_id", "feed_job")
    op.create_index("ix_feed_job_feed_id_job_id_active", "feed_job", ["feed_id", "job_id", "active"])
