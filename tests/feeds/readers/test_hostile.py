"""Readers: no input makes them hang or use too much memory (see hostile_inputs.py)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.amounts import nightly

SCRIPT = Path(__file__).with_name("hostile_inputs.py")
ROOT = SCRIPT.parents[3]


def names() -> list[str]:
    out = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True, env=env())
    found: list[str] = json.loads(out.stdout)
    return found


def env() -> dict[str, str]:
    """Return the environment of a process whose time and memory are measured, so coverage must not run in it."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    return {**inherited, "PYTHONPATH": str(ROOT)}


#: What takes seconds each time, of kinds that others have, too.
SLOW = frozenset(
    {
        "csv: a header of 1 GiB",
        "csv: a quoted cell of line ends",
        "csv: columns without end",
        "gzip: a text",
        "gzip: rows",
        "json: a list without end",
        "json: a name of 1 GiB",
        "json: a single object of 1 GiB",
        "json: a text of 1 GiB",
        "json: depth before the records",
        "lenient: depth without end",
        "xlsx: a shared text",
        "xlsx: one text in every row",
        "xml: a name of 1 GiB",
        "xml: references without end",
        "xml: no record in 1 GiB",
        "lenient: a comment after the root",
        "lenient: roots without end",
        "json: a key of 1 GiB",
        "json: a key of escapes",
        "json: escapes without end",
        "json: a number of 1 GiB before the records",
        "xlsx: rows",
        "zip: rows",
    }
)


def each_input() -> list[object]:
    found = names()
    assert set(found) >= SLOW
    return [pytest.param(name, marks=nightly) if name in SLOW else name for name in found]


@pytest.mark.parametrize("name", each_input())
def test_a_hostile_input_fails_in_time_and_in_little_memory(name):
    out = subprocess.run(
        [sys.executable, SCRIPT, name], capture_output=True, text=True, check=True, env=env(), timeout=120
    )
    expected, found, loops, peak, *_ = json.loads(out.stdout)
    assert found == expected
    assert (
        loops < 400
    )  # three times what the slowest takes; a reader that goes over its input again takes thousands
    assert peak < 300
