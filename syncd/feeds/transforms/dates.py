"""Dates as employers write them → ``YYYY-MM-DD``. A format is chosen by the mapping, never guessed from the
text.

Of a date with a time the calendar date is kept as written; no zone is applied."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from email.utils import parsedate
from functools import lru_cache

from syncd.feeds.transforms.text import spelled

Parse = Callable[[str], date | None]

_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?=[T ]\d|\Z)", re.ASCII)
_SERIAL = re.compile(r"\d{5}(?:\.\d+)?\Z", re.ASCII)
_EPOCH = re.compile(r"-?\d{1,15}(?:\.\d+)?\Z", re.ASCII)
#: Named formats, beside those of strptime.
NAMES = ("iso", "rfc822", "epoch", "epoch_ms", "excel")


def compile_dates(formats: Sequence[str]) -> Callable[[object], str | None]:
    """A function from a value to ``YYYY-MM-DD``, or None if none of ``formats`` fits. ValueError: a format
    is no format."""
    parsers = [_parser(name) for name in formats]

    @lru_cache(maxsize=4096)
    def parse(text: str) -> str | None:
        for parser in parsers:
            found = parser(text)
            if found is not None:
                return found.isoformat()
        return None

    return lambda value: parse(spelled(value)[:100].strip())


def _parser(name: str) -> Parse:
    named: dict[str, Parse] = {
        "iso": _iso,
        "rfc822": _rfc822,
        "epoch": _epoch(1),
        "epoch_ms": _epoch(1000),
        "excel": _excel,
    }
    if name in named:
        return named[name]
    if "%" not in name:
        raise ValueError(f"is neither a strptime format nor one of {', '.join(NAMES)}")
    return _strptime(name)


def _strptime(form: str) -> Parse:
    sample = datetime(2027, 11, 23)  # noqa: DTZ001 - a calendar date, no instant
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a day without a year: newer Pythons warn, and may choose a year
            whole = datetime.strptime(sample.strftime(form), form).date() == sample.date()  # noqa: DTZ007
    except DeprecationWarning:
        whole = False
    except ValueError as error:
        raise ValueError(f"is no date format: {error}") from None
    if not whole:
        raise ValueError("does not give a whole date (year, month and day)")

    def parse(text: str) -> date | None:
        try:
            return datetime.strptime(text, form).date()  # noqa: DTZ007
        except ValueError:
            return None

    return parse


def _iso(text: str) -> date | None:
    found = _ISO.match(text)
    return _date(int(found[1]), int(found[2]), int(found[3])) if found else None


def _rfc822(text: str) -> date | None:
    parts = parsedate(text) if len(text) < 100 else None
    return _date(*parts[:3]) if parts else None


def _epoch(scale: int) -> Parse:
    def parse(text: str) -> date | None:
        if not _EPOCH.match(text):
            return None
        try:
            return datetime.fromtimestamp(float(Decimal(text) / scale), UTC).date()
        except (ValueError, OverflowError, OSError):
            return None

    return parse


def _excel(text: str) -> date | None:
    """The day number of a spreadsheet (1 is 1900-01-01, with the leap day that 1900 did not have)."""
    return date(1899, 12, 30) + timedelta(days=int(text.partition(".")[0])) if _SERIAL.match(text) else None


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
