"""The SHA-256 of a run's file, before and after it is read: so a change meanwhile is found, whatever the times of the file
say. The first one of a large file is made by a thread, just ahead of the reader."""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from threading import Condition
from typing import BinaryIO, cast

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
        self._further = Condition()
        self._threads = ThreadPoolExecutor(1, "syncd-digest")
        self._beside = bool(this.ctx.processes) and self._source.size >= LARGE
        self._first = self._begin()
        self._second: Future[bytes] | None = None

    def open(self) -> BinaryIO:
        """Open the file. Of what is not in the digest yet a read waits until it is."""
        return cast("BinaryIO", _ReadAfter(self._source.path, self._wait_for))

    def _wait_for(self, end: int) -> None:
        with self._further:
            while self._done < min(end, self._source.size) and not self._first.done():
                self._further.wait(_NOTED)

    def identified(self, run: Run) -> Run:
        """Return the run with the digest and the size of the file."""
        return replace(run, sha256=self._result(self._first).hex(), size=self._source.size)

    def begin_check(self) -> None:
        """Begin to make the digest of the file that has been read, if a thread makes it."""
        if self._beside:
            self._second = self._begin()

    def check(self) -> None:
        """Raise FeedError ``file_changed`` if the file has another digest since it was read."""
        self._source.check_unchanged()
        if self._result(self._second or self._begin()) != self._result(self._first):
            raise self._source.changed()

    def _begin(self) -> Future[bytes]:
        """Make a digest: by the thread, or at once."""
        self._done = 0
        if self._beside:
            return self._threads.submit(sha256, self._source, self._on_block)
        made: Future[bytes] = Future()
        this, size = self._this, self._source.size
        with this.measured("hash"):
            made.set_result(sha256(self._source, lambda done: this.after_batch("hashing", done, size)))
        return made

    def _result(self, made: Future[bytes]) -> bytes:
        with self._this.measured("hash"):
            while wait([made], _NOTED).not_done:
                self._this.after_batch("hashing", self._done, self._source.size)
        return made.result()

    def close(self) -> None:
        self._closed = True
        self._threads.shutdown()

    def _on_block(self, done: int) -> None:
        with self._further:
            self._done = done
            self._further.notify()
        if self._closed:
            raise Stopped("stopped while hashing")


class _ReadAfter(io.FileIO):
    """A file of which ``wait_for`` is called with the offset behind what is read next."""

    def __init__(self, path: Path, wait_for: Callable[[int], None]) -> None:
        super().__init__(path)
        self._wait_for = wait_for

    def read(self, size: int | None = -1, /) -> bytes:
        self._wait_for(self.tell() + size if size is not None and size >= 0 else sys.maxsize)
        return super().read(-1 if size is None else size)


def sha256(source: SourceFile, on_block: Callable[[int], None]) -> bytes:
    """Return the SHA-256 of the file. ``on_block`` gets the number of bytes read so far and may raise to stop.

    Raises FeedError ``file_changed`` for a file that has grown.
    """
    digest = hashlib.sha256()
    done = 0
    with source.open() as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            done += len(block)
            on_block(done)
            if done > source.size:
                raise source.changed()
    return digest.digest()
