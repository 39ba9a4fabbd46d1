"""``syncd runs approve`` and ``syncd runs reject``."""

from __future__ import annotations

from pathlib import Path

from syncd.cli.exit_codes import DONE, FAILED
from syncd.cli.output import print_json
from syncd.cli.run_text import summary
from syncd.cli.store_access import opened_store, quiet_settings
from syncd.config import Settings
from syncd.domain import Catalogue, Run, RunState
from syncd.service import configured_feeds, stores, wiring
from syncd.store import Store, runs
from syncd.sync.arrival import decide
from syncd.sync.report import run_json
from syncd.sync.run import Feed


def approve_run(config: Path | None, as_json: bool, number: int) -> int:
    return _decide(config, as_json, number, approved=True)


def reject_run(config: Path | None, as_json: bool, number: int) -> int:
    return _decide(config, as_json, number, approved=False)


def _decide(config: Path | None, as_json: bool, number: int, *, approved: bool) -> int:
    settings = quiet_settings(config)
    with opened_store(settings) as store:
        run = decided(store, settings, number, approved=approved)
    if as_json:
        print_json(run_json(run))
    else:
        print(summary(run))
    return FAILED if run.state is RunState.FAILED else DONE


def decided(store: Store, settings: Settings, number: int, *, approved: bool) -> Run:
    """Carry the decision out and return the run. Raises NotFound, Conflict if the run does not wait or is not what was
    shown, and, for an approval, ConfigError if the file of its feed is wrong."""
    catalogue = stores.catalogue_of(store, settings, remember=True)
    feeds = _feed_of(store, settings, catalogue, number) if approved else {}
    importer = wiring.make_importer(store, settings, catalogue, feeds)
    return decide(store, importer, settings.drop.folder, number, approved=approved)


def _feed_of(store: Store, settings: Settings, catalogue: Catalogue, number: int) -> dict[str, Feed]:
    """Return the feed of a run by its name, if it is still configured."""
    name = store.read(lambda tx: runs.get(tx, number)).feed
    file = configured_feeds.feed_files(settings, catalogue).get(name)
    return {name: configured_feeds.resolve(store, file, settings)} if file is not None else {}
