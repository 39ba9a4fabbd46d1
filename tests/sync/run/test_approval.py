"""A person's word for a held run: every kind of hold is approved, declined, overtaken, shown again when its jobs moved, and
asked for twice; with the worker, across a restart, and after a death in the middle."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import structlog
from msgspec import structs

from syncd.domain import ActorKind
from syncd.errors import NotFound
from syncd.store import Store, history, runs
from syncd.sync.run.approval import NotHeld
from syncd.sync.run.feed import Stopped
from syncd.sync.run.importer import Importer

TEXT = "<p>" + "We look for somebody who cooks well and likes to do so every day. " * 4 + "</p>"
Board = Any
Rows = list[dict[str, Any]]


def rows(board: Board, first: int, last: int, **fields: Any) -> Rows:
    """The bodies r<first> to r<last>, both included."""
    return [board.row(f"r{n}", **{"description": TEXT} | fields) for n in range(first, last + 1)]


@dataclass(frozen=True)
class Scene:
    """One kind of hold over twelve jobs: ``file`` makes the delivery that is held, ``toml`` the feed's settings by then,
    ``says`` is in the reason, ``first`` a delivery before the twelve."""

    holds: str
    says: str
    file: Callable[[Board], Any]
    toml: str = ""
    first: Callable[[Board], Any] | None = None


def _older(board: Board) -> Rows:
    return rows(board, 1, 8, confidential=False)


SCENES = {
    "share": Scene(
        "archive",
        "8 of 12 active jobs would be archived",
        lambda b: [*rows(b, 1, 4, confidential=True), b.row("new")],
    ),
    "empty": Scene("archive", "the file has no records", lambda b: []),
    "no reference": Scene(
        "archive", "no readable referenceId", lambda b: [*rows(b, 1, 10, confidential=True), b.row(None)]
    ),
    "settings": Scene(
        "archive", "settings have changed", lambda b: rows(b, 1, 10, confidential=True), toml="grace = 1"
    ),
    "own dates": Scene(
        "archive",
        "12 of 12",
        lambda b: [*rows(b, 1, 6, closeDate="2026-11-15"), *rows(b, 7, 9, status="archived"), b.row("new")],
    ),
    "rejects": Scene(
        "all",
        "rows were rejected",
        lambda b: [*rows(b, 1, 4, title=""), *rows(b, 5, 10, locations=[]), b.row("new")],
    ),
    "re-keyed": Scene(
        "all", "new again", lambda b: [b.row(f"x{n}", title=f"Cook r{n}") for n in range(1, 13)]
    ),
    "shifted": Scene("all", "another title", lambda b: rows(b, 1, 11, title="Montréal, QC")),
    "shrunk": Scene("all", "half of their text", lambda b: rows(b, 1, 11, description="<p>We look</p>")),
    "older bytes": Scene("all", "a step back in time", _older, first=_older),
}  # fmt: skip


@dataclass
class Held:
    """A held run, and what the board was before it."""

    scene: Scene
    feed: Any
    run: Any
    before: dict[str, Any]


@pytest.fixture(params=SCENES)
def held(board: Board, request: pytest.FixtureRequest) -> Held:
    return make(board, request.param)


def make(board: Board, name: str) -> Held:
    scene = SCENES[name]
    feed = board.feed()
    if scene.first is not None:
        board.drop(feed, scene.first(board))
    board.drop(feed, rows(board, 1, 12, autoRefresh=False))
    feed = board.feed(scene.toml)
    before = pictures(board)
    run = board.drop(feed, scene.file(board))
    assert (run.state, run.holds) == ("held", scene.holds)
    assert scene.says in run.reason
    return Held(scene, feed, run, before)


def pictures(board: Board) -> dict[str, Any]:
    """referenceId → the job, but for its version and dates of publication."""
    return {job.reference_id: structs.replace(job, version=0, id=0) for job in board.jobs()}


#: Scene → active and archived jobs afterwards, in the words of docs/reconciliation.md "When a run stops short".
AFTERWARDS = {
    "share": ({"r1", "r2", "r3", "r4", "new"}, 8),
    "empty": (set(), 12),
    "no reference": ({f"r{n}" for n in range(1, 11)}, 2),
    "settings": ({f"r{n}" for n in range(1, 11)}, 2),
    "own dates": ({"new"}, 12),
    "rejects": ({f"r{n}" for n in range(1, 11)} | {"new"}, 2),
    "re-keyed": ({f"x{n}" for n in range(1, 13)}, 12),
    "shifted": ({f"r{n}" for n in range(1, 12)}, 1),
    "shrunk": ({f"r{n}" for n in range(1, 12)}, 1),
    "older bytes": ({f"r{n}" for n in range(1, 9)}, 4),
}


def name_of(held: Held) -> str:
    return next(name for name, scene in SCENES.items() if scene is held.scene)


def assert_done(board: Board, held: Held) -> None:
    active, archived = AFTERWARDS[name_of(held)]
    found = board.statuses()
    assert {reference for reference, status in found.items() if status == "active"} == active
    assert sum(status == "archived" for status in found.values()) == archived
    match name_of(held):
        case "share" | "no reference" | "settings":
            assert board.job("r1").confidential
        case "shifted":
            assert board.job("r1").title == "Montréal, QC"
        case "shrunk":
            assert board.job("r1").description == "<p>We look</p>"


# -- what a held run leaves, and each decision ---------------------------------------------------------------


def test_what_waits_is_left_and_what_does_not_wait_stands(board: Board, held: Held) -> None:
    now = pictures(board)
    if held.scene.holds == "all":
        assert now == held.before
        return
    assert {reference for reference, job in now.items() if job.status == "archived"} == set()
    assert set(now) >= set(held.before)
    for reference, job in now.items():  # the upserts stand
        expected = (
            reference in ("r1", "r2", "r3", "r4") and name_of(held) in ("share", "no reference", "settings")
        ) or (name_of(held) in ("no reference", "settings") and reference not in ("r11", "r12"))
        assert job.confidential == expected
    assert ("new" in now) == (name_of(held) in ("share", "own dates"))


def test_approval_does_what_was_shown_and_says_so(board: Board, held: Held) -> None:
    board.clock.forward(hours=3)
    with structlog.testing.capture_logs() as logs:
        run = board.importer.approve(held.run.id, held.feed)
    assert_done(board, held)
    rejected = name_of(held) in ("rejects", "no reference")
    assert (run.state, run.holds) == ("partial" if rejected else "succeeded", None)
    assert run.reason == f"approved; it was held because {held.run.reason}"
    assert (run.id, run.ended_at) == (held.run.id, board.clock.now)
    assert [entry["event"] for entry in logs if entry["event"].startswith(("run.", "feed."))] == [
        "run.approved"
    ]
    assert replace(board.saved(run.id), phases={}) == replace(run, phases={})
    assert board.store.read(lambda tx: runs.plan(tx, run.id)) is None
    counts = run.counts
    rows_of_it = (
        counts.created + counts.updated + counts.reactivated + counts.unchanged + counts.rejected
        + counts.suppressed + counts.expired
    )  # fmt: skip
    assert counts.read == rows_of_it


def test_what_a_person_approved_is_the_operator_s_in_the_history(board: Board) -> None:
    made = make(board, "share")
    board.importer.approve(made.run.id, made.feed)
    job = board.job("r12")
    newest = board.store.read(lambda tx: history.of_job(tx, board.employer.id, job.id))[0]
    assert (newest.action, newest.actor.kind, newest.run_id) == ("archived", ActorKind.OPERATOR, made.run.id)


def test_a_declined_run_leaves_all_as_it_is_for_good(board: Board, held: Held) -> None:
    before = board.jobs()
    with structlog.testing.capture_logs() as logs:
        run = board.importer.reject(held.run.id)
    assert run.state == "rejected"
    assert board.saved(run.id).state == "rejected"
    assert [entry["event"] for entry in logs] == ["run.rejected"]
    assert board.jobs() == before
    for again in (lambda: board.importer.approve(run.id, held.feed), lambda: board.importer.reject(run.id)):
        with pytest.raises(NotHeld, match=rf"run {run.id} is rejected; only a held run can be approved"):
            again()
    assert board.jobs() == before


def test_a_run_is_approved_only_once(board: Board, held: Held) -> None:
    board.importer.approve(held.run.id, held.feed)
    before = board.jobs()
    for again in (
        lambda: board.importer.approve(held.run.id, held.feed),
        lambda: board.importer.reject(held.run.id),
    ):
        with pytest.raises(NotHeld):
            again()
    assert board.jobs() == before


def test_a_newer_run_supersedes_the_held_one(board: Board, held: Held) -> None:
    with structlog.testing.capture_logs() as logs:
        newer = board.drop(held.feed, [*rows(board, 1, 12, positionType={"id": 2}), board.row("newer")])
    assert newer.counts.created == 1
    assert board.saved(held.run.id).state == "superseded"
    told = [entry for entry in logs if entry["event"] == "feed.superseded"]
    assert [(entry["run"], entry["by"]) for entry in told] == [(held.run.id, newer.id)]
    before = board.jobs()
    with pytest.raises(NotHeld, match="is superseded"):
        board.importer.approve(held.run.id, held.feed)
    assert board.jobs() == before


def test_the_upserts_of_the_next_file_do_not_wait_and_only_the_newest_run_waits(board: Board) -> None:
    made = make(board, "share")
    second = board.drop(made.feed, [*rows(board, 1, 3), board.row("second")])
    assert (second.state, board.saved(made.run.id).state) == ("held", "superseded")
    assert board.statuses()["second"] == "active"
    board.importer.approve(second.id, made.feed)
    active = {reference for reference, status in board.statuses().items() if status == "active"}
    assert active == {"r1", "r2", "r3", "second"}


# -- shown again ---------------------------------------------------------------------------------------------


def move(board: Board, held: Held) -> None:
    """Somebody changes a job that the run would touch."""
    reference = {"rejects": "r12"}.get(name_of(held), "r8" if name_of(held) == "own dates" else "r11")
    board.put({"referenceId": reference, "autoRefresh": True})


def test_jobs_that_moved_meanwhile_are_shown_again_and_nothing_is_done(board: Board, held: Held) -> None:
    move(board, held)
    before = board.jobs()
    with structlog.testing.capture_logs() as logs:
        run = board.importer.approve(held.run.id, held.feed)
    assert (run.state, run.holds) == ("held", held.scene.holds)
    assert board.jobs() == before
    assert run.reason.startswith("jobs moved since this was shown, ")
    assert run.reason.endswith(held.run.reason)
    assert [entry["event"] for entry in logs if entry["event"].startswith(("run.", "feed."))] == ["feed.held"]
    run = board.importer.approve(held.run.id, held.feed)
    assert_done(board, held)
    assert run.reason == f"approved; it was held because {held.run.reason}"


def test_a_job_that_went_by_itself_is_shown_again_with_the_new_number(board: Board) -> None:
    made = make(board, "share")
    board.put({"referenceId": "r12", "status": "archived"})
    run = board.importer.approve(made.run.id, made.feed)
    assert run.reason.startswith("jobs moved since this was shown, 7 would be archived now; 8 of 12 ")
    assert run.counts.missing == 7
    board.importer.approve(run.id, made.feed)
    assert board.job("r12").archived_by == "person"
    assert board.job("r11").archived_by == "missing"


def test_an_edit_that_the_run_does_not_touch_is_no_reason_to_ask_again(board: Board) -> None:
    made = make(board, "share")
    board.put({"referenceId": "r1", "title": "Edited"})  # its row stands, and is not applied again
    board.put(board.row("elsewhere", status="active"))
    run = board.importer.approve(made.run.id, made.feed)
    assert run.state == "succeeded"
    assert board.job("r1").title == "Edited"
    assert board.statuses()["elsewhere"] == "active"


def test_rows_that_are_refused_by_now_are_listed_when_a_run_is_shown_again(board: Board) -> None:
    made = make(board, "shifted")
    taker = board.feed('take_over = true\nmode = "delta"', name="taker")
    board.drop(taker, rows(board, 11, 11, title="Taken"))
    run = board.importer.approve(made.run.id, made.feed)
    assert (run.state, run.counts.rejected, len(board.rejected(run))) == ("held", 1, 1)
    run = board.importer.approve(run.id, made.feed)
    assert (run.state, run.counts.rejected) == ("partial", 1)
    refused = [(row.record, row.reference_id, row.errors[0].code) for row in board.rejected(run)]
    assert refused == [(11, "r11", "owned_by_other_feed")]
    assert (board.job("r11").title, board.job("r10").title) == ("Taken", "Montréal, QC")


def test_what_was_refused_when_the_rows_went_in_stays_listed(board: Board) -> None:
    made = make(board, "no reference")
    before = board.rejected(made.run)
    assert len(before) == 1
    board.importer.approve(made.run.id, made.feed)
    assert board.rejected(made.run) == before


#: A mapping whose titles come from one member or another.
MAPPED = """
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


def test_another_mapping_is_not_what_was_shown_though_it_would_change_the_same_jobs(board: Board) -> None:
    def bodies(title: str) -> Rows:
        return [
            b | {"locations": "Montréal, QC", "other": "Other " + title}
            for b in rows(board, 1, 9, title=title)
        ]

    board.drop(board.feed(MAPPED.format(title="title")), bodies("Cook"))
    held = board.drop(board.feed(MAPPED.format(title="title")), bodies("Montréal"))
    assert (held.state, held.holds) == ("held", "all")
    changed, before = board.feed(MAPPED.format(title="other")), board.jobs()
    run = board.importer.approve(held.id, changed)
    assert (run.state, board.jobs()) == ("held", before)
    assert run.reason.startswith(
        "the feed's rows are read another way since this was shown, 0 would be archived now"
    )
    assert board.importer.approve(held.id, changed).state == "succeeded"
    assert board.job("r1").title == "Other Montréal"


def test_other_limits_alone_are_no_reason_to_ask_again(board: Board) -> None:
    made = make(board, "share")
    assert board.importer.approve(made.run.id, board.feed("max_archive = 90")).state == "succeeded"


# -- the file, the feed, the process -------------------------------------------------------------------------


def filed(held: Held) -> Any:
    return next((held.feed.folder / "done").glob(f"{held.run.id}-*"))


@pytest.mark.parametrize("way", ["gone", "other bytes", "same size", "link", "no folder"])
def test_a_run_whose_file_is_gone_can_only_be_declined(board: Board, way: str) -> None:
    made = make(board, "share")
    path = filed(made)
    match way:
        case "gone":
            path.unlink()
        case "other bytes":
            path.write_text("[]")
        case "same size":
            path.write_bytes(path.read_bytes().replace(b"r4", b"r5"))
        case "link":
            path.symlink_to(path.rename(board.folder / "elsewhere.json"))
        case _:
            shutil.rmtree(path.parent)
    before = board.jobs()
    with pytest.raises(NotFound, match=r"jobs\.json.*reject the run, or send the file again"):
        board.importer.approve(made.run.id, made.feed)
    assert (board.jobs(), board.saved(made.run.id).state) == (before, "held")
    assert board.importer.reject(made.run.id).state == "rejected"


def test_a_run_of_a_feed_that_is_no_longer_configured_can_only_be_declined(board: Board) -> None:
    made = make(board, "share")
    with pytest.raises(NotFound, match="cannot be approved without it; reject it instead"):
        board.importer.approve(made.run.id)
    other = board.feed(name="other")
    with pytest.raises(NotFound):
        board.importer.approve(made.run.id, other)
    assert board.make_importer(feeds={"acme": made.feed}).approve(made.run.id).state == "succeeded"


def test_an_unknown_run_is_not_found(board: Board) -> None:
    for decide in (board.importer.approve, board.importer.reject):
        with pytest.raises(NotFound):
            decide(99)


@pytest.mark.parametrize("name", ["share", "shifted"])
def test_a_run_waits_across_a_restart(board: Board, name: str) -> None:
    made = make(board, name)
    board.store.close()
    with Store.open(
        f"sqlite:///{board.folder}/syncd.db", clock=board.clock, timezone=board.store.now().instant.tzinfo
    ) as store:
        board.store = store
        board.importer = Importer(store, catalogue=board.catalogue, scratch=board.folder)
        assert board.importer.approve(made.run.id, made.feed).state == "succeeded"
        assert_done(board, made)


@pytest.mark.parametrize("name", ["share", "re-keyed", "rejects", "own dates"])
@pytest.mark.parametrize("where", ["hashing", "planning", "applying", "archiving"])
def test_an_approval_that_is_cut_off_stays_held_and_comes_to_the_same_end(
    board: Board, name: str, where: str
) -> None:
    made = make(board, name)
    seen: list[str] = []
    dying = board.make_importer(
        progress=lambda phase, done, total: seen.append(phase), stop=lambda: where in seen
    )
    try:
        dying.approve(made.run.id, made.feed)
    except Stopped:
        assert board.saved(made.run.id).state == "held"
        run = board.importer.approve(made.run.id, made.feed)
        if run.state == "held":  # a part of it was done: what is left is shown
            run = board.importer.approve(made.run.id, made.feed)
        assert run.state in ("succeeded", "partial")
    assert_done(board, made)
    assert board.importer.plan(made.feed, filed(made)).changes == []


def test_a_run_is_approved_while_another_feed_s_run_goes_on(board: Board) -> None:
    made = make(board, "share")
    other, done = board.feed(name="other"), []

    def approve(phase: str, _done: int, _total: int) -> None:
        if phase == "applying" and not done:
            done.append(board.importer.approve(made.run.id, made.feed))

    run = board.drop(other, [board.row("o")], importer=board.make_importer(progress=approve))
    assert (run.state, done[0].state) == ("succeeded", "succeeded")
    assert_done_but(board, made, "o")


def assert_done_but(board: Board, held: Held, *others: str) -> None:
    for reference in others:
        assert board.statuses()[reference] == "active"
        board.delete(reference)
    assert_done(board, held)


def test_the_same_file_after_an_approval_is_unchanged(board: Board, held: Held) -> None:
    board.importer.approve(held.run.id, held.feed)
    before = board.jobs()
    again = board.drop(held.feed, json.loads(filed(held).read_bytes()))
    if name_of(held) in ("rejects",):
        assert again.state == "held"
    else:
        assert again.state in ("unchanged", "succeeded", "partial")
    assert board.jobs() == before
