"""Digests of field values for ``on_api_edit = "keep"`` (docs/reconciliation.md "Edits through the API"): they show which
fields a person has changed since a feed last wrote them, and whether the feed's own value has changed since."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from hashlib import blake2b

from syncd.domain.job import Location, Place, Salary
from syncd.domain.job_fields import SALARY_ATTRIBUTES

#: A longer text is hashed, a shorter one is its own digest.
_LITERAL = 16


def field_digests(sent_fields: Mapping[str, object]) -> dict[str, str]:
    """Return wire name → digest of what was sent: the fields of a JobInput, locations already located.

    Stable between processes and versions of Python; equal for equal values."""
    return {name: value_digest(value) for name, value in sent_fields.items()}


def value_digest(value: object) -> str:
    """Return a short text that is the same exactly if the value is; trailing zeros of a decimal do not count."""
    text = _canonical(value)
    if len(text) <= _LITERAL:
        return "=" + text
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=9).hexdigest()


def _canonical(value: object) -> str:
    """Return ``value`` as a text that begins with its kind, so that values of two kinds never have the same text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return "s" + value
    if isinstance(value, bool):
        return "b1" if value else "b0"
    if isinstance(value, int | Decimal):
        return "n" + format(Decimal(value).normalize(), "f")
    if isinstance(value, date):
        return "d" + value.isoformat()
    if isinstance(value, Place | Location):
        return "p" + value.description
    if isinstance(value, Salary):
        value = {name: getattr(value, attribute) for name, attribute in SALARY_ATTRIBUTES.items()}
    if isinstance(value, Mapping):
        return "{" + "\x1f".join(f"{name}:{_canonical(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, tuple):
        return "[" + "\x1f".join(map(_canonical, value)) + "]"
    raise TypeError(f"no digest for {type(value).__name__}")
