"""Faults of the system: which calls they concern, for how long, and of which feed."""

import errno
import os
import random
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import errors

from tests.simulation.layer import Call

_NAMES = ("stat", "lstat", "listdir", "mkdir", "rename", "unlink", "utime", "open")
#: The calls that each error concerns. ``create`` and ``open`` are the two uses of ``open``.
CALLS: dict[str, tuple[str, ...]] = {
    "ENOSPC": ("create", "write", "mkdir", "fsync", "copy_file_range", "sql write", "sql commit"),
    "EDQUOT": ("create", "write", "mkdir", "fsync", "sql commit"),
    "EROFS": ("create", "mkdir", "rename", "unlink", "utime", "sql begin"),
    "EIO": (
        "read",
        "pread",
        "write",
        "fsync",
        "stat",
        "listdir",
        "open",
        "sql read",
        "sql commit",
        "sql write",
    ),
    "EACCES": ("open", "create", "stat", "listdir", "mkdir", "rename", "unlink", "sql connect"),
    "ESTALE": ("open", "stat", "listdir", "rename", "unlink", "read", "fstat"),
    "EMFILE": ("open", "create", "dup", "sql connect"),
    "BUSY": ("sql begin",),
}
_SQL = {
    "ENOSPC": (sqlite3.SQLITE_FULL, "database or disk is full"),
    "EDQUOT": (sqlite3.SQLITE_FULL, "database or disk is full"),
    "EROFS": (sqlite3.SQLITE_READONLY, "attempt to write a readonly database"),
    "EIO": (sqlite3.SQLITE_IOERR, "disk I/O error"),
    "EACCES": (sqlite3.SQLITE_CANTOPEN, "unable to open database file"),
    "EMFILE": (sqlite3.SQLITE_CANTOPEN, "unable to open database file"),
    "BUSY": (sqlite3.SQLITE_BUSY, "database is locked"),
}
#: What a server answers. That a file of the server cannot be read or flushed is one error to its clients.
_SERVER: dict[str, type[psycopg.Error]] = {
    "ENOSPC": errors.DiskFull,
    "EDQUOT": errors.DiskFull,
    "EROFS": errors.ReadOnlySqlTransaction,
    "EIO": errors.IoError,
    "EACCES": psycopg.OperationalError,
    "EMFILE": errors.TooManyConnections,
    "BUSY": errors.LockNotAvailable,
}


@dataclass
class Fault:
    """``name`` of the error; ``until``: when it is over by the monotonic clock; ``share`` of the calls that fail; ``folder``:
    only calls on what lies there fail (None: all calls)."""

    name: str
    until: float
    share: float
    folder: Path | None
    random: random.Random
    monotonic: Callable[[], float]

    @property
    def over(self) -> bool:
        return self.monotonic() >= self.until

    def strike(self, call: Call) -> None:
        """Raise the error for a call that it concerns, now and then."""
        name, args, options = call
        if name == "open" and args[1] & os.O_CREAT:
            name = "create"
        if name not in CALLS[self.name] or self.over or self.random.random() >= self.share:
            return
        if name.startswith("sql"):
            if self.folder is None and "server" in options:
                raise _SERVER[self.name]("the server reports an error")
            if self.folder is None:
                code, text = _SQL[self.name]
                error = sqlite3.OperationalError(text)
                error.sqlite_errorcode = code
                raise error
            return
        if self.folder is None or place_of(args, options).is_relative_to(self.folder):
            number = getattr(errno, self.name)
            raise OSError(
                number, os.strerror(number), *(args[:1] if isinstance(args[0], str | bytes) else ())
            )


def place_of(args: tuple[object, ...], options: dict[str, object]) -> Path:
    first = args[0]
    folder = options.get("dir_fd", options.get("src_dir_fd"))
    if isinstance(first, int):
        return Path(f"/proc/self/fd/{first}").readlink()
    name = Path(os.fsdecode(first))  # type: ignore[arg-type]
    if isinstance(folder, int):
        return Path(f"/proc/self/fd/{folder}").readlink() / name
    if name.is_relative_to("/proc/self/fd"):
        descriptor, *rest = name.parts[4:]
        return Path(f"/proc/self/fd/{descriptor}").readlink().joinpath(*rest)
    return name
