"""The store that the daemon of an installation serves: the daemon notes it in ``STATE/daemon.json``, and a command that would use
another one refuses (docs/operations.md "One store"). Imports no store: every command asks."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import msgspec

from syncd.config import Settings
from syncd.errors import StoreError

#: Members of the address of a database that say which one it is; the others are users, passwords and options of the connection.
_IDENTIFYING = ("host", "hostaddr", "port", "dbname", "service", "options")
#: Bytes of the largest note that is read.
_MOST = 64 << 10


class _Note(msgspec.Struct):
    store: str


def name_of(settings: Settings) -> str:
    """Return which store the settings name: the file, or server and database, without user and password."""
    if settings.store.path is not None:
        return str(settings.store.path.resolve())
    address, _, query = settings.store.url.partition("://")[2].partition("?")
    where, _, database = address.partition("/")
    server = where.rpartition("@")[2].lower().removesuffix(":5432")
    others = urlencode([each for each in parse_qsl(query) if each[0] in _IDENTIFYING], safe="/")
    return f"postgresql://{server}/{database}{'?' if others else ''}{others}"


def served_store(settings: Settings) -> tuple[str, bool] | None:
    """Return the store that the daemon of this installation serves, or served last, and whether one runs now. None if nothing is
    known: no daemon ran yet, or another user's did."""
    try:
        fd = os.open(_note(settings), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return msgspec.json.decode(os.read(fd, _MOST), type=_Note).store, _is_locked(fd)
    except (OSError, msgspec.DecodeError):  # a daemon writes it at this moment, or it is something else
        return None
    finally:
        os.close(fd)


def _is_locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def refuse_other(settings: Settings) -> None:
    """Raise StoreError if the daemon that runs serves another store than that of the settings."""
    served, name = served_store(settings), name_of(settings)
    if served is not None and served[1] and served[0] != name:
        source = settings.sources.get("store.url", "the default")
        raise StoreError(
            f"store.url: the daemon serves {served[0]}, and these settings name {name} ({source}): give both the"
            " same setting (of the unit's credentials root can read), or restart the daemon"
        )


@contextmanager
def serving(settings: Settings) -> Iterator[None]:
    """Note until the block ends that a daemon serves the store of the settings, where this user can write the note. Several
    daemons may serve one store. Raises StoreError if one serves another store."""
    refuse_other(settings)
    fd = None
    with suppress(OSError):
        fd = os.open(_note(settings), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        fcntl.flock(fd, fcntl.LOCK_SH)  # it ends with the process, however that ends
        note = msgspec.json.encode(_Note(name_of(settings)))
        os.pwrite(fd, note, 0)
        os.ftruncate(fd, len(note))
    try:
        yield
    finally:
        if fd is not None:
            os.close(fd)


def _note(settings: Settings) -> Path:
    return settings.base / "daemon.json"
