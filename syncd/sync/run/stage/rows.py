"""The records of a file that are not known: as they are read, the rows that were made of them with their bodies, and the
records that have to be read again."""

from __future__ import annotations

import marshal
import os
import sqlite3
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from syncd.domain import Outline, RejectedRow
from syncd.errors import Problem
from syncd.feeds.readers import Record
from syncd.sync.run.stage.known import KnownPieces
from syncd.sync.validation import RowKind, ValidatedRow, unpack_problems

T = TypeVar("T")
_Found = tuple[Any, ...]
#: Bytes that are written at once, and that may be read without need.
_PIECE = 1 << 20
_TABLES = """
CREATE TABLE row (number INTEGER PRIMARY KEY, place INTEGER, line INTEGER, kind INTEGER, late INTEGER, day INTEGER,
    reference TEXT, digest BLOB, at INTEGER, size INTEGER);
CREATE TABLE outline (number INTEGER PRIMARY KEY, reference TEXT, outline BLOB);
"""
#: The kind of a valid row that an earlier attempt of the run applied, as it did a later row of the referenceId.
_OVERTAKEN = 0
#: References of rows that are looked up in memory: up to some megabytes.
_IN_MEMORY = 20_000
#: Values that are looked up at once: a statement has a limit.
ASKED = 10_000
#: The most bytes of bodies that are read at once.
MAX_BATCH_SIZE = 4 << 20
#: Records that are inserted at once.
_BUFFER = 1000


class Bodies:
    """The bodies of rows, one after the other in a file without a name, each found by its offset and size.

    They are written and read in long pieces, which costs a third of what pages of a table would."""

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
        self._rows: list[tuple[int, int, int | None, RowKind, int, int, str | None, bytes, int, int]] = []

    def add(self, rows: Sequence[tuple[Record, ValidatedRow]]) -> None:
        """Add records that are not known, each with its row."""
        starts = self._bodies.add(*(row.body for _, row in rows))
        for (record, row), at in zip(rows, starts, strict=True):
            number, (kind, reference, body, day, *_) = record.number, row
            self._rows.append(
                (number, number, record.line, kind, 0, day, reference, record.digest, at, len(body))
            )
            if row.outline is not None:
                outline = marshal.dumps(row.outline)
                self._db.execute("INSERT INTO outline VALUES (?,?,?)", (number, reference, outline))
        if len(self._rows) >= _BUFFER:
            self._flush()

    def _flush(self) -> None:
        self._db.executemany("INSERT INTO row VALUES (?,?,?,?,?,?,?,?,?,?)", self._rows)
        self._rows.clear()

    def clear(self) -> None:
        """Forget all records; only before ``seal``."""
        self._known.clear()
        self._rows.clear()
        self._bodies.clear()
        self._db.execute("DELETE FROM row")
        self._db.execute("DELETE FROM outline")

    def seal(self) -> None:
        """End the reading. All rows of one referenceId then come together, at the place of the first record that has it.
        Rows of different references do not affect each other, so the result is that of the file's order."""
        self._flush()
        self._known.flush()
        self._db.execute("CREATE INDEX row_reference ON row (reference)")
        self._db.execute(
            "CREATE TEMP TABLE twice AS SELECT reference, min(number) AS first FROM row WHERE reference IS NOT NULL "
            "GROUP BY reference HAVING count(*) > 1"
        )
        # known records whose reference a row has, too
        self._db.execute("CREATE TEMP TABLE met (number INTEGER, reference TEXT, digest BLOB)")
        if (of_rows := self._references()) is not None:
            self._db.executemany("INSERT INTO temp.met VALUES (?,?,?)", self._known.having(of_rows))
        self._db.execute(
            "INSERT INTO temp.twice SELECT reference, min(number) FROM temp.met GROUP BY reference"
        )
        if has_repeats(self._db):
            self._group()

    def _references(self) -> Callable[[list[str]], Collection[str]] | None:
        """Return a function that returns those of some references that a row has; None if no row has a reference."""
        query = "SELECT DISTINCT reference FROM row WHERE reference IS NOT NULL LIMIT ?"
        found = {reference for (reference,) in self._db.execute(query, (_IN_MEMORY + 1,))}
        if len(found) > _IN_MEMORY:
            return lambda references: _present(self._db, "row", "reference", references)
        return found.intersection if found else None

    def _group(self) -> None:
        # What a row creates if there is no job is decided again where another row may have created the job.
        self._db.execute("UPDATE row SET day = 0 WHERE reference IN (SELECT reference FROM temp.twice)")
        self._db.execute(
            "UPDATE row SET place = first FROM (SELECT reference, min(first) AS first FROM temp.twice GROUP BY reference) AS of "
            "WHERE row.reference = of.reference AND number <> first"
        )
        self._db.execute("CREATE INDEX row_place ON row (place, number)")

    def seal_again(self) -> None:
        """``seal`` after a second reading."""
        self._flush()
        self._db.execute("DROP INDEX row_reference")
        self._db.execute("DROP INDEX IF EXISTS row_place")
        self._db.execute("DROP TABLE temp.twice")
        self._db.execute("DROP TABLE temp.met")
        self._db.execute("UPDATE row SET place = number WHERE place <> number")
        self.seal()


def _present(db: sqlite3.Connection, table: str, column: str, values: Sequence[T]) -> set[T]:
    """Return those of the values that the column of the table has."""
    present: set[T] = set()
    for start in range(0, len(values), ASKED):
        some = values[start : start + ASKED]
        query = f"SELECT {column} FROM {table} WHERE {column} IN ({','.join('?' * len(some))})"  # noqa: S608
        present.update(found for (found,) in db.execute(query, list(some)))
    return present


def has_repeats(db: sqlite3.Connection) -> bool:
    """Return whether a sealed stage has a row of a reference that another record has, too."""
    return db.execute("SELECT 1 FROM temp.twice LIMIT 1").fetchone() is not None


class StagedRow(NamedTuple):
    """A valid row of a record that is not known. ``line`` counts from 1; ``digest`` is the record's; ``day`` as in
    ValidatedRow; ``place``: the number of the first record of its reference; ``body``: the packed row."""

    number: int
    line: int | None
    reference: str
    digest: bytes
    day: int
    place: int
    body: bytes


class Rows:
    """The rows that were made of records which are not known."""

    def __init__(self, db: sqlite3.Connection, bodies: Bodies, known: KnownPieces) -> None:
        self._db, self._bodies, self._known = db, bodies, known

    @property
    def has_repeats(self) -> bool:
        """Whether a row has a reference that another record has, too."""
        return has_repeats(self._db)

    def leave_out_overtaken(self, place: int, number: int) -> int:
        """Leave out the valid rows that come before another one of their reference, of those up to this one in order, which
        an earlier attempt applied. Return how many. They are still reported as repeats."""
        query = (
            "UPDATE row SET kind = :overtaken WHERE kind = :valid AND (place, number) <= (:place, :number) AND EXISTS ("
            "SELECT 1 FROM row AS later WHERE later.reference = row.reference AND later.kind = :valid "
            "AND later.number > row.number AND (later.place, later.number) <= (:place, :number))"
        )
        values = {"overtaken": _OVERTAKEN, "valid": RowKind.VALID, "place": place, "number": number}
        return self._db.execute(query, values).rowcount

    def valid(self, size: int, *, without_body: int = -1) -> Iterator[list[StagedRow]]:
        """Yield the valid rows in order, ``size`` at a time, fewer if their bodies are long. Rows may be rejected meanwhile. Rows
        of the day ``without_body`` come without their bodies, which are most of the bytes; ``body_of`` reads them."""
        grouped = has_repeats(self._db)
        order = "place, number" if grouped else "number"
        after = "(place, number) > (:place, :number)" if grouped else "number > :number"
        columns = "number, line, reference, digest, day, place, at, iif(day = :without_body, 0, size)"
        query = (
            f"SELECT {columns} FROM row "  # noqa: S608
            f"WHERE kind = {RowKind.VALID:d} AND {after} ORDER BY {order} LIMIT :size"
        )
        after_row = {"place": 0, "number": 0, "size": size, "without_body": without_body}
        while found := self._db.execute(query, after_row).fetchall():
            found = _within(MAX_BATCH_SIZE, found)
            bodies = self._bodies.get([(at, size) for *_, at, size in found])
            batch = [
                StagedRow(number, line, reference, digest, day, place, body)
                for (number, line, reference, digest, day, place, _, _), body in zip(
                    found, bodies, strict=True
                )
            ]
            yield batch
            after_row |= {"place": batch[-1].place, "number": batch[-1].number}

    def rejected(self, size: int, member_of: Callable[[int], str | None]) -> Iterator[list[RejectedRow]]:
        """Yield the rejected rows in file order, ``size`` at a time, fewer if they have many problems. ``member_of``: as in
        Summary."""
        query = (
            "SELECT number, line, reference, at, size FROM row WHERE kind NOT IN (?, ?) AND number > ? "
            "ORDER BY number LIMIT ?"
        )
        after = 0
        while found := self._db.execute(query, (RowKind.VALID, _OVERTAKEN, after, size)).fetchall():
            found = _within(MAX_BATCH_SIZE, found)
            bodies = self._bodies.get([(at, size) for *_, at, size in found])
            yield [
                RejectedRow(number, line, reference, unpack_problems(body), member_of(number))
                for (number, line, reference, *_), body in zip(found, bodies, strict=True)
            ]
            after, *_ = found[-1]

    def take_late(self, number: int) -> tuple[Problem, ...] | None:
        """Return the problems of a row that was rejected by the store's state and has not been taken before."""
        query = "UPDATE row SET late = 2 WHERE number = ? AND late = 1 RETURNING at, size"
        found = self._db.execute(query, (number,)).fetchall()
        return unpack_problems(*self._bodies.get(found)) if found else None

    def body_of(self, row: StagedRow) -> bytes:
        """Return the body of a row that may have come without it."""
        if row.body:
            return row.body
        place = self._db.execute("SELECT at, size FROM row WHERE number = ?", (row.number,)).fetchone()
        return self._bodies.get([place])[0]

    def bodies_of(self, numbers: Collection[int]) -> dict[int, bytes]:
        """Return the bodies of those of these records that are valid rows, by number. At most ASKED numbers."""
        query = (
            f"SELECT number, at, size FROM row WHERE number IN ({','.join('?' * len(numbers))}) "  # noqa: S608
            f"AND kind IN ({RowKind.VALID:d}, {_OVERTAKEN})"
        )
        found = self._db.execute(query, list(numbers)).fetchall()
        bodies = self._bodies.get([(at, size) for _, at, size in found])
        return {number: body for (number, *_), body in zip(found, bodies, strict=True)}

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
        while found := self._db.execute(query, (after, size)).fetchall():
            yield [(number, reference, marshal.loads(data)) for number, reference, data in found]  # noqa: S302 - our own scratch file
            after, *_ = found[-1]

    def repeats(self) -> Iterator[tuple[str, int, int, bool]]:
        """Yield (reference, number before, number, byte-identical) for each record whose reference an earlier
        record has."""
        query = (
            "SELECT reference, number, digest FROM row WHERE reference IN (SELECT reference FROM temp.twice) "
            "OR reference IN (SELECT reference FROM temp.met) "
            "UNION SELECT reference, number, digest FROM temp.met "
            "UNION SELECT reference, number, digest FROM copy ORDER BY 1, 2"
        )
        self._known.find_copies()
        before: tuple[str, int, bytes] | None = None
        for reference, number, digest in self._db.execute(query):
            if before is not None and before[0] == reference:
                yield reference, before[1], number, before[2] == digest
            before = (reference, number, digest)


def _within(most: int, found: list[_Found]) -> list[_Found]:
    """Return the first of the rows, at least one, whose bodies have no more than ``most`` bytes together. A row has the size of
    its body last."""
    ends = accumulate(size for *_, size in found)
    return [row for row, end in zip(found, ends, strict=True) if end <= most] or found[:1]


class Rereading:
    """Which records a second reading of the file has to find."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        db.execute("CREATE TABLE wanted (digest BLOB PRIMARY KEY) WITHOUT ROWID")

    def want_overtaken(self) -> bool:
        """Want each known record that comes after another row of its reference: it has to be applied again.
        Return whether there is one."""
        query = (
            "INSERT OR IGNORE INTO wanted SELECT met.digest FROM temp.met "
            "CROSS JOIN row ON row.reference = met.reference "
            "WHERE row.number < met.number AND row.kind = ?"
        )
        return self._db.execute(query, (RowKind.VALID,)).rowcount > 0

    def want_late(self) -> bool:
        """Want each row that was rejected only when it met the store: its record goes to the file of rejected
        records. Return whether there is one."""
        self._db.execute("DELETE FROM wanted")
        query = "INSERT OR IGNORE INTO wanted SELECT digest FROM row WHERE late = 1"
        return self._db.execute(query).rowcount > 0

    def wanted(self, digests: Sequence[bytes]) -> set[bytes]:
        """Return those of the digests that are wanted."""
        return _present(self._db, "wanted", "digest", digests)
