"""The store: opens the database, runs functions in transactions, closes it.

Any number of threads and event loops may use one Store. Reads run on connections of their own and see one consistent moment; they
never wait for a write, nor a write for them. Writes go through one queue (``writer``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TypeVar
from zoneinfo import ZoneInfo

from syncd.domain import Location, Moment
from syncd.errors import StoreError
from syncd.store import places, schema
from syncd.store.database import Database, Session, translating
from syncd.store.sqlite import SqliteDatabase, backups
from syncd.store.transactions import Readers, Tx
from syncd.store.writer import Writer

T = TypeVar("T")

#: How the address of a store on PostgreSQL begins.
POSTGRES = ("postgresql://", "postgres://")
#: Seconds for which a request counts. Those of an idle service come one by one, and are quick all the same.
REQUEST_SECONDS = 0.2
#: Writes that may wait; further ones are refused with 503. Ten thousand are some seconds of work for the disk.
MAX_WAITING_WRITES = 10_000


def utc_now() -> datetime:
    return datetime.now(UTC)


def database_at(url: str, *, lock_url: str = "") -> Database:
    """Return the database that ``url`` names: ``sqlite:///relative``, ``sqlite:////absolute`` or ``postgresql://…``.
    ``lock_url`` is for ``PostgresDatabase``. Raises StoreError for any other."""
    if url.startswith(POSTGRES):
        from syncd.store.postgres import PostgresDatabase  # noqa: PLC0415 - most stores do without

        return PostgresDatabase(url, lock_url)
    path = url.removeprefix("sqlite:///")
    if path in (url, "", ":memory:"):
        raise StoreError(
            "this is not the address of a store; write sqlite:///PATH or postgresql://USER@HOST/DATABASE"
        )
    return SqliteDatabase(Path(path))


class Store:
    """Open one with ``Store.open`` and close it, or use it as a context manager. ``read``, ``read_async`` and ``look_up`` are
    those of ``Readers``; ``write``, ``begin_write`` and ``write_async`` those of ``Writer``. ``now()`` is the present moment."""

    #: The most rows that a run writes at once, about 40 ms, and in one of the ``steps`` of that, about 2 ms.
    MAX_WRITE_ROWS, MAX_STEP_ROWS = 1000, 50

    def __init__(self, database: Database, clock: Callable[[], Moment], queue_limit: int) -> None:
        """Not for callers: see ``open``."""
        self.database, self.now = database, clock
        self._places: dict[tuple[str, str | None], Location] = {}
        self._closed = False
        self._session = database.writer()
        try:
            with translating(database.errors, database.translated):
                tx = self._tx(self._session)
                schema.bring_up(database, self._session, tx)
                places.load_shipped(self._session, tx)
                database.index.prepare(self._session)
        except BaseException:
            self._session.close()
            raise
        self._writer = Writer(self._session, database, self._tx, queue_limit)
        self._readers = Readers(database, self._tx)
        self._last_request = -REQUEST_SECONDS
        self.read, self.read_async = self._readers.read, self._readers.read_async
        self.look_up = self._readers.look_up
        self.write, self.begin_write = self._writer.write, self._writer.begin_write
        self.write_async = self._writer.write_async

    @classmethod
    def open(
        cls,
        url: str,
        *,
        clock: Callable[[], datetime] = utc_now,
        timezone: ZoneInfo,
        exclusive: bool = False,
        queue_limit: int = MAX_WAITING_WRITES,
        lock_url: str = "",
    ) -> Store:
        """Open the store at ``url`` (see ``database_at``, also for ``lock_url``), made or migrated first where needed.

        ``clock`` gives an aware UTC instant; ``timezone`` is that of its date. ``exclusive``: own the store (the daemon);
        commands write beside the daemon. More than ``queue_limit`` waiting writes are refused. Before a store in a file is
        migrated, a backup of it is written beside it, and nobody else may own it: a daemon that runs may be of the older
        program. Raises StoreInUse, StoreTooNew, StoreBusy, StoreError.
        """

        def moment() -> Moment:
            instant = clock()
            return Moment(instant, instant.astimezone(timezone).date(), timezone)

        database = database_at(url, lock_url=lock_url)
        # to open a file as a writer changes it, so it is asked for its version before
        file = database.path if isinstance(database, SqliteDatabase) else None
        version = database.version() if file is not None else None
        schema.refuse_newer(version)
        migrates = file is not None and version not in (None, schema.HEAD)
        if exclusive or migrates:
            database.lock()
        try:
            if file is not None and migrates:
                at = clock()
                target = file.with_name(f"{file.name}.before-migration-{at:%Y%m%dT%H%M%S.%fZ}")
                backups.write(file, target, at)
            store = cls(database, moment, queue_limit)
        except BaseException:
            database.unlock()
            raise
        if not exclusive:
            database.unlock()
        return store

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish the writes that wait, and close all connections. Twice is fine."""
        if self._closed:
            return
        self._closed = True
        self._readers.refuse()
        self._writer.close()
        self._readers.close()
        self._session.close()
        self.database.unlock()

    def _tx(self, session: Session) -> Tx:
        return Tx(session, self.database, self.now, self._places)

    # -- about the store ---------------------------------------------------------------------------------

    def feed_lock(self, feed: str) -> AbstractContextManager[bool]:
        """Return the lock under which one process at a time changes the state of the feed with this name, as a context manager.
        Its value is False while another process has the lock. Raises OSError, StoreError."""
        return self.database.named_lock(feed)

    @property
    def waiting_writes(self) -> int:
        return self._writer.waiting

    @property
    def waiting_requests(self) -> int:
        """The number of waiting writes that an event loop waits for: a long write ends soon where there are some."""
        return self._writer.requests

    def note_request(self) -> None:
        """Note that a request of a client came. For any number of threads."""
        self._last_request = monotonic()

    def steps(self, rows: Sequence[T]) -> Iterator[Sequence[T]]:
        """Yield the rows of a long write in steps: all of them, or fewer if requests wait for the writer by then."""
        for start in range(0, len(rows), self.MAX_STEP_ROWS):
            yield rows[start : start + self.MAX_STEP_ROWS]
            if self.waiting_requests:
                return

    @property
    def recent_requests(self) -> bool:
        """Return whether requests of clients are being answered: a run does well to leave the processor to them."""
        return monotonic() - self._last_request < REQUEST_SECONDS or self.waiting_requests > 0

    # -- the search index --------------------------------------------------------------------------------

    def index_some(self) -> bool:
        """Bring some new and changed jobs into the search index (``SearchIndex.step``); return whether there may be more."""
        return self.database.index.step(self.read, self.write)
