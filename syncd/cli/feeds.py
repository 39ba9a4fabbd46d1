"""``syncd plan``, ``syncd import``, ``syncd feed list``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from syncd.cli.context import opened_store, quiet_settings
from syncd.cli.exit_codes import CHANGES, DONE, FAILED, HELD
from syncd.cli.output import clean, print_json, print_table, remark
from syncd.cli.plan_text import plan_json, print_plan
from syncd.cli.runs import counts_of, state_of, summary
from syncd.config import Settings
from syncd.domain.run import Run, RunState
from syncd.errors import FeedError
from syncd.feeds.configuration import FeedConfig
from syncd.service import stores, wiring
from syncd.service.interpreter import tune_garbage_collector
from syncd.store import Store, runs
from syncd.sync.report import run_json
from syncd.sync.run import Planned

Progress = Callable[[str, int, int], None]


def list_feeds(config: Path | None, as_json: bool) -> None:
    settings = quiet_settings(config)
    with opened_store(settings, make=True) as store:
        configs = wiring.feed_configs(settings, stores.catalog_of(store, settings))
        last = {name: _last(store, name) for name in configs}
    if as_json:
        print_json([_feed(found, settings, last[name]) for name, found in configs.items()])
        return
    rows = [
        (
            name,
            found.employer,
            found.preset or "own",
            found.policy.mode,
            settings.drop.folder / name,
            _word(last[name]),
        )
        for name, found in configs.items()
    ]
    headings = ("feed", "employer", "mapping", "mode", "folder", "last run")
    print_table(headings, rows, f"no feeds yet; a feed is a file NAME.toml in {settings.feeds}")


def _last(store: Store, name: str) -> Run | None:
    found = store.read(lambda tx: runs.list(tx, name, 1))
    return found[0] if found else None


def _word(run: Run | None) -> str | None:
    return f"{run.id}: {state_of(run)}" if run is not None else None


def _feed(found: FeedConfig, settings: Settings, run: Run | None) -> dict[str, Any]:
    return {
        "name": found.name,
        "employer": found.employer,
        "preset": found.preset,
        "mode": found.policy.mode,
        "folder": str(settings.drop.folder / found.name),
        "lastRun": run_json(run) if run is not None else None,
    }


def plan(config: Path | None, as_json: bool, file: Path, name: str, exit_code: bool) -> int:
    settings = quiet_settings(config)
    with opened_store(settings) as store, _progress(as_json) as progress:
        catalog = stores.catalog_of(store, settings)
        found = wiring.choose_feed(wiring.feed_configs(settings, catalog), name)
        feed = wiring.resolve_dry(store, found, settings)
        tune_garbage_collector()
        try:
            planned = wiring.make_importer(store, settings, catalog, {}, progress=progress).plan(feed, file)
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
    return CHANGES if planned.changing else DONE


class FileUnusable(FeedError):
    """The file as a whole is no use: which one, why and where."""

    def __init__(self, file: Path, error: FeedError) -> None:
        where = error.where()
        super().__init__(error.code, f"{file}: {error.detail}" + (f" ({where})" if where else ""))


def import_file(config: Path | None, as_json: bool, file: Path, name: str) -> int:
    settings = quiet_settings(config)
    with opened_store(settings) as store, _progress(as_json) as progress:
        catalog = stores.catalog_of(store, settings, remember=True)
        chosen = wiring.choose_feed(wiring.feed_configs(settings, catalog), name)
        feeds = wiring.resolve(store, {name: chosen}, settings)
        tune_garbage_collector()
        run = wiring.make_worker(store, settings, catalog, feeds, progress=progress).import_file(
            feeds[name], file
        )
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
    """A bar on standard error, if that is a terminal."""
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
