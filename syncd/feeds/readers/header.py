"""The header of a table: the names of its columns."""

from __future__ import annotations

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.spec import header_key


def check_header(cells: list[str], limits: FeedLimits, line: int) -> None:
    """Raise FeedError ``limit_exceeded``, and ``bad_header`` for columns without a name or with the same name."""
    if len(cells) > limits.columns:
        detail = f"{len(cells)} columns, more than {limits.columns} ([limits] columns)"
        raise FeedError("limit_exceeded", detail, line=line)
    keys = [header_key(name) for name in cells]
    empty = [str(n) for n, key in enumerate(keys, 1) if not key]
    twice = sorted(
        {name.strip() for name, key in zip(cells, keys, strict=True) if key and keys.count(key) > 1}
    )
    faults = [f"column {', '.join(empty)} has no name"] if empty else []
    faults += [f"more than one column is named {', '.join(map(repr, twice))}"] if twice else []
    if faults:
        raise FeedError("bad_header", "; ".join(faults), line=line)
