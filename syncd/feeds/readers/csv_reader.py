"""CSV, streamed: csv.reader decides where a record ends.

It is given the file in parts. A part that would be a record if quotes were where they should be, that follows the end of a record
and whose bytes were once one record, is that record: it is known, and csv.reader does not see it. All other parts are split
into lines where csv.reader finds that they are not one record.

csv.reader takes text behind a closing quote as part of the cell. A quote that was never closed ends so, at the first quote of a
later record, and the records between are in its cell. So such a record is a problem, and the file may not be whole.

A record's digest covers its exact bytes (without the line end), the header, the delimiter and the encoding."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from itertools import islice

from syncd.errors import FeedError, Problem
from syncd.feeds.readers.records import ReadOptions, Record, TableReader, seeded
from syncd.feeds.readers.source import Utf8Source, over_limit

#: The bytes of the file that decide the delimiter, and the most records of them.
_SAMPLE, _MAX_SAMPLED = 1 << 18, 21
_SEP = re.compile(rb"sep=([^\r\n])[^\r\n]*(?:\r\n|\n|\r)", re.IGNORECASE)
_FIRST_END = re.compile(rb'(?:[^"\r\n]++|"[^"]*+(?:"|\Z))*+(\r\n|\n|\r)')
_LINE_END = re.compile(rb"\r\n|[\r\n]")
#: The start of a line end, or of a character of two or three bytes, at the end of a chunk.
_CUT_OFF = re.compile(rb"(?:\r|[\xc0-\xff][\x80-\xbf]?)\Z")
_QUOTED = re.compile(rb'"[^"]*+(?:""[^"]*+)*+"')
#: The last character of a file of DOS.
_END_OF_DOS = "\x1a"
#: The bytes of text behind a quote that are shown.
_MAX_SHOWN = 60
#: Fed after the last line. If it becomes part of a record, a quote is open.
_SENTINEL = "end"
#: A longer line is given to csv.reader a part at a time, as it makes an object of each cell of a part.
_MAX_PART = 1 << 16
#: csv.reader has one limit for the whole process; the feed's limits are checked on the bytes.
csv.field_size_limit(1 << 30)


class CsvReader(TableReader):
    """See FeedReader. Raise FeedError ``bad_header``, ``bad_encoding``, ``truncated``, ``limit_exceeded``."""

    delimiter: str

    def __init__(self, source: Utf8Source, options: ReadOptions) -> None:
        super().__init__(source, options)
        self._needs_end = options.line_end
        spec = options.spec
        dialect = _find_dialect(source.head, spec.delimiter, guessed=spec.format is None)
        self.delimiter, self._end, self._skip = dialect
        self._newline, self._mark = self._end[-1:], self.delimiter.encode()
        self._cells, self._cell = _cell_patterns(self._mark)
        self._line += 1 if self._skip else 0
        self._digest: Callable[[bytes], bytes] | None = None
        #: The bytes that csv.reader has of the record that is not whole yet, and whether they end within a line; the digest of
        #: bytes that may be the record; and the lines to give it again.
        self._raw, self._within = bytearray(), False
        self._likely: bytes | None = None
        self._again: list[bytes] = []
        #: Known records before these bytes: the digest and the bytes of each.
        self._passed: list[tuple[bytes, bytes]] = []
        self._ended = False

    def __iter__(self) -> Iterator[Record]:
        rows = csv.reader(self._given(), delimiter=self.delimiter)
        cells: list[str] = []  # of a row that comes in parts
        while True:
            try:
                row = next(rows)
            except csv.Error:  # a line ends outside of quotes within a part
                self._again, cells = bytes(self._raw).splitlines(keepends=True), []
                self._raw.clear()
                continue
            except FeedError:
                yield from self._take_passed()
                raise
            yield from self._take_passed()
            if not self._raw:
                if self._ended:
                    break
                continue
            if self._ended:
                where = " of its header" if self._digest is None else ""
                raise FeedError("truncated", f"the file ends inside a quoted cell{where}", line=self._line)
            if self._within:  # the row ends with the delimiter, behind which csv.reader sees an empty cell
                cells += row[:-1]
                del cells[self._limits.columns + 1 :]  # more are ragged in any case
                continue
            if cells:
                row, cells = cells + row, []
            raw = bytes(self._raw)
            self._raw.clear()
            yield from self._row(row, raw)
            self._line += raw.count(self._newline)
        if self.header is None:
            raise FeedError("empty_file", "the file has no header")

    # -- the file in parts

    def _given(self) -> Iterator[str]:
        """Yield the file in parts, without known records."""
        rest = b""
        for chunk in _whole_characters(self._chunks(self._skip)):
            data, at, joined = rest + chunk, 0, False
            while True:
                if not (self._raw or joined):
                    pieces, at = _join(data, at, self._end)
                    yield from self._pieces(pieces)
                    joined = True
                if not self._raw and len(data) - at <= self._limits.record:
                    break
                end = self._part_end(data, at)
                if end is None:
                    break
                yield self._text(data[at:end], within=data[end - 1] not in b"\r\n")
                at = end
            rest = data[at:]
            self._check_size(len(rest))
            if not self._raw:
                yield ""  # an empty row: the records so far are given out
        if rest:
            yield from self._give(rest)
        self._ended = True
        yield _SENTINEL

    def _pieces(self, pieces: list[bytes]) -> Iterator[str]:
        """Yield all ``pieces`` but the known records, of which each begins where the record before it ends."""
        digests: list[bytes] = []
        known: Collection[bytes] = ()
        for at, piece in enumerate(pieces):
            if not digests and self._digest is not None:
                digests = [b""] * at + list(map(self._digest, pieces[at:]))
                known = self._ask(digests[at:])
            digest = digests[at] if digests and not self._raw else None
            if digest is not None and digest in known:
                self._passed.append((digest, piece))
            else:
                yield from self._give(piece + self._end, likely=digest)

    def _give(self, part: bytes, *, likely: bytes | None = None) -> Iterator[str]:
        """Yield one part, and again in lines where csv.reader refuses it."""
        yield self._text(part, likely=likely)
        again, self._again = self._again, []
        for line in again:
            yield self._text(line)

    def _text(self, part: bytes, *, likely: bytes | None = None, within: bool = False) -> str:
        self._within, self._likely = within, None if self._raw else likely
        self._raw += part
        self._check_size(0)
        try:
            return part.decode()
        except UnicodeDecodeError as error:
            before = self._raw.count(self._newline, 0, len(self._raw) - len(part) + error.start)
            detail = f"not UTF-8: byte 0x{part[error.start]:02X}"
            raise FeedError("bad_encoding", detail, line=self._line + before) from None

    def _part_end(self, data: bytes, at: int) -> int | None:
        """Return where the next part of a long record ends: with a line, or behind a delimiter. None: that is still to come."""
        if self._raw and not self._within:  # csv.reader goes on after a line, so a quote is open
            quote = data.find(b'"', at)
            lines = data.rfind(self._newline, at, quote if quote >= 0 else len(data)) + 1
            if lines:
                return lines
        far = at + _MAX_PART
        if (line := _LINE_END.search(data, at, far)) is None:
            cut = data.find(self._mark, far)
            line = _LINE_END.search(data, far, cut if cut >= 0 else len(data))
            if line is None:
                cut += len(self._mark)
                return cut if far < cut < len(data) else None  # a delimiter may be the end of the file
        return line.end()

    def _check_size(self, more: int) -> None:
        if len(self._raw) + more > self._limits.text + len(self._end):
            most = self._limits.text
            detail = f"a record of more than {most} bytes; a quote may lack its end"
            raise FeedError("limit_exceeded", detail, line=self._line)

    # -- records

    def _take_passed(self) -> Iterator[Record]:
        passed, self._passed = self._passed, []
        if passed:
            self.line_end = True
        for digest, piece in passed:
            yield Record(self._next(), self._line, digest)
            self._line += piece.count(self._newline) + 1

    def _row(self, row: list[str], raw: bytes) -> Iterator[Record]:
        if not any(cell.strip().strip(_END_OF_DOS) for cell in row):
            return
        self.line_end = raw.endswith((b"\n", b"\r"))
        size, most = len(raw.rstrip(b"\r\n")), self._limits.record
        if self._digest is None:
            if size > most:
                raise over_limit("record", f"a header of more than {most} bytes", line=self._line)
            self._set_header(*self._fitted(row))
            digest = seeded("csv", self.source.encoding, self.delimiter, "\x00".join(row))
            # a CR or LF at a record's end means nothing; quotes may have kept it there
            self._digest = lambda record: digest(record.rstrip(b"\r\n"))
            return
        own = self._likely or self._digest(raw)
        problem = None if self.line_end else self._cut_off(row)
        if problem is None and self._likely is None and self._ask([own]):
            yield Record(self._next(), self._line, own)
            return
        cut = row if size <= most else [cell[:most] for cell in row]
        yield self._new(cut, row, size, own, self._bad_quotes(raw) or problem)

    def _cut_off(self, row: list[str]) -> Problem | None:
        """Return the problem of a last record without a line end, where the feed's files end with one. Raise FeedError
        ``truncated`` for one that lacks cells."""
        if len(row) < len(self._keys):
            detail = f"the last record has no line end and {len(row)} cells, the header {len(self._keys)}"
            raise FeedError("truncated", detail, line=self._line)
        if not self._needs_end or self.mended:
            return None
        lacks = "the last record has no line end, which the last record of the file before had"
        self.withheld = self.withheld or f"the file seems to be cut off: {lacks}"
        return Problem("", "cut_off", f"{lacks}: it seems to be cut off")

    def _fitted(self, header: list[str]) -> tuple[list[str], int, int]:
        """Return the header without delimiters at its end that the first rows do not have, its line, and the number of its last
        columns that have neither name nor values in these rows."""
        head = self.source.head[self._skip :]
        text = head[:_SAMPLE].decode("utf-8", "replace")
        rows = _sample(text, self.delimiter, complete=len(head) < _SAMPLE)[1:]
        if _in_single_quotes(header) or _in_single_quotes([cell for row in rows for cell in row]):
            detail = "the cells are in single quotes ('…'), which are text in a CSV: export it with double quotes (\"…\")"
            raise FeedError("bad_header", detail, line=self._line)
        named = max((at for at, name in enumerate(header, 1) if name.strip()), default=0)
        filled = max((at for row in rows for at, cell in enumerate(row, 1) if cell.strip()), default=0)
        width = (
            max(named, *(size for size, _ in Counter(map(len, rows)).most_common(1))) if rows else len(header)
        )
        header = header[:width]
        return header, self._line, len(header) - min(max(named, filled), len(header)) if rows else 0

    def _bad_quotes(self, raw: bytes) -> Problem | None:
        """Return the problem of a record with text behind a closing quote."""
        if b'"' not in raw:
            return None
        before = self._cells.match(raw)
        assert before is not None, "the pattern may be empty"
        if self._cell.fullmatch(raw, before.end()):
            return None
        rest = _QUOTED.sub(b"", raw[before.end() :], count=1).partition(self._mark)[0].splitlines()[0]
        behind = rest[:_MAX_SHOWN].decode("utf-8", "ignore")
        lines = raw.rstrip(b"\r\n").count(self._newline) + 1
        others = f"; the record has {lines} lines, and may have others in it" if lines > 1 else ""
        detail = f"there is text behind the closing quote of a cell: {behind!r}{others}"
        if self.withheld is None:
            line = f"the record in line {self._line} has text behind a closing quote"
            self.withheld = f"{line}, so other records may be lost in it"
        return Problem("", "bad_quotes", detail, behind)


def _in_single_quotes(cells: list[str]) -> bool:
    filled = [cell.strip() for cell in cells if cell.strip()]
    return len(filled) > 1 and all(cell[0] == cell[-1] == "'" and cell != "'" for cell in filled)


def _cell_patterns(mark: bytes) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Return the patterns of cells that each end with the delimiter ``mark``, and of the last cell of a record. Blanks may stand
    behind a closing quote."""
    delimiter = re.escape(mark)
    other = rb"[^%b\r\n]" % delimiter if len(mark) == 1 else rb"(?:(?!%b)[^\r\n])" % delimiter
    cell = rb'(?:%b *+|(?!")%b*+)' % (_QUOTED.pattern, other)
    return re.compile(rb"(?:%b%b)*+" % (cell, delimiter)), re.compile(rb"%b[\r\n]*+" % cell)


def _whole_characters(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield ``chunks``, of which none ends within a character or between CR and LF."""
    rest = b""
    for chunk in chunks:
        data = rest + chunk
        cut = _CUT_OFF.search(data, max(0, len(data) - 3))
        data, rest = (data[: cut.start()], data[cut.start() :]) if cut else (data, b"")
        if data:
            yield data
    if rest:
        yield rest


def _join(data: bytes, start: int, end: bytes) -> tuple[list[bytes], int]:
    """Return the lines of ``data`` from ``start`` on, joined while a quote is open (by parity), without their line ends; and the
    start of the first that is not complete."""
    parts = (data[start:] if start else data).split(end)
    del parts[-1]
    pieces: list[bytes] = []
    at, step = start, len(end)
    open_quote = False
    for part in parts:
        at += len(part)
        if part.count(b'"') & 1:
            open_quote = not open_quote
        if not open_quote:
            pieces.append(part if at - start == len(part) else data[start:at])
            start = at + step
        at += step
    return pieces, start


def _find_dialect(head: bytes, setting: str | None, *, guessed: bool) -> tuple[str, bytes, int]:
    """Return the delimiter and the line end of a file that begins with ``head``, and the length of a ``sep=;`` line before the
    header.

    ``setting`` is the feed's own delimiter. It wins over a ``sep=`` line, and that over the scores. ``guessed``: nobody
    said that this is a CSV, so a file with one column is refused. Raise FeedError ``not_a_feed``."""
    line = _SEP.match(head)
    skip = line.end() if line else 0
    delimiter = setting or (line.group(1).decode("latin-1") if line else None) or _best(head[skip:])
    if delimiter is None and guessed:
        detail = (
            "neither XML nor JSON, and no delimiter splits its first line, which must be the header of a CSV"
        )
        raise FeedError("not_a_feed", detail, line=1)
    end = _FIRST_END.match(head, skip)
    return delimiter or ",", end.group(1) if end else b"\n", skip


def _best(head: bytes) -> str | None:
    """Return the delimiter with which most records have as many cells as their header; of two alike, that with more columns."""
    text = head[:_SAMPLE].decode("utf-8", "replace")
    complete = len(head) < _SAMPLE
    scored = [(*_score(text, delimiter, complete=complete), delimiter) for delimiter in ",;\t|"]
    best = max(scored, key=lambda entry: entry[:2])
    return best[2] if best[1] > 1 else None


def _sample(text: str, delimiter: str, *, complete: bool) -> list[list[str]]:
    """Return the first records of ``text``, which ends within one unless it is ``complete``; none of another text than CSV."""
    sample = islice(csv.reader(text.splitlines(True), delimiter=delimiter), _MAX_SAMPLED + 1)
    try:
        rows = [row for row in sample if row]
    except csv.Error:
        return []
    if len(rows) > 1 and not complete and len(rows) <= _MAX_SAMPLED:
        rows.pop()  # cut off by the end of the sample
    return rows


def _score(text: str, delimiter: str, *, complete: bool) -> tuple[float, int]:
    """Return the share of the sampled records that have as many cells as the header, and the number of its cells."""
    rows = _sample(text, delimiter, complete=complete)
    if not rows or len(rows[0]) < 2:
        return 0.0, len(rows[0]) if rows else 0
    same = sum(len(row) == len(rows[0]) for row in rows)
    return same / len(rows), len(rows[0])
