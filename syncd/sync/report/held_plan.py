"""The plan of a held run as it was shown to a person: kept in the store beside the run until somebody decides, or a
later file supersedes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """What a person decides about. ``plan``: digest of the whole plan. ``archives``: digest of the jobs that would be
    archived. ``fingerprint`` and ``settings``: the feed's fingerprint and the digest of its settings at that time (all
    hex). ``reason``: why the run is held. ``missing`` and ``expired``: the ids of the jobs that would be archived, as
    missing and by their own rows."""

    plan: str
    archives: str
    settings: str
    reason: str
    fingerprint: str = ""
    missing: Sequence[int] = ()
    expired: Sequence[int] = ()

    @classmethod
    def from_bytes(cls, payload: bytes) -> ShownPlan:
        return cls(**json.loads(payload))

    def to_bytes(self) -> bytes:
        return json.dumps({field.name: getattr(self, field.name) for field in fields(self)}).encode()

    def differs(self, now: ShownPlan, *, everything: bool) -> str | None:
        """Return what has changed between this plan and ``now``, in words, or None."""
        if now.fingerprint != self.fingerprint:
            return "the feed's rows are read another way"
        same = now.plan == self.plan if everything else now.archives == self.archives
        return None if same else "jobs moved"
