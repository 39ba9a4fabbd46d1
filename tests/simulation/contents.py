"""The files that partners send: from a short description to bytes, and what the law makes of these bytes."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from tests.sync.board import Board, Row
from tests.sync.native_files import as_csv, as_xml

#: How the names of files begin that a person imports.
IMPORTED = "import-"

#: Short descriptions of a row: reference, title, description, days until its close date (None: it has no date), status (None:
#: it sends none). An empty title is rejected.
ShortRow = tuple[str, str, str, int | None, str | None]
#: The kind, the rows, and the part that is left of a truncated file.
Short = tuple[str, Sequence[ShortRow], float]

_PAGE = (
    b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><form>Password</form></body></html>\n"
)


@dataclass(frozen=True, slots=True)
class Content:
    """``rows`` as a client of the API would send them. ``usable``: a run can use the file. ``whole``: what the file does not
    name is missing; it is not where a file has the mark of corrected rows."""

    data: bytes
    rows: tuple[Row, ...] = ()
    usable: bool = True
    whole: bool = True

    @property
    def counting(self) -> tuple[Row, ...]:
        """The rows without those that a later valid one with their reference replaces."""
        last = {row["referenceId"]: number for number, row in enumerate(self.rows) if row["title"]}
        return tuple(
            row
            for number, row in enumerate(self.rows)
            if not row["title"] or last[row["referenceId"]] == number
        )

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def body_of(row: ShortRow, today: date) -> Row:
    reference, title, description, days, status = row
    body = Board.row(reference, title=title, description=f"<p>{description}</p>")
    if days is not None:
        body["closeDate"] = str(today + timedelta(days))
    if status is not None:
        body["status"] = status
    return body


def content_of(short: Short, today: date) -> Content:
    """Return the file. Dates are counted from ``today``."""
    kind, short_rows, part = short
    rows = tuple(body_of(row, today) for row in short_rows)
    match kind:
        case "empty":
            return Content(b"", usable=False)
        case "page":
            return Content(_PAGE, usable=False)
        case "cut json":
            return Content(_cut(_json(rows), part), usable=False)
        case "cut xml":
            return Content(_cut(as_xml(rows).rstrip(), part), usable=False)
        case "xml":
            return Content(as_xml(rows), rows)
        case "csv":
            plain = tuple({name: value for name, value in row.items() if name != "status"} for row in rows)
            return Content(as_csv(plain).encode(), plain)
        case "corrected":
            return Content(
                _json([{"syncd_errors": "/title required", **row} for row in rows]), rows, whole=not rows
            )
        case _:
            return Content(_json(rows), rows)


def _json(rows: Sequence[Any]) -> bytes:
    return json.dumps(rows).encode()


def _cut(data: bytes, part: float) -> bytes:
    """Return less than the whole."""
    return data[: max(1, min(len(data) - 1, int(len(data) * part)))]
