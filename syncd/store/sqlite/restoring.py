"""A backup takes the place of a store in an SQLite file; the runs, changes and keys that are lost by it."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, NamedTuple

from syncd.domain import RunState
from syncd.errors import StoreBusy
from syncd.store.database import Database
from syncd.store.sqlite.backups import Backup, read_backup, take_note_out
from syncd.store.sqlite.files import create, draft_folder, flush
from syncd.store.sqlite.session import primary_code, store_errors
from syncd.store.transactions import Tx, reading

#: How long the last user of a store may take to close it, in seconds.
_CLOSING = 1.0


@contextmanager
def unpacked(source: IO[bytes], path: Path) -> Iterator[tuple[Backup, Path]]:
    """Yield the contents of the backup ``source``, verified, and the path of a store made of it, on the file system of the store
    at ``path``, which needs room for it. It is removed when the block ends, unless ``take_place`` has moved it. Raises
    StoreError, OSError."""
    with draft_folder(path.resolve().parent) as folder:
        draft = folder / "store"
        with open(create(draft), "wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
        made = read_backup(draft)
        take_note_out(draft)
        flush(draft)
        yield made, draft


def take_place(path: Path, draft: Path, at: datetime) -> Path | None:
    """Put the store ``draft`` in the place of the store at ``path``, all or nothing, and return where the old store is kept,
    under a name with the instant ``at``; None if there was none. Call it with the lock of the store. Raises StoreBusy if
    another process uses the store, StoreError, OSError."""
    path = path.resolve()
    # At each moment there is the old store at the path, or the new one: a kill between two steps loses nothing.
    kept = path.with_name(f"{path.name}.before-restore-{at:%Y%m%dT%H%M%S.%fZ}")
    replaces = path.exists()
    with _closed_store(path, kept):
        if replaces:
            os.link(path, kept)
        draft.replace(path)
        flush(path.parent)
    return kept if replaces else None


@contextmanager
def _closed_store(path: Path, kept: Path) -> Iterator[None]:
    """Bring the log of the old store into its file, and let nobody else use the store until the block ends: SQLite would take
    the log of the old store for that of the new one. If the old store cannot be read, or is gone, its log is renamed to be
    beside ``kept``. Raises StoreBusy if another process uses the store, StoreError."""
    if not path.exists():
        _rename_log(path, kept)
        yield
        return
    with store_errors(), closing(sqlite3.connect(path, timeout=_CLOSING, isolation_level=None)) as old:
        try:
            old.execute("PRAGMA locking_mode = EXCLUSIVE")
            old.execute("PRAGMA journal_mode = DELETE")
            old.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            if primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise StoreBusy(f"another process uses the store {path}: end it first") from error
            if primary_code(error) not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise
            old.close()
            _rename_log(path, kept)
        yield


def _rename_log(path: Path, kept: Path) -> None:
    for ending in ("-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + ending).rename(kept.with_name(kept.name + ending))


# -- losses --------------------------------------------------------------------------------------------------
# Stores of all versions are compared: only columns of the first schema are read.

_WAITING_STATES = [state.value for state in RunState if not state.ended or state is RunState.HELD]


class RunSummary(NamedTuple):
    """A run in short."""

    id: int
    feed: str
    kind: str
    state: str
    file: str

    @property
    def waits(self) -> bool:
        """Return whether the run goes on, or is held."""
        return self.state in _WAITING_STATES


class KeySummary(NamedTuple):
    """A key in short; ``revoked_at`` is in microseconds since 1970."""

    id: int
    employer: str
    label: str
    revoked_at: int | None


@dataclass(frozen=True, slots=True)
class Losses:
    """``employers``: the names of those that the backup does not have. ``runs``: those that it does not know. ``reopened``: those
    that it has, in this state, as going on or held, and that have ended since. ``changes``: actor → how many changes of jobs it
    does not know. ``keys``: those that it does not know; ``revoked``: those that are valid in it and were revoked since."""

    employers: list[str]
    runs: list[RunSummary]
    reopened: list[RunSummary]
    changes: dict[str, int]
    keys: list[KeySummary]
    revoked: list[KeySummary]

    @property
    def none(self) -> bool:
        return not (self.employers or self.runs or self.reopened or self.changes or self.keys or self.revoked)


_RUNS = "SELECT run.id, feed.name, kind, state, file FROM run JOIN feed ON feed.id = feed_id WHERE run.id >= ? ORDER BY run.id"
_KEYS = (
    "SELECT api_key.id, employer.name, label, revoked_at FROM api_key JOIN employer ON employer.id = employer_id"
    " ORDER BY api_key.id"
)
_LAST = "SELECT (SELECT coalesce(max(id), 0) FROM run), (SELECT coalesce(max(id), 0) FROM history)"
_CHANGES = "SELECT actor, count(*) FROM history WHERE id > ? GROUP BY actor ORDER BY actor"


_EMPLOYERS = "SELECT id, name FROM employer ORDER BY id"


def _summaries(tx: Tx, first_run: int) -> tuple[list[RunSummary], list[KeySummary]]:
    runs = [RunSummary(*row) for row in tx.execute(_RUNS, (first_run,))]
    return runs, [KeySummary(*row) for row in tx.execute(_KEYS)]


def compare(backup: Database, store: Database) -> Losses:
    """Return the losses of ``store`` if ``backup`` takes its place. Raises StoreError."""
    with reading(backup) as tx:
        last_run, last_change = tx.execute(_LAST).fetchone()
        runs, known = _summaries(tx, 0)
        kept = dict(tx.execute(_EMPLOYERS).fetchall())
    waiting, keys = [run for run in runs if run.waits], {key.id: key for key in known}
    with reading(store) as tx:
        runs, present = _summaries(tx, min([last_run + 1, *(run.id for run in waiting)]))
        owners = tx.execute(_EMPLOYERS).fetchall()
        changes = dict(tx.execute(_CHANGES, (last_change,)).fetchall())
    ended = {run.id for run in runs if not run.waits}
    return Losses(
        employers=[name for id, name in owners if id not in kept],
        runs=[run for run in runs if run.id > last_run],
        reopened=[run for run in waiting if run.id in ended],
        changes=changes,
        keys=[key for key in present if key.id not in keys],
        revoked=[
            key for key in present if key.id in keys and key.revoked_at and keys[key.id].revoked_at is None
        ],
    )
