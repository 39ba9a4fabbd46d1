"""Folds the write-ahead log into the store's file, beside the writer instead of within its commits.

SQLite's own way is that the commit which finds the log long copies it back: tens of milliseconds of writing at
random places and a flush, for which everybody waits who writes just then. Here a thread with a connection of its
own copies while the writer goes on. What came meanwhile the writer copies itself, between two commits: only when
nothing is left does the next write begin the log afresh, so with the thread alone it would grow for as long as
somebody writes. Should the thread fail, SQLite's way is still there, for a log of ``engine.LONGEST_LOG`` pages.

What is durable when is not touched: a commit is on disk in the log, however far that has been copied.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from syncd.errors import StoreError
from syncd.store.engine import DRIVER_ERRORS, Session

#: Rows written, and commits, after which the log is folded. An update of a job writes two rows, and two to three
#: pages of the log. A large write fills the log at once, but half of its pages stand there again after the next.
ROWS, COMMITS = 1_000, 4
#: The thread goes over the log again while it copies more pages than this, but so many times at most.
SHORT, ROUNDS = 64, 4
#: So many commits the writer tries to leave nothing uncopied; a reader who looks at the log may prevent it.
TRIES = 4


class Folder:
    """For the one writer, ``session``: not for other threads. ``connect`` opens a connection for the thread."""

    def __init__(self, session: Session, connect: Callable[[], Session]) -> None:
        self._session, self._connect = session, connect
        self._thread: threading.Thread | None = None
        self._folded = session.mark()
        self._commits = self._length = self._tries = 0

    def after_commit(self, tell: Callable[[], None]) -> None:
        """``tell`` gives those who waited for the commit their answers; it is called before this takes time."""
        self._commits += 1
        if self._thread is None:
            if self._commits >= COMMITS and self._session.mark() - self._folded >= ROWS:
                self._thread = threading.Thread(target=self._copy_most, name="syncd-fold")
                self._thread.start()
        elif not self._thread.is_alive():
            tell()
            self._copy_rest()

    def close(self) -> None:
        """Wait for the thread."""
        if self._thread is not None:
            self._thread.join()

    def _copy_most(self) -> None:
        with suppress(StoreError, *DRIVER_ERRORS):
            session, copied = self._connect(), 0
            try:
                for _ in range(ROUNDS):
                    before, copied = copied, _fold(session)
                    if copied - before <= SHORT:
                        break
            finally:
                session.close()

    def _copy_rest(self) -> None:
        """The log is shorter than last time: a write began it afresh, so nothing had been left."""
        before, self._tries = self._length, self._tries + 1
        with suppress(*DRIVER_ERRORS):
            self._length = _fold(self._session)
        if self._length < before or self._tries == TRIES:
            self._thread, self._folded = None, self._session.mark()
            self._commits = self._length = self._tries = 0


def _fold(session: Session) -> int:
    """Copy what no reader still needs; the pages of the log that are copied now, in all."""
    return int(session.driver.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[2])
