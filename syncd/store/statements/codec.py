"""How the store keeps instants, text and what is only read back whole."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_encode = msgspec.json.Encoder().encode


def micros(instant: datetime) -> int:
    """Return microseconds since 1970."""
    return (instant - _EPOCH) // _MICROSECOND


def instant_of(value: int) -> datetime:
    return _EPOCH + timedelta(0, 0, value)


def to_json(value: object) -> str:
    """Return compact JSON; decimals as strings, dates as ISO text."""
    return _encode(value).decode()


def clean(text: str) -> str:
    """Return ``text`` without lone surrogates, which no database takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def optional(function: Callable[[Any], T]) -> Callable[[Any], T | None]:
    """Return ``function`` that returns None for None."""
    return lambda value: None if value is None else function(value)


optional_micros: Callable[[datetime | None], int | None] = optional(micros)
optional_instant: Callable[[int | None], datetime | None] = optional(instant_of)
optional_clean: Callable[[str | None], str | None] = optional(clean)
