"""Records of which the run needs the content after all: it reads the file a second time and finds them by their
digests."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from syncd.sync.validation import RowKind


class Rereading:
    """Which records a second reading of the file has to find."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        db.execute("CREATE TABLE wanted (digest BLOB PRIMARY KEY) WITHOUT ROWID")

    def want_overtaken(self) -> int:
        """Want each known record that comes after another row of its reference: it has to be applied again.
        Return the number of wanted records."""
        self._db.execute(
            "INSERT OR IGNORE INTO wanted SELECT known.digest FROM known "
            "CROSS JOIN row ON row.reference = known.reference "
            "WHERE row.number < known.number AND row.kind = ?",
            (RowKind.VALID,),
        )
        return self._count()

    def want_late(self) -> int:
        """Want each row that was rejected only when it met the store: its record goes to the file of rejected
        records. Return the number of wanted records."""
        self._db.execute("DELETE FROM wanted")
        self._db.execute("INSERT OR IGNORE INTO wanted SELECT digest FROM row WHERE late = 1")
        return self._count()

    def wanted(self, digests: Sequence[bytes]) -> set[bytes]:
        """Return those of the digests that are wanted."""
        marks = ",".join("?" * len(digests))
        query = f"SELECT digest FROM wanted WHERE digest IN ({marks})"  # noqa: S608
        return {found for (found,) in self._db.execute(query, list(digests))}

    def forget_known(self, number: int) -> bool:
        """Remove a known record, so that the caller can stage it as a row. Return whether it was known."""
        return self._db.execute("DELETE FROM known WHERE number = ?", (number,)).rowcount > 0

    def _count(self) -> int:
        (number,) = self._db.execute("SELECT count(*) FROM wanted").fetchone()
        return int(number)
