"""CSV, streamed: a record is what csv.reader takes for one.

Its grammar is regular, so an expression finds where each record ends, in the bytes, and csv.reader sees those records alone
that are not known.

csv.reader takes text behind a closing quote as part of the cell. A quote that was never closed ends so, at the first quote of a
later record, and the records between are in its cell. If that quote ends a cell, this cell has the rest of one record and the
beginning of another. So such a record is a problem, and the file may not be whole.

A record's digest covers its exact bytes (without the line end), the header, the delimiter and the encoding."""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain, islice, repeat

from syncd.errors import FeedError, Problem
from syncd.feeds.readers.records import ReadOptions, Record, TableReader, seeded
from syncd.feeds.readers.source import Utf8Source, over_limit

#: The bytes of the file that decide the delimiter, and the most records of them.
_SAMPLE, _MAX_SAMPLED = 1 << 18, 21
_SEP = re.compile(rb"sep=([^\r\n])[^\r\n]*(?:\r\n|\n|\r)", re.IGNORECASE)
_LINE_ENDS = (b"\n", b"\r")
#: The last character of a file of DOS.
_END_OF_DOS = "\x1a"
#: The bytes of text behind a quote that are shown.
_MAX_SHOWN = 60
#: Fewer delimiters in a cell do not show that it has other records in it.
_MIN_MARKS = 3
#: csv.reader has one limit for the whole process; the feed's limits are checked on the bytes.
csv.field_size_limit(1 << 30)


class CsvReader(TableReader):
    """See FeedReader. Raise FeedError ``bad_header``, ``bad_encoding``, ``truncated``, ``limit_exceeded``."""

    delimiter: str

    def __init__(self, source: Utf8Source, options: ReadOptions) -> None:
        super().__init__(source, options)
        self._needs_end = options.line_end
        spec = options.spec
        self.delimiter, self._skip = _find_dialect(source.head, spec.delimiter, guessed=spec.format is None)
        self._patterns = _Patterns(self.delimiter.encode(), self._limits.columns)
        self._tight_mark = re.compile(f"{re.escape(self.delimiter)}(?! )")
        self._line += 1 if self._skip else 0
        self._newline = b"\n"
        self._digest: Callable[[bytes], bytes] | None = None

    def __iter__(self) -> Iterator[Record]:
        for raws in self._raws():
            while self._digest is None and raws:
                self._newline = raws[0][-1:] if raws[0].endswith(_LINE_ENDS) else self._newline
                self._take_header(raws.pop(0))
            if self._digest is None:
                continue
            # a CR or LF at a record's end means nothing; quotes may have kept it there
            digests = [self._digest(raw.rstrip(b"\r\n")) for raw in raws]
            known = self._ask(digests)
            for raw, digest in zip(raws, digests, strict=True):
                if digest in known and raw.endswith(_LINE_ENDS):
                    self.line_end = True
                    yield Record(self._next(), self._line, digest)
                else:
                    yield from self._row(raw, digest, known=digest in known)
                self._line += raw.count(self._newline)
        if self.header is None:
            raise FeedError("empty_file", "the file has no header")

    def _raws(self) -> Iterator[list[bytes]]:
        """Yield the bytes of the file's records with their line ends, those of each chunk at once."""
        rest, match = b"", self._patterns.record.match
        for chunk in self._chunks(self._skip):
            data, at, raws = rest + chunk, 0, []
            while record := match(data, at):
                raws.append(record.group())
                at = record.end()
            if raws and at == len(data) and chunk.endswith(b"\r"):  # an LF may follow
                at -= len(raws.pop())
            rest = data[at:]
            yield raws
            self._check_size(len(rest))
        if rest and not match(rest + b"\n"):
            where = " of its header" if self._digest is None else ""
            raise FeedError("truncated", f"the file ends inside a quoted cell{where}", line=self._line)
        yield [rest] if rest else []

    def _check_size(self, size: int) -> None:
        if size > self._limits.text + len(b"\r\n"):
            detail = f"a record of more than {self._limits.text} bytes; a quote may lack its end"
            raise FeedError("limit_exceeded", detail, line=self._line)

    def _cells(self, raw: bytes) -> tuple[list[str], int]:
        """Return the cells of a record, of a too long one not many more than are allowed, and its size in bytes."""
        self._check_size(len(raw))
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            line = self._line + raw.count(self._newline, 0, error.start)
            detail = f"not UTF-8: byte 0x{raw[error.start]:02X}"
            raise FeedError("bad_encoding", detail, line=line) from None
        size = len(raw.rstrip(b"\r\n"))
        if size > self._limits.record and (first := self._patterns.first_cells.match(raw)):
            text = first[0].decode()
        return next(csv.reader((text,), delimiter=self.delimiter)), size

    def _take_header(self, raw: bytes) -> None:
        row, size = self._cells(raw)
        if not _is_blank(row):
            if size > self._limits.record:
                detail = f"a header of more than {self._limits.record} bytes"
                raise over_limit("record", detail, line=self._line)
            self._set_header(*self._fitted(row))
            self._digest = seeded("csv", self.source.encoding, self.delimiter, "\x00".join(row))
            self.line_end = raw.endswith(_LINE_ENDS)
        self._line += raw.count(self._newline)

    def _row(self, raw: bytes, digest: bytes, *, known: bool) -> Iterator[Record]:
        row, size = self._cells(raw)
        if _is_blank(row):
            return
        self.line_end = raw.endswith(_LINE_ENDS)
        problem = None if self.line_end else self._cut_off(row)
        if known and problem is None:
            yield Record(self._next(), self._line, digest)
            return
        most = self._limits.record
        cut = row if size <= most else [cell[:most] for cell in row]
        yield self._new(cut, row, size, digest, self._bad_quotes(raw, row) or problem)

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

    def _bad_quotes(self, raw: bytes, row: list[str]) -> Problem | None:
        """Return the problem of a record with text behind a closing quote, or with other records in a cell."""
        if b'"' not in raw:
            return None
        lines = raw.rstrip(b"\r\n").count(self._newline) + 1
        behind = None
        if bad := self._patterns.text_behind_quote.match(raw):
            behind = bad[1][:_MAX_SHOWN].decode("utf-8", "ignore")
            others = f"; the record has {lines} lines, and may have others in it" if lines > 1 else ""
            what = "text behind a closing quote"
            detail = f"there is text behind the closing quote of a cell: {behind!r}{others}"
        elif lines > 1 and (column := self._column_with_records(row)):
            what = "other records in a cell"
            detail = (
                f"the cell {column!r} has lines of other records in it: a quotation mark lacks its partner"
            )
        else:
            return None
        where = f"the record in line {self._line}"
        self.withheld = self.withheld or f"{where} has {what}, so other records may be lost in it"
        return Problem("", "bad_quotes", detail, behind)

    def _column_with_records(self, row: list[str]) -> str | None:
        """Return the name of the column whose cell goes from its place in one record to the same place in a later one. Only
        delimiters without a blank behind them count: text has one behind a comma."""
        last = len(self._keys) - 1
        for at, (name, cell) in enumerate(zip(self.header or (), row, strict=False)):
            ends = cell.count("\n")
            if ends * last < _MIN_MARKS:
                continue
            # one line after the other: a cell may have millions
            lines = chain(io.StringIO(cell), [""] if cell.endswith("\n") else [])
            marks = chain([last - at], repeat(last, ends - 1), [at])
            if all(
                len(self._tight_mark.findall(line)) == wanted
                for line, wanted in zip(lines, marks, strict=True)
            ):
                return name
        return None


class _Patterns:
    """The grammar of csv.reader for cells between the delimiter ``mark``: a ``record`` with its line end, the ``first_cells`` of
    one, one more than ``columns``, and one with ``text_behind_quote`` of a cell, where only blanks may stand."""

    def __init__(self, mark: bytes, columns: int) -> None:
        quoted = rb'"[^"]*+(?:""[^"]*+)*+"'
        other = (rb"[^%b\r\n]" if len(mark) == 1 else rb"(?:(?!%b)[^\r\n])") % re.escape(mark)
        mark = re.escape(mark)
        cell = rb'(?:%b|(?!"))%b*+' % (quoted, other)
        proper = rb'(?:%b *+|(?!")%b*+)' % (quoted, other)
        self.record = re.compile(rb"(?:%b%b)*+%b(?:\r\n|[\r\n])" % (cell, mark, cell))
        self.first_cells = re.compile(rb"%b(?:%b%b){0,%d}+" % (cell, mark, cell, columns))
        behind = rb"( *+(?!%b)[^ \r\n]%b*+)" % (mark, other)
        self.text_behind_quote = re.compile(rb"(?:%b%b)*+%b%b" % (proper, mark, quoted, behind))


def _is_blank(row: list[str]) -> bool:
    return not any(cell.strip().strip(_END_OF_DOS) for cell in row)


def _in_single_quotes(cells: list[str]) -> bool:
    filled = [cell.strip() for cell in cells if cell.strip()]
    return len(filled) > 1 and all(cell[0] == cell[-1] == "'" and cell != "'" for cell in filled)


def _find_dialect(head: bytes, setting: str | None, *, guessed: bool) -> tuple[str, int]:
    """Return the delimiter of a file that begins with ``head``, and the length of a ``sep=;`` line before the header.

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
    return delimiter or ",", skip


def _best(head: bytes) -> str | None:
    """Return the delimiter with which most records have as many cells as their header; of two alike, that with more columns."""
    text, complete = head[:_SAMPLE].decode("utf-8", "replace"), len(head) < _SAMPLE
    samples = {delimiter: _sample(text, delimiter, complete=complete) or [[]] for delimiter in ",;\t|"}

    def score(delimiter: str) -> tuple[float, int]:
        widths = [*map(len, samples[delimiter])]
        return (widths.count(widths[0]) / len(widths) if widths[0] > 1 else 0.0), widths[0]

    best = max(samples, key=score)
    return best if len(samples[best][0]) > 1 else None


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
