"""A file that has the jobs under other ids (docs/reconciliation.md "Keeping the postings of changed ids"): the jobs take the new
ids and stay the same postings, and a revert gives them the old ids back."""

from dataclasses import asdict
from typing import Any

import pytest
from msgspec import structs

from syncd.domain import Actor, ActorKind, Run, check_body
from syncd.errors import Conflict, NotFound
from syncd.store import Store, feed_jobs
from syncd.store.jobs import upsert
from syncd.sync.run import Feed, NothingToRevert, Stopped, begin_revert, carry_out, plan_revert
from tests.store.board import changes_of
from tests.sync.board import Board, FakeHost, Row, report


def rekeyed(board: Board, first: int, last: int, new: str = "x", **fields: Any) -> list[Row]:
    """Return rows for the jobs r<first> to r<last> under other ids."""
    return [board.row(f"{new}{n}", **{"title": f"Cook r{n}"} | fields) for n in range(first, last + 1)]


def held(board: Board, content: object = None, toml: str = "", jobs: int = 8) -> tuple[Feed, Run]:
    """Return a feed with the jobs r1 to r<jobs>, and its run of a file that is held as re-keyed."""
    feed = board.feed_with(board.rows(1, jobs), toml)
    run = board.deliver(feed, rekeyed(board, 1, jobs) if content is None else content)
    assert (run.state, run.holds) == ("held", "all")
    return feed, run


def pairs(board: Board, run: Run) -> list[tuple[str, str]]:
    """Return (id now, new id) of the jobs that the run shows."""
    rekeys = report(board.store, run.id)["rekeys"]
    return [(job["referenceId"], job["newReferenceId"]) for job in rekeys["jobs"]] if rekeys else []


def revert(board: Board, run: Run) -> Run:
    begun = board.store.write(lambda tx: begin_revert(tx, run.id))
    return carry_out(board.store, begun, FakeHost())


def test_the_jobs_take_the_new_ids_and_stay_the_same_postings(board: Board) -> None:
    feed, run = held(board, [*rekeyed(board, 1, 6), board.row("n1"), board.row("n2")])
    assert "rekey keeps their postings, approve makes new ones" in (run.reason or "")
    assert pairs(board, run) == [(f"r{n}", f"x{n}") for n in range(1, 7)]
    before = {job.title: job for job in board.jobs()}
    board.clock.forward(days=3)
    run = board.importer.approve(run.id, feed, session=7, rekey=True)
    assert run.state == "succeeded"
    assert (run.reason or "").startswith(
        "6 postings kept under new ids; it was held because 8 of 8 active jobs"
    )
    assert {name: n for name, n in asdict(run.counts).items() if n} == {
        "read": 8, "created": 2, "updated": 6, "missing": 2, "archived": 2
    }  # fmt: skip
    for n in range(1, 7):
        old, now = before[f"Cook r{n}"], board.job(f"x{n}")
        assert now == structs.replace(old, reference_id=f"x{n}", version=now.version)
        last = changes_of(board.store, board.employer.id, now.id)[0]
        assert (last.action, last.run_id, last.before) == ("updated", run.id, {"referenceId": f"r{n}"})
        assert (last.actor.kind, last.actor.id) == (ActorKind.OPERATOR, 7)
    assert board.active() == {"n1", "n2", *(f"x{n}" for n in range(1, 7))}
    again = board.deliver(feed, [*rekeyed(board, 1, 6), board.row("n1"), board.row("n2")])
    assert again.state == "unchanged"


def test_jobs_that_wait_in_grace_take_the_new_ids_as_well(board: Board) -> None:
    """Their rows would be live as new jobs beside them at once, although nothing is archived yet."""
    feed, run = held(board, toml="grace = 2")
    assert pairs(board, run) == [(f"r{n}", f"x{n}") for n in range(1, 9)]
    board.importer.approve(run.id, feed, rekey=True)
    assert board.active() == {f"x{n}" for n in range(1, 9)}
    assert board.deliver(feed, rekeyed(board, 1, 8)).state == "unchanged"
    other = board.deliver(feed, board.rows(21, 30))  # another employer's file
    assert (other.state, other.holds) == ("held", "all")


def test_a_revert_gives_the_old_ids_back_and_a_revert_of_that_the_new_ones(board: Board) -> None:
    feed, run = held(board)
    before = board.jobs()
    board.importer.approve(run.id, feed, rekey=True)
    back = revert(board, run)
    assert (back.state, back.counts.updated, back.counts.warnings) == ("succeeded", 8, 0)
    assert [structs.replace(job, version=0) for job in board.jobs()] == [
        structs.replace(job, version=0) for job in before
    ]
    with pytest.raises(NothingToRevert):
        plan_revert(board.store, run.id, feed.config.policy)
    assert revert(board, back).counts.updated == 8
    assert board.active() == {f"x{n}" for n in range(1, 9)}
    assert board.deliver(feed, rekeyed(board, 1, 8)).counts.unchanged == 8


def test_the_rows_after_a_revert_are_decided_anew(board: Board) -> None:
    feed, run = held(board)
    board.importer.approve(run.id, feed, rekey=True)
    revert(board, run)
    again = board.deliver(feed, rekeyed(board, 1, 8))
    assert (again.state, len(pairs(board, again))) == ("held", 8)
    assert board.deliver(feed, board.rows(1, 8)).counts.unchanged == 8


def test_a_revert_leaves_an_id_that_another_job_has_by_now_or_that_somebody_changed(board: Board) -> None:
    feed, run = held(board, rekeyed(board, 1, 8, description="<p>We look for a cook with two hands.</p>"))
    board.importer.approve(run.id, feed, rekey=True)
    taken = board.put(board.row("r1", title="Baker", status="active"))
    board.put({**board.row("x2"), "title": "Cook r2"})
    edit(board, "x3", {"referenceId": "by-hand"})
    back = revert(board, run)
    assert back.state == "succeeded"
    assert board.active() == {"r1", "x1", "r2", "by-hand", *(f"r{n}" for n in range(4, 9))}
    assert board.job("r1").id == taken.id
    assert board.job("x1").description == board.row("r1")["description"]  # all but its id is as before
    assert {(warning.code, warning.detail) for warning in board.warnings(back)} == {
        ("reference_taken", f"job {board.job('x1').id} keeps the referenceId x1: job {taken.id} has r1 now"),
        ("changed_since", f"job {board.job('by-hand').id}: referenceId changed since, and stays as it is"),
    }


def edit(board: Board, reference: str, body: dict[str, Any]) -> None:
    sent, job = check_body(body, board.catalogue), board.job(reference)
    board.store.write(lambda tx: upsert.update(tx, board.employer.id, job.id, sent, Actor(ActorKind.KEY, 1)))


@pytest.mark.parametrize("phase", ["planning", "applying", "archiving"])
def test_one_that_is_cut_off_is_shown_again_and_goes_on(
    board: Board, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed, run = held(board, rekeyed(board, 1, 6))
    ids = {job.title: job.id for job in board.jobs()}
    with monkeypatch.context() as patched:
        patched.setattr(Store, "MAX_WRITE_ROWS", 1)
        with pytest.raises(Stopped):
            board.make_importer_that_stops(phase).approve(run.id, feed, rekey=True)
    done = sum(job.reference_id == f"x{job.title[6:]}" for job in board.jobs())
    assert done == {"planning": 0, "applying": 1, "archiving": 6}[phase]
    assert board.saved(run.id).state == "held"
    while (run := board.importer.approve(run.id, feed, rekey=bool(pairs(board, run)))).state == "held":
        assert "since this was shown" in (run.reason or "")
        assert len(pairs(board, run)) == 6 - done
    assert run.state == "succeeded"
    assert board.active() == {f"x{n}" for n in range(1, 7)}
    assert all(job.id == ids[job.title] for job in board.jobs())


def test_only_a_run_that_is_held_as_re_keyed_can_be(board: Board) -> None:
    feed = board.feed_with(board.rows(1, 12))
    run = board.deliver(feed, board.rows(1, 3))
    assert (run.state, pairs(board, run)) == ("held", [])
    with pytest.raises(Conflict, match=f"run {run.id} is not held because jobs have other ids in its file"):
        board.importer.approve(run.id, feed, rekey=True)
    with pytest.raises(Conflict, match="only a held run can be approved"):
        board.importer.approve(1, feed, rekey=True)
    with pytest.raises(NotFound):
        board.importer.approve(99, feed, rekey=True)
    assert board.saved(run.id).state == "held"


def test_it_is_refused_without_its_file_and_after_it_was_done(board: Board) -> None:
    feed, run = held(board)
    (kept,) = (path for path in (feed.folder / "done").iterdir() if path.name.startswith(f"{run.id}-"))
    content = kept.read_bytes()
    for other in (content.replace(b"Cook r1", b"Cook r9"), None):
        kept.unlink() if other is None else kept.write_bytes(other)
        with pytest.raises(NotFound, match="no file"):
            board.importer.approve(run.id, feed, rekey=True)
    assert (board.active(), board.saved(run.id).state) == ({f"r{n}" for n in range(1, 9)}, "held")
    kept.write_bytes(content)
    board.importer.approve(run.id, feed, rekey=True)
    with pytest.raises(Conflict, match="only a held run can be approved"):
        board.importer.approve(run.id, feed, rekey=True)


def test_another_plan_than_the_one_that_was_seen_is_refused(board: Board) -> None:
    feed, run = held(board)
    with pytest.raises(Conflict, match="has another plan now"):
        board.importer.approve(run.id, feed, agreed="0" * 64, rekey=True)


def test_a_job_that_was_edited_since_shows_the_run_again_with_the_pairs_of_now(board: Board) -> None:
    feed, run = held(board)
    edit(board, "r1", {"referenceId": "x1"})  # the file names it now
    edit(board, "r2", {"referenceId": "by-hand"})
    board.delete("r3")
    moved = board.importer.approve(run.id, feed, rekey=True)
    assert (moved.state, (moved.reason or "").startswith("jobs moved since this was shown")) == ("held", True)
    assert pairs(board, moved) == [("by-hand", "x2"), *((f"r{n}", f"x{n}") for n in range(4, 9))]
    ended = board.importer.approve(run.id, feed, rekey=True)
    assert (ended.state, ended.counts.created, ended.counts.archived) == ("succeeded", 1, 0)
    assert board.active() == {f"x{n}" for n in range(1, 9)}


def test_jobs_that_are_alike_pair_in_their_order_and_each_with_one(board: Board) -> None:
    """Two old jobs for one new one: that with its page takes it, else the older; the other is archived as usual."""
    page = {"applicantRoutingType": {"id": 2}, "applicationUrl": "https://example.com/2"}
    rows = [
        board.row("r1", title="Cook"),
        board.row("r2", title="Cook", **page),
        *(board.row(f"r{n}", title="Baker") for n in (3, 4, 5)),
        board.row("r6", title="Waiter"),
    ]
    feed = board.feed_with(rows)
    run = board.deliver(
        feed,
        [
            board.row("x9", title="Chef", **page),
            *(board.row(f"x{n}", title="Baker") for n in (1, 2)),
            board.row("x3", title="Waiter"),
            board.row("x4", title="Waiter"),
        ],
    )
    assert pairs(board, run) == [("r2", "x9"), ("r3", "x1"), ("r4", "x2"), ("r6", "x3")]
    kept = [board.job(old).id for old, _ in pairs(board, run)]
    ended = board.importer.approve(run.id, feed, rekey=True)
    assert (ended.counts.updated, ended.counts.created, ended.counts.archived) == (4, 1, 2)
    assert [board.job(new).id for new in ("x9", "x1", "x2", "x3")] == kept
    assert board.statuses()["r1"] == board.statuses()["r5"] == "archived"


def test_a_new_id_that_another_feed_owns_is_rejected_as_ever_and_its_old_job_stays_missing(
    board: Board,
) -> None:
    other = board.feed_with([board.row("x1", title="Cook r1")], name="other")
    feed, run = held(board)
    assert pairs(board, run) == [(f"r{n}", f"x{n}") for n in range(2, 9)]
    ended = board.importer.approve(run.id, feed, rekey=True)
    assert (ended.state, ended.counts.updated, ended.counts.rejected, ended.counts.archived) == (
        "partial", 7, 1, 1
    )  # fmt: skip
    assert board.rejected(ended)[0].errors[0].code == "owned_by_other_feed"
    owner = board.store.read(lambda tx: feed_jobs.ownership(tx, feed.id, [board.job("x1").id]))
    assert owner[board.job("x1").id].owner == other.id


def test_a_new_id_that_is_taken_at_the_last_moment_is_left_alone(board: Board) -> None:
    feed, run = held(board)
    other, taken = board.feed(name="other"), list[Run]()

    def take(phase: str, done: int, total: int) -> None:
        if phase == "planning" and not taken:
            taken.append(board.deliver(other, [board.row("x1", title="Cook r1")]))

    ended = board.make_importer(progress=take).approve(run.id, feed, rekey=True)
    assert ended.counts.rejected + ended.counts.archived <= 2
    assert board.job("x1").title == "Cook r1"
    assert len([job for job in board.jobs() if job.title == "Cook r2"]) == 1


def test_a_feed_that_owns_all_jobs_of_the_employer_takes_none_of_another_feed(board: Board) -> None:
    other = board.feed_with(board.rows(1, 2), name="other")
    board.put(board.row("r3", status="active"))
    feed = board.feed('owns = "employer"')
    board.deliver(feed, board.rows(4, 12))
    run = board.deliver(feed, rekeyed(board, 1, 12))
    assert (run.state, run.holds) == ("held", "all")
    assert pairs(board, run) == [(f"r{n}", f"x{n}") for n in range(3, 13)]
    ended = board.importer.approve(run.id, feed, rekey=True)
    assert (ended.state, ended.counts.updated, ended.counts.archived) == ("succeeded", 10, 2)
    assert not board.store.read(lambda tx: feed_jobs.count_active(tx, other.id))


def test_edits_that_the_feed_keeps_stay_and_the_id_is_taken(board: Board) -> None:
    feed, run = held(board, toml='on_api_edit = "keep"')
    edit(board, "r1", {"confidential": True, "referenceId": "by-hand"})
    board.importer.approve(run.id, feed, rekey=True)
    ended = board.importer.approve(run.id, feed, rekey=True)
    assert (ended.state, board.job("x1").confidential) == ("succeeded", True)


def test_a_dry_run_shows_the_pairs(board: Board) -> None:
    feed = board.feed_with(board.rows(1, 8))
    planned = board.importer.plan(feed, board.file(rekeyed(board, 1, 8)).path)
    assert [new for _, new in planned.pairs] == [f"x{n}" for n in range(1, 9)]


def test_a_run_can_be_rejected_as_before(board: Board) -> None:
    _, run = held(board)
    board.importer.reject(run.id)
    assert board.active() == {f"r{n}" for n in range(1, 9)}
    assert pairs(board, run) == []
