"""CSV, streamed: lines are joined into candidate records by the parity of their quotes, and csv.reader decides.

A record's digest covers its exact bytes (without the line end), the header, the delimiter and the encoding. A record
that starts where the one before ended, and whose bytes were once one record, is that record, and is not parsed again.

The dialect, the delimiter and the line end, is found in the header and the first records."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Generator, Iterator
from itertools import chain, islice

from syncd.errors import FeedError
from syncd.feeds.readers.records import ReadOptions, Record, TableReader, seeded
from syncd.feeds.readers.source import Utf8Source, grown

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_SAMPLE = 1 << 18
_RECORDS = 21
_SEP = re.compile(rb"sep=([^\r\n])[^\r\n]*(?:\r\n|\n|\r)", re.IGNORECASE)
_FIRST_END = re.compile(rb'(?:[^"\r\n]++|"[^"]*+(?:"|\Z))*+(\r\n|\n|\r)')
#: Fed after the last line. If it becomes part of a record, a quote is open.
_SENTINEL = "end"
#: csv.reader has one limit for the whole process; the feed's limits are checked on the bytes.
csv.field_size_limit(1 << 30)


class CsvReader(TableReader):
    """See FeedReader. Raise FeedError ``bad_header``, ``bad_encoding``, ``truncated``, ``limit_exceeded``."""

    delimiter: str

    def __init__(self, source: Utf8Source, options: ReadOptions) -> None:
        super().__init__(source, options)
        spec = options.spec
        dialect = _find_dialect(source.head, spec.delimiter, guessed=spec.format is None)
        self.delimiter, self._end, self._skip = dialect
        self._newline = self._end[-1:]
        self._digest: Callable[[bytes], bytes] | None = None

    def __iter__(self) -> Iterator[Record]:
        tail, chunks = b"", self._chunks(self._skip)
        self._line += 1 if self._skip else 0
        while (data := grown(tail, chunks, self._limits.text)) is not None:
            tail = b""  # a long cell is in memory often enough
            pieces, tail = _join(data, self._end)
            del data
            carry = yield from self._records(pieces)
            tail = carry + tail
            if len(tail) > self._limits.text:
                detail = f"a record of more than {self._limits.text} bytes ([limits] text); a quote may lack its end"
                raise FeedError("limit_exceeded", detail, line=self._line)
        if tail:
            yield from self._last(tail)
        if self.header is None:
            raise FeedError("empty_file", "the file has no header")

    def _records(self, pieces: list[bytes]) -> Generator[Record, None, bytes]:
        """Candidate records, without their line ends. Returns the bytes from an open quote on, if there is one."""
        while self._digest is None and pieces:
            rest = self._take_header(pieces[0])
            pieces = [rest, *pieces[1:]] if rest else pieces[1:]
        if self._digest is None:
            return b""
        digests = list(map(self._digest, pieces))
        known = self._ask(digests)
        pending: list[bytes] = []
        marks: list[bytes] = []
        newline, misled = self._newline, False
        for piece, digest in zip(pieces, digests, strict=True):
            if digest in known and not misled:
                carry = (yield from self._parse(pending, marks)) if pending else b""
                pending, marks = [], []
                if not carry:
                    yield Record(self._next(), self._line, digest)
                    self._line += piece.count(newline) + 1
                    continue
                # in an open quote even the bytes of a known record are text
                carry = carry.removesuffix(self._end)
                pending, marks = [carry], [self._digest(carry)]
                misled = True
            pending.append(piece)
            marks.append(digest)
        return (yield from self._parse(pending, marks)) if pending else b""

    def _parse(self, pieces: list[bytes], digests: list[bytes]) -> Generator[Record, None, bytes]:
        """Candidates that csv.reader has to decide, the first at a record's start. Returns the bytes in an open quote."""
        newline = self._newline
        reader = csv.reader(chain(map(self._decode, pieces), (_SENTINEL,)), delimiter=self.delimiter)
        done = 0
        try:
            for row in reader:
                if reader.line_num != done + 1:
                    break
                if reader.line_num > len(pieces):
                    return b""
                raw = pieces[done]
                yield from self._row(row, raw, digests[done])
                done += 1
                self._line += raw.count(newline) + 1
        except csv.Error:
            pass
        texts = (self._decode(piece) + self._end.decode() for piece in pieces[done:])
        return (yield from self._by_lines("".join(texts)))

    def _by_lines(self, text: str) -> Generator[Record, None, bytes]:
        """The records line by line, where quotes misled the joining."""
        lines = [line for line in _LINE.findall(text) if line]
        assert self._digest is not None
        done = 0
        reader = csv.reader([*lines, _SENTINEL], delimiter=self.delimiter)
        try:
            for row in reader:
                if reader.line_num > len(lines):
                    break
                raw = "".join(lines[done : reader.line_num]).encode()
                done = reader.line_num
                bare = raw.removesuffix(self._end)
                yield from self._row(row, bare, self._digest(bare))
                self._line += raw.count(self._newline)
        except csv.Error as error:
            raise FeedError("not_well_formed", f"not CSV: {error}", line=self._line) from None
        return "".join(lines[done:]).encode()

    def _last(self, tail: bytes) -> Iterator[Record]:
        """What follows the last line end outside of quotes: a record, or the start of one that was cut off."""
        while self._digest is None and tail:
            tail = self._take_header(tail)
        if self._digest is None:
            return  # blank to its end
        if (yield from self._by_lines(self._decode(tail))):
            raise FeedError("truncated", "the file ends inside a quoted cell", line=self._line)

    def _row(self, row: list[str], raw: bytes, digest: bytes) -> Iterator[Record]:
        if any(row) and any(map(str.strip, row)):
            yield self._new(row, row, len(raw), digest)

    def _take_header(self, data: bytes) -> bytes:
        """The first record that is not blank names the columns. Returns what follows it, if quotes misled the joining."""
        lines = [line for line in _LINE.findall(self._decode(data)) if line] or [""]
        reader = csv.reader([*lines, _SENTINEL], delimiter=self.delimiter)
        try:
            cells: list[str] = next(reader)
        except csv.Error as error:
            raise FeedError("bad_header", f"not a CSV header: {error}", line=self._line) from None
        if reader.line_num > len(lines):
            raise FeedError("truncated", "the file ends inside a quoted cell of its header", line=self._line)
        if any(map(str.strip, cells)):
            self._set_header(cells, self._line)
            digest = seeded("csv", self.source.encoding, self.delimiter, "\x00".join(cells))
            # a CR or LF at a record's end means nothing; quotes may have kept it there
            self._digest = lambda record: digest(record.rstrip(b"\r\n"))
        rest = "".join(lines[reader.line_num :]).encode()
        self._line += data.count(self._newline, 0, len(data) - len(rest)) + (not rest)
        return rest

    def _decode(self, piece: bytes) -> str:
        try:
            return piece.decode()
        except UnicodeDecodeError as error:
            line = self._line + piece.count(self._newline, 0, error.start)
            detail = f"not UTF-8: byte 0x{piece[error.start]:02X}"
            raise FeedError("bad_encoding", detail, line=line) from None


def _join(buf: bytes, end: bytes) -> tuple[list[bytes], bytes]:
    """Lines joined while a quote is open (by parity), without their line ends; and what is not complete yet."""
    parts = buf.split(end)
    del parts[-1]
    pieces: list[bytes] = []
    start = at = 0
    step = len(end)
    open_quote = False
    for part in parts:
        at += len(part)
        if part.count(b'"') & 1:
            open_quote = not open_quote
        if not open_quote:
            pieces.append(part if at - start == len(part) else buf[start:at])
            start = at + step
        at += step
    return pieces, buf[start:]


def _find_dialect(head: bytes, setting: str | None, *, guessed: bool) -> tuple[str, bytes, int]:
    """The delimiter and the line end of a file that begins with ``head``, and the length of a ``sep=;`` line before the header.

    ``setting`` is the feed's own delimiter. It wins over a ``sep=`` line, and that over the scores. ``guessed``: nobody
    said that this is a CSV, so a file with one column is refused. Raise FeedError ``not_a_feed``."""
    line = _SEP.match(head)
    skip = line.end() if line else 0
    found = setting or (line.group(1).decode("latin-1") if line else None) or _best(head[skip:])
    if found is None and guessed:
        raise FeedError("not_a_feed", "neither XML nor JSON, and no delimiter splits its first line", line=1)
    end = _FIRST_END.match(head, skip)
    return found or ",", end.group(1) if end else b"\n", skip


def _best(head: bytes) -> str | None:
    """The delimiter with which most records have as many cells as their header; of two alike, that with more columns."""
    text = head[:_SAMPLE].decode("utf-8", "replace")
    complete = len(head) < _SAMPLE
    scored = [(*_score(text, delimiter, complete=complete), delimiter) for delimiter in ",;\t|"]
    best = max(scored, key=lambda entry: entry[:2])
    return best[2] if best[1] > 1 else None


def _score(text: str, delimiter: str, *, complete: bool) -> tuple[float, int]:
    """The share of the sampled records that have as many cells as the header, and the number of these."""
    sample = islice(csv.reader(text.splitlines(True), delimiter=delimiter), _RECORDS + 1)
    try:
        rows = [row for row in sample if row]
    except csv.Error:
        return 0.0, 0
    if len(rows) > 1 and not complete and len(rows) <= _RECORDS:
        rows.pop()  # cut off by the end of the sample
    if not rows or len(rows[0]) < 2:
        return 0.0, len(rows[0]) if rows else 0
    same = sum(len(row) == len(rows[0]) for row in rows)
    return same / len(rows), len(rows[0])
