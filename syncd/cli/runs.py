"""``syncd runs``."""

from __future__ import annotations

from pathlib import Path

from syncd.cli.output import print_json, print_table
from syncd.cli.run_text import counts_of, state_of
from syncd.cli.store_access import opened_store
from syncd.config import load_settings
from syncd.store import runs
from syncd.sync.report import run_json


def list_runs(config: Path | None, as_json: bool, feed: str | None, limit: int) -> None:
    with opened_store(load_settings(config)) as store:
        found = store.read(lambda tx: runs.list(tx, feed, limit))
    if as_json:
        print_json([run_json(run) for run in found])
        return
    rows = [
        (run.id, run.feed, run.file, state_of(run), counts_of(run.counts), run.claimed_at) for run in found
    ]
    headings = ("run", "feed", "file", "state", "rows", "taken")
    print_table(headings, rows, "no runs yet; drop a file into a feed's folder")
