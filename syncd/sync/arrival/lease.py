"""Asks the kernel whether anybody has a file open for writing (Linux read leases). Never waits, never
reads."""

from __future__ import annotations

import errno
import fcntl
import signal
from enum import StrEnum


class Lease(StrEnum):
    """The kernel's answer for one open file."""

    QUIET = "quiet"  # nobody has it open for writing
    WRITING = "writing"  # somebody does
    REFUSED = "refused"  # no answer: another owner's file, or a file system without leases


def ask(fd: int) -> Lease:
    """Takes a read lease on ``fd`` (a regular file, opened for reading only) and gives it back at once.

    A writer that comes in between makes the kernel signal the holder; SIGIO, the default, would end the
    process, so the lease is set up with SIGURG, which nobody hears. That needs no handler and works in any
    thread.
    """
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return Lease.WRITING if error.errno == errno.EAGAIN else Lease.REFUSED
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return Lease.QUIET
