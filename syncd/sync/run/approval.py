"""A person's decision on a held run (docs/reconciliation.md "Approving and rejecting").

An approved run reads its file again and is planned against the store as it is then. It applies exactly the plan that was
shown; if the jobs concerned have changed, it shows the new plan instead. A run that is cut off while it is approved
stays held: it has to be approved again, and then shows the rest."""

import hashlib
import os
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from syncd.domain import HoldScope, Run, RunCounts, RunKind, RunState
from syncd.errors import Conflict, NotFound
from syncd.store import Store, Tx, history, run_results, runs
from syncd.sync.drop_file import DropFile
from syncd.sync.files import parse_filed
from syncd.sync.folders import DONE, FAILED, OPEN_FILES, open_regular, open_subfolder
from syncd.sync.report import ShownPlan
from syncd.sync.run.context import Feed
from syncd.sync.run.ending import decided


def waiting(tx: Tx, run_id: int) -> tuple[Run, ShownPlan]:
    """Return a held run and its plan that was shown. Raises NotFound, and Conflict if it does not wait for a decision."""
    run = runs.get(tx, run_id)
    payload = run_results.plan(tx, run_id)
    if run.state is not RunState.HELD or payload is None:
        what = "only a held run can be approved, and only a run that waits can be rejected"
        raise Conflict(f"run {run.id} is {run.state}; {what}")
    return run, ShownPlan.from_bytes(payload)


def to_rekey(tx: Tx, run_id: int) -> tuple[Run, ShownPlan]:
    """Return a run that is held because jobs have other ids in its file, and its plan. Raises NotFound, Conflict."""
    run, shown = waiting(tx, run_id)
    if not shown.pairs:
        raise Conflict(
            f"run {run.id} is not held because jobs have other ids in its file; approve or reject it"
        )
    return run, shown


def reject(store: Store, run_id: int) -> Run:
    """Store the run, which is held or was cut off, as ``rejected`` and return it. Applied rows stay. Raises as ``waiting``."""

    def decline(tx: Tx) -> Run:
        run = runs.get(tx, run_id)
        if run.kind is RunKind.FILE and not run.state.ended:
            actions = Counter(change.action for change in history.of_run(tx, run_id))
            holds = HoldScope.ARCHIVE if actions else HoldScope.ALL
            why = f"attempt {run.attempt} was cut off, and the run was rejected before the next one"
            counts = RunCounts().plus(actions)
            run = replace(run, counts=counts, holds=holds, reason=why, ended_at=tx.now.instant)
        else:
            run, _ = waiting(tx, run_id)
        run = replace(run, state=RunState.REJECTED)
        run_results.set_plan(tx, run_id, None)
        runs.save(tx, run)
        return run

    run = store.write(decline)
    decided(run)
    return run


@contextmanager
def kept_file(run: Run, feed: Feed) -> Iterator[DropFile]:
    """Open the run's file in ``done/`` or ``failed/``, found by the run's number and by its bytes. Raises NotFound,
    UnusableFolder."""
    with closing(_filed(run, feed.folder)) as sources:
        for source in sources:
            # a run that was superseded before it read its file has no digest: its number has to do
            if source.size == run.size and run.sha256 in (None, _sha256(source)):
                yield source
                return
    ways = "reject the run, or send the file again" if run.state is RunState.HELD else "send the file again"
    raise NotFound("file", run.file, f"the kept file of run {run.id} is gone; {ways}")


def _filed(run: Run, feed: Path) -> Generator[DropFile, None, None]:
    """Yield the files that have the run's number, each open meanwhile."""
    for place in (DONE, FAILED):
        with suppress(FileNotFoundError), open_subfolder(feed, place) as folder:
            for name in sorted(os.listdir(folder)):
                fd = open_regular(name, folder) if parse_filed(name) == run.id else None
                if fd is not None:
                    try:
                        yield DropFile.at(OPEN_FILES / str(fd), run.file)
                    finally:
                        os.close(fd)


def _sha256(source: DropFile) -> str:
    with source.path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
