"""A damaged search index: searches go on, and it is rebuilt. The damage is done to real files."""

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from syncd.domain import Job
from syncd.errors import StoreError
from syncd.store import Store, Tx, jobs
from syncd.store.database import Asked
from syncd.store.searches import remembered
from syncd.store.sqlite import search, search_index
from tests.amounts import some
from tests.store.board import Board, index_all, index_step

SQL = {
    "blocks of noise": "UPDATE job_search_data SET block = randomblob(length(block))",
    "blocks of zeros": "UPDATE job_search_data SET block = zeroblob(length(block))",
    "no blocks": "DELETE FROM job_search_data",
    "no table of blocks": "DROP TABLE job_search_data",
    "no table of segments": "DROP TABLE job_search_idx",
    "another version": "UPDATE job_search_config SET v = 99 WHERE k = 'version'",
    "no index": "DROP TABLE job_search",
}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few jobs are enough for the index to be asked."""
    monkeypatch.setattr(search, "FEW", 0)


def run(path: Path, sql: str) -> None:
    other = sqlite3.connect(path)
    other.execute(sql)
    other.commit()
    other.close()


def overwrite(path: Path, table: str) -> None:
    """Noise in the first page of a table, in the file alone."""
    other = sqlite3.connect(path)
    [(page,)] = other.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,))
    [(size,)] = other.execute("PRAGMA page_size")
    other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xde\xad" * (size // 2))


def found(store: Store, employer_id: int, q: str) -> list[int]:
    total, headers = store.read(
        lambda tx: jobs.page(tx, employer_id, q=q, status=None, page=1, page_size=100)
    )
    assert total == len(headers)
    return sorted(header.id for header in headers)


def asks_the_index(store: Store, employer_id: int, q: str) -> bool:
    def look(tx: Tx) -> bool:
        among = jobs.count(tx, employer_id)
        return search.Question(tx, Asked(employer_id, q), among).mark() is not None

    return store.read(look)


def job_of(store: Store, employer_id: int, job_id: int) -> Job:
    job = store.read(lambda tx: jobs.get(tx, employer_id, job_id))
    assert job is not None
    return job


def fill(board: Board) -> tuple[list[int], list[int]]:
    """The ids of bakers and of millers, all of them in the index."""
    made = [board.create(title=f"{'Baker' if number % 2 else 'Miller'} {number}") for number in range(120)]
    index_all(board.store)
    return [job.id for job in made[1::2]], [job.id for job in made[::2]]


@pytest.mark.parametrize("remembered_above", [0, remembered.FEW])
@pytest.mark.parametrize("damage", some(SQL, 3))
def test_searches_go_on_beside_a_damaged_index_and_it_is_made_anew(
    board: Board, path: Path, damage: str, remembered_above: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a damaged index said is not remembered when the damage is known."""
    monkeypatch.setattr(remembered, "FEW", remembered_above)
    store, owner = board.store, board.employer.id
    bakers, millers = fill(board)
    assert asks_the_index(store, owner, "baker")
    run(path, SQL[damage])
    renamed = job_of(store, owner, millers[0])
    board.update(renamed, title="Brewer")
    if found(store, owner, "baker") != bakers:
        assert damage in ("no blocks", "blocks of zeros")  # to SQLite that is an index of few words
    index_all(store)
    mended = store.mend_index()
    assert mended is not None
    assert all(mended)
    assert store.mend_index() is None
    for stage in ("empty", "full"):
        assert found(store, owner, "baker") == bakers, stage
        assert found(store, owner, "miller") == millers[1:], stage
        assert found(store, owner, "brewer") == [renamed.id], stage
        index_all(store)
    assert asks_the_index(store, owner, "baker")
    store.write(lambda tx: tx.execute("INSERT INTO job_search (job_search) VALUES ('integrity-check')"))
    assert store.mend_index() is None


def test_a_remembered_total_is_counted_anew_when_the_index_is_found_damaged(
    board: Board, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name, value in ((remembered, "FEW", 0), (search, "SORTED", 0), (search, "FIRST", 3)):
        monkeypatch.setattr(module, name, value)
    bakers, _ = fill(board)

    def total(page: int) -> int:
        look = partial(jobs.page, employer_id=board.employer.id, q="baker", status=None, page_size=2)
        return board.store.read(partial(look, page=page))[0]

    lost = "INSERT INTO job_search (job_search, rowid, search) SELECT 'delete', {}, search FROM job WHERE id = {}"
    run(path, lost.format(search.PLACE, bakers[0]))
    assert total(1) == 59
    run(path, SQL["blocks of noise"])
    assert total(20) == total(1) == 60


@pytest.mark.parametrize("table", sorted(search_index.TABLES - {"job_search"}))
def test_an_index_whose_pages_on_disk_are_noise_is_made_anew(
    board: Board, path: Path, open_store: Callable[..., Store], table: str
) -> None:
    bakers, millers = fill(board)
    board.store.close()
    overwrite(path, table)
    store = open_store()
    owner = board.employer.id
    renamed = job_of(store, owner, millers[0])
    type(board)(store, board.employer).update(renamed, title="Brewer")
    for _ in range(3):  # what was found when it was opened, by a search, by a step
        assert found(store, owner, "baker") == bakers
        assert found(store, owner, "brewer") == [renamed.id]
        index_all(store)
        store.mend_index()
    assert asks_the_index(store, owner, "baker")
    store.close()
    other = sqlite3.connect(path)
    other.execute("VACUUM")
    assert other.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    other.close()


def test_an_index_that_is_damaged_again_is_left_alone_until_the_next_start(
    board: Board, path: Path, open_store: Callable[..., Store]
) -> None:
    owner = board.employer.id
    bakers, _ = fill(board)
    for anew in (True, False):
        run(path, SQL["blocks of noise"])
        assert found(board.store, owner, "baker") == bakers
        mended = board.store.mend_index()
        assert mended is not None
        assert mended[1] is anew
        index_all(board.store)
        assert asks_the_index(board.store, owner, "baker") is anew
    assert found(board.store, owner, "baker") == bakers
    board.store.close()
    store = open_store()
    index_all(store)
    assert asks_the_index(store, owner, "baker")
    assert found(store, owner, "baker") == bakers


def test_damage_of_the_jobs_themselves_is_not_taken_for_the_indexs(
    board: Board, path: Path, open_store: Callable[..., Store]
) -> None:
    fill(board)
    board.store.close()
    overwrite(path, "ix_job_list")
    store = open_store()
    with pytest.raises(StoreError, match="damaged"):
        found(store, board.employer.id, "baker")
    assert store.mend_index() is None


def test_a_step_that_fails_takes_no_write_of_others_with_it(board: Board, path: Path) -> None:
    """They may come in one transaction, and SQLite refuses more than the step then."""
    fill(board)
    job = board.create(title="Brewer")
    overwrite(path, "job_search_config")
    run(path, "PRAGMA schema_version = 1000")  # every connection looks at the pages anew
    go = threading.Event()
    waiting: list[Future[Any]] = [
        board.store.begin_write(lambda _tx: go.wait(10)),
        board.store.begin_write(index_step),
        board.store.begin_write(
            lambda tx: tx.execute("DELETE FROM job_search_stale WHERE job_id = ?", (job.id,))
        ),
    ]
    go.set()
    waiting[2].result()
    with pytest.raises(StoreError, match="search index"):
        waiting[1].result()
    assert board.store.mend_index() is not None


def segments(path: Path) -> int:
    """The parts of the index that each search looks at."""
    other = sqlite3.connect(path)
    [(count,)] = other.execute("SELECT count(DISTINCT segid) FROM job_search_idx")
    other.close()
    return int(count)


def is_merged_by_itself(path: Path) -> bool:
    other = sqlite3.connect(path)
    found = other.execute("SELECT v FROM job_search_config WHERE k = 'automerge'").fetchone()
    other.close()
    return bool(found != (0,))


def test_the_parts_of_the_index_are_merged_after_its_steps_and_never_within_them(
    board: Board, path: Path
) -> None:
    """SQLite would merge in the middle of a write, for which all others wait, and for long."""
    index_all(board.store)
    for number in range(15):
        board.create(title=f"Baker {number}")
        assert not board.store.write(index_step)
    assert segments(path) == 15
    board.create(title="Miller")
    index_all(board.store)
    assert segments(path) < 5
    assert len(found(board.store, board.employer.id, "baker")) == 15
    assert found(board.store, board.employer.id, "miller")


def test_the_index_has_few_parts_also_where_jobs_are_renamed_again_and_again(
    board: Board, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that replaces adds two or three parts. They are merged to the end, a little in each write."""
    monkeypatch.setattr(search_index, "MERGED", 1)
    made = [board.create(title=f"Baker {number} {hash(str(number))}") for number in range(60)]
    index_all(board.store)
    for turn in range(12):
        for number, job in enumerate(made):
            made[number] = board.update(job, title=f"Miller {turn} {hash((turn, number))}")
        index_all(board.store)
        assert segments(path) < 12
    assert not board.store.index_some()
    assert len(found(board.store, board.employer.id, "miller 11")) == 60


def test_the_index_of_an_earlier_version_is_merged_after_its_steps_too(
    board: Board, path: Path, open_store: Callable[..., Store]
) -> None:
    bakers, _ = fill(board)
    board.store.close()
    run(path, "DELETE FROM job_search_config WHERE k = 'automerge'")
    assert is_merged_by_itself(path)
    store = open_store()
    assert not is_merged_by_itself(path)
    assert asks_the_index(store, board.employer.id, "baker")  # it was kept
    assert found(store, board.employer.id, "baker") == bakers


def test_a_store_that_is_busy_when_it_is_opened_keeps_the_index_of_an_earlier_version_as_it_is(
    board: Board, path: Path, open_store: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    bakers, _ = fill(board)
    board.store.close()
    run(path, "DELETE FROM job_search_config WHERE k = 'automerge'")
    monkeypatch.setattr(search_index, "_MERGE_ASKED", "INSERT INTO job_search (nothing) VALUES (1)")
    store = open_store()
    assert is_merged_by_itself(path)
    assert asks_the_index(store, board.employer.id, "baker")
    assert found(store, board.employer.id, "baker") == bakers
