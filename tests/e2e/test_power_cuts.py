"""Power cuts at random moments of commits (power_cuts.py). ``TESTS_CUTS`` says how many."""

import os

import pytest

from tests.amounts import nightly
from tests.e2e.power_cuts import CUTS, Figures, cut

pytestmark = [pytest.mark.slow, nightly]
ALL_CUTS = int(os.environ.get("TESTS_CUTS", "5"))


def test_after_a_power_cut_all_that_was_acknowledged_is_there(program, tmp_path):
    program("strace")
    figures = Figures()
    for seed, done in enumerate(range(0, ALL_CUTS, CUTS), 1):
        (tmp_path / f"{seed}").mkdir()
        cut(tmp_path / f"{seed}", min(CUTS, ALL_CUTS - done), seed, figures)
    print(figures)
    assert figures.puts > 0
    assert figures.lost > 0, "each cut was at a moment at which nothing was lost"
