"""Runs, plans and parts of reports as texts for a terminal."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

from syncd import domain
from syncd.cli.output import bold, clean
from syncd.shipped_data import catalogue_entries
from syncd.sync.report import REKEY, Kinds, rekeyed_counts, run_json
from syncd.values import plural

SIGNS = {"created": "+", "updated": "~", "reactivated": "^"}

#: Kinds of errors or warnings in a table, and texts or values of each.
KINDS, CAUSES = 50, 5
#: Characters of a value of a field, and of a value that a record had.
MAX_VALUE, MAX_SENT = 60, 80
#: Where the rest of a list is.
IN_JSON = "--json has them"


def summary(run: domain.Run) -> str:
    state, reason = state_of(run_json(run)), reason_of(run)
    line = f"run {run.id}: {clean(run.feed)}, {subject_of(run)}: {state}; {effects_of(run)}"
    return f"{line}; {reason}" if reason else line


def reason_of(run: domain.Run) -> str:
    return clean("; ".join(filter(None, (run.reason, run.withheld))))


def subject_of(run: domain.Run) -> str:
    """Return the name of the run's file, or what the run did without one."""
    return clean(run.subject)


def state_of(run: Mapping[str, Any]) -> str:
    """Return the state of a run, which is as ``--json`` has it, and the run after which it does not stand any more."""
    if run["holds"] and run["state"] == domain.RunState.HELD:
        return f"{run['state']}: {run['holds']}"
    if run["revertedBy"]:
        return f"{run['state']}, reverted by run {run['revertedBy']}"
    return f"{run['state']} by run {run['supersededBy']}" if run["supersededBy"] else str(run["state"])


def rows_of(run: domain.Run) -> str:
    """Return the counts of a run that has ended, or how far one is: ``reading: 12,000 records, 37 %``."""
    progress = run.progress
    if run.state.ended or progress is None:
        return effects_of(run)
    records = f"{progress.records:,} records, " if progress.records else ""
    return f"{progress.phase}: {records}{progress.share:.0%}".replace("%", " %")


#: The counts of changes to jobs.
_EFFECTS = ("created", "updated", "reactivated", "expired", "archived")


def effects_of(run: domain.Run) -> str:
    """Return the counts of a run, and those of its plan if it waits."""
    counts = counts_of(run.counts) if run.reverts is None else undone_of(run.counts)
    if run.state is not domain.RunState.HELD or run.planned is None:
        return counts
    planned = ((getattr(run.planned, name), name) for name in _EFFECTS)
    return f"{counts}; would be: {', '.join(f'{n} {name}' for n, name in planned if n) or 'none'}"


def decisions_on(run: domain.Run, rekeys: Mapping[str, Any] | None) -> str:
    """Return the commands that decide about a held run. ``rekeys`` as ``rekeys_of`` returns them."""
    ways = [f"syncd runs approve {run.id}", f"syncd runs reject {run.id}"]
    if rekeys:
        ways.append(f"syncd runs rekey {run.id} ({REKEY[:1].lower()}{REKEY[1:]})")
    return ", or: ".join(ways)


def print_rekeys(rekeys: Mapping[str, Any] | None) -> None:
    if rekeys is None:
        return
    lines = [
        clean(
            f"{job['referenceId'] or 'no referenceId'} → {job['newReferenceId']} (job {job['jobId']}): "
            f"{'deleted meanwhile' if job['title'] is None else job['title']}"
        )
        for job in rekeys["jobs"]
    ]
    print_section("could take new ids", rekeys["total"], lines)


def rest_of_rekeying(run: domain.Run, rekeys: int) -> str:
    counts = rekeyed_counts(run.planned or domain.RunCounts(), rekeys)
    others = [(getattr(counts, name), name) for name in _EFFECTS if name != "updated"]
    others.insert(1, (counts.updated - rekeys, "updated"))
    parts = [f"{number} {name}" for number, name in others if number]
    return f"the rest of the file: {', '.join(parts) or 'nothing else would change'}"


def undone_of(counts: domain.RunCounts) -> str:
    """Return the counts of a revert, which reads no row: ``604 jobs put back (600 archived, 4 updated)``."""
    changed = [(getattr(counts, name), name) for name in _EFFECTS]
    parts = [f"{number} {name}" for number, name in changed if number]
    back = f"{plural(sum(number for number, _ in changed), 'job')} put back"
    return f"{back} ({', '.join(parts)})" if parts else back


def counts_of(counts: domain.RunCounts) -> str:
    others = ("read", "missing", "warnings")
    parts = [f"{number} {name}" for name, number in asdict(counts).items() if number and name not in others]
    if counts.missing > counts.archived:
        parts.append(f"{counts.missing - counts.archived} missing")
    warned = f"; {plural(counts.warnings, 'warning')}" if counts.warnings else ""
    return f"{counts.read} read" + (f" ({', '.join(parts)})" if parts else "") + warned


def print_kinds(heading: str, counted: Kinds, first: Mapping[int, Sequence[str]] | None = None) -> None:
    """Print a table: number of rows, field, code, and the texts and values of each kind. ``first``: id of a kind → its first
    rows, more than ``CAUSES`` if there are more."""
    if not (kinds := counted.by_frequency()):
        return
    rows = [
        ("", "", "", cause) if number else (f"{kind.rows:,} ×", clean(kind.pointer), clean(kind.code), cause)
        for kind in kinds[:KINDS]
        for number, cause in enumerate(
            [*kind.described(CAUSES), *_first_rows((first or {}).get(id(kind), ()))]
        )
    ]
    widest, second, third = (max(len(row[column]) for row in rows) for column in range(3))
    print(bold(heading))
    for number, pointer, code, cause in rows:
        print(f"  {number.rjust(widest)}  {pointer.ljust(second)}  {code.ljust(third)}  {clean(cause)}")
    if len(kinds) > KINDS:
        print(f"  … and {len(kinds) - KINDS:,} more kinds: {IN_JSON}")


def _first_rows(records: Sequence[str]) -> list[str]:
    if not records:
        return []
    more = ", …" if len(records) > CAUSES else ""
    return [f"{'record' if len(records) == 1 else 'records'} {', '.join(records[:CAUSES])}{more}"]


def print_section(heading: str, total: int, lines: Iterable[str], more: str = IN_JSON) -> None:
    """Print the first ``lines`` of ``total``, and where the others are."""
    if total:
        shown = list(lines)
        print("\n  ".join([bold(f"{heading}: {total:,}"), *shown]))
        if total > len(shown):
            print(f"  … and {total - len(shown):,} more: {more}")


def print_rejected(rejected: Iterable[domain.RejectedRow], unknown: domain.UnknownValues, most: int) -> None:
    """Print the rejected rows of a file by kind, its unknown values, and the first ``most`` of the rows."""
    errors, rows, number = Kinds(), list[str](), 0
    for number, row in enumerate(rejected, start=1):
        errors.add_errors(row.record, row.errors)
        rows += [rejected_text(row)] if number <= most else []
    print_kinds("rejected, by kind", errors)
    print_unknown(unknown)
    print_section("rejected rows", number, rows)


def print_warnings(warnings: Iterable[domain.FeedWarning]) -> None:
    """Print all warnings by kind, with the first rows of each."""
    noticed, first = Kinds(), defaultdict[int, list[str]](list)
    for warning in warnings:
        records = first[id(noticed.add_warning(warning.code, warning.detail, warning.record))]
        if warning.record is not None and len(records) <= CAUSES:
            records.append(f"{warning.record}{f' of {warning.member}' if warning.member else ''}")
    print_kinds(f"warnings: {noticed.total:,}", noticed, first)


def print_filtered(by_rule: Mapping[str, int]) -> None:
    for rule, rows in by_rule.items():
        print(clean(f"[rows] {rule}: {rows} left out"))


def print_unknown(unknown: domain.UnknownValues) -> None:
    """Print the unknown values of a file as lines that can be copied into the feed's file."""
    if unknown.toml:
        print(bold("unknown values, as lines for the feed's file:"))
        print("\n".join(clean(line) for line in unknown.toml.splitlines()))


def change_text(
    action: str,
    reference: str | None,
    job_id: int | None,
    fields: Mapping[str, tuple[object, object]],
    *,
    title: str = "",
    why: str | None = None,
) -> str:
    """Return ``~ A-1 (job 1) updated: Baker`` with a line for each field, ``+ A-2 created: Welder`` or
    ``- A-3 (job 2) archived: Cook``. ``title``: of the job; ``why``: of one that would be archived."""
    sign = "-" if action == "archived" else SIGNS.get(action, " ")
    job = f" (job {job_id})" if job_id else ""
    about = f": {title}" if title else ""
    own = ", by its own row" if why == "row" else ""
    lines = [clean(f"{sign} {reference or 'no referenceId'}{job} {action}{about}{own}")]
    if action != "archived":
        lines += [f"    {name}: {shown(before)} → {shown(after)}" for name, (before, after) in fields.items()]
    return "\n  ".join(lines)


def rejected_text(row: domain.RejectedRow) -> str:
    """Return a line such as ``record 4711, line 23 of b.csv (R-17): /title required: a job needs a title``."""
    line = f", line {row.line}" if row.line else ""
    member = f"{' of' if line else ', in'} {row.member}" if row.member else ""
    reasons = []
    for error in row.errors:
        sent = str(error.value)
        more = f"… ({len(sent)} characters)" if len(sent) > MAX_SENT else ""
        value = "" if error.value is None else f' ["{sent[:MAX_SENT]}"{more}]'
        reasons.append(f"{error.pointer or '/'} {error.code}: {error.detail}{value}")
    who = row.reference_id or "no referenceId"
    return clean(f"record {row.record}{line}{member} ({who}): {'; '.join(reasons)}")


def shown(value: object) -> str:
    match value:
        case None:
            text = "none"
        case bool():
            text = "true" if value else "false"
        case domain.Location():
            text = value.description
        case domain.Salary():
            text = _salary(value)
        case tuple():
            text = ", ".join(shown(item) for item in value) or "none"
        case _:
            text = str(value)
    text = clean(text)
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…"


@cache
def _periods() -> dict[int | None, str]:
    """Return the id of a salary period → ``per hour``."""
    return {entry.id: f"per {entry.unit.lower()}" for entry in catalogue_entries()["periods"].values()}


def _salary(salary: domain.Salary) -> str:
    if salary.amount is None:
        return "commission" if salary.plus_commission else "none"
    top = f" to {salary.max_amount}" if salary.max_amount is not None else ""
    commission = " + commission" if salary.plus_commission else ""
    return f"{salary.amount}{top} {_periods().get(salary.period, '')}".rstrip() + commission
