"""The state that a fetch begins with, and its results: the same for each protocol."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from syncd.errors import SyncdError


@dataclass(frozen=True, slots=True)
class Seen:
    """The state of a source at its last fetch: the headers of the answer, and the SHA-256 (hex) and the size of its file.
    ``names``: for each file of a folder its size and date, as one text."""

    etag: str | None = None
    last_modified: str | None = None
    sha256: str | None = None
    size: int | None = None
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that was fetched: durable, at ``path`` under a random name. ``name`` is the one that it has at its source.
    ``seen`` is the state to keep once the file is where it belongs."""

    path: Path
    name: str
    size: int
    sha256: str
    seen: Seen


@dataclass(frozen=True, slots=True)
class NotModified:
    """There is nothing new. ``reason`` says it in words."""

    reason: str


class SourceError(SyncdError):
    """A fetch failed. The text is one line without secrets, with its remedy if there is one.

    ``status``: of the HTTP answer. ``temporary``: another try may succeed, and not before ``retry_after``, if that is known."""

    def __init__(
        self,
        reason: str,
        *,
        status: int | None = None,
        retry_after: timedelta | None = None,
        temporary: bool = False,
    ) -> None:
        self.status, self.retry_after, self.temporary = status, retry_after, temporary
        super().__init__(reason)
