"""``apply``: ids, versions, totals, history, and refused stale decisions."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from syncd.domain import (
    Actor,
    ActorKind,
    ArchivedBy,
    CloseOrigin,
    Create,
    Delete,
    Job,
    Location,
    Salary,
    Status,
    Update,
)
from syncd.errors import StoreError
from syncd.store import history, jobs
from syncd.store.model import job_columns
from syncd.store.sqlite import statements
from syncd.store.transactions import StaleDecision
from tests.store.board import changes_of

WHOLE = {
    "reference_id": "A-1 é",
    "close_origin": CloseOrigin.CHOSEN,
    "confidential": True,
    "auto_refresh": True,
    "status": Status.ARCHIVED,
    "archived_by": ArchivedBy.EXPIRED,
    "locations": (Location(6077243, "Montréal", "Montréal, QC"), Location(6167865, "Toronto", "Toronto, ON")),
    "categories": (3, 1, 2),
    "position_type": 2,
    "salary": Salary(Decimal("1234567890.1234"), Decimal("999999999999.9999"), 5, True),
    "description": "<p>é \U0001f950 &amp; 'quoted' \"\"</p>\n",
    "routing": 2,
    "application_email": "a@example.com",
    "application_url": "https://example.com/?q=é",
    "published_at": datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
    "publish_date": date(2026, 1, 1),
    "close_date": date(2031, 12, 31),
}
EMPTY = {
    "position_type": None,
    "salary": None,
    "description": None,
    "routing": None,
    "application_email": None,
    "application_url": None,
    "status": Status.DRAFT,
    "locations": (),
    "categories": (),
}
COMMISSION = {"salary": Salary(None, None, None, True)}


@pytest.mark.parametrize(
    "fields", [{}, WHOLE, EMPTY, COMMISSION], ids=["plain", "whole", "empty", "commission"]
)
def test_a_job_comes_back_as_it_was_written(board, store, employer, fields):
    job = board.create(**fields)
    kept = store.read(lambda tx: jobs.get(tx, employer.id, job.id))
    assert kept is not None
    assert kept == job
    assert (job.id, job.version) == (1, 1)
    for name, value in fields.items():
        assert getattr(kept, name) == value
    if kept.salary and kept.salary.amount is not None:
        assert str(kept.salary.amount) == str(fields["salary"].amount)


@pytest.mark.parametrize("name", [*WHOLE, "title"])
def test_an_update_of_one_field_writes_that_and_leaves_the_rest(board, store, employer, name):
    before = board.create()
    value = {**WHOLE, "title": "Another title", "close_origin": CloseOrigin.RENEWED}[name]
    fields: dict[str, Any] = {name: value}
    after = board.update(before, **fields)
    assert getattr(after, name) == value != getattr(before, name)
    assert (
        store.read(lambda tx: jobs.get(tx, employer.id, before.id))
        == after
        == replace(before, version=2, **{name: value})
    )


def test_an_update_of_a_title_touches_none_of_the_indexes_on_dates_and_status():
    before = Job(
        id=7, employer_id=1, reference_id="A", title="Cook", published_at=datetime(2026, 1, 2, tzinfo=UTC),
        publish_date=date(2026, 1, 2), close_date=date(2026, 3, 3), close_origin=CloseOrigin.DEFAULT,
        confidential=False, auto_refresh=False, status=Status.ACTIVE, locations=(), categories=(),
        position_type=None, salary=None, description=None, routing=None, application_email=None,
        application_url=None, version=3,
    )  # fmt: skip
    statement, values = job_columns.update_of(before, replace(before, title="Baker", version=4))
    text = statements()[statement].text
    assert text == "UPDATE job SET title=?, version=?, search=? WHERE job.id = ? AND job.version = ?"
    assert values == ("Baker", 4, "baker\na", 7, 3)


def test_ids_rise_and_are_never_used_again(board, store):
    first, second = board.create(), board.create()
    board.delete(second)
    third = board.create()
    board.delete(third)
    board.delete(first)
    assert board.create().id == 4


def test_a_refused_create_burns_no_id(board, store):
    board.create(reference_id="A")
    with pytest.raises(StaleDecision):
        board.create(reference_id="A")
    assert board.create(reference_id="B").id == 2


def test_a_batch_gives_ids_in_its_order(board, store):
    made = board.apply(*(Create(board.job(reference_id=f"R{n}")) for n in range(500)))
    assert [(job.id, job.reference_id) for job in made] == [(n + 1, f"R{n}") for n in range(500)]
    assert list(store.read(lambda tx: jobs.by_ids(tx, range(1, 501))).values()) == made


def test_no_id_beyond_int32_is_given_out(board, store):
    store.write(lambda tx: tx.execute(f"INSERT INTO counter (name, value) VALUES ('job', {2**31 - 2})"))
    assert board.create().id == 2**31 - 1
    with pytest.raises(StoreError, match="no job ids are left"):
        board.create()


def test_a_stale_decision_is_refused_and_changes_nothing(board, store, employer):
    job, other = board.create(), board.create()
    newer = board.update(job, title="Miller")
    for change in (Update(job, replace(job, title="Cook"), ("title",)), Delete(job)):
        with pytest.raises(StaleDecision):
            board.apply(change)
        with pytest.raises(StaleDecision):
            board.apply(Update(other, replace(other, title="Cook"), ("title",)), change)
    assert store.read(lambda tx: jobs.by_ids(tx, [job.id, other.id])) == {job.id: newer, other.id: other}
    assert store.read(jobs.totals) == {(employer.id, "active"): 2}


def test_a_reference_freed_in_a_batch_can_be_used_in_it(board, store, employer):
    job = board.create(reference_id="A")
    _, new = board.apply(Delete(job), Create(replace(job, id=0, version=0)))
    assert store.read(lambda tx: jobs.by_reference(tx, employer.id, "A")) == new
    assert new.id != job.id


# -- history ---------------------------------------------------------------------------------------------


def test_every_change_is_in_the_history_with_what_was_before(board, store, employer, clock):
    job = board.create(reference_id="A", salary=Salary(Decimal("12.50"), None, 5, False))
    clock.forward(days=1)
    run = Actor(ActorKind.RUN, 9)
    changed = board.update(job, run, title="Cook", salary=None, locations=())
    gone = board.archive(changed, ArchivedBy.MISSING, run, run_id=9)
    board.delete(gone)
    entries = changes_of(store, employer.id, job.id)[::-1]
    assert [(e.action, e.version, e.actor.kind.value, e.run_id) for e in entries] == [
        ("created", 1, "key", None),
        ("updated", 2, "run", None),
        ("archived", 3, "run", 9),
        ("deleted", 4, "key", None),
    ]
    assert [e.before for e in entries[:3]] == [
        None,
        {
            "title": "Baker",
            "salary": {"amount": "12.50", "maxAmount": None, "period": 5, "plusCommission": False},
            "locations": [[6077243, "Montréal", "Montréal, QC", "city"]],
        },
        {"status": "active"},
    ]
    assert entries[1].at - entries[0].at == timedelta(days=1)
    assert {e.reference_id for e in entries} == {"A"}
    assert replace(changed, **entries[1].attributes) == replace(job, version=2)
    assert replace(gone, **entries[2].attributes, version=2) == changed

    blank = Job(
        **{**{f: getattr(gone, f) for f in ("id", "employer_id", "version")}, **entries[3].attributes}
    )
    assert blank == gone


ACTIONS = [
    ("published", {"status": Status.DRAFT}, {"status": Status.ACTIVE}, ActorKind.KEY),
    ("archived", {}, {"status": Status.ARCHIVED, "archived_by": ArchivedBy.PERSON}, ActorKind.KEY),
    ("closed", {}, {"status": Status.ARCHIVED, "archived_by": ArchivedBy.CLOSED}, ActorKind.CLOSE),
    ("reactivated", {"status": Status.ARCHIVED}, {"status": Status.ACTIVE}, ActorKind.RUN),
    ("refreshed", {}, {"published_at": datetime(2026, 4, 1, tzinfo=UTC)}, ActorKind.REFRESH),
    ("updated", {}, {"title": "Cook"}, ActorKind.OPERATOR),
]


@pytest.mark.parametrize(("action", "before", "after", "kind"), ACTIONS, ids=[row[0] for row in ACTIONS])
def test_the_history_names_what_an_update_amounts_to(  # noqa: PLR0917
    board, store, action, before, after, kind
):
    job = board.create(**before)
    changed = replace(job, **after)
    names = tuple(name for name in ("status", "title") if name in after)
    board.apply(Update(job, changed, names), actor=Actor(kind))
    entry = changes_of(store, job.employer_id, job.id)[0]
    assert entry.action == action
    assert replace(changed, **entry.attributes) == job


def test_old_history_is_pruned_and_only_that(board, store, employer, clock):
    job = board.create()
    clock.forward(days=10)
    board.update(job, title="Cook")
    limit = clock() - timedelta(days=5)
    assert store.write(lambda tx: history.prune(tx, limit)) == 1
    assert store.write(lambda tx: history.prune(tx, limit)) == 0
    assert [e.action for e in changes_of(store, employer.id, job.id)] == ["updated"]


# -- totals ----------------------------------------------------------------------------------------------

_STATUS = st.sampled_from(list(Status))
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), _STATUS, st.integers(0, 3)),
        st.tuples(st.just("update"), _STATUS, st.integers(0, 9)),
        st.tuples(st.just("archive"), _STATUS, st.integers(0, 9)),
        st.tuples(st.just("delete"), _STATUS, st.integers(0, 9)),
        st.tuples(st.just("fail"), _STATUS, st.integers(0, 9)),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=_STEPS)
def test_totals_are_always_what_counting_would_give(board, store, steps):
    """One step a transaction, each on a random job of those that there are."""
    there: dict[int, Job] = store.read(
        lambda tx: {j.id: j for j in jobs.after(tx, board.employer.id, 0, 1000)}
    )
    for what, status, number in steps:
        job = list(there.values())[number % len(there)] if there else None
        if what == "create" or job is None:
            made = [board.create(status=status) for _ in range(number % 4)]
            there |= {job.id: job for job in made}
        elif what == "update":
            there[job.id] = board.update(job, status=status)
        elif what == "archive":
            there[job.id] = board.archive(job, ArchivedBy.MISSING)
        elif what == "delete":
            board.delete(there.pop(job.id))
        else:
            with pytest.raises(StaleDecision):
                board.apply(Delete(job), Delete(job))
    counted = store.read(
        lambda tx: {
            (r[0], r[1]): r[2]
            for r in tx.execute("SELECT employer_id, status, count(*) FROM job GROUP BY 1, 2").fetchall()
        }
    )
    assert {key: n for key, n in store.read(jobs.totals).items() if n} == counted
    assert store.read(lambda tx: jobs.count(tx, board.employer.id)) == len(there)
    assert max(there, default=0) <= store.read(
        lambda tx: (tx.execute("SELECT value FROM counter").fetchone() or [0])[0]
    )
