"""A run keeps the names that the feed's file uses and that are gone from its own file, and the new ones."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("run", sa.Column("shape", sa.Text))
