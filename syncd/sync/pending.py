"""What a held run waits with: the plan that was shown, packed into the store beside the run, and how it is given up."""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace

from syncd.domain.run import Run, RunState
from syncd.store import Tx, runs
from syncd.sync.planner import BATCH
from syncd.sync.stage import Stage

#: A held run is among the feed's latest: every later one would have superseded it, but for failed ones.
_LATEST = 1000


@dataclass(frozen=True, slots=True)
class Pending:
    """``digest``: of the whole plan; ``settings``: digest of the feed's settings when it was made; ``reason``: as shown.
    ``missing`` and ``expired``: id and version, by turns, of the jobs that would be archived."""

    digest: bytes
    settings: str
    reason: str
    missing: array[int]
    expired: array[int]

    def batches(self, *, expired: bool = False) -> Iterator[list[tuple[int, int]]]:
        """(id, version) of the jobs, a batch at a time."""
        flat = self.expired if expired else self.missing
        pairs = list(zip(flat[::2], flat[1::2], strict=True))
        for start in range(0, len(pairs), BATCH):
            yield pairs[start : start + BATCH]


@dataclass(frozen=True, slots=True)
class Approved:
    """A person's word for a plan: what was shown, and why it had been held."""

    digest: bytes
    reason: str


def pack(digest: bytes, settings: str, reason: str, stage: Stage) -> bytes:
    """The plan of a held run as bytes for ``runs.set_plan``."""
    missing, expired = (
        array("q", (value for batch in stage.gone(BATCH, expired=late) for pair in batch for value in pair))
        for late in (False, True)
    )
    return dump(Pending(digest, settings, reason, missing, expired))


def dump(plan: Pending) -> bytes:
    """One line of JSON, then the numbers, little-endian, 8 bytes each."""
    head = {
        "format": 1,
        "digest": plan.digest.hex(),
        "settings": plan.settings,
        "reason": plan.reason,
        "missing": len(plan.missing),
    }
    return json.dumps(head).encode() + b"\n" + _little(plan.missing + plan.expired).tobytes()


def load(payload: bytes) -> Pending:
    """What ``dump`` was given."""
    line, _, rest = payload.partition(b"\n")
    head = json.loads(line)
    numbers = array("q")
    numbers.frombytes(rest)
    numbers = _little(numbers)
    split = head["missing"]
    return Pending(
        bytes.fromhex(head["digest"]), head["settings"], head["reason"], numbers[:split], numbers[split:]
    )


def supersede(tx: Tx, feed: str, *, before: int) -> list[Run]:
    """A later file of the feed makes its held runs superseded (what they applied stands). Gives those runs."""
    gone = [
        replace(run, state=RunState.SUPERSEDED)
        for run in runs.list(tx, feed, _LATEST)
        if run.state is RunState.HELD and run.id < before
    ]
    for run in gone:
        runs.save(tx, run)
        runs.set_plan(tx, run.id, None)
    return gone


def _little(numbers: array[int]) -> array[int]:
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers
