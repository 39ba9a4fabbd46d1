"""``syncd runs approve`` and ``syncd runs reject``."""

from __future__ import annotations

from pathlib import Path

from syncd.cli.context import opened_store, quiet_settings
from syncd.cli.exit_codes import DONE, FAILED
from syncd.cli.output import print_json
from syncd.cli.run_text import summary
from syncd.config import Settings
from syncd.domain import Run, RunState
from syncd.service import stores, wiring
from syncd.store import Store
from syncd.sync.report import refresh_reports, run_json


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
    """Carry the decision out and return the run. Raises NotFound, and Conflict if the run does not wait or is not what
    was shown."""
    catalogue = stores.catalogue_of(store, settings, remember=True)
    importer = wiring.make_importer(store, settings, catalogue, wiring.load_all(store, settings, catalogue))
    run = importer.approve(number) if approved else importer.reject(number)
    refresh_reports(store, settings.drop.folder / run.feed, run.id)
    return run
