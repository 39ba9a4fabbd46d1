"""The records of a CSV, and the cells of one, as csv.reader finds them, but in little more memory than their bytes take.

csv.reader wants lines, and takes four bytes for each character of a cell and an object for each line of it. So a record
that is far too long would cost many times its size."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

#: Most records that go on in a chunk end within this many bytes: then the chunk is not copied.
_SOON = 1 << 14
_LINE_END = re.compile(rb"\r\n|[\r\n]")
#: The start of a cell in quotes. A doubled quote ends one such part and begins the next.
_QUOTED = rb'(?:"[^"]*+")*+'


class RecordSplitter:
    """Separates the records of a file that comes in chunks. A chunk must not end within a character or between CR and LF.

    ``waiting`` is the size of the record whose end is still to come, in bytes; ``quoted`` says whether a quote is open in it.
    Each byte is looked at once."""

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter.encode()
        mark, rest = re.escape(self._delimiter), _unquoted(self._delimiter)
        cell = rb'%b(?!")%b' % (_QUOTED, rest)
        ending = rb'(%b)(?:(")|(%b)(\r\n|[\r\n])?+)' % (_QUOTED, rest)
        self._match = re.compile(rb"(?:%b%b)*+%b" % (cell, mark, ending)).match
        self._parts: list[bytes] = []
        #: The shortest beginning of a record that has the same meaning for what follows as all that waits.
        self._state = b""
        self.waiting = 0

    @property
    def quoted(self) -> bool:
        return self._state == b'"'

    def next(self, data: bytes, at: int) -> tuple[bytes, int]:
        """Return the record that ends in ``data[at:]``, with its line end, and where it ends. Where none ends, return b"" and
        the end of ``data``, all of which then waits."""
        end = self._end(data, at)
        if end is None:
            self._parts.append(data[at:])
            self.waiting += len(data) - at
            return b"", len(data)
        self._parts.append(data[at:end])
        return self.take(), end

    def take(self) -> bytes:
        """Return what waits."""
        parts, self._parts = self._parts, []
        self._state, self.waiting = b"", 0
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _end(self, data: bytes, at: int) -> int | None:
        state = self._state
        if at == 0 and not self.quoted and b'"' not in data:
            line_end = _LINE_END.search(data)
            self._state = b"" if data.endswith(self._delimiter) else b"x"
            return line_end.end() if line_end else None
        found = self._match(state + data[:_SOON], 0) if state else None
        if found is None or found[4] is None or found.end() >= _SOON:
            found = self._match(state + data if state else data, at)
        assert found is not None, "every part of the pattern may be empty"
        if found[4] is not None:
            return found.end() - len(state)
        self._state = b'"' if found[2] else b"x" if found[3] else b'""' if found[1] else b""
        return None


def cells_of(record: bytes, delimiter: str, most: int) -> Iterator[str]:
    """Yield the first ``most`` cells of one record. What follows them is one more cell, as it stands in the file."""
    match = _cell(delimiter)
    at = 0
    for _ in range(most):
        found = match(record, at)
        assert found is not None, "every part of the pattern may be empty"
        quoted, end = found.span(1)
        cell = record[quoted + 1 : end - 1].replace(b'""', b'"') + found[2] if end > quoted else found[2]
        yield cell.decode()
        if found[3] is None:
            return
        at = found.end()
    yield record[at:].decode()


def is_blank(record: str, delimiter: str) -> bool:
    """Return whether no cell of one record has more than white space in it."""
    return _blank(delimiter)(record) is not None


def _unquoted(delimiter: bytes) -> bytes:
    """The pattern of the end of a cell, where quotes have no meaning."""
    mark = re.escape(delimiter)
    return rb"[^%b\r\n]*+" % mark if len(delimiter) == 1 else rb"(?:(?!%b)[^\r\n])*+" % mark


@lru_cache(maxsize=8)
def _cell(delimiter: str) -> Callable[[bytes, int], re.Match[bytes] | None]:
    raw = delimiter.encode()
    return re.compile(rb"(%b)(%b)(%b)?+" % (_QUOTED, _unquoted(raw), re.escape(raw))).match


@lru_cache(maxsize=8)
def _blank(delimiter: str) -> Callable[[str], re.Match[str] | None]:
    mark = re.escape(delimiter)
    return re.compile(rf'(?:[\s{mark}]++|(?:(?<={mark})|\A)"\s*+"(?=[\s{mark}]|\Z))*+\Z').match
