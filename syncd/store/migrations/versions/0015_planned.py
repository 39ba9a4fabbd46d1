"""A run that waits keeps the counts of its plan beside those of its effects."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    run = sa.table("run", *map(sa.column, ("state", "holds", "counts", "planned")))
    op.add_column("run", sa.Column("planned", sa.Text))
    nothing_applied = sa.and_(run.c.state == "held", run.c.holds == "all")
    op.execute(run.update().where(nothing_applied).values(planned=run.c.counts))
