"""Copies a file into a folder, as cheaply as the file system allows."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress

#: The request to share the blocks of another file (linux/fs.h).
_FICLONE = 0x40049409
#: Bytes that the kernel copies, and that are read, between two calls of ``progress``.
_IN_KERNEL, _READ = 16 * 1024 * 1024, 1024 * 1024


def copy_into(
    source: int, name: str, folder: int, size: int, progress: Callable[[int, int], None] | None
) -> None:
    """Write a durable copy of the open file ``source``, ``size`` bytes long, as ``name`` into ``folder``. ``progress``
    is called with the bytes done and ``size``. Raises OSError.

    The copy is a clone where the file system has them (XFS, Btrfs): it shares blocks until one of the files is written
    to, and takes no time. Elsewhere the kernel copies, and where it cannot, this process does.

    The copy is never a hard link, though that would be as fast: a process that writes to the source would then change
    the file during its run, and the file that is kept in ``done/``."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    copy = os.open(name, flags, 0o640, dir_fd=folder)
    try:
        report = progress or (lambda done, all: None)
        if _cloned(source, copy):
            report(size, size)
        else:
            _copy(source, copy, size, report)
        os.fsync(copy)
    finally:
        os.close(copy)


def _cloned(source: int, copy: int) -> bool:
    try:
        fcntl.ioctl(copy, _FICLONE, source)
    except OSError:
        return False
    return True


def _copy(source: int, copy: int, size: int, progress: Callable[[int, int], None]) -> None:
    done = 0
    with suppress(OSError):  # the rest is read and written below, where a fault of the disk comes again
        while count := os.copy_file_range(source, copy, _IN_KERNEL):
            done += count
            progress(done, size)
    while chunk := os.read(source, _READ):
        written = 0
        while written < len(chunk):
            written += os.write(copy, chunk[written:])
        done += len(chunk)
        progress(done, size)
