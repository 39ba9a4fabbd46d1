"""Asks the kernel whether a process has a file open for writing (Linux read leases). Never waits, never reads."""

from __future__ import annotations

import errno
import fcntl
import signal
from enum import StrEnum


class Lease(StrEnum):
    """The kernel's answer for one open file."""

    QUIET = "quiet"  # no process has it open for writing
    WRITING = "writing"  # a process has
    REFUSED = "refused"  # no answer: the file of another user, or a file system without leases


def ask(fd: int) -> Lease:
    """Take a read lease on ``fd`` (a regular file, opened for reading only), give it back at once, and return the answer.

    The kernel signals the holder of a lease when a writer comes. Its default, SIGIO, would end the process, so the lease
    is set up with SIGURG, which is ignored by default. That needs no handler and works in any thread."""
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return Lease.WRITING if error.errno == errno.EAGAIN else Lease.REFUSED
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return Lease.QUIET
