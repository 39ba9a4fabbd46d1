"""The schema of a store: its version, and the migrations, which go up only. The way back is to restore a backup.

Alembic is imported only when there is something to migrate: it takes longer to load than a store takes to open.
"""

import threading
from pathlib import Path

import sqlalchemy as sa

from syncd.errors import StoreTooNew
from syncd.store.database import Database, Session
from syncd.store.model import sql
from syncd.store.transactions import Tx

MIGRATIONS = Path(__file__).parent / "migrations"
_KNOWN = {path.stem.partition("_")[0] for path in (MIGRATIONS / "versions").glob("*.py")}
#: The newest migration: the schema of ``tables.py``.
HEAD = max(_KNOWN)

_VERSION = sa.table("alembic_version", sa.column("version_num", sa.String))
_GET = sql.Statement(sa.select(_VERSION.c.version_num))
_alembic = threading.Lock()  # its command context is global: one migration at a time in a process


def version(tx: Tx) -> str | None:
    """Return the version of the store's schema; None for an empty store that has the table."""
    return tx.scalar(_GET)


def refuse_newer(version: str | None, what: str = "the store") -> None:
    """Raise StoreTooNew for a version that this program does not know."""
    if version is not None and version not in _KNOWN:
        raise StoreTooNew(
            f"{what} has schema {version}, this program knows up to {HEAD}: use the newer program"
        )


def bring_up(database: Database, session: Session, tx: Tx) -> None:
    """Migrate to HEAD, all of it or nothing. Raises StoreTooNew for a version that this program does not know."""

    def present_version() -> str | None:
        return version(tx) if session.has_table(_VERSION.name) else None

    if present_version() == HEAD:
        return
    with database.migration() as connection:  # another process may have done the same meanwhile
        present = present_version()
        refuse_newer(present)
        if present != HEAD:
            upgrade(connection, HEAD)


def upgrade(connection: sa.Connection, target: str) -> None:
    """Run the migrations to ``target`` within the connection's transaction."""
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    with _alembic:
        command.upgrade(config, target)
