"""JSON with an array of records in it (or an object of them), streamed: at the root or at a path of names.

Two parsers share the file. Everything outside the array of records goes through a streaming parser (ijson),
which judges the envelope to its last byte and says where the array begins. Inside it, slices of the file
are cut between two elements: a cut is right exactly if what lies before it, put in brackets, is an array.
So the extent of every record is known, its digest is that of its bytes, and a known one is never decoded.
The same holds for an object whose members are the records, put in braces.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from typing import Any

import ijson
import msgspec

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.base import BaseReader
from syncd.feeds.readers.digest import seeded
from syncd.feeds.readers.json.envelope import Envelope
from syncd.feeds.readers.json.holders import Array, Holder, Members
from syncd.feeds.readers.json.values import ERRORS_NAME, bad_text, scan, text_before_cut
from syncd.feeds.readers.records import ERRORS, Format, Known, Record
from syncd.feeds.readers.source import Utf8Source
from syncd.feeds.readers.spec import ReadSpec

_HOLDERS: dict[str, Holder] = {"array": Array(), "members": Members()}
_TRIES = 16
_STEP = 1 << 20
_BLANK = b" \t\r\n"
_BETWEEN = frozenset(b", \t\r\n")
_NEWLINE = ord("\n")


class JsonReader(BaseReader):
    """See FeedReader. Raises FeedError ``no_records_path``, ``not_well_formed``, ``truncated``,
    ``bad_encoding``, ``limit_exceeded``. Offsets count bytes of the text in UTF-8.
    """

    format: Format = "json"

    def __init__(self, source: Utf8Source, spec: ReadSpec, limits: FeedLimits, known: Known | None) -> None:
        if ijson.backend != "yajl2_c":
            raise RuntimeError("ijson has fallen back to a slow parser; install its yajl2_c backend")
        super().__init__(source, limits, known)
        self._digest = seeded("json")
        self._envelope = Envelope(spec.records, limits, source.head)
        self._offset = 0
        self._between: bytes | None = None
        self._holder: Holder = _HOLDERS["array"]

    @property
    def records_path(self) -> tuple[str, ...]:
        """The members that lead to the records, "*" last where every member of an object is one; none where these
        stand at the root, or are not found yet."""
        return self._envelope.path

    def __iter__(self) -> Iterator[Record]:
        chunks = self._chunks()
        buf = b""
        while (rest := self._outside(buf, chunks)) is not None:
            holder = _HOLDERS.get(self._envelope.kind)
            if holder is not None:
                self._holder = holder
                buf = yield from self._held(rest, chunks)
            else:
                buf = yield from self._lone(rest, chunks)
        self._envelope.finish()
        self.declared = self._envelope.declared

    def _outside(self, buf: bytes, chunks: Iterator[bytes]) -> bytes | None:
        """Feeds the envelope until the records begin; returns what follows, or None at the end of the file."""
        while True:
            self._envelope.offset = self._offset
            used = self._envelope.feed(buf)
            self._advance(buf, used)
            if self._envelope.kind:
                return buf[used:]
            more = next(chunks, None)
            if more is None:
                return None
            buf = more

    def _held(self, buf: bytes, chunks: Iterator[bytes]) -> Generator[Record, None, bytes]:
        """The elements of the array (or members of the object); ``buf`` starts after its bracket. Returns what
        follows them, its bracket first.
        """
        closing = self._holder.ends[1]
        comma = False
        used = 0
        while True:
            if len(buf) < used and (more := next(chunks, None)) is not None:
                buf += more  # what a good cut leaves is hardly whole
            buf = self._skip_blank(buf)
            if buf[:1] == closing:
                if comma:
                    raise self._fault("not_well_formed", "a comma before the end of the records")
                return buf
            raws, used = self._slices(buf) if buf else ([], 0)
            if raws:
                yield from self._records(buf, raws)
                buf = self._skip_blank(buf[used:])
                comma = False
            if not raws or not buf:
                more = self._more(buf, chunks)
                buf = self._skip_blank(buf + more) if raws else buf + more
            if raws and buf[:1] == b",":
                comma = True
                self._advance(buf, 1)
                buf = buf[1:]
            elif raws and buf[:1] != closing:
                raise self._fault(
                    "not_well_formed", "neither a comma nor the end of the records after a record"
                )

    def _slices(self, buf: bytes) -> tuple[list[bytes], int]:
        """The raw elements at the start of ``buf``, as many as are whole, and where the last one ends."""
        if self._between is not None:
            cut = len(buf)
            for _ in range(_TRIES):
                cut = buf.rfind(self._between, 0, cut)
                if cut < 0:
                    break
                try:
                    raws = self._holder.pieces(buf, cut + 1)
                except (msgspec.MsgspecError, RecursionError):
                    continue
                if raws is None:
                    break
                return raws, cut + 1
        return self._one_by_one(buf)

    def _one_by_one(self, buf: bytes) -> tuple[list[bytes], int]:
        """The sure way, where guesses at a cut fail. Learns what stands between two records, for the next
        guess.
        """
        text = self._text(buf)
        raws: list[bytes] = []
        at = used = 0
        closing, first = self._holder.ends[1].decode(), self._holder.first
        while True:
            try:
                end = self._holder.end_of_piece(text, at)
            except (ValueError, RecursionError):
                break
            after = _skip(text, end)
            if text[after : after + 1] not in (",", closing):
                break
            raws.append(text[at:end].encode())
            used = end
            if text[after] == closing:
                break
            at = _skip(text, after + 1)
            if self._between is None and text[end - 1] == "}" and text[at : at + 1] == first:
                self._between = text[end - 1 : at + 1].encode()
                break
        return raws, len(text[:used].encode())

    def _records(self, buf: bytes, raws: list[bytes]) -> Iterator[Record]:
        digests = list(map(self._digest, raws))
        known = self._ask(digests)
        fresh = [raw for raw, digest in zip(raws, digests, strict=True) if digest not in known]
        items = iter(self._holder.values(fresh, self._limits) or ())
        at, line, before = 0, self._line, self._offset
        for raw, digest in zip(raws, digests, strict=True):
            start = at
            while buf[start] in _BETWEEN:
                line += buf[start] == _NEWLINE
                start += 1
            self._line = line
            if digest in known:
                self.mended = self.mended or ERRORS_NAME in raw
                yield Record(self._next(), line, before + start, digest, None)
            elif (item := next(items, None)) is not None:
                self.mended = self.mended or ERRORS in item
                yield Record(self._next(), line, before + start, digest, item, None, partial(_same, item))
            else:
                yield self._record(raw, digest, before + start)
            at = start + len(raw)
            if b"\n" in raw:
                line += raw.count(b"\n")
        self._line, self._offset = line, before + at

    def _record(self, raw: bytes, digest: bytes, offset: int) -> Record:
        """A record by itself, where those of its slice could not be decoded together."""
        try:
            item, problem = self._holder.value(raw, self._limits)
        except UnicodeDecodeError as error:
            raise bad_text(error, offset, self._line) from None
        except ValueError as error:
            detail = f"not JSON: {error}"
            raise FeedError("not_well_formed", detail, line=self._line, offset=offset) from None
        if item is not None and ERRORS in item:
            self.mended = True
        value: Any = raw.decode("utf-8", "replace") if item is None else item
        return Record(self._next(), self._line, offset, digest, item, problem, partial(_same, value))

    def _lone(self, buf: bytes, chunks: Iterator[bytes]) -> Generator[Record, None, bytes]:
        """One object where an array is usual; its brace has gone to the envelope. Returns what follows, its
        own end first.
        """
        buf = b"{" + buf
        self._offset -= 1
        while True:
            text = self._text(buf)
            try:
                _, end = scan(text, 0)
                break
            except (ValueError, RecursionError):
                buf += self._more(buf, chunks)
        raw = text[:end].encode()
        yield from self._records(buf, [raw])
        self._offset -= 1
        return buf[len(raw) - 1 :]

    def _more(self, buf: bytes, chunks: Iterator[bytes]) -> bytes:
        """What follows ``buf``, which is no whole record: at least as much again, so that a long one is not
        tried over and over. Raises FeedError where it is wrong, or too long.
        """
        if len(buf) > len(self._source.head):
            self._probe(buf)
        if len(buf) > self._limits.text:
            detail = f"a record of more than {self._limits.text} bytes ([limits] text)"
            raise self._fault("limit_exceeded", detail)
        more: list[bytes] = []
        size = 0
        for chunk in chunks:
            more.append(chunk)
            size += len(chunk)
            if size >= min(len(buf), self._limits.text - len(buf)):
                break
        if not more:
            self._probe(buf)
            raise self._fault("truncated", f"the file ends before its {self._holder.called} of records does")
        return b"".join(more)

    def _probe(self, buf: bytes) -> None:
        """Raises FeedError if no end could make ``buf`` the start of what holds the records."""
        events = ijson.sendable_list()
        parser = ijson.basic_parse_coro(events)
        try:
            parser.send(self._holder.ends[0])
            for at in range(0, len(buf), _STEP):
                parser.send(buf[at : at + _STEP])
                del events[:]
        except (ijson.JSONError, UnicodeDecodeError, StopIteration) as error:
            raise self._fault("not_well_formed", f"not JSON: {error}".splitlines()[0]) from None

    def _text(self, buf: bytes) -> str:
        try:
            return text_before_cut(buf)
        except UnicodeDecodeError as error:
            raise bad_text(error, self._offset) from None

    def _skip_blank(self, buf: bytes) -> bytes:
        bare = buf.lstrip(_BLANK)
        if len(bare) != len(buf):
            self._advance(buf, len(buf) - len(bare))
        return bare

    def _advance(self, buf: bytes, count: int) -> None:
        self._line += buf.count(b"\n", 0, count)
        self._offset += count

    def _fault(self, code: str, detail: str) -> FeedError:
        return FeedError(code, detail, line=self._line, offset=self._offset)


def _skip(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t", "\r", "\n"):
        at += 1
    return at


def _same(value: object) -> object:
    return value
