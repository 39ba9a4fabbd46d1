"""Endless heads and bodies, and clients that stop reading or writing."""

import asyncio
import gc
import json
import sys

import pytest
import structlog

from syncd.web.server import EVERY, Connection
from tests.amounts import nightly
from tests.web.raw_requests import CHUNKED, JSON, ask, exchange

# -- endless heads -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "head",
    [
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: " + b"a" * 9_000 + b"\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"a" * 9_000 + b": b\r\n\r\n",
        b"GET /healthz?" + b"a" * 9_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"X-A: b\r\n" * 200 + b"\r\n",
    ],
)
async def test_a_head_beyond_its_limits_is_a_431(api, head):
    assert await exchange(api, head) == [431, "closed"]


async def test_each_limit_of_a_head_holds(serve):
    def lines(count: int, length: int) -> bytes:
        return (
            b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + (b"X-A: " + b"a" * length + b"\r\n") * count + b"\r\n"
        )

    async with serve(MAX_LINE=2_000, MAX_HEADERS=20, MAX_HEAD=10_000) as api:
        assert await exchange(api, lines(15, 100)) == [200, "end"]
        assert await exchange(api, lines(1, 2_100)) == [431, "closed"]
        assert await exchange(api, lines(30, 10)) == [431, "closed"]
        assert await exchange(api, lines(9, 1_000)) == [200, "end"]
        assert await exchange(api, lines(11, 1_000)) == [431, "closed"]  # whole, in one packet
        assert await exchange(api, lines(9, 1_000) * 3) == [200, 200, 200, "end"]


async def test_many_short_lines_can_be_too_long_together(serve):
    async with serve(MAX_HEAD=20_000) as api:
        wire = await api.wire()
        await wire.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        for _ in range(20):
            await wire.send(b"X-A: " + b"a" * 1_000 + b"\r\n")
            await asyncio.sleep(0)
        assert await wire.problem() == (431, "head_too_large")
        assert await wire.closed()


async def test_an_endless_head_behind_a_request_ends_the_connection_after_its_answer(serve):
    async with serve(MAX_HEAD=20_000) as api:
        wire = await api.wire()
        body = json.dumps(api.body()).encode()
        head = api.head("POST", JSON, f"Content-Length: {len(body)}")
        await wire.send(
            head + body + b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + (b"X-A: " + b"a" * 1_000 + b"\r\n") * 50
        )
        assert (await wire.answer())[0] == 201
        for _ in range(30):
            await wire.send(b"X-A: " + b"a" * 1_000 + b"\r\n")
        assert await wire.closed()


async def test_a_connection_that_sends_nothing_is_closed_without_an_answer(serve):
    async with serve(HEAD_TIMEOUT=0.2) as api:
        with structlog.testing.capture_logs() as lines:
            wire = await api.wire()
            assert await wire.closed()
        assert lines == []


# -- endless bodies ----------------------------------------------------------------------------------------------


async def test_chunks_that_are_all_framing_end_the_connection(serve):
    async with serve(max_body=10_000) as api:
        for part in (b"1;" + b"a" * 1_000 + b"\r\n \r\n", b"2;" + b"a" * 1_000):
            with structlog.testing.capture_logs() as lines:
                wire = await api.wire()
                await wire.send(api.head("POST", JSON, CHUNKED))
                for _ in range(1_000):
                    await wire.send(part)
                assert await wire.closed()
                async with asyncio.timeout(5):
                    while not lines:
                        await asyncio.sleep(0.01)
            assert [line["event"] for line in lines] == ["api.request"], lines


async def test_a_connection_goes_on_after_a_large_body_in_many_pieces(api):
    body = json.dumps(api.body(description="<p>" + "x" * 900_000 + "</p>")).encode()
    wire = await api.wire()
    for _ in range(2):
        await wire.send(api.head("POST", JSON, f"Content-Length: {len(body)}"))
        for start in range(0, len(body), 50_000):
            await wire.send(body[start : start + 50_000])
        assert (await wire.answer())[0] == 201


async def test_a_client_that_asks_much_and_reads_nothing_is_disconnected(serve):
    async with serve(WRITE_TIMEOUT=0.2) as api:
        job = await api.create(description="<p>" + "x" * 900_000 + "</p>")
        wire = await api.wire()
        with structlog.testing.capture_logs() as lines:
            await wire.send(api.head(path=f"/jobs/{job['id']}") * 30)
            await asyncio.sleep(0.6)
            assert (await api.get("/jobs")).status == 200
            received = 0
            async with asyncio.timeout(8):
                try:
                    while part := await wire.reader.read(1 << 20):
                        received += len(part)
                except ConnectionError:
                    pass
        assert received < 20 * 900_000
        assert {line["event"] for line in lines} == {"api.request"}


@nightly
async def test_the_memory_of_lost_connections_is_freed(serve):
    async with serve(WRITE_TIMEOUT=0.2) as api:
        job = await api.create(description="<p>" + "x" * 900_000 + "</p>")
        many = api.head(path=f"/jobs/{job['id']}") * 10

        def lost() -> int:
            ends = [it for it in gc.get_objects() if isinstance(it, asyncio.Transport) and it.is_closing()]
            return sum(end.get_extra_info("sockname")[1] == api.port for end in ends)

        gc.collect()
        gc.disable()  # nearly: the collector counts objects, and these are few
        try:
            for count in range(EVERY):
                await (await api.wire()).send(many)
                if count == EVERY // 2:
                    await asyncio.sleep(0.5)
                    # from Python 3.12 on, tasks begin at once, and no cycle is left
                    assert lost() > 0 or sys.version_info >= (3, 12)
            async with asyncio.timeout(8):
                while lost() > EVERY // 10:
                    await asyncio.sleep(0.2)
        finally:
            gc.enable()


# -- half of a conversation ----------------------------------------------------------------------------------------


async def test_a_client_that_closes_its_side_gets_the_answer_to_a_whole_request(api):
    wire = await api.wire()
    await wire.send(api.whole("POST", api.body()))
    wire.writer.write_eof()
    assert (await wire.answer())[0] == 201
    assert await wire.closed()


GET = ask("GET")
CUT_HEAD = ask("GET")[:-4]
CUT_BODY = ask("POST", JSON, "Content-Length: 100") + b"{"
CUT_CHUNK = ask("POST", JSON, CHUNKED) + b"5\r\n{"


@pytest.mark.parametrize("together", [True, False], ids=["in one packet", "later"])
@pytest.mark.parametrize(
    ("sent", "statuses"),
    [
        (b"", []),
        (GET * 3, [200, 200, 200]),
        (CUT_HEAD, [400]),
        (CUT_BODY, [400]),
        (CUT_CHUNK, [400]),
        (ask("GET", "Content-Length: 100"), [200]),  # nobody reads its body
        (GET * 2 + CUT_BODY, [200, 200, 400]),
    ],
)
async def test_a_client_that_closes_its_side_gets_all_answers_and_an_error_for_what_broke_off(
    api, caplog, sent, statuses, together
):
    wire = await api.wire()
    await wire.send(sent.replace(b"KEY", api.key.encode()))
    if not together:
        await asyncio.sleep(0.05)
    wire.writer.write_eof()
    for status in statuses:
        if status == 400:
            assert await wire.problem() == (400, "malformed_request")
        else:
            assert (await wire.answer())[0] == status
    assert await wire.reader.read() == b""
    assert (await api.get("/jobs")).json["paging"]["total"] == 0
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


def connections() -> list[Connection]:
    """Return those that are in memory, closed ones too."""
    return [found for found in gc.get_objects() if isinstance(found, Connection)]


async def test_a_closed_connection_is_freed_without_the_garbage_collector(api):
    gc.collect()
    before = connections()  # other tests of this process may have left some
    gc.disable()
    try:
        for _ in range(5):
            wire = await api.wire()
            await wire.send(api.head())
            assert (await wire.head())[0] == 200
            await wire.close()
        await asyncio.sleep(0.1)
        assert [found for found in connections() if not any(found is old for old in before)] == []
    finally:
        gc.enable()
