"""Writes that the store refuses, for good (docs/reconciliation.md "When a run stops short"). Triggers refuse them."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from syncd.domain import Run
from tests.stores import allow_writes, refuse_writes
from tests.sync.arrival.arrivals import Arrival, names
from tests.sync.board import not_none

REFUSED = "the auditors forbid it"


def refuse(folder: Path, when: str, how: str = "ABORT") -> None:
    """Let the store refuse writes: ``when`` is what the trigger waits for, ``how`` what SQLite then does: ABORT, FAIL,
    ROLLBACK or IGNORE."""
    refuse_writes(folder / "syncd.db", when, how, REFUSED)


def allow(folder: Path) -> None:
    allow_writes(folder / "syncd.db")


def run_file(arrival: Arrival, content: object) -> Run:
    """Run a file; the worker needs one attempt for it."""
    feed = arrival.feeds["acme"]
    arrival.drop(feed, content)
    (run,) = arrival.run_files()
    assert run.attempt == 1
    assert run.state == "succeeded" or f"{run.id}-jobs.json" in names(feed.folder / "done")
    return run


@pytest.mark.parametrize("how", ["ABORT", "FAIL", "ROLLBACK"])
@pytest.mark.parametrize(
    ("when", "case"),
    [
        ("INSERT ON job WHEN NEW.reference_id = 'new'", ("new", "updated")),
        ("INSERT ON feed_job WHEN NEW.reference_id = 'new'", ("new", "updated")),
        ("INSERT ON history WHEN NEW.reference_id = 'new'", ("new", "updated")),
        ("UPDATE ON job WHEN NEW.reference_id = 'r1'", ("r1", "created")),
    ],
)
def test_a_row_that_the_store_refuses_is_rejected_and_holds_the_archiving(arrival, tmp_path, when, case, how):
    board, feed = arrival.board, arrival.feed()
    reference, action = case
    run_file(arrival, board.rows(1, 9))
    refuse(tmp_path, when, how)
    with capture_logs() as events:
        run = run_file(arrival, [board.row("r1", title="Chef"), *board.rows(2, 8), board.row("new")])
    assert (run.state, run.holds, run.counts.rejected, run.counts.archived) == ("held", "archive", 1, 0)
    assert getattr(run.counts, action) == 1
    assert run.reason == (
        f"1 write failed, and waiting does not mend it ({REFUSED}); the others went in; "
        "1 of 9 active jobs would be archived (11.1 %)"
    )
    assert [event["record"] for event in events if event["event"] == "row.failed"] == [
        9 if reference == "new" else 1
    ]
    (row,) = board.rejected(run)
    assert (row.reference_id, row.errors[0].code) == (reference, "write_failed")
    assert "r9" in board.active()
    allow(tmp_path)
    assert board.importer.approve(run.id, feed).counts.archived == 1
    # the next file brings the row that was refused
    run = run_file(
        arrival, [board.row("r1", title="Chef"), *board.rows(2, 8), board.row("new", title="Later")]
    )
    assert run.state == "succeeded"
    assert (board.job("r1").title, board.job("new").title) == ("Chef", "Later")


def test_a_write_that_the_store_ignores_is_not_retried_for_ever(arrival, tmp_path):
    board, _ = arrival.board, arrival.feed()
    run_file(arrival, board.rows(1, 3))
    refuse(tmp_path, "UPDATE ON job WHEN NEW.reference_id = 'r1'", "IGNORE")
    run = run_file(arrival, [board.row("r1", title="Chef"), board.row("r2", title="Chef"), board.row("r3")])
    assert (run.state, run.holds, run.counts.rejected, run.counts.updated) == ("held", "archive", 1, 1)
    assert (board.job("r1").title, board.job("r2").title) == ("Cook r1", "Chef")


def test_a_job_whose_archiving_the_store_refuses_waits_for_a_decision_and_the_others_go(
    arrival, board, tmp_path
):
    feed = arrival.feed()
    run_file(arrival, board.rows(1, 20))
    refuse(tmp_path, "UPDATE OF status ON job WHEN NEW.reference_id = 'r18'")
    run = run_file(arrival, board.rows(1, 16))
    assert (run.state, run.holds, run.counts.missing, run.counts.archived) == ("held", "archive", 4, 3)
    assert "1 write failed" in not_none(run.reason)
    assert "1 of 20 active jobs would be archived" in not_none(run.reason)
    assert board.active() == {f"r{n}" for n in (*range(1, 17), 18)}
    # approved while the store still refuses it: it waits again
    run = board.importer.approve(run.id, feed)
    assert (run.state, run.holds) == ("held", "archive")
    allow(tmp_path)
    run = board.importer.approve(run.id, feed)
    assert (run.state, run.counts.archived) == ("succeeded", 4)
    assert board.active() == {f"r{n}" for n in range(1, 17)}


def test_a_refused_row_that_would_archive_its_job_waits_for_a_decision(arrival, board, tmp_path):
    feed = arrival.feed()
    run_file(arrival, board.rows(1, 20))
    refuse(tmp_path, "UPDATE OF status ON job WHEN NEW.reference_id = 'r2'")
    past = board.rows(1, 3, closeDate="2026-11-15")
    run = run_file(arrival, [*past, *board.rows(4, 20)])
    assert (run.state, run.holds, run.counts.expired) == ("held", "archive", 2)
    assert board.active() == {f"r{n}" for n in (2, *range(4, 21))}
    allow(tmp_path)
    run = board.importer.approve(run.id, feed)
    assert run.counts.expired == 3
    assert board.active() == {f"r{n}" for n in range(4, 21)}
