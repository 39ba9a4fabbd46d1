"""Sites that sources are fetched from, on loopback, and names that are looked up as a test wants."""

import asyncio
import re
import socket
import ssl
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from syncd.domain import Catalogue
from syncd.feeds.configuration import FeedDefaults, parse_feed
from syncd.feeds.source import Request
from syncd.sources import Seen, guard, http, servers
from syncd.sources.results import SourceError, Terms, Times
from tests.certificates import make_certificate
from tests.e2e.conftest import acme, cli, installation, start  # noqa: F401 - fixtures

GUIDE = (Path(__file__).parents[2] / "docs" / "sources.md").read_text()
NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
NOTHING, TIMES = Seen(), Times()
LOOPBACK = frozenset(("127.0.0.1", "127.0.0.2", "localhost", "::1"))


def example(name, address, place, texts=None):
    """Return the request of an example of docs/sources.md, with ``place`` where it has ``address``, and with the texts of
    secrets; hosts of this machine may be reached."""
    found = re.search(rf"<!-- example: {name} -->\n```toml\n(.*?)```", GUIDE, re.S)
    assert found
    assert address in found[1]
    config = parse_feed(
        "acme", f'employer = "Acme"\n{found[1].replace(address, place)}', Catalogue.default(), FeedDefaults()
    )
    assert config.source_faults == ()
    assert config.source is not None
    request = config.source.request(lambda _key, secret: (texts or {})[secret.name])
    return replace(request, insecure_hosts=LOOPBACK)


@dataclass
class Site:
    """An HTTP server. ``answers``: path → a function from the request to the answer. ``asked`` has all requests."""

    host: str = "127.0.0.1"
    port: int = 0
    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[web.Request] = field(default_factory=list)

    async def __aenter__(self):
        async def handle(request):
            self.asked.append(request)
            answer = self.answers[request.path](request)
            return await answer if asyncio.iscoroutine(answer) else answer

        self._runner = web.ServerRunner(web.Server(handle), shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.host, self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_):
        await self._runner.cleanup()

    def url(self, path, host=None):
        return f"http://{host or self.host}:{self.port}{path}"

    def __setitem__(self, path, answer):
        self.answers[path] = answer if callable(answer) else lambda request: web.Response(**answer)


@pytest.fixture
async def site():
    async with Site() as site:
        yield site


@pytest.fixture
async def other():
    async with Site("127.0.0.2") as site:
        yield site


class RawSite:
    """A server that sends bytes as they are. ``pieces``: bytes to send, or seconds to wait, of each connection."""

    def __init__(self):
        self.pieces = []

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1")
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()

    async def _serve(self, reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        try:
            for piece in self.pieces:
                if isinstance(piece, bytes):
                    writer.write(piece)
                    await writer.drain()
                else:
                    await asyncio.sleep(piece)
        except OSError:
            pass  # the client has gone
        finally:
            writer.close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/jobs.xml"


@pytest.fixture
async def raw_site():
    async with RawSite() as site:
        yield site


@pytest.fixture
async def self_signed(tmp_path):
    """The host and port of a server whose certificate nobody knows."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*make_certificate(tmp_path, "IP:127.0.0.1"))
    async with await asyncio.start_server(lambda *_: None, "127.0.0.1", ssl=context) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


@dataclass
class Incoming:
    """The folder into which files are fetched, and a fetch of one file into it."""

    path: Any

    async def fetch(self, url, seen=NOTHING, *, max_bytes=1 << 24, times=TIMES, **values):
        request = Request(url, **{"insecure_hosts": LOOPBACK} | values)
        fetched = await http.fetch(request, seen, self.path, Terms("syncd/test", NOW, max_bytes, times))
        if not isinstance(fetched, list):
            assert self.names() == []
            return fetched
        (file,) = fetched
        assert self.names() == [file.path.name]
        return file

    async def refusal(self, url, **values):
        """Return the error of a fetch that fails, and leaves nothing."""
        with pytest.raises(SourceError) as caught:
            await self.fetch(url, **values)
        assert self.names() == []
        return caught.value

    async def take(self, request, seen=NOTHING, *, max_bytes=1 << 24, times=TIMES):
        """Return the result of a fetch from a server, with the files that are there now."""
        fetched = await servers.fetch(request, seen, self.path, Terms("syncd/test", NOW, max_bytes, times))
        there = [file.path.name for file in fetched] if isinstance(fetched, list) else []
        assert sorted(self.names()) == sorted(there)
        for name in there:
            (self.path / name).rename(self.path.parent / name)
        return fetched

    async def refused(self, request, **options):
        """Return the text of a fetch from a server that fails, and whether another try may succeed."""
        with pytest.raises(SourceError) as caught:
            await self.take(request, **options)
        assert self.names() == []
        return str(caught.value), caught.value.temporary

    def names(self):
        return [path.name for path in self.path.iterdir()]


@pytest.fixture
def incoming(tmp_path):
    path = tmp_path / ".incoming"
    path.mkdir(0o700)
    return Incoming(path)


@dataclass
class Names:
    """Names that are looked up: each has a list of answers, of which the last stays. ``asked`` has all names."""

    answers: dict[str, list[list[str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def __setitem__(self, name, answers):
        self.answers[name] = answers


@pytest.fixture
def names(monkeypatch):
    names, real = Names(), socket.getaddrinfo

    def look_up(host, port, *args, **options):
        host = host.lower()
        if host not in names.answers:
            return real(host, port, *args, **options)
        names.asked.append(host)
        answers = names.answers[host]
        addresses = answers.pop(0) if len(answers) > 1 else answers[0]
        if not addresses:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [entry for address in addresses for entry in real(address, port, type=socket.SOCK_STREAM)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return names


@pytest.fixture
def public(monkeypatch):
    """Let 127.0.0.1 count as a public address, and 127.0.0.2 not."""
    real = guard.is_public
    monkeypatch.setattr(guard, "is_public", lambda address: address == "127.0.0.1" or real(address))
