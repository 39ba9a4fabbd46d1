"""The id of the request to the API that made a change, beside the change."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("history", sa.Column("request_id", sa.String(128)))
