"""How the store keeps instants, text and what is only read back whole."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_encode = msgspec.json.Encoder().encode


def micros(instant: datetime) -> int:
    """Return microseconds since 1970."""
    return (instant - _EPOCH) // _MICROSECOND


def optional_micros(instant: datetime | None) -> int | None:
    return None if instant is None else micros(instant)


def instant_of(value: int) -> datetime:
    return _EPOCH + timedelta(0, 0, value)


def optional_instant(value: int | None) -> datetime | None:
    return None if value is None else instant_of(value)


def to_json(value: object) -> str:
    """Return compact JSON; decimals as strings, dates as ISO text."""
    return _encode(value).decode()


def clean(text: str) -> str:
    """Return ``text`` without lone surrogates, which no database takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def optional_clean(text: str | None) -> str | None:
    return None if text is None else clean(text)
