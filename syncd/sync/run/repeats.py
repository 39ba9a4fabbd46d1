"""The warnings of a run about records that have the referenceId of an earlier one."""

from __future__ import annotations

from itertools import chain, islice

from syncd.sync.run.context import FileRun
from syncd.sync.run.reading import Summary
from syncd.sync.run.stage import Stage
from syncd.sync.validation import PackedRow
from syncd.values import plural

#: Pairs of records whose bodies are in memory at once, and the most pairs that are compared in a run.
_PAIRS, _COMPARED = 200, 10_000


def warn_of_repeats(this: FileRun, stage: Stage, summary: Summary) -> None:
    """Add a warning for each record that has another content than the one before with its referenceId, one for all
    that are copies of it, and one for all that are the same posting at another place."""
    copies = elsewhere = compared = 0
    repeats = stage.rows.repeats()
    while some := list(islice(repeats, _PAIRS)):
        differing = [(before, number) for _, before, number, same in some if not same]
        copies += len(some) - len(differing)
        for reference, before, number, same in some:
            if not same:
                first, member = map(summary.member_of, (before, number))
                named = f"{before} (in {first})" if first != member else before
                detail = f"records {named} and {number} have the referenceId {reference!r}"
                detail += "; the last valid one counts"
                this.warnings.add("duplicate_reference", detail, number, reference, member)
        if compared < _COMPARED:
            compared += len(differing)
            bodies = stage.rows.bodies_of({*chain.from_iterable(differing)})
            elsewhere += sum(_is_elsewhere(bodies.get(one), bodies.get(other)) for one, other in differing)
    if elsewhere:
        found = f"{'at least ' if compared >= _COMPARED else ''}{plural(elsewhere, 'record')}"
        detail = f"the title of the record before with the same referenceId, but other locations: {found}. The job has the"
        detail += " locations of its last record alone; send all of them in one record, or give each place a referenceId"
        this.warnings.add("locations_replaced", f"{detail} of its own")
    if copies:
        detail = f"byte for byte the record before with the same referenceId: {plural(copies, 'record')}"
        this.warnings.add_many("identical_copies", detail, copies)


def _is_elsewhere(before: bytes | None, after: bytes | None) -> bool:
    """Return whether two packed rows (None: not a valid row) are one posting at two places, as some systems export it."""
    if before is None or after is None:
        return False
    one, other = PackedRow(before).sent.fields, PackedRow(after).sent.fields
    title, places = one.get("title"), one.get("locations")
    return (
        bool(title and places)
        and title == other.get("title")
        and other.get("locations") not in (None, places)
    )
