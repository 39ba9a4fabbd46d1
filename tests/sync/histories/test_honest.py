"""Honest histories: nothing waits that nobody has to decide on (docs/reconciliation.md "When a run stops short")."""

from collections import Counter

import pytest

from tests.amounts import WHOLE
from tests.sync.histories.forms import FORMS
from tests.sync.histories.histories import History

#: Deliveries of each history, and histories of each form.
LENGTH, HISTORIES = 20, 36 if WHOLE else 1


@pytest.mark.parametrize("form", FORMS)
def test_what_is_live_is_what_the_employer_meant(board, form):
    counts: Counter[str] = Counter()
    faults: list[str] = []
    for seed in range(HISTORIES):
        history = History(board.store, board.clock, board.folder, form, seed)
        for _ in range(LENGTH):
            history.step()
            if history.faults:
                break
        counts += history.counts
        faults += history.faults
    print(form, dict(counts))
    assert not faults, "\n".join(faults)
