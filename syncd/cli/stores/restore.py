"""``syncd restore``."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import IO

from syncd.cli.output import DONE, HELD, cell, print_json, remark
from syncd.cli.store_access import become_owner
from syncd.cli.stores.contents import backup_json, backup_text
from syncd.cli.stores.lost import lost_json, lost_lines
from syncd.config import Settings, load_settings
from syncd.errors import StoreError, StoreTooNew
from syncd.service import stores
from syncd.store import Backup, Database, backups, schema, utc_now


def restore(config: Path | None, as_json: bool, file: Path, yes: bool) -> int:
    """Put a backup in the place of the store, after a look at all of it and a yes. Raises StoreInUse, StoreError, OSError."""
    settings = load_settings(config)
    # as root, if root calls: the owner of the store may not be able to read it
    with open(file, "rb", opener=_open_at_once) as source:
        become_owner(settings)
        _refuse_others(source, file, settings)
        database = stores.database_of(settings)
        database.lock()
        try:
            return _restore(settings, database, source, file, as_json=as_json, yes=yes)
        finally:
            database.unlock()


def _open_at_once(path: str, flags: int) -> int:
    """Open a file that may be a pipe, and do not wait for what writes to it."""
    return os.open(path, flags | os.O_NONBLOCK)


def _restore(
    settings: Settings, database: Database, source: IO[bytes], file: Path, *, as_json: bool, yes: bool
) -> int:
    with database.unpack(source) as new:
        made = new.backup
        schema.refuse_newer(made.schema, f"the backup {file}")
        lost, why = _compared(new.database, database)
        if not as_json:
            print("\n".join([*_intro(file, made), *lost_lines(lost, why, settings.drop.folder)]))
        agreed = yes or _agreed(file)
        kept = new.take_place(utc_now()) if agreed else None
    if as_json:
        shown = {"file": str(file), **backup_json(made), "restored": agreed}
        shown |= {"keptAs": str(kept) if kept else None, "lost": lost_json(lost)}
        print_json(shown)
    elif agreed:
        print(_outro(made, kept))
    return DONE if agreed else HELD


def _refuse_others(source: IO[bytes], file: Path, settings: Settings) -> None:
    """Raise StoreError if ``file`` cannot be a backup: the store itself, a store with a log beside it, a folder."""
    found = os.fstat(source.fileno())
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"{file} is not a regular file")
    store = settings.store.path
    if store is not None and store.exists() and os.path.samestat(found, store.stat()):
        raise StoreError(f"{file} is the store itself")
    log = file.with_name(f"{file.name}-wal")
    if log.exists() and log.stat().st_size:
        raise StoreError(
            f"{file} is not a backup: {log.name} beside it has a part of it; make one with `syncd backup`"
        )


def _compared(backup: Database, store: Database) -> tuple[backups.Losses | None, str]:
    """Return what the store has and the backup does not; None with the reason if there is no store that can be read."""
    try:
        found = store.version()
        if found is None:
            return None, "there is no store yet"
        schema.refuse_newer(found)
        return backups.compare(backup, store), ""
    except StoreTooNew as error:
        return None, f"the present store cannot be compared: {error}"
    except StoreError as error:
        return None, f"the present store cannot be read: {error}"


def _agreed(file: Path) -> bool:
    """Ask on a terminal whether to restore; without one the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        remark(f"syncd: nothing was changed; to put {file} in the place of the store: --yes")
        return False
    print("Restore it? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    remark("syncd: nothing was changed")
    return False


def _intro(file: Path, made: Backup) -> list[str]:
    if made.made_at is None:
        return [
            f"{file}: {backup_text(made)}",
            "It has no digest (`syncd backup` did not make it): its rows cannot be verified.",
        ]
    return [f"{file}, of {cell(made.made_at)}: {backup_text(made)}", "It is whole, and as it was made."]


def _outro(made: Backup, kept: Path | str | None) -> str:
    lines = ["restored"]
    if made.schema != schema.HEAD:
        lines.append(f"it has schema {made.schema}: the next command migrates it to {schema.HEAD}")
    if kept is not None:
        where = kept if isinstance(kept, Path) else f"the database {kept}"
        lines.append(f"the store as it was: {where}; remove it when it is not needed any more")
    return "\n".join(lines)
