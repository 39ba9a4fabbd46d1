"""Copies the write-ahead log into the store's file (a checkpoint), beside the writer instead of within its commits.

By itself SQLite copies a long log back within the commit that finds it long: tens of milliseconds of writing at random
places and a flush, during which all other writes wait. Here a thread with a connection of its own copies while the
writer goes on. The writer copies what was written meanwhile, between two commits: the next write begins the log
afresh only when nothing is left, so with the thread alone the log would grow as long as writes come without a pause.
If the thread fails, SQLite's own way remains, for a log of ``LONGEST_LOG`` pages.

What is durable when does not change: a commit is on disk in the log, however much of that has been copied.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from syncd.errors import StoreError
from syncd.store.database import Checkpoints, Session
from syncd.store.sqlite.errors import DRIVER_ERRORS

#: Rows written, and commits, after which the log is copied. An update of a job writes two rows, and two to three
#: pages of the log. A large write fills the log at once, but half of its pages are in it again after the next.
ROWS, COMMITS = 1_000, 4
#: The thread goes over the log again while it copies more pages than this, but at most this many times.
SHORT, ROUNDS = 64, 4
#: Commits after which the writer tries to leave nothing uncopied; a reader that uses the log may prevent it.
TRIES = 4


class SqliteCheckpoints(Checkpoints):
    """For the one session that writes. ``connect`` opens a connection for the thread."""

    def __init__(self, writer: Session, connect: Callable[[], Session]) -> None:
        self._writer, self._connect = writer, connect
        self._thread: threading.Thread | None = None
        self._copied = writer.mark()
        self._commits = self._length = self._tries = 0

    def are_due(self) -> bool:
        self._commits += 1
        if self._thread is not None:
            return not self._thread.is_alive()
        if self._commits >= COMMITS and self._writer.mark() - self._copied >= ROWS:
            self._thread = threading.Thread(target=self._copy_most, name="syncd-checkpoint")
            self._thread.start()
        return False

    def close(self) -> None:
        """Wait for the thread, and copy all of the log if no other process reads it."""
        if self._thread is not None:
            self._thread.join()
        with suppress(Exception):  # an optimisation: the log is as durable as the file
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _copy_most(self) -> None:
        with suppress(StoreError, *DRIVER_ERRORS):
            session, copied = self._connect(), 0
            try:
                for _ in range(ROUNDS):
                    before, copied = copied, _checkpoint(session)
                    if copied - before <= SHORT:
                        break
            finally:
                session.close()

    def copy(self) -> None:
        """Copy the rest. If the log is shorter than last time, a write began it afresh: nothing was left."""
        before, self._tries = self._length, self._tries + 1
        with suppress(*DRIVER_ERRORS):
            self._length = _checkpoint(self._writer)
        if self._length < before or self._tries == TRIES:
            self._thread, self._copied = None, self._writer.mark()
            self._commits = self._length = self._tries = 0


def _checkpoint(session: Session) -> int:
    """Copy what no reader needs any more; return the number of pages of the log that are copied now, in all."""
    _, _, copied = session.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return int(copied)
