"""Opening: migrations, locks, versions, and the store after a kill."""

import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from syncd.errors import StoreError, StoreTooNew
from syncd.store import Store, jobs, schema
from syncd.store.model.tables import metadata
from syncd.store.postgres import search
from syncd.store.sqlite import search_index
from syncd.store.store import database_at
from tests.stores import as_first, change, rows_in, store_url

TORONTO = ZoneInfo("America/Toronto")


def opened(path: Path, **options: Any) -> Store:
    return Store.open(store_url(path), timezone=TORONTO, **options)


def belongs(thing: Any, name: str | None, kind: str, _reflected: bool, _other: object, dialect: str) -> bool:
    """Return whether a thing of the schema is of this database and known to the tables: a search index is not."""
    if kind == "table":
        return name not in {*search_index.TABLES, "job_search_stale"}
    only = thing._ddl_if if kind == "index" else None
    return name != search.INDEX and (only is None or only.dialect == dialect)


@pytest.mark.parametrize("first", [schema.HEAD, schema.FIRST])
def test_migrations_and_tables_agree(path, first):
    with database_at(store_url(path)).migration() as connection:
        if first == schema.FIRST:
            as_first(connection)
            schema.upgrade(connection, schema.FIRST, schema.HEAD)
        ours = partial(belongs, dialect=connection.dialect.name)
        context = MigrationContext.configure(connection, opts={"include_object": ours})
        assert compare_metadata(context, metadata) == []


def test_opening_a_current_store_does_not_load_alembic(path):
    program = (
        "import sys; from zoneinfo import ZoneInfo; from syncd.store import Store;"
        f"Store.open({store_url(path)!r}, timezone=ZoneInfo('UTC')).close(); sys.exit('alembic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_store_of_a_newer_program_is_refused_and_left_alone(path):
    change(path, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreTooNew, match="9999"):
        opened(path)
    assert rows_in(path, "SELECT version_num FROM alembic_version") == [("9999",)]


def test_a_database_of_another_program_is_refused_and_left_alone(path):
    change(path, "DROP TABLE alembic_version")
    before = rows_in(path, "SELECT count(*) FROM employer")
    with pytest.raises(StoreError, match=r"tables of another program \(.*job"):
        opened(path)
    assert rows_in(path, "SELECT count(*) FROM employer") == before


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "mysql://localhost/syncd", "nonsense", "/var/lib/syncd.db"]
)
def test_an_address_that_is_no_file_is_refused(url):
    with pytest.raises(StoreError):
        Store.open(url, timezone=TORONTO)


_ACKNOWLEDGING = """
import sys, threading
from zoneinfo import ZoneInfo
from syncd.domain import Actor, ActorKind, JobInput, Place, Status
from syncd.store import Store, employers
from syncd.store.jobs import upsert

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


def test_a_kill_loses_nothing_that_was_acknowledged(path):
    command = [sys.executable, "-c", _ACKNOWLEDGING, store_url(path)]
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
