"""The surroundings of arrival and of runs: the time, a service that may stop, and the steps that somebody follows."""

import time
from datetime import datetime
from pathlib import Path

from syncd.domain import Run
from syncd.errors import SyncdError


class Stopped(SyncdError):
    """The run stopped between two batches because the service is stopping. The next start continues it."""


class ClockDoubted(SyncdError):
    """The clock was set while a run decided by it. The run can be continued when the time is trusted again."""

    def __init__(self) -> None:
        super().__init__("the clock was set while the run decided by its date")


class Host:
    """A process that never stops, trusts every time and follows nothing; services, commands and tests override methods.

    ``scratch``: a folder with space for the largest file (None: the system's own for temporary files)."""

    def __init__(self, scratch: Path | None = None) -> None:
        self.scratch = scratch

    def monotonic(self) -> float:
        """Return seconds by a clock that only goes forward."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def trusts(self, now: datetime) -> bool:
        """Return whether an instant can be trusted. While it cannot, no file is run and nothing old is removed."""
        return True

    def stop(self) -> bool:
        """Return whether work has to stop, between two files and between two batches."""
        return False

    def step(self, name: str) -> None:
        """Note a step of a delivery: ``claimed``, ``begun``, ``run``, ``reported`` or ``filed``."""

    def ended(self, run: Run) -> None:
        """Note that a run has its outcome."""

    def waits(self, feed: str) -> None:
        """Note that a command waits for the lock of a feed for longer than a second."""

    def progress(self, phase: str, done: int, total: int) -> None:
        """Note how far a run is: bytes in the phases ``hashing`` and ``reading``, then rows or jobs."""

    def check_stop(self, why: str = "stopped between two files") -> None:
        """Raise Stopped if work has to stop."""
        if self.stop():
            raise Stopped(why)
