"""Approving and rejecting held runs (docs/reconciliation.md "Approving and rejecting"): each kind of hold is approved,
rejected, superseded, shown again after its jobs have changed, and decided twice; also after a restart, and after an
approval that was cut off."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import structlog
from msgspec import structs

from syncd.domain import ActorKind, Job, Run
from syncd.errors import Conflict, NotFound
from syncd.store import run_results
from syncd.sync.run import Feed, Stopped
from tests.store.board import changes_of
from tests.sync.board import LONG_TEXT, Board, Row, counted_rows, not_none, on_phase

Jobs = dict[str, Job]


def long_rows(board: Board, first: int, last: int, **fields: Any) -> list[Row]:
    return board.rows(first, last, **{"description": LONG_TEXT} | fields)


@dataclass(frozen=True)
class HoldCase:
    """One kind of hold of a feed with twelve jobs. ``file`` makes the content that is held, and ``reason`` is in the
    reason. ``toml``: the settings of the feed for that file; ``first`` makes a file that is run before the twelve jobs
    are. ``active`` and ``archived`` are the active jobs and the number of archived ones after the approval."""

    holds: str
    reason: str
    file: Callable[[Board], list[Row]]
    active: set[str]
    archived: int
    toml: str = ""
    first: Callable[[Board], list[Row]] | None = None


def references(letter: str, last: int) -> set[str]:
    return {f"{letter}{n}" for n in range(1, last + 1)}


def older_rows(board: Board) -> list[Row]:
    return long_rows(board, 1, 8, confidential=False)


CASES = {
    "share": HoldCase(
        "archive",
        "8 of 12 active jobs would be archived",
        lambda b: [*long_rows(b, 1, 4, confidential=True), b.row("new")],
        references("r", 4) | {"new"},
        8,
    ),
    "no records": HoldCase("archive", "the file has no records", lambda b: [], set(), 12),
    "no reference": HoldCase(
        "archive",
        "no readable referenceId",
        lambda b: [*long_rows(b, 1, 10, confidential=True), *[b.row(None)] * 4],
        references("r", 10),
        2,
    ),
    "changed settings": HoldCase(
        "archive",
        "settings have changed",
        lambda b: long_rows(b, 1, 10, confidential=True),
        references("r", 10),
        2,
        toml="grace = 1",
    ),
    "dates of rows": HoldCase(
        "archive",
        "12 of 12",
        lambda b: [
            *long_rows(b, 1, 6, closeDate="2026-11-15"),
            *long_rows(b, 7, 9, status="archived"),
            b.row("new"),
        ],
        {"new"},
        12,
    ),
    "rejected rows": HoldCase(
        "all",
        "rows were rejected",
        lambda b: [*long_rows(b, 1, 4, title=""), *long_rows(b, 5, 10, locations=[]), b.row("new")],
        references("r", 10) | {"new"},
        2,
    ),
    "changed ids": HoldCase(
        "all",
        "new again",
        lambda b: [b.row(f"x{n}", title=f"Cook r{n}") for n in range(1, 13)],
        references("x", 12),
        12,
    ),
    "shifted columns": HoldCase(
        "all",
        "another title",
        lambda b: long_rows(b, 1, 11, title="Montréal, QC"),
        references("r", 11),
        1,
    ),
    "shortened texts": HoldCase(
        "all",
        "half of their text",
        lambda b: long_rows(b, 1, 11, description="<p>We look</p>"),
        references("r", 11),
        1,
    ),
    "older file": HoldCase("all", "a step back in time", older_rows, references("r", 8), 4, first=older_rows),
}
#: Cases in which the rows that are applied before the approval are confidential.
CONFIDENTIAL = ("share", "no reference", "changed settings")


@dataclass
class Held:
    """A held run, and the jobs before it."""

    name: str
    case: HoldCase
    feed: Feed
    run: Run
    before: Jobs


@pytest.fixture(params=CASES)
def held(board, request):
    return make_held(board, request.param)


def make_held(board: Board, name: str) -> Held:
    case = CASES[name]
    feed = board.feed()
    if case.first is not None:
        board.deliver(feed, case.first(board))
    board.deliver(feed, long_rows(board, 1, 12, autoRefresh=False))
    feed = board.feed(case.toml)
    before = jobs_by_reference(board)
    run = board.deliver(feed, case.file(board))
    assert (run.state, run.holds) == ("held", case.holds)
    assert case.reason in reason_of(run)
    return Held(name, case, feed, run, before)


def jobs_by_reference(board: Board) -> Jobs:
    """Return each job without its id and version."""
    return {job.reference_id or "": structs.replace(job, version=0, id=0) for job in board.jobs()}


def reason_of(run: Run) -> str:
    return not_none(run.reason)


def run_events(logs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the events of runs and feeds."""
    return [entry["event"] for entry in logs if entry["event"].startswith(("run.", "feed."))]


def assert_carried_out(board: Board, held: Held) -> None:
    """Assert that the jobs are those that the approval of the case leads to."""
    assert board.active() == held.case.active
    assert list(board.statuses().values()).count("archived") == held.case.archived
    match held.name:
        case "share" | "no reference" | "changed settings":
            assert board.job("r1").confidential
        case "shifted columns":
            assert board.job("r1").title == "Montréal, QC"
        case "shortened texts":
            assert board.job("r1").description == "<p>We look</p>"


def assert_not_held(board: Board, held: Held, match: str | None = None) -> None:
    """Assert that the run can be neither approved nor rejected, and that the attempts change nothing."""
    before = board.jobs()
    with pytest.raises(Conflict, match=match):
        board.importer.approve(held.run.id, held.feed)
    with pytest.raises(Conflict, match=match):
        board.importer.reject(held.run.id)
    assert board.jobs() == before


# -- what a held run leaves, and each decision ---------------------------------------------------------------


def test_a_held_run_applies_only_what_does_not_wait(board, held):
    now = jobs_by_reference(board)
    if held.case.holds == "all":
        assert now == held.before
        return
    assert {reference for reference, job in now.items() if job.status == "archived"} == set()
    assert set(now) >= set(held.before)
    for reference, job in now.items():  # the rows are applied
        expected = (reference in ("r1", "r2", "r3", "r4") and held.name in CONFIDENTIAL) or (
            held.name in ("no reference", "changed settings") and reference not in ("r11", "r12")
        )
        assert job.confidential == expected
    assert ("new" in now) == (held.name in ("share", "dates of rows"))


def test_an_approval_does_what_was_shown_and_reports_it(board, held):
    board.clock.forward(hours=3)
    with structlog.testing.capture_logs() as logs:
        run = board.importer.approve(held.run.id, held.feed)
    assert_carried_out(board, held)
    rejected = held.name in ("rejected rows", "no reference")
    assert (run.state, run.holds) == ("partial" if rejected else "succeeded", None)
    why = reason_of(held.run).partition("; nothing is applied")[0]
    assert run.reason == f"approved; it was held because {why}"
    assert (run.id, run.ended_at) == (held.run.id, board.clock.now)
    assert run_events(logs) == ["run.approved"]
    assert replace(board.saved(run.id), phases={}) == replace(run, phases={})
    assert board.store.read(lambda tx: run_results.plan(tx, run.id)) is None
    assert run.counts.read == counted_rows(run.counts)
    assert_not_held(board, held)


def test_the_actor_of_an_approved_change_is_the_operator(board):
    held = make_held(board, "share")
    board.importer.approve(held.run.id, held.feed)
    job = board.job("r12")
    newest = changes_of(board.store, board.employer.id, job.id)[0]
    assert (newest.action, newest.actor.kind, newest.run_id) == ("archived", ActorKind.OPERATOR, held.run.id)


def test_a_rejected_run_changes_nothing_and_stays_rejected(board, held):
    before = board.jobs()
    with structlog.testing.capture_logs() as logs:
        run = board.importer.reject(held.run.id)
    assert run.state == "rejected"
    assert board.saved(run.id).state == "rejected"
    assert [entry["event"] for entry in logs] == ["run.rejected"]
    assert board.jobs() == before
    assert_not_held(board, held, rf"run {run.id} is rejected; only a held run can be approved")


def test_a_newer_run_supersedes_the_held_one(board, held):
    with structlog.testing.capture_logs() as logs:
        newer = board.deliver(
            held.feed, [*long_rows(board, 1, 12, positionType={"id": 2}), board.row("newer")]
        )
    assert newer.counts.created == 1
    assert board.saved(held.run.id).state == "superseded"
    superseded = [entry for entry in logs if entry["event"] == "feed.superseded"]
    assert [(entry["run"], entry["by"]) for entry in superseded] == [(held.run.id, newer.id)]
    before = board.jobs()
    with pytest.raises(Conflict, match="is superseded"):
        board.importer.approve(held.run.id, held.feed)
    assert board.jobs() == before


# -- shown again ---------------------------------------------------------------------------------------------


def edit_a_job_of(board: Board, held: Held) -> None:
    reference = {"rejected rows": "r12", "dates of rows": "r8"}.get(held.name, "r11")
    board.put({"referenceId": reference, "autoRefresh": True})


def test_a_run_whose_jobs_have_changed_is_shown_again_and_nothing_is_applied(board, held):
    edit_a_job_of(board, held)
    before = board.jobs()
    with structlog.testing.capture_logs() as logs:
        run = board.importer.approve(held.run.id, held.feed)
    assert (run.state, run.holds) == ("held", held.case.holds)
    assert board.jobs() == before
    moved, _, now = reason_of(run).partition("; ")
    assert moved.startswith("jobs moved since this was shown")
    assert reason_of(run).count("would be archived") <= 1
    assert run_events(logs) == ["feed.held"]
    run = board.importer.approve(held.run.id, held.feed)
    assert_carried_out(board, held)
    why = now.partition("; nothing is applied")[0]
    assert run.reason == f"approved; it was held because {why}"


def test_a_run_is_shown_again_with_the_new_number_of_missing_jobs(board):
    held = make_held(board, "share")
    board.put({"referenceId": "r12", "status": "archived"})
    run = board.importer.approve(held.run.id, held.feed)
    assert reason_of(run).startswith("jobs moved since this was shown; 7 of 12 active jobs would be archived")
    assert run.counts.missing == 7
    board.importer.approve(run.id, held.feed)
    assert board.job("r12").archived_by == "person"
    assert board.job("r11").archived_by == "missing"


def test_an_edit_of_a_job_that_the_approval_does_not_change_is_not_a_reason_to_show_the_run_again(board):
    held = make_held(board, "share")
    board.put({"referenceId": "r1", "title": "Edited"})  # its row was applied, and is not applied again
    board.put(board.row("elsewhere", status="active"))
    run = board.importer.approve(held.run.id, held.feed)
    assert run.state == "succeeded"
    assert board.job("r1").title == "Edited"
    assert board.statuses()["elsewhere"] == "active"


def test_rows_that_have_become_invalid_are_listed_when_a_run_is_shown_again(board):
    held = make_held(board, "shifted columns")
    taker = board.feed('take_over = true\nmode = "delta"', name="taker")
    board.deliver(taker, long_rows(board, 11, 11, title="Taken"))
    run = board.importer.approve(held.run.id, held.feed)
    assert (run.state, run.counts.rejected, len(board.rejected(run))) == ("held", 1, 1)
    run = board.importer.approve(run.id, held.feed)
    assert (run.state, run.counts.rejected) == ("partial", 1)
    refused = [(row.record, row.reference_id, row.errors[0].code) for row in board.rejected(run)]
    assert refused == [(11, "r11", "owned_by_other_feed")]
    assert (board.job("r11").title, board.job("r10").title) == ("Taken", "Montréal, QC")


def test_the_rows_that_were_rejected_before_the_approval_stay_listed(board):
    held = make_held(board, "no reference")
    before = board.rejected(held.run)
    assert len(before) == 4
    board.importer.approve(held.run.id, held.feed)
    assert board.rejected(held.run) == before


#: The settings of a feed; the title comes from the member that is put in.
MAPPING = """
[fields]
referenceId = "referenceId"
title = "{title}"
description = "description"
locations = "locations"
categories = {{ value = "1" }}
positionType = {{ value = "1" }}
applicantRoutingType = {{ value = "1" }}
applicationEmail = "applicationEmail"
"""


def test_a_run_is_shown_again_after_a_change_of_the_mapping(board):
    def records(title: str) -> list[Row]:
        return [
            row | {"locations": "Montréal, QC", "other": "Other " + title}
            for row in long_rows(board, 1, 9, title=title)
        ]

    board.deliver(board.feed(MAPPING.format(title="title")), records("Cook"))
    held_run = board.deliver(board.feed(MAPPING.format(title="title")), records("Montréal"))
    assert (held_run.state, held_run.holds) == ("held", "all")
    changed, before = board.feed(MAPPING.format(title="other")), board.jobs()
    run = board.importer.approve(held_run.id, changed)
    assert (run.state, board.jobs()) == ("held", before)
    assert reason_of(run).startswith(
        "the feed's rows are read another way since this was shown; 9 of 9 active jobs would get another title"
    )
    assert board.importer.approve(held_run.id, changed).state == "succeeded"
    assert board.job("r1").title == "Other Montréal"


def test_a_run_is_not_shown_again_after_a_change_of_the_limits_alone(board):
    held = make_held(board, "share")
    assert board.importer.approve(held.run.id, board.feed("max_archive = 90")).state == "succeeded"


# -- the file, the feed, the process -------------------------------------------------------------------------


def kept_file(held: Held) -> Path:
    return next((held.feed.folder / "done").glob(f"{held.run.id}-*"))


@pytest.mark.parametrize(
    "loss", ["no file", "other bytes", "other bytes of the same size", "link", "FIFO", "folder", "no folder"]
)
def test_a_run_whose_file_is_gone_can_only_be_rejected(board, loss):
    held = make_held(board, "share")
    path = kept_file(held)
    match loss:
        case "no file":
            path.unlink()
        case "other bytes":
            path.write_text("[]")
        case "other bytes of the same size":
            path.write_bytes(path.read_bytes().replace(b"r4", b"r5"))
        case "link":
            path.symlink_to(path.rename(board.folder / "elsewhere.json"))
        case "FIFO":
            path.unlink()
            os.mkfifo(path)
        case "folder":
            path.unlink()
            path.mkdir()
        case _:
            shutil.rmtree(path.parent)
    before = board.jobs()
    with pytest.raises(NotFound, match=r"jobs\.json.*reject the run, or send the file again"):
        board.importer.approve(held.run.id, held.feed)
    assert (board.jobs(), board.saved(held.run.id).state) == (before, "held")
    assert board.importer.reject(held.run.id).state == "rejected"


def test_a_run_of_a_feed_that_is_not_configured_can_only_be_rejected(board):
    held = make_held(board, "share")
    with pytest.raises(NotFound, match="cannot be approved without it; reject it instead"):
        board.importer.approve(held.run.id, None)
    other = board.feed(name="other")
    with pytest.raises(NotFound):
        board.importer.approve(held.run.id, other)
    assert board.importer.approve(held.run.id, held.feed).state == "succeeded"


@pytest.mark.parametrize("name", ["share", "changed ids", "rejected rows", "dates of rows"])
@pytest.mark.parametrize("phase", ["hashing", "planning", "applying", "archiving"])
def test_an_approval_that_is_cut_off_leads_to_the_same_end_when_it_is_repeated(board, name, phase):
    held = make_held(board, name)
    try:
        board.make_importer_that_stops(phase).approve(held.run.id, held.feed)
    except Stopped:
        assert board.saved(held.run.id).state == "held"
        run = board.importer.approve(held.run.id, held.feed)
        if run.state == "held":  # a part was applied: the rest is shown
            run = board.importer.approve(held.run.id, held.feed)
        assert run.state in ("succeeded", "partial")
    assert_carried_out(board, held)
    assert not board.importer.plan(held.feed, kept_file(held)).changes


def test_a_run_is_approved_during_a_run_of_another_feed(board):
    held = make_held(board, "share")
    approved: list[Run] = []
    importer = board.make_importer(
        progress=on_phase("applying", lambda: approved.append(board.importer.approve(held.run.id, held.feed)))
    )
    run = board.deliver(board.feed(name="other"), [board.row("o")], importer=importer)
    assert (run.state, approved[0].state) == ("succeeded", "succeeded")
    assert board.statuses()["o"] == "active"
    board.delete("o")
    assert_carried_out(board, held)
