"""LIKE patterns in which nothing but the ends is a wildcard."""

from __future__ import annotations

_LITERAL = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})


def contains(term: str) -> str:
    """The pattern for "contains ``term``", to be used with ``ESCAPE '\\'``."""
    return f"%{term.translate(_LITERAL)}%"
