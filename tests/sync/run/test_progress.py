"""How far a run is that goes on: in the store, in the log (docs/operations.md "JSON output", "Events")."""

from itertools import count

from structlog.testing import capture_logs

from syncd.domain import RunState
from syncd.store import runs
from syncd.sync.report import run_json
from tests.sync.board import not_none, on_phase


def test_a_run_that_goes_on_shows_its_phase_its_records_and_its_share(board):
    seconds = count(0, 10)
    seen = {}

    def look() -> None:
        run = board.saved(1)
        seen[run.state] = run_json(run)["progress"]

    board.importer = board.make_importer(
        monotonic=lambda: float(next(seconds)), progress=on_phase("reading", look, nth=2)
    )
    with capture_logs() as logs:
        run = board.deliver(board.feed(), [board.row(f"r{n}") for n in range(6100)])
    progress = seen[RunState.READING]
    assert (progress["phase"], progress["records"]) == ("reading", 4000)
    assert 0.5 < progress["share"] < 0.9  # of the bytes, which are read ahead of the records
    reported = [log for log in logs if log["event"] == "feed.progress"]
    assert (reported[0]["run"], reported[0]["feed"], reported[0]["file"]) == (run.id, "acme", "jobs.json")
    notes = next(seconds) // 10 - 1  # the first look at the clock is that of the beginning
    assert len(reported) == notes // 3
    assert "progress" not in run_json(board.saved(run.id))


def test_a_short_run_leaves_no_note(board):
    board.importer = board.make_importer(monotonic=lambda: 0.0)
    run = board.deliver(board.feed(), [board.row(f"r{n}") for n in range(2100)])
    assert board.saved(run.id).progress is None


def test_the_next_attempt_begins_without_the_progress_of_the_last(board):
    seconds = count(0, 10)
    feed = board.feed()
    run = board.begin(feed, board.file([]))
    board.importer = board.make_importer(
        monotonic=lambda: float(next(seconds)), progress=on_phase("reading", lambda: 1 / 0)
    )
    try:
        board.importer.run(feed, board.file([board.row(f"r{n}") for n in range(2100)]), run)
    except ZeroDivisionError:
        assert not_none(board.saved(run.id).progress).records == 2000
    board.store.write(lambda tx: runs.resume(tx, run.id))
    assert board.saved(run.id).progress is None
