"""Errors that end a run: those of its file, and those of the system (docs/reconciliation.md "Crash, fault and race")."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from syncd.errors import FeedError, SyncdError
from syncd.sync.files import DRAFT
from syncd.sync.folders import OPEN_FILES
from syncd.sync.run.stage import scratch_fault

#: Errors of a disk that no content of a file causes.
DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
#: The writes and reads of a probe: a disk that fails now and then fails in one of them.
_PROBES, _BLOCK = 64, b"syncd" * 100


def file_fault(error: Exception, where: str = "") -> FeedError | None:
    """Return ``error`` as an error of the file that was worked on; ``where`` says how far that was. Return None for errors of the
    system, and for a SyncdError, which has its own words."""
    if isinstance(error, MemoryError):
        return FeedError(
            "limit_exceeded", " ".join(("the file takes more memory than there is", where)).strip()
        )
    if isinstance(error, SyncdError | OSError) or scratch_fault(error) is not None:
        return None
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return FeedError(
        "fault", f"a fault of syncd itself {where}, please report it: {words}".replace(" ,", ",")
    )


@contextmanager
def faults_of_file() -> Iterator[None]:
    """Raise an error of the file, or of syncd itself, as FeedError; its cause is the error that was raised."""
    try:
        yield
    except Exception as error:
        if (fault := file_fault(error)) is None:
            raise
        raise fault from error


def names_elsewhere(error: OSError, folder: Path) -> bool:
    """Return whether the error names a file outside of the feed's ``folder``, such as a lock beside the store. Files of the feed
    have relative names, or lead through a descriptor."""
    name = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else Path()
    return name.is_absolute() and not any(name.is_relative_to(place) for place in (folder, OPEN_FILES))


def disk_fault(folder: Path | int, scratch: Path | None) -> str | None:
    """Return why new files cannot be written and read: in ``folder`` (its path, or its descriptor), or in ``scratch`` (as in
    Host). If they can (None), an error of the system that a run meets is one of its own file."""
    for place in (OPEN_FILES / str(folder) if isinstance(folder, int) else folder, scratch):
        try:
            with tempfile.TemporaryFile(prefix=DRAFT, dir=place, buffering=0) as opened:
                file = opened.fileno()
                for number in range(_PROBES):
                    os.write(file, _BLOCK)
                    if os.pread(file, len(_BLOCK), number * len(_BLOCK)) != _BLOCK:
                        return f"{place or tempfile.gettempdir()}: a new file does not have the bytes that were written to it"
                os.fsync(file)
        except OSError as error:
            return f"{place or tempfile.gettempdir()}: {error.strerror or error}"
    return None
