"""The commands that make runs and decide them: ``syncd plan`` (as a text like a diff, and as ``--json``), ``syncd import``, and
``syncd runs`` with ``approve``, ``reject``, ``revert`` and ``again``."""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from syncd.cli import options
from syncd.cli import report_text as text
from syncd.cli.output import CHANGES, DONE, FAILED, HELD, agreed, bold, clean, print_result, remark
from syncd.cli.store_access import opened_store
from syncd.config import Settings
from syncd.domain import API_FEED, Catalogue, HoldScope, Run, RunKind, RunState
from syncd.errors import FeedError
from syncd.feeds.configuration import FeedFile
from syncd.feeds.source import Source, source_at
from syncd.service import configured_feeds, process, stores
from syncd.sources import Fetched, beside, fetch_once
from syncd.store import Store, feeds, run_results, runs
from syncd.sync.arrival import ArrivalContext, Worker, decide, revert
from syncd.sync.report import REKEY, plan_of, rekeys_of, run_json, write_json
from syncd.sync.run import Feed, Host, Planned, PlannedChange, RevertPlan, plan_revert, to_rekey
from syncd.values import plural
from syncd.views import plan_view, planned_rekeys, revert_view

if TYPE_CHECKING:
    import rich.progress

#: Lines of each kind that the text has.
SHOWN = 200
#: Kind of a hold → the part of a run that waits.
_HELD = {HoldScope.ALL: "this run", HoldScope.ARCHIVE: "the archiving of this run"}


def file_and_feed(settings: Settings, first: str, second: str | None, feed: str | None) -> tuple[Path, str]:
    """Return a file and the name of its feed: ``first`` and ``second`` in either order, or ``first`` and ``--feed``. Raises
    typer.BadParameter."""
    if feed is not None and second is None:
        return options.named_path(first), feed
    if second is None or feed is not None:
        why = "the feed is named twice" if feed is not None else "the feed is missing"
        names = sorted(path.stem for path in settings.feeds.glob("*.toml"))
        if feed is None and first in names and not Path(first).exists():
            why = "the file is missing"
        raise typer.BadParameter(
            f"{why}: FILE FEED, or FILE --feed FEED; feeds: {', '.join(names) or 'none'}"
        )

    def like_feed(word: str) -> tuple[bool, bool]:
        is_path = "." in word or "/" in word or Path(word).exists()
        return (settings.feeds / f"{word}.toml").exists(), not is_path

    name, file = sorted((first, second), key=like_feed, reverse=True)
    return options.named_path(file), name


def plan(
    settings: Settings, as_json: bool, first: str, second: str | None, feed: str | None, *, exit_code: bool
) -> int:
    file, name = file_and_feed(settings, first, second, feed)
    url = next(filter(is_address, (first, second or "")), None)
    with _terminal(settings, as_json) as host, opened_store(settings) as store, ExitStack() as stack:
        catalogue = stores.catalogue_of(store, settings)
        feed_file = configured_feeds.feed_file(settings, catalogue, name)
        resolved = configured_feeds.resolve(store, feed_file, settings, dry=True)
        process.tune_garbage_collector()
        importer = configured_feeds.make_importer(store, settings, catalogue, host)
        if url is not None:
            source = beside(resolved.config.source, source_at(url), settings)
            file = stack.enter_context(fetched(source, settings)).path
        with naming(url or file):
            planned = importer.plan(resolved, file)
    _print_plan(planned, catalogue if as_json else None)
    return CHANGES if exit_code and planned.changes else DONE


def is_address(text: str) -> bool:
    """Return whether an argument is the address of a file, not its path."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


@contextmanager
def fetched(source: Source, settings: Settings) -> Iterator[Fetched]:
    """Yield the file of a source, which is removed in the end. Raises SourceError."""
    with tempfile.TemporaryDirectory(prefix="syncd-") as folder:
        yield asyncio.run(fetch_once(source, settings, Path(folder)))


@contextmanager
def naming(file: Path | str) -> Iterator[None]:
    """Have a FeedError of the block name the file, or the address, that it is about."""
    try:
        yield
    except FeedError as error:
        where = f" ({error.where()})" if error.where() else ""
        raise FeedError(error.code, f"{file}: {error.detail}{where}") from error


def import_file(settings: Settings, as_json: bool, first: str, second: str | None, feed: str | None) -> int:
    file, name = file_and_feed(settings, first, second, feed)
    return _run(settings, as_json, lambda store: name, lambda worker, feed: worker.import_file(feed, file))


def run_again(settings: Settings, as_json: bool, number: int) -> int:
    """Run the kept file of the run ``number`` once more. Raises NotFound, Conflict."""
    return _run(
        settings,
        as_json,
        lambda store: store.read(lambda tx: runs.get(tx, number)).feed,
        lambda worker, feed: worker.run_again(feed, number),
    )


def _run(
    settings: Settings,
    as_json: bool,
    feed_name: Callable[[Store], str],
    work: Callable[[Worker, Feed], Run],
) -> int:
    with opened_store(settings) as store:
        with _terminal(settings, as_json) as host:
            name = feed_name(store)
            catalogue = stores.catalogue_of(store, settings, remember=True)
            feed_file = configured_feeds.feed_file(settings, catalogue, name)
            feed = configured_feeds.resolve(store, feed_file, settings)
            process.tune_garbage_collector()
            arrival = arrival_of(store, settings, catalogue, host)
            run = work(Worker(arrival, {name: feed}, drop=settings.drop.folder), feed)
        rekeys = store.read(lambda tx: rekeys_of(tx, plan_of(tx, run), 0))
        if as_json or run.state is not RunState.FAILED:
            _print_run(run, as_json)
        if not as_json:
            store.read(lambda tx: text.print_warnings(run_results.warnings(tx, run.id)))
    return _import_code(run, rekeys)


def arrival_of(store: Store, settings: Settings, catalogue: Catalogue, host: Host) -> ArrivalContext:
    return ArrivalContext(store, configured_feeds.make_importer(store, settings, catalogue, host), host)


def _print_run(run: Run, as_json: bool) -> None:
    print_result(as_json, run_json(run), text.summary(run))


def _import_code(run: Run, rekeys: dict[str, Any] | None) -> int:
    reason, show = clean(run.reason or ""), f"see `syncd runs show {run.id}`"
    if run.state is RunState.FAILED:
        remark(f"syncd: run {run.id} failed: {reason}; {show}")
        return FAILED
    if run.state is RunState.PARTIAL:
        nothing = "" if run.is_success else "no row went in: "
        remark(f"syncd: {nothing}{text.counts_of(run.counts)}; {show}")
        return DONE if run.is_success else FAILED
    if run.state is RunState.HELD:
        remark(f"syncd: held; to decide: {text.decisions_on(run, rekeys)}")
        return HELD
    return DONE


class Terminal(Host):
    """The command as runs see it: it moves the ``bar``, if there is one, and says that it waits."""

    def __init__(self, settings: Settings, bar: rich.progress.Progress | None = None) -> None:
        super().__init__(configured_feeds.scratch_folder(settings))
        self._bar = bar
        self._task = bar.add_task("reading") if bar is not None else None

    def progress(self, phase: str, done: int, total: int) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=phase, completed=done, total=total or None)

    def waits(self, feed: str) -> None:
        remark(f"syncd: waiting: another process runs a file of feed {clean(feed)}")


@contextmanager
def _terminal(settings: Settings, quiet: bool) -> Iterator[Host]:
    """Yield the host of a command, with a progress bar if standard error is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield Terminal(settings)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:9}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Terminal(settings, bar)


# -- decisions -----------------------------------------------------------------------------------------------------


def decide_run(settings: Settings, as_json: bool, number: int, *, approved: bool) -> int:
    """Carry the decision out and print the run. Raises NotFound, Conflict, ConfigError (the file of its feed is wrong)."""
    with opened_store(settings) as store:
        return _decide(store, settings, as_json, number, approved=approved)


def rekey_run(settings: Settings, as_json: bool, number: int, *, yes: bool) -> int:
    """Show the jobs that would take new ids, ask, and carry the run out so. Raises NotFound, Conflict (it is not held for that),
    ConfigError (the file of its feed is wrong)."""
    with opened_store(settings) as store:
        run, shown = store.read(lambda tx: to_rekey(tx, number))
        if not yes:
            if not as_json:
                text.print_rekeys(store.read(lambda tx: rekeys_of(tx, shown, SHOWN)))
                print(text.rest_of_rekeying(run, len(shown.pairs)))
            if not agreed(f"{REKEY}: {plural(len(shown.pairs), 'job')}?", "; to agree: --yes"):
                return HELD
        return _decide(store, settings, as_json, number, approved=True, agreed=shown.plan, rekey=True)


def _decide(
    store: Store, settings: Settings, as_json: bool, number: int, *, approved: bool, **how: Any
) -> int:
    catalogue = stores.catalogue_of(store, settings, remember=True)
    file = _file_of_run(store, settings, catalogue, number) if approved else None
    feed = configured_feeds.resolve(store, file, settings) if file is not None else None
    arrival = arrival_of(store, settings, catalogue, Terminal(settings))
    run = decide(arrival, settings.drop.folder, number, feed, approved=approved, **how)
    _print_run(run, as_json)
    return {RunState.FAILED: FAILED, RunState.HELD: HELD}.get(run.state, DONE)


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
            view = revert_view(planned, changes)
            if as_json:
                _print_plan(view, catalogue)
                return DONE
            _print_plan(replace(view, run=replace(view.run, holds=None, reason=None)), None)
            if planned.hold is not None:
                reason = clean(planned.hold.reason)
                print(f"this revert is over a limit, and would ask first: {reason}")
            return DONE
        arrival = arrival_of(store, settings, catalogue, Terminal(settings))
        why, digest, drop = f"run {number} was reverted" if pause else None, None, settings.drop.folder
        while isinstance(
            run := revert(arrival, drop, number, policy, agreed=digest, yes=yes, pause=why), RevertPlan
        ):
            assert run.hold is not None
            why_asked = clean(run.hold.reason)
            otherwise = f": {why_asked}; to revert run {number} all the same: --yes"
            about = f"This revert of run {number} ({clean(run.run.feed)}) is over a limit: {why_asked}"
            if not agreed("Revert it?", otherwise, about, text.undone_of(run.counts)):
                return HELD
            digest = run.digest
        reverted = store.read(lambda tx: runs.get(tx, number))
        paused = run.feed in store.read(feeds.paused)
    _print_run(run, as_json)
    if run.counts.warnings:
        left = plural(run.counts.warnings, "job") + (" is" if run.counts.warnings == 1 else " are")
        remark(f"syncd: {left} not as before: see `syncd runs show {run.id}`")
    if paused:
        remark(
            f"syncd: feed {run.feed} is paused: its files are left lying until `syncd feed resume {run.feed}`"
        )
    elif reverted.feed == API_FEED:
        remark(f"syncd: the keys stay as they are; to make one: syncd key create {run.employer_id}")
    elif reverted.kind is RunKind.CLOSE:
        remark(
            f"syncd: feed {run.feed} owns its jobs again: move its file back from feeds.d/removed/, then: syncd reload"
        )
    else:
        again = f"the next file of {run.feed} brings the same back if it has the same rows"
        remark(f"syncd: {again}; `syncd feed pause {run.feed}` stops it")
    return DONE


# -- a plan as text ------------------------------------------------------------------------------------------------


def _print_plan(planned: Planned, catalogue: Catalogue | None) -> None:
    """Print the plan as text, or with a catalogue as JSON."""
    if catalogue is not None:
        write_json(plan_view(planned, catalogue), lambda part: sys.stdout.write(part.decode()))
        return
    run = planned.run
    if planned.unchanged:
        same = "the file is the same as in the feed's last run, and nothing has changed since"
        print(f"{same}: nothing would change")
        return
    if run.holds or run.shape is not None:  # it explains all that follows
        held = f"{_HELD[run.holds]} would be held: " if run.holds else ""
        print(bold(clean(held + (run.reason or ""))))
    print(text.counts_of(run.counts) if run.reverts is None else text.undone_of(run.counts))
    if run.withheld:
        print(f"this run would archive nothing: {clean(run.withheld)}")
    text.print_filtered(run.filtered_by)
    going = sum(change.archives is not None for change in planned.changes)
    text.print_rekeys(planned_rekeys(planned, SHOWN))
    text.print_section("would be archived", going, _first(planned, archives=True))
    text.print_rejected(planned.rejected, planned.unknown, SHOWN)
    text.print_section("changes", len(planned.changes) - going, _first(planned, archives=False))
    text.print_warnings(planned.warnings)


def _first(planned: Planned, *, archives: bool) -> Iterator[str]:
    changes = (change for change in planned.changes if (change.archives is not None) is archives)
    for c in islice(changes, SHOWN):
        yield text.change_text(c.action, c.reference_id, c.job_id, c.fields, title=c.title, why=c.archives)
