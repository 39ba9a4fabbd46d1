"""The cells of a spreadsheet's row as texts, as a CSV has them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache

from lxml import etree

from syncd.errors import FeedError
from syncd.feeds.readers.xlsx.book import plain_text
from syncd.feeds.readers.xml import local

_DAY = 86400
#: 31 December 9999, counted from 1900: there are no dates beyond.
_LAST_DAY = 2_958_465


class Cells:
    """``text_of`` returns a shared text by its number. Raise FeedError ``limit_exceeded``; ValueError, IndexError for a
    cell that refers to what does not exist."""

    def __init__(
        self, text_of: Callable[[int], str], dates: frozenset[int], most: int, *, since_1904: bool
    ) -> None:
        self._text_of, self._dates, self._most = text_of, dates, most
        self._epoch = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 30)  # noqa: DTZ001

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
                raise FeedError("limit_exceeded", f"more than {self._most} columns ([limits] columns)")
            while len(found) < column:
                found.append("")
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
                return self._text_of(int(value))
            case "b" if value:
                return "TRUE" if value.strip() in ("1", "true") else "FALSE"
            case "n" if value:
                style = cell.get("s")
                return self.date(float(value)) if style and int(style) in self._dates else number(value)
        return value

    def date(self, serial: float) -> str:
        """Return ISO 8601: a date, with the time if it is not midnight, or a time alone within the first day."""
        if not 0 <= serial <= _LAST_DAY:
            return number(repr(serial))
        if serial < 60 and self._epoch.year == 1899:
            serial += serial >= 1  # spreadsheets count a 29 February 1900, which did not exist
        moment = self._epoch + timedelta(seconds=round(serial * _DAY))
        if serial < 1:
            return moment.strftime("%H:%M:%S")
        return moment.strftime("%Y-%m-%d" if moment.time() == moment.time().min else "%Y-%m-%dT%H:%M:%S")


def number(text: str) -> str:
    """Return a number as a person writes it: without ``.0``, and without the last digits that binary fractions add."""
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
