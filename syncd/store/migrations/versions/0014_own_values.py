"""A feed keeps which values its rows had themselves, digests of the lines of its file that make them, and of its last used file
the names, and whether it ended with a line end."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.add_column("feed_job", sa.Column("own_values", sa.Integer))
    op.add_column("feed", sa.Column("own_digests", sa.Text))
    op.add_column("feed", sa.Column("names", sa.Text))
    op.add_column("feed", sa.Column("line_end", sa.Boolean))
