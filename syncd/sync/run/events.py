"""Log events of runs. A run has one event with all of its figures, when it has its first outcome."""

from __future__ import annotations

from dataclasses import asdict

import structlog

from syncd.domain import RejectedRow, Run, RunState
from syncd.logs import Event
from syncd.sync.report import particulars

log = structlog.get_logger("syncd.sync")


def reconciled(run: Run) -> None:
    """Log ``feed.reconciled``, once for each run, whatever its state. A held or failed run has a second event."""
    log.info(Event.FEED_RECONCILED, **figures(run))
    if run.state is RunState.HELD:
        log.warning(Event.FEED_HELD, run=run.id, feed=run.feed, holds=run.holds, reason=run.reason)
    elif run.state is RunState.FAILED:
        log.error(Event.FEED_FAILED, run=run.id, feed=run.feed, file=run.file, reason=run.reason)


def decided(run: Run) -> None:
    """Log a person's decision on a held run: ``run.rejected``, ``run.approved``, or ``feed.held`` where the run is
    shown again. Its ``feed.reconciled`` was logged when it was held."""
    if run.state is RunState.HELD:
        log.warning(Event.FEED_HELD, run=run.id, feed=run.feed, holds=run.holds, reason=run.reason)
    else:
        event = Event.RUN_REJECTED if run.state is RunState.REJECTED else Event.RUN_APPROVED
        log.info(event, **figures(run))


def superseded(run: Run, by: Run) -> None:
    """Log ``feed.superseded``: a later file came before a decision on the held run."""
    log.info(Event.FEED_SUPERSEDED, run=run.id, feed=run.feed, file=run.file, by=by.id)


def row_rejected(run: Run, row: RejectedRow) -> None:
    """Log ``row.rejected`` for debugging a feed: the place of the row (``member``: its file, in an archive of several)
    and all of its problems."""
    errors = [f"{p.pointer} {p.code}: {p.detail}" for p in row.errors]
    log.debug(
        Event.ROW_REJECTED,
        run=run.id,
        feed=run.feed,
        record=row.record,
        line=row.line,
        member=row.member,
        reference=row.reference_id,
        errors=errors,
    )


def figures(run: Run) -> dict[str, object]:
    """Return all that is known of a run as flat values for a log event."""
    return {
        "run": run.id,
        **particulars(run),
        **asdict(run.counts),
        "phases": run.phases,
        "seconds": round(sum(run.phases.values()), 3),
    }
