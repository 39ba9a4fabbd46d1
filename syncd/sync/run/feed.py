"""A feed as a run needs it: its identity in the store beside its configuration."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from syncd.domain import Employer
from syncd.errors import SyncdError
from syncd.feeds.configuration import FeedConfig


class Stopped(SyncdError):
    """The run stopped between two batches because the service is stopping. The next start continues it."""


@dataclass(frozen=True, slots=True)
class Feed:
    """``id`` is the store's (0: the store does not know the feed yet, which is enough for a dry run). ``folder`` is
    ``DROP/NAME``. ``fingerprint`` (16 bytes) is a digest of all that decides what an unchanged record results in:
    the mapping's own fingerprint, the employer, and the settings of the feed that change what is sent."""

    id: int
    config: FeedConfig
    employer: Employer
    folder: Path
    fingerprint: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        policy = self.config.policy
        habits = (self.employer.id, policy.renew, policy.expired, policy.on_api_edit, policy.take_over)
        digest = hashlib.sha256(self.config.fingerprint + repr(habits).encode()).digest()[:16]
        object.__setattr__(self, "fingerprint", digest)

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def employer_wide(self) -> bool:
        return self.config.policy.owns == "employer"
