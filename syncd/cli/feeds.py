"""``syncd feed list``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from syncd.cli.context import opened_store, quiet_settings
from syncd.cli.output import print_json, print_table
from syncd.cli.run_text import state_of
from syncd.config import Settings
from syncd.domain import Run
from syncd.feeds.configuration import FeedConfig
from syncd.service import stores, wiring
from syncd.store import Store, runs
from syncd.sync.report import run_json


def list_feeds(config: Path | None, as_json: bool) -> None:
    settings = quiet_settings(config)
    with opened_store(settings, make=True) as store:
        configs = wiring.feed_configs(settings, stores.catalogue_of(store, settings))
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
