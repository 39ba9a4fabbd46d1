"""What a backup has in it, as text and as JSON."""

from __future__ import annotations

from typing import Any

from syncd.store import Backup

#: Name in text and JSON → the table whose rows it counts.
COUNTED = {
    "employers": "employer",
    "keys": "api_key",
    "jobs": "job",
    "changes": "history",
    "feeds": "feed",
    "runs": "run",
}


def backup_json(made: Backup) -> dict[str, Any]:
    return {
        "madeAt": made.made_at,
        "size": made.size,
        "schema": made.schema,
        "counts": _counts(made),
        "digest": made.digest,
    }


def backup_text(made: Backup) -> str:
    """Return the counts and the size in words."""
    counts = ", ".join(f"{count:,} {name}" for name, count in _counts(made).items())
    return f"{counts}; {made.size:,} bytes"


def _counts(made: Backup) -> dict[str, int]:
    return {name: made.rows.get(table, 0) for name, table in COUNTED.items()}
