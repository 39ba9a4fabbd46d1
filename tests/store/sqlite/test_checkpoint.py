"""The log is folded into the file beside the writer, and stays short for as long as somebody writes."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from syncd.errors import StoreBusy
from syncd.store import Store, Tx
from syncd.store.sqlite import PAGE_SIZE, session
from syncd.store.sqlite.session import SqliteSession
from tests.store.board import TORONTO, file_of

#: Rows of these tests: of 8 KB, so that two of them make a page of the log.
VALUE = "x" * 8_000
ROWS = 100
#: A log that is never begun afresh has 11,000 pages after these writes. A short one has 150 to 550, and up to 1,500 on a busy
#: machine.
WRITES, SHORT = 16_000, 3_000


@pytest.fixture(autouse=True)
def often(monkeypatch, store):
    """Let the thread begin often. SQLite copies nothing by itself, which would keep the log at 4,000 pages without the thread."""
    monkeypatch.setattr(session, "ROWS", ROWS)
    store.write(lambda tx: tx.execute("PRAGMA wal_autocheckpoint = 0"))


def put(number: int) -> Callable[[Tx], None]:
    def fn(tx: Tx) -> None:
        tx.execute(
            "INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)", (f"t-{number % 1_000}", VALUE)
        )

    return fn


def log_of(store: Store) -> int:
    """Pages for which the log has room: its file is not cut when it begins afresh."""
    return Path(f"{file_of(store)}-wal").stat().st_size // PAGE_SIZE


async def keep_writing(store: Store, count: int) -> None:
    async def some(first: int) -> None:
        for number in range(first, first + count // 8):
            await store.write_async(put(number))

    await asyncio.gather(*(some(n * count // 8) for n in range(8)))


@pytest.mark.parametrize("reads", [False, True])
async def test_the_log_stays_short_under_writes_and_reads_without_a_pause(store, reads):
    done = not reads

    async def read_on() -> None:
        while not done:
            store.look_up(lambda tx: tx.execute("SELECT count(*) FROM setting").fetchone())
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        group.create_task(read_on())
        await keep_writing(store, WRITES)
        done = True
    assert log_of(store) < SHORT


async def test_a_thread_that_cannot_fold_disturbs_no_write(store, monkeypatch):
    def refused() -> SqliteSession:
        raise StoreBusy("no")

    monkeypatch.setattr(store._session, "_connect", refused)
    await keep_writing(store, 800)
    assert store.read(
        lambda tx: tx.execute("SELECT count(*) FROM setting WHERE name LIKE 't-%'").fetchone()
    ) == (800,)
    assert log_of(store) < 400


def test_everything_is_in_the_file_when_the_store_is_closed(store):
    for number in range(300):
        store.write(put(number))
    store.close()
    log = Path(f"{file_of(store)}-wal")
    assert not log.exists() or log.stat().st_size == 0
    with Store.open(f"sqlite:///{file_of(store)}", timezone=TORONTO) as again:
        assert again.read(
            lambda tx: tx.execute("SELECT count(*) FROM setting WHERE name LIKE 't-%'").fetchone()
        ) == (300,)
