"""Locks on open files and folders, between the processes of this machine."""

from __future__ import annotations

import fcntl


def take_lock(fd: int) -> bool:
    """Return whether this process now has the lock of what is open as ``fd``, until that is closed: False while another has it.
    Raises OSError."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
