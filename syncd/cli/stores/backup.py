"""``syncd backup``."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import typer

from syncd.cli.output import print_result
from syncd.cli.store_access import become_owner, require_store
from syncd.cli.stores.contents import backup_json, backup_text
from syncd.config import Settings, load_settings
from syncd.errors import StoreError
from syncd.service import stores
from syncd.store import Database, backups, schema, utc_now

#: What the names of the files beside a store end with.
_BESIDE = ("-wal", "-shm", "-journal", ".lock")


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
    path = target / backups.name_at(at, database) if is_folder else target
    _refuse_others(path, settings, database)
    made = backups.write(database, path, at)
    removed = backups.remove_oldest(target, keep, path) if keep is not None else []
    found = {"file": str(path), **backup_json(made), "removed": [str(old) for old in removed]}
    lines = [f"{path}: {backup_text(made)}", f"SHA-256 of its rows: {made.digest}"]
    print_result(as_json, found, "\n".join([*lines, *(f"removed {old}" for old in removed)]))


def _refuse_others(path: Path, settings: Settings, database: Database) -> None:
    """Raise StoreError if a backup at ``path`` would replace something that is not a backup, or be taken for a part of a
    store."""
    store = next((part for part in _stores_of(path) if part.exists()), None)
    if store is not None:
        raise StoreError(f"{path} belongs to the store {store}; name another file, or a folder")
    try:
        found = path.stat()
    except FileNotFoundError:
        return
    if settings.store.path is not None and settings.store.path.samefile(path):
        raise StoreError(f"{path} is the store itself; name another file, or a folder")
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"{path} is not a regular file; name another file, or a folder")
    if any(path.with_name(path.name + ending).exists() for ending in _BESIDE):
        raise StoreError(f"{path} is a store that is in use; name another file, or a folder")
    if not database.is_backup(path):
        raise StoreError(f"{path} is not a backup, and is not replaced; name another file, or a folder")


def _stores_of(path: Path) -> Iterator[Path]:
    """Yield the stores that a file of this name would be a part of."""
    for ending in _BESIDE:
        if path.name.endswith(ending) and path.name != ending:
            yield path.with_name(path.name.removesuffix(ending))
