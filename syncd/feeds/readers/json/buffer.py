"""The bytes of a JSON file that are read but not used yet, and their place in the file."""

from __future__ import annotations

from collections.abc import Iterator

import ijson

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.json.containers import RecordContainer
from syncd.feeds.readers.json.values import bad_text, text_before_cut

_STEP = 1 << 20
_BLANK = b" \t\r\n"


class JsonBuffer:
    """``data`` begins in ``line``, at ``offset`` bytes of the text in UTF-8. ``chunks`` is the rest of the file.

    Data is tried again with more behind it; beyond ``check_from`` bytes it is first checked that it can be JSON."""

    def __init__(self, chunks: Iterator[bytes], limits: FeedLimits, check_from: int) -> None:
        self._chunks, self._limits, self._check_from = chunks, limits, check_from
        self.data = b""
        self.line, self.offset = 1, 0

    def add_chunk(self) -> bool:
        """Add what is read next. Return False at the end of the file."""
        chunk = next(self._chunks, None)
        if chunk is None:
            return False
        self.data += chunk
        return True

    def add_more(self, container: RecordContainer) -> None:
        """Add at least as much again to data that has no whole record, so that a long one is not tried over and over.

        Raise FeedError where the data is wrong, or too long, or the file ends."""
        if len(self.data) > self._check_from:
            self._check(container)
        if len(self.data) > self._limits.text:
            detail = f"a record of more than {self._limits.text} bytes ([limits] text)"
            raise self.fault("limit_exceeded", detail)
        more: list[bytes] = []
        size = 0
        for chunk in self._chunks:
            more.append(chunk)
            size += len(chunk)
            if size >= min(len(self.data), self._limits.text - len(self.data)):
                break
        if not more:
            self._check(container)
            raise self.fault("truncated", f"the file ends before its {container.called} of records does")
        self.data = b"".join((self.data, *more))

    def drop(self, count: int, line: int | None = None) -> None:
        """Drop the first ``count`` bytes, which are used. ``line`` is the line of what follows, if it is known."""
        self.line = self.line + self.data.count(b"\n", 0, count) if line is None else line
        self.offset += count
        self.data = self.data[count:]

    def skip_blank(self) -> None:
        if self.data[:1].isspace():
            self.drop(len(self.data) - len(self.data.lstrip(_BLANK)))

    def push_back(self, byte: bytes) -> None:
        """Put a byte that was dropped before the data again."""
        self.data = byte + self.data
        self.offset -= 1

    def text(self) -> str:
        """Return the data as text, but for a character that its end cuts in two. Raise FeedError ``bad_encoding``."""
        try:
            return text_before_cut(self.data)
        except UnicodeDecodeError as error:
            raise bad_text(error, self.offset) from None

    def fault(self, code: str, detail: str) -> FeedError:
        return FeedError(code, detail, line=self.line, offset=self.offset)

    def _check(self, container: RecordContainer) -> None:
        """Raise FeedError if no end could make the data the start of what holds the records."""
        events = ijson.sendable_list()
        parser = ijson.basic_parse_coro(events)
        try:
            parser.send(container.ends[0])
            for at in range(0, len(self.data), _STEP):
                parser.send(self.data[at : at + _STEP])
                del events[:]
        except (ijson.JSONError, UnicodeDecodeError, StopIteration) as error:
            raise self.fault("not_well_formed", f"not JSON: {error}".splitlines()[0]) from None
