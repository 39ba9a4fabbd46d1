"""``syncd runs`` and ``syncd runs show``."""

import sys
from collections.abc import Iterator, Sequence
from datetime import tzinfo
from typing import Any

from syncd.cli import report_text as text
from syncd.cli.output import bold, cell, clean, print_list, remark, time_cell
from syncd.cli.store_access import opened_store
from syncd.config import Settings
from syncd.domain import Run, RunKind, RunState
from syncd.store import Tx, history, jobs, run_results, runs
from syncd.sync.report import APPLIED_BEFORE, plan_of, rekeys_of, run_json, would_archive_of, write_json
from syncd.values import plural

#: Rejected rows, warnings and changes that the text has; ``--json`` has them all.
SHOWN = 20
#: Changes in a page, and jobs whose titles are asked for at once.
PAGE, NAMED = 1000, 500


def list_runs(settings: Settings, as_json: bool, feed: str | None, state: str | None, limit: int) -> None:
    wanted = RunState(state) if state is not None else None
    with opened_store(settings) as store:
        listed = store.read(lambda tx: runs.newest(tx, feed, limit, wanted))
        if feed is not None and not listed and not store.read(lambda tx: runs.newest(tx, feed, 1)):
            from syncd.service import configured_feeds, stores

            configured_feeds.feed_file(settings, stores.catalogue_of(store, settings), feed)
    rows = [
        (
            r.id,
            r.feed,
            text.subject_of(r),
            text.state_of(run_json(r)),
            text.rows_of(r),
            time_cell(r.claimed_at, settings.timezone),
        )
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

            catalogue, write = stores.catalogue_of(store, settings), sys.stdout.write
            store.read(
                lambda tx: write_json(
                    run_view(tx, number, page, catalogue, PAGE), lambda part: write(part.decode())
                )
            )
        else:
            store.read(
                lambda tx: (
                    _print_changes(tx, number, page)
                    if changes
                    else _print_text(tx, number, settings.timezone)
                )
            )


def _print_text(tx: Tx, number: int, zone: tzinfo) -> None:
    run = runs.get(tx, number)
    shown = plan_of(tx, run)
    going = would_archive_of(tx, shown, SHOWN) or {"total": 0, "jobs": ()}
    rekeys = rekeys_of(tx, shown, SHOWN)
    total, changes = history.page_of_run(tx, number, page=1, page_size=SHOWN)
    print(bold(f"run {run.id}: {clean(run.feed)}, {text.subject_of(run)}"))
    for name, value in _facts(run, zone, rekeys):
        print(f"  {name:9} {value}")
    text.print_filtered(run.filtered_by)
    text.print_rekeys(rekeys)
    text.print_section("would be archived", going["total"], map(_going, going["jobs"]))
    text.print_rejected(run_results.rejected_rows(tx, number), run_results.unknown(tx, number), SHOWN)
    more = f"syncd runs show {run.id} --changes has them"
    text.print_section("changes", total, _made(tx, changes), more)
    text.print_warnings(run_results.warnings(tx, number))


def _print_changes(tx: Tx, number: int, page: int) -> None:
    runs.get(tx, number)
    total, changes = history.page_of_run(tx, number, page=page, page_size=PAGE)
    for line in _made(tx, changes):
        print(line)
    pages = max(1, -(-total // PAGE))
    if page < pages:
        remark(f"page {page} of {pages} ({plural(total, 'change')}); the next: --page {page + 1}")
    elif not changes:
        remark(f"no changes on page {page} of {pages}")


def _going(job: dict[str, Any]) -> str:
    title = "deleted meanwhile" if job["title"] is None else job["title"]
    return text.change_text("archived", job["referenceId"], job["jobId"], {}, title=title, why=job["why"])


def _made(tx: Tx, changes: Sequence[history.RunChange]) -> Iterator[str]:
    numbers = [change.entry.job_id for change in changes if change.entry.job_id]
    names: dict[int, tuple[str | None, str]] = {}
    for start in range(0, len(numbers), NAMED):
        names |= jobs.names(tx, numbers[start : start + NAMED])
    for change in changes:
        entry = change.entry
        _reference, title = names.get(entry.job_id or 0, (None, None))
        yield text.change_text(
            entry.action, entry.reference_id, entry.job_id, change.fields, title=title or ""
        )


def _facts(run: Run, zone: tzinfo, rekeys: dict[str, Any] | None) -> list[tuple[str, str]]:
    size = f"{run.size:,} bytes, SHA-256 {run.sha256 or 'not computed'}"
    facts = [
        ("state", text.state_of(run_json(run))),
        ("reason", text.reason_of(run)),
        ("employer", clean(run.employer)),
        ("rows", text.rows_of(run)),
        ("file", size if run.kind is RunKind.FILE else ""),
        ("repeats", f"run {run.repeats}" if run.repeats is not None else ""),
        ("taken", cell(time_cell(run.claimed_at, zone))),
        ("ended", cell(time_cell(run.ended_at, zone))),
        ("attempt", f"{run.attempt}; {APPLIED_BEFORE}" if run.attempt > 1 else ""),
        ("seconds", ", ".join(f"{name} {seconds:.2f}" for name, seconds in run.phases.items())),
        ("next", text.decisions_on(run, rekeys) if run.state is RunState.HELD else ""),
    ]
    return [(name, value) for name, value in facts if value]
