"""JSON Lines, and JSON with an array of records in it (or an object of them): at the root or at a path of names.

In JSON two parsers share the file. Everything outside of the records goes through a streaming parser (ijson), which checks it to
its last byte and finds where the records begin. Python's own parser takes each record, and finds where it ends; ijson finds the
end of one that is too long to be built. So the extent of every record is known, and its digest is that of its bytes."""

import json
import re
from codecs import utf_8_decode
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import ijson
import msgspec

from syncd.errors import FeedError, Problem
from syncd.feeds.readers.json_paths import FAULTS, OuterParser, code_and_words
from syncd.feeds.readers.json_values import end_of, record_value
from syncd.feeds.readers.records import ERRORS, FeedReader, Format, ReadOptions, Record, seeded
from syncd.feeds.readers.source import Utf8Source, over_limit

#: The mark of a rejected record as JSON text.
_ERRORS_NAME = f'"{ERRORS}"'.encode()
#: A string, opening brackets or one that closes, and the text before it.
_TOKEN = re.compile(rb'[^"\[\]{}]*+(?:"(?:[^"\\]++|\\.)*+"|([\[{]++)|([\]}]))', re.DOTALL)
#: The bytes of a long record that are checked at once.
_STEP = 1 << 18
_TEXT_SEPARATOR = re.compile(r"[ \t\r\n]*+(,?+)[ \t\r\n]*+")
_SEPARATOR = re.compile(_TEXT_SEPARATOR.pattern.encode())

_elements: Callable[[bytes], list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw]).decode

#: The line, the offset and the bytes of a record.
_Read = tuple[int, int, bytes]


class _JsonReader(FeedReader):
    """The common base of both readers."""

    def __init__(self, source: Utf8Source, options: ReadOptions) -> None:
        super().__init__(source, options)
        self._digest = seeded("json")

    def _record(
        self, raw: bytes, digest: bytes, item: dict[str, Any] | None, problem: Problem | None
    ) -> Record:
        self.mended = self.mended or (item is not None and ERRORS in item)
        if item is None or problem is not None:
            text = partial(str, raw, "utf-8", "replace")
            return Record(self._next(), self._line, digest, item, problem, text, size=len(raw))
        return Record(self._next(), self._line, digest, item, None, partial(dict, item), size=len(raw))


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
            if raw and digest in known:
                self.mended = self.mended or _ERRORS_NAME in raw
                yield Record(self._next(), self._line, digest)
            elif raw:
                yield self._record(raw, digest, *self._value(raw, last=last))
            self._line += 1

    def _value(self, raw: bytes, *, last: bool) -> tuple[dict[str, Any] | None, Problem | None]:
        try:
            return record_value(raw, self._limits)
        except UnicodeDecodeError as error:
            detail = f"not UTF-8: byte 0x{raw[error.start]:02X}"
            raise FeedError("bad_encoding", detail, line=self._line) from None
        except json.JSONDecodeError as error:
            # the decoder calls the line line 1: it has seen nothing else
            words = f"{error.msg[0].lower()}{error.msg[1:].removesuffix(' at')} at column {error.colno}"
        if last:
            detail = f"the last line has no end and does not parse: {words}"
            raise FeedError("truncated", detail, line=self._line)
        return None, Problem("", "invalid_json", f"the line is not JSON: {words}")


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
        self._rest = self._chunks()
        #: Data of which the part before ``_at`` is done, and the offset of that place in the file.
        self._data, self._at, self._offset = b"", 0, 0
        #: The text between two records of an array, with their braces, and whether no more is found by it in this data.
        self._between, self._misled = b"", False

    def __iter__(self) -> Iterator[Record]:
        outer = self._outer
        while True:
            self._go_on(outer.feed(self._data, self._at, self._line, self._offset))
            if not outer.kind:
                if not self._add_data():
                    break
            elif outer.kind == "object":  # the outer parser has its opening brace, and gets its closing one
                self._go_on(self._at - 1)
                yield from self._records(self._read())
                self._go_on(self._at - 1)
            else:
                yield from self._contained(b"}" if outer.kind == "members" else b"]")
        outer.finish()
        self.announced = outer.announced

    def _contained(self, closing: bytes) -> Iterator[Record]:
        if self._separator():
            raise self._fault("not_well_formed", "a comma before the first record")
        while not self._data.startswith(closing, self._at):
            yield from self._records(self._read())
            comma = self._separator()
            if comma == self._data.startswith(closing, self._at):
                where = "before the end of the records" if comma else "missing between two records"
                raise self._fault("not_well_formed", f"a comma {where}")

    def _records(self, reads: list[_Read]) -> Iterator[Record]:
        digests = [self._digest(raw) for _, _, raw in reads]
        known = self._ask(digests)
        end, keyed = self._line, self._outer.kind == "members"
        for (self._line, offset, raw), digest in zip(reads, digests, strict=True):
            if digest in known:
                self.mended = self.mended or _ERRORS_NAME in raw
                yield Record(self._next(), self._line, digest)
                continue
            try:
                value = record_value(raw, self._limits, keyed=keyed)
            except UnicodeDecodeError as error:
                raise self._bad_text(error, offset) from None
            except ValueError as error:
                raise self._fault("not_well_formed", f"not JSON: {error}", offset) from None
            yield self._record(raw, digest, *value)
        self._line = end

    # -- the data

    def _add_data(self) -> bool:
        chunk = next(self._rest, None)
        self._data, self._at, self._misled = self._data[self._at :] + (chunk or b""), 0, False
        return chunk is not None

    def _go_on(self, at: int) -> None:
        self._line += self._data.count(b"\n", self._at, at)
        self._offset += at - self._at
        self._at = at

    def _separator(self) -> bool:
        """Skip white space, and a comma if there is one. Return whether there is. More data follows it."""
        comma = False
        while True:
            match = _SEPARATOR.match(self._data, self._at)
            assert match is not None, "the pattern may be empty"
            if match[1] and comma:
                raise self._fault("not_well_formed", "two commas between two records")
            comma = comma or bool(match[1])
            self._go_on(match.end())
            if self._at < len(self._data):
                return comma
            if not self._add_data():
                raise self._fault("truncated", "the file ends before its records do")

    def _read(self) -> list[_Read]:
        """Return the record that begins here, and perhaps some of those that follow it. Raise FeedError ``bad_encoding``,
        ``not_well_formed``, ``truncated``, ``limit_exceeded``."""
        while True:
            if reads := self._read_fast() or self._read_plain():
                return reads
            if len(self._data) - self._at > self._limits.record or not self._add_data():
                return [self._read_long()]

    def _read_plain(self) -> list[_Read]:
        """Return records that are whole in the data, one after the other."""
        kind, bad = self._outer.kind, None
        try:
            text = utf_8_decode(self._data[self._at :], "strict", False)[0]
        except UnicodeDecodeError as error:
            text, bad = error.object[: error.start].decode(), self._bad_text(error, self._offset)
        reads: list[_Read] = []
        at, line, offset, used = 0, self._line, self._offset, 0
        while at < len(text):
            try:
                end = end_of(text, at, keyed=kind == "members")
            except (ValueError, RecursionError):
                break
            following = _TEXT_SEPARATOR.match(text, end)
            assert following is not None, "the pattern may be empty"
            start = following.end()
            if start == len(text) and text[end - 1] not in '"]}':  # a number may go on
                break
            raw = text[at:end].encode()
            reads.append((line, offset, raw))
            used = offset + len(raw) - self._offset
            line, offset = line + text.count("\n", at, start), offset + len(raw) + start - end
            at = start
            if kind == "object" or not following[1]:
                break
            if kind == "array" and text[end - 1] + text[at : at + 1] == "}{":
                self._between = text[end - 1 : at + 1].encode()
                if not self._misled:
                    break
        if bad is not None and not reads:
            raise bad
        self._go_on(self._at + used)
        return reads

    def _read_fast(self) -> list[_Read]:
        """Return all records of an array that end in the data, up to the last place that looks like one between two, as
        ``_read_plain`` would (but for bytes that are not UTF-8), in a fifth of the time. Return [] if this is not certain."""
        if self._outer.kind != "array" or self._misled or not self._between:
            return []
        end = self._data.rfind(self._between, self._at) + 1
        try:
            raws = _elements(b"".join((b"[", memoryview(self._data)[self._at : end], b"]")))
        except (msgspec.MsgspecError, RecursionError):
            raws = []
        self._misled = not raws
        reads: list[_Read] = []
        data, at, line, before = self._data, self._at, self._line, self._offset - self._at
        for raw in map(bytes, raws):  # none, if nothing was found
            start = data.index(raw[:1], at)
            line += data.count(b"\n", at, start)
            reads.append((line, before + start, raw))
            at = start + len(raw)
            if b"\n" in raw:
                line += raw.count(b"\n")
        self._at, self._line, self._offset = at, line, before + at
        return reads

    def _read_long(self) -> _Read:
        """Return the record that begins here, of which nothing is built: it is too long, too deep or not JSON."""
        end = self._end_of_long()
        raw = self._data[self._at : end]
        self._check(raw)
        if end is None:
            raise self._fault("truncated", "the file ends before its records do")
        read = self._line, self._offset, raw
        self._go_on(end)
        return read

    def _end_of_long(self) -> int | None:
        """Return where the record ends in the data, to which more is added; None if that cannot be found. No byte is parsed more
        than twice, however long the record is. Raise FeedError ``limit_exceeded``."""
        at, depth, named = self._at, 0, self._outer.kind == "members"
        while self._data[self._at] in b'"[{':
            if token := _TOKEN.match(self._data, at):
                at = token.end()
                depth += len(token[1] or b"") - len(token[2] or b"")
                whole, named = not (depth or named), False
            else:
                whole = False
            if (at if token else len(self._data)) - self._at > self._limits.text:
                detail = f"a record of more than {self._limits.text} bytes"
                raise over_limit("text", detail, line=self._line, offset=self._offset)
            if whole:
                return at
            if token is None:
                at -= self._at
                if not self._add_data():
                    break
        return None

    def _check(self, raw: bytes) -> None:
        """Raise FeedError if ``raw`` begins no record."""
        events = ijson.sendable_list()
        parser = ijson.basic_parse_coro(events)
        try:
            parser.send(b"{" if self._outer.kind == "members" else b"[")
            for at in range(0, len(raw), _STEP):
                parser.send(raw[at : at + _STEP])
                del events[:]
        except ijson.JSONError as error:
            place, beginning = 0, raw[: self._limits.record].decode("utf-8", "ignore")
            try:
                end_of(beginning, 0, keyed=self._outer.kind == "members")
            except json.JSONDecodeError as bad:
                place = len(bad.doc[: bad.pos].encode())
            except (ValueError, RecursionError):
                pass
            self._go_on(self._at + place)
            raise self._fault(*code_and_words(error)) from None
        except FAULTS:
            return  # a number that is out of range, or half of a surrogate pair: the record cannot be used in any case

    def _fault(self, code: str, detail: str, offset: int | None = None) -> FeedError:
        return FeedError(code, detail, line=self._line, offset=self._offset if offset is None else offset)

    def _bad_text(self, error: UnicodeDecodeError, offset: int) -> FeedError:
        """Return the fault of bytes that begin at ``offset``, in the line where the reader is."""
        line = self._line + error.object.count(b"\n", 0, error.start)
        detail = f"not UTF-8: byte 0x{error.object[error.start]:02X}"
        return FeedError("bad_encoding", detail, line=line, offset=offset + error.start)
