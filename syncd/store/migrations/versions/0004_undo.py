"""For reverts: the run that a run reverts, and the owners that runs changed. And feeds that are paused."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("feed", sa.Column("paused", sa.String()))
    op.add_column("run", sa.Column("reverts", sa.Integer()))
    op.add_column("run", sa.Column("repeats", sa.Integer()))
    op.create_table(
        "run_owner",
        sa.Column("run_id", sa.Integer(), sa.ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("job_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("feed_id", sa.Integer()),
        sa.Column("left_id", sa.Integer()),
        sa.Column("job_version", sa.Integer()),
        sa.Column("sent", sa.Text()),
    )
