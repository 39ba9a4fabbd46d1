"""The run that a file waits for before it has its turn."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("run", sa.Column("waits_for", sa.Integer()))
