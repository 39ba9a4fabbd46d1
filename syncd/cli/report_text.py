"""Parts of a report as texts for a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from syncd.cli.output import bold, clean

#: Columns of a table that goes to a file or a pipe.
WIDTH = 160


def print_kinds(heading: str, kinds: Sequence[tuple[int, str, str, str]]) -> None:
    """Print a table of ``kinds``: number, field, code and an example of each, the most frequent first."""
    if not kinds:
        return
    print(bold(heading))
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold", no_wrap=True)
    table.add_column(overflow="fold")
    for count, field, code, detail in kinds:
        cells = (f"  {count:,} ×", field, code, _cut(detail))
        table.add_row(*(Text(clean(cell)) for cell in cells))
    width = None if sys.stdout.isatty() else WIDTH
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def print_unknown(toml: str) -> None:
    """Print the unknown values of a file as lines that can be copied into the feed's file."""
    if toml:
        print(bold("unknown values, as lines for the feed's file:"))
        print("\n".join(clean(line) for line in toml.splitlines()))


def place_of(row: dict[str, Any]) -> str:
    """Return a place such as ``record 4711, line 23 of b.csv (R-17)``."""
    line = f", line {row['line']}" if row["line"] else ""
    member = f"{' of' if line else ', in'} {row['member']}" if row["member"] else ""
    return f"record {row['record']}{line}{member} ({row['referenceId'] or 'no referenceId'})"


def _cut(text: str, most: int = 200) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
