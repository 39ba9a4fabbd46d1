"""Makes the files of a report, and replaces them after a decision."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from syncd.errors import UnusableFolder
from syncd.store import Store, runs
from syncd.sync.files import (
    CLAIMED,
    DONE,
    FAILED,
    is_filed_as,
    made_within,
    moving_into,
    opened_within,
    replace_own,
)
from syncd.sync.report.files.html import render_html
from syncd.sync.report.reports import report


def written_reports(store: Store, run_id: int) -> dict[str, bytes]:
    """Return the reports that lie beside a run's file: the suffix of their names → content. Raises NotFound."""
    data = report(store, run_id)
    text = json.dumps(data, indent=2, ensure_ascii=False, default=str)
    return {
        ".report.json": text.encode("utf-8", "replace"),
        ".report.html": render_html(data).encode("utf-8", "replace"),
    }


def refresh_reports(store: Store, folder: Path, run_id: int) -> None:
    """Write the reports of a filed run again: a decision or a later file has changed its state. ``folder`` is the feed's
    (DROP/FEED). Reports that were removed or that are not syncd's own are left alone, and so are all in folders that
    cannot be used. Raises NotFound, OSError."""
    file = store.read(lambda tx: runs.get(tx, run_id)).file
    reports = written_reports(store, run_id)
    for sub in (DONE, FAILED):
        with (
            suppress(FileNotFoundError, UnusableFolder),
            opened_within(folder, sub) as target,
            made_within(folder, CLAIMED) as private,
            moving_into(folder / sub),
        ):
            for name in os.listdir(target):
                if is_filed_as(name, run_id, file):
                    for suffix, content in reports.items():
                        replace_own(private, content, target, name + suffix)
