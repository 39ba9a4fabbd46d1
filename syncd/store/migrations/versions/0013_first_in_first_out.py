"""The files of a feed are run one after the other: none waits for a newer one. Those that did give way to it."""

import time

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    run = sa.table("run", *map(sa.column, ("state", "reason", "ended_at", "waits_for", "checkpoint")))
    op.execute(
        run.update()
        .where(run.c.waits_for.is_not(None))
        .values(state="superseded", reason="a newer file was waiting", ended_at=int(time.time() * 1_000_000))
    )
    op.execute(run.update().where(run.c.checkpoint == "queued").values(checkpoint="stopped"))
    op.drop_column("run", "waits_for")
    op.drop_column("run", "applied")
