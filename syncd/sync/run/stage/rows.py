"""The rows of a sealed stage, in order: to be planned, applied and reported."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from syncd.errors import Problem
from syncd.sync.run.stage.bodies import Bodies
from syncd.sync.run.stage.records import has_repeats
from syncd.sync.validation import RowKind, unpack_problems

#: The columns that a StagedRow is made of. ``at`` and ``size`` lead to the body.
_COLUMNS = "number, line, reference, digest, day, place, at"


class StagedRow(NamedTuple):
    """A valid row of a record that is not known. ``line`` counts from 1; ``digest`` is the record's; ``day`` as in
    ValidatedRow; ``place``: the number of the first row of its reference; ``body``: the packed row."""

    number: int
    line: int | None
    reference: str
    digest: bytes
    day: int
    place: int
    body: bytes


class RejectedRecord(NamedTuple):
    """A record of which no valid row could be made; ``reference`` where it can be read."""

    number: int
    line: int | None
    reference: str | None
    problems: tuple[Problem, ...]


class Rows:
    """The rows that were made of records which are not known."""

    def __init__(self, db: sqlite3.Connection, bodies: Bodies) -> None:
        self._db, self._bodies = db, bodies

    def valid(self, size: int, *, without_body: int = -1) -> Iterator[list[StagedRow]]:
        """Yield the valid rows in order, ``size`` at a time. Rows may be rejected meanwhile. Rows of the day
        ``without_body`` come without their bodies, which are most of the bytes; ``body_of`` reads them."""
        grouped = has_repeats(self._db)
        order = "place, number" if grouped else "number"
        after = "(place, number) > (:place, :number)" if grouped else "number > :number"
        query = (
            f"SELECT {_COLUMNS}, iif(day = :without_body, 0, size) FROM row "  # noqa: S608
            f"WHERE kind = {RowKind.VALID:d} AND {after} ORDER BY {order} LIMIT :size"
        )
        at = {"place": 0, "number": 0, "size": size, "without_body": without_body}
        while batch := self._staged(self._db.execute(query, at).fetchall()):
            yield batch
            at |= {"place": batch[-1].place, "number": batch[-1].number}

    def rejected(self, size: int) -> Iterator[list[RejectedRecord]]:
        """Yield the rejected records in file order, ``size`` at a time."""
        query = "SELECT number, line, reference, at, size FROM row WHERE kind <> ? AND number > ? ORDER BY number LIMIT ?"
        after = 0
        while batch := self._rejected(self._db.execute(query, (RowKind.VALID, after, size)).fetchall()):
            yield batch
            after = batch[-1].number

    def take_late(self, number: int) -> RejectedRecord | None:
        """Return the record of that number if it was rejected by the store's state and has not been taken before."""
        query = "UPDATE row SET late = 2 WHERE number = ? AND late = 1 RETURNING number, line, reference, at, size"
        found = self._rejected(self._db.execute(query, (number,)).fetchall())
        return found[0] if found else None

    def _rejected(
        self, found: Sequence[tuple[int, int | None, str | None, int, int]]
    ) -> list[RejectedRecord]:
        bodies = self._bodies.get([(at, size) for *_, at, size in found])
        return [
            RejectedRecord(number, line, reference, unpack_problems(body))
            for (number, line, reference, _, _), body in zip(found, bodies, strict=True)
        ]

    def body_of(self, row: StagedRow) -> bytes:
        """Return the body of a row that may have come without it."""
        if row.body:
            return row.body
        place = self._db.execute("SELECT at, size FROM row WHERE number = ?", (row.number,)).fetchone()
        return self._bodies.get([place])[0]

    def _staged(
        self, found: Sequence[tuple[int, int | None, str, bytes, int, int, int, int]]
    ) -> list[StagedRow]:
        """Return rows for the columns ``_COLUMNS`` and the size."""
        bodies = self._bodies.get([(at, size) for *_, at, size in found])
        return [
            StagedRow(number, line, reference, digest, day, place, body)
            for (number, line, reference, digest, day, place, _, _), body in zip(found, bodies, strict=True)
        ]

    def reject(self, number: int, problems: bytes) -> None:
        """Reject a row that was valid by itself: the store's state does not allow it."""
        self._db.execute(
            "UPDATE row SET kind = ?, late = 1, at = ?, size = ? WHERE number = ?",
            (RowKind.REJECTED, self._bodies.add(problems), len(problems), number),
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

    def repeats(self) -> Iterator[tuple[str, int, int, bool]]:
        """Yield (reference, number before, number, byte-identical) for each record whose reference an earlier
        record has."""
        query = (
            "SELECT reference, number, digest FROM row WHERE reference IN (SELECT reference FROM temp.twice) "
            "OR reference IN (SELECT known.reference FROM known CROSS JOIN row AS r ON r.reference = known.reference) "
            "UNION ALL SELECT reference, number, digest FROM known WHERE job IN (SELECT job FROM known GROUP BY job "
            "HAVING count(*) > 1) OR EXISTS (SELECT 1 FROM row WHERE row.reference = known.reference) "
            "ORDER BY 1, 2"
        )
        before: tuple[str, int, bytes] | None = None
        for reference, number, digest in self._db.execute(query):
            if before is not None and before[0] == reference:
                yield reference, before[1], number, before[2] == digest
            before = (reference, number, digest)
