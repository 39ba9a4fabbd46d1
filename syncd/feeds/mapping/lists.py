"""What the fields that are lists have in common: how many items are sent."""

from __future__ import annotations

from typing import Any

from syncd.feeds.mapping.field_compilers import FieldExpression
from syncd.feeds.row_log import RowLog


def most_items(given: FieldExpression) -> int | None:
    """Return how many items are kept. With ``too_many = "reject"`` all are sent, and the rules refuse them."""
    return None if given.choice("too_many", "first", "reject") == "reject" else given.field.most


def first_few(items: list[Any], name: str, most: int | None, log: RowLog) -> list[Any]:
    """Return the first ``most`` items, with a warning if there are more."""
    if most is not None and len(items) > most:
        log.note(f"too_many_{name}", f"{len(items)} {name}; the first {most} count")
    return items[:most]
