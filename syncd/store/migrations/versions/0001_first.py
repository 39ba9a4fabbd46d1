"""The first schema. Keys and indexes without a name here get theirs from ``tables.NAMES``."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def _column(name: str, kind: Any, *more: Any, **options: Any) -> sa.Column[Any]:
    """Return a column that always has a value."""
    return sa.Column(name, kind, *more, **{"nullable": False, **options})


def _where(condition: str) -> dict[str, Any]:
    """Return the argument that makes an index partial: its name begins with that of the database."""
    return {f"{op.get_bind().dialect.name}_where": sa.text(condition)}


def upgrade() -> None:
    op.create_table(
        "counter", _column("name", sa.String(), primary_key=True), _column("value", sa.BigInteger())
    )
    op.create_table(
        "employer",
        _column("id", sa.Integer(), primary_key=True),
        _column("name", sa.String(length=128)),
        _column("unlimited", sa.Boolean()),
        sa.UniqueConstraint("name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "history",
        _column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
        _column("job_id", sa.Integer()),
        _column("employer_id", sa.Integer()),
        sa.Column("reference_id", sa.String()),
        _column("version", sa.Integer()),
        _column("at", sa.BigInteger()),
        _column("actor", sa.String(length=10)),
        sa.Column("actor_id", sa.Integer()),
        sa.Column("run_id", sa.Integer()),
        _column("action", sa.String(length=12)),
        sa.Column("before", sa.Text()),
    )
    op.create_index(None, "history", ["job_id", "id"])
    op.create_index("ix_history_run", "history", ["run_id"], **_where("run_id IS NOT NULL"))
    op.create_table("setting", _column("name", sa.String(), primary_key=True), _column("value", sa.String()))
    op.create_table(
        "api_key",
        _column("id", sa.Integer(), primary_key=True),
        _column("employer_id", sa.Integer(), sa.ForeignKey("employer.id")),
        _column("digest", sa.LargeBinary()),
        _column("label", sa.String()),
        _column("created_at", sa.BigInteger()),
        sa.Column("last_used_at", sa.BigInteger()),
        sa.Column("expires_at", sa.BigInteger()),
        sa.Column("revoked_at", sa.BigInteger()),
        sa.UniqueConstraint("digest"),
        sqlite_autoincrement=True,
    )
    op.create_index(None, "api_key", ["employer_id"])
    op.create_table(
        "feed",
        _column("id", sa.Integer(), primary_key=True),
        _column("name", sa.String()),
        _column("employer_id", sa.Integer(), sa.ForeignKey("employer.id")),
        sa.Column("settings_digest", sa.String()),
        _column("disturbed", sa.Boolean()),
        sqlite_autoincrement=True,
    )
    op.create_index("uq_feed_name", "feed", ["name", "employer_id"], unique=True)
    op.create_table(
        "job",
        _column("id", sa.Integer(), primary_key=True, autoincrement=False),
        _column("employer_id", sa.Integer(), sa.ForeignKey("employer.id")),
        sa.Column("reference_id", sa.String(length=50)),
        _column("title", sa.String(length=256)),
        _column("published_at", sa.BigInteger()),
        _column("publish_date", sa.String(length=10)),
        _column("close_date", sa.String(length=10)),
        _column("close_origin", sa.String(length=10)),
        _column("confidential", sa.Boolean()),
        _column("auto_refresh", sa.Boolean()),
        _column("status", sa.String(length=10)),
        _column("locations", sa.Text()),
        _column("categories", sa.Text()),
        sa.Column("position_type", sa.Integer()),
        sa.Column("salary_amount", sa.String()),
        sa.Column("salary_max", sa.String()),
        sa.Column("salary_period", sa.Integer()),
        sa.Column("salary_commission", sa.Boolean()),
        sa.Column("routing", sa.Integer()),
        sa.Column("application_email", sa.String(length=50)),
        sa.Column("application_url", sa.String(length=200)),
        sa.Column("archived_by", sa.String(length=10)),
        _column("version", sa.Integer()),
        _column("search", sa.String()),
        sa.Column("description", sa.Text()),
    )
    op.create_index("ix_job_close", "job", ["close_date"], **_where("status = 'active'"))
    if op.get_bind().dialect.name == "sqlite":
        op.create_index("ix_job_list", "job", ["employer_id", "published_at", "id", "status", "search"])
    else:
        op.create_index("ix_job_order", "job", ["employer_id", "published_at", "id", "status"])
    op.create_index("ix_job_refresh", "job", ["published_at"], **_where("auto_refresh AND status = 'active'"))
    op.create_index("ix_job_status", "job", ["employer_id", "status", "published_at", "id"])
    op.create_index("uq_job_reference", "job", ["employer_id", "reference_id"], unique=True)
    op.create_table(
        "job_total",
        _column("employer_id", sa.Integer(), sa.ForeignKey("employer.id"), primary_key=True),
        _column("status", sa.String(length=10), primary_key=True),
        _column("n", sa.Integer()),
    )
    op.create_table(
        "place",
        _column("id", sa.Integer(), primary_key=True, autoincrement=False),
        _column("name", sa.String(length=256)),
        sa.Column("province", sa.String(length=2)),
        _column("key", sa.String()),
        _column("population", sa.Integer()),
        sa.Column("employer_id", sa.Integer(), sa.ForeignKey("employer.id")),
    )
    op.create_index(None, "place", ["employer_id"])
    op.create_index(None, "place", ["key", "province"])
    op.create_table(
        "feed_job",
        _job_id(primary_key=True, autoincrement=False),
        _column("feed_id", sa.Integer(), sa.ForeignKey("feed.id")),
        _column("reference_id", sa.String()),
        _column("digest", sa.LargeBinary()),
        _column("fingerprint", sa.LargeBinary()),
        _column("job_version", sa.Integer()),
        _column("active", sa.Boolean()),
        _column("touched", sa.Boolean()),
        sa.Column("due", sa.String(length=10)),
    )
    op.create_index(None, "feed_job", ["feed_id", "digest"])
    op.create_index(None, "feed_job", ["feed_id", "job_id"])
    op.create_table(
        "feed_miss",
        _column("feed_id", sa.Integer(), sa.ForeignKey("feed.id"), primary_key=True),
        _job_id(primary_key=True),
        _column("n", sa.Integer()),
    )
    op.create_index(None, "feed_miss", ["job_id"])
    op.create_table("feed_sent", _job_id(primary_key=True, autoincrement=False), _column("sent", sa.Text()))
    op.create_table(
        "reply",
        _column("key_id", sa.Integer(), sa.ForeignKey("api_key.id"), primary_key=True),
        _column("idempotency_key", sa.String(length=255), primary_key=True),
        _column("request_digest", sa.LargeBinary()),
        _column("status", sa.Integer()),
        _column("headers", sa.Text()),
        _column("body", sa.LargeBinary()),
        _column("at", sa.BigInteger()),
    )
    op.create_index(None, "reply", ["at"])
    op.create_table(
        "run",
        _column("id", sa.Integer(), primary_key=True),
        _column("feed_id", sa.Integer(), sa.ForeignKey("feed.id")),
        _column("employer_id", sa.Integer(), sa.ForeignKey("employer.id")),
        _column("kind", sa.String()),
        _column("state", sa.String()),
        _column("file", sa.String()),
        _column("size", sa.BigInteger()),
        _column("attempt", sa.Integer()),
        *(sa.Column(name, sa.String()) for name in ("holds", "withheld", "reason", "sha256")),
        sa.Column("claimed_at", sa.BigInteger()),
        sa.Column("ended_at", sa.BigInteger()),
        _column("counts", sa.String()),
        _column("phases", sa.String()),
        *(sa.Column(name, sa.String()) for name in ("claimed_name", "checkpoint", "died_at")),
        _column("deaths", sa.Integer()),
        sqlite_autoincrement=True,
    )
    op.create_index(None, "run", ["feed_id", "id"])
    op.create_index(None, "run", ["feed_id", "sha256"])
    op.create_index(None, "run", ["state"])
    op.create_table("run_plan", _run_id(primary_key=True), _column("payload", sa.LargeBinary()))
    op.create_table(
        "run_rejected",
        _column("id", sa.Integer(), primary_key=True),
        _run_id(),
        _column("record", sa.Integer()),
        sa.Column("line", sa.Integer()),
        sa.Column("reference_id", sa.String()),
        _column("errors", sa.Text()),
        sa.Column("member", sa.String()),
    )
    op.create_index(None, "run_rejected", ["run_id"])
    op.create_table(
        "run_unknown", _run_id(primary_key=True), _column("found", sa.Text()), _column("toml", sa.Text())
    )
    op.create_table(
        "run_warning",
        _column("id", sa.Integer(), primary_key=True),
        _run_id(),
        _column("code", sa.String()),
        _column("detail", sa.String()),
        sa.Column("record", sa.Integer()),
        sa.Column("reference_id", sa.String()),
    )
    op.create_index(None, "run_warning", ["run_id"])


def _job_id(**options: Any) -> sa.Column[Any]:
    return _column("job_id", sa.Integer(), sa.ForeignKey("job.id", ondelete="CASCADE"), **options)


def _run_id(**options: Any) -> sa.Column[Any]:
    return _column("run_id", sa.Integer(), sa.ForeignKey("run.id", ondelete="CASCADE"), **options)
