"""python -m tests.e2e.store_copies [--jobs 100000]

Copies a store from SQLite to PostgreSQL and from there to SQLite, with ``syncd store copy``, and compares the two files row by
row. The store has what imports, the API's keys and the operator leave: jobs, their history, runs, rejected rows."""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import Any

from syncd.cli.entry import run
from syncd.store import copying
from tests.e2e.conftest import EMPLOYER, Installation, csv_text, row
from tests.stores import end_server, server


def syncd(*arguments: object) -> None:
    """Run a command, which must not fail."""
    shown = StringIO()
    with redirect_stdout(shown), redirect_stderr(shown):
        code = run([str(argument) for argument in arguments])
    assert code == 0, shown.getvalue()


def fill(base: Path, jobs: int) -> Path:
    """Make a store with this number of jobs in ``base``, and return its file: a third of them are changed twice, a tenth is
    archived, some rows were rejected."""
    installation = Installation(base, None)
    installation.feed("acme", f'employer = "{EMPLOYER}"\nmax_archive = {{ percent = 100, jobs = 1000000 }}\n')
    own = ("--config", installation.config)
    syncd(*own, "employer", "add", EMPLOYER)
    syncd(*own, "key", "create", EMPLOYER)
    for day, first in enumerate((0, 0, jobs // 10)):
        rows = [row(f"A-{n}", f"Bäcker {n} {day if n % 3 == 0 else 0}") for n in range(first, jobs)]
        rows += [row(f"B-{day}", title="")]
        path = base / f"day{day}.csv"
        path.write_text(str(csv_text(rows)))
        syncd(*own, "import", path, "--feed", "acme")
    return base / "var" / "syncd.db"


def rows_of(path: Path, table: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table in one order, but for what each store has for itself."""
    with closing(sqlite3.connect(path)) as connection:
        where = "WHERE name NOT IN ('job_search') AND name NOT LIKE 'commit %'" if table == "setting" else ""
        key = [
            name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?) WHERE pk", (table,))
        ]
        yield from connection.execute(f"SELECT * FROM {table} {where} ORDER BY {', '.join(key)}")


def compare(one: Path, other: Path) -> dict[str, int]:
    """Return how many rows each table has in both. Raises AssertionError if one row differs."""
    counts = {}
    for table in [table.name for table in copying._TABLES]:
        counts[table] = 0
        for found, copy in zip_longest(rows_of(one, table), rows_of(other, table)):
            assert found == copy, (table, found, copy)
            counts[table] += 1
    with closing(sqlite3.connect(one)) as first, closing(sqlite3.connect(other)) as second:
        ids = "SELECT name, seq FROM sqlite_sequence ORDER BY name"
        assert dict(first.execute(ids)).items() <= dict(second.execute(ids)).items()
    return counts


def try_out(base: Path, jobs: int) -> tuple[dict[str, int], list[float]]:
    """Make a store, copy it there and back, and compare; return the rows by table, and the seconds of the two copies."""
    source, back = fill(base, jobs), base / "back.db"
    name = server().new_database()
    seconds = []
    for one, other in (
        (f"sqlite:///{source}", server().url(name)),
        (server().url(name), f"sqlite:///{back}"),
    ):
        began = time.monotonic()
        syncd("store", "copy", one, other)
        seconds.append(time.monotonic() - began)
    server().sql(f"DROP DATABASE {name} WITH (FORCE)")
    return compare(source, back), seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    options = parser.parse_args()
    base = Path(tempfile.mkdtemp())
    try:
        counts, (there, back) = try_out(base, options.jobs)
    finally:
        end_server()
    shutil.rmtree(base)
    filled = ", ".join(f"{count} {table}" for table, count in counts.items() if count)
    print(f"to PostgreSQL in {there:.0f} s, back in {back:.0f} s; equal row by row: {filled}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
