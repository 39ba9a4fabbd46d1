"""What the readers of tables (CSV and spreadsheets) have in common: a header, and rows of its length."""

from __future__ import annotations

from syncd.domain import FeedLimits
from syncd.errors import FeedError, Problem
from syncd.feeds.readers.base import BaseReader
from syncd.feeds.readers.records import ERRORS, Format, Known
from syncd.feeds.readers.source import Utf8Source
from syncd.feeds.readers.spec import header_key


class TableReader(BaseReader):
    """A reader whose records are rows below a header."""

    format: Format = "csv"

    def __init__(self, source: Utf8Source, limits: FeedLimits, known: Known | None) -> None:
        super().__init__(source, limits, known)
        self._keys: list[str] = []

    def _set_header(self, cells: list[str], line: int) -> None:
        """Take the names of the columns from ``cells``. Raise FeedError ``limit_exceeded``, ``bad_header``."""
        keys = [header_key(name) for name in cells]
        _check_header(cells, keys, self._limits, line)
        self.header, self._keys = cells, keys
        self.mended = ERRORS in keys

    def _ragged(self, row: list[str]) -> Problem:
        """The problem of a row that has not as many cells as the header."""
        detail = f"the row has {len(row)} cells, the header {len(self._keys)}"
        return Problem("", "ragged_row", detail, len(row))


def _check_header(cells: list[str], keys: list[str], limits: FeedLimits, line: int) -> None:
    """Raise FeedError ``limit_exceeded``, and ``bad_header`` for columns without a name or with the same name."""
    if len(cells) > limits.columns:
        detail = f"{len(cells)} columns, more than {limits.columns} ([limits] columns)"
        raise FeedError("limit_exceeded", detail, line=line)
    empty = [str(n) for n, key in enumerate(keys, 1) if not key]
    twice = sorted(
        {name.strip() for name, key in zip(cells, keys, strict=True) if key and keys.count(key) > 1}
    )
    faults = [f"column {', '.join(empty)} has no name"] if empty else []
    faults += [f"more than one column is named {', '.join(map(repr, twice))}"] if twice else []
    if faults:
        raise FeedError("bad_header", "; ".join(faults), line=line)
