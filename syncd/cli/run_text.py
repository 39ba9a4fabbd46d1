"""A run as a text for a terminal."""

from __future__ import annotations

from syncd.cli.output import clean
from syncd.domain import Run, RunCounts, RunState


def summary(run: Run) -> str:
    """Return a run as one line."""
    line = f"run {run.id}: {clean(run.feed)}, {clean(run.file)}: {state_of(run)}; {counts_of(run.counts)}"
    return f"{line}; {clean(run.reason)}" if run.reason else line


def state_of(run: Run) -> str:
    return f"{run.state}: {run.holds}" if run.holds and run.state is RunState.HELD else str(run.state)


def counts_of(counts: RunCounts) -> str:
    """Return the counts that are not zero in words."""
    names = (
        "created",
        "updated",
        "reactivated",
        "unchanged",
        "rejected",
        "suppressed",
        "expired",
        "archived",
    )
    parts = [f"{getattr(counts, name)} {name}" for name in names if getattr(counts, name)]
    if counts.missing > counts.archived:
        parts.append(f"{counts.missing - counts.archived} missing")
    return f"{counts.read} read" + (f" ({', '.join(parts)})" if parts else "")
