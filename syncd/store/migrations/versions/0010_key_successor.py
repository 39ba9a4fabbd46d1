"""The key that took the place of another, so that a key has one successor at a time."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("api_key", sa.Column("successor_id", sa.Integer(), nullable=True))
