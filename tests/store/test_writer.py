"""The writer: one transaction for all that wait, an answer only for writes on disk, each failure its own. And reads."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlmodel import col

from syncd.domain import Create, Employer
from syncd.errors import NotFound, StoreBusy, StoreClosed, StoreOverloaded
from syncd.store import Store, Tx, employers, history, jobs, keys
from syncd.store.model import sql
from syncd.store.model.tables import EmployerRow, FactRow
from tests.store.board import ACTOR, a_job
from tests.stores import locked_error, open_transactions, refuse_writes, rows_in

PUT = (
    "INSERT INTO setting (name, value) VALUES ('{}', 'x')"
    " ON CONFLICT (name) DO UPDATE SET value = setting.value || 'x'"
)


def put(name: str) -> Callable[[Tx], str]:
    def fn(tx: Tx) -> str:
        tx.execute(PUT.format(name))
        return name

    return fn


def seen(path: Path) -> dict[str, str]:
    """The settings that another process would see now."""
    return dict(rows_in(path, "SELECT name, value FROM setting WHERE name LIKE 't-%'"))


class Gate:
    """Holds the writer inside a function, so that others queue up behind it."""

    def __init__(self, store: Store) -> None:
        self._entered, self._open = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=store.write, args=(self._wait,))
        self._thread.start()
        assert self._entered.wait(10)

    def _wait(self, _tx: Tx) -> None:
        self._entered.set()
        assert self._open.wait(10)

    def open(self) -> None:
        self._open.set()
        self._thread.join()


def queued(store: Store, count: int) -> None:
    give_up = threading.Event()
    for _ in range(2000):
        if store.waiting_writes >= count:
            return
        give_up.wait(0.005)
    pytest.fail("the writes did not queue up")


def together(store: Store, *fns: Callable[[Tx], object]) -> list[object]:
    """Run ``fns`` as one batch of the writer, in order; results or exceptions."""
    gate, pool = Gate(store), ThreadPoolExecutor(len(fns))
    futures = []
    for number, fn in enumerate(fns, 1):
        futures.append(pool.submit(store.write, fn))
        queued(store, number)
    gate.open()
    pool.shutdown()
    return [future.exception() or future.result() for future in futures]


def test_writes_that_wait_are_committed_together(store, path):
    def look(tx: Tx) -> dict[str, dict[str, str]]:
        mine = dict(tx.execute("SELECT name, value FROM setting WHERE name LIKE 't-%'").fetchall())
        return {"inside": mine, "outside": seen(path)}

    one, two, looked = together(store, put("t-1"), put("t-2"), look)
    assert (one, two) == ("t-1", "t-2")
    assert looked == {"inside": {"t-1": "x", "t-2": "x"}, "outside": {}}
    assert seen(path) == {"t-1": "x", "t-2": "x"}


async def test_writes_of_one_turn_of_a_loop_are_committed_together(store, path):
    async def ask(name: str):
        time.sleep(0.002)
        return await store.write_async(lambda tx: (put(name)(tx), seen(path))[1])

    for turn in range(5):
        before = seen(path)
        views = await asyncio.gather(*(ask(f"t-{turn}-{number}") for number in range(8)))
        assert views == [before] * 8
    assert len(seen(path)) == 40


def test_one_that_raises_before_writing_costs_the_others_nothing(store, path):
    runs = []

    def counted(tx: Tx) -> None:
        runs.append(1)
        put("t-1")(tx)

    def refuse(tx: Tx) -> None:
        tx.execute("SELECT * FROM job").fetchall()
        raise NotFound("job", 7)

    _, error, _ = together(store, counted, refuse, put("t-2"))
    assert isinstance(error, NotFound)
    assert seen(path) == {"t-1": "x", "t-2": "x"}
    assert len(runs) == 1  # nothing had to be run again


def test_one_that_raises_after_writing_loses_only_its_own_effects(store, path):
    def broken(tx: Tx) -> None:
        put("t-broken")(tx)
        put("t-1")(tx)
        raise ValueError("no")

    first, error, last = together(store, put("t-1"), broken, put("t-2"))
    assert (first, str(error), last) == ("t-1", "no", "t-2")
    assert seen(path) == {"t-1": "x", "t-2": "x"}


def creating(employer: Employer, *references: str) -> Callable[[Tx], int]:
    """Return a function that creates jobs, and returns how many entries of the history it then sees."""

    def fn(tx: Tx) -> int:
        made = [Create(a_job(employer.id, reference_id=reference)) for reference in references]
        stored = jobs.apply(tx, made, ACTOR)
        return sum(map(len, history.since(tx, [job.id for job in stored], 0).values()))

    return fn


def test_a_function_sees_the_history_of_what_it_wrote(store, employer):
    assert together(store, creating(employer, "a", "b"), creating(employer, "c")) == [2, 1]


def test_what_the_end_of_a_transaction_writes_and_cannot_is_lost_to_its_own_function_only(
    store, path, employer
):
    def quiet(reference: str) -> Callable[[Tx], object]:
        made = Create(a_job(employer.id, reference_id=reference))
        return lambda tx: jobs.apply(tx, [made], ACTOR)[0].reference_id

    refuse_writes(path, "INSERT ON history WHEN NEW.reference_id = 'bad'", "ABORT", "no room")
    good, error, other = together(store, quiet("good"), quiet("bad"), quiet("other"))
    assert (good, other) == ("good", "other")
    assert "no room" in str(error)
    for table in ("job", "history"):
        assert {reference for (reference,) in rows_in(path, f"SELECT reference_id FROM {table}")} == {
            "good",
            "other",
        }
    assert rows_in(path, "SELECT sum(n) FROM job_total") == [(2,)]


def test_a_statement_that_fails_half_way_leaves_nothing(store, path):
    def clash(tx: Tx) -> None:
        tx.many(sql.inserting(FactRow), [("t-new", "1"), ("t-1", "2")])

    _, error, _ = together(store, put("t-1"), clash, put("t-2"))
    assert isinstance(error, Exception)
    assert store.database.is_conflict(error)
    assert seen(path) == {"t-1": "x", "t-2": "x"}


def test_a_function_that_ends_the_transaction_harms_nobody_else(store, path):
    first, error, last = together(store, put("t-1"), lambda tx: tx.execute("ROLLBACK"), put("t-2"))
    assert (first, last) == ("t-1", "t-2")
    assert isinstance(error, StoreBusy)
    assert seen(path) == {"t-1": "x", "t-2": "x"}


def test_many_threads_write_and_every_write_counts_once(store, path):
    def fn(number: int) -> None:
        if number % 7 == 0:
            with pytest.raises(ZeroDivisionError):
                store.write(lambda tx: (put(f"t-{number}")(tx), 1 / 0))
        else:
            store.write(put(f"t-{number}"))

    with ThreadPoolExecutor(64) as pool:
        list(pool.map(fn, range(640)))
    assert seen(path) == {f"t-{n}": "x" for n in range(640) if n % 7}


@pytest.mark.parametrize("door", ["read", "look_up"])
def test_reads_go_on_while_a_write_is_under_way_and_see_it_once_it_is_acknowledged(store, door):
    ask = getattr(store, door)
    written, looked = threading.Event(), threading.Event()

    def slow(tx: Tx) -> None:
        employers.add(tx, "Slow")
        written.set()
        assert looked.wait(10)

    thread = threading.Thread(target=store.write, args=(slow,))
    thread.start()
    assert written.wait(10)
    assert ask(employers.all) == []
    looked.set()
    thread.join()
    assert [e.name for e in ask(employers.all)] == ["Slow"]


def test_a_look_up_leaves_no_transaction_open(store, path):
    """Else the next one on its connection would see an old moment, and the log could not be folded in."""
    for count in range(3):
        for _ in range(2):
            assert len(store.look_up(employers.all)) == count
        store.write(partial(employers.add, name=f"Number {count}"))
    assert open_transactions(path) == 0


@pytest.mark.parametrize("door", ["read", "look_up"])
def test_an_error_of_the_driver_leaves_as_one_of_the_store(store, door):
    def locked(_tx: Tx) -> None:
        raise locked_error()

    with pytest.raises(StoreBusy):
        getattr(store, door)(locked)
    assert store.read(employers.all) == []


def test_a_read_sees_one_moment(store):
    def fn(tx: Tx) -> tuple[int, int]:
        before = len(employers.all(tx))
        store.write(lambda other: employers.add(other, "Meanwhile"))
        return before, len(employers.all(tx))

    assert store.read(fn) == (0, 0)
    assert len(store.read(employers.all)) == 1


def test_a_write_that_would_wait_for_another_write_is_an_error(store):
    with pytest.raises(RuntimeError, match="cannot wait for another"):
        store.write(lambda tx: store.write(put("t-1")))
    assert store.write(put("t-2")) == "t-2"


async def test_a_caller_that_gives_up_does_not_stop_its_write_or_the_writer(store):
    gate = Gate(store)
    task = asyncio.create_task(store.write_async(lambda tx: employers.add(tx, "Gone")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.open()
    await store.write_async(lambda tx: employers.add(tx, "Next"))
    assert [e.name for e in store.read(employers.all)] == ["Gone", "Next"]


async def first_and(store: Store, second: Callable[[], object]) -> "asyncio.Task[str]":
    """A write of this loop that is done once ``second`` has queued the next one."""
    runs, go = threading.Event(), threading.Event()

    def fn(tx: Tx) -> str:
        runs.set()
        go.wait(10)
        return put("t-1")(tx)

    task = asyncio.create_task(store.write_async(fn))
    await asyncio.to_thread(runs.wait, 10)
    second()
    for _ in range(2):  # the task begins; the end of its turn, at which the writer learns of more
        await asyncio.sleep(0)
    go.set()
    return task


async def test_a_waiting_caller_gets_its_result_before_a_thread_writes_for_long(store):
    end = threading.Event()
    task = await first_and(store, lambda: store.begin_write(lambda _tx: end.wait(10)))
    assert await asyncio.wait_for(task, 5) == "t-1"
    end.set()


async def test_a_waiting_caller_gets_its_result_while_the_disk_is_flushed_for_the_next_of_its_loop(
    store, path
):
    first: list[asyncio.Task[str]] = []
    later: list[asyncio.Task[str]] = []
    early: list[bool] = []

    def second(tx: Tx) -> str:
        time.sleep(0.05)  # in which the loop could hear of the first
        early.append(first[0].done())
        assert seen(path) == {"t-1": "x"}
        return put("t-2")(tx)

    task = await first_and(store, lambda: later.append(asyncio.create_task(store.write_async(second))))
    first.append(task)
    assert await asyncio.gather(task, *later) == ["t-1", "t-2"]
    assert early == [False]


@pytest.mark.parametrize("writes", [False, True])
async def test_a_waiting_caller_gets_its_result_although_the_next_write_of_its_loop_fails(store, writes):
    later: list[asyncio.Task[str]] = []

    def fails(tx: Tx) -> str:
        if writes:
            put("t-2")(tx)
        raise NotFound("job", 1)

    task = await first_and(store, lambda: later.append(asyncio.create_task(store.write_async(fails))))
    assert await asyncio.wait_for(task, 5) == "t-1"
    with pytest.raises(NotFound):
        await asyncio.wait_for(later[0], 5)


async def requests_and_task(
    store: Store, *requests: Callable[[Tx], object], task: Callable[[Tx], object]
) -> None:
    """Queue the first request and then the task, and wait for all. Each request is queued while the one before it runs."""
    loop, rest = asyncio.get_running_loop(), list(requests)
    asked: list[asyncio.Task[None]] = []

    def ask() -> None:
        fn = rest.pop(0)
        asked.append(loop.create_task(store.write_async(lambda tx: next_one(tx, fn))))

    def next_one(tx: Tx, fn: Callable[[Tx], object]) -> None:
        fn(tx)
        if rest:
            loop.call_soon_threadsafe(ask)
            while not store.waiting_requests:
                time.sleep(0.001)

    gate = Gate(store)
    ask()
    await asyncio.sleep(0)
    done = store.begin_write(task)
    await asyncio.to_thread(gate.open)
    await asyncio.to_thread(done.result, 10)
    await asyncio.gather(*asked)


async def test_a_request_is_on_disk_before_a_task_of_another_thread_begins(store, path):
    looks: list[dict[str, str]] = []
    await requests_and_task(store, put("t-1"), task=lambda _tx: looks.append(seen(path)))
    assert looks == [{"t-1": "x"}]


async def test_a_task_lets_one_batch_of_requests_pass_and_goes_with_the_next(store, path):
    looks: list[dict[str, str]] = []

    def task(tx: Tx) -> None:
        looks.append(dict(tx.execute("SELECT name, value FROM setting WHERE name LIKE 't-%'").fetchall()))
        looks.append(seen(path))

    await requests_and_task(
        store, put("t-1"), put("t-2"), put("t-3"), task=task
    )  # the first goes with the gate
    assert looks == [{"t-1": "x", "t-2": "x", "t-3": "x"}, {"t-1": "x", "t-2": "x"}]


@pytest.mark.parametrize("fails", [False, True])
async def test_a_request_that_comes_while_a_task_runs_is_committed_with_it(store, path, fails):
    loop = asyncio.get_running_loop()
    asked: list[asyncio.Task[dict[str, str]]] = []

    def request(tx: Tx) -> dict[str, str]:
        put("t-2")(tx)
        if fails:
            raise NotFound("job", 1)
        return seen(path)

    def task(tx: Tx) -> None:
        put("t-1")(tx)
        if not asked:  # it runs again after a request that fails
            loop.call_soon_threadsafe(lambda: asked.append(loop.create_task(store.write_async(request))))
            while not store.waiting_requests:
                time.sleep(0.001)

    await asyncio.to_thread(store.write, task)
    if fails:
        with pytest.raises(NotFound):
            await asked[0]
    else:
        assert await asked[0] == {}
    assert seen(path) == {"t-1": "x"} if fails else {"t-1": "x", "t-2": "x"}


async def test_more_than_the_queue_takes_is_refused(open_store):
    store = open_store(queue_limit=2)
    gate = Gate(store)
    waiting = [asyncio.create_task(store.write_async(put(f"t-{n}"))) for n in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(StoreOverloaded):
        await store.write_async(put("t-9"))
    gate.open()
    assert await asyncio.gather(*waiting) == ["t-0", "t-1"]


def test_closing_finishes_what_waits_and_refuses_what_comes(store, path):
    gate, pool = Gate(store), ThreadPoolExecutor(3)
    futures = [pool.submit(store.write, put(f"t-{n}")) for n in range(3)]
    queued(store, 3)
    closing = threading.Thread(target=store.close)
    closing.start()
    gate.open()
    closing.join()
    assert sorted(f.result() for f in futures) == ["t-0", "t-1", "t-2"]
    assert set(seen(path)) == {"t-0", "t-1", "t-2"}
    for call in (store.write, store.read, store.look_up):
        with pytest.raises(StoreClosed):
            call(employers.all)
    assert open_transactions(path) == 0
    store.close()


def test_rows_that_are_not_read_to_the_end_do_not_keep_their_moment(store):
    """Else all later reads on the same connection would see the store of that moment, for as long as somebody has the rows."""
    for name in ("Acme", "Zenith"):
        store.write(partial(employers.add, name=name))
    every = sql.Statement(sa.select(col(EmployerRow.name)).order_by(col(EmployerRow.name)))
    unread = [store.read(lambda tx: tx.each(every)) for _ in range(2)]
    begun = store.read(lambda tx: (rows := tx.each(every), next(rows)))
    store.write(lambda tx: employers.add(tx, "Moss"))
    assert [employer.name for employer in store.read(employers.all)] == ["Acme", "Zenith", "Moss"]
    assert (len(unread), begun[1]) == (2, ("Acme",))


@pytest.mark.parametrize("door", ["read", "look_up"])
def test_a_read_cannot_write(store, door):
    for write in (
        partial(employers.add, name="Acme"),
        lambda tx: keys.touch(tx, {1: tx.now.instant, 2: tx.now.instant}),
    ):
        with pytest.raises(StoreBusy):
            getattr(store, door)(write)
    assert store.read(employers.all) == []
