"""What may lie in the place of a file."""

from __future__ import annotations

import stat

_KINDS = (
    (stat.S_ISREG, "a file"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
)


def kind_of(mode: int) -> str:
    """Return what has this ``st_mode``, in words: "a file", "a FIFO"."""
    return next((kind for test, kind in _KINDS if test(mode)), "a device")
