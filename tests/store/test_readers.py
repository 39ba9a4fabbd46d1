"""Look-ups: nobody sees less than was acknowledged."""

import asyncio
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlmodel import col

from syncd.errors import StoreBusy, StoreClosed
from syncd.store import Store, Tx, employers, keys
from syncd.store.model import EmployerRow, Statement
from tests.stores import locked_error, open_transactions


def names(store: Store) -> list[str]:
    return [employer.name for employer in store.look_up(employers.all)]


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


def test_rows_that_are_not_read_to_the_end_do_not_keep_their_moment(store: Store) -> None:
    """Else all later reads on the same connection would see the store of that moment, for as long as somebody has the rows."""
    for name in ("Acme", "Zenith"):
        store.write(partial(employers.add, name=name))
    every = Statement(sa.select(col(EmployerRow.name)).order_by(col(EmployerRow.name)))
    unread = [store.read(lambda tx: tx.each(every)) for _ in range(2)]
    begun = store.read(lambda tx: (rows := tx.each(every), next(rows)))
    store.write(lambda tx: employers.add(tx, "Moss"))
    assert [employer.name for employer in store.read(employers.all)] == ["Acme", "Zenith", "Moss"]
    assert (len(unread), begun[1]) == (2, ("Acme",))


async def test_an_error_of_the_driver_spoils_no_other_look_up(store: Store) -> None:
    def locked(_tx: Tx) -> None:
        raise locked_error()

    await store.write_async(lambda tx: employers.add(tx, "Acme"))
    assert names(store) == ["Acme"]
    with pytest.raises(StoreBusy):
        store.look_up(locked)
    with pytest.raises(ZeroDivisionError):
        store.look_up(lambda _tx: 1 / 0)
    assert names(store) == ["Acme"]


@pytest.mark.parametrize("how", ["add", "touch"])
async def test_a_look_up_cannot_write(store: Store, how: str) -> None:
    def write(tx: Tx) -> None:
        if how == "add":
            employers.add(tx, "Acme")
        else:
            keys.touch(tx, {1: tx.now.instant, 2: tx.now.instant})

    with pytest.raises(StoreBusy):
        store.look_up(write)
    assert names(store) == []


def test_a_store_that_is_closed_answers_no_look_up(store: Store, path: Path) -> None:
    assert names(store) == []
    store.close()
    assert open_transactions(path) == 0
    with pytest.raises(StoreClosed):
        names(store)
