"""Opening: migrations, locks, versions, and what a kill leaves."""

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from syncd.errors import StoreBusy, StoreError, StoreInUse, StoreTooNew
from syncd.store import Store, employers, jobs, schema, utc_now
from syncd.store.facts import prove_writable
from syncd.store.sqlite import search_index
from syncd.store.tables import metadata

TORONTO = ZoneInfo("America/Toronto")


def opened(path: Path, **options: Any) -> Store:
    return Store.open(f"sqlite:///{path}", timezone=TORONTO, **options)


def script() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    config.set_main_option("path_separator", "os")
    return ScriptDirectory.from_config(config)


def test_a_new_store_is_made_with_its_folder_and_current(tmp_path: Path) -> None:
    path = tmp_path / "var" / "lib" / "syncd.db"
    with opened(path) as store:
        assert store.read(schema.version) == schema.HEAD
        assert store.read(employers.all) == []
    with opened(path) as store:
        assert store.read(schema.version) == schema.HEAD


def test_the_program_knows_its_newest_migration() -> None:
    assert script().get_heads() == [schema.HEAD]


def test_migrations_and_tables_agree(path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "include_name": lambda name, kind, _parents: (
                    kind != "table" or name not in search_index.TABLES
                )
            },
        )
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_the_first_migration_goes_down_again(path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        from alembic import command

        config = Config()
        config.set_main_option("script_location", str(schema.MIGRATIONS))
        config.set_main_option("path_separator", "os")
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
        left = set(sa.inspect(connection).get_table_names()) - {"alembic_version", "sqlite_sequence"}
    engine.dispose()
    assert left == set()


def test_opening_a_current_store_does_not_load_alembic(path: Path) -> None:
    program = (
        "import sys; from zoneinfo import ZoneInfo; from syncd.store import Store;"
        f"Store.open('sqlite:///{path}', timezone=ZoneInfo('UTC')).close(); sys.exit('alembic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_store_of_a_newer_program_is_refused_and_left_alone(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(StoreTooNew, match="9999"):
        opened(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("9999",)
    connection.close()


def test_a_migration_that_fails_leaves_an_empty_store_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(connection: sa.Connection, target: str) -> None:
        connection.exec_driver_sql("CREATE TABLE half (id INTEGER)")
        raise RuntimeError("the plug is out")

    monkeypatch.setattr(schema, "upgrade", broken)
    with pytest.raises(RuntimeError):
        opened(tmp_path / "s.db")
    monkeypatch.undo()
    with opened(tmp_path / "s.db") as store:
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


def test_the_lock_is_free_again_after_a_refused_opening(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    for _ in range(2):
        with pytest.raises(StoreTooNew):
            opened(path, exclusive=True)


@pytest.mark.parametrize(
    "url",
    ["sqlite://", "sqlite:///:memory:", "postgresql://localhost/syncd", "nonsense", "/var/lib/syncd.db"],
)
def test_an_address_that_is_no_file_is_refused(url: str) -> None:
    with pytest.raises(StoreError):
        Store.open(url, timezone=TORONTO)


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


def test_a_backup_is_a_whole_store(store: Store, tmp_path: Path) -> None:
    store.write(lambda tx: employers.add(tx, "Acme"))
    store.database.backup(tmp_path / "copy.db", utc_now())
    store.write(lambda tx: employers.add(tx, "Later"))
    with opened(tmp_path / "copy.db") as copy:
        assert [e.name for e in copy.read(employers.all)] == ["Acme"]


_ACKNOWLEDGING = """
import sys, threading
from zoneinfo import ZoneInfo
from syncd.domain import Actor, ActorKind, JobInput, Place, Status
from syncd.store import Store, employers, upsert

store = Store.open(sys.argv[1], timezone=ZoneInfo("UTC"), exclusive=True)
employer = store.write(lambda tx: employers.add(tx, "Acme"))
lock = threading.Lock()

def work(worker):
    for number in range(100_000):
        sent = JobInput({"title": "Baker", "referenceId": f"{worker}-{number}", "categories": (1,),
                         "locations": (Place("Montréal", "QC"),)})
        job, _ = store.write(lambda tx: upsert.put(tx, employer.id, sent, Actor(ActorKind.KEY, 1)))
        with lock:
            sys.stdout.write(f"{job.id} {job.reference_id}\\n")
            sys.stdout.flush()

for worker in range(8):
    threading.Thread(target=work, args=(worker,), daemon=True).start()
threading.Event().wait()
"""


def test_a_kill_loses_nothing_that_was_acknowledged(path: Path) -> None:
    command = [sys.executable, "-c", _ACKNOWLEDGING, f"sqlite:///{path}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(500)]
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    whole = [line for line in [*lines, *rest.splitlines(keepends=True)] if line.endswith("\n")]
    acknowledged = dict(line.split() for line in whole)
    assert len(acknowledged) >= 500
    with opened(path, exclusive=True) as store:
        found = store.read(
            lambda tx: dict(tx.execute("SELECT CAST(id AS TEXT), reference_id FROM job").fetchall())
        )
        assert acknowledged.items() <= found.items()
        counted = store.read(lambda tx: tx.execute("SELECT count(*) FROM job").fetchone()[0])
        assert store.read(lambda tx: jobs.count(tx, 1)) == counted
        assert store.read(lambda tx: tx.execute("SELECT count(*) FROM history").fetchone()[0]) == counted
        assert store.write(lambda tx: tx.execute("PRAGMA integrity_check").fetchone()[0]) == "ok"


def test_both_ways_to_write_the_path_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Store.open("sqlite:///var/s.db", timezone=TORONTO).close()
    assert (tmp_path / "var" / "s.db").is_file()


def test_nothing_is_written_to_a_file_that_was_taken_away_until_it_is_back(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/syncd.db", timezone=ZoneInfo("UTC")) as store:
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


def test_what_is_no_store_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "syncd.db").write_bytes(b"no database" * 999)
    with pytest.raises(
        StoreError, match=r"damaged or is not a store \(file is not a database\); stop syncd and put a backup"
    ):
        Store.open(f"sqlite:///{tmp_path}/syncd.db", timezone=ZoneInfo("UTC"))
