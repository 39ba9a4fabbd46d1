"""The rights of the folders and files of a feed. Partners are strangers to each other: a feed's folder is open to the
group of its partner alone (docs/operations.md "Partners")."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from syncd.sync.files.names import CLAIMED, DONE, FAILED

#: The drop folder: anyone may pass through it, nobody may list it.
DROP_MODE = 0o711
#: A feed's folder: its group drops files. What is made in it gets its group.
FEED_MODE = 0o2770
#: The folders inside it: the group reads reports; claimed files and drafts are syncd's own.
INNER_MODES = {CLAIMED: 0o700, DONE: 0o2750, FAILED: 0o2750}
#: A report: the group of the folder reads it.
REPORT_MODE = 0o640


def make_feed_folder(folder: Path) -> None:
    """Make the feed's folder, and the drop folder above it, where they are missing. What exists keeps its rights. Raises
    OSError."""
    make_drop_folder(folder.parent)
    _make(folder, FEED_MODE)


def make_drop_folder(drop: Path) -> None:
    """Make the drop folder and those above it where they are missing; it may be a link to a folder. Raises OSError."""
    drop.parent.mkdir(parents=True, exist_ok=True)
    _make(drop, DROP_MODE)
    if not drop.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(drop))


def set_mode(fd: int, mode: int) -> None:
    """Give an open folder these rights, whatever the umask, if it is this user's. Where the system lets no process set
    the set-group-ID bit (``RestrictSUIDSGID=`` of systemd), the folder has it only if it inherited it."""
    found = os.fstat(fd)
    now = stat.S_IMODE(found.st_mode)
    if now == mode or found.st_uid != os.geteuid():
        return
    try:
        os.fchmod(fd, mode)
    except PermissionError:
        if not now & stat.S_ISGID:
            os.fchmod(fd, mode & 0o777)


def _make(folder: Path, mode: int) -> None:
    with suppress(FileExistsError):
        folder.mkdir(mode & 0o700)
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            set_mode(fd, mode)
        finally:
            os.close(fd)
