"""Compressed files, unpacked on the way to their reader: never to disk, little at a time, and within limits."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, Protocol
from zipfile import BadZipFile

from syncd.domain import FeedLimits
from syncd.errors import FeedError

#: Opens the file from its start, as a stream that can seek.
Opener = Callable[[], BinaryIO]

GZIP = b"\x1f\x8b"
#: Up to this size the ratio does not count: it does no harm, and the smallest files shrink the most.
_HARMLESS = 1 << 20
_STEP = 1 << 14


class Stream(Protocol):
    """The part of a file object that a reader needs. ``read`` returns as much as is asked for, except at the end."""

    def read(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


class Unpacked:
    """The content of a compressed stream as a Stream.

    ``place`` returns how far the compressed file was read, in bytes; ``before`` is the size of the other members of the
    same archive so far. Raise FeedError ``limit_exceeded``, ``truncated``, ``bad_archive``."""

    def __init__(
        self,
        content: Stream,
        place: Callable[[], int],
        limits: FeedLimits,
        *,
        before: int = 0,
    ) -> None:
        self._content, self._place, self._limits = content, place, limits
        self._closing: Callable[[], None] | None = None
        self.expanded = before

    @property
    def consumed(self) -> int:
        """Bytes of the compressed file that were read so far."""
        return self._place()

    def read(self, size: int, /) -> bytes:
        parts: list[bytes] = []
        while size > 0 and (data := self._step(min(size, _STEP))):
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

    def _step(self, size: int) -> bytes:
        """A little at a time: a library reads as much of the file as is asked for of the content."""
        with unpacking():
            data = self._content.read(size)
        self.expanded += len(data)
        check_expansion(self.expanded, self.consumed, self._limits)
        return data

    def close(self) -> None:
        self._content.close()
        if self._closing is not None:
            self._closing()

    def close_too(self, closing: Callable[[], None]) -> None:
        """Has ``closing`` called when this is closed."""
        self._closing = closing


def check_expansion(expanded: int, packed: int, limits: FeedLimits) -> None:
    """Raise FeedError ``limit_exceeded`` if ``packed`` bytes have become more than they may."""
    if expanded > limits.file:
        detail = f"the archive expands to more than {limits.file} bytes"
        raise FeedError("limit_exceeded", f"{detail} ([limits] file)")
    if expanded > _HARMLESS and expanded > limits.ratio * packed:
        detail = f"the archive expands to more than {limits.ratio} times its size"
        raise FeedError("limit_exceeded", f"{detail} ([limits] ratio)")


def gunzip(opener: Opener, limits: FeedLimits) -> Callable[[], Unpacked]:
    """Return a function that opens the content of the gzip file that ``opener`` opens."""

    def open_content() -> Unpacked:
        raw = opener()
        stream = Unpacked(gzip.GzipFile(fileobj=raw), raw.tell, limits)
        stream.close_too(raw.close)
        return stream

    return open_content


@contextmanager
def unpacking() -> Iterator[None]:
    """Raise what the libraries say of a damaged archive as FeedError ``truncated`` or ``bad_archive``."""
    try:
        yield
    except EOFError:
        raise FeedError("truncated", "the archive ends before its content does") from None
    except gzip.BadGzipFile as error:
        junk = str(error).startswith("Not a gzipped file")  # it began as one
        detail = "something else follows the gzip data" if junk else f"damaged gzip data: {error}"
        raise FeedError("bad_archive", detail) from None
    except (BadZipFile, zlib.error, struct.error, NotImplementedError, OverflowError, ValueError) as error:
        raise FeedError("bad_archive", f"a damaged archive: {error}") from None
