"""Look-ups of one turn of an event loop share a snapshot, and nobody sees less than was acknowledged."""

import asyncio
import sqlite3
from contextlib import closing
from functools import partial

import pytest

from syncd.errors import StoreBusy, StoreClosed
from syncd.store import Store, Tx, employers
from tests.store.board import TORONTO, file_of


def names(store: Store) -> list[str]:
    return [employer.name for employer in store.look_up(employers.all)]


async def test_look_ups_of_one_turn_see_one_moment_and_those_of_the_next_a_newer(store: Store) -> None:
    assert names(store) == []
    with Store.open(f"sqlite:///{file_of(store)}", timezone=TORONTO) as other:
        other.write(lambda tx: employers.add(tx, "Acme"))
    assert names(store) == []
    await asyncio.sleep(0)
    assert names(store) == ["Acme"]


async def test_what_was_acknowledged_to_a_task_is_seen_by_its_next_look_up_whatever_others_look_up(
    store: Store,
) -> None:
    done = False

    async def look_on() -> None:
        while not done:
            names(store)
            await asyncio.sleep(0)

    async def write_and_look(number: int) -> None:
        for turn in range(20):
            name = f"{number}-{turn}"
            await store.write_async(partial(employers.add, name=name))
            assert name in names(store)

    async with asyncio.TaskGroup() as group:
        lookers = [group.create_task(look_on()) for _ in range(3)]
        await asyncio.gather(*(write_and_look(number) for number in range(8)))
        done = True
    assert all(task.done() for task in lookers)


async def test_the_snapshot_of_a_turn_ends_with_it(store: Store) -> None:
    """Else the log could not be folded in."""
    for name in ("Acme", "Zenith"):
        names(store)
        await asyncio.sleep(0)
        await store.write_async(partial(employers.add, name=name))
    with closing(sqlite3.connect(file_of(store))) as other:
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0


async def test_an_error_of_the_driver_spoils_no_other_look_up_of_the_turn(store: Store) -> None:
    def locked(_tx: Tx) -> None:
        error = sqlite3.OperationalError("database is locked")
        error.sqlite_errorcode = sqlite3.SQLITE_BUSY
        raise error

    await store.write_async(lambda tx: employers.add(tx, "Acme"))
    assert names(store) == ["Acme"]
    with pytest.raises(StoreBusy):
        store.look_up(locked)
    with pytest.raises(ZeroDivisionError):
        store.look_up(lambda _tx: 1 / 0)
    assert names(store) == ["Acme"]


async def test_a_look_up_cannot_write(store: Store) -> None:
    with pytest.raises(StoreBusy):
        store.look_up(lambda tx: employers.add(tx, "Acme"))
    assert names(store) == []


def test_a_store_is_closed_although_a_loop_was_stopped_within_a_turn(store: Store) -> None:
    loop = asyncio.new_event_loop()

    def stop_the_loop() -> None:
        names(store)
        loop.stop()
        raise SystemExit

    loop.call_soon(stop_the_loop)
    with pytest.raises(SystemExit):
        loop.run_forever()
    store.close()
    with closing(sqlite3.connect(file_of(store))) as other:
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    with pytest.raises(StoreClosed):
        names(store)
