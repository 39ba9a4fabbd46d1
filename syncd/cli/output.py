"""Printing: aligned columns for people, JSON for programs. Results on standard output, remarks on standard
error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO


def print_json(value: object) -> None:
    """One line; exact decimals as numbers, instants in UTC with a Z."""
    import msgspec

    sys.stdout.write(msgspec.json.Encoder(decimal_format="number").encode(value).decode() + "\n")


def print_table(headings: Sequence[str], rows: Sequence[Sequence[object]], empty: str) -> None:
    """Columns as wide as their longest cell; nothing is cut. ``empty`` is a remark for when there are no
    rows."""
    if not rows:
        remark(empty)
        return
    cells = [[cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    for number, line in enumerate([list(headings), *cells]):
        text = "  ".join(part.ljust(width) for part, width in zip(line, widths, strict=True)).rstrip()
        print(bold(text) if number == 0 else text)


def cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return value.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return clean(str(value))


def clean(text: str) -> str:
    """Without what could steer a terminal: feeds are not to be trusted."""
    return "".join(character if character.isprintable() else " " for character in text)


def quoted(value: object, most: int = 80) -> str:
    """A value of a feed for one line: in quotes, cut."""
    words = clean(str(value))
    return f'"{words[:most]}"' + (f"… ({len(str(value))} characters)" if len(words) > most else "")


def bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() else text


def remark(text: str) -> None:
    print(text, file=sys.stderr)


def instant(value: datetime | None) -> str | None:
    """ISO 8601 in UTC with Z."""
    if value is None:
        return None
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that has its name only when it is whole: written beside it, made durable, renamed. What is no
    regular file (``/dev/stdout``, a pipe) is written to as it is. Raises OSError."""
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with draft.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def system_fault(error: OSError) -> str:
    """What the system refused, and where."""
    where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
    return f"{where}{error.strerror or error}"
