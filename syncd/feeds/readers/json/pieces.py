"""What contains the records of a JSON file, an array or an object whose members they are, and the buffer they are cut from.

The names of such members are often ids (``{"jobs": {"123": {…}, "456": {…}}}``), so a record has its name as ``@key``. A
*piece* is what is cut out of the file for one record: an element, or a name with its value."""

from __future__ import annotations

import json
import re
from codecs import utf_8_decode
from collections.abc import Callable, Iterator
from typing import Any

import ijson
import msgspec

from syncd.domain import FeedLimits
from syncd.errors import FeedError, Problem
from syncd.feeds.readers.json.value_ends import EndFinder, end_of_scalar
from syncd.feeds.readers.json.values import (
    UNREADABLE_NUMBER,
    RefusedValue,
    bad_text,
    objects,
    record_value,
    refuse_surrogate,
    scan,
)
from syncd.feeds.readers.source import grown, over_limit

#: The name under which a record that was a member of an object has its key.
KEY = "@key"

_NAME = re.compile(rb'("(?:[^"\\]|\\.)*+")[ \t\r\n]*+:[ \t\r\n]*+', re.DOTALL)
_TEXT_NAME = re.compile(r'"(?:[^"\\]|\\.)*+"[ \t\r\n]*+:[ \t\r\n]*+', re.DOTALL)
_BETWEEN = re.compile(rb"[, \t\r\n]*+")
_BLANK = b" \t\r\n"
_STEP = 1 << 20
#: What the fast parser says of the beginning of a value. (If it says something else, the slow one has to look.)
_CUT_OFF = "Input data was truncated"
_skim: Callable[[bytes | memoryview], msgspec.Raw] = msgspec.json.Decoder(msgspec.Raw).decode
_elements: Callable[[bytes], list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw]).decode
_members: Callable[[bytes], dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class RecordArray:
    """An array of records. ``called`` is the word for it in messages, ``ends`` how it begins and ends, ``first`` how a
    piece begins whose value is an object."""

    called = "array"
    ends = (b"[", b"]")
    first = "{"

    def pieces(self, data: bytes, end: int) -> list[bytes] | None:
        """Return all pieces of ``data[:end]``, which ends with one; None where they cannot be separated in one go. Raise
        MsgspecError, RecursionError where it is not a sequence of pieces."""
        return list(map(bytes, _elements(b"".join((b"[", memoryview(data)[:end], b"]")))))

    def end_of_piece(self, text: str, at: int) -> int:
        """Return where the piece that begins at ``at`` ends. Raise ValueError or RecursionError if it is not whole."""
        return scan(text, at)[1]

    def value_at(self, data: bytes) -> int | None:
        """Return where the value begins in the piece that ``data`` begins with; None if it is still to come."""
        return 0 if data else None

    def values(self, pieces: list[bytes], limits: FeedLimits) -> list[dict[str, Any]] | None:
        """Return the records, decoded in one go; None if any of them needs the care of ``value``."""
        return objects(pieces, limits)

    def value(self, piece: bytes, limits: FeedLimits) -> tuple[dict[str, Any] | None, Problem | None]:
        """Return the record, or what is wrong with it. Raise ValueError where it is not JSON at all."""
        return record_value(piece, limits)


class RecordObject(RecordArray):
    """An object of records."""

    called = "object"
    ends = (b"{", b"}")
    first = '"'

    def pieces(self, data: bytes, end: int) -> list[bytes] | None:
        """None where a name occurs twice: the parser keeps only one of the two."""
        found: list[bytes] = []
        at = 0
        for raw in map(bytes, _members(b"".join((b"{", memoryview(data)[:end], b"}"))).values()):
            at = _end(_BETWEEN, data, at)
            start = _end(_NAME, data, at)
            if start == at or not data.startswith(raw, start):
                return None
            found.append(data[at : start + len(raw)])
            at = start + len(raw)
        return found if at == end else None

    def end_of_piece(self, text: str, at: int) -> int:
        name = _TEXT_NAME.match(text, at)
        if name is None:
            raise ValueError("no name of a member")
        return scan(text, name.end())[1]

    def value_at(self, data: bytes) -> int | None:
        name = _NAME.match(data)
        return name.end() if name and name.end() < len(data) else None

    def values(self, pieces: list[bytes], limits: FeedLimits) -> list[dict[str, Any]] | None:
        named = list(map(_split, pieces))
        found = objects([value for _, value in named], limits)
        if found is None:
            return None
        try:
            return [_keyed(name, value) for (name, _), value in zip(named, found, strict=True)]
        except ValueError:
            return None

    def value(self, piece: bytes, limits: FeedLimits) -> tuple[dict[str, Any] | None, Problem | None]:
        name, raw = _split(piece)
        value, problem = record_value(raw, limits)
        if value is None:
            return None, problem
        try:
            return _keyed(name, value), problem
        except RefusedValue as refusal:
            return None, Problem("", refusal.code, refusal.detail)


def _end(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    found = pattern.match(data, at)
    return found.end() if found else at


def _split(piece: bytes) -> tuple[bytes, bytes]:
    """The name as JSON text, and the value."""
    name = _NAME.match(piece)
    if name is None:
        raise ValueError("no name of a member")
    return name[1], piece[name.end() :]


def _keyed(name: bytes, value: dict[str, Any]) -> dict[str, Any]:
    """The record with its key, unless it has one (a corrected record does). Raise RefusedValue, ValueError."""
    if KEY not in value:
        key = json.loads(name.decode())
        if b"\\u" in name:
            refuse_surrogate(key)
        value[KEY] = key
    return value


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

    def add_more(self, container: RecordArray) -> None:
        """Add to data that has no whole record.

        Raise FeedError where the data is wrong, or too long, or the file ends."""
        if len(self.data) > self._check_from:
            self._check(container.ends[0] + self.data)
        self._check_size(len(self.data))
        data = grown(self.data, self._chunks, self._limits.text)
        if data is None:
            self._check(container.ends[0] + self.data)
            raise self.fault("truncated", f"the file ends before its {container.called} of records does")
        self.data = data

    def long_piece(self, container: RecordArray) -> bytes:
        """Return the piece that the data begins with, after adding to it until the piece is whole. Nothing of it is decoded: it
        is too long for a record. Raise FeedError as ``add_more`` does."""
        finder, scanned = EndFinder(), 0
        while True:
            end = None
            start = container.value_at(self.data)
            if start is not None and self.data[start] in b"[{":
                end = finder.find(self.data, max(start, scanned))
                scanned = len(self.data)
            elif start is not None:
                end = end_of_scalar(self.data, start)
            if start is not None and end is not None:
                break
            self.add_more(container)
        self._check_size(end)
        piece = self.data[:end]
        try:
            utf_8_decode(piece)
        except UnicodeDecodeError as error:
            raise bad_text(error, self.offset, self.line) from None
        self._check(memoryview(piece)[start:])
        return piece

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
            return utf_8_decode(self.data, "strict", False)[0]
        except UnicodeDecodeError as error:
            raise bad_text(error, self.offset) from None

    def fault(self, code: str, detail: str) -> FeedError:
        return FeedError(code, detail, line=self.line, offset=self.offset)

    def _check_size(self, size: int) -> None:
        if size > self._limits.text:
            detail = f"a record of more than {self._limits.text} bytes"
            raise over_limit("text", detail, line=self.line, offset=self.offset)

    def _check(self, data: bytes | memoryview) -> None:
        """Raise FeedError if no end could make ``data`` a value. What is nested so deep that a fast parser gives up is not
        looked at."""
        try:
            _skim(data)
        except RecursionError:
            return
        except msgspec.MsgspecError as error:
            if str(error) == _CUT_OFF:
                return
        else:
            return
        events = ijson.sendable_list()
        parser = ijson.basic_parse_coro(events)
        try:
            for at in range(0, len(data), _STEP):
                parser.send(bytes(data[at : at + _STEP]))
                del events[:]
        except UNREADABLE_NUMBER:  # the end of the value shows more
            return
        except (ijson.JSONError, UnicodeDecodeError, StopIteration) as error:
            raise self.fault("not_well_formed", f"not JSON: {error}".splitlines()[0]) from None
