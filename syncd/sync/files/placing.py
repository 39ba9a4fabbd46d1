"""What syncd writes for partners is made in a folder that only syncd's user can enter and then moved to where they find it.

A partner may put anything under any name into ``done/`` and ``failed/``, at any moment, and may exchange these folders
themselves. So nothing there is opened, followed, waited for or replaced, except earlier reports of syncd's own.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from syncd.errors import UnusableFolder
from syncd.sync.files.descriptors import elsewhere, mode_of

DRAFT = ".draft-"
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NOREPLACE = 1
#: Missing in a C library that is very old.
_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


@contextmanager
def moving_into(place: Path) -> Iterator[None]:
    """Raises UnusableFolder where ``place`` is at fault that nothing can be moved there."""
    try:
        yield
    except PermissionError as error:
        why = f"cannot be written to: {error.strerror}; syncd's user needs to read, write and enter it"
        raise UnusableFolder(place, why) from error
    except OSError as error:
        raise elsewhere(place) if error.errno == errno.EXDEV else error from None


def write_draft(private: int, content: bytes) -> str:
    """Write a new file of a random name into a private folder, durably; return the name. Raises OSError."""
    name = f"{DRAFT}{secrets.token_hex(8)}"
    with open(os.open(name, _NEW_FILE, 0o666, dir_fd=private), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return name


def discard(folder: int, name: str) -> None:
    """Remove what lies under ``name``, if it is there and is not a folder."""
    with suppress(FileNotFoundError, IsADirectoryError, PermissionError):
        os.unlink(name, dir_fd=folder)


def move(source: int, name: str, target: int, wanted: str) -> None:
    """Rename from folder to folder, never over anything. Raises FileExistsError and any other OSError."""
    if _renameat2 is not None:
        if _renameat2(source, os.fsencode(name), target, os.fsencode(wanted), _NOREPLACE) == 0:
            return
        code = ctypes.get_errno()
        if code not in (errno.EINVAL, errno.ENOSYS):
            raise OSError(code, os.strerror(code), wanted)
    # NFS cannot promise it. What appears between these two calls is the partner's own and is lost.
    if mode_of(wanted, target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), wanted)
    os.rename(name, wanted, src_dir_fd=source, dst_dir_fd=target)


def is_own_file(folder: int, name: str) -> bool:
    """Whether a file that syncd's user made, and that has no other name, lies there."""
    with suppress(FileNotFoundError):
        look = os.stat(name, dir_fd=folder, follow_symlinks=False)
        return stat.S_ISREG(look.st_mode) and look.st_uid == os.geteuid() and look.st_nlink == 1
    return False


def replace_own(private: int, content: bytes, folder: int, name: str) -> None:
    """Put ``content`` in place of an earlier report; what is no report of syncd's own stays. Raises OSError."""
    if not is_own_file(folder, name):
        return
    draft = write_draft(private, content)
    try:
        share(private, draft, folder)
        with suppress(IsADirectoryError):  # exchanged since the look
            os.rename(draft, name, src_dir_fd=private, dst_dir_fd=folder)
    finally:
        discard(private, draft)


def share(private: int, name: str, folder: int) -> None:
    """Give a file the group that it would have, had it been made in ``folder``."""
    look = os.fstat(folder)
    if look.st_mode & stat.S_ISGID:
        with suppress(PermissionError):  # a group that syncd's user is not in
            os.chown(name, -1, look.st_gid, dir_fd=private, follow_symlinks=False)


@dataclass(slots=True)
class Part:
    """A file on its way into a folder: where it lies now, and what its name there ends with."""

    folder: int
    name: str
    suffix: str

    def move_to(self, folder: int, stem: str) -> None:
        """Raises FileExistsError, OSError."""
        wanted = stem + self.suffix
        if (self.folder, self.name) != (folder, wanted):
            move(self.folder, self.name, folder, wanted)
            self.folder, self.name = folder, wanted
