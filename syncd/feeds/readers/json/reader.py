"""JSON Lines, and JSON with an array of records in it (or an object of them): at the root or at a path of names.

In JSON two parsers share the file. Everything outside of the records goes through a streaming parser (ijson), which
checks it to its last byte and says where the records begin. Inside the array, the file is cut between two elements: a cut
is right exactly if what lies before it, put in brackets, is an array. So the extent of every record is known, its digest
is that of its bytes, and a known record is never decoded. The same holds, in braces, for an object of records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import ijson
import msgspec

from syncd.errors import FeedError, Problem
from syncd.feeds.readers.json.outer_parser import OuterParser
from syncd.feeds.readers.json.pieces import JsonBuffer, RecordArray, RecordObject
from syncd.feeds.readers.json.values import ERRORS_NAME, bad_text, record_value, scan
from syncd.feeds.readers.records import ERRORS, FeedReader, Format, ReadOptions, Record, seeded
from syncd.feeds.readers.source import Utf8Source, over_limit

_CONTAINERS = {"array": RecordArray(), "members": RecordObject()}
#: This many cuts are tried before the records are read one by one.
_TRIES = 16
_BETWEEN = frozenset(b", \t\r\n")
_NEWLINE = ord("\n")


class _JsonReader(FeedReader):
    """What both readers have in common."""

    def __init__(self, source: Utf8Source, options: ReadOptions) -> None:
        super().__init__(source, options)
        self._digest = seeded("json")

    def _record(
        self, number: int, raw: bytes, digest: bytes, item: dict[str, Any] | None, problem: Problem | None
    ) -> Record:
        """The record of ``raw``: the item, or the problem, or a part of the item and the problem."""
        self.mended = self.mended or (item is not None and ERRORS in item)
        if item is None or problem is not None:
            text = partial(str, raw, "utf-8", "replace")
            return Record(number, self._line, digest, item, problem, text, size=len(raw))
        return Record(number, self._line, digest, item, problem, partial(dict, item), size=len(raw))


class JsonLinesReader(_JsonReader):
    """See FeedReader. One object a line. A line that does not parse is a rejected row, or the end of a truncated file. Raise
    FeedError ``truncated``, ``bad_encoding``, ``limit_exceeded``."""

    format: Format = "jsonl"

    def __iter__(self) -> Iterator[Record]:
        waiting: list[bytes] = []
        size = 0
        for chunk in self._chunks():
            first, *lines = chunk.split(b"\n")
            waiting.append(first)
            size += len(first)
            if size > self._limits.text:
                raise over_limit("text", f"a line of more than {self._limits.text} bytes", line=self._line)
            if lines:
                lines.insert(0, b"".join(waiting))
                waiting = [lines.pop()]
                size = len(waiting[0])
                yield from self._lines(lines)
        tail = b"".join(waiting)
        if tail.strip():
            yield from self._lines([tail], last=True)

    def _lines(self, lines: list[bytes], *, last: bool = False) -> Iterator[Record]:
        stripped = [line.strip() for line in lines]
        digests = [self._digest(line) for line in stripped]
        known = self._ask([d for d, s in zip(digests, stripped, strict=True) if s])
        for raw, digest in zip(stripped, digests, strict=True):
            if raw:
                number = self._next()
                if digest in known:
                    self.mended = self.mended or ERRORS_NAME in raw
                    yield Record(number, self._line, digest)
                else:
                    try:
                        item, problem = record_value(raw, self._limits)
                    except ValueError as error:
                        item, problem = None, self._problem(error, last=last)
                    yield self._record(number, raw, digest, item, problem)
            self._line += 1

    def _problem(self, error: ValueError, *, last: bool) -> Problem:
        if isinstance(error, UnicodeDecodeError):
            raise bad_text(error, 0, self._line) from None
        if last:
            detail = f"the last line has no end and does not parse: {_words(error)}"
            raise FeedError("truncated", detail, line=self._line) from None
        return Problem("", "invalid_json", f"the line is not JSON: {_words(error)}")


def _words(error: ValueError) -> str:
    """What is wrong within the line. The decoder calls it line 1: it has seen nothing else."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg[0].lower()}{error.msg[1:].removesuffix(' at')} at column {error.colno}"
    return str(error)


class JsonReader(_JsonReader):
    """See FeedReader. Raise FeedError ``no_records_path``, ``not_well_formed``, ``truncated``, ``bad_encoding``,
    ``limit_exceeded``. Offsets count bytes of the text in UTF-8."""

    format: Format = "json"

    def __init__(self, source: Utf8Source, options: ReadOptions) -> None:
        if ijson.backend != "yajl2_c":
            raise RuntimeError("ijson has fallen back to a slow parser; install its yajl2_c backend")
        super().__init__(source, options)
        self._outer = OuterParser(options.spec.records, options.limits, source.head)
        self.records_path = self._outer.path or ()
        self._buffer = JsonBuffer(self._chunks(), options.limits, len(source.head))
        self._between: bytes | None = None
        self._container = _CONTAINERS["array"]

    def __iter__(self) -> Iterator[Record]:
        while self._records_begin():
            container = _CONTAINERS.get(self._outer.kind)
            if container is None:
                yield from self._lone()
            else:
                self._container = container
                yield from self._contained()
        self._outer.finish()
        self.declared = self._outer.declared

    def _records_begin(self) -> bool:
        """Feed the outer parser until records begin. Return False at the end of the file."""
        buffer = self._buffer
        while True:
            buffer.drop(self._outer.feed(buffer.data, buffer.offset))
            if self._outer.kind:
                return True
            if not buffer.add_chunk():
                return False

    def _contained(self) -> Iterator[Record]:
        """The records of a container. The buffer begins behind its opening bracket, and then with its closing one."""
        buffer, closing = self._buffer, self._container.ends[1]
        comma = False
        used = 0
        while True:
            if len(buffer.data) < used:
                buffer.add_chunk()  # what a good cut leaves is hardly whole
            buffer.skip_blank()
            if buffer.data[:1] == closing:
                if comma:
                    raise buffer.fault("not_well_formed", "a comma before the end of the records")
                return
            raws, used = self._whole_pieces() if buffer.data else ([], 0)
            if not raws and len(buffer.data) > self._limits.record:
                raws = [buffer.long_piece(self._container)]
            if raws:
                yield from self._records(raws)
                buffer.skip_blank()
                comma = False
            if not raws or not buffer.data:
                buffer.add_more(self._container)
            if not raws:
                continue
            buffer.skip_blank()
            if buffer.data[:1] == b",":
                comma = True
                buffer.drop(1)
            elif buffer.data[:1] != closing:
                detail = "neither a comma nor the end of the records after a record"
                raise buffer.fault("not_well_formed", detail)

    def _whole_pieces(self) -> tuple[list[bytes], int]:
        """The pieces at the start of the buffer, as many as are whole, and where the last one ends."""
        data = self._buffer.data
        if self._between is not None:
            cut = len(data)
            for _ in range(_TRIES):
                cut = data.rfind(self._between, 0, cut)
                if cut < 0:
                    break
                try:
                    raws = self._container.pieces(data, cut + 1)
                except (msgspec.MsgspecError, RecursionError):
                    continue
                if raws is None:
                    break
                return raws, cut + 1
        return self._one_by_one()

    def _one_by_one(self) -> tuple[list[bytes], int]:
        """The sure way, where guesses at a cut fail. It learns what stands between two records, for the next guess."""
        text = self._buffer.text()
        raws: list[bytes] = []
        at = used = 0
        closing, first = self._container.ends[1].decode(), self._container.first
        while True:
            try:
                end = self._container.end_of_piece(text, at)
            except (ValueError, RecursionError):
                break
            after = _skip_blank(text, end)
            if text[after : after + 1] not in (",", closing):
                break
            raws.append(text[at:end].encode())
            used = end
            if text[after] == closing:
                break
            at = _skip_blank(text, after + 1)
            if self._between is None and text[end - 1] == "}" and text[at : at + 1] == first:
                self._between = text[end - 1 : at + 1].encode()
                break
        return raws, len(text[:used].encode())

    def _lone(self) -> Iterator[Record]:
        """One object where an array is usual. The outer parser has had its opening brace, and gets its closing one."""
        buffer = self._buffer
        buffer.push_back(b"{")
        while len(buffer.data) <= self._limits.record:
            text = buffer.text()
            try:
                piece = text[: scan(text, 0)[1]].encode()
                break
            except (ValueError, RecursionError):
                buffer.add_more(self._container)
        else:
            piece = buffer.long_piece(self._container)
        yield from self._records([piece])
        buffer.push_back(b"}")

    def _records(self, raws: list[bytes]) -> Iterator[Record]:
        """The records of the pieces that the buffer begins with; these are dropped."""
        digests = list(map(self._digest, raws))
        known = self._ask(digests)
        fresh = [raw for raw, digest in zip(raws, digests, strict=True) if digest not in known]
        items = iter(self._container.values(fresh, self._limits) or ())
        buffer = self._buffer
        data, at, line, before = buffer.data, 0, buffer.line, buffer.offset
        for raw, digest in zip(raws, digests, strict=True):
            start = at
            while data[start] in _BETWEEN:
                line += data[start] == _NEWLINE
                start += 1
            self._line = line
            if digest in known:
                self.mended = self.mended or ERRORS_NAME in raw
                yield Record(self._next(), line, digest)
            elif (item := next(items, None)) is not None:
                self.mended = self.mended or ERRORS in item
                yield Record(self._next(), line, digest, item, None, partial(dict, item), size=len(raw))
            else:
                value, problem = self._value(raw, before + start)
                yield self._record(self._next(), raw, digest, value, problem)
            at = start + len(raw)
            if b"\n" in raw:
                line += raw.count(b"\n")
        buffer.drop(at, line)

    def _value(self, raw: bytes, offset: int) -> tuple[dict[str, Any] | None, Problem | None]:
        """A record by itself, where those of its pieces could not be decoded together."""
        try:
            return self._container.value(raw, self._limits)
        except UnicodeDecodeError as error:
            raise bad_text(error, offset, self._line) from None
        except ValueError as error:
            detail = f"not JSON: {error}"
            raise FeedError("not_well_formed", detail, line=self._line, offset=offset) from None


def _skip_blank(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t", "\r", "\n"):
        at += 1
    return at
