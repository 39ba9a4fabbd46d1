"""Statuses of mapped feeds in files that the importer runs (docs/feeds.md "Status")."""

import pytest

from tests.sync.board import Row
from tests.sync.histories.forms import dump
from tests.sync.run.test_row_filter import MAPPED, record

STATUS = f'{MAPPED}status = "state"\n'


def states(**words: str) -> list[Row]:
    """Return a record for each word of an employer, by its id."""
    return [record(reference, state=word) for reference, word in words.items()]


def test_a_new_row_that_is_closed_makes_no_job_and_a_draft_makes_a_draft(board):
    run = board.deliver(
        board.feed(STATUS), states(a="Open", b="Filled", c="Needs Approval", d="Pourvu", e="Zinzin")
    )
    assert board.statuses() == {"a": "active", "c": "draft"}
    assert (run.counts.created, run.counts.expired, run.counts.rejected) == (2, 2, 1)
    (row,) = board.rejected(run)
    assert [(problem.pointer, problem.code, problem.value) for problem in row.errors] == [
        ("/status", "unknown_value", "Zinzin")
    ]


@pytest.mark.parametrize("word", ["Closed", "On hold", "Needs Approval", "Brouillon", "pending_payment"])
def test_a_word_that_is_not_live_takes_a_live_job_down_and_keeps_it_down(board, word):
    feed = board.feed_without_limits(STATUS, "acme")
    board.deliver(feed, states(a="Open", b="Open"))
    first = board.deliver(feed, states(a="Open", b=word))
    assert (board.statuses(), first.counts.updated) == ({"a": "active", "b": "archived"}, 1)
    again = board.deliver(feed, [*states(a="Open", b=word), record("c", state="open")])
    assert (board.statuses()["b"], again.counts.unchanged, again.counts.rejected) == ("archived", 2, 0)
    back = board.deliver(feed, states(a="Open", b="Reopened", c="open"))
    assert (board.statuses()["b"], back.counts.reactivated) == ("active", 1)


@pytest.mark.parametrize("word", ["Closed", "On hold", "Draft"])
def test_a_posting_that_is_open_again_is_live_again_where_active_is_not_sent(board, word):
    toml = f'{MAPPED}status = {{ from = "state", lookup = "states" }}\n[lookup.states]\nactive = ""\n'
    feed = board.feed_without_limits(toml, "acme")
    for state, status in (("Open", "active"), (word, "archived"), ("Open", "active")):
        board.deliver(feed, states(a=state, b="Open"))
        assert board.statuses() == {"a": status, "b": "active"}
    for state, new in ((word, ["draft"] if word == "Draft" else []), ("Open", ["active"])):
        board.deliver(feed, states(a="Open", b="Open", c=state))
        assert [*board.statuses().values()][2:] == new


@pytest.mark.parametrize("form", ["csv", "json", "xml"])
@pytest.mark.parametrize("closed", [3, 5])
def test_rows_without_a_status_make_no_jobs_live_where_others_have_one(board, form, closed):
    words = {f"r{n}": "Closed" if n < closed else "Open" for n in range(20)}
    feed = board.feed(STATUS)
    board.deliver(feed, dump(form, states(**words)))
    live = board.active()
    blank = {reference: "" if word == "Closed" else word for reference, word in words.items()}
    run = board.deliver(feed, dump(form, states(**blank)))
    if closed < 5:  # a few are a warning
        assert (run.state, board.active()) == ("succeeded", words.keys())
        assert [warning.code for warning in board.warnings(run)] == ["no_status"]
        return
    assert (run.state, board.active()) == ("held", live)
    assert "5 rows have no status" in run.reason


def test_a_feed_may_leave_the_status_of_open_postings_empty(board):
    feed = board.feed(STATUS)
    blank = {f"r{n}": "Closed" if n < 4 else "" for n in range(20)}
    board.deliver(feed, states(**blank))
    run = board.deliver(feed, states(**blank, **{f"s{n}": "" for n in range(9)}))
    assert (run.state, run.counts.created, run.counts.warnings) == ("succeeded", 9, 0)


def test_the_services_own_shape_is_as_the_api_has_it(board):
    feed = board.feed_with([board.row("a", status="active"), board.row("b", status="archived")])
    assert board.statuses() == {"a": "active", "b": "archived"}
    run = board.deliver(feed, [board.row("a", status="draft"), board.row("b")])
    assert (run.counts.rejected, board.statuses()["a"]) == (1, "active")


def test_an_unknown_word_may_make_a_draft_or_be_left_unsaid(board):
    for option, status in (("draft", "draft"), ("ignore", "active")):
        toml = f'{MAPPED}status = {{ from = "state", unknown = "{option}" }}\n'
        run = board.deliver(board.feed(toml, option), states(**{option: "Zinzin"}))
        assert board.statuses()[option] == status
        assert [warning.code for warning in board.warnings(run)] == ["unknown_status"]


def test_a_status_that_gives_way_to_that_of_a_person_is_suppressed_in_every_run(board):
    feed = board.feed(f'on_api_edit = "keep"\n{STATUS}')
    board.deliver(feed, states(a="Draft", b="Open"))
    board.put({"referenceId": "a", "status": "active"})
    for more in ({}, {"c": "Open"}, {"c": "Open", "d": "Open"}):
        run = board.deliver(feed, states(a="Draft", b="Open", **more))
        assert (board.statuses()["a"], run.counts.suppressed, run.counts.updated) == ("active", 1, 0)
    run = board.deliver(feed, states(a="Open", b="Open"))
    assert (run.counts.suppressed, run.counts.unchanged) == (0, 2)
