"""The story of the demonstration: which file is dropped when, and what its run is expected to do."""

from __future__ import annotations

from dataclasses import dataclass

from syncd.domain import Run, RunState

EMPLOYERS = {"harbour": "Harbour Clinics", "maple": "Maple Software", "prairie": "Prairie Rail"}


@dataclass(frozen=True, slots=True)
class Step:
    """``source`` (a file of ``data``) is dropped as ``name`` into the folder of ``feed``; its run ends in ``state``."""

    title: str
    feed: str
    source: str
    name: str
    state: RunState
    meaning: str


STORY = (
    Step(
        "Create: a CSV in the service's own shape",
        "harbour",
        "harbour-1.csv",
        "monday.csv",
        RunState.SUCCEEDED,
        "Every row was new, so each became an active posting, known from now on by its referenceId.",
    ),
    Step(
        "Reject: an Indeed XML with one bad row",
        "maple",
        "maple-1.xml",
        "jobs.xml",
        RunState.PARTIAL,
        "Four jobs went in; the one without a title did not. The report beside the file says which and why.",
    ),
    Step(
        "Another format: schema.org JSON-LD",
        "prairie",
        "prairie-1.json",
        "postings.json",
        RunState.SUCCEEDED,
        "Same rules, same result: CSV, XML and JSON only differ in how they are read.",
    ),
    Step(
        "Update and archive: Tuesday's CSV",
        "harbour",
        "harbour-2.csv",
        "tuesday.csv",
        RunState.SUCCEEDED,
        "One job got a raise and was updated; one is no longer in the file and was archived; the rest were left alone.",
    ),
    Step(
        "Unchanged: Tuesday's CSV once more",
        "harbour",
        "harbour-2.csv",
        "tuesday-again.csv",
        RunState.UNCHANGED,
        "The same bytes as last time: nothing to do, so nothing was read and nothing was written.",
    ),
    Step(
        "Reactivate: Wednesday's CSV",
        "harbour",
        "harbour-3.csv",
        "wednesday.csv",
        RunState.SUCCEEDED,
        "The archived job is back in the file, so its old posting is active again, with the same id.",
    ),
    Step(
        "Hold: Thursday's CSV has two rows",
        "harbour",
        "harbour-4.csv",
        "thursday.csv",
        RunState.HELD,
        "Six of eight jobs would vanish at once. That looks like an accident, so nothing was archived: a person decides.",
    ),
)

_WORDS = ("created", "updated", "reactivated", "unchanged", "rejected", "archived")


def described(run: Run) -> str:
    """Return one line about a run, for a reader who sees one for the first time."""
    counts = run.counts
    if run.state is RunState.UNCHANGED:
        return f"run {run.id} unchanged"
    parts = [f"{getattr(counts, word)} {word}" for word in _WORDS if getattr(counts, word)]
    if run.state is RunState.HELD:
        parts.append(f"{counts.missing} would be archived")
    return f"run {run.id} {run.state}: {counts.read} rows: {', '.join(parts)}"
