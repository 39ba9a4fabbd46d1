"""Folders for files that are not complete yet, beside the place where they are to be."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from syncd.store.file_locks import take_lock

_PREFIX, _SUFFIX = ".syncd-draft-", ".tmp"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def draft_folder(parent: Path) -> Iterator[Path]:
    """Yield a new folder in ``parent``, for this user alone, which is removed when the block ends. Those that processes
    left there when they were killed are removed too. Raises OSError."""
    for old in parent.glob(f"{_PREFIX}*{_SUFFIX}"):
        _remove_unused(old)
    folder, lock = _make_locked(parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _make_locked(parent: Path) -> tuple[Path, int]:
    """Return a new folder and the descriptor that has it locked. Another process may remove a folder before it is locked:
    then another one is made."""
    while True:
        try:
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX, suffix=_SUFFIX, dir=parent))
        except OSError as error:  # it names the new folder, which means nothing to a person
            raise OSError(error.errno, error.strerror, str(parent)) from error
        with suppress(FileNotFoundError):
            lock = os.open(folder, _FOLDER)
            if take_lock(lock) and folder.exists():
                return folder, lock
            os.close(lock)


def _remove_unused(folder: Path) -> None:
    """Remove a folder that no process has locked. One that belongs to another user is left alone."""
    with suppress(OSError):
        lock = os.open(folder, _FOLDER)
        try:
            if os.fstat(lock).st_uid == os.geteuid() and take_lock(lock):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def flush(path: Path) -> None:
    """Return when a file, or the names in a folder, are on disk. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
