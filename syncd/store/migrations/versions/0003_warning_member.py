"""Which file of an archive a warning is about."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE run_warning ADD COLUMN member VARCHAR")


def downgrade() -> None:
    op.execute("ALTER TABLE run_warning DROP COLUMN member")
