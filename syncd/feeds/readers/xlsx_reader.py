"""Spreadsheets (.xlsx): the rows of one sheet, as if they had been saved as CSV.

Dates are ISO 8601, whole numbers have no ``.0``, formulas are the value that was saved with them. Of merged cells the
first has the value and the others are empty, as in a CSV that Excel writes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from functools import cache
from itertools import islice

from lxml import etree

from syncd.errors import FeedError
from syncd.feeds.readers.records import ReadOptions, Record, TableReader, seeded
from syncd.feeds.readers.source import Opener, Utf8Source, check_expansion, over_limit
from syncd.feeds.readers.xlsx_book import Book, Texts, plain_text
from syncd.feeds.readers.xml import local
from syncd.feeds.readers.zip_archive import ZipArchive

#: A sheet has no more rows than this in any program.
_LAST_ROW = 1_048_576
_BATCH = 500
_DAY = 86400
#: 31 December 9999, counted from 1900: there are no dates beyond.
_LAST_DAY = 2_958_465
_Row = tuple[int, list[str]]


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
            rows = self._rows(book, Cells(book, texts, self._limits.columns))
            digest = self._take_header(rows)
            while batch := list(islice(rows, _BATCH)):
                self.bytes_read = archive.place
                yield from self._records(batch, digest, archive.size)
            self.bytes_read = archive.place

    def _rows(self, book: Book, cells: Cells) -> Iterator[_Row]:
        """(row number, its cells), without the empty ones."""
        number = 0
        for row in book.elements(book.sheet(self._sheet).part, "row"):
            number = int(row.get("r") or number + 1)
            if number > _LAST_ROW:
                raise FeedError("not_well_formed", f"a row beyond {_LAST_ROW}", line=number)
            self._line = number
            if found := cells.of(row):
                yield number, found

    def _take_header(self, rows: Iterator[_Row]) -> Callable[[bytes], bytes]:
        """The first row with more than one cell names the columns: a lone cell above is a title."""
        empty = True
        for number, cells in rows:
            if sum(map(bool, map(str.strip, cells))) > 1:
                self._set_header(cells, number)
                return seeded("xlsx", "\x00".join(cells))
            empty = False
        if empty:
            raise FeedError("empty_file", "the sheet is empty")
        raise FeedError("bad_header", "no row of the sheet has the names of two columns or more", line=1)

    def _records(self, batch: list[_Row], digest: Callable[[bytes], bytes], packed: int) -> Iterator[Record]:
        raws = [repr(cells).encode("utf-8", "surrogatepass") for _, cells in batch]
        # one text may be shared by the cells of a million rows, and each of them has its whole length
        self._expanded += sum(map(len, raws))
        check_expansion(self._expanded, packed, self._limits)
        digests = list(map(digest, raws))
        known = self._ask(digests)
        for (number, cells), raw, own in zip(batch, raws, digests, strict=True):
            self._line = number
            if own in known:
                yield Record(self._next(), number, own)
            else:
                missing = [""] * (len(self._keys) - len(cells))
                yield self._new([*cells, *missing], cells, len(raw), own)


@contextmanager
def _reading() -> Iterator[None]:
    """Raise FeedError ``not_well_formed`` for a cell or style that refers to what does not exist, or is not a number."""
    try:
        yield
    except (ValueError, IndexError, OverflowError) as error:
        raise FeedError("not_well_formed", f"a damaged spreadsheet: {error}") from None


class Cells:
    """The cells of a row as texts, as a CSV has them; at most ``most``. Raise FeedError ``limit_exceeded``; ValueError,
    IndexError for a cell that refers to what does not exist."""

    def __init__(self, book: Book, texts: Texts, most: int) -> None:
        self._texts, self._dates, self._most = texts, book.dates, most
        self._epoch = datetime(1904, 1, 1) if book.since_1904 else datetime(1899, 12, 30)  # noqa: DTZ001

    def of(self, row: etree._Element) -> list[str]:
        """Return the row's cells up to the last that has a value."""
        found: list[str] = []
        column = 0
        for cell in row:
            place = cell.get("r")
            column = _column(place.rstrip("0123456789")) if place else column + 1
            value = self._value(cell)
            if not value:
                continue
            if column > self._most:
                raise over_limit("columns", f"more than {self._most} columns")
            found += [""] * (column - len(found))
            found[column - 1] = value
        while found and not found[-1].strip():
            found.pop()
        return found

    def _value(self, cell: etree._Element) -> str:
        kind = cell.get("t") or "n"
        if kind == "inlineStr":
            return plain_text(cell)
        value = next((child.text or "" for child in cell if local(child) == "v"), "")
        match kind:
            case "s" if value:
                return self._texts.get(int(value))
            case "b" if value:
                return "TRUE" if value.strip() in ("1", "true") else "FALSE"
            case "n" if value:
                style = cell.get("s")
                return self._date(float(value)) if style and int(style) in self._dates else _number(value)
        return value

    def _date(self, serial: float) -> str:
        """ISO 8601: a date, with the time if it is not midnight, or a time alone within the first day."""
        if not 0 <= serial <= _LAST_DAY:
            return _number(repr(serial))
        if serial < 60 and self._epoch.year == 1899:
            serial += serial >= 1  # spreadsheets count a 29 February 1900, which did not exist
        moment = self._epoch + timedelta(seconds=round(serial * _DAY))
        if serial < 1:
            return moment.strftime("%H:%M:%S")
        return moment.strftime("%Y-%m-%d" if moment.time() == moment.time().min else "%Y-%m-%dT%H:%M:%S")


def _number(text: str) -> str:
    """A number as a person writes it: without ``.0``, and without the last digits that binary fractions add."""
    text = text.strip()
    if text.removeprefix("-").isdecimal():
        return text
    value = float(text)
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else format(value, ".15g")


@cache
def _column(letters: str) -> int:
    """``A`` is 1. Raise ValueError."""
    if not letters.isalpha() or not letters.isascii() or len(letters) > 3:
        raise ValueError(f"no column {letters[:9]!r}")
    found = 0
    for letter in letters.upper():
        found = found * 26 + ord(letter) - 64
    return found
