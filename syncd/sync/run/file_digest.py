"""The SHA-256 of a run's file, before and after it is read: so a change meanwhile is found, whatever the times of the file
say. Those of a large file are made by a thread: the first just ahead of the reader, the second behind it."""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Condition
from typing import BinaryIO, cast

from syncd.domain import Run
from syncd.sync.drop_file import DropFile
from syncd.sync.run.context import FileRun, Stopped

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
        #: How far the file was read in order, how far of that the second digest may be made, and which one it is.
        self._read = self._may_check = self._check = 0
        self._further = Condition()
        self._threads = ThreadPoolExecutor(1, "syncd-digest")
        self._beside = bool(this.ctx.processes) and self._source.size >= LARGE
        self._first = self._begin()
        self._second: Future[bytes] | None = None

    def open(self) -> BinaryIO:
        """Open the file. Of what is not in the digest yet a read waits until it is."""
        return cast("BinaryIO", _OpenedFile(self._source.path, self._wait_for, self._note_read))

    def _wait_for(self, end: int) -> None:
        with self._further:
            while self._done < min(end, self._source.size) and not self._first.done():
                self._further.wait(_NOTED)

    def _note_read(self, start: int, end: int) -> None:
        if start != self._read:  # not in order, or once more: what was checked before has to be checked again
            self._read = 0
            self._let_check(0)
            self._second = None
        if start == self._read:
            self._read = end

    def identified(self, run: Run) -> Run:
        """Return the run with the digest and the size of the file."""
        return replace(run, sha256=self._result(self._first).hex(), size=self._source.size)

    def check_behind(self) -> None:
        """Let the thread make the second digest of what has been read so far. It needs a core that nothing else uses.

        Each byte is added to it after all bytes were added to the first one, and after it was read. So if both are equal,
        what was read is what the file was at the moment between them."""
        self._begin_check(self._read)

    def begin_check(self) -> None:
        """Let the thread make the rest of the second digest: the file has been read."""
        self._begin_check(self._source.size)

    def check(self) -> None:
        """Raise FeedError ``file_changed`` if the file has another digest since it was read."""
        self._source.check_unchanged()
        self.begin_check()
        if self._result(self._second or self._begin()) != self._result(self._first):
            raise self._source.changed()

    def close(self) -> None:
        self._closed = True
        self._let_check(0)
        self._threads.shutdown()

    def _begin(self) -> Future[bytes]:
        """Make a digest: by the thread, or at once."""
        if self._beside:
            return self._threads.submit(sha256, self._source, self._go_on)
        made: Future[bytes] = Future()
        this, size = self._this, self._source.size
        with this.measured("hash"):
            made.set_result(sha256(self._source, lambda done: this.after_batch("hashing", done, size)))
        return made

    def _begin_check(self, end: int) -> None:
        if not self._beside:
            return
        if self._second is None:
            self._check += 1
            self._second = self._threads.submit(self._digest_behind, self._check)
        self._let_check(end)

    def _let_check(self, end: int) -> None:
        with self._further:
            self._may_check = end
            self._further.notify()

    def _result(self, made: Future[bytes]) -> bytes:
        with self._this.measured("hash"):
            while wait([made], _NOTED).not_done:
                self._this.after_batch("hashing", self._done, self._source.size)
        return made.result()

    def _go_on(self, done: int) -> None:
        with self._further:
            self._done = done
            self._further.notify()
        if self._closed:
            raise Stopped("stopped while hashing")

    def _digest_behind(self, check: int) -> bytes:
        self._wait_behind(check, 0)
        return sha256(self._source, partial(self._wait_behind, check))

    def _wait_behind(self, check: int, done: int) -> None:
        """Wait until the next block may be checked."""
        end = min(done + _BLOCK, self._source.size)
        with self._further:
            self._further.wait_for(lambda: self._may_check >= end or self._closed or self._check != check)
        if self._closed or self._check != check:
            raise Stopped("stopped while hashing")


class _OpenedFile(io.FileIO):
    """A file of which ``wait_for`` is called with the offset behind what is read next, and ``note_read`` with the
    offsets of what was read."""

    def __init__(
        self, path: Path, wait_for: Callable[[int], None], note_read: Callable[[int, int], None]
    ) -> None:
        super().__init__(path)
        self._wait_for, self._note_read = wait_for, note_read

    def read(self, size: int | None = -1, /) -> bytes:
        start = self.tell()
        self._wait_for(start + size if size is not None and size >= 0 else sys.maxsize)
        data = super().read(-1 if size is None else size)
        self._note_read(start, start + len(data))
        return data


def sha256(source: DropFile, on_block: Callable[[int], None]) -> bytes:
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
