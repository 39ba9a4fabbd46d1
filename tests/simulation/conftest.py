"""The options of the simulation."""

import pytest

from tests.amounts import WHOLE
from tests.stores import POSTGRES

#: Schedules in the test command, where the whole of the tests is asked for, and on PostgreSQL, where each takes a second.
SCHEDULES, NIGHTLY, ON_POSTGRES = 25, 1000, 50
#: Schedules that one test runs.
BLOCK = 25


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, help="run the schedule of this seed alone")
    parser.addoption("--schedules", type=int, help="how many schedules are run")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Divide the seeds into tests, so that they can run side by side."""
    if "seeds" in metafunc.fixturenames:
        seed = metafunc.config.getoption("--seed", None)
        usual = NIGHTLY if WHOLE else SCHEDULES
        usual = ON_POSTGRES if POSTGRES else usual
        count = metafunc.config.getoption("--schedules", None) or usual
        first = range(1, count + 1, BLOCK)
        blocks = (
            [range(n, min(n + BLOCK, count + 1)) for n in first] if seed is None else [range(seed, seed + 1)]
        )
        metafunc.parametrize("seeds", blocks, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
