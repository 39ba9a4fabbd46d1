"""Backups as files: written whole or not at all, and in a folder under names that say when."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from syncd.errors import StoreError
from syncd.store.backups.drafts import draft_folder, flush
from syncd.store.database import Backup, Database

_NAME = re.compile(r"syncd-\d{8}T\d{6}\.\d{6}Z\.(db|dump)")


def write(database: Database, target: Path, at: datetime) -> Backup:
    """Write a verified backup of the store to ``target``, while the store is in use: when this returns it is on disk, and
    until then ``target`` is what it was before. ``at`` is the present instant. Raises StoreError, OSError."""
    if not target.parent.is_dir():
        raise StoreError(f"{target.parent} is not a folder: make it first, for syncd's user alone")
    with draft_folder(target.parent) as folder:
        draft = folder / "backup"
        made = database.backup(draft, at)
        flush(draft)
        draft.replace(target)
    flush(target.parent)
    return made


def name_at(at: datetime, database: Database) -> str:
    """Return the name that a backup of this instant has in a folder. Names sort by their instants."""
    return f"syncd-{at:%Y%m%dT%H%M%S.%fZ}{database.backup_ending}"


def remove_oldest(folder: Path, keep: int, newest: Path) -> list[Path]:
    """Remove backups from ``folder`` until ``keep`` are left; return those that were removed. Only files with names of
    ``name_at`` count. ``newest`` is kept in any case. Raises OSError."""
    found = [
        path
        for path in sorted(folder.iterdir())
        if _NAME.fullmatch(path.name)
        and path.is_file()
        and not path.is_symlink()
        and path.name != newest.name
    ]
    removed = found[: max(0, len(found) - (keep - 1))]
    for path in removed:
        path.unlink(missing_ok=True)
    return removed
