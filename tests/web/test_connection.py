"""Requests that only a raw socket can send: broken heads, half of a request, endless bodies; and limits on connections."""

import asyncio
import json
import socket
import struct

import pytest
import structlog

from tests.api.wire import Wire

WAIT = 8.0


JSON_TYPE = "Content-Type: application/json"

BROKEN: dict[str, bytes] = {
    "no HTTP at all": b"hello\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "a broken address": b"GET http://[::1 HTTP/1.1\r\nHost: x\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
async def test_a_request_that_cannot_be_parsed_is_answered_with_a_problem(api, what):
    wire = await api.wire()
    with structlog.testing.capture_logs() as lines:
        await wire.send(BROKEN[what])
        status, headers, problem = await wire.answer()
        assert (status, problem["code"]) == (400, "malformed_request")
        assert problem["detail"] == "it is not a request of HTTP/1.0 or HTTP/1.1 that can be read"
        assert await wire.closed()
    assert headers["x-request-id"] == problem["requestId"]
    expected = ("api.request", 400, problem["requestId"])
    assert [(line["event"], line["status"], line["request_id"]) for line in lines] == [expected]


async def test_http_1_0_needs_no_host(api):
    body = json.dumps(api.body()).encode()
    wire = await api.wire()
    lines = ["POST /api/v1.1/jobs HTTP/1.0", f"API-Key: {api.key}", JSON_TYPE, f"Content-Length: {len(body)}"]
    head = "\r\n".join([*lines, "", ""])
    await wire.send(head.encode() + body)
    status, headers, job = await wire.answer()
    assert status == 201
    assert headers["location"] == f"http://localhost/api/v1.1/jobs/{job['id']}"


async def test_a_repeated_key_header_is_refused(api):
    for second in (api.key, "x"):
        wire = await api.wire()
        await wire.send(api.head("GET", f"API-Key: {second}"))
        assert await wire.problem() == (401, "unauthenticated")
        await wire.close()


async def test_chunks_without_end_are_refused_at_the_limit(serve):
    async with serve(max_body=10_000) as api:
        wire = await api.wire()
        await wire.send(api.head("POST", JSON_TYPE, "Transfer-Encoding: chunked"))
        chunk = b"400\r\n" + b" " * 1024 + b"\r\n"
        for _ in range(20):
            await wire.send(chunk)
        assert await wire.problem() == (413, "body_too_large")


async def test_chunks_may_carry_a_body(api):
    body = json.dumps(api.body()).encode()
    wire = await api.wire()
    await wire.send(api.head("POST", JSON_TYPE, "Transfer-Encoding: chunked"))
    for byte in range(0, len(body), 50):
        part = body[byte : byte + 50]
        await wire.send(f"{len(part):x}\r\n".encode() + part + b"\r\n")
    await wire.send(b"0\r\n\r\n")
    assert (await wire.answer())[0] == 201


@pytest.mark.parametrize("chunk", [b"zz\r\n{}\r\n", b"-1\r\n", b"2\r\n{}xx\r\n", b"FFFFFFFFFFFFFFFFFF\r\n"])
@pytest.mark.parametrize("late", [False, True], ids=["with the head", "behind it"])
async def test_broken_chunks_are_an_error(serve, chunk, late):
    """aiohttp does not say that chunks which came behind the head are broken: the rest of the body never arrives."""
    async with serve(READ_TIMEOUT=0.3) as api:
        head = api.head("POST", JSON_TYPE, "Transfer-Encoding: chunked")
        wire = await api.wire()
        with structlog.testing.capture_logs() as lines:
            await wire.send(head if late else head + chunk)
            if late:
                await asyncio.sleep(0.05)
                await wire.send(chunk)
            expected = (408, "request_timeout") if late else (400, "malformed_request")
            assert await wire.problem() == expected
            assert await wire.closed()
        assert [(line["event"], line["status"]) for line in lines] == [("api.request", expected[0])]


async def test_broken_chunks_that_no_handler_reads_end_the_connection(api):
    wire = await api.wire()
    with structlog.testing.capture_logs() as lines:
        await wire.send(api.head("GET", "Transfer-Encoding: chunked"))
        assert (await wire.answer())[0] == 200
        await wire.send(b"zz\r\n")
        assert await wire.closed()
    assert {line["event"] for line in lines} == {"api.request"}


async def test_http_1_0_gets_no_100_continue(api):
    body = json.dumps(api.body()).encode()
    wire = await api.wire()
    whole = api.head("POST", JSON_TYPE, EXPECT, f"Content-Length: {len(body)}") + body
    await wire.send(whole.replace(b"HTTP/1.1", b"HTTP/1.0", 1))
    assert (await wire.answer())[0] == 201


@pytest.mark.parametrize(
    "sent",
    [
        b"G",
        b"GET /api/v1.1/jobs HTTP/1.1\r\n",
        b"GET /api/v1.1/jobs HTTP/1.1\r\nHost: x\r\nX-Slow:",
        b"GET /api/v1.1/jobs HTTP/1.1\r\nHost: x\r\n\r",
    ],
)
async def test_a_head_that_does_not_end_is_answered_in_time(serve, sent):
    async with serve(HEAD_TIMEOUT=0.2) as api:
        wire = await api.wire()
        await wire.send(sent)
        assert await wire.problem() == (408, "request_timeout")
        assert await wire.closed()


async def test_a_head_that_drips_is_not_kept_alive_by_dripping(serve):
    async with serve(HEAD_TIMEOUT=0.3) as api:
        wire = await api.wire()
        await wire.send(b"GET /x HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        drip = asyncio.ensure_future(forever(wire))
        assert await wire.problem() == (408, "request_timeout")
        drip.cancel()


async def forever(wire: Wire) -> None:
    while True:
        await wire.send(b"a")
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("framing", ["Content-Length: 100", "Transfer-Encoding: chunked"])
async def test_a_body_that_does_not_end_is_answered_in_time(serve, framing):
    async with serve(READ_TIMEOUT=0.2) as api:
        wire = await api.wire()
        await wire.send(api.head("POST", JSON_TYPE, framing) + b"2\r\n{ \r\n")
        assert await wire.problem() == (408, "request_timeout")


async def test_a_client_that_resets_its_connection_during_its_body_leaves_only_a_line_in_the_log(api):
    with structlog.testing.capture_logs() as lines:
        wire = await api.wire()
        await wire.send(api.head("POST", JSON_TYPE, "Content-Length: 100") + b'{"title":')
        await asyncio.sleep(0.1)
        no_linger = struct.pack("ii", 1, 0)
        wire.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_linger)
        await wire.close()
        async with asyncio.timeout(WAIT):
            while not lines:
                await asyncio.sleep(0.01)
    assert [(line["event"], line["status"]) for line in lines] == [("api.request", 499)]
    assert (await api.get("/jobs")).status == 200


async def test_an_idle_connection_is_kept_through_slow_pauses_between_requests(serve):
    async with serve(READ_TIMEOUT=0.2, HEAD_TIMEOUT=0.2) as api:
        wire = await api.wire()
        for _ in range(3):
            await wire.send(api.head("GET"))
            assert (await wire.answer())[0] == 200
            await asyncio.sleep(0.3)


async def test_an_idle_connection_is_closed_after_its_time(serve):
    async with serve(keepalive=0.2) as api:
        wire = await api.wire()
        await wire.send(api.head("GET"))
        assert (await wire.answer())[0] == 200
        assert await wire.closed()


async def test_pipelined_requests_are_answered_in_order(api):
    wire = await api.wire()
    await wire.send(b"".join(api.head("GET", f"X-Request-Id: r{n}") for n in range(40)))
    assert [(await wire.answer())[1]["x-request-id"] for _ in range(40)] == [f"r{n}" for n in range(40)]


async def test_one_connection_too_many_gets_a_503(serve):
    async with serve(max_connections=2) as api:
        wires = [await api.wire() for _ in range(2)]
        for wire in wires:
            await wire.send(api.head("GET"))
            assert (await wire.answer())[0] == 200
        extra = await api.wire()
        assert await extra.problem() == (503, "overloaded")
        assert await extra.closed()
        await extra.close()
        await wires[0].close()
        await asyncio.sleep(0.05)
        again = await api.wire()
        await again.send(api.head("GET"))
        assert (await again.answer())[0] == 200


EXPECT = "Expect: 100-continue"


async def test_a_body_is_asked_for_only_when_it_is_wanted(api):
    body = json.dumps(api.body()).encode()
    wire = await api.wire()
    await wire.send(api.head("POST", JSON_TYPE, EXPECT, f"Content-Length: {len(body)}"))
    assert (await wire.head())[0] == 100
    await wire.send(body)
    assert (await wire.answer())[0] == 201


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["API-Key: x", JSON_TYPE, "Content-Length: 5"], (401, "unauthenticated")),
        (["Content-Type: text/plain", "Content-Length: 5"], (415, "unsupported_media_type")),
        ([JSON_TYPE, "Content-Length: 99999999"], (413, "body_too_large")),
    ],
)
async def test_a_body_that_is_not_wanted_is_not_asked_for(api, lines, problem):
    wire = await api.wire()
    await wire.send(api.head("POST", EXPECT, *lines))
    assert await wire.problem() == problem
    assert await wire.closed()
