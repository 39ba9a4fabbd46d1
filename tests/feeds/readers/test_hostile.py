"""Readers: no input makes them hang or use too much memory (see hostile_inputs.py)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.amounts import nightly
from tests.feeds.readers.hostile_inputs import INPUTS, SLOW

SCRIPT = Path(__file__).with_name("hostile_inputs.py")


@pytest.mark.parametrize("name", [*INPUTS, *(pytest.param(name, marks=nightly) for name in SLOW)])
def test_a_hostile_input_fails_in_time_and_in_little_memory(name):
    # coverage must not run in a process whose time and memory are measured
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    out = subprocess.run(
        [sys.executable, SCRIPT, name],
        capture_output=True,
        text=True,
        check=True,
        env={**env, "PYTHONPATH": str(SCRIPT.parents[3])},
        timeout=120,
    )
    expected, actual, loops, peak, *_ = json.loads(out.stdout)
    assert actual == expected
    assert loops < 400  # three times the slowest; a reader that goes over its input again takes thousands
    assert peak < 300
