"""What the readers of all formats have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator

from syncd.domain import FeedLimits
from syncd.errors import FeedError, Problem
from syncd.feeds.readers.records import Format, Known, Record
from syncd.feeds.readers.source import Utf8Source


class BaseReader(ABC):
    """The attributes of a FeedReader, and the count of its records."""

    format: Format

    def __init__(self, source: Utf8Source, limits: FeedLimits, known: Known | None) -> None:
        self.declared: int | None = None
        self.header: list[str] | None = None
        self.mended = False
        self.withheld: str | None = None
        self.bytes_read = 0
        self.slicing = False
        self._source, self._limits, self._known = source, limits, known
        self._number = self._before = 0
        self._line = 1

    @property
    def source(self) -> Utf8Source:
        """The bytes that are read: their encoding, and the start of the file in UTF-8."""
        return self._source

    @property
    def number(self) -> int:
        """The number of the last record."""
        return self._number

    def count_from(self, number: int) -> None:
        """Number the records on from ``number``, the last one before this reader."""
        self._number = self._before = number

    def member_of(self, number: int) -> str | None:
        """Return the file of the archive that the record with this number came from; None if there is one file only."""
        return None

    @abstractmethod
    def __iter__(self) -> Iterator[Record]: ...

    def again(self, data: bytes, line: int) -> Record | None:
        """See FeedReader: only XML comes in slices."""
        return None

    def _chunks(self, skip: int = 0) -> Iterator[bytes]:
        """The file in UTF-8, without its first ``skip`` bytes."""
        for chunk in self._source.chunks():
            self.bytes_read = self._source.bytes_read
            yield chunk[skip:] if skip else chunk
            skip = max(0, skip - len(chunk))

    def _ask(self, digests: list[bytes]) -> Collection[bytes]:
        """Those of ``digests`` whose records are known."""
        return frozenset(self._known(digests)) if self._known is not None and digests else ()

    def _next(self) -> int:
        """The number of the record that comes now. Raise FeedError ``limit_exceeded``."""
        self._number += 1
        if self._number > self._limits.rows:
            detail = f"more than {self._limits.rows} rows ([limits] rows)"
            raise FeedError("limit_exceeded", detail, line=self._line)
        return self._number


def too_long(size: int, limits: FeedLimits) -> Problem | None:
    """Return the problem of a record of ``size`` bytes, if that is more than a record may have."""
    if size <= limits.record:
        return None
    return Problem("", "too_long", f"the record is longer than {limits.record} bytes ([limits] record)", size)
