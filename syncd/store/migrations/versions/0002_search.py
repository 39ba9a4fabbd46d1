"""Jobs that have changed since SQLite's search index took them in. (``TrigramIndex.prepare`` makes the index
itself, wherever it is missing.) And whole states in the history."""

# ruff: noqa: S608 - SQL is put together from constants only

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

# As ``PLACE`` in ``syncd.store.sqlite.search``.
_PLACE = (
    "(OLD.employer_id << 34)"
    " + (CASE OLD.status WHEN 'active' THEN 0 WHEN 'archived' THEN 1 ELSE 2 END << 32) + OLD.id"
)
_NOTE = (
    "BEGIN INSERT OR IGNORE INTO job_search_stale (employer_id, job_id, place, indexed)"
    f" VALUES (OLD.employer_id, OLD.id, {_PLACE}, OLD.search); END"
)
_INDEXED = "OLD.id <= (SELECT CAST(value AS INTEGER) FROM setting WHERE name = 'job_search')"


def upgrade() -> None:
    op.add_column("history", sa.Column("state", sa.Text()))
    op.create_table(
        "job_search_stale",
        sa.Column("employer_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("job_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("place", sa.BigInteger(), nullable=False),
        sa.Column("indexed", sa.Text(), nullable=False),
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            "CREATE TRIGGER job_search_changed AFTER UPDATE OF search, status ON job"
            f" WHEN (OLD.search <> NEW.search OR OLD.status <> NEW.status) AND {_INDEXED} {_NOTE}"
        )
        op.execute(f"CREATE TRIGGER job_search_gone AFTER DELETE ON job WHEN {_INDEXED} {_NOTE}")
