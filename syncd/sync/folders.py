"""The folders of a feed and the files in them, opened by descriptor and never through a link, so that no rename leads out of
the drop folder. A folder that cannot be used raises UnusableFolder with its path and the remedy."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from syncd.errors import UnusableFolder
from syncd.plain_files import kind_of

#: The folders inside a feed's folder.
CLAIMED, DONE, FAILED = ".claimed", "done", "failed"
#: The folder there for files that are being fetched, of a feed that has a source.
INCOMING = ".incoming"
#: The rights of folders and files (docs/operations.md "Partners"): everybody may pass through the drop folder and nobody list
#: it; a feed's folder is open to its group alone, which drops files there and reads reports.
DROP_MODE, FEED_MODE, REPORT_MODE = 0o711, 0o2770, 0o640
INNER_MODES = {CLAIMED: 0o700, DONE: 0o2750, FAILED: 0o2750}
_PRIVATE = (CLAIMED, INCOMING)
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: The rights of all users but the owner.
_OTHERS = 0o077
#: Why a file with a second name is not taken: it may be written to from there.
_OTHER_NAME = "it has a second name (a hard link), so it may be a file from elsewhere: copy it, or remove the other name"
#: The beginning of why a regular file is not taken that may be one of the feed.
CANNOT_BE_OPENED = "it cannot be opened"
#: This process's open files, by descriptor.
OPEN_FILES = Path("/proc/self/fd")


class Signature(NamedTuple):
    """The values that change when a file is written to or replaced."""

    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Signature:
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def open_regular(name: str, folder: int) -> int | None:
    """Open a regular file for reading, None for anything else. Never waits. Raises OSError."""
    if not stat.S_ISREG(mode_of(name, folder)):
        return None
    fd = os.open(name, _FILE_FLAGS, dir_fd=folder)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    return None


def open_partners(name: str, folder: int) -> int | str | None:
    """Open a regular file of a partner for reading. Return why it cannot be run, and the remedy, if that is so; None if it is
    gone. Never waits. Raises OSError."""
    try:
        fd = open_regular(name, folder)
    except BlockingIOError:
        return f"{CANNOT_BE_OPENED}: the process that wrote it holds a lease on it"
    except PermissionError as error:
        return f"{CANNOT_BE_OPENED}: {error.strerror}; syncd's user needs to read it"
    if fd is None:
        mode = mode_of(name, folder)
        return f"{kind_of(mode)}: only regular files are taken" if mode else None
    if os.fstat(fd).st_nlink > 1:
        os.close(fd)
        return _OTHER_NAME
    return fd


def try_lock(fd: int) -> bool:
    """Return whether this process now has the lock of an open folder. On a file system without such locks it always
    has."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def mode_of(name: str, folder: int) -> int:
    """Return the type and rights of the entry ``name``, 0 if there is none."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


@contextmanager
def open_folder(folder: Path) -> Iterator[int]:
    """Open a folder that is not a link. Raises UnusableFolder for anything else, OSError."""
    fd = _open(folder, folder)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def open_folder_in(outer: int, place: Path) -> Iterator[int]:
    """Open the folder at ``place``, which lies in the open folder ``outer`` and is not a link. The folders of claimed and of
    incoming files must belong to syncd's user, and are closed to all others. Raises UnusableFolder, OSError."""
    fd = _open(place.name, place, outer)
    try:
        if place.name in _PRIVATE:
            _close_to_others(fd, place)
        yield fd
    finally:
        os.close(fd)


@contextmanager
def open_subfolder(folder: Path, name: str) -> Iterator[int]:
    """Open the folder ``name`` inside ``folder`` as ``open_folder_in`` does; neither may be a link."""
    with open_folder(folder) as outer, open_folder_in(outer, folder / name) as fd:
        yield fd


@contextmanager
def ensure_subfolder(folder: Path, name: str) -> Iterator[int]:
    """Open the folder as ``open_subfolder`` does; make it if it is not there. Files are renamed into it, so it must be on
    the file system of ``folder``."""
    with open_folder(folder) as outer:
        is_new = False
        mode = INNER_MODES.get(name, 0o700)
        with suppress(FileExistsError):
            os.mkdir(name, mode & 0o770, dir_fd=outer)
            is_new = True
        with open_folder_in(outer, folder / name) as fd:
            if is_new:
                _set_mode(fd, mode)
            if os.fstat(fd).st_dev != os.fstat(outer).st_dev:
                raise other_file_system(folder / name)
            yield fd


def make_feed_folder(folder: Path) -> None:
    """Make the feed's folder, and the drop folder above it, where they are missing; others keep their rights. Raises
    OSError."""
    make_drop_folder(folder.parent)
    _make(folder, FEED_MODE)


def make_drop_folder(drop: Path) -> None:
    """Make the drop folder and those above it where they are missing; it may be a link to a folder. Raises OSError."""
    drop.parent.mkdir(parents=True, exist_ok=True)
    _make(drop, DROP_MODE)
    if not drop.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(drop))


def _make(folder: Path, mode: int) -> None:
    with suppress(FileExistsError):
        folder.mkdir(mode & 0o700)
        with open_folder(folder) as fd:
            _set_mode(fd, mode)


def _set_mode(fd: int, mode: int) -> None:
    """Give an open folder these rights, not those of the umask, if it is this user's. Where the system lets no process set
    the set-group-ID bit (``RestrictSUIDSGID=`` of systemd), the folder has it only if it inherited it."""
    status = os.fstat(fd)
    now = stat.S_IMODE(status.st_mode)
    if now == mode or status.st_uid != os.geteuid():
        return
    try:
        os.fchmod(fd, mode)
    except PermissionError:
        if not now & stat.S_ISGID:
            os.fchmod(fd, mode & 0o777)


@contextmanager
def moving_to(place: Path) -> Iterator[None]:
    """Raise UnusableFolder for an OSError in the block that says that nothing can be moved to ``place``."""
    try:
        yield
    except PermissionError as error:
        raise _forbidden(place, "written to", error) from error
    except OSError as error:
        raise other_file_system(place) if error.errno == errno.EXDEV else error from None


def folder_faults(folder: Path) -> list[str]:
    """Return why a feed's folder, or one of those inside it, cannot be used. Makes and changes nothing; a folder that
    is missing is not a fault."""
    return _faults(folder) or [fault for name in (*INNER_MODES, INCOMING) for fault in _faults(folder / name)]


def _faults(place: Path) -> list[str]:
    try:
        with suppress(FileNotFoundError), open_folder(place) as fd:
            if place.name in _PRIVATE:
                _check_owner(fd, place)
    except UnusableFolder as error:
        return [str(error)]
    except OSError as error:
        return [f"{place}: {error.strerror}; syncd's user needs to read, write and enter it"]
    return []


def _open(name: str | Path, place: Path, outer: int | None = None) -> int:
    try:
        return os.open(name, _FOLDER_FLAGS, dir_fd=outer)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            what = kind_of(os.stat(name, dir_fd=outer, follow_symlinks=False).st_mode)
            why = f"is {what}, not a folder: remove it, and syncd makes the folder"
            raise UnusableFolder(place, why) from error
        if isinstance(error, PermissionError) and outer is not None:
            raise _forbidden(place, "opened", error) from error
        raise


def _close_to_others(fd: int, place: Path) -> None:
    """Take the rights of all other users; an installation that was copied may have given them some."""
    _check_owner(fd, place)
    mode = stat.S_IMODE(os.fstat(fd).st_mode)
    if mode & _OTHERS:
        os.fchmod(fd, mode & ~_OTHERS)
        mode = stat.S_IMODE(os.fstat(fd).st_mode)
        if mode & _OTHERS:
            why = f"can be entered by other users (mode {mode:04o}), and its file system does not let that be changed"
            raise UnusableFolder(place, why)


def _check_owner(fd: int, place: Path) -> None:
    owner, user = os.fstat(fd).st_uid, os.geteuid()
    if owner != user:
        why = f"belongs to the user {owner}, not to syncd's user {user}: chown it, or remove it and syncd makes its own"
        raise UnusableFolder(place, why)


def _forbidden(place: Path, what: str, error: OSError) -> UnusableFolder:
    why = f"cannot be {what}: {error.strerror}; syncd's user needs to read, write and enter it"
    return UnusableFolder(place, why)


def other_file_system(place: Path) -> UnusableFolder:
    """Return the error for a folder inside a feed's that files cannot be renamed into."""
    return UnusableFolder(
        place, f"is on another file system than {place.parent}; a feed's folders must be on the same one"
    )
