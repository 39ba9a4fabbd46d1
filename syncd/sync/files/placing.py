"""Puts files where partners find them: each is written in a folder that only syncd's user can enter, and then moved.

A partner may put anything under any name into ``done/`` and ``failed/``, at any moment, and may replace these folders. So
nothing there is opened, followed, waited for or overwritten, except earlier reports of syncd's own."""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import stat
from contextlib import suppress

from syncd.sync.files.descriptors import mode_of
from syncd.sync.files.modes import REPORT_MODE

#: What the names of files that are being written begin with.
DRAFT = ".draft-"
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NOREPLACE = 1
#: None where the C library is too old to have it.
_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def write_draft(private: int, content: bytes) -> str:
    """Write a new file of a random name into a private folder, durably; return the name. Raises OSError, and leaves
    nothing then."""
    name = f"{DRAFT}{secrets.token_hex(8)}"
    fd = os.open(name, _NEW_FILE, REPORT_MODE, dir_fd=private)
    try:
        with open(fd, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        discard(private, name)
        raise
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
    # NFS cannot do it in one step. A file of the partner that appears between these two calls is lost.
    if mode_of(wanted, target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), wanted)
    os.rename(name, wanted, src_dir_fd=source, dst_dir_fd=target)


def is_own_file(folder: int, name: str) -> bool:
    """Return whether ``name`` is a file that syncd's user made and that has no other name."""
    with suppress(FileNotFoundError):
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink == 1
    return False


def replace_own_file(private: int, content: bytes, folder: int, name: str) -> None:
    """Replace an earlier file of syncd's own; anything else under that name stays. Raises OSError."""
    if not is_own_file(folder, name):
        return
    draft = write_draft(private, content)
    try:
        inherit_group(private, draft, folder)
        with suppress(IsADirectoryError):  # it became a folder since it was looked at
            os.rename(draft, name, src_dir_fd=private, dst_dir_fd=folder)
    finally:
        discard(private, draft)


def inherit_group(private: int, name: str, folder: int) -> None:
    """Give a file of syncd's own the group that it would have if it had been made in ``folder``, and let that read it."""
    found = os.fstat(folder)
    if found.st_mode & stat.S_ISGID:
        with suppress(PermissionError):  # a group that syncd's user is not in
            os.chown(name, -1, found.st_gid, dir_fd=private, follow_symlinks=False)
    if stat.S_ISREG(mode_of(name, private)):
        with suppress(PermissionError):  # a file system that keeps no modes
            os.chmod(name, REPORT_MODE, dir_fd=private)
