"""``syncd backup`` and ``syncd restore``, of a store in a file, and ``syncd store copy``."""

import os
import stat
from pathlib import Path
from typing import IO, Any

import typer

from syncd.cli.output import DONE, HELD, agreed, print_json, print_list, print_result, remark
from syncd.cli.store_access import become_owner, become_owner_of, require_store
from syncd.config import Settings, StoreSettings, store_address
from syncd.errors import ConfigError, StoreError
from syncd.service import stores
from syncd.store import copying, schema, utc_now
from syncd.store.sqlite import backups, restoring
from syncd.values import ValueFault, local_time

#: Endings of the names of the files beside a store.
_BESIDE = ("-wal", "-shm", "-journal", ".lock")
#: Name in text and JSON → the table whose rows it counts.
COUNTED = {
    "employers": "employer",
    "keys": "api_key",
    "jobs": "job",
    "changes": "history",
    "feeds": "feed",
    "runs": "run",
}
#: Printed with a backup before it takes the place of the store.
_LOSSES = 'What was done since the backup is lost; docs/operations.md, "Restore", says what to do about it.'


def backup(settings: Settings, as_json: bool, target: Path, keep: int | None) -> None:
    """Write a backup and print its counts. Raises StoreError, OSError."""
    store = _store_file(settings)
    become_owner(settings)
    require_store(settings)
    is_folder = target.is_dir()
    if keep is not None and not is_folder:
        raise typer.BadParameter(f"--keep is for a folder, and {target} is not one")
    schema.refuse_newer(backups.version_of(store))
    at = utc_now()
    path = target / backups.name_at(at) if is_folder else target
    _refuse_target(path, store)
    made = backups.write(store, path, at)
    removed = backups.remove_oldest(target, keep, path) if keep is not None else []
    result = {"file": str(path), **_backup_json(made), "removed": [str(old) for old in removed]}
    lines = [f"{path}: {_backup_text(made)}", f"SHA-256 of its rows: {made.digest}"]
    print_result(as_json, result, "\n".join([*lines, *(f"removed {old}" for old in removed)]))


def _store_file(settings: Settings) -> Path:
    """Return the file of the store. Raises StoreError if the store is on PostgreSQL."""
    if settings.store.path is None:
        tools = "pg_dump and pg_restore do this for a store on PostgreSQL"
        raise StoreError(f"{tools}: see docs/deploy/postgresql.md")
    return settings.store.path


def _refuse_target(path: Path, store: Path) -> None:
    """Raise StoreError if a backup at ``path`` would replace another file, or be taken for a part of a store."""
    why = ""
    for ending in _BESIDE:
        other = path.with_name(path.name.removesuffix(ending) or path.name)
        if other != path and other.exists():
            why = f"belongs to the store {other}"
    if not why and path.exists():
        if store.samefile(path):
            why = "is the store itself"
        elif not stat.S_ISREG(path.stat().st_mode):
            why = "is not a regular file"
        elif any(path.with_name(path.name + ending).exists() for ending in _BESIDE):
            why = "is a store that is in use"
        elif not backups.is_backup(path):
            why = "is not a backup, and is not replaced"
    if why:
        raise StoreError(f"{path} {why}; name another file, or a folder")


def _backup_json(made: backups.Backup) -> dict[str, Any]:
    about = {"madeAt": made.made_at, "size": made.size, "schema": made.schema}
    return {**about, "counts": _counts(made), "digest": made.digest}


def _backup_text(made: backups.Backup) -> str:
    counts = ", ".join(f"{count:,} {name}" for name, count in _counts(made).items())
    return f"{counts}; {made.size:,} bytes"


def _counts(made: backups.Backup) -> dict[str, int]:
    return {name: made.rows.get(table, 0) for name, table in COUNTED.items()}


# -- restore -------------------------------------------------------------------------------------------------


def restore(settings: Settings, as_json: bool, file: Path, yes: bool) -> int:
    """Put a backup in the place of the store, after a look at all of it and a yes. Raises StoreInUse, StoreError, OSError."""
    store = _store_file(settings)
    # as root, if root calls: the owner of the store may not be able to read it; and without waiting for the writer of a pipe
    with open(file, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as source:
        become_owner(settings)
        _refuse_source(source, file, store)
        database = stores.database_of(settings)
        database.lock()
        try:
            with restoring.unpacked(source, store) as (made, draft):
                schema.refuse_newer(made.schema, f"the backup {file}")
                if not as_json:
                    of = f", of {local_time(made.made_at, settings.timezone)}" if made.made_at else ""
                    print(f"{file}{of}: {_backup_text(made)}")
                    unverified = (
                        "It has no digest (`syncd backup` did not make it): its rows cannot be verified."
                    )
                    print("It is whole, and as it was made." if made.made_at else unverified)
                    print(_LOSSES)
                otherwise = f"; to put {file} in the place of the store: --yes"
                restored = yes or agreed("Restore it?", otherwise)
                kept = restoring.take_place(store, draft, utc_now()) if restored else None
        finally:
            database.unlock()
    if as_json:
        result = {"file": str(file), **_backup_json(made), "restored": restored}
        print_json(result | {"keptAs": str(kept) if kept else None})
    elif restored:
        print("restored")
        if made.schema != schema.HEAD:
            then = f"the next start backs it up and migrates it to {schema.HEAD}"
            print(f"it has schema {made.schema}: {then}")
        if kept is not None:
            print(f"the store as it was: {kept}; remove it when it is not needed any more")
    return DONE if restored else HELD


def _refuse_source(source: IO[bytes], file: Path, store: Path) -> None:
    """Raise StoreError if ``file`` cannot be a backup: the store itself, a store with a log beside it, a folder."""
    info = os.fstat(source.fileno())
    if not stat.S_ISREG(info.st_mode):
        raise StoreError(f"{file} is not a regular file")
    if store.exists() and os.path.samestat(info, store.stat()):
        raise StoreError(f"{file} is the store itself")
    log = file.with_name(f"{file.name}-wal")
    if log.exists() and log.stat().st_size:
        why = f"{log.name} beside it has a part of it; make one with `syncd backup`"
        raise StoreError(f"{file} is not a backup: {why}")


# -- copy ------------------------------------------------------------------------------------------------------


def copy_store(source: str, target: str, as_json: bool) -> None:
    """Copy, and print the rows of each table; the addresses may have passwords. Raises ConfigError, StoreInUse, StoreError."""
    addresses = []
    for name, value in (("FROM", source), ("TO", target)):
        try:
            addresses.append(store_address(value))
        except ValueFault as fault:
            raise ConfigError([f"{name}: {fault}"]) from None
    files = [path for path in (StoreSettings(url=address).path for address in reversed(addresses)) if path]
    for path in files[:1]:
        become_owner_of(path.absolute().parent)
    copied = copying.copy(*addresses)
    print_list(as_json, [each._asdict() for each in copied], ("table", "rows", "digest"), copied, "")
    if not as_json:
        remark("copied and verified: the target has these rows")
