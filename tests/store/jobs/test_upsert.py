"""The one upsert, as handlers call it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from syncd.domain import Actor, ActorKind, Catalogue, Employer, Job, JobInput, Status, check_body
from syncd.errors import DuplicateReference, IllegalTransition, Invalid, NotFound, PreconditionFailed
from syncd.store import Store, employers, jobs
from syncd.store.jobs import upsert
from tests.store.board import changes_of

BODY = {
    "title": "Baker",
    "status": "active",
    "locations": [{"description": "montreal, qc"}, {"description": "Nowhereville"}],
    "categories": [{"id": 1}],
    "positionType": {"id": 1},
    "description": "<p>Bread.</p>",
    "applicantRoutingType": {"id": 1},
    "applicationEmail": "jobs@example.com",
}
KEY = Actor(ActorKind.KEY, 1)


def sent(**fields: object) -> JobInput:
    return check_body({**BODY, **fields}, Catalogue.default())


def only(**fields: object) -> JobInput:
    return check_body(fields, Catalogue.default())


class Calls:
    """The calls of handlers for one employer, each in a transaction."""

    def __init__(self, store: Store, employer: Employer) -> None:
        self.store, self.employer_id = store, employer.id

    def create(self, **fields: object) -> Job:
        return self.store.write(lambda tx: upsert.create(tx, self.employer_id, sent(**fields), KEY))

    def put(self, checked: JobInput, **options: Any) -> tuple[Job, bool]:
        return self.store.write(lambda tx: upsert.put(tx, self.employer_id, checked, KEY, **options))

    def update(self, job_id: int, checked: JobInput, **options: Any) -> Job:
        return self.store.write(
            lambda tx: upsert.update(tx, self.employer_id, job_id, checked, KEY, **options)
        )

    def delete(self, job_id: int, **options: Any) -> None:
        self.store.write(lambda tx: upsert.delete(tx, self.employer_id, job_id, KEY, **options))

    def delete_reference(self, reference: str) -> None:
        self.store.write(lambda tx: upsert.delete_reference(tx, self.employer_id, reference, KEY))

    def stored(self, job_id: int) -> Job | None:
        return self.store.read(lambda tx: jobs.get(tx, self.employer_id, job_id))


@pytest.fixture
def calls(store: Store, employer: Employer) -> Calls:
    return Calls(store, employer)


def test_create_stores_the_job_with_its_places(calls: Calls) -> None:
    job = calls.create(referenceId="A")
    assert calls.stored(job.id) == job
    assert [(p.id, p.description) for p in job.locations] == [
        (6077243, "Montréal, QC"),
        (1_000_000_000, "Nowhereville"),
    ]


def test_a_second_create_with_a_reference_is_refused(calls: Calls) -> None:
    job = calls.create(referenceId="A")
    with pytest.raises(DuplicateReference) as refused:
        calls.create(referenceId="A")
    assert (refused.value.job_id, refused.value.reference_id) == (job.id, "A")
    assert calls.create().id == calls.create().id - 1  # none never collides with none


def test_the_faults_of_a_body_come_before_the_conflict(calls: Calls) -> None:
    calls.create(referenceId="A")
    with pytest.raises(Invalid):
        calls.create(referenceId="A", positionType=None)


def test_put_creates_once_and_then_changes_nothing(calls: Calls, store: Store, employer: Employer) -> None:
    job, created = calls.put(sent(referenceId="A"))
    assert created
    assert calls.put(sent(referenceId="A")) == (job, False)
    assert len(changes_of(store, employer.id, job.id)) == 1


def test_put_changes_only_what_is_sent(calls: Calls) -> None:
    job, _ = calls.put(sent(referenceId="A"))
    after, created = calls.put(only(referenceId="A", status="archived"))
    assert not created
    assert (after.status, after.title, after.version) == (Status.ARCHIVED, job.title, 2)


def test_put_without_a_reference_is_refused(calls: Calls) -> None:
    with pytest.raises(Invalid) as refused:
        calls.put(sent())
    assert [(p.pointer, p.code) for p in refused.value.problems] == [("/referenceId", "required")]


def test_an_id_in_the_body_must_be_the_job_addressed(calls: Calls) -> None:
    job, _ = calls.put(sent(referenceId="A"))
    assert calls.put(sent(referenceId="A", id=job.id)) == (job, False)
    assert calls.update(job.id, only(id=job.id)) == job
    for call in (
        lambda: calls.put(sent(referenceId="A", id=job.id + 1)),
        lambda: calls.put(sent(referenceId="new", id=job.id)),
        lambda: calls.update(job.id, only(id=job.id + 1)),
    ):
        with pytest.raises(Invalid) as refused:
            call()
        assert [(p.pointer, p.code) for p in refused.value.problems] == [("/id", "read_only_mismatch")]
    assert calls.create(id=job.id).id != job.id  # a POST ignores it


def test_update_may_take_a_free_reference_and_no_other(calls: Calls) -> None:
    calls.create(referenceId="A")
    job = calls.create(referenceId="B")
    assert calls.update(job.id, only(referenceId="C")).reference_id == "C"
    with pytest.raises(DuplicateReference):
        calls.update(job.id, only(referenceId="A"))
    assert calls.update(job.id, only(referenceId="")).reference_id is None
    assert calls.update(job.id, only(referenceId="B")).reference_id == "B"


def test_update_refuses_what_may_not_be(calls: Calls) -> None:
    job = calls.create()
    with pytest.raises(IllegalTransition):
        calls.update(job.id, only(status="draft"))
    with pytest.raises(Invalid):
        calls.update(job.id, only(positionType=None))
    assert calls.stored(job.id) == job


def test_what_is_not_there_is_not_found(calls: Calls, store: Store) -> None:
    other = store.write(lambda tx: employers.add(tx, "Other"))
    theirs = store.write(lambda tx: upsert.create(tx, other.id, sent(referenceId="A"), KEY))
    for call in (
        lambda: calls.update(theirs.id, only(title="x")),
        lambda: calls.delete(theirs.id),
        lambda: calls.delete_reference("A"),
        lambda: calls.update(99, only(title="x")),
        lambda: calls.delete(-1),
    ):
        with pytest.raises(NotFound):
            call()


def test_delete_removes_by_id_and_by_reference(calls: Calls) -> None:
    one, two = calls.create(referenceId="A"), calls.create(referenceId="B")
    calls.delete(one.id)
    calls.delete_reference("B")
    assert (calls.stored(one.id), calls.stored(two.id)) == (None, None)
    with pytest.raises(NotFound):
        calls.delete(one.id)


def test_a_precondition_sees_the_job_as_it_is_and_can_refuse(calls: Calls) -> None:
    job = calls.create(referenceId="A")
    looked = []

    def refuse(current: Job | None) -> None:
        looked.append(current)
        raise PreconditionFailed

    for call in (
        lambda: calls.update(job.id, only(title="x"), check=refuse),
        lambda: calls.put(only(referenceId="A", title="x"), check=refuse),
        lambda: calls.put(sent(referenceId="B"), check=refuse),
        lambda: calls.delete(job.id, check=refuse),
    ):
        with pytest.raises(PreconditionFailed):
            call()
    assert looked == [job, job, None, job]
    assert calls.stored(job.id) == job


def test_a_race_of_creates_ends_in_one_job(calls: Calls, store: Store, employer: Employer) -> None:
    start = threading.Barrier(32)

    def race(_: int) -> int:
        start.wait()
        job, _ = calls.put(sent(referenceId="A", locations=[{"description": "Ghost Lake Village, AB"}]))
        return job.id

    with ThreadPoolExecutor(32) as pool:
        assert set(pool.map(race, range(32))) == {1}
    assert store.read(lambda tx: jobs.count(tx, employer.id)) == 1
    assert (
        store.read(
            lambda tx: tx.execute("SELECT count(*) FROM place WHERE employer_id IS NOT NULL").fetchone()[0]
        )
        == 1
    )
