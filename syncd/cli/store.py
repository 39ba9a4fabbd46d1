"""``syncd backup`` and ``syncd restore``, of a store in a file, and ``syncd store copy``."""

import os
import stat
from pathlib import Path
from typing import IO, Any

import typer

from syncd.cli.output import DONE, HELD, agreed, clean, print_json, print_list, print_result, remark
from syncd.cli.report_text import print_section
from syncd.cli.store_access import become_owner, become_owner_of, require_store
from syncd.config import Settings, StoreSettings, store_address
from syncd.errors import ConfigError, StoreError, StoreTooNew
from syncd.service import stores
from syncd.store import Database, copying, database_at, schema, utc_now
from syncd.store.sqlite import backups, restoring
from syncd.values import ValueFault, local_time, plural

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
    counts = ", ".join(plural(count, name[:-1]) for name, count in _counts(made).items())
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
                lost, why = _compared(draft, database)
                if not as_json:
                    of = f", of {local_time(made.made_at, settings.timezone)}" if made.made_at else ""
                    print(f"{file}{of}: {_backup_text(made)}")
                    unverified = (
                        "It has no digest (`syncd backup` did not make it): its rows cannot be verified."
                    )
                    print("It is whole, and as it was made." if made.made_at else unverified)
                    _print_lost(lost, why, settings.drop.folder)
                otherwise = f"; to put {file} in the place of the store: --yes"
                restored = yes or agreed("Restore it?", otherwise)
                kept = restoring.take_place(store, draft, utc_now()) if restored else None
        finally:
            database.unlock()
    if as_json:
        result = {"file": str(file), **_backup_json(made), "restored": restored}
        print_json(result | {"keptAs": str(kept) if kept else None, "lost": _lost_json(lost)})
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


def _compared(draft: Path, database: Database) -> tuple[restoring.Losses | None, str]:
    """Return the losses: all that the store has and the backup does not; None with the reason if no store can be read."""
    try:
        version = database.version()
        if version is None:
            return None, "There is no store yet"
        schema.refuse_newer(version)
        return restoring.compare(database_at(f"sqlite:///{draft}"), database), ""
    except StoreTooNew as error:
        return None, f"The present store cannot be compared: {error}"
    except StoreError as error:
        return None, f"The present store cannot be read: {error}"


def _lost_json(lost: restoring.Losses | None) -> dict[str, Any] | None:
    if lost is None:
        return None
    return {
        "employers": lost.employers,
        "changes": lost.changes,
        "runs": [run._asdict() for run in lost.runs],
        "reopenedRuns": [run._asdict() for run in lost.reopened],
        "keys": [_key_json(key) for key in lost.keys],
        "validAgainKeys": [_key_json(key) for key in lost.revoked],
    }


def _key_json(key: restoring.KeySummary) -> dict[str, Any]:
    return {"id": key.id, "employer": key.employer, "label": key.label}


def _print_lost(lost: restoring.Losses | None, why: str, drop: Path) -> None:
    """Print what is lost. ``why``: the reason if nothing is known; ``drop``: the drop folder."""
    if lost is None:
        print(why)
    elif lost.none:
        print(
            "The present store has no employer, no run, no change of a job and no key that the backup does not have."
        )
    else:
        print("The present store has what the backup does not have, and what is lost:")
        for actor, count in lost.changes.items():
            print(f"  {plural(count, 'change')} of jobs {ACTORS.get(actor, f'by {actor}')}")
        valid = "which was revoked, is valid again: syncd key revoke"
        for heading, lines in (
            ("employers", [clean(f"{name}: add it again, then its keys") for name in lost.employers]),
            ("runs", [f"{_run(run)}: {_file_of_run(run, drop)}" for run in lost.runs]),
            ("runs that go on again", [f"{_run(run)} {_again(run, drop)}" for run in lost.reopened]),
            ("new keys", [f"{_key(key)}: make a new one" for key in lost.keys]),
            ("revoked keys", [f"{_key(key)}, {valid} {key.id}" for key in lost.revoked]),
        ):
            print_section(heading, len(lines), lines[:SHOWN])


def _run(run: restoring.RunSummary) -> str:
    return clean(f"run {run.id} ({run.feed}, {run.file})")


def _file_of_run(run: restoring.RunSummary, drop: Path) -> str:
    """Return the advice about the file of a run that the backup does not know."""
    if run.kind != "file":
        return "a revert; revert again"
    places = [drop / run.feed / sub / f"{run.id}-{run.file}" for sub in ("done", "failed")]
    kept = next((path for path in places if path.is_file()), None)
    if kept is not None:
        return f"drop a copy of {clean(str(kept))} again"
    return "its file is run again" if run.state == "claimed" else "its file is not there any more"


def _again(run: restoring.RunSummary, drop: Path) -> str:
    """Return the future of a run that has ended since the backup, where it had not."""
    if run.state == "held":
        return "is held again: decide it again"
    return f"goes on again, without its file, and fails: {_file_of_run(run, drop)}"


def _key(key: restoring.KeySummary) -> str:
    return clean(f"key {key.id} ({key.employer}{', ' if key.label else ''}{key.label})")


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
