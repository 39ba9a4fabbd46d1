"""How many rows of a run each rule of the feed's file left out."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("run", sa.Column("filtered_by", sa.String(), nullable=False, server_default="{}"))
