"""One connection and its current transaction."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from types import SimpleNamespace
from typing import Any, TypeVar
from uuid import uuid4

import psycopg
from psycopg.pq import TransactionStatus
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from syncd.errors import StoreBusy
from syncd.store.postgres.connections import Connection

T = TypeVar("T")

#: The advisory lock of the transactions that write: one at a time, of all processes.
WRITER_LOCK = 0x73796E63
#: Seconds that a transaction waits for the others that write.
LOCK_SECONDS = 10
#: Seconds after which the server ends a writing transaction whose process says nothing: its machine may be gone.
SILENT_SECONDS = 60

#: Seconds in which the outcome of a commit is asked for, when its answer was lost.
OUTCOME_SECONDS = 5.0

#: Begins a transaction that writes, in one round trip. It waits until no other is open. Each statement must see all that was
#: committed before it, also where the database has another default: the lock is a statement, too.
BEGIN_WRITE = (
    f"BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '{LOCK_SECONDS}s';"
    f" SET LOCAL idle_in_transaction_session_timeout = '{SILENT_SECONDS}s';"
    f" SELECT pg_advisory_xact_lock({WRITER_LOCK})"
)
BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

#: The small tables that have grown to four times the size for which the server plans statements, as ANALYZE takes them. The
#: server itself looks at them once a minute (autovacuum): until then each look-up of a first import would read all jobs.
_OUTGROWN = """
SELECT string_agg(quote_ident(relname), ', ') FROM pg_class
WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND relpages < 1000
AND pg_relation_size(oid) > current_setting('block_size')::int * (4 * relpages + 4)
"""
#: Rows that a connection writes between two looks for such tables.
_LOOK = 500

#: Each transaction that writes also writes its number, in the round trip of its COMMIT: if the number is found later, the
#: transaction is on disk. (The server's own number of a transaction may be given out again after a crash.)
_COMMIT = (
    "INSERT INTO setting (name, value) VALUES ('{name}', '{value}')"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value; COMMIT"
)
_COMMITTED = "SELECT value FROM setting WHERE name = $1"
_FORGET = "DELETE FROM setting WHERE name = $1"
#: Rows that ``stream`` asks for at once.
_STREAMED = 1_000
#: How the statements begin that write nothing.
_READS = ("SELECT", "DECLARE", "FETCH")
#: From this number of rows on, an INSERT is sent as COPY. It takes the server two thirds of the time, and one more round trip.
COPIED = 50
_PLAIN_INSERT = re.compile(r"INSERT INTO (\w+ \(([\w, ]+)\)) VALUES \(([$\d, ]+)\)")
_READ_ONLY = "a connection for single statements does not write"


class PostgresSession:
    """A connection of the driver and its current transaction. Not for two threads at once. (``Session`` in
    ``syncd.store.database`` describes the methods.) A connection that is lost is opened again by the next ``begin``."""

    def __init__(self, connect: Callable[[], Connection], begin: str) -> None:
        """``begin`` is the statement that begins a transaction: BEGIN_WRITE or BEGIN_READ."""
        self._connect, self._begin = connect, begin
        self._driver = connect()
        self._written = self._streams = 0
        self._looked = 0
        #: The rows that ``later`` has left, by the text of their statement.
        self._later: dict[str, list[Sequence[Any]]] = {}
        #: Names and counts the transactions that write.
        self._name, self._number = f"commit {uuid4()}", 0

    def execute(
        self, text: str, values: Sequence[Any] = (), *, prepare: bool | None = None
    ) -> psycopg.Cursor[Any]:
        """Run a statement. ``prepare``: whether it is prepared on the server; None: once it is run often."""
        if self._later:
            self._flush_before(text)
        try:
            cursor = self._driver.execute(text, values, prepare=prepare, binary=True)
        except psycopg.DataError as error:
            if error.sqlstate is not None:
                raise
            # The driver sends no NUL, and no row has one: a character that the text of no job has is looked for.
            values = [_without_nul(value) for value in values]
            cursor = self._driver.execute(text, values, prepare=prepare, binary=True)
        if not text.startswith(_READS):
            self._written += max(cursor.rowcount, 0)
        return cursor

    def stream(self, text: str, values: Sequence[Any]) -> Iterator[Any]:
        self._streams += 1
        name, more = f"stream_{self._streams}", True  # it ends with the transaction
        self.execute(f"DECLARE {name} NO SCROLL CURSOR FOR {text}", values, prepare=False)
        while more:
            rows = self.execute(f"FETCH {_STREAMED} FROM {name}", prepare=False).fetchall()
            yield from rows
            more = len(rows) == _STREAMED

    def executemany(self, text: str, rows: Iterable[Sequence[Any]]) -> Any:
        if self._later:
            self._flush_before(text)
        sent = list(rows)
        if len(sent) == 1:
            return self.execute(text, sent[0])
        if not sent:
            return SimpleNamespace(rowcount=0)
        count = self._write_many(text, sent)
        self._written += max(count, 0)
        return SimpleNamespace(rowcount=count)

    def _write_many(self, text: str, rows: Sequence[Sequence[Any]]) -> int:
        """Run a statement that writes once for each of the rows. Return how many rows it has written or removed."""
        cursor = self._driver.cursor()
        copied = as_copy(text, rows)
        if copied is None:
            cursor.executemany(text, rows)
            return cursor.rowcount
        with cursor.copy(copied) as copy:
            for row in rows:
                copy.write_row(row)
        return len(rows)

    def later(self, text: str, rows: Iterable[Sequence[Any]]) -> None:
        if sent := list(rows):
            if text not in self._later:
                self._flush_before(text)
            self._later.setdefault(text, []).extend(sent)
            self._written += len(sent)

    def flush(self) -> None:
        later, self._later = self._later, {}
        for text in [text for text, rows in later.items() if as_copy(text, rows)]:
            self._write_many(text, later.pop(text))
        if later:
            with self._driver.pipeline():  # one round trip
                for text, rows in later.items():
                    self._driver.cursor().executemany(text, rows)

    def _flush_before(self, text: str) -> None:
        if any(_table_of(other) in text for other in self._later):
            self.flush()

    def begin(self) -> None:
        self._beginning(lambda: self._driver.execute(self._begin))

    def tidy(self, first: Callable[[], None]) -> None:
        """Let the server look at tables that have grown since it planned its statements: it then plans them anew."""
        if self._written < self._looked + _LOOK:
            return
        self._looked = self._written
        first()
        with suppress(psycopg.Error):  # the next transaction shows a lost connection
            ((tables,),) = self._driver.execute(_OUTGROWN, prepare=False).fetchall()
            if tables:
                self._driver.execute(f"ANALYZE (SKIP_LOCKED) {tables}", prepare=False)

    def _beginning(self, run: Callable[[], T]) -> T:
        """Return the result of ``run``, which begins a transaction: on another connection if this one is lost."""
        try:
            return run()
        except psycopg.Error:
            if not self._driver.closed:
                raise
        self._driver.close()
        self._driver = self._connect()
        return run()

    def commit(self) -> None:
        self.flush()
        self._number += 1
        try:
            cursor = self._driver.execute(_COMMIT.format(name=self._name, value=self._number))
        except psycopg.OperationalError:
            if self._driver.closed and self._committed() == str(self._number):
                return
            raise
        cursor.set_result(-1)
        if cursor.statusmessage != "COMMIT":
            raise StoreBusy("the database gave up the transaction")

    def _committed(self) -> str | None:
        """Return the number of the last transaction of this session that is on disk. Waits until the one whose answer was lost
        has ended. Raises an error if the server does not answer for OUTCOME_SECONDS: then it is not known."""
        value: str | None = None
        for attempt in Retrying(
            retry=retry_if_exception_type((StoreBusy, psycopg.OperationalError)),
            stop=stop_after_delay(OUTCOME_SECONDS),
            wait=wait_fixed(0.1),
            reraise=True,
        ):
            with attempt:
                self.begin()
                row = self._driver.execute(_COMMITTED, (self._name,)).fetchone()
                value = None if row is None else str(*row)
                self.rollback()
        return value

    def rollback(self) -> None:
        self._later.clear()
        if self._driver.closed:
            return
        if self._driver.pgconn.transaction_status != TransactionStatus.IDLE:
            self._driver.execute("ROLLBACK")

    @property
    def alive(self) -> bool:
        return self._driver.pgconn.transaction_status == TransactionStatus.INTRANS

    def mark(self) -> int:
        return self._written

    def has_table(self, name: str) -> bool:
        return self.execute("SELECT 1 WHERE to_regclass($1) IS NOT NULL", (name,)).fetchone() is not None

    def close(self) -> None:
        with suppress(psycopg.Error):
            self.rollback()
            if self._number:
                self._driver.execute(_FORGET, (self._name,))
        self._driver.close()


class SingleSession(PostgresSession):
    """A connection whose transactions have one SELECT each: the server begins and ends them by itself."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        super().__init__(connect, BEGIN_READ)
        self._asked = False

    def begin(self) -> None:
        self._asked = False

    def rollback(self) -> None: ...

    def execute(
        self, text: str, values: Sequence[Any] = (), *, prepare: bool | None = None
    ) -> psycopg.Cursor[Any]:
        if not text.startswith("SELECT"):
            raise psycopg.errors.ReadOnlySqlTransaction(_READ_ONLY)
        if self._asked:
            raise RuntimeError("a second statement would see another moment than the first")
        self._asked = True
        return self._beginning(partial(super().execute, text, values, prepare=prepare))

    def executemany(self, text: str, rows: Iterable[Sequence[Any]]) -> Any:
        raise psycopg.errors.ReadOnlySqlTransaction(_READ_ONLY)

    later = executemany


def as_copy(text: str, rows: Sequence[Any]) -> str | None:
    """Return the COPY in place of an INSERT for each of many rows; None if they are few or the statement does more."""
    return _copy_of(text) if len(rows) >= COPIED else None


@cache
def _copy_of(text: str) -> str | None:
    match = _PLAIN_INSERT.fullmatch(text)
    if match is None:
        return None
    parameters = [f"${number}" for number, _ in enumerate(match[2].split(", "), start=1)]
    return f"COPY {match[1]} FROM STDIN" if match[3].split(", ") == parameters else None


@cache
def _table_of(text: str) -> str:
    """Return the table that a statement writes to: "INSERT INTO t …", "DELETE FROM t …" or "UPDATE t …"."""
    words = text.split(maxsplit=3)
    return words[1] if words[0] == "UPDATE" else words[2]


def _without_nul(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_nul(item) for item in value]
    return value.replace("\0", "\uffff") if isinstance(value, str) else value
