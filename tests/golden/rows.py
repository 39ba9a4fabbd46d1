"""The rows of a store, read with SQLite directly."""

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.golden.golden import MASK, comments_masked, masked

#: Table → columns that differ each time; table → columns of prose.
_PASSING = {
    "api_key": ("digest", "last_used_at"),
    "run": ("claimed_name", "phases"),
    "history": ("request_id",),
}
_PROSE = {"run": ("reason", "withheld"), "run_warning": ("detail",)}
#: Table → columns of JSON that contains prose.
_JSON_PROSE = {"run_rejected": ("errors",), "run_plan": ("payload",)}


def rows(database: Path, table: str, order: str = "1", where: str = "1") -> list[dict[str, Any]]:
    """Return the rows of a table as dicts. Bytes become text where they are JSON, otherwise hex."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        found = connection.execute(f"SELECT * FROM {table} WHERE {where} ORDER BY {order}")
        return [_plain(table, dict(row)) for row in found]


def _plain(table: str, row: dict[str, Any]) -> dict[str, Any]:
    for name, value in row.items():
        if isinstance(value, bytes):
            row[name] = value.decode() if value[:1] in (b"{", b"[") and value.isascii() else value.hex()
    _mask(row, (*_PASSING.get(table, ()), *_PROSE.get(table, ())))
    if table == "run_unknown":
        row["toml"] = comments_masked(row["toml"])
    for name in _JSON_PROSE.get(table, ()):
        row[name] = json.dumps(masked(json.loads(row[name])), ensure_ascii=False)
    return row


def _mask(row: dict[str, Any], names: Iterable[str]) -> None:
    for name in names:
        row[name] = None if row[name] is None else MASK
