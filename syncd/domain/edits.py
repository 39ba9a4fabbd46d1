"""Three-way edits for ``on_api_edit = "keep"`` (docs/reconciliation.md "Edits through the API"): short
digests of values, to tell what a person changed since a feed last wrote, and whether the feed's own value has
changed since."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from hashlib import blake2b

from syncd.domain.job import Location, Place, Salary

_LITERAL = 16
_SALARY = (
    ("amount", "amount"),
    ("maxAmount", "max_amount"),
    ("period", "period"),
    ("plusCommission", "plus_commission"),
)


def field_digests(sent_fields: Mapping[str, object]) -> dict[str, str]:
    """Wire name → digest of what was sent (the fields of a JobInput, locations already located).

    Stable between processes and versions of Python; equal for equal values."""
    return {name: digest(value) for name, value in sent_fields.items()}


def digest(value: object) -> str:
    """A short text that is the same exactly when the value is (trailing zeros of a decimal do not count)."""
    text = _canonical(value)
    if len(text) <= _LITERAL:
        return "=" + text
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=9).hexdigest()


def _canonical(value: object) -> str:
    """``value`` as text with its kind before it, so that no two kinds meet."""
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
        value = {name: getattr(value, attribute) for name, attribute in _SALARY}
    if isinstance(value, Mapping):
        return "{" + "\x1f".join(f"{name}:{_canonical(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, tuple):
        return "[" + "\x1f".join(map(_canonical, value)) + "]"
    raise TypeError(f"no digest for {type(value).__name__}")
