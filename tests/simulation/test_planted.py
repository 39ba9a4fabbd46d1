"""The schedules find what is wrong: each fault that is planted in the product breaks a schedule that is known to find it."""

from collections.abc import Iterator

import pytest

from tests.amounts import nightly
from tests.simulation.planted import FAULTS, found_by
from tests.simulation.runner import Runner, runner
from tests.stores import sqlite_only

pytestmark = [
    sqlite_only,  # the seeds are of schedules on SQLite
    pytest.mark.slow,
    nightly,
]


@pytest.fixture(scope="module")
def schedules() -> Iterator[Runner]:
    with runner() as found:
        yield found


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(schedules: Runner, name: str) -> None:
    fault = FAULTS[name]
    found = any(found_by(fault, schedules, seed) is not None for seed in fault.seeds)
    assert found, f"find other seeds: `python -m tests.simulation --planted {name}`"
