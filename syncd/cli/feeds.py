"""``syncd feed list``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syncd.cli.output import clean, print_json, print_table, remark
from syncd.cli.run_text import state_of
from syncd.cli.store_access import quiet_settings, store_if_any
from syncd.config import Settings
from syncd.domain import Run
from syncd.feeds.configuration import FeedFile
from syncd.service import configured_feeds, stores
from syncd.store import Store, runs
from syncd.sync.report import run_json


@dataclass(frozen=True, slots=True)
class Listed:
    """A configured feed. ``reason``: what is wrong with its file, None if it is as it should be."""

    file: FeedFile
    folder: Path
    reason: str | None
    last: Run | None

    @property
    def state(self) -> str:
        return "ok" if self.reason is None else "degraded"


def list_feeds(config: Path | None, as_json: bool) -> None:
    settings = quiet_settings(config)
    with store_if_any(settings) as store:
        files = configured_feeds.feed_files(settings, stores.catalogue_of(store, settings)).values()
        found = [_listed(store, file, settings) for file in files]
    if as_json:
        print_json([_json(feed) for feed in found])
        return
    headings = ("feed", "state", "employer", "mapping", "mode", "folder", "last run")
    empty = f"no feeds yet; a feed is a file NAME.toml in {settings.feeds}"
    print_table(headings, [_row(feed) for feed in found], empty)
    for feed in found:
        if feed.reason is not None:
            remark(f"syncd: {feed.file.name}: {clean(feed.reason)}")


def _listed(store: Store | None, file: FeedFile, settings: Settings) -> Listed:
    last = store.read(lambda tx: runs.list(tx, file.name, 1)) if store is not None else []
    reason = "; ".join(configured_feeds.faults_of(store, file)) or None
    return Listed(file, settings.drop.folder / file.name, reason, last[0] if last else None)


def _row(feed: Listed) -> tuple[object, ...]:
    config, last = feed.file.config, feed.last
    run = f"{last.id}: {state_of(last)}" if last is not None else None
    if config is None:
        return feed.file.name, feed.state, None, None, None, feed.folder, run
    mapping = config.preset or "own"
    return feed.file.name, feed.state, config.employer, mapping, config.policy.mode, feed.folder, run


def _json(feed: Listed) -> dict[str, Any]:
    config = feed.file.config
    return {
        "name": feed.file.name,
        "employer": config.employer if config is not None else None,
        "preset": config.preset if config is not None else None,
        "mode": config.policy.mode if config is not None else None,
        "folder": str(feed.folder),
        "lastRun": run_json(feed.last) if feed.last is not None else None,
        "state": feed.state,
        "reason": feed.reason,
    }
