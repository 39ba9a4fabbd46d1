"""A run knows the run that reverted it, and the one that took its place."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0016"


def upgrade() -> None:
    for name in ("reverted_by", "superseded_by"):
        op.add_column("run", sa.Column(name, sa.Integer))
    run = sa.table("run", *map(sa.column, ("id", "state", "reverts", "reverted_by")))
    connection, done = op.get_bind(), ("succeeded", "partial")
    query = sa.select(run.c.id, run.c.reverts).where(run.c.reverts.is_not(None), run.c.state.in_(done))
    reverts = dict(connection.execute(query.order_by(run.c.id)).all())
    for number in list(reverts):
        by, other = number, reverts.get(number)
        while other is not None:  # as when the revert ended: every other one stands again
            connection.execute(run.update().where(run.c.id == other).values(reverted_by=by))
            by, other = None if by is not None else other, reverts.get(other)
