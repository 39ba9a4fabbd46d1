"""The schema's version: which one a store has, and Alembic to bring it to this program's.

Alembic is imported only when there is something to migrate: it takes longer to load than a store takes to
open.
"""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

from syncd.errors import StoreTooNew
from syncd.store.engine import Session

MIGRATIONS = Path(__file__).parent / "migrations"
#: The newest migration: the schema of ``tables.py``.
HEAD = "0003"

_alembic = threading.Lock()  # its command context is global: one migration at a time in a process


def version(session: Session) -> str | None:
    """The store's schema version; None for an empty store."""
    try:
        row = session.driver.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:  # anything but "no such table"
            raise
        return None
    return row[0] if row else None


def bring_up(session: Session) -> None:
    """Migrate to HEAD, all of it or nothing. Raises StoreTooNew for a version that this program does not
    know."""
    if version(session) == HEAD:
        return
    session.begin()  # another process may be doing the same: it is done when we get the lock
    try:
        found = version(session)
        if found is not None and found not in _known():
            raise StoreTooNew(
                f"the store has schema {found}, this program knows up to {HEAD}: use the newer program"
            )
        if found != HEAD:
            upgrade(session, HEAD)
        session.commit()
    except BaseException:
        session.rollback()
        raise


def _known() -> set[str]:
    return {path.stem.partition("_")[0] for path in (MIGRATIONS / "versions").glob("*.py")}


def upgrade(session: Session, target: str) -> None:
    """Run the migrations to ``target`` within the session's transaction."""
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = session.core()
    with _alembic:
        command.upgrade(config, target)
