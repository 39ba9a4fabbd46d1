"""The law and the invariants of docs/reconciliation.md "Crash, fault and race", after schedules at random."""

import pytest

from tests.simulation.runner import runner


@pytest.fixture(scope="module")
def schedules():
    with runner() as found:
        yield found


def test_nothing_that_happens_breaks_the_law(schedules, seeds):
    for seed in seeds:
        broken = schedules.run(seed)
        assert broken is None, f"run `pytest tests/simulation --seed {seed}` to see it again\n{broken}"
