"""``syncd backup`` and ``syncd restore``: what a backup has in it, and what is lost when it takes the place of the store."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

import typer

from syncd.cli.output import DONE, HELD, agreed, cell, clean, print_json, print_result
from syncd.cli.store_access import become_owner, require_store
from syncd.config import Settings
from syncd.errors import StoreError, StoreTooNew
from syncd.service import stores
from syncd.store import Backup, Database, backups, schema, utc_now
from syncd.store.backups import KeySummary, Losses, RunSummary

T = TypeVar("T")
#: What the names of the files beside a store end with.
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
#: Runs and keys that the text lists; JSON has them all.
SHOWN = 50
#: Actor → whose changes these are.
ACTORS = {
    "key": "through the API: their clients have to send them again",
    "run": "by runs: drop the files again",
    "refresh": "by auto-refresh: it makes them again",
    "close": "by the close date: the daemon makes them again",
    "operator": "by the operator",
}


def backup(settings: Settings, as_json: bool, target: Path, keep: int | None) -> None:
    """Write a backup and print what is in it. Raises StoreError, OSError."""
    become_owner(settings)
    require_store(settings)
    is_folder = target.is_dir()
    if keep is not None and not is_folder:
        raise typer.BadParameter(f"--keep is for a folder, and {target} is not one")
    database = stores.database_of(settings)
    schema.refuse_newer(database.version())
    at = utc_now()
    path = target / backups.name_at(at, database) if is_folder else target
    _refuse_target(path, settings, database)
    made = backups.write(database, path, at)
    removed = backups.remove_oldest(target, keep, path) if keep is not None else []
    found = {"file": str(path), **backup_json(made), "removed": [str(old) for old in removed]}
    lines = [f"{path}: {backup_text(made)}", f"SHA-256 of its rows: {made.digest}"]
    print_result(as_json, found, "\n".join([*lines, *(f"removed {old}" for old in removed)]))


def _refuse_target(path: Path, settings: Settings, database: Database) -> None:
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


def backup_json(made: Backup) -> dict[str, Any]:
    about = {"madeAt": made.made_at, "size": made.size, "schema": made.schema}
    return {**about, "counts": _counts(made), "digest": made.digest}


def backup_text(made: Backup) -> str:
    """Return the counts and the size in words."""
    counts = ", ".join(f"{count:,} {name}" for name, count in _counts(made).items())
    return f"{counts}; {made.size:,} bytes"


def _counts(made: Backup) -> dict[str, int]:
    return {name: made.rows.get(table, 0) for name, table in COUNTED.items()}


# -- restore -------------------------------------------------------------------------------------------------


def restore(settings: Settings, as_json: bool, file: Path, yes: bool) -> int:
    """Put a backup in the place of the store, after a look at all of it and a yes. Raises StoreInUse, StoreError, OSError."""
    # as root, if root calls: the owner of the store may not be able to read it; and without waiting for what writes to a pipe
    with open(file, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as source:
        become_owner(settings)
        _refuse_source(source, file, settings)
        database = stores.database_of(settings)
        database.lock()
        try:
            return _restore(settings, database, source, file, as_json=as_json, yes=yes)
        finally:
            database.unlock()


def _restore(
    settings: Settings, database: Database, source: IO[bytes], file: Path, *, as_json: bool, yes: bool
) -> int:
    with database.unpack(source) as new:
        made = new.backup
        schema.refuse_newer(made.schema, f"the backup {file}")
        lost, why = _compared(new.database, database)
        if not as_json:
            print("\n".join([*_intro(file, made), *lost_lines(lost, why, settings.drop.folder)]))
        otherwise = f"; to put {file} in the place of the store: --yes"
        restored = yes or agreed("Restore it?", otherwise)
        kept = new.take_place(utc_now()) if restored else None
    if as_json:
        shown = {"file": str(file), **backup_json(made), "restored": restored}
        shown |= {"keptAs": str(kept) if kept else None, "lost": lost_json(lost)}
        print_json(shown)
    elif restored:
        print(_outro(made, kept))
    return DONE if restored else HELD


def _refuse_source(source: IO[bytes], file: Path, settings: Settings) -> None:
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


def _compared(backup: Database, store: Database) -> tuple[Losses | None, str]:
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


# -- what is lost --------------------------------------------------------------------------------------------


def lost_json(lost: Losses | None) -> dict[str, Any] | None:
    if lost is None:
        return None
    return {
        "changes": lost.changes,
        "runs": [run._asdict() for run in lost.runs],
        "reopenedRuns": [run._asdict() for run in lost.reopened],
        "keys": [_key_json(key) for key in lost.keys],
        "validAgainKeys": [_key_json(key) for key in lost.revoked],
    }


def lost_lines(lost: Losses | None, why: str, drop: Path) -> list[str]:
    """Return the lines of the text. ``why``: why nothing is known; ``drop``: the drop folder."""
    if lost is None:
        return [f"{why[0].upper()}{why[1:]}"]
    if lost.none:
        return ["The present store has no run, no change of a job and no key that the backup does not have."]
    lines = ["The present store has what the backup does not have, and what is lost:"]
    for actor, count in lost.changes.items():
        lines.append(f"  {count:,} changes of jobs {ACTORS.get(actor, f'by {actor}')}")
    lines += _listed(lost.runs, lambda run: f"run {_run(run)}: {_file_of(run, drop)}")
    lines += _listed(lost.reopened, lambda run: f"run {_run(run)} {_again(run, drop)}")
    lines += _listed(lost.keys, lambda key: f"key {_key(key)}: make a new one")
    lines += _listed(
        lost.revoked,
        lambda key: f"key {_key(key)}, which was revoked, is valid again: syncd key revoke {key.id}",
    )
    return lines


def _listed(things: Sequence[T], line: Callable[[T], str]) -> list[str]:
    lines = [f"  {line(thing)}" for thing in things[:SHOWN]]
    return lines + ([f"  … and {len(things) - SHOWN:,} more: --json has them"] if len(things) > SHOWN else [])


def _run(run: RunSummary) -> str:
    return clean(f"{run.id} ({run.feed}, {run.file})")


def _file_of(run: RunSummary, drop: Path) -> str:
    """Return what to do with the file of a run that the backup does not know."""
    if not run.is_of_file:
        return "a revert; revert again"
    name = f"{run.id}-{run.file}"
    found = [path for sub in ("done", "failed") if (path := drop / run.feed / sub / name).is_file()]
    where = f"drop a copy of {clean(str(found[0]))} again" if found else "its file is not there any more"
    return where if found or run.state != "claimed" else "its file is run again"


def _again(run: RunSummary, drop: Path) -> str:
    """Return what becomes of a run that has ended since the backup, where it had not."""
    if run.state == "held":
        return "is held again: decide it again"
    return f"goes on again, without its file, and fails: {_file_of(run, drop)}"


def _key(key: KeySummary) -> str:
    return clean(f"{key.id} ({key.employer}{', ' if key.label else ''}{key.label})")


def _key_json(key: KeySummary) -> dict[str, Any]:
    return {"id": key.id, "employer": key.employer, "label": key.label}
