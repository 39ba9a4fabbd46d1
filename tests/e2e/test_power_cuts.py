"""Some power cuts at random moments of commits (power_cuts.py, which makes more of them by hand)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.amounts import nightly
from tests.e2e.power_cuts import Figures, cut

pytestmark = [pytest.mark.slow, nightly]


def test_after_a_power_cut_all_that_was_acknowledged_is_there(program: Any, tmp_path: Path) -> None:
    program("strace")
    figures = Figures()
    cut(tmp_path, 5, 1, figures)
    print(figures)
    assert figures.puts > 0
    assert figures.lost > 0, "each cut was at a moment at which nothing was lost"
