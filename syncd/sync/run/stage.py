"""The scratch file of one run: every record that was read, before anything is written to the store.

It is SQLite, on disk, unlinked as soon as it is open: a killed run leaves nothing behind. It keeps what a
run must not keep in memory: rows, problems, the jobs that were named and those that are missing. The bodies of
the rows, nearly all of it, lie in a plain file beside it, one after the other: written and read in long pieces, at
a third of what pages of a table cost. One thread uses it, the run's own.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from syncd.sync.validation import Kind

_SCHEMA = """
PRAGMA page_size = 16384;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA cache_size = -8192;
CREATE TABLE known (number INTEGER PRIMARY KEY, job INTEGER, reference TEXT, digest BLOB);
CREATE TABLE row (number INTEGER PRIMARY KEY, place INTEGER, line INTEGER, kind INTEGER, late INTEGER, day INTEGER,
    reference TEXT, digest BLOB, at INTEGER, size INTEGER);
CREATE TABLE named (job INTEGER PRIMARY KEY);
CREATE TABLE gone (job INTEGER PRIMARY KEY, version INTEGER, expired INTEGER);
CREATE TABLE fresh (likeness TEXT PRIMARY KEY, jobs INTEGER) WITHOUT ROWID;
CREATE TABLE wanted (digest BLOB PRIMARY KEY) WITHOUT ROWID;
"""
_BUFFER = 1000
#: Bytes that are written, and read in vain, at once.
_PIECE = 1 << 20


class Staged(NamedTuple):
    """A valid row. ``line`` counts from 1, ``digest`` is the record's, ``body`` packed; ``day`` as in
    Outcome."""

    number: int
    line: int | None
    reference: str
    digest: bytes
    body: bytes
    place: int
    day: int


class Entry(NamedTuple):
    """A record that is not known: ``body`` is the packed row, or the packed problems of a rejected one;
    ``day`` as in Outcome."""

    number: int
    line: int | None
    reference: str | None
    digest: bytes
    body: bytes
    day: int = 0


class Stage:
    """``folder`` is where the scratch file is made (default: the system's temporary folder)."""

    def __init__(self, folder: Path | None = None) -> None:
        with tempfile.NamedTemporaryFile(prefix="syncd-stage-", dir=folder) as file:
            self._db = sqlite3.connect(file.name, isolation_level=None)
            self._db.executescript(_SCHEMA)
            self._db.execute("BEGIN")
        self._bodies = _Bodies(folder)
        self._known: list[tuple[int, int, str, bytes]] = []
        self._rows: list[tuple[int, int, int | None, Kind, int, int, str | None, bytes, int, int]] = []
        self._grouped = False

    def clear(self) -> None:
        """Forgets what was read, before ``seal``."""
        self._known.clear()
        self._rows.clear()
        self._bodies.clear()
        self._db.executescript("DELETE FROM known; DELETE FROM row")

    def close(self) -> None:
        self._db.close()
        self._bodies.close()

    # -- reading -------------------------------------------------------------------------------------------

    def add_known(self, number: int, job: int, reference: str, digest: bytes) -> None:
        self._known.append((number, job, reference, digest))
        if len(self._known) >= _BUFFER:
            self._flush()

    def add(self, kind: Kind, entry: Entry) -> None:
        """A record that is not known."""
        number, line, reference, digest, body, day = entry
        at = self._bodies.add(body)
        self._rows.append((number, number, line, kind, 0, day, reference, digest, at, len(body)))
        if len(self._rows) >= _BUFFER:
            self._flush()

    def _flush(self) -> None:
        self._db.executemany("INSERT INTO known VALUES (?,?,?,?)", self._known)
        self._db.executemany("INSERT INTO row VALUES (?,?,?,?,?,?,?,?,?,?)", self._rows)
        self._known.clear()
        self._rows.clear()

    def seal(self) -> None:
        """After the last record: all rows of one referenceId come together, at the place of the first of
        them. Rows of different references do not touch each other, so that is file order as far as anybody
        can see."""
        self._flush()
        self._db.execute("CREATE INDEX row_reference ON row (reference)")
        self._db.execute(
            "CREATE TEMP TABLE twice AS SELECT reference, min(number) AS first FROM row WHERE reference IS NOT NULL "
            "GROUP BY reference HAVING count(*) > 1"
        )
        self._grouped = self._value("SELECT count(*) FROM twice") > 0
        if self._grouped:
            self._group()

    def _group(self) -> None:
        # What a row creates if there is no job is decided anew where another row may have made it.
        self._db.execute("UPDATE row SET day = 0 WHERE reference IN (SELECT reference FROM temp.twice)")
        self._db.execute(
            "UPDATE row SET place = twice.first FROM temp.twice WHERE row.reference = twice.reference AND number <> first"
        )
        self._db.execute("CREATE INDEX row_place ON row (place, number)")

    # -- known records that may not be trusted after all ---------------------------------------------------

    def want_overtaken(self) -> int:
        """Known records that come after another row of their reference have to be applied again: marks them
        as wanted for a second reading and gives their number."""
        self._db.execute(
            "INSERT OR IGNORE INTO wanted SELECT known.digest FROM known CROSS JOIN row ON row.reference = known.reference "
            "WHERE row.number < known.number AND row.kind = ?",
            (Kind.ROW,),
        )
        return self._value("SELECT count(*) FROM wanted")

    def want_late(self) -> int:
        """The same for rows that were rejected only when they met the store: their record is to be shown."""
        self._db.execute("DELETE FROM wanted")
        self._db.execute("INSERT OR IGNORE INTO wanted SELECT digest FROM row WHERE late = 1")
        return self._value("SELECT count(*) FROM wanted")

    def wanted(self, digests: Sequence[bytes]) -> set[bytes]:
        """Which of these digests are wanted."""
        return self._among("SELECT digest FROM wanted WHERE digest IN", digests)

    def is_known(self, number: int) -> bool:
        return bool(self._value("SELECT count(*) FROM known WHERE number = ?", number))

    def distrust(self, number: int) -> None:
        """The record is no longer known: the caller stages it instead."""
        self._db.execute("DELETE FROM known WHERE number = ?", (number,))

    def regroup(self) -> None:
        """After a second reading."""
        self._flush()
        self._db.executescript(
            "DROP INDEX row_reference; DROP INDEX IF EXISTS row_place; DROP TABLE temp.twice"
        )
        self._db.execute("UPDATE row SET place = number WHERE place <> number")
        self.seal()

    def take_late(self, number: int) -> Entry | None:
        """The rejected row of that number, if it is one that was rejected late and not yet taken."""
        found = self._db.execute(
            "UPDATE row SET late = 2 WHERE number = ? AND late = 1 RETURNING number, line, reference, digest, at, size",
            (number,),
        ).fetchall()
        return self._entries(found)[0] if found else None

    # -- planning and applying -----------------------------------------------------------------------------

    def rows(self, size: int, *, without: int = -1) -> Iterator[list[Staged]]:
        """The valid rows in order, ``size`` at a time; rows may be rejected on the way. Those of the day
        ``without`` come without their bodies, which are most of the file (``body`` has them)."""
        order = "place, number" if self._grouped else "number"
        after = "(place, number) > (:place, :number)" if self._grouped else "number > :number"
        query = (
            "SELECT number, line, reference, digest, at, iif(day = :without, 0, size), place, day "  # noqa: S608
            f"FROM row WHERE kind = {Kind.ROW:d} AND {after} ORDER BY {order} LIMIT :size"
        )
        at = {"place": 0, "number": 0, "size": size, "without": without}
        while found := self._db.execute(query, at).fetchall():
            bodies = self._bodies.get([(row[4], row[5]) for row in found])
            batch = [
                Staged._make((*row[:4], body, *row[6:])) for row, body in zip(found, bodies, strict=True)
            ]
            yield batch
            at |= {"place": batch[-1].place, "number": batch[-1].number}

    def body(self, row: Staged) -> bytes:
        """The body of a row, also where it came without."""
        if row.body:
            return row.body
        place = self._db.execute("SELECT at, size FROM row WHERE number = ?", (row.number,)).fetchone()
        return self._bodies.get([place])[0]

    def reject(self, number: int, problems: bytes) -> None:
        """The store's state forbids a row that was valid by itself."""
        self._db.execute(
            "UPDATE row SET kind = ?, late = 1, at = ?, size = ? WHERE number = ?",
            (Kind.REJECTED, self._bodies.add(problems), len(problems), number),
        )

    def refused(self, size: int) -> Iterator[list[Entry]]:
        """The rejected records in file order."""
        query = (
            "SELECT number, line, reference, digest, at, size FROM row WHERE kind <> ? AND number > ? "
            "ORDER BY number LIMIT ?"
        )
        after = 0
        while batch := self._entries(self._db.execute(query, (Kind.ROW, after, size)).fetchall()):
            yield batch
            after = batch[-1].number

    def _entries(self, found: list[tuple[Any, ...]]) -> list[Entry]:
        """Of (number, line, reference, digest, at, size)."""
        bodies = self._bodies.get([(row[4], row[5]) for row in found])
        return [Entry._make((*row[:4], body, 0)) for row, body in zip(found, bodies, strict=True)]

    def refused_references(self, kind: Kind, size: int) -> Iterator[list[str]]:
        """The distinct references of rejected or of ragged records, sorted."""
        query = (
            "SELECT DISTINCT reference FROM row INDEXED BY row_reference WHERE reference > ? AND kind = ? "
            "ORDER BY reference LIMIT ?"
        )
        after = ""
        while batch := [ref for (ref,) in self._db.execute(query, (after, kind, size)).fetchall()]:
            yield batch
            after = batch[-1]

    def count(self, kind: Kind, reference: str | None) -> int:
        """How many records of that kind have that reference (or none)."""
        return self._value("SELECT count(*) FROM row WHERE kind = ? AND reference IS ?", kind, reference)

    def repeats(self) -> Iterator[tuple[str, int, int, bool]]:
        """(reference, number before, number, byte-identical) for each record whose reference an earlier
        record had."""
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

    # -- jobs ----------------------------------------------------------------------------------------------

    def name_known(self) -> int:
        """The jobs of all known records are named; gives how many jobs that is."""
        self._db.execute("INSERT OR IGNORE INTO named SELECT job FROM known")
        return self._value("SELECT count(*) FROM named")

    def name(self, jobs: Iterable[int]) -> None:
        self._db.executemany("INSERT OR IGNORE INTO named VALUES (?)", ((job,) for job in jobs))

    def is_named(self, job: int) -> bool:
        return bool(self._value("SELECT count(*) FROM named WHERE job = ?", job))

    def named_between(self, first: int, last: int) -> set[int]:
        return {
            job
            for (job,) in self._db.execute("SELECT job FROM named WHERE job BETWEEN ? AND ?", (first, last))
        }

    def add_gone(self, jobs: Iterable[tuple[int, int]], *, expired: bool = False) -> None:
        """Jobs (id, version) that would be archived, as missing or by their own row's date."""
        self._db.executemany(
            "INSERT OR REPLACE INTO gone VALUES (?,?,?)", ((job, version, expired) for job, version in jobs)
        )

    def gone(self, size: int) -> Iterator[list[int]]:
        """The ids of the missing ones, in order."""
        query = "SELECT job FROM gone WHERE job > ? AND NOT expired ORDER BY job LIMIT ?"
        after = 0
        while batch := [job for (job,) in self._db.execute(query, (after, size)).fetchall()]:
            yield batch
            after = batch[-1]

    def going(self, *, expired: bool) -> list[int]:
        """The ids of all that would be archived as missing, or by their own row, in order."""
        query = "SELECT job FROM gone WHERE expired = ? ORDER BY job"
        return [job for (job,) in self._db.execute(query, (expired,))]

    def gone_digest(self) -> str:
        """Over all jobs that would be archived, as they are now."""
        digest = hashlib.sha256()
        for row in self._db.execute("SELECT job, version, expired FROM gone ORDER BY job"):
            digest.update(repr(row).encode())
        return digest.hexdigest()

    def add_fresh(self, likeness: str) -> None:
        """A job that would be created, by what makes it look like an old one."""
        self._db.execute(
            "INSERT INTO fresh VALUES (?, 1) ON CONFLICT DO UPDATE SET jobs = jobs + 1", (likeness,)
        )

    def take_fresh(self, likeness: str) -> bool:
        """Whether one is left that looks so; takes it."""
        query = "UPDATE fresh SET jobs = jobs - 1 WHERE likeness = ? AND jobs > 0"
        return self._db.execute(query, (likeness,)).rowcount > 0

    # -- helpers -------------------------------------------------------------------------------------------

    def _value(self, query: str, *values: object) -> int:
        return int(self._db.execute(query, values).fetchone()[0])

    def _among(self, query: str, values: Sequence[bytes]) -> set[bytes]:
        marks = ",".join("?" * len(values))
        return {found for (found,) in self._db.execute(f"{query} ({marks})", list(values))}


class _Bodies:
    """Bytes in a file that has no name, each found by where it begins."""

    def __init__(self, folder: Path | None) -> None:
        self._file = tempfile.TemporaryFile(prefix="syncd-bodies-", dir=folder, buffering=_PIECE)  # noqa: SIM115
        self._end, self._dirty = 0, False

    def add(self, body: bytes) -> int:
        """Where it begins. Raises OSError for a full disk, now or when the next is added or got."""
        at, self._end, self._dirty = self._end, self._end + len(body), True
        self._file.write(body)
        return at

    def get(self, places: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes at each (begin, size); a size of 0 is nothing. What lies together is read at once."""
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
        with suppress(OSError):  # a full disk, of which somebody has heard already
            self._file.close()
