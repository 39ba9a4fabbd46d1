"""A feed's folder: made where it is missing, locked for one process, and tidied after processes that died."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from syncd.errors import UnusableFolder
from syncd.sync import files
from syncd.sync.arrival.claims import COPY

_LOCK = ".lock"
_LOCK_FLAGS = os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
#: Seconds after which no process is still writing a draft.
_OLD = 60.0


def make_folders(folder: Path) -> None:
    """Make the folder and the three inside it, where they are missing. Raises OSError, and UnusableFolder for one that
    files cannot be moved into."""
    with suppress(FileExistsError):
        folder.mkdir(parents=True)
    for name in (files.CLAIMED, files.DONE, files.FAILED):
        with files.ensure_subfolder(folder, name):
            pass


@contextmanager
def feed_lock(folder: Path) -> Iterator[bool]:
    """Yield whether this process alone may run the feed: False while another one does. The lock is held until the block
    ends. Raises OSError, UnusableFolder."""
    with files.open_subfolder(folder, files.CLAIMED) as claims:
        fd = _open_lock(folder, claims)
    try:
        yield files.try_lock(fd)
    finally:
        os.close(fd)


def tidy(folder: Path) -> None:
    """Remove the unfinished copies, notes and scratch files that no process needs. Call it under the feed's lock."""
    with files.open_subfolder(folder, files.CLAIMED) as claims:
        names = os.listdir(claims)
        live = {parsed[0] for parsed in map(files.parse_claim, names) if parsed}
        for name in names:
            if name.startswith(COPY) or _is_abandoned(name, live, claims):
                files.discard(claims, name)


def _open_lock(folder: Path, claims: int) -> int:
    try:
        fd = os.open(_LOCK, _LOCK_FLAGS, 0o600, dir_fd=claims)
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return fd
        os.close(fd)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise
    why = f"is {files.kind_of(files.mode_of(_LOCK, claims))}, not a file: remove it"
    raise UnusableFolder(folder / files.CLAIMED / _LOCK, why)


def _is_abandoned(name: str, live: set[str], claims: int) -> bool:
    """Return whether it is an old draft, or a note or scratch file of a claimed file that is gone. ``live``: the digits of
    the claimed files that are there."""
    if not name.startswith(files.DRAFT):
        return name[9:].startswith((".rejected.", ".filing-")) and name[1:9] not in live
    with suppress(FileNotFoundError):
        return time.time() - os.stat(name, dir_fd=claims, follow_symlinks=False).st_mtime > _OLD
    return False
