"""Where the stores of tests are: in SQLite files, or, with ``TESTS_STORE=postgres`` in the environment, in databases of a
PostgreSQL server of this process alone.

A test names a store by the path of a file. On PostgreSQL a path stands for a database, which the test gets when it uses the
path for the first time. After the test the database is emptied for another one, since to make one takes a quarter of a
second. The server has a folder and a socket of its own and no port. It ends with the process.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations

from syncd.store import Store, schema
from syncd.store.model.tables import metadata
from tests.clock import ZONE

POSTGRES = os.environ.get("TESTS_STORE") == "postgres"
#: For tests outside of tests/store/sqlite about a part that only SQLite has.
sqlite_only = pytest.mark.skipif(POSTGRES, reason="about what only a store on SQLite has")
_EMPTY = "empty"
#: How often a database is used: nobody removes what was deleted in it.
_TIMES = 50
_TABLES = [table.name for table in reversed(metadata.sorted_tables)]
#: The properties that each empty store has.
_SHAPE = (
    "SELECT version_num, (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_trigger),"
    " (SELECT value FROM setting WHERE name = 'gazetteer'),"
    " (SELECT count(*) FROM place WHERE employer_id IS NULL) FROM alembic_version"
)
#: Tables that are not empty in a new store.
_FILLED = {"place", "setting"}


def store_url(path: Path | str) -> str:
    """Return the address of the store at ``path``. On PostgreSQL its database has the schema already."""
    path = Path(path)
    return server().url(server().database_of(path)) if POSTGRES else f"sqlite:///{path}"


def empty_store(path: Path) -> Path:
    """Make an empty store at ``path`` and return ``path``. It is a copy: the migrations take longer than most tests."""
    if not POSTGRES:
        path.touch(0o600)
        path.write_bytes(_empty_file())
    return path


@cache
def _empty_file() -> bytes:
    with tempfile.TemporaryDirectory(prefix="syncd-empty-") as folder:
        path = Path(folder) / "syncd.db"
        Store.open(f"sqlite:///{path}", timezone=ZONE).close()
        return path.read_bytes()


def as_first(connection: sa.Connection) -> None:
    """Make a new store one of the first version: take away all that the migrations have added."""
    operations = Operations(MigrationContext.configure(connection, opts={"target_metadata": metadata}))
    for table in ("run_owner", "outbox", "notice", "job_day", "feed_day", "source"):
        operations.drop_table(table)
    for table, names in {
        "api_key": "successor_id",
        "feed": "paused own_digests names line_end",
        "feed_job": "own_values",
        "history": "request_id",
        "run": "reverts repeats filtered_by progress planned shape reverted_by superseded_by",
    }.items():
        for name in names.split():
            operations.drop_column(table, name)
    operations.drop_index("ix_feed_job_feed_id_job_id_active", "feed_job")
    operations.create_index("ix_feed_job_feed_id_job_id", "feed_job", ["feed_id", "job_id"])
    connection.execute(sa.text("UPDATE alembic_version SET version_num = :first"), {"first": schema.FIRST})


def copy_store(source: Path, target: Path) -> Path:
    """Copy the store at ``source``, which nobody has open, to ``target``, and return ``target``."""
    if POSTGRES:
        server().copy(source, target)
    else:
        shutil.copy(source, target)
    return target


def rows_in(path: Path, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a statement, as another process finds them in the store at ``path``."""
    if POSTGRES:
        return server().sql(sql, server().database_of(path))
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(sql).fetchall()


def change(path: Path, sql: str) -> None:
    rows_in(path, sql)


def open_transactions(path: Path) -> int:
    """Return how many transactions are open in the store at ``path`` (SQLite: 1 for any number)."""
    if not POSTGRES:
        return int(*rows_in(path, "PRAGMA wal_checkpoint(TRUNCATE)")[0][:1])
    name = server().database_of(path)
    ((found,),) = server().sql(
        f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}' AND state LIKE 'idle in transaction%'"
    )
    return int(found)


def refuse_writes(path: Path, when: str, how: str, why: str) -> None:
    """Let the store at ``path`` refuse writes with the message ``why``. ``when``: the event of the trigger, as in "INSERT ON
    job WHEN NEW.reference_id = 'a'". ``how``: ABORT, FAIL or ROLLBACK, which are the same for PostgreSQL, or IGNORE."""
    if not POSTGRES:
        raises = "RAISE(IGNORE)" if how == "IGNORE" else f"RAISE({how}, '{why}')"
        change(path, f"CREATE TRIGGER refuse BEFORE {when} BEGIN SELECT {raises}; END")
        return
    event, _, condition = when.partition(" WHEN ")
    does = "RETURN NULL;" if how == "IGNORE" else f"RAISE EXCEPTION '{why}';"
    change(
        path,
        f"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {does} END $$;"
        f" CREATE TRIGGER refuse BEFORE {event} FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION refuse()",
    )


def allow_writes(path: Path) -> None:
    change(path, "DROP FUNCTION refuse CASCADE" if POSTGRES else "DROP TRIGGER refuse")


def locked_error() -> Exception:
    """Return the error of the driver when another process holds the store locked."""
    if POSTGRES:
        return psycopg.errors.LockNotAvailable("canceling statement due to lock timeout")
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    return error


class Server:
    """A PostgreSQL server in a temporary folder. It loses what it has not written if the machine stops: it is for
    tests."""

    def __init__(self, primary: Server | None = None) -> None:
        """``primary``: the server whose replica this one is (its name for that is ``standby``); None: of its own."""
        self._names: dict[Path, str] = {}
        self._free: list[str] = []
        #: How often each database was used.
        self._times: Counter[str] = Counter()
        self._numbers = count(1)
        self.folder = Path(tempfile.mkdtemp(prefix="syncd-postgres-"))
        #: Options with which a program runs as the user of the server.
        self.user: dict[str, Any] = {}
        if os.geteuid() == 0:  # the server does not run as root
            nobody = pwd.getpwnam("nobody")
            self.user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
        if primary is None:
            self._make()
        else:
            self._copy(primary)
        self.start()

    def _make(self) -> None:
        # An order of texts that differs from that of code points, to show that the store does not depend on it.
        self._run(
            "initdb", "-U", "syncd", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8",
            "--locale-provider=icu", "--icu-locale=en-CA", "-D", str(self.folder / "data"),
        )  # fmt: skip

    def _copy(self, primary: Server) -> None:
        self._run(
            "pg_basebackup", "-d", f"host={primary.folder} user=syncd application_name=standby",
            "-D", str(self.folder / "data"), "--write-recovery-conf", "--checkpoint=fast", "--no-sync",
        )  # fmt: skip

    def _run(self, *command: str) -> None:
        subprocess.run(
            [program(command[0]), *command[1:]], check=True, cwd=self.folder, capture_output=True, **self.user
        )

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "fsync": "off",
            "full_page_writes": "off",
            "max_connections": "200",
            "autovacuum": "off",
        }
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [program("postgres"), "-D", str(self.folder / "data")]
                + [f"--{name}={value}" for name, value in options.items()],
                cwd=self.folder,
                stdout=log,
                stderr=log,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - it calls nothing that may wait
                **self.user,
            )
        end = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
            except psycopg.OperationalError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise RuntimeError((self.folder / "log").read_text()) from None
                time.sleep(0.02)
            else:
                return

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server: its connections are broken. ``how``: SIGINT ends it cleanly, SIGQUIT at once, as a crash."""
        self.process.send_signal(how)
        self.process.wait(30)

    def close(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder)

    def url(self, database: str) -> str:
        return f"postgresql://syncd@/{database}?host={self.folder}"

    def database_of(self, path: Path) -> str:
        """Return the name of the database for ``path``."""
        if path not in self._names:
            self._names[path] = self._free.pop() if self._free else self.new_database(_EMPTY)
        return self._names[path]

    def copy(self, source: Path, target: Path) -> None:
        self._names[target] = self.new_database(self.database_of(source))

    def new_database(self, template: str = "template0") -> str:
        """Return the name of a new database, a copy of ``template``."""
        name = f"t{next(self._numbers)}"
        self.sql(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def drop(self, path: Path) -> None:
        self.sql(f"DROP DATABASE {self._names.pop(path)} WITH (FORCE)")

    def forget(self, paths: set[Path]) -> None:
        """Take the databases of all paths but ``paths`` back."""
        for path in self._names.keys() - paths:
            name = self._names.pop(path)
            self._times[name] += 1
            if self._times[name] < _TIMES and self._emptied(name):
                self._free.append(name)
            else:
                self.sql(f"DROP DATABASE {name} WITH (FORCE)")

    def _emptied(self, name: str) -> bool:
        """Empty a database; return whether that was possible: not if its schema has changed."""
        self.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        if self._shape(name) != self._shape(_EMPTY):
            return False
        deletes = "".join(f"DELETE FROM {table};" for table in _TABLES if table not in _FILLED)
        sequences = "SELECT setval(oid, 1, false) FROM pg_class WHERE relkind = 'S';"
        keep = (
            "DELETE FROM place WHERE employer_id IS NOT NULL; DELETE FROM setting WHERE name <> 'gazetteer';"
        )
        self.sql(f"SET session_replication_role = replica; {deletes} {keep} {sequences}", name)
        return True

    def _shape(self, name: str) -> list[tuple[Any, ...]]:
        try:
            return self.sql(_SHAPE, name)
        except psycopg.errors.UndefinedTable:
            return []

    @property
    def paths(self) -> set[Path]:
        return set(self._names)

    def sql(self, text: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(text)
            return cursor.fetchall() if cursor.description else []


def _end_with_parent() -> None:
    """Have the kernel end this process when the process of the tests ends, however that ends."""
    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


@cache
def program(name: str) -> str:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    found = next((str(folder / name) for folder in reversed(folders) if (folder / name).exists()), None)
    found = found or shutil.which(name)
    if found is None:
        pytest.fail(f"TESTS_STORE=postgres needs PostgreSQL, but {name} is not on this machine")
    return found


_servers: list[Server] = []


def server() -> Server:
    """Return the server of this process, which has the database ``empty``: that of an empty store."""
    if not _servers:
        _servers.append(Server())
        _servers[0].sql(f"CREATE DATABASE {_EMPTY}")
        Store.open(_servers[0].url(_EMPTY), timezone=ZONE).close()
    return _servers[0]


def end_server() -> None:
    while _servers:
        _servers.pop().close()


def kept_databases() -> Callable[[], None]:
    """Return a function that removes the databases that are made from now on."""
    before = _servers[0].paths if _servers else set()

    def remove() -> None:
        if _servers:
            _servers[0].forget(before)

    return remove
