"""The private members of aiohttp that the HTTP server uses are where it expects them, and do what it expects.

aiohttp has no public way to limit the head of a request, the framing of a body or the time of an answer. A release of aiohttp
that moves one of these members fails here, by name, before it fails in the tests of the server.
"""

import ast
import asyncio
import inspect
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_exceptions import (
    BadHttpMessage,
    BadStatusLine,
    HttpProcessingError,
    InvalidURLError,
    LineTooLong,
)
from aiohttp.http_parser import HttpRequestParser, RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.web_protocol import RequestHandler, _ErrInfo
from aiohttp.web_request import BaseRequest

ROOT = Path(__file__).parents[2]
#: Attributes of one connection, and what the server does with them.
CONNECTION = {
    "_close": "set, so that the connection ends after the answer at hand",
    "_current_request": "read, to see whether its body has come whole",
    "_force_close": "read, to see whether the connection is already ending",
    "_handler_waiter": "set, to learn that a handler has ended",
    "_messages": "read and changed: the requests that are parsed and not yet handled",
    "_request_count": "read, to see whether bytes that came completed a head",
    "_request_in_progress": "read, to see whether a handler runs",
    "_waiter": "read, to see whether the connection waits for a request",
}
#: The same of the class below it.
TRANSPORT = {"_loop": "read, for timers and futures"}
SERVER = {"_kwargs": "read, to build another server alike", "_loop": "the same"}
RUNNER = {"_make_server": "overridden, to return another server"}
SITE = {"_server": "read, to know the sockets at which it accepts connections"}
REQUEST = {"_message": "read, to see whether the client asked for another protocol"}
MODULE = {"_ErrInfo": "made, to let aiohttp answer a request with an error"}
EVERY = {**CONNECTION, **TRANSPORT, **SERVER, **RUNNER, **SITE, **REQUEST, **MODULE}
#: The classes of aiohttp that the server is derived from, by their names in the code.
BASES = {"RequestHandler", "Server", "AppRunner", "BaseRunner"}

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


async def hello(request: web.BaseRequest) -> web.StreamResponse:
    return web.Response(text="hello")


class Client:
    """A connection to a server with one handler, and the server's side of it."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: web.Server
    ) -> None:
        self.reader, self.writer, self.server = reader, writer, server

    @property
    def connection(self) -> RequestHandler:
        return self.server.connections[0]

    async def status(self) -> int:
        head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 5)
        return int(head.split()[1])


@pytest.fixture
async def connect() -> AsyncIterator[Callable[[Handler], Awaitable[Client]]]:
    opened: list[tuple[Client, web.ServerRunner]] = []

    async def client(handler: Handler) -> Client:
        server = web.Server(handler)
        runner = web.ServerRunner(server)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        reader, writer = await asyncio.open_connection(*runner.addresses[0][:2])
        while not server.connections:
            await asyncio.sleep(0)
        opened.append((Client(reader, writer, server), runner))
        return opened[-1][0]

    yield client
    for made, runner in opened:
        made.writer.close()
        await runner.cleanup()


def test_the_attributes_of_a_connection_are_where_they_were() -> None:
    assert sorted(CONNECTION.keys() - set(RequestHandler.__slots__)) == []
    assert sorted(TRANSPORT.keys() - set(BaseProtocol.__slots__)) == []


async def test_a_new_connection_has_handled_nothing() -> None:
    server = web.Server(hello)
    connection = server()
    assert isinstance(connection, RequestHandler)
    assert connection._loop is asyncio.get_running_loop()
    assert isinstance(connection._messages, deque)
    for name in ("_messages", "_close", "_force_close", "_request_in_progress", "_request_count"):
        assert not getattr(connection, name), name
    for name in ("_current_request", "_handler_waiter", "_waiter"):
        assert getattr(connection, name) is None, name
    assert not connection.writing_paused


async def test_a_connection_waits_counts_and_knows_its_request(
    connect: Callable[[Handler], Awaitable[Client]],
) -> None:
    seen: list[object] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        seen.append((connection._current_request is request, connection._request_in_progress))
        seen.append((connection._request_count, connection._waiter))
        return await hello(request)

    client = await connect(handler)
    await asyncio.sleep(0.05)
    waiter = client.connection._waiter
    assert waiter is not None
    assert not waiter.done()
    client.writer.write(GET)
    assert await client.status() == 200
    assert seen == [(True, True), (1, None)]


async def test_the_future_of_a_connection_is_set_when_its_handler_has_ended(
    connect: Callable[[Handler], Awaitable[Client]],
) -> None:
    client = await connect(hello)
    waiter = client.connection._handler_waiter = asyncio.get_running_loop().create_future()
    client.writer.write(GET)
    await asyncio.wait_for(waiter, 5)
    client.connection._handler_waiter = None
    assert await client.status() == 200


async def test_a_connection_that_is_to_close_does_so_after_the_answer(
    connect: Callable[[Handler], Awaitable[Client]],
) -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        request.protocol._close = True
        return await hello(request)

    client = await connect(handler)
    client.writer.write(GET)
    assert await client.status() == 200
    assert await asyncio.wait_for(client.reader.read(), 5) == b"hello"
    assert client.reader.at_eof()


async def test_a_message_that_is_replaced_by_an_error_is_answered_with_it(
    connect: Callable[[Handler], Awaitable[Client]],
) -> None:
    client = await connect(hello)
    connection = client.connection
    await asyncio.sleep(0.05)
    connection.data_received(GET)
    ((message, payload),) = connection._messages
    assert isinstance(message, RawRequestMessage)
    assert isinstance(payload, StreamReader)
    connection._messages[0] = (_ErrInfo(status=418, exc=BadHttpMessage("no"), message="no"), EMPTY_PAYLOAD)
    assert await client.status() == 418


def test_what_aiohttp_answers_by_itself_can_be_replaced() -> None:
    parameters = inspect.signature(RequestHandler.handle_error).parameters
    assert list(parameters) == ["self", "request", "status", "exc", "message"]
    for name in ("data_received", "eof_received", "pause_writing", "resume_writing", "force_close", "close"):
        assert callable(getattr(RequestHandler, name))
    assert inspect.iscoroutinefunction(RequestHandler.shutdown)


async def test_a_server_can_be_built_again_from_its_parts() -> None:
    server = web.Server(hello, lingering_time=3.0)
    assert server._loop is asyncio.get_running_loop()
    assert server._kwargs == {"lingering_time": 3.0}
    again = web.Server(
        server.request_handler, request_factory=server.request_factory, loop=server._loop, **server._kwargs
    )
    assert again.request_handler is hello


async def test_a_runner_asks_its_subclass_for_the_server() -> None:
    made = []

    class Runner(web.AppRunner):
        async def _make_server(self) -> web.Server:
            made.append(await super()._make_server())
            return made[0]

    runner = Runner(web.Application())
    await runner.setup()
    assert runner.server is made[0]
    assert runner.sites == set()
    await runner.cleanup()


async def test_a_site_has_the_server_that_asyncio_made() -> None:
    runner = web.AppRunner(web.Application())
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert isinstance(site._server, asyncio.Server)
    assert [at.getsockname() for at in site._server.sockets] == runner.addresses
    await runner.cleanup()


async def test_a_request_has_the_message_that_was_parsed(
    connect: Callable[[Handler], Awaitable[Client]],
) -> None:
    messages = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        assert isinstance(request, BaseRequest)
        messages.append(request._message)
        return await hello(request)

    client = await connect(handler)
    client.writer.write(GET[:-2] + b"Connection: upgrade\r\nUpgrade: websocket\r\n\r\n")
    assert await client.status() == 200
    (message,) = messages
    assert isinstance(message, RawRequestMessage)
    assert (message.upgrade, message.chunked) == (True, False)
    assert message.raw_headers[0] == (b"Host", b"x")


async def test_an_interim_answer_can_be_taken_out_of_the_count(
    connect: Callable[[Handler], Awaitable[Client]],
) -> None:
    counted = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        writer = request.writer
        assert not writer.output_size
        await writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        counted.append(writer.output_size)
        writer.output_size = 0
        return await hello(request)

    client = await connect(handler)
    client.writer.write(GET)
    assert [await client.status(), await client.status()] == [100, 200]
    assert counted == [25]


async def test_a_body_can_be_ended_with_an_error() -> None:
    connection = web.Server(hello)()
    body = StreamReader(connection, 2**16, loop=asyncio.get_running_loop())
    assert not body.is_eof()
    body.set_exception(web.RequestPayloadError("broken"))
    body.feed_eof()
    assert body.is_eof()
    with pytest.raises(web.RequestPayloadError, match="broken"):
        await body.read()
    assert EMPTY_PAYLOAD.is_eof()


@pytest.mark.parametrize(
    ("sent", "error", "text"),
    [
        (GET[:-2] + b"X: y\r\n" * 9 + b"\r\n", BadHttpMessage, "Too many headers received"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", BadHttpMessage, "Pause on PRI/Upgrade"),
        (GET[:-2] + b"X: " + b"y" * 99 + b"\r\n\r\n", LineTooLong, ""),
        (b"GET http://[ HTTP/1.1\r\n\r\n", InvalidURLError, ""),
        (b"GET\r\n\r\n", BadStatusLine, ""),
    ],
)
async def test_a_head_that_cannot_be_parsed_raises_what_the_server_knows(
    sent: bytes, error: type[HttpProcessingError], text: str
) -> None:
    connection = web.Server(hello)()
    parser = HttpRequestParser(
        connection, asyncio.get_running_loop(), 2**16,
        max_line_size=80, max_field_size=80, max_headers=8, payload_exception=web.RequestPayloadError,
    )  # fmt: skip
    with pytest.raises(error) as raised:
        parser.feed_data(sent)
    assert text in raised.value.message.splitlines()[0]


def used(path: Path) -> set[str]:
    """Return the private members of aiohttp that a module uses."""
    tree = ast.parse(path.read_bytes())
    if not any(name.startswith("aiohttp") for name in imported(tree)):
        return set()
    known = {*RequestHandler.__slots__, *BaseProtocol.__slots__, *web.BaseRunner.__slots__, *SERVER, *REQUEST}
    known |= {name for base in (RequestHandler, web.Server, web.AppRunner, web.Request) for name in dir(base)}
    found = {name.rpartition(".")[2] for name in imported(tree) if name.startswith("aiohttp")}
    own = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            if BASES & {ast.unparse(base).rpartition(".")[2] for base in node.bases}:
                found |= known & {part.name for part in node.body if isinstance(part, FUNCTION)}
            else:
                own |= {id(part) for part in ast.walk(node) if is_of_self(part)}
        elif isinstance(node, ast.Attribute) and node.attr in known and id(node) not in own:
            found.add(node.attr)
    return {name for name in found if name.startswith("_") and not name.startswith("__")}


def imported(tree: ast.Module) -> set[str]:
    """Return what a module imports, with the module it comes from: ``aiohttp.web_protocol._ErrInfo``."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def is_of_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"


def test_the_list_above_has_every_private_member_that_the_code_uses() -> None:
    found = set().union(*(used(path) for path in (ROOT / "syncd").rglob("*.py")))
    assert found == EVERY.keys()
