"""The migrations of a store from version to version, on either database. ``schema`` runs them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

if TYPE_CHECKING:  # a store that is up to date is opened without it
    from alembic.operations import Operations

Migration = Callable[["Operations"], None]
#: The version of the stores of 0.1.0. No older one exists.
FIRST = "0003"
#: Version → the migration to it from the version before, in order. A new store has the tables of ``tables.py`` at once.
MIGRATIONS: dict[str, Migration] = {}


def _to(version: str) -> Callable[[Migration], Migration]:
    """Return the decorator of the migration to a version."""
    return lambda migration: MIGRATIONS.setdefault(version, migration)


def _adds(version: str, table: str, column: sa.Column[Any]) -> None:
    """Make the migration to a version that adds a column to a table."""
    MIGRATIONS[version] = lambda op: op.add_column(table, column)


@_to("0004")
def _undo(op: Operations) -> None:
    """For reverts: the run that a run reverts, and the owners that runs changed. And feeds that are paused."""
    op.add_column("feed", sa.Column("paused", sa.String()))
    op.add_column("run", sa.Column("reverts", sa.Integer()))
    op.add_column("run", sa.Column("repeats", sa.Integer()))
    op.create_table(
        "run_owner",
        sa.Column("run_id", sa.Integer(), sa.ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("job_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("feed_id", sa.Integer()),
        sa.Column("left_id", sa.Integer()),
        sa.Column("job_version", sa.Integer()),
        sa.Column("sent", sa.Text()),
    )


# The number of rows of a run that each rule of the feed's file left out.
_adds("0005", "run", sa.Column("filtered_by", sa.String(), nullable=False, server_default="{}"))
# The run that a file waits for before it has its turn.
_adds("0006", "run", sa.Column("waits_for", sa.Integer()))
# How far a run is that goes on.
_adds("0007", "run", sa.Column("progress", sa.Text()))


@_to("0008")
def _notices(op: Operations) -> None:
    """Notices for the operator, and those that are still to be sent."""
    op.create_table(
        "notice",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("key", sa.String(32), nullable=False),
        sa.Column("event", sa.String(32), nullable=False),
        sa.Column("feed", sa.String()),
        sa.Column("run_id", sa.Integer()),
        sa.Column("state", sa.String()),
        sa.Column("reason", sa.Text()),
        sa.Column("counts", sa.Text()),
        sa.Column("over", sa.String(32)),
        sa.Column("holds", sa.String()),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("key", name="uq_notice_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_notice_feed_id", "notice", ["feed", "id"])
    op.create_table(
        "outbox",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("way", sa.String(), nullable=False),
        sa.Column("notice_id", sa.Integer(), sa.ForeignKey("notice.id", ondelete="CASCADE"), nullable=False),
        sa.Column("feed", sa.String(), nullable=False),
        sa.Column("message", sa.String(32)),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("due", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("sent_at", sa.BigInteger()),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_way_sent_at_feed_id", "outbox", ["way", "sent_at", "feed", "id"])
    op.create_index("ix_outbox_notice_id", "outbox", ["notice_id"])


@_to("0009")
def _pages(op: Operations) -> None:
    """For the pages of the operator: how many jobs there were by day, and how many active jobs each feed owns."""
    op.create_table(
        "job_day",
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("status", sa.String(10), primary_key=True),
        sa.Column("n", sa.Integer(), nullable=False),
    )
    op.drop_index("ix_feed_job_feed_id_job_id", "feed_job")
    op.create_index("ix_feed_job_feed_id_job_id_active", "feed_job", ["feed_id", "job_id", "active"])


# The key that took the place of another, so that a key has one successor at a time.
_adds("0010", "api_key", sa.Column("successor_id", sa.Integer()))
# The id of the request to the API that made a change.
_adds("0011", "history", sa.Column("request_id", sa.String(128)))
# How far the rows of a run are applied, for its next attempt.
_adds("0012", "run", sa.Column("applied", sa.Text()))


@_to("0013")
def _first_in_first_out(op: Operations) -> None:
    """The files of a feed are run one after the other: none waits for a newer one. Those that did give way to it."""
    run = sa.table("run", *map(sa.column, ("state", "reason", "ended_at", "waits_for", "checkpoint")))
    op.execute(
        run.update()
        .where(run.c.waits_for.is_not(None))
        .values(state="superseded", reason="a newer file was waiting", ended_at=int(time.time() * 1_000_000))
    )
    op.execute(run.update().where(run.c.checkpoint == "queued").values(checkpoint="stopped"))
    op.drop_column("run", "waits_for")
    op.drop_column("run", "applied")


@_to("0014")
def _own_values(op: Operations) -> None:
    """A feed keeps which values its rows had themselves, digests of the lines of its file that make them, and of its last used
    file the names, and whether it ended with a line end."""
    op.add_column("feed_job", sa.Column("own_values", sa.Integer))
    op.add_column("feed", sa.Column("own_digests", sa.Text))
    op.add_column("feed", sa.Column("names", sa.Text))
    op.add_column("feed", sa.Column("line_end", sa.Boolean))


@_to("0015")
def _planned(op: Operations) -> None:
    """A run that waits keeps the counts of its plan beside those of its effects."""
    run = sa.table("run", *map(sa.column, ("state", "holds", "counts", "planned")))
    op.add_column("run", sa.Column("planned", sa.Text))
    nothing_applied = sa.and_(run.c.state == "held", run.c.holds == "all")
    op.execute(run.update().where(nothing_applied).values(planned=run.c.counts))


# The names that the feed's file uses and that are gone from its own file, and the new ones.
_adds("0016", "run", sa.Column("shape", sa.Text))


@_to("0018")
def _reverted_by(op: Operations) -> None:
    """A run knows the run that reverted it, and the one that took its place."""
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


@_to("0019")
def _sources(op: Operations) -> None:
    """Sources of feeds: the state of each after its last turn."""
    op.create_table(
        "source",
        sa.Column("feed", sa.String(), primary_key=True),
        sa.Column("state", sa.Text(), nullable=False),
    )


@_to("0020")
def _feed_day(op: Operations) -> None:
    """How many active jobs each feed owns, by day."""
    op.create_table(
        "feed_day",
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("feed_id", sa.Integer(), sa.ForeignKey("feed.id"), primary_key=True),
        sa.Column("active", sa.Integer(), nullable=False),
    )
