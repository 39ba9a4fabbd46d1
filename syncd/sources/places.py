"""The files that an address names, and the methods of a connection to their server: the same for each protocol but HTTP."""

from collections.abc import AsyncGenerator, Callable, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple, Protocol, Self
from urllib.parse import unquote, urlsplit

from syncd.feeds.source import Request
from syncd.feeds.source_address import PATTERN

#: Bytes of one read.
CHUNK = 1 << 18


class Entry(NamedTuple):
    """A file at its source. ``date``: a text that sorts as its times do; ``stamp``: another one after each change."""

    name: str
    size: int
    date: str
    stamp: str


def entry(name: str, size: int | None, date: object, tag: object = None) -> Entry:
    return Entry(name, size or 0, str(date), f"{size} {date} {tag or ''}".strip())


class Place(NamedTuple):
    """The files that an address names: those in ``folder`` whose name is, or matches, ``name``. ``host``: for messages;
    ``netloc``: host and port, or the bucket; ``endpoint``: of S3."""

    scheme: str
    netloc: str
    host: str
    folder: str
    name: str
    endpoint: str | None = None

    @classmethod
    def of(cls, request: Request, environ: Mapping[str, str]) -> Self:
        parts = urlsplit(request.url)
        folder, _, name = unquote(parts.path).rpartition("/")
        endpoint = (request.endpoint or environ.get("AWS_ENDPOINT_URL")) if parts.scheme == "s3" else None
        host = parts.hostname or "this machine"
        if parts.scheme in ("s3", "gs", "az"):
            folder = f"{parts.netloc}{folder}"
            host = (urlsplit(endpoint).hostname if endpoint else None) or f"{parts.scheme}://{parts.netloc}"
        return cls(parts.scheme, parts.netloc, host, folder, name, endpoint)

    @property
    def is_pattern(self) -> bool:
        return PATTERN.search(self.name) is not None

    def matches(self, name: str) -> bool:
        hidden = name.startswith(".") and not self.name.startswith(".")
        return fnmatchcase(name, self.name) and name.isprintable() and not hidden

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"


class Server(Protocol):
    """An open connection. Methods raise errors of any kind."""

    async def entries(self, folder: str, wanted: Callable[[str], bool]) -> list[Entry]:
        """Return the files in ``folder`` whose name is ``wanted``, and no links."""
        ...

    async def entry(self, folder: str, name: str) -> Entry:
        """Return one file. Raise an error if it is not there."""
        ...

    def read(self, path: str, size: int) -> AsyncGenerator[bytes, None]: ...

    async def remove(self, path: str) -> None: ...
