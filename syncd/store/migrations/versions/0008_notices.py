"""Notices for the operator, and those that are still to be sent."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "notice",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("key", sa.String(32), nullable=False),
        sa.Column("event", sa.String(32), nullable=False),
        sa.Column("feed", sa.String()),
        sa.Column("run_id", sa.Integer()),
        sa.Column("state", sa.String()),
        sa.Column("reason", sa.Text()),
        sa.Column("counts", sa.Text()),
        sa.Column("over", sa.String(32)),
        sa.Column("holds", sa.String()),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("key", name="uq_notice_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_notice_feed_id", "notice", ["feed", "id"])
    op.create_table(
        "outbox",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("way", sa.String(), nullable=False),
        sa.Column("notice_id", sa.Integer(), sa.ForeignKey("notice.id", ondelete="CASCADE"), nullable=False),
        sa.Column("feed", sa.String(), nullable=False),
        sa.Column("message", sa.String(32)),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("due", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("sent_at", sa.BigInteger()),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_way_sent_at_feed_id", "outbox", ["way", "sent_at", "feed", "id"])
    op.create_index("ix_outbox_notice_id", "outbox", ["notice_id"])
