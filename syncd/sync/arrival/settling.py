"""Decides whether a file may be complete: since when it has been still, and whether a process has it open for writing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from syncd.sync.arrival import lease
from syncd.sync.arrival.lease import Lease
from syncd.sync.files import Signature

#: Seconds: the least stillness where the kernel grants no lease, and of a file of 0 bytes.
WITHOUT_LEASE, EMPTY = 30.0, 60.0


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a file is not complete. ``due``: the seconds until it may be; None if time alone does not complete it."""

    why: str
    due: float | None = None


class Settling:
    """How long files have been still, by a clock that only goes forward. ``settle``: the seconds that a file must be."""

    def __init__(self, settle: float, monotonic: Callable[[], float]) -> None:
        self._settle, self._monotonic = settle, monotonic
        self._seen: dict[str, tuple[Signature, float]] = {}

    def too_early(self, name: str, signature: Signature) -> Waiting | None:
        """Return why the file has not been still for long enough, None if it has. It begins again with each change."""
        now = self._monotonic()
        before, since = self._seen.get(name, (None, now))
        if before != signature:
            since = now
        self._seen[name] = (signature, since)
        need = self._settle if signature.size else max(self._settle, EMPTY)
        why = "it is settling" if signature.size else "it is empty"
        return Waiting(why, need - (now - since)) if now - since < need else None

    def in_use(self, name: str, fd: int) -> Waiting | None:
        """Return why a file that is still has to wait all the same: a process may have it open for writing."""
        age = self._monotonic() - self._seen[name][1]
        match lease.ask(fd):
            case Lease.WRITING:
                return Waiting("a process has it open for writing", max(self._settle, 0.5))
            case Lease.REFUSED if age < max(self._settle, WITHOUT_LEASE):
                return Waiting("it is settling", max(self._settle, WITHOUT_LEASE) - age)
        return None

    def forget_all_but(self, names: set[str]) -> None:
        self._seen = {name: seen for name, seen in self._seen.items() if name in names}
