"""The dialect of a CSV: its delimiter and line end, found in the header and the first records."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from itertools import islice

from syncd.errors import FeedError

DELIMITERS = ",;\t|"
_SAMPLE = 1 << 18
_RECORDS = 21
_SEP = re.compile(rb"sep=([^\r\n])[^\r\n]*(?:\r\n|\n|\r)", re.IGNORECASE)
_FIRST_END = re.compile(rb'(?:[^"\r\n]++|"[^"]*+(?:"|\Z))*+(\r\n|\n|\r)')


@dataclass(frozen=True, slots=True)
class Dialect:
    """``skip`` is the length of a ``sep=;`` line before the header."""

    delimiter: str
    line_end: bytes
    skip: int = 0


def find_dialect(head: bytes, setting: str | None, *, guessed: bool) -> Dialect:
    """Return the dialect of a file that begins with ``head``.

    ``setting`` is the feed's own delimiter. It wins over a ``sep=`` line, and that over the scores. ``guessed``: nobody
    said that this is a CSV, so a file with one column is refused. Raise FeedError ``not_a_feed``."""
    line = _SEP.match(head)
    skip = line.end() if line else 0
    found = setting or (line.group(1).decode("latin-1") if line else None) or _best(head[skip:])
    if found is None and guessed:
        raise FeedError("not_a_feed", "neither XML nor JSON, and no delimiter splits its first line", line=1)
    end = _FIRST_END.match(head, skip)
    return Dialect(found or ",", end.group(1) if end else b"\n", skip)


def _best(head: bytes) -> str | None:
    """The delimiter with which most records have as many cells as their header; of two alike, the one with more
    columns."""
    text = head[:_SAMPLE].decode("utf-8", "replace")
    complete = len(head) < _SAMPLE
    scored = [(*_score(text, delimiter, complete=complete), delimiter) for delimiter in DELIMITERS]
    best = max(scored, key=lambda entry: entry[:2])
    return best[2] if best[1] > 1 else None


def _score(text: str, delimiter: str, *, complete: bool) -> tuple[float, int]:
    """The share of the sampled records that have as many cells as the header, and the number of these."""
    try:
        rows = [
            row for row in islice(csv.reader(text.splitlines(True), delimiter=delimiter), _RECORDS + 1) if row
        ]
    except csv.Error:
        return 0.0, 0
    if len(rows) > 1 and not complete and len(rows) <= _RECORDS:
        rows.pop()  # cut off by the end of the sample
    if not rows or len(rows[0]) < 2:
        return 0.0, len(rows[0]) if rows else 0
    same = sum(len(row) == len(rows[0]) for row in rows)
    return same / len(rows), len(rows[0])
