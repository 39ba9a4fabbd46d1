"""What a backup says about itself, so that it can be compared with it whenever it is read again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import msgspec

from syncd.errors import StoreError
from syncd.store.database import Backup

FORMAT = "syncd.backup/1"


@dataclass(frozen=True, slots=True)
class Contents:
    """How many rows each table has, and the digest of all rows."""

    rows: dict[str, int]
    digest: str


class Note(msgspec.Struct):
    """``rows``: table → how many it has. ``file``: the SHA-256 of the backup without the note; empty where the note is
    inside of it."""

    at: datetime
    rows: dict[str, int]
    digest: str
    format: str = FORMAT
    file: str = ""

    def verify(self, now: Contents) -> None:
        """Raise StoreError if the rows are not as they were."""
        if (self.rows, self.digest) != (now.rows, now.digest):
            raise StoreError(f"the backup is not as it was made: {self._difference(now)}; use another one")

    def _difference(self, now: Contents) -> str:
        """Return in words the first table that has not as many rows as the note says; else that rows are not as they
        were."""
        for name in sorted({*self.rows, *now.rows}):
            was, has = self.rows.get(name, 0), now.rows.get(name, 0)
            if was != has:
                return f"the table {name} has {has} rows, and had {was}"
        return "something in its rows was changed (a fault of a disk, or somebody used it as a store)"


def verified(note: Note | None, schema: str, now: Contents, size: int) -> Backup:
    """Return what a backup has, after a comparison with its note, if it has one. Raises StoreError."""
    if note is not None:
        note.verify(now)
    return Backup(schema, now.rows, now.digest, note.at if note else None, size)


def read_note(value: str | bytes) -> Note:
    """Return the note that was written as ``value``. Raises StoreError."""
    try:
        return msgspec.json.decode(value, type=Note)
    except msgspec.MsgspecError as error:
        raise StoreError(f"the backup is not as it was made: its note cannot be read ({error})") from error
