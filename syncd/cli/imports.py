"""The commands that make runs and decide them: ``syncd plan`` (as a text like a diff, and as ``--json``), ``syncd import``, and
``syncd runs`` with ``approve``, ``reject``, ``revert`` and ``again``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from syncd.cli.output import (
    CHANGES,
    DONE,
    FAILED,
    HELD,
    agreed,
    bold,
    clean,
    print_result,
    remark,
)
from syncd.cli.report_text import (
    counts_of,
    place_of,
    print_cut,
    print_filtered,
    print_unknown,
    shown,
    summary,
    warning_text,
)
from syncd.cli.store_access import opened_store
from syncd.config import Settings
from syncd.domain import Catalogue, Run, RunState
from syncd.errors import FeedError
from syncd.feeds.configuration import FeedFile
from syncd.service import configured_feeds, process, stores
from syncd.store import Store, feeds, runs
from syncd.sync.arrival import ArrivalContext, Worker, decide, revert
from syncd.sync.report import rejected_json, run_json, warning_json, write_json
from syncd.sync.run import Feed, Planned, PlannedChange, Progress, RevertPlan, plan_revert
from syncd.views import plan_view, revert_view

SIGNS = {"created": "+", "updated": "~", "reactivated": "^"}
#: Lines of each kind that the text has.
SHOWN = 200


def plan(settings: Settings, as_json: bool, file: Path, name: str, exit_code: bool) -> int:
    with _progress(as_json) as progress, opened_store(settings) as store:
        catalogue = stores.catalogue_of(store, settings)
        found = configured_feeds.feed_file(settings, catalogue, name)
        feed = configured_feeds.resolve(store, found, settings, dry=True)
        process.tune_garbage_collector()
        importer = configured_feeds.make_importer(store, settings, catalogue, progress=progress)
        with naming(file):
            planned = importer.plan(feed, file)
    if as_json:
        _print_json(plan_view(planned, catalogue))
    else:
        _print_plan(planned)
    return CHANGES if exit_code and planned.changes else DONE


@contextmanager
def naming(file: Path) -> Iterator[None]:
    """Have a FeedError of the block say which file it is about."""
    try:
        yield
    except FeedError as error:
        where = f" ({error.where()})" if error.where() else ""
        raise FeedError(error.code, f"{file}: {error.detail}{where}") from error


def import_file(settings: Settings, as_json: bool, file: Path, name: str) -> int:
    return _run(settings, as_json, lambda store: name, lambda worker, feed: worker.import_file(feed, file))


def run_again(settings: Settings, as_json: bool, number: int) -> int:
    """Run the kept file of the run ``number`` once more. Raises NotFound, Conflict."""

    def feed_name(store: Store) -> str:
        return store.read(lambda tx: runs.get(tx, number)).feed

    return _run(settings, as_json, feed_name, lambda worker, feed: worker.run_again(feed, number))


def _run(
    settings: Settings,
    as_json: bool,
    feed_name: Callable[[Store], str],
    work: Callable[[Worker, Feed], Run],
) -> int:
    """Have a worker of one feed do ``work``, and print the run."""
    with _progress(as_json) as progress, opened_store(settings) as store:
        name = feed_name(store)
        catalogue = stores.catalogue_of(store, settings, remember=True)
        chosen = configured_feeds.feed_file(settings, catalogue, name)
        feed = configured_feeds.resolve(store, chosen, settings)
        process.tune_garbage_collector()
        arrival = _arrival(store, settings, catalogue, progress)
        worker = Worker(arrival, {name: feed}, drop=settings.drop.folder)
        run = work(worker, feed)
    if as_json or run.state is not RunState.FAILED:
        print_result(as_json, run_json(run), summary(run))
    return _import_code(run)


def _arrival(
    store: Store, settings: Settings, catalogue: Catalogue, progress: Progress | None = None
) -> ArrivalContext:
    """Return what runs files. It says that a command waits, because another process runs the feed."""

    def say(feed: str) -> None:
        remark(f"syncd: waiting: another process runs a file of feed {clean(feed)}")

    importer = configured_feeds.make_importer(store, settings, catalogue, progress=progress)
    return ArrivalContext(store, importer, waits=say)


def _import_code(run: Run) -> int:
    if run.state is RunState.FAILED:
        remark(f"syncd: run {run.id} failed: {clean(run.reason or '')}; see `syncd runs show {run.id}`")
        return FAILED
    if run.state is RunState.PARTIAL:
        remark(f"syncd: {counts_of(run.counts)}; see `syncd runs show {run.id}`")
    if run.state is RunState.HELD:
        remark(
            f"syncd: held: {clean(run.reason or '')}; then `syncd runs approve {run.id}` or `reject {run.id}`"
        )
        return HELD
    return DONE


@contextmanager
def _progress(quiet: bool) -> Iterator[Progress | None]:
    """Yield a function that moves a progress bar, or None if standard error is not a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:9}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading")
        yield lambda phase, done, total: bar.update(
            task, description=phase, completed=done, total=total or None
        )


def decide_run(settings: Settings, as_json: bool, number: int, *, approved: bool) -> int:
    """Carry the decision out and print the run. Raises NotFound, Conflict if the run does not wait or is not what was
    shown, and, for an approval, ConfigError if the file of its feed is wrong."""
    with opened_store(settings) as store:
        catalogue = stores.catalogue_of(store, settings, remember=True)
        file = _file_of_run(store, settings, catalogue, number) if approved else None
        feed = configured_feeds.resolve(store, file, settings) if file is not None else None
        arrival = _arrival(store, settings, catalogue)
        run = decide(arrival, settings.drop.folder, number, feed, approved=approved)
    print_result(as_json, run_json(run), summary(run))
    return FAILED if run.state is RunState.FAILED else DONE


def _file_of_run(store: Store, settings: Settings, catalogue: Catalogue, number: int) -> FeedFile | None:
    """Return the file of a run's feed, None if it is no longer configured. Raises NotFound, ConfigError."""
    name = store.read(lambda tx: runs.get(tx, number)).feed
    return configured_feeds.feed_files(settings, catalogue).get(name)


def revert_run(settings: Settings, as_json: bool, number: int, *, plan: bool, yes: bool, pause: bool) -> int:
    """Revert the run and print the run that did it. Raises NotFound, Conflict (the run goes on), NothingToRevert."""
    with opened_store(settings) as store:
        catalogue = stores.catalogue_of(store, settings, remember=not plan)
        file = _file_of_run(store, settings, catalogue, number)
        policy = file.config.policy if file is not None and file.config is not None else settings.sync
        if plan:
            changes: list[PlannedChange] = []
            planned = plan_revert(store, number, policy, on_change=changes.append)
            _print_revert(planned, changes, catalogue if as_json else None)
            return DONE
        arrival = _arrival(store, settings, catalogue)
        why, digest, drop = f"run {number} was reverted" if pause else None, None, settings.drop.folder
        while isinstance(
            run := revert(arrival, drop, number, policy, agreed=digest, yes=yes, pause=why), RevertPlan
        ):
            if not _agreed(run):
                return HELD
            digest = run.digest
        paused = run.feed in store.read(feeds.paused)
    print_result(as_json, run_json(run), summary(run))
    if run.counts.warnings:
        remark(f"syncd: {run.counts.warnings} jobs are not as before: see `syncd runs show {run.id}`")
    remark(f"syncd: {_what_next(run.feed, paused)}")
    return DONE


def _what_next(feed: str, paused: bool) -> str:
    if paused:
        return f"feed {feed} is paused: its files are left lying until `syncd feed resume {feed}`"
    return f"the next file of {feed} brings the same back, unless it is another; `syncd feed pause {feed}` stops it"


def _agreed(planned: RevertPlan) -> bool:
    """Ask whether to revert over the limits of the guard."""
    assert planned.hold is not None
    number, reason = planned.run.id, clean(planned.hold.reason)
    return agreed(
        "Revert it?",
        f": {reason}; to revert run {number} all the same: --yes",
        f"This revert of run {number} ({clean(planned.run.feed)}) is over a limit: {reason}",
        counts_of(planned.counts),
    )


def _print_revert(planned: RevertPlan, changes: list[PlannedChange], catalogue: Catalogue | None) -> None:
    """Print the plan as text, or with a catalogue as JSON."""
    found = revert_view(planned, changes)
    if catalogue is not None:
        _print_json(plan_view(found, catalogue))
        return
    _print_plan(replace(found, run=replace(found.run, holds=None, reason=None)))
    if planned.hold is not None:
        print(f"this revert would ask first, because it is over a limit: {clean(planned.hold.reason)}")


# -- a plan as text ------------------------------------------------------------------------------------------------


def _print_json(found: dict[str, Any]) -> None:
    write_json(found, lambda part: sys.stdout.write(part.decode()))


def _print_plan(planned: Planned) -> None:
    if planned.unchanged:
        print(
            "the file is the same as in the feed's last run, and nothing has changed since: nothing would change"
        )
        return
    for archives in (False, True):
        _print_changes(change for change in planned.changes if bool(change.archives) is archives)
    for row in islice(planned.rejected, SHOWN):
        reasons = "; ".join(f"{p.pointer or '/'}: {p.detail}" for p in row.errors)
        print(clean(f"! {place_of(rejected_json(row))} would be rejected: {reasons}"))
    print_cut(SHOWN, len(planned.rejected))
    for warning in islice(planned.warnings, SHOWN):
        print(clean(f"? {warning_text(warning_json(warning))}"))
    print_cut(SHOWN, len(planned.warnings))
    print_unknown(planned.unknown.toml)
    print_filtered(planned.run.filtered_by)
    print(bold(counts_of(planned.run.counts)))
    if planned.run.withheld:
        print(f"this run would archive nothing: {clean(planned.run.withheld)}")
    if planned.run.holds:
        print(f"this run would be held ({planned.run.holds}): {clean(planned.run.reason or '')}")


def _print_changes(changes: Iterable[PlannedChange]) -> None:
    number = 0
    for number, change in enumerate(changes, start=1):
        if number > SHOWN:
            continue
        print(_line_of(change))
        for name, (before, after) in change.fields.items():
            if change.action != "archived":
                print(f"    {name}: {shown(before)} → {shown(after)}")
    print_cut(SHOWN, number)


def _line_of(change: PlannedChange) -> str:
    which = f" (job {change.job_id})" if change.job_id else ""
    sign = "-" if change.archives else SIGNS.get(change.action, " ")
    title = f": {change.title}" if change.archives or not change.job_id else ""
    return clean(f"{sign} {change.reference_id or 'no referenceId'}{which} {change.action}{title}")
