"""Connections that break: reads and writes are refused meanwhile and go on afterwards, and a commit whose answer was lost is
neither reported as done without being done, nor done twice."""

import select
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from syncd.domain import Create
from syncd.errors import StoreBusy
from syncd.store import Store, Tx, employers, jobs
from syncd.store.postgres import session
from tests.store.board import ACTOR, a_job
from tests.stores import rows_in, server


@pytest.fixture
def away():
    """The server. It runs again after the test."""
    found = server()
    yield found
    if found.process.poll() is not None:
        found.start()


def end_connections(path: Path) -> None:
    """Have the server end all connections to the store, as an operator or a failover does."""
    name = server().database_of(path)
    server().sql(
        f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{name}' AND pid <> pg_backend_pid()"
    )


def names(store: Store) -> list[str]:
    return [employer.name for employer in store.read(employers.all)]


def add(store: Store, name: str) -> None:
    store.write(lambda tx: employers.add(tx, name))


def test_connections_that_were_ended_between_two_calls_are_opened_again(store, path):
    add(store, "one")
    assert names(store) == ["one"]
    for number in range(3):
        end_connections(path)
        add(store, f"more {number}")
        end_connections(path)
        assert len(names(store)) == len(store.look_up(employers.all)) == number + 2


@pytest.mark.parametrize("when", ["before a statement", "before its history is written"])
def test_a_write_whose_connection_ends_is_done_once(store, path, employer, when):
    runs: list[int] = []

    def write(tx: Tx) -> int:
        (job,) = jobs.apply(tx, [Create(a_job(employer.id, reference_id="a"))], ACTOR)
        runs.append(job.id)
        if len(runs) == 1:
            end_connections(path)
            if when == "before a statement":
                employers.all(tx)
        return job.id

    assert store.write(write) == runs[-1]
    assert len(runs) == 2  # the first transaction was undone by the server
    assert rows_in(path, "SELECT job_id FROM history") == rows_in(path, "SELECT id FROM job") == [(runs[-1],)]
    assert rows_in(path, "SELECT sum(n) FROM job_total") == [(1,)]


def test_a_read_whose_connection_ends_is_refused_and_the_next_is_not(store, path):
    def read(tx: Tx) -> None:
        employers.all(tx)
        end_connections(path)
        employers.all(tx)

    with pytest.raises(StoreBusy, match=r"the server refuses .*administrator command"):
        store.read(read)
    assert names(store) == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["restart", "crash"])
def test_while_the_server_is_away_everything_is_refused_and_goes_on_afterwards(store, away, how):
    add(store, "before")
    assert names(store) == ["before"]
    away.stop(how)
    for _ in range(3):
        with pytest.raises(StoreBusy, match="cannot be reached"):
            names(store)
        with pytest.raises(StoreBusy, match="cannot be reached"):
            store.look_up(employers.all)
        with pytest.raises(StoreBusy, match="cannot be reached"):
            add(store, "lost")
    away.start()
    wait_until(lambda: names(store) == ["before"])
    add(store, "after")
    assert names(store) == ["before", "after"]


def wait_until(true: Callable[[], bool]) -> None:
    """Wait until ``true`` is true, and does not raise StoreBusy any more."""
    for _ in range(200):
        try:
            if true():
                return
        except StoreBusy:
            pass
        threading.Event().wait(0.05)
    pytest.fail("it did not become true")


@pytest.mark.parametrize("more", [True, False], ids=["before a statement", "before the commit"])
def test_a_transaction_that_the_server_ended_because_it_was_silent_is_refused_as_one_that_passes(store, more):
    def slow(tx: Tx) -> None:
        employers.add(tx, "one")
        tx.execute("SET LOCAL idle_in_transaction_session_timeout = '50ms'")
        assert isinstance(store._session, session.PostgresSession)
        assert select.select([store._session._driver], [], [], 10)[0], (
            "the server has not ended the transaction"
        )
        if more:
            employers.all(tx)

    with pytest.raises(StoreBusy, match=r"the server refuses .*idle-in-transaction timeout"):
        store.write(slow)
    add(store, "two")
    assert names(store) == ["two"]


class LossyCommit:
    """Loses the answer to the next COMMIT of the writing connection: the connection ends before or after the server has
    carried it out."""

    def __init__(self, store: Store, *, carried_out: bool, then: Callable[[], None] = lambda: None) -> None:
        self._then = then
        self._session = store._session
        assert isinstance(self._session, session.PostgresSession)
        self._driver: Any = self._session._driver
        self._carried_out = carried_out
        self._session._driver = self  # type: ignore[assignment]

    def __getattr__(self, name: str) -> object:
        return getattr(self._driver, name)

    def execute(self, text: str, *values: object, **options: object) -> object:
        if not text.endswith("COMMIT"):
            return self._driver.execute(text, *values, **options)
        if self._carried_out:
            self._driver.execute(text)
        self._driver.close()
        self._then()
        raise psycopg.OperationalError("server closed the connection unexpectedly")


def counted(runs: list[int]) -> Callable[[Tx], None]:
    """Return a function that adds an employer, and counts how often it is run."""

    def fn(tx: Tx) -> None:
        employers.add(tx, "one")
        runs.append(1)

    return fn


def test_a_commit_that_was_carried_out_is_reported_as_done_although_its_answer_was_lost(store):
    LossyCommit(store, carried_out=True)
    runs: list[int] = []
    store.write(counted(runs))
    assert (names(store), runs) == (["one"], [1])
    add(store, "two")
    assert names(store) == ["one", "two"]


def test_a_commit_that_was_not_carried_out_is_refused_and_not_repeated(store):
    LossyCommit(store, carried_out=False)
    runs: list[int] = []
    with pytest.raises(StoreBusy, match="cannot be reached"):
        store.write(counted(runs))
    assert (names(store), runs) == ([], [1])
    add(store, "two")
    assert names(store) == ["two"]


def test_a_commit_of_which_nobody_can_be_asked_is_refused(store, away, monkeypatch):
    monkeypatch.setattr(session, "OUTCOME_SECONDS", 0.3)
    LossyCommit(store, carried_out=True, then=away.stop)
    with pytest.raises(StoreBusy, match="cannot be reached"):
        add(store, "one")
    away.start()
    wait_until(lambda: names(store) == ["one"])


def test_no_acknowledged_write_is_lost_and_none_is_done_twice_while_connections_end(store, path, away):
    done: list[str] = []
    stop = threading.Event()

    def write(worker: int) -> None:
        number = 0
        while not stop.is_set():
            name = f"{worker}-{number}"
            try:
                add(store, name)
            except StoreBusy:
                continue  # as a client that repeats a request: a name that is there already is refused
            done.append(name)
            number += 1

    with ThreadPoolExecutor(6) as pool:
        futures = [pool.submit(write, worker) for worker in range(6)]
        for turn in range(12):
            threading.Event().wait(0.05)
            if turn == 6:
                away.stop(signal.SIGQUIT)
                away.start()
            else:
                end_connections(path)
        stop.set()
        for future in futures:
            future.result()  # no name was refused as there already
    assert len(done) > 20
    kept = [name for (name,) in rows_in(path, "SELECT name FROM employer")]
    assert sorted(kept) == sorted(done)
