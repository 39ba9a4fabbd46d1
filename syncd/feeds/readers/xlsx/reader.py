"""Spreadsheets (.xlsx): the rows of one sheet, as if they had been saved as CSV.

Dates are ISO 8601, whole numbers have no ``.0``, formulas are the value that was saved with them. Of merged cells the
first has the value and the others are empty, as in a CSV that Excel writes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.base import too_long
from syncd.feeds.readers.digest import seeded
from syncd.feeds.readers.packed import Opener, check_expansion
from syncd.feeds.readers.records import Known, Record
from syncd.feeds.readers.source import Utf8Source
from syncd.feeds.readers.spec import ReadSpec
from syncd.feeds.readers.table import TableReader
from syncd.feeds.readers.xlsx.book import Book
from syncd.feeds.readers.xlsx.cells import Cells
from syncd.feeds.readers.zip_archive import ZipArchive

#: A sheet has no more rows than this in any program.
_LAST_ROW = 1_048_576
_BATCH = 500
_Row = tuple[int, list[str]]


class XlsxReader(TableReader):
    """See FeedReader; its format is "csv", and its lines are the rows of the sheet. ``sheets`` has the names of those
    that are not hidden. Raise FeedError ``bad_header``, ``empty_file``, ``no_records_path`` (no such sheet),
    ``bad_archive``, ``not_well_formed``, ``limit_exceeded``, ``forbidden_dtd``."""

    def __init__(
        self, opener: Opener, spec: ReadSpec, limits: FeedLimits, known: Known | None, archive: ZipArchive
    ) -> None:
        if spec.format not in (None, "csv"):
            detail = f"this is a spreadsheet, which is read like CSV, but [read] format is {spec.format!r}"
            raise FeedError("not_a_feed", detail)
        with _reading():
            book = Book(archive, limits)
            sheet = book.sheet(spec.sheet)
        self.sheets = [other.name for other in book.sheets if other.visible]
        # a spreadsheet has no text of its own; the sheet's name takes its place
        super().__init__(
            Utf8Source(lambda: io.BytesIO(f"{sheet.name}\n".encode()), "utf-8", limits), limits, known
        )
        self._opener, self._sheet = opener, spec.sheet
        self.size = 0

    def __iter__(self) -> Iterator[Record]:
        with closing(ZipArchive(self._opener(), self._limits)) as archive, _reading():
            book = Book(archive, self._limits)
            with closing(book.texts()) as texts:
                cells = Cells(texts.__getitem__, book.dates, self._limits.columns, since_1904=book.since_1904)
                rows = self._rows(book, cells)
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
        titles = 0
        for number, cells in rows:
            if sum(map(bool, map(str.strip, cells))) > 1:
                self._set_header(cells, number)
                return seeded("xlsx", "\x00".join(cells))
            titles += 1
        if titles:
            raise FeedError("bad_header", "no row of the sheet has the names of two columns or more", line=1)
        raise FeedError("empty_file", "the sheet is empty")

    def _records(self, batch: list[_Row], digest: Callable[[bytes], bytes], packed: int) -> Iterator[Record]:
        raws = [repr(cells).encode("utf-8", "surrogatepass") for _, cells in batch]
        # one text may be shared by the cells of a million rows, and each of them has its whole length
        self.size += sum(map(len, raws))
        check_expansion(self.size, packed, self._limits)
        digests = list(map(digest, raws))
        known = self._ask(digests)
        for (number, cells), raw, own in zip(batch, raws, digests, strict=True):
            self._line = number
            if own in known:
                yield Record(self._next(), number, None, own, None)
                continue
            problem = too_long(len(raw), self._limits)
            if problem is None and len(cells) > len(self._keys):
                problem = self._ragged(cells)
            missing = [""] * (len(self._keys) - len(cells))
            item = dict(zip(self._keys, [*cells, *missing], strict=False))
            yield Record(self._next(), number, None, own, item, problem, partial(list, cells))


@contextmanager
def _reading() -> Iterator[None]:
    """Raise what a cell or style that refers to what does not exist, or is not a number, causes as FeedError
    ``not_well_formed``."""
    try:
        yield
    except (ValueError, IndexError, OverflowError) as error:
        raise FeedError("not_well_formed", f"a damaged spreadsheet: {error}") from None
