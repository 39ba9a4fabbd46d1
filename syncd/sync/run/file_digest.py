"""The SHA-256 of a run's file, before and after it is read. The first one of a large file is made by a thread while the file is
read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace

from syncd.domain import Run
from syncd.sync.run.context import FileRun, SourceFile, Stopped

#: Bytes from which on a thread makes the digest, where the file is read with the help of worker processes.
LARGE = 16 << 20
_BLOCK = 1 << 20
#: Seconds between two notes of how far the digest is.
_NOTED = 0.1


class FileDigest:
    """The digest of one file. Call ``close`` in any case.

    To make one, and each method, may raise FeedError ``file_changed``, OSError and Stopped."""

    def __init__(self, this: FileRun) -> None:
        self._this, self._source = this, this.source
        self._done, self._closed = 0, False
        self._threads = ThreadPoolExecutor(1, "syncd-digest")
        self._made: Future[bytes] = Future()
        if this.ctx.processes and self._source.size >= LARGE:
            self._made = self._threads.submit(sha256, self._source, self._on_block)
        else:
            self._made.set_result(self._make())

    def identified(self, run: Run) -> Run:
        """Return the run with the digest and the size of the file."""
        with self._this.measured("hash"):
            while wait([self._made], _NOTED).not_done:
                self._this.after_batch("hashing", self._done, self._source.size)
            return replace(run, sha256=self._made.result().hex(), size=self._source.size)

    def check(self) -> None:
        """Raise FeedError ``file_changed`` if the file has another digest now. Its times do not always show a change: a
        writer can put back that of the change, and a memory map changes a file without any."""
        self._source.check_unchanged()
        if self._make() != self._made.result():
            raise self._source.changed()

    def close(self) -> None:
        self._closed = True
        self._threads.shutdown()

    def _make(self) -> bytes:
        this, size = self._this, self._source.size
        with this.measured("hash"):
            return sha256(self._source, lambda done: this.after_batch("hashing", done, size))

    def _on_block(self, done: int) -> None:
        self._done = done
        if self._closed:
            raise Stopped("stopped while hashing")


def sha256(source: SourceFile, on_block: Callable[[int], None]) -> bytes:
    """Return the SHA-256 of the file. ``on_block`` gets the number of bytes read so far and may raise to stop.

    Raises FeedError ``file_changed`` for a file that has grown.
    """
    digest = hashlib.sha256()
    done = 0
    with source.path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            done += len(block)
            on_block(done)
            if done > source.size:
                raise source.changed()
    return digest.digest()
