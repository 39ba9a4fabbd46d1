"""Accidents of all kinds: each waits, fails or archives nothing, with a reason that names it, and nothing wrong is live
(docs/reconciliation.md "When a run stops short")."""

from dataclasses import replace
from random import Random

import pytest

from syncd.domain import Run
from tests.amounts import some
from tests.sync.board import Board
from tests.sync.histories.accidents import ACCIDENTS, FORMS, Day
from tests.sync.histories.histories import Feed
from tests.sync.histories.postings import Desk, Posting

NOUNS = {"csv": "column", "xml": "element", "json": "member"}
CASES = [(name, form) for name, each in ACCIDENTS.items() for form in each.forms]
#: Each kind in one format first.
CASES.sort(key=lambda case: (FORMS.index(case[1]) - [*ACCIDENTS].index(case[0])) % 3)


def outcome(run: Run) -> str:
    if run.holds is not None:
        return run.holds.value
    return (
        "withheld"
        if run.withheld
        else run.state.value.replace("succeeded", "right").replace("partial", "right")
    )


def days_of(desk: Desk, board: Board) -> list[list[Posting]]:
    """Return the postings of three days: each has an edit or two, a posting that is gone and a new one. Five are closed."""
    today = board.clock.today
    new = [replace(desk.new(today), status="closed" if at < 5 else "open") for at in range(35)]
    dated = [replace(posting, close=posting.close or today.replace(year=2027)) for posting in new]
    days = [dated[:30]]
    for more in dated[30:32]:
        kept = [replace(desk.edited(posting, today), status=posting.status) for posting in days[-1]]
        days.append([*kept[:5], *kept[6:], more])
    return days


@pytest.mark.parametrize(("name", "form"), some(CASES, len(ACCIDENTS)))
def test_an_accident_waits_and_nothing_wrong_is_live(board, name, form):
    accident = ACCIDENTS[name]
    feed = Feed(board.store, board.clock, board.folder, f"hand-{form}", "acme")
    days = days_of(Desk(Random(7)), board)
    rival = days_of(Desk(Random(8), numbers=5000, host="rival.example.com"), board)[0]
    names, record = feed.vocabulary.names, feed.vocabulary.record
    before = [Day(form, names, record, postings, rival).content for postings in days[:2]]
    for content in before:
        assert feed.deliver(content)[0].state.value == "succeeded"
        board.clock.forward(hours=25)
    old = feed.live()
    new = {posting.reference: feed.view(posting) for posting in days[2] if posting.status == "open"}
    feed.change_settings(accident.settings)
    run, _ = feed.deliver(accident.change(Day(form, names, record, days[2], rival, before)))
    live = feed.live()
    words = " ".join(
        [run.reason or "", run.withheld or "", *(warning.detail for warning in board.warnings(run)[:1])]
    )
    assert outcome(run) in accident.becomes.split(), words
    assert accident.words.format(noun=NOUNS[form], name=names.get(name.partition(" ")[0])) in words
    wrong = {ref: view for ref, view in live.items() if view not in (old.get(ref), new.get(ref))}
    assert bool(wrong) == accident.stands, wrong
    assert old.keys() & new.keys() <= live.keys()
