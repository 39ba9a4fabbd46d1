"""``syncd runs`` and ``syncd runs show``."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from syncd.cli.output import bold, cell, clean, print_json, print_list
from syncd.cli.report_text import counts_of, print_kinds, print_unknown, rejected_text, state_of, warning_text
from syncd.cli.store_access import opened_store
from syncd.config import load_settings
from syncd.domain import Run, RunState
from syncd.store import runs
from syncd.sync.report import field_of, report, run_json

#: Rejected rows, warnings and changes that the text has; ``--json`` has them all.
SHOWN = 20


def list_runs(config: Path | None, as_json: bool, feed: str | None, limit: int) -> None:
    with opened_store(load_settings(config)) as store:
        found = store.read(lambda tx: runs.list(tx, feed, limit))
    rows = [
        (run.id, run.feed, run.file, state_of(run.state, run.holds), counts_of(run.counts), run.claimed_at)
        for run in found
    ]
    headings = ("run", "feed", "file", "state", "rows", "taken")
    empty = "no runs yet; drop a file into a feed's folder"
    print_list(as_json, [run_json(run) for run in found], headings, rows, empty)


def show_run(config: Path | None, as_json: bool, number: int) -> None:
    with opened_store(load_settings(config)) as store:
        found = report(store, number, would_archive=None if as_json else SHOWN)
        run = store.read(lambda tx: runs.get(tx, number))
    if as_json:
        print_json(found)
        return
    print(bold(f"run {run.id}: {clean(run.feed)}, {clean(run.file)}"))
    for name, value in _facts(run):
        print(f"  {name:9} {value}")
    if going := found["wouldArchive"]:
        _section("would be archived", going["jobs"], _going, total=going["total"])
    print_kinds("rejected, by kind", _kinds(found["rejectedRows"]))
    _section("rejected rows", found["rejectedRows"], partial(rejected_text, codes=False))
    print_unknown(found["lookupToml"])
    _section("warnings", found["warnings"], warning_text)
    _section("changes", found["changes"], _change)


def _facts(run: Run) -> list[tuple[str, str]]:
    facts = [
        ("state", state_of(run.state, run.holds)),
        ("reason", clean(run.reason or run.withheld or "")),
        ("employer", clean(run.employer)),
        ("rows", counts_of(run.counts)),
        ("file", f"{run.size:,} bytes, SHA-256 {run.sha256 or 'not computed'}"),
        ("taken", cell(run.claimed_at)),
        ("ended", cell(run.ended_at) + (f", attempt {run.attempt}" if run.attempt > 1 else "")),
    ]
    if run.state is RunState.HELD:
        facts.append(("next", f"syncd runs approve {run.id}, or: syncd runs reject {run.id}"))
    return [(name, value) for name, value in facts if value]


def _section(heading: str, things: list[dict[str, Any]], line: Any, *, total: int | None = None) -> None:
    if not things:
        return
    total = len(things) if total is None else total
    print(bold(f"{heading}: {total}"))
    for thing in things[:SHOWN]:
        print("  " + clean(line(thing)))
    if total > SHOWN:
        print(f"  … and {total - SHOWN} more: --json has them")


def _going(job: dict[str, Any]) -> str:
    title = job["title"] if job["title"] is not None else "deleted meanwhile"
    why = ", by its own row" if job["why"] == "row" else ""
    return f"- {job['referenceId'] or 'no referenceId'} (job {job['jobId']}): {title}{why}"


def _kinds(rows: list[dict[str, Any]]) -> list[tuple[int, str, str, str]]:
    """Return the number of rows for each field and code of an error, with the first detail; the most frequent first."""
    examples: dict[tuple[str, str], str] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        kinds = {(field_of(error["pointer"]), error["code"]): error["detail"] for error in row["errors"]}
        counts.update(kinds.keys())
        examples = kinds | examples
    return [(count, *kind, examples[kind]) for kind, count in counts.most_common()]


def _change(change: dict[str, Any]) -> str:
    fields = f": {', '.join(change['fields'])}" if change["fields"] else ""
    return f"{change['action']} job {change['jobId']} ({change['referenceId'] or 'no referenceId'}){fields}"
