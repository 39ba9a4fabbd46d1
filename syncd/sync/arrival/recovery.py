"""Finds what a process left of a feed when it died: claimed files, and runs without an end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from syncd.domain import Run, RunState
from syncd.store import Tx, runs
from syncd.sync.arrival.claims import Claimed, Claims
from syncd.sync.arrival.context import ArrivalContext
from syncd.sync.arrival.delivery import ended_without_importer
from syncd.sync.arrival.inbox import Candidate
from syncd.sync.run import Feed


@dataclass(frozen=True, slots=True)
class Delivery:
    """A file that waits for its turn: in the feed's folder, or claimed, with a run that has not begun to read or none."""

    file: Candidate | Claimed
    run: Run | None = None

    @property
    def age(self) -> tuple[int, str]:
        return self.file.signature.mtime_ns, self.file.name


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """The claimed files of a feed, each list with the oldest first.

    ``ended``: their runs have ended; only the files have to be filed. ``cut_off``: their runs go on, before newer files.
    ``waiting``: they wait for their turn like the files in the feed's folder."""

    ended: list[tuple[Claimed, Run]] = field(default_factory=list)
    cut_off: list[tuple[Claimed, Run]] = field(default_factory=list)
    waiting: list[Delivery] = field(default_factory=list)


def left_behind(
    ctx: ArrivalContext,
    feed: Feed,
    orphans: Iterable[Claimed],
    settled: Callable[[Claimed, Run | None], bool],
) -> LeftBehind:
    """Sort the claimed files by what has to be done. A file that is not ``settled`` is left for a later visit."""
    left = LeftBehind()
    for claimed in orphans:
        run = _run_of(ctx, feed, claimed.claimed_name)
        if run is not None and run.state.ended:
            left.ended.append((claimed, run))
        elif not settled(claimed, run):
            continue
        elif run is not None and (run.state is not RunState.CLAIMED or run.attempt > 1):
            left.cut_off.append((claimed, run))
        else:
            left.waiting.append(Delivery(claimed, run))
    return left


def fail_lost_runs(ctx: ArrivalContext, feed: Feed, claims: Claims) -> Iterator[Run]:
    """End the runs whose claimed file is gone, for they cannot be continued. Yield each."""
    there = claims.modes()
    why = "its file was removed from .claimed/ before the run ended"
    for run, name in ctx.store.read(lambda tx: _unfinished(tx, feed)):
        if name is not None and name not in there:
            failed = ended_without_importer(ctx, run, RunState.FAILED, why)
            ctx.ended(failed)
            yield failed


def _run_of(ctx: ArrivalContext, feed: Feed, claimed_name: str) -> Run | None:
    return ctx.store.read(lambda tx: runs.by_claimed(tx, feed.id, claimed_name))


def _unfinished(tx: Tx, feed: Feed) -> list[tuple[Run, str | None]]:
    """Return the feed's unfinished runs and the names of their claimed files."""
    mine = (feed.name, feed.employer.id)
    found = [run for run in runs.unfinished(tx) if (run.feed, run.employer_id) == mine]
    return [(run, runs.claimed_name(tx, run.id)) for run in found]
