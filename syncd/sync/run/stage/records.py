"""The records of a file as they are read: which are known and unchanged, and the rows that were made of the others."""

from __future__ import annotations

import sqlite3

from syncd.sync.run.stage.bodies import Bodies
from syncd.sync.validation import RowKind

_TABLES = """
CREATE TABLE known (number INTEGER PRIMARY KEY, job INTEGER, reference TEXT, digest BLOB);
CREATE TABLE row (number INTEGER PRIMARY KEY, place INTEGER, line INTEGER, kind INTEGER, late INTEGER, day INTEGER,
    reference TEXT, digest BLOB, at INTEGER, size INTEGER);
"""
#: Records that are inserted at once.
_BUFFER = 1000


class Records:
    """The records as they are read: added in file order, then sealed. ``Rows`` reads them."""

    def __init__(self, db: sqlite3.Connection, bodies: Bodies) -> None:
        self._db, self._bodies = db, bodies
        db.executescript(_TABLES)
        self._known: list[tuple[int, int, str, bytes]] = []
        self._rows: list[tuple[int, int, int | None, RowKind, int, int, str | None, bytes, int, int]] = []

    def add_known(self, number: int, job: int, reference: str, digest: bytes) -> None:
        """Add a record that is known: the feed wrote ``job`` from the same bytes."""
        self._known.append((number, job, reference, digest))
        if len(self._known) >= _BUFFER:
            self._flush()

    def add(
        self,
        number: int,
        line: int | None,
        *,
        kind: RowKind,
        reference: str | None,
        digest: bytes,
        day: int,
        body: bytes,
    ) -> None:
        """Add a row; see StagedRow."""
        at = self._bodies.add(body)
        self._rows.append((number, number, line, kind, 0, day, reference, digest, at, len(body)))
        if len(self._rows) >= _BUFFER:
            self._flush()

    def _flush(self) -> None:
        self._db.executemany("INSERT INTO known VALUES (?,?,?,?)", self._known)
        self._db.executemany("INSERT INTO row VALUES (?,?,?,?,?,?,?,?,?,?)", self._rows)
        self._known.clear()
        self._rows.clear()

    def clear(self) -> None:
        """Forget all records; only before ``seal``."""
        self._known.clear()
        self._rows.clear()
        self._bodies.clear()
        self._db.execute("DELETE FROM known")
        self._db.execute("DELETE FROM row")

    def seal(self) -> None:
        """End the reading. All rows of one referenceId then come together, at the place of the first of them.
        Rows of different references do not affect each other, so the result is that of the file's order."""
        self._flush()
        self._db.execute("CREATE INDEX row_reference ON row (reference)")
        self._db.execute(
            "CREATE TEMP TABLE twice AS SELECT reference, min(number) AS first FROM row WHERE reference IS NOT NULL "
            "GROUP BY reference HAVING count(*) > 1"
        )
        if has_repeats(self._db):
            self._group()

    def _group(self) -> None:
        # What a row creates if there is no job is decided again where another row may have created the job.
        self._db.execute("UPDATE row SET day = 0 WHERE reference IN (SELECT reference FROM temp.twice)")
        self._db.execute(
            "UPDATE row SET place = twice.first FROM temp.twice WHERE row.reference = twice.reference AND number <> first"
        )
        self._db.execute("CREATE INDEX row_place ON row (place, number)")

    def seal_again(self) -> None:
        """``seal`` after a second reading."""
        self._flush()
        self._db.execute("DROP INDEX row_reference")
        self._db.execute("DROP INDEX IF EXISTS row_place")
        self._db.execute("DROP TABLE temp.twice")
        self._db.execute("UPDATE row SET place = number WHERE place <> number")
        self.seal()


def has_repeats(db: sqlite3.Connection) -> bool:
    """Return whether a sealed stage has several rows of one reference."""
    return db.execute("SELECT 1 FROM temp.twice LIMIT 1").fetchone() is not None
