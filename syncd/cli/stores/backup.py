"""``syncd backup``."""

from __future__ import annotations

import stat
from pathlib import Path

import typer

from syncd.cli.output import print_result
from syncd.cli.store_access import become_owner, require_store
from syncd.cli.stores.contents import backup_json, backup_text
from syncd.config import Settings, load_settings
from syncd.errors import StoreError
from syncd.service import stores
from syncd.store import backups, schema, utc_now

_SQLITE = b"SQLite format 3\x00"


def backup(config: Path | None, as_json: bool, target: Path, keep: int | None) -> None:
    """Write a backup and print what is in it. Raises StoreError, OSError."""
    settings = load_settings(config)
    become_owner(settings)
    require_store(settings)
    is_folder = target.is_dir()
    if keep is not None and not is_folder:
        raise typer.BadParameter(f"--keep is for a folder, and {target} is not one")
    database = stores.database_of(settings)
    schema.refuse_newer(database.version())
    at = utc_now()
    path = target / backups.name_at(at) if is_folder else target
    _refuse_others(path, settings)
    made = backups.write(database, path, at)
    removed = backups.remove_oldest(target, keep, path) if keep is not None else []
    found = {"file": str(path), **backup_json(made), "removed": [str(old) for old in removed]}
    lines = [f"{path}: {backup_text(made)}", f"SHA-256 of its rows: {made.digest}"]
    print_result(as_json, found, "\n".join([*lines, *(f"removed {old}" for old in removed)]))


def _refuse_others(path: Path, settings: Settings) -> None:
    """Raise StoreError if something lies at ``path`` that is not a backup, which a backup would replace."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return
    store = settings.store.path
    if store is not None and store.samefile(path):
        raise StoreError(f"{path} is the store itself; name another file, or a folder")
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"{path} is not a regular file; name another file, or a folder")
    in_use = any(path.with_name(path.name + ending).exists() for ending in ("-wal", "-shm", ".lock"))
    if in_use:
        raise StoreError(f"{path} is a store that is in use; name another file, or a folder")
    with path.open("rb") as file:
        if found.st_size and file.read(len(_SQLITE)) != _SQLITE:
            raise StoreError(f"{path} is not a backup, and is not replaced; name another file, or a folder")
