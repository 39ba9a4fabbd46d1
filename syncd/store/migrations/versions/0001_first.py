"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "counter",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_counter")),
    )
    op.create_table(
        "employer",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("unlimited", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_employer")),
        sa.UniqueConstraint("name", name=op.f("uq_employer_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "history",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("employer_id", sa.Integer(), nullable=False),
        sa.Column("reference_id", sa.String(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.String(length=10), nullable=False),
        sa.Column("actor_id", sa.Integer(), nullable=True),
        sa.Column("run_id", sa.Integer(), nullable=True),
        sa.Column("action", sa.String(length=12), nullable=False),
        sa.Column("before", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_history")),
    )
    op.create_index(op.f("ix_history_job_id_id"), "history", ["job_id", "id"], unique=False)
    op.create_index(
        "ix_history_run", "history", ["run_id"], unique=False, sqlite_where=sa.text("run_id IS NOT NULL")
    )
    op.create_table(
        "setting",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_setting")),
    )
    op.create_table(
        "api_key",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("employer_id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["employer_id"], ["employer.id"], name=op.f("fk_api_key_employer_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_key")),
        sa.UniqueConstraint("digest", name=op.f("uq_api_key_digest")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_api_key_employer_id"), "api_key", ["employer_id"], unique=False)
    op.create_table(
        "feed",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("employer_id", sa.Integer(), nullable=False),
        sa.Column("settings_digest", sa.String(), nullable=True),
        sa.Column("disturbed", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["employer_id"], ["employer.id"], name=op.f("fk_feed_employer_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_feed")),
        sqlite_autoincrement=True,
    )
    op.create_index("uq_feed_name", "feed", ["name", "employer_id"], unique=True)
    op.create_table(
        "job",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("employer_id", sa.Integer(), nullable=False),
        sa.Column("reference_id", sa.String(length=50), nullable=True),
        sa.Column("title", sa.String(length=256), nullable=False),
        sa.Column("published_at", sa.BigInteger(), nullable=False),
        sa.Column("publish_date", sa.String(length=10), nullable=False),
        sa.Column("close_date", sa.String(length=10), nullable=False),
        sa.Column("close_origin", sa.String(length=10), nullable=False),
        sa.Column("confidential", sa.Boolean(), nullable=False),
        sa.Column("auto_refresh", sa.Boolean(), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("locations", sa.Text(), nullable=False),
        sa.Column("categories", sa.Text(), nullable=False),
        sa.Column("position_type", sa.Integer(), nullable=True),
        sa.Column("salary_amount", sa.String(), nullable=True),
        sa.Column("salary_max", sa.String(), nullable=True),
        sa.Column("salary_period", sa.Integer(), nullable=True),
        sa.Column("salary_commission", sa.Boolean(), nullable=True),
        sa.Column("routing", sa.Integer(), nullable=True),
        sa.Column("application_email", sa.String(length=50), nullable=True),
        sa.Column("application_url", sa.String(length=200), nullable=True),
        sa.Column("archived_by", sa.String(length=10), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("search", sa.String(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["employer_id"], ["employer.id"], name=op.f("fk_job_employer_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
    )
    op.create_index(
        "ix_job_close", "job", ["close_date"], unique=False, sqlite_where=sa.text("status = 'active'")
    )
    op.create_index(
        "ix_job_list", "job", ["employer_id", "published_at", "id", "status", "search"], unique=False
    )
    op.create_index(
        "ix_job_refresh",
        "job",
        ["published_at"],
        unique=False,
        sqlite_where=sa.text("auto_refresh AND status = 'active'"),
    )
    op.create_index("ix_job_status", "job", ["employer_id", "status", "published_at", "id"], unique=False)
    op.create_index("uq_job_reference", "job", ["employer_id", "reference_id"], unique=True)
    op.create_table(
        "job_total",
        sa.Column("employer_id", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["employer_id"], ["employer.id"], name=op.f("fk_job_total_employer_id")),
        sa.PrimaryKeyConstraint("employer_id", "status", name=op.f("pk_job_total")),
    )
    op.create_table(
        "place",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=256), nullable=False),
        sa.Column("province", sa.String(length=2), nullable=True),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("population", sa.Integer(), nullable=False),
        sa.Column("employer_id", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["employer_id"], ["employer.id"], name=op.f("fk_place_employer_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_place")),
    )
    op.create_index(op.f("ix_place_employer_id"), "place", ["employer_id"], unique=False)
    op.create_index(op.f("ix_place_key_province"), "place", ["key", "province"], unique=False)
    op.create_table(
        "feed_job",
        sa.Column("job_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("feed_id", sa.Integer(), nullable=False),
        sa.Column("reference_id", sa.String(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("job_version", sa.Integer(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("touched", sa.Boolean(), nullable=False),
        sa.Column("due", sa.String(length=10), nullable=True),
        sa.ForeignKeyConstraint(["feed_id"], ["feed.id"], name=op.f("fk_feed_job_feed_id")),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_feed_job_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_feed_job")),
    )
    op.create_index(op.f("ix_feed_job_feed_id_digest"), "feed_job", ["feed_id", "digest"], unique=False)
    op.create_index(op.f("ix_feed_job_feed_id_job_id"), "feed_job", ["feed_id", "job_id"], unique=False)
    op.create_table(
        "feed_miss",
        sa.Column("feed_id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["feed_id"], ["feed.id"], name=op.f("fk_feed_miss_feed_id")),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_feed_miss_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("feed_id", "job_id", name=op.f("pk_feed_miss")),
    )
    op.create_index(op.f("ix_feed_miss_job_id"), "feed_miss", ["job_id"], unique=False)
    op.create_table(
        "feed_sent",
        sa.Column("job_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sent", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_feed_sent_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_feed_sent")),
    )
    op.create_table(
        "reply",
        sa.Column("key_id", sa.Integer(), nullable=False),
        sa.Column("idempotency_key", sa.String(length=255), nullable=False),
        sa.Column("request_digest", sa.LargeBinary(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("headers", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["key_id"], ["api_key.id"], name=op.f("fk_reply_key_id")),
        sa.PrimaryKeyConstraint("key_id", "idempotency_key", name=op.f("pk_reply")),
    )
    op.create_index(op.f("ix_reply_at"), "reply", ["at"], unique=False)
    op.create_table(
        "run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("feed_id", sa.Integer(), nullable=False),
        sa.Column("employer_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("file", sa.String(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("holds", sa.String(), nullable=True),
        sa.Column("withheld", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("sha256", sa.String(), nullable=True),
        sa.Column("claimed_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("counts", sa.String(), nullable=False),
        sa.Column("phases", sa.String(), nullable=False),
        sa.Column("claimed_name", sa.String(), nullable=True),
        sa.Column("checkpoint", sa.String(), nullable=True),
        sa.Column("died_at", sa.String(), nullable=True),
        sa.Column("deaths", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["employer_id"], ["employer.id"], name=op.f("fk_run_employer_id")),
        sa.ForeignKeyConstraint(["feed_id"], ["feed.id"], name=op.f("fk_run_feed_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_run_feed_id_id"), "run", ["feed_id", "id"], unique=False)
    op.create_index(op.f("ix_run_feed_id_sha256"), "run", ["feed_id", "sha256"], unique=False)
    op.create_index(op.f("ix_run_state"), "run", ["state"], unique=False)
    op.create_table(
        "run_plan",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_run_plan_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run_plan")),
    )
    op.create_table(
        "run_rejected",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("record", sa.Integer(), nullable=False),
        sa.Column("line", sa.Integer(), nullable=True),
        sa.Column("reference_id", sa.String(), nullable=True),
        sa.Column("errors", sa.Text(), nullable=False),
        sa.Column("member", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_run_rejected_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run_rejected")),
    )
    op.create_index(op.f("ix_run_rejected_run_id"), "run_rejected", ["run_id"], unique=False)
    op.create_table(
        "run_unknown",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("found", sa.Text(), nullable=False),
        sa.Column("toml", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_run_unknown_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run_unknown")),
    )
    op.create_table(
        "run_warning",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("record", sa.Integer(), nullable=True),
        sa.Column("reference_id", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_run_warning_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run_warning")),
    )
    op.create_index(op.f("ix_run_warning_run_id"), "run_warning", ["run_id"], unique=False)
    # ### end Alembic commands ###


def downgrade() -> None:
    op.drop_index(op.f("ix_run_warning_run_id"), table_name="run_warning")
    op.drop_table("run_warning")
    op.drop_table("run_unknown")
    op.drop_index(op.f("ix_run_rejected_run_id"), table_name="run_rejected")
    op.drop_table("run_rejected")
    op.drop_table("run_plan")
    op.drop_index(op.f("ix_run_state"), table_name="run")
    op.drop_index(op.f("ix_run_feed_id_sha256"), table_name="run")
    op.drop_index(op.f("ix_run_feed_id_id"), table_name="run")
    op.drop_table("run")
    op.drop_index(op.f("ix_reply_at"), table_name="reply")
    op.drop_table("reply")
    op.drop_table("feed_sent")
    op.drop_index(op.f("ix_feed_miss_job_id"), table_name="feed_miss")
    op.drop_table("feed_miss")
    op.drop_index(op.f("ix_feed_job_feed_id_job_id"), table_name="feed_job")
    op.drop_index(op.f("ix_feed_job_feed_id_digest"), table_name="feed_job")
    op.drop_table("feed_job")
    op.drop_index(op.f("ix_place_key_province"), table_name="place")
    op.drop_index(op.f("ix_place_employer_id"), table_name="place")
    op.drop_table("place")
    op.drop_table("job_total")
    op.drop_index("uq_job_reference", table_name="job")
    op.drop_index("ix_job_status", table_name="job")
    op.drop_index(
        "ix_job_refresh", table_name="job", sqlite_where=sa.text("auto_refresh AND status = 'active'")
    )
    op.drop_index("ix_job_list", table_name="job")
    op.drop_index("ix_job_close", table_name="job", sqlite_where=sa.text("status = 'active'"))
    op.drop_table("job")
    op.drop_index("uq_feed_name", table_name="feed")
    op.drop_table("feed")
    op.drop_index(op.f("ix_api_key_employer_id"), table_name="api_key")
    op.drop_table("api_key")
    op.drop_table("setting")
    op.drop_index("ix_history_run", table_name="history", sqlite_where=sa.text("run_id IS NOT NULL"))
    op.drop_index(op.f("ix_history_job_id_id"), table_name="history")
    op.drop_table("history")
    op.drop_table("employer")
    op.drop_table("counter")
    # ### end Alembic commands ###
