"""``syncd runs`` and ``syncd runs show``."""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from syncd.cli import report_text as text
from syncd.cli.output import bold, cell, clean, print_list, remark
from syncd.cli.store_access import opened_store
from syncd.config import Settings
from syncd.domain import Run, RunState
from syncd.errors import Problem
from syncd.store import Tx, history, runs
from syncd.sync.report import APPLIED_BEFORE, Kinds, run_json, whole_report, write_json

#: Rejected rows, warnings and changes that the text has; ``--json`` has them all.
SHOWN = 20
#: Changes in a page.
PAGE = 1000


def list_runs(settings: Settings, as_json: bool, feed: str | None, state: str | None, limit: int) -> None:
    wanted = RunState(state) if state is not None else None
    with opened_store(settings) as store:
        listed = store.read(lambda tx: runs.newest(tx, feed, limit, wanted))
        if feed is not None and not listed and not store.read(lambda tx: runs.newest(tx, feed, 1)):
            from syncd.service import configured_feeds, stores

            configured_feeds.feed_file(settings, stores.catalogue_of(store, settings), feed)
    rows = [
        (r.id, r.feed, text.subject_of(r), text.state_of(r.state, r.holds), text.rows_of(r), r.claimed_at)
        for r in listed
    ]
    headings = ("run", "feed", "file", "state", "rows", "taken")
    of_feed = f" of {feed}" if feed is not None else ""
    empty = f"no run{of_feed} is {state}" if state else "no runs yet; drop a file into a feed's folder"
    print_list(as_json, [run_json(run) for run in listed], headings, rows, empty)


def show_run(settings: Settings, as_json: bool, number: int, *, changes: bool, page: int) -> None:
    """Print the run, or with ``changes`` a page of its changes alone. Raises NotFound."""
    with opened_store(settings) as store:
        if as_json:
            from syncd.service import stores
            from syncd.views import run_view

            catalogue = stores.catalogue_of(store, settings)
            write = sys.stdout.write
            store.read(
                lambda tx: write_json(
                    run_view(tx, number, page, catalogue, PAGE), lambda part: write(part.decode())
                )
            )
        elif changes:
            store.read(lambda tx: _print_changes(tx, number, page))
        else:
            store.read(lambda tx: _print_text(tx, number))


def _print_text(tx: Tx, number: int) -> None:
    """Print the first entries of each list of the run, and how many there are; all rejected rows and warnings by kind."""
    run, report = runs.get(tx, number), whole_report(tx, number, most=SHOWN, would_archive=SHOWN)
    changes, changes_total = list(report["changes"]), sum(history.actions_of_run(tx, number).values())
    errors, noticed = Kinds(), Kinds()
    rejected, warnings = list[dict[str, Any]](), list[dict[str, Any]]()
    rejected_total = warnings_total = 0
    for rejected_total, row in enumerate(report["rejectedRows"], start=1):
        errors.add_errors(row["record"], [Problem(**error) for error in row["errors"]])
        rejected += [row] if rejected_total <= SHOWN else []
    for warnings_total, warning in enumerate(report["warnings"], start=1):
        noticed.add_warning(warning["code"], warning["detail"], warning["record"])
        warnings += [warning] if warnings_total <= SHOWN else []
    print(bold(f"run {run.id}: {clean(run.feed)}, {text.subject_of(run)}"))
    for name, value in _facts(run):
        print(f"  {name:9} {value}")
    text.print_filtered(run.filtered_by)
    if going := report["wouldArchive"]:
        _section("would be archived", going["jobs"], _going, going["total"])
    text.print_kinds("rejected, by kind", errors.by_frequency())
    text.print_kinds("warnings, by kind", noticed.by_frequency())
    text.print_unknown(report["lookupToml"])
    _section("rejected rows", rejected, partial(text.rejected_text, codes=False), rejected_total)
    _section("warnings", warnings, text.warning_text, warnings_total)
    more = f"syncd runs show {run.id} --changes has them"
    _section("changes", changes, _change, changes_total, more)


def _print_changes(tx: Tx, number: int, page: int) -> None:
    runs.get(tx, number)
    total, changes = history.page_of_run(tx, number, page=page, page_size=PAGE)
    for change in changes:
        entry = change.entry
        print(clean(f"{entry.action} job {entry.job_id} ({entry.reference_id or 'no referenceId'})"))
        text.print_fields(change.fields)
    pages = max(1, -(-total // PAGE))
    if page < pages:
        remark(f"page {page} of {pages} ({total} changes); the next: --page {page + 1}")
    elif not changes:
        remark(f"no changes on page {page} of {pages}")


def _facts(run: Run) -> list[tuple[str, str]]:
    size = f"{run.size:,} bytes, SHA-256 {run.sha256 or 'not computed'}"
    decide = f"syncd runs approve {run.id}, or: syncd runs reject {run.id}"
    facts = [
        ("state", text.state_of(run.state, run.holds)),
        ("reason", text.reason_of(run)),
        ("employer", clean(run.employer)),
        ("rows", text.rows_of(run)),
        ("file", size if run.reverts is None else ""),
        ("repeats", f"run {run.repeats}" if run.repeats is not None else ""),
        ("taken", cell(run.claimed_at)),
        ("ended", cell(run.ended_at)),
        ("attempt", f"{run.attempt}; {APPLIED_BEFORE}" if run.attempt > 1 else ""),
        ("seconds", ", ".join(f"{name} {seconds:.2f}" for name, seconds in run.phases.items())),
        ("next", decide if run.state is RunState.HELD else ""),
    ]
    return [(name, value) for name, value in facts if value]


def _section(
    heading: str,
    things: list[dict[str, Any]],
    line: Callable[[dict[str, Any]], str],
    total: int,
    more: str = text.IN_JSON,
) -> None:
    if not things:
        return
    print(bold(f"{heading}: {total:,}"))
    for thing in things:
        print("  " + clean(line(thing)))
    text.print_cut(len(things), total, more)


def _going(job: dict[str, Any]) -> str:
    title = job["title"] if job["title"] is not None else "deleted meanwhile"
    why = ", by its own row" if job["why"] == "row" else ""
    return f"- {job['referenceId'] or 'no referenceId'} (job {job['jobId']}): {title}{why}"


def _change(change: dict[str, Any]) -> str:
    fields = f": {', '.join(change['fields'])}" if change["fields"] else ""
    return f"{change['action']} job {change['jobId']} ({change['referenceId'] or 'no referenceId'}){fields}"
