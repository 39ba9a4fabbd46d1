"""The file of an archive that a warning is about."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("run_warning", sa.Column("member", sa.String()))
