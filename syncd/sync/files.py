"""Files on their way through a feed's folder: their names, and how they are copied, written and moved.

A partner may put anything under any name into ``done/`` and ``failed/``, at any moment, and may replace these folders. So
each file is written in a folder that only syncd's user can enter, and then moved. Nothing there is opened, followed, waited
for or overwritten, except earlier reports of syncd's own."""

import ctypes
import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from io import FileIO
from typing import IO

from syncd.plain_files import is_litter
from syncd.sync.folders import REPORT_MODE, mode_of

#: Writes the content of a file to it.
Content = Callable[[IO[bytes]], object]
#: Bytes that are left of a file's name once it is claimed or filed.
KEPT_BYTES = 180

_UNFINISHED = (".tmp", ".part", ".partial", ".filepart", ".crdownload", ".swp", "~")
_ESCAPED = re.compile("[\udc80-\udcff]")
_CLAIM = re.compile(r"([0-9a-f]{8})-(.+)", re.DOTALL)
_REJECTED = re.compile(r"\.rejected\.(?:csv|xml|jsonl?)")
_FILED = re.compile(r"(\d+)(?:\.\d+)?-.")


def never_taken(name: str) -> bool:
    """Return whether ``name`` is hidden, looks like an unfinished file, in upper or lower case, or is litter."""
    return name.startswith(".") or name.lower().endswith(_UNFINISHED) or is_litter(name)


def display_name(name: str) -> str:
    """Return ``name`` (as ``os.listdir`` gives it) as text for stores and terminals: bytes that are not UTF-8 as %FF."""
    text = os.fsencode(name).decode("utf-8", "surrogateescape")
    return _ESCAPED.sub(lambda byte: f"%{ord(byte[0]) - 0xDC00:02X}", text)


def short_name(name: str) -> str:
    """Return the first 180 bytes of a displayed name, without half a character at the end."""
    return name.encode()[:KEPT_BYTES].decode("utf-8", "ignore")


def claim_name(token: str, name: str) -> str:
    """Return the name of a claimed file: 8 hex digits and its name."""
    return f"{token}-{short_name(display_name(name))}"


def parse_claim(name: str) -> tuple[str, str] | None:
    """Return (8 hex digits, the file's name) of a claimed file, None for anything else."""
    match = _CLAIM.fullmatch(name)
    return (match[1], match[2]) if match else None


def filed_name(run_id: int, name: str, copy: int = 1) -> str:
    """Return ``42-jobs.xml``; ``copy`` from 2 makes ``42.2-jobs.xml``, for a name that is taken."""
    return f"{run_id}-{short_name(name)}" if copy == 1 else f"{run_id}.{copy}-{short_name(name)}"


def is_filed_as(name: str, run_id: int, file: str) -> bool:
    """Return whether ``name`` is one that the file of a run may have got; ``file`` is the file's displayed name."""
    number, _, rest = name.partition("-")
    return number.partition(".")[0] == str(run_id) and rest == short_name(file)


def rejected_beside(stem: str, names: Iterable[str]) -> str | None:
    """Return the ending that the file of rejected records adds to ``stem``; None if none of ``names`` is that file's."""
    added = (name.removeprefix(stem) for name in names if name.startswith(stem))
    return next((suffix for suffix in added if _REJECTED.fullmatch(suffix)), None)


def parse_filed(name: str) -> int | None:
    """Return the number of the run that filed ``name``, None for a name that no run makes."""
    match = _FILED.match(name)
    return int(match[1]) if match else None


#: Bytes that the kernel copies at once.
_COPY_BYTES = 1 << 24


def copy_into(source: FileIO, name: str, folder: int) -> None:
    """Write a durable copy of ``source``, which is at its beginning, as ``name`` into ``folder``. Raises OSError.

    Where the file system can (XFS, Btrfs), the kernel makes a clone, which shares blocks until one of the files is written to.
    The copy is never a hard link: a process that writes to the source would then change the file during its run, and the
    file that is kept in ``done/``."""
    with open(os.open(name, _NEW_FILE, 0o640, dir_fd=folder), "wb") as copy:
        with suppress(OSError):  # the rest is read and written below, where a fault of the disk comes again
            while os.copy_file_range(source.fileno(), copy.fileno(), _COPY_BYTES):
                pass
        shutil.copyfileobj(source, copy)
        copy.flush()
        os.fsync(copy.fileno())


#: The beginning of the names of files that are being written.
DRAFT = ".draft-"
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NOREPLACE = 1
#: None where the C library is too old to have it.
_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def write_draft(private: int, content: Content) -> str:
    """Write a new file of a random name into a private folder, durably; return the name. After an error, such as one that
    ``content`` raises, no file is left."""
    name = f"{DRAFT}{secrets.token_hex(8)}"
    fd = os.open(name, _NEW_FILE, REPORT_MODE, dir_fd=private)
    try:
        with open(fd, "wb") as file:
            content(file)
            file.flush()
            os.fsync(file.fileno())
    except Exception:
        discard(private, name)
        raise
    return name


def discard(folder: int, name: str) -> None:
    """Remove the entry ``name``, if it is there and is not a folder."""
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
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and status.st_nlink == 1
    return False


def place_report(private: int, content: Content, folder: int, name: str) -> None:
    """Write a report to ``name``, over an earlier one of syncd's own. Raises FileExistsError if anything else has that name,
    and OSError."""
    draft = write_draft(private, content)
    try:
        inherit_group(private, draft, folder)
        if is_own_file(folder, name):
            with suppress(IsADirectoryError):  # it became a folder since it was looked at
                os.rename(draft, name, src_dir_fd=private, dst_dir_fd=folder)
                return
        move(private, draft, folder, name)
    finally:
        discard(private, draft)


def inherit_group(private: int, name: str, folder: int) -> None:
    """Give a file of syncd's own the group that it would have if it had been made in ``folder``, and let that read it."""
    status = os.fstat(folder)
    if status.st_mode & stat.S_ISGID:
        with suppress(PermissionError):  # a group that syncd's user is not in
            os.chown(name, -1, status.st_gid, dir_fd=private, follow_symlinks=False)
    if stat.S_ISREG(mode_of(name, private)):
        with suppress(PermissionError):  # a file system that keeps no modes
            os.chmod(name, REPORT_MODE, dir_fd=private)
