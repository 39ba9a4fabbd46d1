"""How far the rows of a run are applied, for its next attempt."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("run", sa.Column("applied", sa.Text()))
