"""``syncd runs`` and ``syncd runs show``."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from syncd.cli.output import bold, cell, clean, print_json, print_list, remark
from syncd.cli.report_text import (
    counts_of,
    fields_json,
    print_filtered,
    print_kinds,
    print_unknown,
    rejected_text,
    shown,
    state_of,
    subject_of,
    warning_text,
)
from syncd.cli.store_access import opened_store
from syncd.config import load_settings
from syncd.domain import Catalogue, Run, RunState
from syncd.store import Tx, history, runs
from syncd.sync.report import field_of, report, run_json

#: Rejected rows, warnings and changes that the text has; ``--json`` has them all.
SHOWN = 20


def list_runs(config: Path | None, as_json: bool, feed: str | None, limit: int) -> None:
    with opened_store(load_settings(config)) as store:
        found = store.read(lambda tx: runs.list(tx, feed, limit))
    rows = [
        (
            run.id,
            run.feed,
            subject_of(run),
            state_of(run.state, run.holds),
            counts_of(run.counts),
            run.claimed_at,
        )
        for run in found
    ]
    headings = ("run", "feed", "file", "state", "rows", "taken")
    empty = "no runs yet; drop a file into a feed's folder"
    print_list(as_json, [run_json(run) for run in found], headings, rows, empty)


#: Changes in a page.
PAGE = 1000


def show_run(config: Path | None, as_json: bool, number: int, *, changes: bool, page: int) -> None:
    """Print the run, or with ``changes`` a page of its changes alone. Raises NotFound."""
    settings = load_settings(config)
    with opened_store(settings) as store:
        run = store.read(lambda tx: runs.get(tx, number))
        if changes and not as_json:
            _print_changes(
                *store.read(lambda tx: history.page_of_run(tx, number, page=page, page_size=PAGE)), page
            )
            return
        found = report(store, number, would_archive=None if as_json else SHOWN)
        if as_json:
            from syncd.service import stores

            catalogue = stores.catalogue_of(store, settings)
            print_json(found | store.read(lambda tx: _changes_json(tx, number, page, catalogue)))
            return
    print(bold(f"run {run.id}: {clean(run.feed)}, {subject_of(run)}"))
    for name, value in _facts(run):
        print(f"  {name:9} {value}")
    print_filtered(run.filtered_by)
    if going := found["wouldArchive"]:
        _section("would be archived", going["jobs"], _going, total=going["total"])
    print_kinds("rejected, by kind", _kinds(found["rejectedRows"]))
    _section("rejected rows", found["rejectedRows"], partial(rejected_text, codes=False))
    print_unknown(found["lookupToml"])
    _section("warnings", found["warnings"], warning_text)
    _section("changes", found["changes"], _change, more=f"syncd runs show {number} --changes has them")


def _changes_json(tx: Tx, number: int, page: int, catalogue: Catalogue) -> dict[str, Any]:
    """Return a page of the run's changes with the values before and after, and which page it is."""
    total, changes = history.page_of_run(tx, number, page=page, page_size=PAGE)
    from syncd.feeds.native import members_of

    member = members_of(catalogue)
    listed = [
        {
            "action": change.entry.action,
            "referenceId": change.entry.reference_id,
            "jobId": change.entry.job_id,
            "fields": fields_json(change.fields, member),
        }
        for change in changes
    ]
    paging = {"total": total, "page": page, "pages": -(-total // PAGE), "pageSize": PAGE}
    return {"changes": listed, "changesPaging": paging}


def _print_changes(total: int, changes: list[history.RunChange], page: int) -> None:
    for change in changes:
        entry = change.entry
        print(clean(f"{entry.action} job {entry.job_id} ({entry.reference_id or 'no referenceId'})"))
        for name, (before, after) in change.fields.items():
            print(f"    {name}: {shown(before)} → {shown(after)}")
    pages = max(1, -(-total // PAGE))
    if page < pages:
        remark(f"page {page} of {pages} ({total} changes); the next: --page {page + 1}")
    elif not changes:
        remark(f"no changes on page {page} of {pages}")


def _facts(run: Run) -> list[tuple[str, str]]:
    facts = [
        ("state", state_of(run.state, run.holds)),
        ("reason", clean(run.reason or run.withheld or "")),
        ("employer", clean(run.employer)),
        ("rows", counts_of(run.counts)),
        (
            "file",
            f"{run.size:,} bytes, SHA-256 {run.sha256 or 'not computed'}" if run.reverts is None else "",
        ),
        ("repeats", f"run {run.repeats}" if run.repeats is not None else ""),
        ("taken", cell(run.claimed_at)),
        ("ended", cell(run.ended_at) + (f", attempt {run.attempt}" if run.attempt > 1 else "")),
    ]
    if run.state is RunState.HELD:
        facts.append(("next", f"syncd runs approve {run.id}, or: syncd runs reject {run.id}"))
    return [(name, value) for name, value in facts if value]


def _section(
    heading: str,
    things: list[dict[str, Any]],
    line: Any,
    *,
    total: int | None = None,
    more: str = "--json has them",
) -> None:
    if not things:
        return
    total = len(things) if total is None else total
    print(bold(f"{heading}: {total}"))
    for thing in things[:SHOWN]:
        print("  " + clean(line(thing)))
    if total > SHOWN:
        print(f"  … and {total - SHOWN} more: {more}")


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
