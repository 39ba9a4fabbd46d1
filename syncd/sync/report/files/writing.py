"""The two files of a report, beside the file of its run."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from syncd.store import Store
from syncd.sync.files import DONE, FAILED, by_fd, opened_within, parse_filed
from syncd.sync.report import report
from syncd.sync.report.files.html import render_html


def write_reports(store: Store, run_id: int, filed: Path) -> None:
    """Writes ``FILED.report.json`` and ``FILED.report.html``, each whole or not at all. ``filed`` is the path
    of the run's file in ``done/`` or ``failed/``; older reports of the same run are replaced. Raises
    NotFound, OSError."""
    data = report(store, run_id)
    text = json.dumps(data, indent=2, ensure_ascii=False, default=str)
    _replace(filed.with_name(f"{filed.name}.report.json"), text)
    _replace(filed.with_name(f"{filed.name}.report.html"), render_html(data))


def refresh_reports(store: Store, folder: Path, run_id: int) -> None:
    """Writes a filed run's reports anew: a decision or a later file changed what it has come to. ``folder``
    is the feed's (DROP/FEED). A run whose reports are no longer there is left alone. Raises NotFound,
    OSError."""
    for sub in (DONE, FAILED):
        with suppress(FileNotFoundError), opened_within(folder, sub) as fd:
            names = {name for name in os.listdir(fd) if parse_filed(name) == run_id}
            for name in names:
                if f"{name}.report.json" in names:
                    write_reports(store, run_id, by_fd(fd, folder / sub) / name)


def _replace(path: Path, text: str) -> None:
    """Durable: the name shows the old content or all of the new one."""
    draft = path.with_name(f".{path.name}.tmp")
    with draft.open("w", encoding="utf-8", errors="replace") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
