"""What a held run waits with: what was shown of it, in the store beside the run, and how it is given up."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from syncd.domain.run import Run, RunState
from syncd.store import Tx, runs

#: A held run is among the feed's latest: every later one would have superseded it, but for failed ones.
_LATEST = 1000


@dataclass(frozen=True, slots=True)
class Shown:
    """What a person decides about. ``plan``: digest of the whole plan; ``archives``: digest of the jobs
    that would be archived (both hex); ``settings``: digest of the feed's settings then; ``reason``: why the
    run is held."""

    plan: str
    archives: str
    settings: str
    reason: str


def dump(shown: Shown) -> bytes:
    """As bytes, for ``runs.set_plan``."""
    return json.dumps(asdict(shown)).encode()


def load(payload: bytes) -> Shown:
    """What ``dump`` was given."""
    return Shown(**json.loads(payload))


def supersede(tx: Tx, feed: str, *, before: int) -> list[Run]:
    """A later file of the feed makes its held runs superseded (what they applied stands). Gives those
    runs."""
    gone = [
        replace(run, state=RunState.SUPERSEDED)
        for run in runs.list(tx, feed, _LATEST)
        if run.state is RunState.HELD and run.id < before
    ]
    for run in gone:
        runs.save(tx, run)
        runs.set_plan(tx, run.id, None)
    return gone
