"""What a held run waits with: what was shown of it, in the store beside the run, and how it is given up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from syncd.domain.run import Run, RunState
from syncd.store import Tx, results, runs

#: A held run is among the feed's latest: every later one would have superseded it, but for failed ones.
_LATEST = 1000


@dataclass(frozen=True, slots=True)
class Shown:
    """What a person decides about. ``plan``: digest of the whole plan; ``archives``: digest of the jobs
    that would be archived; ``fingerprint`` and ``settings``: digests of what decides what a row maps to, and
    of the feed's settings then (all hex); ``reason``: why the run is held. ``missing`` and ``expired``: the
    ids of the jobs that would be archived, as missing and by their own rows."""

    plan: str
    archives: str
    settings: str
    reason: str
    fingerprint: str = ""
    missing: Sequence[int] = ()
    expired: Sequence[int] = ()

    def differs(self, now: Shown, *, everything: bool) -> str | None:
        """What makes ``now`` another thing than what was shown, in words; None: it is the same."""
        if now.fingerprint != self.fingerprint:
            return "the feed's rows are read another way"
        same = now.plan == self.plan if everything else now.archives == self.archives
        return None if same else "jobs moved"


def dump(shown: Shown) -> bytes:
    """As bytes, for ``results.set_plan``."""
    return json.dumps({field.name: getattr(shown, field.name) for field in fields(shown)}).encode()


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
        results.set_plan(tx, run.id, None)
    return gone
