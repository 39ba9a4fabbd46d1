"""CSV, streamed: lines are joined into candidate records by the parity of their quotes, and csv.reader decides.

Where it does not agree (a quote within an unquoted cell), and where a record goes on in the next chunk of the file, a
RecordSplitter finds the records. So no byte is looked at again and again, however long a record is.

A record's digest covers its exact bytes (without the line end), the header, the delimiter and the encoding. A record
that starts where the one before ended, and whose bytes were once one record, is that record, and is not parsed again.

The dialect, the delimiter and the line end, is found in the header and the first records."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import chain, islice

from syncd.errors import FeedError
from syncd.feeds.readers.csv_records import RecordSplitter, cells_of, is_blank
from syncd.feeds.readers.records import ReadOptions, Record, TableReader, seeded, too_long
from syncd.feeds.readers.source import Utf8Source, over_limit

_SAMPLE = 1 << 18
_RECORDS = 21
_SEP = re.compile(rb"sep=([^\r\n])[^\r\n]*(?:\r\n|\n|\r)", re.IGNORECASE)
_FIRST_END = re.compile(rb'(?:[^"\r\n]++|"[^"]*+(?:"|\Z))*+(\r\n|\n|\r)')
#: What may go on behind the end of a chunk: a line end, a character of two or three bytes.
_CUT_OFF = re.compile(rb"(?:\r|[\xc0-\xff][\x80-\xbf]?)\Z")
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
        self._splitter = RecordSplitter(self.delimiter)

    def __iter__(self) -> Iterator[Record]:
        splitter = self._splitter
        self._line += 1 if self._skip else 0
        for chunk in _whole_characters(self._chunks(self._skip)):
            at, pieces = 0, list[bytes]()
            while at < len(chunk) and (splitter.waiting or self._digest is None):
                record, ended, at = self._next_record(chunk, at)
                if splitter.waiting:
                    break
                if not ended or self._digest is None or len(record) > self._limits.record:
                    yield from self._one(record, ended)
                else:
                    pieces = [record]
                del record
            more, rest = _join(chunk[at:], self._end)
            pieces += more
            done = (yield from self._records(pieces)) if pieces else 0
            undecided = [piece + self._end for piece in pieces[done:]]
            yield from self._split(b"".join((*undecided, rest)))
        if splitter.waiting:
            yield from self._last()
        if self.header is None:
            raise FeedError("empty_file", "the file has no header")

    def _next_record(self, chunk: bytes, at: int) -> tuple[bytes, int, int]:
        """The record that waits, if it ends in ``chunk[at:]``, 1 if it had the file's own line end, and where it ends."""
        record, at = self._splitter.next(chunk, at)
        bare = record.removesuffix(self._end)
        size = len(bare) or self._splitter.waiting
        if size > self._limits.text:
            detail = f"a record of more than {self._limits.text} bytes; a quote may lack its end"
            raise FeedError("limit_exceeded", detail, line=self._line)
        return bare, len(bare) < len(record), at

    def _records(self, pieces: list[bytes], ended: int = 1) -> Generator[Record, None, int]:
        """The records of candidates, of which each is a record's bytes without (``ended``) or with the line end. Returns how many
        of them are records: the next one, if there is one, is not, or not by itself."""
        assert self._digest is not None
        digests = list(map(self._digest, pieces))
        known = self._ask(digests)
        newline = self._newline
        pending: list[bytes] = []
        marks: list[bytes] = []
        for at, (piece, digest) in enumerate(zip(pieces, digests, strict=True)):
            if digest not in known:
                pending.append(piece)
                marks.append(digest)
                continue
            if pending:
                done = yield from self._parse(pending, marks, ended)
                if done < len(pending):  # in an open quote even the bytes of a known record are text
                    return at - len(pending) + done
                pending, marks = [], []
            yield Record(self._next(), self._line, digest)
            self._line += piece.count(newline) + ended
        done = (yield from self._parse(pending, marks, ended)) if pending else 0
        return len(pieces) - len(pending) + done

    def _parse(self, pieces: list[bytes], digests: list[bytes], ended: int) -> Generator[Record, None, int]:
        """Candidates that csv.reader has to decide, the first at a record's start. Returns how many of them are records."""
        newline, end = self._newline, self._end
        reader = csv.reader(chain(map(self._decode, pieces), (_SENTINEL,)), delimiter=self.delimiter)
        done = 0
        try:
            for row in reader:
                if reader.line_num != done + 1 or done == len(pieces):
                    break
                raw = pieces[done]
                yield from self._row(row, raw if ended else raw.removesuffix(end), digests[done])
                done += 1
                self._line += raw.count(newline) + ended
        except csv.Error:
            pass
        return done

    def _split(self, data: bytes) -> Iterator[Record]:
        """The records of data that begins with one; what has no end waits."""
        records = []
        at = 0
        while at < len(data):
            record, at = self._splitter.next(data, at)
            if record:
                records.append(record)
        if records:
            yield from self._exact(records, 0)

    def _exact(self, records: list[bytes], ended: int) -> Iterator[Record]:
        if (yield from self._records(records, ended)) < len(records):
            raise FeedError("not_well_formed", "not CSV", line=self._line)

    def _one(self, record: bytes, ended: int) -> Iterator[Record]:
        """The record, or the header, of any length."""
        if self._digest is None:
            self._take_header(record)
        elif len(record) > self._limits.record:
            yield from self._too_long(record)
        else:
            yield from self._exact([record], ended)
            return
        self._line += record.count(self._newline) + ended

    def _too_long(self, record: bytes) -> Iterator[Record]:
        """A record that is rejected for its length. Of each of its cells, the item has what a record may have."""
        assert self._digest is not None
        digest = self._digest(record)
        if self._ask([digest]):
            yield Record(self._next(), self._line, digest)
        elif not is_blank(self._decode(record), self.delimiter):
            most = self._limits.record
            cells = partial(cells_of, record, self.delimiter, self._limits.columns)
            item = dict(zip(self._keys, (cell[:most] for cell in cells()), strict=False))
            yield Record(self._next(), self._line, digest, item, too_long(len(record), self._limits), cells)

    def _last(self) -> Iterator[Record]:
        """What follows the last line end outside of quotes: a record, or the start of one that was cut off."""
        if self._splitter.quoted:
            where = " of its header" if self._digest is None else ""
            raise FeedError("truncated", f"the file ends inside a quoted cell{where}", line=self._line)
        yield from self._one(self._splitter.take(), 0)

    def _row(self, row: list[str], raw: bytes, digest: bytes) -> Iterator[Record]:
        if any(row) and any(map(str.strip, row)):
            yield self._new(row, row, len(raw), digest)

    def _take_header(self, record: bytes) -> None:
        """The first record that is not blank names the columns."""
        text = self._decode(record)
        if is_blank(text, self.delimiter):
            return
        if len(record) > self._limits.record:
            raise over_limit("record", f"a header of more than {self._limits.record} bytes", line=self._line)
        cells: list[str] = next(csv.reader([text], delimiter=self.delimiter))
        self._set_header(cells, self._line)
        digest = seeded("csv", self.source.encoding, self.delimiter, "\x00".join(cells))
        # a CR or LF at a record's end means nothing; quotes may have kept it there
        self._digest = lambda record: digest(record.rstrip(b"\r\n"))

    def _decode(self, piece: bytes) -> str:
        try:
            return piece.decode()
        except UnicodeDecodeError as error:
            line = self._line + piece.count(self._newline, 0, error.start)
            detail = f"not UTF-8: byte 0x{piece[error.start]:02X}"
            raise FeedError("bad_encoding", detail, line=line) from None


def _whole_characters(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """``chunks``, of which none ends within a character or between CR and LF."""
    rest = b""
    for chunk in chunks:
        data = rest + chunk
        cut = _CUT_OFF.search(data, max(0, len(data) - 3))
        data, rest = (data[: cut.start()], data[cut.start() :]) if cut else (data, b"")
        if data:
            yield data
    if rest:
        yield rest


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
        detail = (
            "neither XML nor JSON, and no delimiter splits its first line, which must be the header of a CSV"
        )
        raise FeedError("not_a_feed", detail, line=1)
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
