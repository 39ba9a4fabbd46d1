"""``syncd plan`` and ``syncd import``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from syncd.cli.exit_codes import CHANGES, DONE, FAILED, HELD
from syncd.cli.output import clean, print_json, remark
from syncd.cli.plan_text import plan_json, print_plan
from syncd.cli.run_text import counts_of, summary
from syncd.cli.store_access import opened_store, quiet_settings
from syncd.domain import Run, RunState
from syncd.errors import FeedError
from syncd.service import configured_feeds, interpreter, stores, wiring
from syncd.sync.report import run_json
from syncd.sync.run import Planned

Progress = Callable[[str, int, int], None]


def plan(config: Path | None, as_json: bool, file: Path, name: str, exit_code: bool) -> int:
    settings = quiet_settings(config)
    with _progress(as_json) as progress, opened_store(settings) as store:
        catalogue = stores.catalogue_of(store, settings)
        found = configured_feeds.choose(configured_feeds.feed_files(settings, catalogue), name)
        feed = configured_feeds.resolve_dry(store, found, settings)
        interpreter.tune_garbage_collector()
        try:
            planned = wiring.make_importer(store, settings, catalogue, progress=progress).plan(feed, file)
        except FeedError as error:
            raise FileUnusable(file, error) from error
    if as_json:
        print_json(plan_json(planned))
    else:
        print_plan(planned)
    return _plan_code(planned, exit_code)


def _plan_code(planned: Planned, exit_code: bool) -> int:
    if not exit_code:
        return DONE
    return CHANGES if planned.changes else DONE


class FileUnusable(FeedError):
    """A file that cannot be used as a whole, with its path in the message."""

    def __init__(self, file: Path, error: FeedError) -> None:
        where = error.where()
        super().__init__(error.code, f"{file}: {error.detail}" + (f" ({where})" if where else ""))


def import_file(config: Path | None, as_json: bool, file: Path, name: str) -> int:
    settings = quiet_settings(config)
    with _progress(as_json) as progress, opened_store(settings) as store:
        catalogue = stores.catalogue_of(store, settings, remember=True)
        chosen = configured_feeds.choose(configured_feeds.feed_files(settings, catalogue), name)
        feed = configured_feeds.resolve(store, chosen, settings)
        interpreter.tune_garbage_collector()
        worker = wiring.make_worker(store, settings, catalogue, {name: feed}, progress=progress)
        run = worker.import_file(feed, file)
    if as_json:
        print_json(run_json(run))
    elif run.state is not RunState.FAILED:
        print(summary(run))
    return _import_code(run)


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
