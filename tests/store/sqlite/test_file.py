"""A store in a file: how it is opened, owned, and migrated, and faults of the file."""

import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from syncd.domain import RunState
from syncd.errors import StoreBusy, StoreError, StoreInUse
from syncd.store import Store, Tx, employers, jobs, runs, schema
from syncd.store.facts import prove_writable
from syncd.store.sqlite import SqliteDatabase
from tests.store.board import TORONTO
from tests.store.test_writer import put, seen, together
from tests.stores import as_first


def opened(path: Path, **options: Any) -> Store:
    return Store.open(f"sqlite:///{path}", timezone=TORONTO, **options)


def test_a_new_store_is_made_with_its_folder_and_current(tmp_path: Path) -> None:
    path = tmp_path / "var" / "lib" / "syncd.db"
    with opened(path) as store:
        assert store.read(schema.version) == schema.HEAD
        assert store.read(employers.all) == []
    with opened(path) as store:
        assert store.read(schema.version) == schema.HEAD


@pytest.mark.parametrize("is_new", [True, False])
def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, path: Path, is_new: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(connection: sa.Connection, *_: str, **_options: bool) -> None:
        connection.exec_driver_sql("CREATE TABLE half (id INTEGER)")
        raise RuntimeError("the plug is out")

    if is_new:
        path = tmp_path / "new.db"
    else:
        with SqliteDatabase(path).migration() as connection:
            as_first(connection)
    monkeypatch.setattr(f"syncd.store.schema.{'metadata.create_all' if is_new else 'upgrade'}", broken)
    with pytest.raises(RuntimeError):
        opened(path)
    monkeypatch.undo()
    with opened(path) as store:
        tables = store.read(
            lambda tx: tx.execute("SELECT name FROM sqlite_master WHERE name = 'half'").fetchall()
        )
    assert tables == []


def test_a_second_daemon_is_refused_commands_are_not(path: Path) -> None:
    with opened(path, exclusive=True) as daemon:
        with pytest.raises(StoreInUse):
            opened(path, exclusive=True)
        with opened(path) as command:
            command.write(lambda tx: employers.add(tx, "Acme"))
        assert [e.name for e in daemon.read(employers.all)] == ["Acme"]
    opened(path, exclusive=True).close()


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "letter.db"
    path.write_bytes(b"Dear Sir or Madam, " * 2000)
    with pytest.raises(StoreError, match="damaged or is not a store"):
        opened(path)


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be made"):
        opened(tmp_path / "file" / "syncd.db")


def test_the_file_is_set_up_for_speed_and_safety(store: Store) -> None:
    values = store.write(
        lambda tx: [
            tx.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_size", "journal_mode", "synchronous", "foreign_keys")
        ]
    )
    assert values == [16384, "wal", 2, 1]
    assert store.write(lambda tx: -tx.execute("PRAGMA cache_size").fetchone()[0]) <= 16_384


def test_both_ways_to_write_the_path_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Store.open("sqlite:///var/s.db", timezone=TORONTO).close()
    assert (tmp_path / "var" / "s.db").is_file()


def test_nothing_is_written_to_a_file_that_was_taken_away_until_it_is_back(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/syncd.db", timezone=TORONTO) as store:
        store.write(lambda tx: employers.add(tx, "Before"))
        (tmp_path / "syncd.db").rename(tmp_path / "aside.db")
        with pytest.raises(StoreBusy, match=r"syncd.db is gone .*put it back, or stop syncd"):
            store.write(lambda tx: employers.add(tx, "Lost"))
        with pytest.raises(StoreBusy, match="is gone"):
            store.write(prove_writable)
        (tmp_path / "syncd.db").touch()
        with pytest.raises(StoreBusy, match="another file took the place of the store"):
            store.write(lambda tx: employers.add(tx, "Lost"))
        (tmp_path / "aside.db").rename(tmp_path / "syncd.db")
        store.write(lambda tx: employers.add(tx, "After"))
        assert [found.name for found in store.read(employers.all)] == ["Before", "After"]


def test_a_store_that_another_process_has_locked_is_busy_not_broken(
    open_store: Callable[..., Store], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("syncd.store.sqlite.BUSY_SECONDS", 0.05)
    store = open_store()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy):
        store.write(put("t-1"))
    with pytest.raises(StoreBusy):
        store.write(prove_writable)
    assert store.read(employers.all) == []
    other.execute("ROLLBACK")
    other.close()
    store.write(put("t-1"))
    store.write(prove_writable)
    assert seen(path) == {"t-1": "x"}


def test_a_full_disk_is_busy_and_heals(store: Store, path: Path) -> None:
    pages = store.write(lambda tx: tx.execute("PRAGMA page_count").fetchone()[0])
    store.write(lambda tx: tx.execute(f"PRAGMA max_page_count = {pages}").fetchall())

    def large(tx: Tx) -> None:
        tx.execute("INSERT INTO setting (name, value) VALUES ('t-large', ?)", ("x" * 4_000_000,))

    first, error, last = together(store, put("t-1"), large, put("t-2"))
    assert (first, last) == ("t-1", "t-2")
    assert isinstance(error, StoreBusy)
    assert "full" in str(error)
    store.write(lambda tx: tx.execute("PRAGMA max_page_count = 1000000").fetchall())
    store.write(large)
    assert set(seen(path)) == {"t-1", "t-2", "t-large"}


def test_a_migration_ends_the_runs_that_wait_for_a_newer_file(path: Path) -> None:
    database = SqliteDatabase(path)
    with database.migration() as connection:
        as_first(connection)
        schema.upgrade(connection, schema.FIRST, "0012")
    session = database.writer()
    session.execute("INSERT INTO employer VALUES (1, 'Acme Ltd.', 1)")
    session.execute("INSERT INTO feed (id, name, employer_id, disturbed) VALUES (1, 'acme', 1, 0)")
    values = "1, 1, 'file', 'claimed', 1, 'a.xml', 9, '{}', '{}', '{}', 0, 0"
    columns = "feed_id, employer_id, kind, state, attempt, file, size, counts, phases, filtered_by, claimed_at, deaths"
    for number, waits_for, checkpoint in (
        (1, "3", "'queued'"),
        (2, "NULL", "'queued'"),
        (3, "NULL", "'read 5'"),
    ):
        session.execute(
            f"INSERT INTO run (id, {columns}, waits_for, checkpoint) VALUES ({number}, {values}, {waits_for}, {checkpoint})"
        )
    session.close()
    with opened(path) as store:
        ended = store.read(lambda tx: runs.get(tx, 1))
        assert (ended.state, ended.reason) == (RunState.SUPERSEDED, "a newer file was waiting")
        assert ended.ended_at is not None
        resumed = [store.write(partial(runs.resume, run_id=number))[1] for number in (2, 3)]
    assert resumed == [0, 1], "an attempt that had not begun did not die"


def test_jobs_that_are_due_are_found_by_indexes_of_few_jobs(store: Store) -> None:
    statements = {"ix_job_refresh": jobs._DUE_REFRESH, "ix_job_close": jobs._DUE_CLOSE}
    for index, statement in statements.items():
        values = {"today": "2026-03-02", "before": 0, "limit": 10}
        text, ordered = store.database.statements[statement].with_lists(values)
        plan = store.read(lambda tx: tx.execute(f"EXPLAIN QUERY PLAN {text}", ordered).fetchall())  # noqa: B023 - called at once
        assert f"SEARCH job USING INDEX {index}" in plan[0][-1]
        assert not any("TEMP B-TREE" in line[-1] for line in plan)
