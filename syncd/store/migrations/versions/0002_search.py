"""What the search index needs: which indexed jobs have changed since. (The index itself is made by
``search_index.prepare``, wherever it is missing.) And whole states in the history."""

# ruff: noqa: S608 - SQL is put together from constants only

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# As `search_index` has it.
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
    op.execute("ALTER TABLE history ADD COLUMN state TEXT")
    op.create_table(
        "job_search_stale",
        sa.Column("employer_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("job_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), nullable=False),
        sa.Column("indexed", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("employer_id", "job_id", name=op.f("pk_job_search_stale")),
        sqlite_with_rowid=False,
    )
    op.execute(
        "CREATE TRIGGER job_search_changed AFTER UPDATE OF search, status ON job"
        f" WHEN (OLD.search <> NEW.search OR OLD.status <> NEW.status) AND {_INDEXED} {_NOTE}"
    )
    op.execute(f"CREATE TRIGGER job_search_gone AFTER DELETE ON job WHEN {_INDEXED} {_NOTE}")


def downgrade() -> None:
    op.execute("ALTER TABLE history DROP COLUMN state")
    op.execute("DROP TRIGGER job_search_gone")
    op.execute("DROP TRIGGER job_search_changed")
    op.execute("DROP TABLE IF EXISTS job_search")
    op.execute("DELETE FROM setting WHERE name = 'job_search'")
    op.drop_table("job_search_stale")
