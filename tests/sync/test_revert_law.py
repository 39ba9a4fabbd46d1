"""The law of a revert (docs/reconciliation.md "Reverting a run"): a run and then its revert, with nothing between, leave
the fields, the status, the dates and the owner of every job as before the run, but for the jobs that the run created:
these are archived, and nobody owns them. With changes between, a field is put back exactly if nobody changed it since.

Files of four feeds, edits and deletions through the API and reverts of any earlier run, reverts among them, follow one
another at random. What a revert has to do is worked out from pictures of all jobs after each step."""

import itertools
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from syncd.domain import ArchivedBy, Job, Run, Status
from syncd.errors import IllegalTransition, Invalid, NotFound
from syncd.store import Store, employers, feed_jobs
from syncd.sync.run import (
    NothingToRevert,
    Stopped,
    begin_revert,
    carry_out,
    plan_revert,
)
from tests.amounts import examples
from tests.clock import START, ZONE, Clock
from tests.stores import store_url
from tests.sync.board import Board, FakeHost, Row

FEEDS = {
    "plain": "",
    "keeping": 'on_api_edit = "keep"\ntake_over = true',
    "wide": 'owns = "employer"\ntake_over = true',
    "delta": 'mode = "delta"',
}
#: A field, and what is only set with it.
PAIRS = {"status": "archived_by", "close_date": "close_origin", "publish_date": "published_at"}
FIELDS = [name for name in Job.__struct_fields__ if name not in ("version", *PAIRS.values())]
Picture = dict[int, Job]


class Past:
    """A board with its past: a picture of the jobs after each step, and the step of each run."""

    def __init__(self, store: Store, clock: Clock, folder: Path, name: str) -> None:
        folder.mkdir()
        employer = store.write(lambda tx: employers.add(tx, name))
        self.board = Board(store, clock, folder, employer)
        self.feeds = {
            name: self.board.feed_without_limits(toml, f"{name}-{employer.id}")
            for name, toml in FEEDS.items()
        }
        self.pictures: list[Picture] = [{}]
        self.runs: list[tuple[int, int]] = []

    def jobs(self) -> Picture:
        return {job.id: job for job in self.board.jobs()}

    def owners(self) -> dict[int, int | None]:
        ids = list(self.jobs())
        found = self.board.store.read(lambda tx: feed_jobs.ownership(tx, 0, ids))
        return {job_id: owner.owner for job_id, owner in found.items()}

    def picture(self) -> None:
        self.pictures.append(self.jobs())

    def deliver(self, name: str, rows: list[Row]) -> Run:
        feed = self.feeds[name]
        run = self.board.deliver(feed, rows)
        if run.state == "held":
            run = self.board.importer.approve(run.id, feed)
        assert run.state in ("succeeded", "partial", "unchanged"), run.reason
        self.picture()
        self.runs.append((run.id, len(self.pictures) - 1))
        return run

    def edit(self, body: Row) -> None:
        with suppress(Invalid, IllegalTransition):
            self.board.put(body)
        self.picture()

    def delete(self, reference: str) -> None:
        with suppress(NotFound):
            self.board.delete(reference)
        self.picture()

    def revert(self, run_id: int, cut: int | None = None) -> Run:
        """Revert the run. With ``cut`` the first attempt ends after that number of batches."""
        store, batches = self.board.store, itertools.count()

        host = FakeHost(stop=lambda: next(batches) == cut)

        policy = next(iter(self.feeds.values())).config.policy
        planned = plan_revert(store, run_id, policy)
        run = store.write(lambda tx: begin_revert(tx, run_id))
        try:
            run = carry_out(store, run, host)
        except Stopped:
            run = carry_out(store, run, FakeHost())
        self.picture()
        self.runs.append((run.id, len(self.pictures) - 1))
        assert replace(run.counts, warnings=0) == replace(planned.counts, warnings=0)
        return run

    # -- what a revert has to do -----------------------------------------------------------------------------

    def expected(self, step: int) -> Picture:
        """Return the jobs after a revert of the run at ``step``."""
        now = self.pictures[-1]
        return {job_id: self._expected_job(job_id, step) for job_id in now}

    def _expected_job(self, job_id: int, step: int) -> Job:
        """Return the job with each field as before the step, if the step changed it and no later one did."""
        now, before = self.pictures[-1][job_id], self.pictures[step - 1].get(job_id)
        back: dict[str, Any] = {}
        if before is None:
            if job_id in self.pictures[step] and not self._changed("status", job_id, step + 1):
                back = {"status": Status.ARCHIVED, "archived_by": ArchivedBy.MISSING}
        else:
            for name in FIELDS:
                if _values(before, name) == _values(self.pictures[step][job_id], name):
                    continue
                if not self._changed(name, job_id, step + 1):
                    back |= {part: getattr(before, part) for part in _parts(name)}
        return _without_version(now, **back)

    def _changed(self, name: str, job_id: int, first: int) -> bool:
        """Return whether one of the steps from ``first`` on changed the field."""
        seen = [_values(picture[job_id], name) for picture in self.pictures[first - 1 :]]
        return any(one != other for one, other in itertools.pairwise(seen))


def _parts(name: str) -> list[str]:
    return [name, PAIRS[name]] if name in PAIRS else [name]


def _values(job: Job, name: str) -> list[Any]:
    return [getattr(job, part) for part in _parts(name)]


def _without_version(job: Job, **values: Any) -> Job:
    return Job(**{n: getattr(job, n) for n in Job.__struct_fields__} | {"version": 0} | values)


REFERENCES = st.sampled_from("abcd")
TODAY = START.astimezone(ZONE).date()
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "title": st.sampled_from(["Cook", "Chef", "Baker", ""]),
    "description": st.sampled_from(["<p>One</p>", "<p>Two</p>"]),
    "locations": st.sampled_from([[{"description": "Calgary, AB"}], [{"description": "Nowhereville, ON"}]]),
    "salary": st.sampled_from([None, {"amount": 20, "period": {"id": 5}}, {"maxAmount": 35}]),
    "closeDate": st.integers(-2, 90).map(lambda days: str(TODAY + timedelta(days))),
    "status": st.sampled_from(["active", "archived", "draft"]),
    "confidential": st.booleans(),
    "applicantRoutingType": st.sampled_from([{"id": 1}, {"id": 2}]),
    "applicationEmail": st.sampled_from(["a@example.com", None]),
    "applicationUrl": st.sampled_from(["https://example.com/apply", None]),
}
FIELDS_SENT = st.dictionaries(st.sampled_from(sorted(VALUES)), st.none(), max_size=3).flatmap(
    lambda names: st.fixed_dictionaries({name: VALUES[name] for name in names})
)
ROWS = st.dictionaries(REFERENCES, FIELDS_SENT, max_size=4).map(
    lambda found: [Board.row(reference, **fields) for reference, fields in found.items()]
)
NAMES = st.sampled_from(["plain", "plain", "keeping", "wide", "delta"])
STEPS = st.one_of(
    st.tuples(st.just("file"), NAMES, ROWS),
    st.tuples(st.just("file"), NAMES, ROWS),
    st.tuples(st.just("edit"), REFERENCES, FIELDS_SENT),
    st.tuples(st.just("create"), REFERENCES, FIELDS_SENT),
    st.tuples(st.just("delete"), REFERENCES),
    st.tuples(st.just("hours"), st.sampled_from([1, 30])),
    st.tuples(st.just("revert"), st.integers(0, 20), st.sampled_from([None, None, 0, 1])),
)


@pytest.fixture(scope="module")
def begin(tmp_path_factory):
    """Yield a function that returns a past in which nothing has happened, of an employer of its own. Batches are so small
    that a few jobs are several."""
    folder, clock, numbers = tmp_path_factory.mktemp("reverts"), Clock(), itertools.count(1)
    with (
        pytest.MonkeyPatch.context() as patched,
        Store.open(store_url(f"{folder}/syncd.db"), clock=clock, timezone=ZONE) as store,
    ):
        patched.setattr(Store, "MAX_WRITE_ROWS", 2)
        patched.setattr(Store, "MAX_STEP_ROWS", 1)

        def past() -> Past:
            clock.now = START
            name = f"Employer {next(numbers)}"
            return Past(store, clock, folder / name, name)

        yield past


SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


@settings(max_examples=examples(100), deadline=None, suppress_health_check=SLOW)
@given(steps=st.lists(STEPS, max_size=8), name=NAMES, rows=ROWS)
@example(  # a job of the API that a run took over, and one that it archived
    steps=[("file", "plain", [Board.row("a")]), ("create", "b", {})],
    name="plain",
    rows=[Board.row("b", title="Chef")],
)
@example(  # a draft that a run published
    steps=[("create", "a", {"status": "draft"}), ("hours", 30)],
    name="plain",
    rows=[Board.row("a", status="active")],
)
@example(  # a job of the API that a feed with all jobs of its employer archived
    steps=[("create", "a", {}), ("file", "plain", [Board.row("b"), Board.row("c")])],
    name="wide",
    rows=[Board.row("c")],
)
@example(  # a field that a person changed after the run
    steps=[
        ("file", "plain", [Board.row("a", title="Cook")]),
        ("file", "plain", [Board.row("a", title="Chef", description="<p>One</p>")]),
        ("edit", "a", {"title": "Baker"}),
        ("revert", 1, None),
    ],
    name="keeping",
    rows=[Board.row("a")],
)
def test_a_run_and_its_revert_leave_every_job_as_before(begin, steps, name, rows):
    past = begin()
    for step in steps:
        _carry_out(past, step)
    before, owners = past.jobs(), past.owners()
    run = past.deliver(name, rows)
    after, after_owners = past.jobs(), past.owners()
    try:
        reverted = past.revert(run.id)
    except NothingToRevert:
        assert (past.jobs(), past.owners()) == (before, owners)
        return
    created = after.keys() - before.keys()
    assert _seen(past.jobs(), but=created) == _seen(before)
    assert all(past.jobs()[job_id].status is Status.ARCHIVED for job_id in created)
    assert past.owners() == owners
    past.revert(reverted.id)  # as after the run
    assert _seen(past.jobs()) == _seen(after)
    assert past.owners() == after_owners


@settings(max_examples=examples(60), deadline=None, suppress_health_check=SLOW)
@given(steps=st.lists(STEPS, max_size=5), name=NAMES, rows=ROWS)
@example(  # what a feed that keeps edits sent last is not taken for an edit
    steps=[("file", "keeping", [Board.row("a", title="Cook")])],
    name="keeping",
    rows=[Board.row("a", title="Chef")],
)
def test_the_next_file_brings_the_same_back(begin, steps, name, rows):
    past = begin()
    for step in steps:
        _carry_out(past, step)
    rows = [{key: value for key, value in row.items() if value != "draft"} for row in rows]
    run = past.deliver(name, rows)
    after, owners = past.jobs(), past.owners()
    try:
        past.revert(run.id)
    except NothingToRevert:
        return
    again = past.deliver(name, rows)
    assert again.state != "unchanged"
    why = {"archived_by": None}
    assert {i: _without_version(job, **why) for i, job in past.jobs().items()} == {
        i: _without_version(job, **why) for i, job in after.items()
    }
    assert past.owners() == owners


def test_a_revert_is_nobodys_edit_for_a_feed_that_keeps_edits_from_now_on(begin):
    past = begin()
    past.deliver("plain", [Board.row("a", title="Cook")])
    run = past.deliver("plain", [Board.row("a", title="Chef")])
    past.revert(run.id)
    keeping = past.board.feed('on_api_edit = "keep"', past.feeds["plain"].name)
    past.board.deliver(keeping, [Board.row("a", title="Chef")])
    assert past.board.job("a").title == "Chef"


def _seen(found: Picture, but: Any = ()) -> Picture:
    return {job_id: _without_version(job) for job_id, job in found.items() if job_id not in but}


def _carry_out(past: Past, step: Any) -> None:
    match step:
        case ("file", name, rows):
            past.deliver(name, rows)
        case ("edit", reference, fields):
            past.edit({"referenceId": reference, **fields})
        case ("create", reference, fields):
            past.edit(Board.row(reference, **{"status": "active", **fields}))
        case ("delete", reference):
            past.delete(reference)
        case ("hours", hours):
            past.board.clock.forward(hours=hours)
        case ("revert", which, cut) if past.runs:
            run_id, step_of_run = past.runs[which % len(past.runs)]
            _revert_and_compare(past, run_id, step_of_run, cut)


def _revert_and_compare(past: Past, run_id: int, step: int, cut: int | None) -> None:
    """Revert any earlier run, and compare the jobs with what the pictures say."""
    expected = past.expected(step)
    try:
        run = past.revert(run_id, cut)
    except NothingToRevert:
        assert expected == _seen(past.jobs())
        return
    refused = {warning.reference_id for warning in past.board.warnings(run) if warning.code == "not_restored"}
    for job_id, job in _seen(past.jobs()).items():
        if job.reference_id in refused:
            assert job == _without_version(past.pictures[-2][job_id])
        else:
            assert job == expected[job_id]
