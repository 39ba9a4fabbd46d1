"""Parsers of the values that settings and feed files hold, as TOML gives them: one grammar for both.

Each parser returns the value, or raises ValueFault with what it must be. None knows of files, keys or the
environment: the caller adds these to the fault, and converts the texts of the environment beforehand."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

UNITS_OF_TIME = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
UNITS_OF_SIZE = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "KB": 10**3, "MB": 10**6, "GB": 10**9}
LONGEST_DAYS = 36_600
LARGEST_COUNT = 10_000_000

_DURATION = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*(ms|[smhdw])")
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,6})?)\s*([A-Za-z]+)")
_SIZE_FACTORS = {unit.lower(): factor for unit, factor in UNITS_OF_SIZE.items()}
_SHOWN = 60


class ValueFault(ValueError):
    """A value that its key does not take. The text says what it must be: ``must be true or false, not "yes"``."""


def shown(value: object) -> str:
    """Return ``value`` as its author wrote it, cut to a readable length."""
    if isinstance(value, bool):
        return "true" if value else "false"
    words = f'"{value}"' if isinstance(value, str) else str(value)
    return words if len(words) <= _SHOWN else words[: _SHOWN - 3] + "…"


def duration(value: object) -> timedelta:
    """Return the duration that a text such as ``2s``, ``10m`` or ``7d`` gives; ``"0"`` needs no unit."""
    text = value.strip() if isinstance(value, str) else ""
    if text == "0":
        return timedelta(0)
    found = _DURATION.fullmatch(text)
    if found is None:
        hint = f'; write "{text.lower()}"' if _DURATION.fullmatch(text.lower()) else ""
        raise ValueFault(f"must be a duration such as 2s, 10m, 12h or 7d, not {shown(value)}{hint}")
    seconds = float(found[1]) * UNITS_OF_TIME[found[2]]
    if seconds > LONGEST_DAYS * 86400:
        raise ValueFault(f"must be at most {LONGEST_DAYS}d")
    return timedelta(seconds=seconds)


def size(value: object) -> int:
    """Return the number of bytes: a whole number, or a text such as ``1MiB`` or ``10MB`` (in any case)."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise ValueFault("must not be negative")
        return value
    text = value.strip() if isinstance(value, str) else ""
    if text.isdecimal():
        return int(text)
    found = _SIZE.fullmatch(text)
    factor = _SIZE_FACTORS.get(found[2].lower()) if found else None
    if found is None or factor is None:
        raise ValueFault(f"must be a size such as 512KiB, 1MiB or 4GiB, not {shown(value)}")
    return int(float(found[1]) * factor)


def whole(low: int, high: int) -> Callable[[object], int]:
    """Return the parser of a whole number from ``low`` to ``high``."""

    def parse(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ValueFault(f"must be a whole number from {low} to {high}, not {shown(value)}")
        return value

    return parse


#: A number of rows, jobs or requests.
count = whole(0, LARGEST_COUNT)


def percent(value: object) -> float:
    """Return a percentage from 0 to 100."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise ValueFault(f"must be a percentage from 0 to 100, not {shown(value)}")
    return float(value)


def flag(value: object) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise ValueFault(f"must be true or false, not {shown(value)}")
    return value


def one_of(*choices: str) -> Callable[[object], str]:
    """Return the parser of a text that is one of ``choices``."""

    def parse(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueFault(f"must be {' or '.join(choices)}, not {shown(value)}")
        return value

    return parse


def text(value: object) -> str:
    """Return a text, which may be empty."""
    if not isinstance(value, str):
        raise ValueFault(f"must be text, not {shown(value)}")
    return value


def filled_text(value: object) -> str:
    """Return a text with more than white space in it."""
    found = text(value)
    if not found.strip():
        raise ValueFault(f"must be text, not {shown(value)}")
    return found
