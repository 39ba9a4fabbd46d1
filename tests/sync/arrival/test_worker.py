"""The worker runs the files of the drop folder, also after a crash, a fault or a race
(docs/reconciliation.md "Crash, fault and race")."""

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from syncd.domain import Run, RunState
from syncd.errors import NotFound, StoreBusy
from syncd.store import runs
from syncd.sync.drop_file import DropFile
from syncd.sync.run import Feed, RejectsWriter, Stopped
from tests.sync.arrival.arrivals import (
    Died,
    FaultyImporter,
    claims,
    names,
    partly_rejected,
)
from tests.sync.board import not_none
from tests.sync.board import report as report_of

STEPS = ["claimed", "begun", "run", "reported", "filed"]


# -- the way of a file ------------------------------------------------------------------------------


def test_a_file_is_run_and_moved_to_done_with_its_reports(arrival):
    feed = arrival.feed_with([arrival.row("a")])
    [run] = arrival.run_files()
    assert (run.state, run.counts.created, run.file) == (RunState.SUCCEEDED, 1, "jobs.json")
    assert arrival.board.statuses() == {"a": "active"}
    assert names(feed.folder / "done") == [
        "1-jobs.json",
        "1-jobs.json.report.html",
        "1-jobs.json.report.json",
    ]
    assert claims(feed) == []


@pytest.mark.parametrize("cut_off", [False, True])
def test_no_file_is_run_while_the_time_is_not_trusted(arrival, cut_off):
    arrival.feed_with([arrival.row("a")])
    if cut_off:
        arrival.restart_dying("begun")
        with pytest.raises(Died):
            arrival.run_files()
    trusted = False
    arrival.restart(trusts=lambda now: trusted)
    assert arrival.run_files() == []
    assert arrival.board.statuses() == {}
    assert arrival.worker.due() == pytest.approx(5)
    assert (arrival.worker.waiting, arrival.worker.degraded) == (None, {})
    trusted = True
    assert [run.state for run in arrival.run_files()] == [RunState.SUCCEEDED]
    assert arrival.board.statuses() == {"a": "active"}


def test_a_file_is_not_run_before_it_has_settled(arrival):
    arrival.feed_with([arrival.row("a")], 'settle = "5s"')
    assert arrival.worker.tick() == []
    assert arrival.worker.due() == pytest.approx(5)
    arrival.monotonic.now += 4.9
    assert arrival.worker.tick() == []
    arrival.monotonic.now += 0.1
    assert len(arrival.worker.tick()) == 1
    assert arrival.worker.due() is None


CATEGORIES = """
[read]
format = "csv"
[fields]
referenceId = "id"
title = "title"
locations = { value = "Toronto, ON" }
categories = { from = "sector", lookup = "sector" }
positionType = { value = "Full Time" }
description = { value = "<p>Work.</p>" }
applicantRoutingType = { value = "Email" }
applicationEmail = { value = "hr@acme.example" }
[lookup.sector]
"Known" = "Other"
"""


def test_the_partner_sees_unknown_values_and_the_operator_lines_for_a_lookup(arrival):
    config = "max_rejected = { percent = 100, rows = 5 }\n" + CATEGORIES
    feed = arrival.feed(config)
    many = [f"{n},Cook,Sector <{n}>" for n in range(300)]
    rows = ["id,title,sector", "a,Cook,Known", "b,Cook,Retial", "c,Cook,Retial", *many]
    arrival.drop(feed, "\n".join(rows).encode(), "jobs.csv")
    [run] = arrival.run_files()
    assert run.counts.rejected == 302
    done = feed.folder / "done"
    report = json.loads((done / "1-jobs.csv.report.json").read_text())
    assert report["unknownValues"]["categories"][:2] == [
        {"value": "Retial", "rows": 2},
        {"value": "Sector <0>", "rows": 1},
    ]
    assert len(report["unknownValues"]["categories"]) == 200
    assert "lookupToml" not in report
    page = (done / "1-jobs.csv.report.html").read_text()
    assert "Sector &lt;0&gt;" in page
    assert "lookup" not in page
    lines = report_of(arrival.board.store, run.id)["lookupToml"].splitlines()
    assert lines[:2] == [
        "# these go into [lookup.sector], which the file has",
        '"Retial" = ""  # 2 rows; Retail?',
    ]
    assert lines[-1] == "# … and 101 more values"

    arrival.feed(config + lines[1].replace('""', '"Retail"') + "\n")
    arrival.drop(feed, "\n".join(rows[:4]).encode(), "jobs.csv")
    [run] = arrival.run_files()
    report = json.loads((done / "2-jobs.csv.report.json").read_text())
    assert (run.counts.rejected, report["unknownValues"]) == (0, {})
    assert "not known here" not in (done / "2-jobs.csv.report.html").read_text()


def test_the_folder_of_a_feed_is_made_and_made_again_when_it_is_gone(arrival):
    feed = arrival.feed()
    arrival.worker.tick()
    for name in names(feed.folder):
        for file in (feed.folder / name).iterdir():
            file.unlink()
        (feed.folder / name).rmdir()
    feed.folder.rmdir()
    arrival.worker.tick()
    assert names(feed.folder) == [".claimed", "done", "failed"]


def test_an_unexpected_file_is_reported_once_and_stays(arrival):
    feed = arrival.feed()
    for name in ("README.md", ".gitignore", "lost.xml"):
        unexpected = arrival.drop(replace(feed, folder=feed.folder.parent), b"x", name)
    (feed.folder / "link").symlink_to(unexpected)
    with capture_logs() as logs:
        arrival.run_files()
        arrival.run_files()
    reported = [(log["feed"], log["file"]) for log in logs if log["event"] == "feed.stray"]
    assert sorted(reported, key=str) == [("acme", "link"), (None, "lost.xml")]
    assert unexpected.read_bytes() == b"x"


# -- several files ----------------------------------------------------------------------------------


def test_a_fault_of_one_feed_does_not_delay_another(arrival):
    for name in ("a", "b", "c"):
        arrival.drop(arrival.feed(name=name), [arrival.row(name)])
    broken = arrival.feeds["a"].folder
    arrival.restart(FaultyImporter(arrival.board.importer, OSError(errno.EIO, "disk")))
    assert [run.feed for run in arrival.run_files(wait=2)] == ["b", "c"]
    assert names(broken / ".claimed")[-1].endswith("-jobs.json")
    arrival.monotonic.now += 1
    assert [(run.feed, run.attempt) for run in arrival.worker.tick()] == [("a", 2)]


# -- faults that pass -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        StoreBusy("locked"),
        OSError(errno.ENOSPC, "full"),
        OSError(errno.EROFS, "read-only"),
        FileNotFoundError(2, "moving"),
    ],
    ids=str,
)
def test_a_fault_that_can_pass_is_retried_at_once_with_growing_pauses(arrival, fault):
    arrival.feed_with([arrival.row("a")])
    arrival.restart(FaultyImporter(arrival.board.importer, fault, fault, fault))
    [run] = arrival.run_files()
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 1)
    assert len(arrival.monotonic.slept) == 3
    assert arrival.monotonic.slept[0] < arrival.monotonic.slept[1] < arrival.monotonic.slept[2] < 2


@pytest.mark.parametrize(
    "fault", [OSError(errno.EINVAL, "seek"), OSError(errno.EIO, "disk"), PermissionError(13, "no")], ids=str
)
def test_any_other_fault_is_not_retried_at_once(arrival, fault):
    arrival.drop(arrival.feed(), [arrival.row("a")])
    importer = FaultyImporter(arrival.board.importer, fault)
    arrival.restart(importer)
    assert arrival.run_files() == []
    assert (importer.calls, arrival.monotonic.slept) == (1, [])


def test_a_feed_waits_while_a_fault_lasts_and_the_attempts_do_not_count(arrival):
    arrival.feed_with([arrival.row("a")])
    arrival.restart(FaultyImporter(arrival.board.importer, *[StoreBusy("the disk is full")] * 40))
    assert arrival.run_files() == []
    assert arrival.worker.waiting == "acme: the disk is full"
    for _ in range(9):  # many more visits than there may be attempts
        due = arrival.worker.due()
        assert due is not None
        arrival.monotonic.now += due
        assert arrival.worker.tick() == []
    assert arrival.worker.due() == pytest.approx(60)
    arrival.monotonic.now += 60
    assert [(run.state, run.attempt) for run in arrival.worker.tick()] == [(RunState.SUCCEEDED, 1)]
    assert arrival.worker.waiting is None


def on_folder(name: str) -> Callable[..., bool]:
    return lambda fd: os.readlink(f"/proc/self/fd/{fd}").endswith(name)


@pytest.mark.parametrize(
    ("function", "number", "concerns"),
    [
        ("fsync", errno.ENOSPC, on_folder(".claimed")),
        ("fsync", errno.ENOSPC, on_folder("done")),
        ("dup", errno.EMFILE, lambda fd: True),
    ],
    ids=["claim not durable", "filing not durable", "no free descriptor"],
)
def test_each_file_is_run_once_in_its_order_and_filed_though_a_call_fails(
    arrival, monkeypatch, function, number, concerns
):
    feed = arrival.feed_with([arrival.row("a")])
    arrival.drop(feed, [arrival.row("a", title="Baker")], "later.json", 2_000_000_000)
    real, failures = getattr(os, function), [1]

    def fail(*arguments: Any, **options: Any) -> Any:
        if failures and concerns(*arguments):
            failures.clear()
            raise OSError(number, os.strerror(number))
        return real(*arguments, **options)

    monkeypatch.setattr(os, function, fail)
    with capture_logs() as logs:
        for _ in range(3):  # the pause after the fault, and the file settles once more
            arrival.run_files()
    assert not failures
    assert [(run.file, run.state.value) for run in arrival.runs()] == [
        ("jobs.json", "succeeded"),
        ("later.json", "succeeded"),
    ]
    assert arrival.board.job("a").title == "Baker"
    assert {"1-jobs.json", "2-later.json"} <= set(names(feed.folder / "done"))
    assert claims(feed) == []
    assert "feed.file_lost" not in [entry["event"] for entry in logs]


def test_a_run_whose_claimed_file_is_gone_fails(arrival):
    feed = arrival.feed_with([arrival.row("a")])
    arrival.restart(FaultyImporter(arrival.board.importer, OSError(errno.EIO, "disk")))
    arrival.run_files()
    (feed.folder / ".claimed" / claims(feed)[0]).unlink()
    arrival.monotonic.now += 60
    arrival.worker.tick()
    assert arrival.states() == ["failed"]
    assert "was removed" in not_none(arrival.runs()[0].reason)


# -- processes that die ----------------------------------------------------------------------------


@pytest.mark.parametrize("step", STEPS)
def test_a_process_that_dies_after_any_step_does_not_change_the_end(arrival, step):
    feed = arrival.feed_with(partly_rejected())
    arrival.restart_dying(step)
    with pytest.raises(Died):
        arrival.run_files()
    arrival.restart()
    arrival.run_files()
    [run] = arrival.runs()
    assert (run.state, run.counts.created, run.counts.rejected) == (RunState.PARTIAL, 1, 1)
    assert run.attempt == (2 if step == "begun" else 1)
    assert arrival.board.statuses() == {"a": "active"}
    assert names(feed.folder / "done") == [
        "1-jobs.json",
        "1-jobs.json.rejected.json",
        "1-jobs.json.report.html",
        "1-jobs.json.report.json",
    ]
    assert claims(feed) == []


def test_a_file_at_which_three_attempts_died_at_the_same_place_fails(arrival):
    feed = arrival.feed_with([arrival.row("a")])
    for attempt in range(3):
        arrival.restart(FaultyImporter(arrival.board.importer, Died()))
        with pytest.raises(Died):
            arrival.run_files() if attempt == 0 else arrival.worker.tick()
    importer = FaultyImporter(arrival.board.importer)
    arrival.restart(importer)
    with capture_logs() as logs:
        [run] = arrival.worker.tick()
    assert (run.state, run.attempt, importer.calls) == (RunState.FAILED, 4, 0)
    assert "3 attempts in a row died at the same place" in not_none(run.reason)
    assert names(feed.folder / "failed")[0] == "1-jobs.json"
    assert [log["event"] for log in logs if log["event"] in ("feed.reconciled", "feed.failed")] == [
        "feed.reconciled",
        "feed.failed",
    ]


def test_attempts_that_died_at_different_places_are_not_added_up(arrival):
    arrival.feed_with([arrival.row("a")])
    places = iter(["read 1", "read 2", "read 1", "apply 1", "apply 2"])

    class DiesAtPlaces:
        def run(self, feed: Feed, source: DropFile, run: Run, rejects: RejectsWriter | None):
            if (place := next(places, None)) is not None:
                arrival.board.store.write(lambda tx: runs.set_checkpoint(tx, run.id, place))
                raise Died
            return arrival.board.importer.run(feed, source, run, rejects)

    for attempt in range(5):
        arrival.restart(DiesAtPlaces())
        with pytest.raises(Died):
            arrival.run_files() if attempt == 0 else arrival.worker.tick()
    arrival.restart(DiesAtPlaces())
    [run] = arrival.worker.tick()
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 6)


def test_an_attempt_that_was_stopped_did_not_die(arrival):
    feed = arrival.feed_with([arrival.row("a")])
    for attempt in range(5):
        arrival.restart(FaultyImporter(arrival.board.importer, Stopped("stopped")))
        assert (arrival.run_files() if attempt == 0 else arrival.worker.tick()) == []
        assert claims(feed)
    arrival.restart()
    [run] = arrival.worker.tick()
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 6)


def test_a_worker_that_has_to_stop_does_not_begin_another_file(arrival):
    feed = arrival.feed('mode = "delta"')
    for number in range(3):
        arrival.drop(feed, [arrival.row(str(number))], f"{number}.json", number)
    arrival.restart(stop=lambda: bool(arrival.runs()))
    assert len(arrival.run_files()) == 1
    assert sorted(names(feed.folder))[1:3] == ["1.json", "2.json"]


# -- two processes, and imports ----------------------------------------------------------------------


def test_an_import_runs_and_files_a_copy_of_the_file(arrival):
    feed = arrival.feed()
    path = arrival.board.folder / "mine.json"
    path.write_text(json.dumps([arrival.row("a")]))
    run = arrival.worker.import_file(feed, path)
    assert (run.state, run.file) == (RunState.SUCCEEDED, "mine.json")
    assert path.exists()
    assert names(feed.folder / "done")[0] == "1-mine.json"


# -- after a run ------------------------------------------------------------------------------------


def test_old_files_are_removed_but_not_those_of_a_held_run_or_without_a_run(arrival):
    feed = arrival.feed_with([arrival.row("a")], 'keep_files = "10d"')
    arrival.run_files()
    arrival.drop(feed, [])  # a file without records is held
    arrival.run_files()
    for name in ("1-mine.txt", "77-jobs.json", "notes.txt"):
        arrival.drop(replace(feed, folder=feed.folder / "done"), b"mine", name)
    assert arrival.states() == ["succeeded", "held"]
    arrival.board.clock.forward(days=9)
    arrival.run_files()
    assert "1-jobs.json" in names(feed.folder / "done")
    arrival.board.clock.forward(days=2)
    arrival.run_files()
    left = names(feed.folder / "done")
    assert not [name for name in left if name.startswith("1-jobs")]
    assert {"2-jobs.json", "2-jobs.json.report.html", "1-mine.txt", "77-jobs.json", "notes.txt"} <= set(left)


def test_a_held_run_is_not_approved_before_its_file_is_in_done(arrival):
    feed = arrival.feed_with([arrival.row(name) for name in "abcdef"])
    arrival.run_files()
    messages: list[str] = []

    def approve(step: str) -> None:
        if step == "run":
            with pytest.raises(NotFound) as raised:
                arrival.board.importer.approve(arrival.runs()[-1].id, feed)
            messages.append(str(raised.value))

    arrival.restart(step=approve)
    arrival.drop(feed, [arrival.row("a")], "less.json")
    [held] = arrival.run_files()
    assert held.state is RunState.HELD
    assert "the kept file of run 2 is gone" in messages[0]
    assert arrival.board.importer.approve(held.id, feed).state is RunState.SUCCEEDED
