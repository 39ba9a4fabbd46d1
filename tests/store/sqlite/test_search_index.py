"""SQLite's search index: when it is asked, how it is brought up to date, and a damaged one. The damage is done to real files."""

import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from syncd.domain import Employer
from syncd.errors import StoreError
from syncd.store import Store, employers, jobs
from syncd.store.sqlite import search_index
from tests.amounts import some
from tests.store.board import Board, ask, index_all, plainly


def run(path: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as other, other:
        return other.execute(sql).fetchall()


def found(store: Store, employer: Employer, q: str) -> list[int]:
    total, ids = ask(store, employer, q, size=200)
    assert total == len(ids)
    return sorted(ids)


def fill(board: Board) -> tuple[list[int], list[int]]:
    """Return the ids of bakers and of millers, all of them in the index."""
    made = [board.create(title=f"{'Baker' if number % 2 else 'Miller'} {number}") for number in range(120)]
    index_all(board.store)
    return [job.id for job in made[1::2]], [job.id for job in made[::2]]


def hide(path: Path, job_id: int) -> None:
    """Take a job out of the index alone: a search misses it if it asks the index."""
    place = f"(SELECT employer_id << 34 FROM job WHERE id = {job_id}) + {job_id}"
    run(
        path,
        f"INSERT INTO job_search (job_search, rowid, search) SELECT 'delete', {place}, search FROM job WHERE id = {job_id}",
    )


# -- when it is asked ----------------------------------------------------------------------------------------


def test_the_index_is_asked_for_three_to_a_hundred_characters_unless_it_lacks_many_jobs(
    board, store, employer, path
):
    title = "Baker" * 21
    hidden = board.create(title=title).id
    for _ in range(100):
        board.create(title=title)
    assert len(found(store, employer, "bak")) == 101
    index_all(store)
    hide(path, hidden)

    def is_asked(q: str) -> bool:
        return hidden not in found(store, employer, q)

    assert [is_asked(q) for q in ("ba", "bak", title[:100], title[:101])] == [False, True, True, False]
    board.create(title="Miller")
    assert is_asked("bak")
    for _ in range(2):
        board.create(title="Miller")
    assert not is_asked("bak")  # more than a fiftieth of the jobs is lacking
    index_all(store)
    assert is_asked("bak")
    job = store.read(lambda tx: jobs.get(tx, employer.id, hidden + 1))
    assert job is not None
    for number in range(3):
        job = board.update(job, title=f"Baker {number}")
    assert is_asked("bak")  # one job has changed, three times


def test_the_index_counts_many_jobs_and_the_list_shows_them(board, store, employer, path, monkeypatch):
    monkeypatch.setattr(search_index, "MAX_SORTED", 50)
    bakers, _ = fill(board)
    hide(path, bakers[-1])
    assert ask(store, employer, "baker") == (59, [*bakers[:-4:-1]])
    hide(path, bakers[0])
    assert (
        ask(store, employer, "baker 1")[0] == len([n for n in range(120) if n % 2 and str(n)[0] == "1"]) - 2
    )


@pytest.mark.parametrize(
    "statement",
    [
        search_index._COUNT,
        search_index._WALK.format(search_index._FORWARDS),
        search_index._WALK.format(search_index._BACKWARDS),
    ],
)
def test_a_look_at_each_job_reads_the_index_of_the_list_alone(store, statement):
    """The rows of the jobs are fifty times as large."""
    values = {"employer": 1, "feed": 1, "term": "a", "status": "draft", "take": 10, "skip": 0}
    plan = store.read(lambda tx: tx.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall())
    of_jobs, *of_feed = [step for *_, step in plan]
    assert "COVERING INDEX ix_job_list" in of_jobs
    assert of_feed == ["CORRELATED SCALAR SUBQUERY 1", "SEARCH feed_job USING INTEGER PRIMARY KEY (rowid=?)"]


# -- made, and brought up to date ----------------------------------------------------------------------------


def test_a_store_without_the_index_gets_it_when_it_is_opened(board, path, open_store):
    baker = board.create(title="Baker")
    index_all(board.store)
    board.update(baker, title="Miller")
    run(path, "DELETE FROM setting WHERE name = 'job_search'")
    again = open_store()
    assert again.read(search_index.lacks_jobs)
    index_all(again)
    assert not again.read(search_index.lacks_jobs)
    assert (found(again, board.employer, "miller"), found(again, board.employer, "baker")) == ([baker.id], [])


def test_a_step_that_took_in_all_there_was_does_not_ask_for_another(board, store):
    """Otherwise an indexer beside a client that writes would commit after each of its writes."""
    for number in range(5):
        board.create(title=f"Baker {number}")
    assert [store.write(lambda tx: search_index.add(tx, 3)) for _ in range(3)] == [True, False, False]
    assert not store.read(search_index.lacks_jobs)


_BUSY = """
import random, sys, threading
from zoneinfo import ZoneInfo
from syncd.domain import Actor, ActorKind, JobInput, Place
from syncd.errors import NotFound
from syncd.store import Store, employers
from syncd.store.jobs import upsert
from syncd.store.sqlite import search_index

store = Store.open(sys.argv[1], timezone=ZoneInfo("UTC"), exclusive=True)
employer = store.write(lambda tx: employers.add(tx, "Acme"))
actor, chance = Actor(ActorKind.KEY, 1), random.Random(sys.argv[2])

def work():
    for number in range(100_000):
        which, title = chance.randrange(200), chance.choice(("Baker", "Miller", "Brewer"))
        sent = JobInput({"title": f"{title} {number}", "referenceId": f"R-{which}", "categories": (1,),
                         "locations": (Place("Montréal", "QC"),)})
        try:
            if chance.random() < 0.2:
                store.write(lambda tx: upsert.delete_reference(tx, employer.id, f"R-{which}", actor))
            else:
                store.write(lambda tx: upsert.put(tx, employer.id, sent, actor))
        except NotFound:
            pass
        print(number, flush=True)

def index():
    while True:
        store.write(lambda tx: search_index.add(tx, 7))

threading.Thread(target=index, daemon=True).start()
work()
"""


@pytest.mark.parametrize("writes", some([150, 30, 400], 1))
def test_a_kill_leaves_the_index_as_far_as_it_says(path, open_store, writes, monkeypatch):
    monkeypatch.setattr(search_index, "MAX_LACKING", 1_000)
    command = [sys.executable, "-c", _BUSY, f"sqlite:///{path}", str(writes)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(writes + random.randrange(20)):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    store = open_store()
    [employer] = store.read(employers.all)
    model = store.read(lambda tx: jobs.after(tx, employer.id, 0, 1_000))
    for stage in ("killed", "indexed"):
        store.write(lambda tx: tx.execute("INSERT INTO job_search (job_search) VALUES ('integrity-check')"))
        for q in ("baker", "mill", "r-1", "rew"):
            assert found(store, employer, q) == sorted(plainly(model, q, None)), (stage, q)
        index_all(store)


def segments(path: Path) -> int:
    """Return the number of parts of the index: each search looks at each of them."""
    [(count,)] = run(path, "SELECT count(DISTINCT segid) FROM job_search_idx")
    return int(count)


def test_the_index_has_few_parts_also_where_jobs_are_renamed_again_and_again(board, path, monkeypatch):
    """A step that replaces adds two or three parts. They are merged to the end, a little in each write."""
    monkeypatch.setattr(search_index, "MERGED_PAGES", 1)
    made = [board.create(title=f"Baker {number} {hash(str(number))}") for number in range(60)]
    index_all(board.store)
    for turn in range(12):
        for number, job in enumerate(made):
            made[number] = board.update(job, title=f"Miller {turn} {hash((turn, number))}")
        index_all(board.store)
        assert segments(path) < 12
    assert not board.store.index_some()
    assert len(found(board.store, board.employer, "miller 11")) == 60


def test_an_index_that_merges_by_itself_as_that_of_an_earlier_version_is_made_again(board, path, open_store):
    bakers, _ = fill(board)
    board.store.close()
    run(path, "DELETE FROM job_search_config WHERE k = 'automerge'")
    store = open_store()
    assert store.read(search_index.lacks_jobs)
    for _ in range(2):
        assert found(store, board.employer, "baker") == bakers
        index_all(store)
    assert run(path, "SELECT v FROM job_search_config WHERE k = 'automerge'") == [(0,)]


# -- damage --------------------------------------------------------------------------------------------------


def overwrite(path: Path, table: str) -> None:
    """Write noise into the first page of a table, in the file alone."""
    [(page,)] = run(path, f"SELECT rootpage FROM sqlite_master WHERE name = '{table}'")
    [(size,)] = run(path, "PRAGMA page_size")
    run(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xde\xad" * (size // 2))


def test_a_damaged_index_can_be_given_up_and_is_made_again_at_the_next_start(board, path, open_store):
    bakers, _ = fill(board)
    run(path, "UPDATE job_search_data SET block = randomblob(length(block))")
    with pytest.raises(StoreError, match="damaged"):
        found(board.store, board.employer, "baker")
    board.create(title="Cook")  # writes do not need it
    board.store.close()
    run(path, "DELETE FROM setting WHERE name = 'job_search'")
    store = open_store()
    for _ in range(2):
        assert found(store, board.employer, "baker") == bakers
        index_all(store)
    store.write(lambda tx: tx.execute("INSERT INTO job_search (job_search) VALUES ('integrity-check')"))


def test_a_step_that_fails_takes_no_write_of_others_with_it(board, path):
    """They may come in one transaction, and SQLite refuses more than the step then."""
    store = board.store
    fill(board)
    job = board.create(title="Brewer")
    overwrite(path, "job_search_config")
    run(path, "PRAGMA schema_version = 1000")  # every connection looks at the pages anew
    go = threading.Event()
    holding = store.begin_write(lambda _tx: go.wait(10))
    step = ThreadPoolExecutor(1).submit(index_all, store)
    for _ in range(1_000):
        if store.waiting_writes:
            break
        time.sleep(0.01)
    removed: Future[Any] = store.begin_write(
        lambda tx: tx.execute("DELETE FROM job_search_stale WHERE job_id = ?", (job.id,))
    )
    go.set()
    assert holding.result()
    removed.result()
    with pytest.raises(StoreError):
        step.result()
