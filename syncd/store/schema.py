"""The schema of a store: its version, and the migrations, which go up only. The way back is to restore a backup.

Alembic is imported only when there is something to migrate: it takes longer to load than a store takes to open.
"""

import sqlalchemy as sa

from syncd.errors import StoreError, StoreTooNew
from syncd.store.database import Database, Session
from syncd.store.migrations import FIRST, MIGRATIONS
from syncd.store.model import sql
from syncd.store.model.tables import metadata
from syncd.store.transactions import Tx

#: The newest migration: the schema of ``tables.py``.
HEAD = max(MIGRATIONS)

_VERSION = sa.Table(
    "alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True)
)
_GET = sql.Statement(sa.select(_VERSION.c.version_num))


def version(tx: Tx) -> str | None:
    """Return the version of the store's schema; None for an empty store that has the table."""
    return tx.scalar(_GET)


def refuse_newer(version: str | None, what: str = "the store") -> None:
    """Raise StoreTooNew for a version that this program does not know."""
    if version is not None and version not in (FIRST, *MIGRATIONS):
        raise StoreTooNew(
            f"{what} has schema {version}, this program knows up to {HEAD}: use the newer program"
        )


def bring_up(database: Database, session: Session, tx: Tx) -> None:
    """Make the tables of a new store, or migrate those of an older one to HEAD, all of it or nothing. Raises StoreTooNew for a
    version that this program does not know, StoreError for a database with tables of these names and no version."""

    def present_version() -> str | None:
        return version(tx) if session.has_table(_VERSION.name) else None

    if present_version() == HEAD:
        return
    with database.migration() as connection:  # another process may have done the same meanwhile
        present = present_version()
        refuse_newer(present)
        if present is None:
            if others := [name for name in metadata.tables if session.has_table(name)]:
                raise StoreError(
                    f"the database has the tables of another program ({', '.join(others)}): name another one"
                )
            for tables in (metadata, _VERSION.metadata):
                tables.create_all(connection, checkfirst=False)
            connection.execute(_VERSION.insert().values(version_num=HEAD))
        elif present != HEAD:
            upgrade(connection, present, HEAD)


def upgrade(connection: sa.Connection, present: str, target: str) -> None:
    """Run the migrations from the ``present`` version to ``target`` within the connection's transaction."""
    from alembic.migration import MigrationContext  # noqa: PLC0415
    from alembic.operations import Operations  # noqa: PLC0415

    operations = Operations(MigrationContext.configure(connection, opts={"target_metadata": metadata}))
    for number, migrate in MIGRATIONS.items():
        if present < number <= target:
            migrate(operations)
    connection.execute(_VERSION.update().values(version_num=target))
