"""The records of a file that are not known: as they are read, the rows that were made of them with their bodies, and the
records that have to be read again."""

import marshal
import os
import sqlite3
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from syncd.domain import Outline, RejectedRow
from syncd.errors import Problem
from syncd.feeds.readers import Record
from syncd.sync.run.stage.known import KnownPieces
from syncd.sync.validation import RowKind, ValidatedRow, unpack_problems

_Values = tuple[Any, ...]
#: Bytes that are written at once, and that may be read without need.
_PIECE = 1 << 20
_TABLES = """
CREATE TABLE row (number INTEGER PRIMARY KEY, line INTEGER, kind INTEGER, late INTEGER,
    reference TEXT, digest BLOB, own_values INTEGER, at INTEGER, size INTEGER);
CREATE TABLE replaced (number INTEGER PRIMARY KEY, reference TEXT, by INTEGER, same INTEGER);
CREATE TABLE outline (number INTEGER PRIMARY KEY, reference TEXT, outline BLOB);
"""
#: The kind of a valid row that is not applied: a later valid record has its referenceId.
_REPLACED = 0
#: References of rows that are looked up in memory: up to some megabytes.
_MAX_IN_MEMORY = 20_000
#: Values that are looked up at once: a statement has a limit.
MAX_LOOKED_UP = 10_000
#: The most bytes of bodies that are read at once.
MAX_BATCH_SIZE = 4 << 20
#: Records that are inserted at once.
_BUFFER = 1000


class Bodies:
    """The bodies of rows, one after the other in a file without a name, each found by its offset and size.

    They are written and read in long pieces, which costs a third of pages of a table."""

    def __init__(self, folder: Path | None) -> None:
        self._file = tempfile.TemporaryFile(prefix="syncd-bodies-", dir=folder, buffering=_PIECE)  # noqa: SIM115
        self._end, self._dirty = 0, False

    def add(self, *bodies: bytes) -> list[int]:
        """Append the bodies and return their offsets. Raises OSError for a full disk, here or in a later call."""
        starts = list(accumulate(map(len, bodies), initial=self._end))
        self._end, self._dirty = starts.pop(), True
        self._file.write(b"".join(bodies))
        return starts

    def get(self, places: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return the bytes at each (offset, size). Bytes that lie close together are read at once."""
        if self._dirty:
            self._file.flush()
            self._dirty = False
        wanted = [(at, at + size) for at, size in places if size]
        first, last = (min(wanted)[0], max(end for _, end in wanted)) if wanted else (0, 0)
        if last - first > _PIECE + 2 * sum(size for _, size in places):
            return [os.pread(self._file.fileno(), size, at) if size else b"" for at, size in places]
        data = os.pread(self._file.fileno(), last - first, first)
        return [data[at - first : at - first + size] if size else b"" for at, size in places]

    def clear(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._end, self._dirty = 0, False

    def close(self) -> None:
        with suppress(OSError):  # a full disk, which was reported before
            self._file.close()


class Records:
    """The records as they are read: added in file order, then sealed. ``Rows`` reads them."""

    def __init__(self, db: sqlite3.Connection, bodies: Bodies, known: KnownPieces) -> None:
        self._db, self._bodies, self._known = db, bodies, known
        db.executescript(_TABLES)
        self._rows: list[tuple[int, int | None, RowKind, int, str | None, bytes, int, int, int]] = []

    def add(self, rows: Sequence[tuple[Record, ValidatedRow]]) -> None:
        """Add records that are not known, each with its row."""
        starts = self._bodies.add(*(row.body for _, row in rows))
        for (record, row), at in zip(rows, starts, strict=True):
            number, (kind, reference, body, *_) = record.number, row
            own_values, size = row.own_values, len(body)
            self._rows.append((number, record.line, kind, 0, reference, record.digest, own_values, at, size))
            if row.outline is not None:
                outline = marshal.dumps(row.outline)
                self._db.execute("INSERT INTO outline VALUES (?,?,?)", (number, reference, outline))
        if len(self._rows) >= _BUFFER:
            self._flush()

    def _flush(self) -> None:
        self._db.executemany("INSERT INTO row VALUES (?,?,?,?,?,?,?,?,?)", self._rows)
        self._rows.clear()

    def clear(self) -> None:
        """Forget all records; only before ``seal``."""
        self._known.clear()
        self._rows.clear()
        self._bodies.clear()
        self._db.execute("DELETE FROM row")
        self._db.execute("DELETE FROM outline")

    def seal(self) -> int:
        """End the reading. Of the valid records of one referenceId the last one counts: the others are replaced. Return how many
        are, but for known records that are copies of each other."""
        self._flush()
        self._known.flush()
        self._db.execute("CREATE INDEX row_reference ON row (reference, kind)")
        self._db.execute("CREATE TEMP TABLE met (number INTEGER, reference TEXT, digest BLOB)")
        if (of_rows := self._references()) is not None:
            self._db.executemany("INSERT INTO temp.met VALUES (?,?,?)", self._known.having(of_rows))
        self._db.execute(
            "CREATE TEMP TABLE several AS SELECT reference, max(number) AS last FROM ("
            "SELECT reference, number FROM row WHERE kind = 1 UNION ALL SELECT reference, number FROM temp.met) "
            "GROUP BY reference HAVING count(*) > 1"
        )
        self._db.execute(
            "INSERT INTO replaced WITH record AS MATERIALIZED ("
            "SELECT number, row.reference, digest FROM temp.several CROSS JOIN row ON row.reference = several.reference "
            "AND kind = 1 UNION ALL SELECT number, reference, digest FROM temp.met) "
            "SELECT record.number, record.reference, last, record.digest = counts.digest FROM temp.several "
            "JOIN record ON record.reference = several.reference "
            "JOIN record AS counts ON counts.number = last WHERE record.number <> last"
        )
        self._db.execute(
            "UPDATE row SET kind = ? WHERE number IN (SELECT number FROM replaced)", (_REPLACED,)
        )
        query = "SELECT number FROM replaced WHERE number IN (SELECT number FROM temp.met) ORDER BY number"
        for (number,) in self._db.execute(query).fetchall():
            self._known.forget(number)
        self._known.flush()
        (replaced,) = self._db.execute("SELECT count(*) FROM replaced").fetchone()
        return int(replaced)

    def _references(self) -> Callable[[list[str]], Collection[str]] | None:
        """Return a function that returns those of some references that a valid row has; None if no row has a reference."""
        query = "SELECT DISTINCT reference FROM row WHERE kind = 1 LIMIT ?"
        references = {reference for (reference,) in self._db.execute(query, (_MAX_IN_MEMORY + 1,))}
        if len(references) > _MAX_IN_MEMORY:
            return partial(_present, self._db)
        return references.intersection if references else None


def _present(db: sqlite3.Connection, references: Sequence[str]) -> set[str]:
    """Return those of the references that a valid row has."""
    present: set[str] = set()
    for start in range(0, len(references), MAX_LOOKED_UP):
        some = references[start : start + MAX_LOOKED_UP]
        query = f"SELECT reference FROM row WHERE kind = 1 AND reference IN ({','.join('?' * len(some))})"  # noqa: S608
        present.update(reference for (reference,) in db.execute(query, some))
    return present


class StagedRow(NamedTuple):
    """A valid row of a record that is not known, the last one of its reference. ``line`` counts from 1; ``digest`` is the
    record's; ``body``: the packed row; ``own_values`` as in MappedRow."""

    number: int
    line: int | None
    reference: str
    digest: bytes
    body: bytes
    own_values: int


class Rows:
    """The rows that were made of records which are not known."""

    def __init__(self, db: sqlite3.Connection, bodies: Bodies) -> None:
        self._db, self._bodies = db, bodies

    def valid(self, size: int) -> Iterator[list[StagedRow]]:
        """Yield the valid rows in order, ``size`` at a time, fewer if their bodies are long. Rows may be rejected meanwhile."""
        query = (
            "SELECT number, line, reference, digest, own_values, at, size FROM row "
            "WHERE kind = 1 AND number > ? ORDER BY number LIMIT ?"
        )
        for rows in self._with_bodies(query, size):
            yield [
                StagedRow(number, line, reference, digest, body, own_values)
                for (number, line, reference, digest, own_values, *_), body in rows
            ]

    def rejected(self, size: int, member_of: Callable[[int], str | None]) -> Iterator[list[RejectedRow]]:
        """Yield the rejected rows in file order, ``size`` at a time, fewer if they have many problems. ``member_of``: as in
        Summary."""
        query = (
            "SELECT number, line, reference, at, size FROM row WHERE kind NOT IN (?, ?) AND number > ? "
            "ORDER BY number LIMIT ?"
        )
        for rows in self._with_bodies(query, size, RowKind.VALID, _REPLACED):
            yield [
                RejectedRow(number, line, reference, unpack_problems(body), member_of(number))
                for (number, line, reference, *_), body in rows
            ]

    def _with_bodies(
        self, query: str, size: int, *values: object
    ) -> Iterator[Iterable[tuple[_Values, bytes]]]:
        """Yield the rows of the query, which have their number first and the place of their body last, with the bodies: ``size``
        at a time, or as many as have MAX_BATCH_SIZE bytes together, at least one."""
        after = 0
        while rows := self._db.execute(query, (*values, after, size)).fetchall():
            ends = accumulate(length for *_, length in rows)
            rows = [row for row, end in zip(rows, ends, strict=True) if end <= MAX_BATCH_SIZE] or rows[:1]
            bodies = self._bodies.get([(at, length) for *_, at, length in rows])
            yield zip(rows, bodies, strict=True)
            after, *_ = rows[-1]

    def bodies_of(self, numbers: Collection[int]) -> dict[int, bytes]:
        """Return the bodies of those of these records that are valid rows, by number. At most MAX_LOOKED_UP numbers."""
        query = (
            f"SELECT number, at, size FROM row WHERE number IN ({','.join('?' * len(numbers))}) "  # noqa: S608
            f"AND kind IN ({RowKind.VALID:d}, {_REPLACED})"
        )
        rows = self._db.execute(query, list(numbers)).fetchall()
        bodies = self._bodies.get([(at, size) for _, at, size in rows])
        return {number: body for (number, *_), body in zip(rows, bodies, strict=True)}

    def reject(self, number: int, problems: bytes) -> None:
        """Reject a row that was valid by itself: the store's state does not allow it."""
        self._db.execute(
            "UPDATE row SET kind = ?, late = 1, at = ?, size = ? WHERE number = ?",
            (RowKind.REJECTED, *self._bodies.add(problems), len(problems), number),
        )

    def references(self, kind: RowKind, size: int) -> Iterator[list[str]]:
        """Yield the distinct references of the rows of that kind, sorted, ``size`` at a time."""
        query = (
            "SELECT DISTINCT reference FROM row INDEXED BY row_reference WHERE reference > ? AND kind = ? "
            "ORDER BY reference LIMIT ?"
        )
        after = ""
        while batch := [
            reference for (reference,) in self._db.execute(query, (after, kind, size)).fetchall()
        ]:
            yield batch
            after = batch[-1]

    def count(self, kind: RowKind, reference: str | None) -> int:
        """Return how many rows of that kind have that reference (None: no reference)."""
        query = "SELECT count(*) FROM row WHERE kind = ? AND reference IS ?"
        (number,) = self._db.execute(query, (kind, reference)).fetchone()
        return int(number)

    def outlines(self, size: int) -> Iterator[list[tuple[int, str | None, Outline]]]:
        """Yield (number, reference, outline) of the rows that have an outline, in file order, ``size`` at a time."""
        query = "SELECT number, reference, outline FROM outline WHERE number > ? ORDER BY number LIMIT ?"
        after = 0
        while rows := self._db.execute(query, (after, size)).fetchall():
            yield [(number, reference, marshal.loads(data)) for number, reference, data in rows]  # noqa: S302 - our own scratch file
            after, *_ = rows[-1]

    def replaced(self) -> Iterator[tuple[str, int, int]]:
        """Yield (reference, number, number of the record that counts) for each replaced record with another content."""
        yield from self._db.execute(
            "SELECT reference, number, by FROM replaced WHERE NOT same ORDER BY number"
        )

    def repeated(self) -> Iterator[list[int]]:
        """Yield the numbers of the valid rows of each reference that several have, in order. They may be merged meanwhile."""
        for (last,) in self._db.execute("SELECT DISTINCT by FROM replaced ORDER BY by").fetchall():
            query = "SELECT number FROM replaced WHERE by = ? ORDER BY number"
            yield [*(number for (number,) in self._db.execute(query, (last,))), last]

    def merge(self, numbers: Sequence[int], body: bytes) -> None:
        """Give the last of these rows the body of all of them: the others are replaced by an equal one."""
        *earlier, last = numbers
        self._db.executemany(
            "UPDATE replaced SET same = 1 WHERE number = ?", [(number,) for number in earlier]
        )
        place = (*self._bodies.add(body), len(body))
        self._db.execute("UPDATE row SET at = ?, size = ? WHERE number = ?", (*place, last))

    # -- rows that were rejected only when they met the store -----------------------------------------------------

    def has_late(self) -> bool:
        """Return whether there are such rows that have not been taken."""
        self._db.execute("CREATE INDEX IF NOT EXISTS row_late ON row (digest) WHERE late = 1")
        return self._db.execute("SELECT 1 FROM row WHERE late = 1 LIMIT 1").fetchone() is not None

    def late(self, digests: Sequence[bytes]) -> set[bytes]:
        """Return those of the digests that such a row has."""
        query = f"SELECT digest FROM row WHERE late = 1 AND digest IN ({','.join('?' * len(digests))})"  # noqa: S608
        return {digest for (digest,) in self._db.execute(query, list(digests))}

    def take_late(self, number: int) -> tuple[Problem, ...] | None:
        """Return the problems of such a row, once."""
        query = "UPDATE row SET late = 2 WHERE number = ? AND late = 1 RETURNING at, size"
        rows = self._db.execute(query, (number,)).fetchall()
        return unpack_problems(*self._bodies.get(rows)) if rows else None
