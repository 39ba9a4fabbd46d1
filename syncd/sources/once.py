"""An address without turns: its file, whether it answers, and the faults that show before it is asked."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from yarl import URL

from syncd.config import Settings
from syncd.feeds.source import Secret, Source
from syncd.feeds.source_address import parse_url
from syncd.sources import http, servers
from syncd.sources.connections import missing_package
from syncd.sources.fetcher import final_name, request_of, terms_of, text_of
from syncd.sources.guard import Guard
from syncd.sources.results import Fetched, NotModified, Seen, SourceError


async def fetch_once(source: Source, settings: Settings, folder: Path) -> Fetched:
    """Fetch the file of ``source`` into ``folder``, which is empty, and return it under its own name. Raise SourceError, which
    names the address."""
    now = datetime.now(UTC)
    try:
        request = request_of(source, settings)
        fetch = http.fetch if request.by_http else servers.fetch
        got = await fetch(request, Seen(), folder, terms_of(settings, now))
    except SourceError as error:
        raise SourceError(f"{source.shown}: {error}") from None
    if isinstance(got, NotModified):
        raise SourceError(f"{source.shown}: {got.reason}")
    name = final_name(got[-1].name, now).partition("-")[2]
    return replace(got[-1], path=got[-1].path.rename(folder / name))


async def look(source: Source, settings: Settings) -> None:
    """Ask for the file of ``source`` without its content. Raise SourceError if a fetch would fail."""
    request = request_of(source, settings)
    look_at = http.look if request.by_http else servers.look
    await look_at(request, terms_of(settings, datetime.now(UTC)))


def beside(source: Source | None, address: Source, settings: Settings) -> Source:
    """Return the source of ``address`` for a feed with ``source``: with its private hosts, and with its login, headers and pages
    if both are at one host and port. Raise SourceError for an address of ``source`` that is a secret and cannot be read."""
    if source is None or isinstance(address.url, Secret):
        return address
    own = source.url if isinstance(source.url, str) else text_of("url", source.url, settings)
    ours, theirs = URL(own), URL(address.url)
    if (ours.scheme, ours.host, ours.port) != (theirs.scheme, theirs.host, theirs.port):
        return replace(address, insecure_hosts=source.insecure_hosts)
    username, password = source.username or ours.user, source.password or ours.password
    return replace(source, url=address.url, username=username, password=password)


def faults_before(source: Source, settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the key and each fault that shows before a server is asked: secrets that cannot be read now, and an address in
    the file that may not be reached."""
    try:
        if isinstance(source.url, str):
            scheme, reached = source.url.partition(":")[0], source.endpoint or source.url
            if missing := missing_package(scheme):
                yield "url", missing
            if scheme not in ("gs", "az", "file") and not (scheme == "s3" and source.endpoint is None):
                Guard(source.insecure_hosts).check_literal(parse_url(reached).hostname or "")
    except SourceError as error:
        yield "endpoint" if source.endpoint else "url", str(error)
    for key, secret in source.secrets:
        try:
            text_of(key, secret, settings)
        except SourceError as error:
            yield key, str(error)
