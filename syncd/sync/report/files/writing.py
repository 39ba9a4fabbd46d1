"""Makes the two reports beside a run's file, as JSON and as a page (docs/reconciliation.md "After a run")."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from syncd.errors import UnusableFolder
from syncd.store import Store, runs
from syncd.sync import files, folders
from syncd.sync.report.files.html import render_html
from syncd.sync.report.reports import report


def written_reports(store: Store, run_id: int) -> dict[str, bytes]:
    """Return the content of each report, by what its name adds to the file's name. Raises NotFound."""
    data = report(store, run_id)
    text = json.dumps(data, indent=2, ensure_ascii=False, default=str)
    return {
        ".report.json": text.encode("utf-8", "replace"),
        ".report.html": render_html(data).encode("utf-8", "replace"),
    }


def refresh_reports(store: Store, folder: Path, run_id: int) -> None:
    """Write the reports of a filed run again, after a decision or a later file changed its state. ``folder`` is the
    feed's (DROP/FEED). Reports that are gone or are not syncd's own are left alone, and so are all in a folder that cannot
    be used. Raises NotFound, OSError."""
    file = store.read(lambda tx: runs.get(tx, run_id)).file
    reports = written_reports(store, run_id)
    for sub in (folders.DONE, folders.FAILED):
        with (
            suppress(FileNotFoundError, UnusableFolder),
            folders.open_subfolder(folder, sub) as target,
            folders.ensure_subfolder(folder, folders.CLAIMED) as private,
            folders.moving_to(folder / sub),
        ):
            for name in os.listdir(target):
                if files.is_filed_as(name, run_id, file):
                    for suffix, content in reports.items():
                        files.replace_own_file(private, content, target, name + suffix)
