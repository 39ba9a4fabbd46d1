"""What all feeds of one worker share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from syncd.domain import Run
from syncd.store import Store, Tx
from syncd.sync.arrival.retry import retried
from syncd.sync.run import Feed, RejectsWriter, SourceFile, Stopped

T = TypeVar("T")


class FileImporter(Protocol):
    """What is needed of the importer: to take a stored run to its end."""

    def run(self, feed: Feed, source: SourceFile, run: Run, rejects: RejectsWriter | None) -> Run: ...


@dataclass(frozen=True, slots=True)
class ArrivalContext:
    """``monotonic`` and ``sleep`` are in seconds. ``stop`` is asked between two files. ``at`` is called after each step
    of a delivery with the step's name (``claimed``, ``begun``, ``run``, ``reported``, ``filed``): tests end the process
    there. ``ended`` is called with each run that has its outcome. ``trusts`` returns whether an instant can be trusted;
    while it cannot, nothing old is removed."""

    store: Store
    importer: FileImporter
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    stop: Callable[[], bool]
    at: Callable[[str], None]
    ended: Callable[[Run], None]
    trusts: Callable[[datetime], bool]

    def retried(self, work: Callable[[], T]) -> T:
        """Return ``work()``, tried again while it fails in a way that can pass."""
        return retried(work, self.sleep)

    def write(self, work: Callable[[Tx], T]) -> T:
        """Write to the store, tried again while that fails in a way that can pass."""
        return self.retried(lambda: self.store.write(work))

    def check_stop(self, why: str = "stopped between two files") -> None:
        """Raise Stopped if the service is stopping."""
        if self.stop():
            raise Stopped(why)
