"""The one upsert, where requests meet. tests/api has its rules."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from syncd.domain import Actor, ActorKind, Catalogue, JobInput, check_body
from syncd.errors import Invalid
from syncd.store import jobs
from syncd.store.jobs import upsert
from tests.store.board import changes_of

BODY = {
    "title": "Baker",
    "referenceId": "A",
    "status": "active",
    "locations": [{"description": "Ghost Lake Village, AB"}],
    "categories": [{"id": 1}],
    "positionType": {"id": 1},
    "description": "<p>Bread.</p>",
    "applicantRoutingType": {"id": 1},
    "applicationEmail": "jobs@example.com",
}
KEY = Actor(ActorKind.KEY, 1)


def sent(**fields: object) -> JobInput:
    return check_body({**BODY, **fields}, Catalogue.default())


def test_the_faults_of_a_body_come_before_the_conflict(store, employer):
    store.write(lambda tx: upsert.create(tx, employer.id, sent(), KEY))
    with pytest.raises(Invalid):
        store.write(lambda tx: upsert.create(tx, employer.id, sent(positionType=None), KEY))


def test_a_put_that_changes_nothing_leaves_no_trace(store, employer):
    put = [store.write(lambda tx: upsert.put(tx, employer.id, sent(), KEY)) for _ in range(2)]
    assert put == [(put[0][0], True), (put[0][0], False)]
    assert len(changes_of(store, employer.id, put[0][0].id)) == 1


def test_a_race_of_creates_ends_in_one_job(store, employer):
    start = threading.Barrier(32)

    def race(_: int):
        start.wait()
        return store.write(lambda tx: upsert.put(tx, employer.id, sent(), KEY))[0].id

    with ThreadPoolExecutor(32) as pool:
        assert set(pool.map(race, range(32))) == {1}
    assert store.read(lambda tx: jobs.count(tx, employer.id)) == 1
    places = "SELECT count(*) FROM place WHERE employer_id IS NOT NULL"
    assert store.read(lambda tx: tx.execute(places).fetchone()) == (1,)
