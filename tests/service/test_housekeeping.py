"""The search index is kept up to date."""

from syncd.domain import Actor, ActorKind, JobInput, Place
from syncd.errors import StoreOverloaded
from syncd.service.housekeeping import index_searches
from syncd.store import employers
from syncd.store.jobs import upsert
from syncd.store.sqlite import search_index
from tests.stores import rows_in, sqlite_only


def make_jobs(store, count):
    def make(tx):
        owner = employers.add(tx, "Acme Ltd.")
        for number in range(count):
            sent = {"title": f"Job {number}", "categories": (1,), "locations": (Place("Montréal", "QC"),)}
            upsert.create(tx, owner.id, JobInput(sent), Actor(ActorKind.OPERATOR))

    store.write(make)


@sqlite_only
def test_indexing_stops_between_two_steps_and_then_adds_all_jobs(store):
    make_jobs(store, search_index.STEP_JOBS + 1)
    answers = iter([False, False, True])  # before the first step it looks whether there is something to merge
    index_searches(store, lambda: next(answers))
    [(mark,)] = rows_in(store.database.path, "SELECT value FROM setting WHERE name = 'job_search'")
    assert mark == str(search_index.STEP_JOBS)
    assert store.read(search_index.lacks_jobs)
    index_searches(store, lambda: False)
    assert not store.read(search_index.lacks_jobs)


@sqlite_only
def test_indexing_waits_while_too_many_writes_wait(store, monkeypatch):
    def full(_fn):
        raise StoreOverloaded

    make_jobs(store, 1)
    with monkeypatch.context() as busy:
        busy.setattr(store._writer, "put", full)
        index_searches(store, lambda: False)
    assert store.read(search_index.lacks_jobs)
    index_searches(store, lambda: False)
    assert not store.read(search_index.lacks_jobs)
