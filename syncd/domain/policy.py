"""What an operator decides for a feed: its limits and habits, with the defaults of
docs/reconciliation.md "When a run stops short"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Threshold:
    """Crossed when the share is above ``percent`` AND at least ``count`` things are concerned."""

    percent: float
    count: int

    def crossed(self, part: int, whole: int) -> bool:
        return part >= self.count and part * 100 > self.percent * whole


@dataclass(frozen=True, slots=True)
class Policy:
    """Settings of ``[sync]``; a feed may override each one. Percentages are 0 to 100."""

    mode: Literal["snapshot", "delta"] = "snapshot"
    max_archive: Threshold = Threshold(25, 5)
    max_rejected: Threshold = Threshold(10, 5)
    max_rekeyed: Threshold = Threshold(50, 5)
    max_retitled: Threshold = Threshold(50, 5)
    max_shrunk: Threshold = Threshold(50, 5)
    grace: int = 1
    expired: Literal["archive", "ignore"] = "archive"
    on_api_edit: Literal["overwrite", "keep"] = "overwrite"
    owns: Literal["feed", "employer"] = "feed"
    take_over: bool = False
    renew: bool = True


@dataclass(frozen=True, slots=True)
class Limits:
    """``[limits]``: sizes in bytes. Each one that is broken names itself (docs/feeds.md "Formats and limits")."""

    file: int = 4 * 1024**3
    record: int = 1024**2
    text: int = 10 * 1024**2
    rows: int = 5_000_000
    depth: int = 64
    ratio: int = 200
    columns: int = 1_000
