"""A backup takes the place of a store on PostgreSQL: it is loaded into a database of its own, verified there, and then the two
databases change names, in one transaction of the server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from hashlib import sha256
from typing import IO

import psycopg
from psycopg import sql

from syncd.errors import StoreBusy, StoreError
from syncd.store.backups import verified
from syncd.store.database import Database, Replacement
from syncd.store.postgres import backups
from syncd.store.postgres.connections import Connection, attempts
from syncd.store.postgres.errors import DRIVER_ERRORS, store_errors
from syncd.store.postgres.named_locks import LOCK, key_of
from syncd.store.postgres.programs import environment, program, run

#: The database in which databases are made and renamed: a name cannot be changed from inside.
_MAINTENANCE = "postgres"
#: Bytes that a name may have.
_LONGEST = 63
_RIGHTS = "SELECT rolsuper OR rolcreatedb FROM pg_roles WHERE rolname = current_user"
_FOUND = "SELECT pg_get_userbyid(datdba), datcollate, datctype FROM pg_database WHERE datname = $1"
_USERS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()"
    " AND coalesce(backend_type, 'client backend') = 'client backend'"
)
#: Seconds in which a connection that was closed must be gone.
_CLOSING = 2.0
_IN_USE = "another process is connected to the database {}: stop all daemons and end it first"


class Place:
    """A database of a server, named ``name``, and what a restore does with it. ``driver`` is connected to another database of
    the server. Raises StoreError, psycopg.Error."""

    def __init__(self, driver: Connection, name: str) -> None:
        self._driver, self.name = driver, name
        #: What a restore that was killed leaves has this name too.
        self.draft = f"syncd_restoring_{sha256(name.encode()).hexdigest()[:12]}"
        ((allowed,),) = driver.execute(_RIGHTS)
        if not allowed:
            raise StoreError(
                "a restore makes a database, which the store's user may not: ALTER ROLE … CREATEDB, or restore with"
                " the address of a user who may (SYNCD_STORE__URL)"
            )
        ((mine,),) = driver.execute(LOCK, (key_of(f"restore {name}"),))
        if not mine:
            raise StoreBusy(f"another process restores the database {name}")
        found = driver.execute(_FOUND, (name,)).fetchone()
        self._exists = found is not None
        ((me,),) = driver.execute("SELECT current_user")
        self.owner, self._collate, self._type = found or (me, None, None)

    def load(self, source: IO[bytes]) -> None:
        """Make the draft from a backup."""
        self.drop()
        names = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0 ENCODING 'UTF8'").format(
            sql.Identifier(self.draft), sql.Identifier(self.owner)
        )
        if self._collate is not None:
            names += sql.SQL(" LOCALE_PROVIDER libc LC_COLLATE {} LC_CTYPE {}").format(
                self._collate, self._type
            )
        self._run(names)
        path = program("pg_restore", self._driver.info.server_version // 10_000)
        options = ["--exit-on-error", "--no-owner", f"--role={self.owner}", f"--dbname={self.draft}"]
        run([path, *options], environment(self._driver, self.draft), source)

    def drop(self) -> None:
        self._run(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(self.draft)))

    def exchange(self, at: datetime) -> str | None:
        """Give the draft the name of the database, as ``Replacement.take_place`` does: both change their names, or none."""
        ending = f"_before_restore_{at:%Y%m%d_%H%M%S_%f}"
        kept = self.name.encode()[: _LONGEST - len(ending)].decode(errors="ignore") + ending
        try:
            with self._driver.transaction():
                if self._exists:
                    self._rename(self.name, kept)
                self._rename(self.draft, self.name)
        except psycopg.errors.ObjectInUse:
            raise StoreBusy(_IN_USE.format(self.name)) from None
        return kept if self._exists else None

    def _rename(self, name: str, other: str) -> None:
        self._run(
            sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(name), sql.Identifier(other))
        )

    def _run(self, statement: sql.Composed) -> None:
        self._driver.execute(statement.as_string(self._driver))


def be_alone(driver: Connection, name: str) -> None:
    """Raise StoreBusy if another process than that of ``driver`` is connected to the database ``name``. One that has just
    closed its connection may take a moment to be gone."""
    for attempt in attempts(StoreBusy, seconds=_CLOSING, pause=0.05):
        with attempt:
            ((users,),) = driver.execute(_USERS, (name,))
            if users:
                raise StoreBusy(_IN_USE.format(name))


@contextmanager
def unpacked(
    connect: Callable[[str | None], Connection],
    name: str,
    source: IO[bytes],
    database_at: Callable[[str], Database],
) -> Iterator[Replacement]:
    """Yield what the backup ``source`` has, in a database beside the database ``name``. ``connect`` opens a connection to a
    database of the server, ``database_at`` returns the store in one. Raises StoreError, OSError."""
    note = backups.read_file(source)
    size = source.seek(0, os.SEEK_END)
    with store_errors(), closing(connect(_MAINTENANCE)) as driver:
        place = Place(driver, name)
        be_alone(driver, name)
        try:
            place.load(source)
            with closing(connect(place.draft)) as draft:
                made = verified(note, *backups.read_store(draft), size)
            yield Replacement(made, database_at(place.draft), place.exchange)
        finally:
            # after an exchange there is none; what cannot be removed now, the next restore removes
            with suppress(*DRIVER_ERRORS):
                place.drop()
