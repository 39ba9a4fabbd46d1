"""How a run is told to the log: one event of all figures when it has come to its first outcome."""

from __future__ import annotations

from dataclasses import asdict

import structlog

from syncd.domain.run import RejectedRow, Run, RunState
from syncd.logs import Event

log = structlog.get_logger("syncd.sync")


def reconciled(run: Run) -> None:
    """Logs ``feed.reconciled``: once a run, whatever its state. A held or failed one has an event of its
    own beside it."""
    log.info(Event.FEED_RECONCILED, **figures(run))
    if run.state is RunState.HELD:
        log.warning(Event.FEED_HELD, run=run.id, feed=run.feed, holds=run.holds, reason=run.reason)
    elif run.state is RunState.FAILED:
        log.error(Event.FEED_FAILED, run=run.id, feed=run.feed, file=run.file, reason=run.reason)


def decided(run: Run) -> None:
    """Logs what became of a held run when a person had decided: ``run.rejected``, ``run.approved``, or
    ``feed.held`` where it has to be looked at again. The run had its ``feed.reconciled`` when it was
    held."""
    if run.state is RunState.HELD:
        log.warning(Event.FEED_HELD, run=run.id, feed=run.feed, holds=run.holds, reason=run.reason)
    else:
        event = Event.RUN_REJECTED if run.state is RunState.REJECTED else Event.RUN_APPROVED
        log.info(event, **figures(run))


def superseded(run: Run, by: Run) -> None:
    """Logs ``feed.superseded``: a later file came before anybody decided on a held run."""
    log.info(Event.FEED_SUPERSEDED, run=run.id, feed=run.feed, file=run.file, by=by.id)


def refused(run: Run, row: RejectedRow) -> None:
    """Logs ``row.rejected``, for whoever debugs a feed: where the row stands (``member``: in which file of an archive of several,
    else None) and all that is wrong with it."""
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
    """All that is known of a run, flat, ready for a log event."""
    return {
        "run": run.id,
        **particulars(run),
        **asdict(run.counts),
        "phases": run.phases,
        "seconds": round(sum(run.phases.values()), 3),
    }


def particulars(run: Run) -> dict[str, object]:
    """Which run it is, what it came to, and of which file, as plain values."""
    return {
        "feed": run.feed,
        "employer": run.employer,
        "kind": run.kind.value,
        "state": run.state.value,
        "holds": run.holds.value if run.holds else None,
        "withheld": run.withheld,
        "reason": run.reason,
        "attempt": run.attempt,
        "file": run.file,
        "size": run.size,
        "sha256": run.sha256,
    }
