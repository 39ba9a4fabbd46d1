"""Spreadsheets (.xlsx): the rows of one sheet, as if they had been saved as CSV.

Dates are ISO 8601, whole numbers have no ``.0``, formulas are the value that was saved with them. Of merged cells the
first has the value and the others are empty, as in a CSV that Excel writes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from functools import cache

from lxml import etree

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.records import ReadOptions, Record, TableReader, seeded
from syncd.feeds.readers.source import Opener, Utf8Source, check_expansion, over_limit
from syncd.feeds.readers.xlsx_book import Book, Sheet, Texts, plain_text
from syncd.feeds.readers.xml import local
from syncd.feeds.readers.zip_archive import ZipArchive

#: A sheet has no more rows than this in any program.
_LAST_ROW = 1_048_576
#: The most rows, and bytes of rows, that are read before the known ones are looked up.
_MAX_BATCH, _MAX_BATCH_SIZE = 500, 1 << 20
_DAY = 86400
#: 31 December 9999, counted from 1900: there are no dates beyond.
_LAST_DAY = 2_958_465


#: The number of a row, its cells, and about their size in bytes.
_Row = tuple[int, list[str], int]


class XlsxReader(TableReader):
    """See FeedReader; its format is "csv", and its lines are the rows of the sheet. Raise FeedError ``bad_header``,
    ``empty_file``, ``no_records_path`` (no such sheet), ``bad_archive``, ``not_well_formed``, ``limit_exceeded``,
    ``forbidden_dtd``."""

    def __init__(self, opener: Opener, options: ReadOptions, archive: ZipArchive) -> None:
        spec, limits = options.spec, options.limits
        if spec.format not in (None, "csv"):
            detail = f"this is a spreadsheet, which is read like CSV, but [read] format is {spec.format!r}"
            raise FeedError("not_a_feed", detail)
        with _reading():
            book = Book(archive, limits)
            name = book.sheet(spec.sheet).name
        self.sheets = [sheet.name for sheet in book.sheets if sheet.visible]
        # a spreadsheet has no text of its own; the sheet's name takes its place
        super().__init__(Utf8Source(lambda: io.BytesIO(f"{name}\n".encode()), "utf-8", limits), options)
        self._opener, self._sheet = opener, spec.sheet
        self._expanded = 0

    def __iter__(self) -> Iterator[Record]:
        with (
            closing(ZipArchive(self._opener(), self._limits)) as archive,
            closing(Texts()) as texts,
            _reading(),
        ):
            book = Book(archive, self._limits)
            book.fill(texts)
            cells, sheet = Cells(book, texts, self._limits), book.sheet(self._sheet)
            rows = self._rows(book, sheet, cells, archive.size)
            digest = self._take_header(rows)
            for batch in _batches(rows):
                self.bytes_read = archive.place
                yield from self._records(batch, digest)
            self.bytes_read = archive.place
            for other in book.sheets if self._sheet is None else ():
                if other.visible and other.part != sheet.part:
                    self._compare(other, sheet, self._rows(book, other, cells, archive.size))

    def _compare(self, other: Sheet, sheet: Sheet, rows: Iterator[_Row]) -> None:
        """Archive nothing where another sheet has the same columns: its jobs are not read."""
        header = next((cells for _, cells, _ in rows if _names_columns(cells)), None)
        if header == self.header and next(rows, None) is not None:
            self.withheld = (
                f"the sheet {other.name!r} has the same columns, and only {sheet.name!r} is read"
                " ([read] sheet names the one that counts)"
            )

    def _rows(self, book: Book, sheet: Sheet, cells: Cells, packed: int) -> Iterator[_Row]:
        """Yield the rows of a spreadsheet of ``packed`` bytes, without the empty ones."""
        number = 0
        for row in book.elements(sheet.part, "row"):
            number = int(row.get("r") or number + 1)
            if number > _LAST_ROW:
                raise FeedError("not_well_formed", f"a row beyond {_LAST_ROW}", line=number)
            self._line = number
            texts, size = cells.of(row, number)
            # one text may be shared by the cells of a million rows, and each of them has its whole length
            self._expanded += size
            check_expansion(self._expanded, packed, self._limits)
            if texts:
                yield number, texts, size

    def _take_header(self, rows: Iterator[_Row]) -> Callable[[bytes], bytes]:
        """Take the first row with more than one cell, which names the columns: a lone cell above is a title."""
        empty = True
        for number, cells, size in rows:
            if _names_columns(cells):
                if size > self._limits.record:
                    detail = f"a header of more than {self._limits.record} bytes"
                    raise over_limit("record", detail, line=number)
                self._set_header(cells, number)
                return seeded("xlsx", "\x00".join(cells))
            empty = False
        if empty:
            raise FeedError("empty_file", "the sheet is empty")
        raise FeedError("bad_header", "no row of the sheet has the names of two columns or more", line=1)

    def _records(self, batch: list[_Row], digest: Callable[[bytes], bytes]) -> Iterator[Record]:
        raws = [repr(cells).encode("utf-8", "surrogatepass") for _, cells, _ in batch]
        digests = list(map(digest, raws))
        known = self._ask(digests)
        for (number, cells, _), raw, own in zip(batch, raws, digests, strict=True):
            self._line = number
            if own in known:
                yield Record(self._next(), number, own)
            else:
                missing = [""] * (len(self._keys) - len(cells))
                yield self._new([*cells, *missing], cells, len(raw), own)


def _names_columns(cells: list[str]) -> bool:
    return sum(map(bool, map(str.strip, cells))) > 1


def _batches(rows: Iterator[_Row]) -> Iterator[list[_Row]]:
    batch: list[_Row] = []
    size = 0
    for row in rows:
        *_, row_size = row
        batch.append(row)
        size += row_size
        if len(batch) == _MAX_BATCH or size > _MAX_BATCH_SIZE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


@contextmanager
def _reading() -> Iterator[None]:
    """Raise FeedError ``not_well_formed`` for a cell or style that is not a number, or has the number of none."""
    try:
        yield
    except (ValueError, IndexError, OverflowError) as error:
        raise FeedError("not_well_formed", f"a damaged spreadsheet: {error}") from None


class Cells:
    """The cells of a row as texts, as a CSV has them. Raise FeedError ``limit_exceeded`` for too many columns, and for a row of
    more bytes than a reader may hold; ValueError, IndexError for a cell with the number of no text or style."""

    def __init__(self, book: Book, texts: Texts, limits: FeedLimits) -> None:
        self._texts, self._dates, self._limits = texts, book.dates, limits
        self._epoch = datetime(1904, 1, 1) if book.since_1904 else datetime(1899, 12, 30)  # noqa: DTZ001

    def of(self, row: etree._Element, number: int) -> tuple[list[str], int]:
        """Return the cells of a row up to the last that has a value, and their size in bytes. ``number`` is the row's."""
        texts: list[str] = []
        column = size = 0
        size_of, most = self._texts.size, self._limits.text
        for cell in row:
            place = cell.get("r")
            column = _column(place.rstrip("0123456789")) if place else column + 1
            kind = cell.get("t") or "n"
            content = _content(cell, kind)
            if not content:
                continue
            size += size_of(int(content)) if kind == "s" else len(content)
            if size > most:
                raise over_limit("text", f"a row of more than {most} bytes", line=number)
            if value := self._value(content, kind, cell):
                if column > self._limits.columns:
                    raise over_limit("columns", f"more than {self._limits.columns} columns", line=number)
                texts += [""] * (column - len(texts))
                texts[column - 1] = value
        while texts and not texts[-1].strip():
            texts.pop()
        return texts, size

    def _value(self, content: str, kind: str, cell: etree._Element) -> str:
        match kind:
            case "s":
                return self._texts.get(int(content))
            case "b":
                return "TRUE" if content.strip() in ("1", "true") else "FALSE"
            case "n":
                style = cell.get("s")
                return self._date(float(content)) if style and int(style) in self._dates else _number(content)
        return content

    def _date(self, serial: float) -> str:
        """Return ISO 8601: a date, with the time if it is not midnight, or a time alone within the first day."""
        if not 0 <= serial <= _LAST_DAY:
            return _number(repr(serial))
        if serial < 60 and self._epoch.year == 1899:
            serial += serial >= 1  # spreadsheets count a 29 February 1900, which did not exist
        moment = self._epoch + timedelta(seconds=round(serial * _DAY))
        if serial < 1:
            return moment.strftime("%H:%M:%S")
        return moment.strftime("%Y-%m-%d" if moment.time() == moment.time().min else "%Y-%m-%dT%H:%M:%S")


def _content(cell: etree._Element, kind: str) -> str:
    """Return the content of a cell in the sheet itself: its text, or a number, which may be that of a shared text."""
    if kind == "inlineStr":
        return plain_text(cell)
    for child in cell:
        if local(child) == "v":
            return child.text or ""
    return ""


def _number(text: str) -> str:
    """Return a number as a person writes it: without ``.0``, and without the last digits that binary fractions add."""
    text = text.strip()
    if text.removeprefix("-").isdecimal():
        return text
    value = float(text)
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else format(value, ".15g")


@cache
def _column(letters: str) -> int:
    """Return the number of a column; ``A`` is 1. Raise ValueError."""
    if not letters.isalpha() or not letters.isascii() or len(letters) > 3:
        raise ValueError(f"no column {letters[:9]!r}")
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number
