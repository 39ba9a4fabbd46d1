"""Makes the two reports beside a run's file, as JSON and as a page (docs/reconciliation.md "After a run")."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO

from syncd.errors import UnusableFolder
from syncd.store import Store, Tx, runs
from syncd.sync import files, folders
from syncd.sync.report.files.html import render_html
from syncd.sync.report.reports import partner_report, write_json


def written_reports(store: Store, run_id: int, rejected_file: str | None = None) -> dict[str, files.Content]:
    """Return what writes each report, by what its name adds to the file's name. ``rejected_file``: the name of the file of
    rejected records beside them, if there is one. Each raises NotFound, StoreError and OSError."""

    def write(how: Callable[[Tx, int, str | None, IO[bytes]], None], file: IO[bytes]) -> None:
        store.read(lambda tx: how(tx, run_id, rejected_file, file))

    return {".report.json": partial(write, _write_json), ".report.html": partial(write, write_page)}


def _write_json(tx: Tx, run_id: int, rejected_file: str | None, file: IO[bytes]) -> None:
    write_json(partner_report(tx, run_id, rejected_file), file.write, lines=True)


def write_page(tx: Tx, run_id: int, rejected_file: str | None, file: IO[bytes]) -> None:
    """Write the partner's report as a page. Raises NotFound."""
    file.write(render_html(partner_report(tx, run_id, rejected_file)).encode("utf-8", "replace"))


def refresh_reports(store: Store, folder: Path, run_id: int) -> None:
    """Write the reports of a filed run again, after a decision or a later file changed its state. ``folder`` is the
    feed's (DROP/FEED). Reports that are gone or are not syncd's own are left alone, and so are all in a folder that cannot
    be used. Raises NotFound, OSError."""
    file = store.read(lambda tx: runs.get(tx, run_id)).file
    for sub in (folders.DONE, folders.FAILED):
        with (
            suppress(FileNotFoundError, UnusableFolder),
            folders.open_subfolder(folder, sub) as target,
            folders.ensure_subfolder(folder, folders.CLAIMED) as private,
            folders.moving_to(folder / sub),
        ):
            there = os.listdir(target)
            for name in there:
                if files.is_filed_as(name, run_id, file):
                    rejected = files.rejected_beside(name, there)
                    reports = written_reports(store, run_id, name + rejected if rejected else None)
                    for suffix, content in reports.items():
                        files.replace_own_file(private, content, target, name + suffix)
