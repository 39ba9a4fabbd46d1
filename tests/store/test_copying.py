"""A store is copied whole: into an empty one, verified, and never twice."""

import os
import shutil
import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from syncd.domain import ArchivedBy, Employer
from syncd.errors import StoreError, StoreInUse, StoreTooNew
from syncd.store import Store, Tx, copying, employers, facts, feeds, jobs, keys, runs, schema
from tests.clock import Clock
from tests.store.board import TORONTO, Board, changes_of
from tests.stores import POSTGRES, change, rows_in, server, store_url

TABLES = [table.name for table in copying._TABLES]


@pytest.fixture
def filled(store: Store, board: Board, employer: Employer, clock: Clock) -> tuple[Any, str]:
    """A store with something in each kind of table: some of its rows, and a key."""
    made = [
        board.create(reference_id=f"r{n}", title=f"Bäcker {n}", confidential=n % 2 == 0) for n in range(5)
    ]
    clock.now += timedelta(days=1)
    board.update(made[0], title="Chief")
    board.archive(made[1], ArchivedBy.PERSON)
    board.delete(made[4])
    feed = store.write(lambda tx: feeds.feed_id(tx, "acme", employer.id))
    run = store.write(lambda tx: runs.begin(tx, feed, employer.id, "a\0.csv", 3, "x"))
    last = store.write(lambda tx: runs.begin(tx, feed, employer.id, "b.csv", 3, "x"))
    _, plain = store.write(lambda tx: keys.create(tx, employer.id, "laptop"))
    gone = store.write(lambda tx: employers.add(tx, "Gone"))
    store.close()
    return (run, last, gone), plain


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an empty store."""
    path = tmp_path_factory.mktemp("empty") / "store.db"
    Store.open(f"sqlite:///{path}", timezone=TORONTO).close()
    return path


@pytest.fixture
def target(tmp_path: Path, empty: Path) -> str:
    """The address of an empty store in a file: with TESTS_STORE=postgres of the other kind than the source."""
    return f"sqlite:///{shutil.copy(empty, tmp_path / 'target.db')}"


def seen(url: str, employer: Employer, key: str) -> dict[str, Any]:
    """Return the contents of a store as a daemon shows them."""
    with Store.open(url, timezone=TORONTO) as store:
        found = store.read(lambda tx: jobs.after(tx, employer.id, 0, 99))
        return {
            "jobs": found,
            "history": [changes_of(store, employer.id, number) for number in range(1, 6)],
            "employers": store.read(employers.all),
            "runs": [run for run in store.read(runs.newest) if run.id > 1],
            "key": store.read(lambda tx: keys.authenticate(tx, key)),
            "totals": store.read(jobs.totals),
        }


def test_a_copy_has_everything_and_gives_out_the_next_ids(
    filled: tuple[Any, str], path: Path, target: str, employer: Employer
) -> None:
    (_run, last, gone), plain = filled
    change(path, f"DELETE FROM run WHERE id = {last.id}")  # its number is not given out again
    change(path, f"DELETE FROM employer WHERE id = {gone.id}")
    before = {table: rows_in(path, f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES}
    copied = copying.copy(store_url(path), target)
    assert {table: rows_in(path, f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES} == before
    assert [found.table for found in copied] == TABLES
    assert {found.table: found.rows for found in copied}["history"] == 8
    assert seen(target, employer, plain) == seen(store_url(path), employer, plain)
    with Store.open(target, timezone=TORONTO) as store:
        board = Board(store, employer)
        assert board.create(reference_id="new").id == 6
        feed = store.write(lambda tx: feeds.feed_id(tx, "acme", employer.id))
        assert store.write(lambda tx: runs.begin(tx, feed, employer.id, "c.csv", 1, None)).id == last.id + 1
        assert store.write(lambda tx: employers.add(tx, "Next")).id == gone.id + 1
        store.write(lambda tx: keys.create(tx, employer.id))


def test_a_copy_of_a_copy_is_the_same(  # noqa: PLR0917
    filled: tuple[Any, str],
    path: Path,
    target: str,
    empty: Path,
    tmp_path: Path,
    employer: Employer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(copying, "_PAGE", 2)
    first = copying.copy(store_url(path), target)
    again = server().new_database() if POSTGRES else ""
    url = server().url(again) if POSTGRES else f"sqlite:///{shutil.copy(empty, tmp_path / 'again.db')}"
    assert copying.copy(target, url) == first
    assert seen(url, employer, filled[1]) == seen(store_url(path), employer, filled[1])
    if again:
        server().sql(f"DROP DATABASE {again} WITH (FORCE)")


def test_a_target_that_is_not_empty_is_refused_and_left_alone(
    filled: tuple[Any, str], path: Path, target: str
) -> None:
    with Store.open(target, timezone=TORONTO) as store:
        store.write(lambda tx: employers.add(tx, "Mine"))
    with pytest.raises(StoreError, match="the target is not empty: it has rows in the table employer"):
        copying.copy(store_url(path), target)
    with Store.open(target, timezone=TORONTO) as store:
        assert [found.name for found in store.read(employers.all)] == ["Mine"]


def test_what_is_not_in_the_target_as_it_should_be_is_not_kept(
    filled: tuple[Any, str], path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(tx: Tx, statement: Any, rows: Any) -> int:
        return many(tx, statement, rows[:-1] if statement.source.table.name == "history" else rows)

    many = Tx.many
    monkeypatch.setattr(Tx, "many", short)
    with pytest.raises(StoreError, match="the table history differs in the target; nothing was copied"):
        copying.copy(store_url(path), target)
    monkeypatch.undo()
    assert copying.copy(store_url(path), target)


def test_a_store_that_is_not_there_or_of_another_version_is_refused(
    filled: tuple[Any, str], path: Path, target: str, tmp_path: Path
) -> None:
    with pytest.raises(StoreError, match="there is no store to copy"):
        copying.copy(f"sqlite:///{tmp_path}/nothing.db", target)
    assert not os.path.exists(tmp_path / "nothing.db")
    sqlite3.connect(tmp_path / "songs.db").execute("CREATE TABLE song (name TEXT)").connection.close()
    with pytest.raises(StoreError, match="there is no store to copy"):
        copying.copy(f"sqlite:///{tmp_path}/songs.db", f"sqlite:///{tmp_path}/new.db")
    (tmp_path / "text.db").write_bytes(b"no database" * 999)
    with pytest.raises(StoreError, match="file is not a database"):
        copying.copy(f"sqlite:///{tmp_path}/text.db", target)
    new = f"sqlite:///{tmp_path}/new.db"
    change(path, "UPDATE alembic_version SET version_num = '0003'")
    with pytest.raises(StoreError, match=f"has schema 0003, this program {schema.HEAD}: migrate it first"):
        copying.copy(store_url(path), new)
    change(path, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreTooNew, match="the store has schema 9999"):
        copying.copy(store_url(path), new)
    assert not os.path.exists(tmp_path / "new.db")


def test_a_store_is_not_copied_onto_itself(target: str) -> None:
    with pytest.raises(StoreError, match="the store to copy is the target itself"):
        copying.copy(target, target)


def test_a_source_that_cannot_be_read_to_the_end_is_a_fault_of_the_store(
    filled: tuple[Any, str], path: Path, target: str, tmp_path: Path
) -> None:
    copying.copy(store_url(path), target)
    damaged = tmp_path / "damaged.db"
    pages = Path(target.removeprefix("sqlite:///")).read_bytes()
    number = next(n for n in range(3, 999) if "Bäcker 2".encode() in pages[n * 16_384 : (n + 1) * 16_384])
    damaged.write_bytes(pages[: number * 16_384] + bytes(16_384) + pages[(number + 1) * 16_384 :])
    name = server().new_database() if POSTGRES else ""  # whose driver does not know SQLite's errors
    with pytest.raises(StoreError, match="is damaged"):
        copying.copy(f"sqlite:///{damaged}", server().url(name) if name else f"sqlite:///{tmp_path}/new.db")
    if name:
        server().sql(f"DROP DATABASE {name} WITH (FORCE)")


def test_a_copy_of_a_backup_is_not_a_backup(filled: tuple[Any, str], path: Path, target: str) -> None:
    change(path, "INSERT INTO setting (name, value) VALUES ('backup', '{}'), ('other', '1')")
    copying.copy(store_url(path), target)
    with Store.open(target, timezone=TORONTO) as store:
        assert store.read(lambda tx: (facts.get(tx, "backup"), facts.get(tx, "other"))) == (None, "1")


def test_a_store_that_a_daemon_owns_is_not_copied(tmp_path: Path, target: str) -> None:
    url = f"sqlite:///{tmp_path}/owned.db"
    with Store.open(url, timezone=TORONTO, exclusive=True), pytest.raises(StoreInUse):
        copying.copy(url, target)
