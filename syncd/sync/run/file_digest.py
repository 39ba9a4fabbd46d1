"""The SHA-256 of a run's file: made before it is read, and again before anything is applied. So a change meanwhile is found,
whatever the times of the file say."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from syncd.sync.drop_file import DropFile
from syncd.sync.run.context import FileRun

_BLOCK = 1 << 20


def digest_of(this: FileRun) -> str:
    """Return the SHA-256 of the run's file in hexadecimal digits. Raises FeedError ``file_changed``, OSError, Stopped."""
    size = this.source.size
    with this.measured("hash"):
        return sha256(this.source, lambda done: this.after_batch("hashing", done, size)).hex()


def check_unchanged(this: FileRun, sha256: str | None) -> None:
    """Raise FeedError ``file_changed`` if the file is not what it was when its digest was made, and what digest_of raises."""
    this.source.check_unchanged()
    if digest_of(this) != sha256:
        raise this.source.changed()


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
