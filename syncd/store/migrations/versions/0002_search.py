"""What the search index needs: which indexed jobs have changed, and their places in date order by number. (The index
itself is made by ``search_index.prepare``, wherever it is missing.)"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_NOTE = (
    "BEGIN INSERT OR IGNORE INTO job_search_stale (employer_id, job_id, indexed)"
    " VALUES (OLD.employer_id, OLD.id, OLD.search); END"
)
_INDEXED = "OLD.id <= (SELECT CAST(value AS INTEGER) FROM setting WHERE name = 'job_search')"


def upgrade() -> None:
    op.create_table(
        "job_search_stale",
        sa.Column("employer_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("job_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("indexed", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("employer_id", "job_id", name=op.f("pk_job_search_stale")),
    )
    op.create_index("ix_job_number", "job", ["employer_id", "id", "status", "published_at"], unique=False)
    op.execute(
        "CREATE TRIGGER job_search_changed AFTER UPDATE OF search ON job"
        f" WHEN OLD.search <> NEW.search AND {_INDEXED} {_NOTE}"
    )
    op.execute(f"CREATE TRIGGER job_search_gone AFTER DELETE ON job WHEN {_INDEXED} {_NOTE}")


def downgrade() -> None:
    op.execute("DROP TRIGGER job_search_gone")
    op.execute("DROP TRIGGER job_search_changed")
    op.execute("DROP TABLE IF EXISTS job_search")
    op.execute("DELETE FROM setting WHERE name = 'job_search'")
    op.drop_index("ix_job_number", table_name="job")
    op.drop_table("job_search_stale")
