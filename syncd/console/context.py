"""What the pages need of the service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from syncd.config import Settings
from syncd.domain import Catalogue
from syncd.feeds.configuration import FeedFile
from syncd.store import Store
from syncd.sync.arrival import ArrivalContext
from syncd.sync.run import Feed
from syncd.web import ReadinessCheck


@dataclass(frozen=True, slots=True)
class ConsoleContext:
    """``files`` returns the file of each feed as the service uses it, with all faults of the feed; ``feeds`` those that can be
    used. ``arrival`` runs what the operator asks for: it stops when the service stops. ``health`` is
    what ``/readyz`` answers. ``prefix`` is in front of every address of the pages ("" or "/operator")."""

    store: Store
    settings: Settings
    catalogue: Catalogue
    files: Callable[[], Mapping[str, FeedFile]]
    feeds: Callable[[], Mapping[str, Feed]]
    arrival: ArrivalContext
    health: ReadinessCheck
    prefix: str = ""
