"""The known records of a file, in pieces.

A file in which nothing has changed stages nothing else. So hundreds of records are packed into one row of a table, which costs a
tenth of a row for each of them, and unpacked together where one of them is wanted."""

import marshal
import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from syncd.store import feed_jobs

_TABLES = """
CREATE TABLE known (first INTEGER PRIMARY KEY, piece BLOB);
"""
#: Records of a piece, or a few more.
_PIECE = 1000


class _Piece(NamedTuple):
    """Some known records in file order: for each its number, and a KnownRow."""

    numbers: list[int]
    jobs: list[int]
    digests: list[bytes]
    references: list[str]


class KnownPieces:
    """The records that are known: the feed wrote their jobs from the same bytes before. ``records``: how many there are."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        db.executescript(_TABLES)
        self._next = _Piece([], [], [], [])
        self.records = 0

    def add(self, first: int, rows: Sequence[feed_jobs.KnownRow]) -> None:
        """Add records in a row, the first of which has the number ``first``."""
        self.records += len(rows)
        piece = self._next
        piece.numbers.extend(range(first, first + len(rows)))
        jobs, digests, references = zip(*rows, strict=True)
        piece.jobs.extend(jobs)
        piece.digests.extend(digests)
        piece.references.extend(references)
        if len(piece.numbers) >= _PIECE:
            self.flush()

    def flush(self) -> None:
        if self._next.numbers:
            data = marshal.dumps(tuple(self._next))
            self._db.execute("INSERT INTO known VALUES (?,?)", (self._next.numbers[0], data))
        self._next = _Piece([], [], [], [])

    def clear(self) -> None:
        self._next, self.records = _Piece([], [], [], []), 0
        self._db.execute("DELETE FROM known")

    def forget(self, number: int) -> None:
        """Remove the record of that number. Numbers that rise unpack each piece once."""
        numbers = self._next.numbers
        if not numbers or not numbers[0] <= number <= numbers[-1]:
            self.flush()
            query = "DELETE FROM known WHERE first = (SELECT max(first) FROM known WHERE first <= ?) RETURNING piece"
            for (data,) in self._db.execute(query, (number,)).fetchall():
                self._next = _unpack(data)
        at = bisect_left(self._next.numbers, number)
        for values in self._next:
            del values[at]
        self.records -= 1

    def having(self, some: Callable[[list[str]], Collection[str]]) -> Iterator[tuple[int, str, bytes]]:
        """Yield (number, reference, digest) of the records whose references are among those that ``some`` returns of them."""
        for piece in self._pieces():
            wanted = some(piece.references)
            for number, reference, digest in zip(piece.numbers, piece.references, piece.digests, strict=True):
                if reference in wanted:
                    yield number, reference, digest

    def name_jobs(self) -> int:
        """Write the job of each record to the table of named jobs, which is empty before. Return how many jobs there are."""
        jobs = 0
        for piece in self._pieces():
            # one statement for many rows
            query = "INSERT OR IGNORE INTO named SELECT value FROM json_each(?)"
            jobs += self._db.execute(query, (str(piece.jobs),)).rowcount
        return jobs

    def _pieces(self) -> Iterator[_Piece]:
        for (data,) in self._db.execute("SELECT piece FROM known ORDER BY first"):
            yield _unpack(data)


def _unpack(data: bytes) -> _Piece:
    return _Piece(*marshal.loads(data))  # noqa: S302 - our own scratch file
