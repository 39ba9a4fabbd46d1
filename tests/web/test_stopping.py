"""What clients see when the server stops."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from syncd.web import retire

if TYPE_CHECKING:
    from tests.api.client import ApiClient


def head(api: ApiClient, *lines: str) -> bytes:
    first = [
        "POST /api/v1.1/jobs HTTP/1.1",
        "Host: x",
        f"API-Key: {api.key}",
        "Content-Type: application/json",
    ]
    return "\r\n".join([*first, *lines, "", ""]).encode()


async def test_a_stopping_server_finishes_requests_and_refuses_new_ones(api: ApiClient) -> None:
    body = json.dumps(api.body(title="In flight")).encode()
    busy, idle, halfway = [await api.wire() for _ in range(3)]
    await busy.send(head(api, f"Content-Length: {len(body)}") + body[:20])
    await halfway.send(head(api)[:60])
    await asyncio.sleep(0.1)
    stopping = asyncio.ensure_future(retire(api.client.server.runner))
    await asyncio.sleep(0.1)

    await idle.send(f"GET /api/v1.1/jobs HTTP/1.1\r\nHost: x\r\nAPI-Key: {api.key}\r\n\r\n".encode())
    status, headers, problem = await idle.answer()
    assert (status, problem["code"]) == (503, "shutting_down")
    assert headers["retry-after"] == "1"
    assert await idle.closed()

    status, headers, problem = await halfway.answer()
    assert (status, problem["code"], headers["retry-after"]) == (503, "shutting_down", "1")
    assert await halfway.closed()

    await busy.send(body[20:])
    status, headers, problem = await busy.answer()
    assert (status, problem["title"]) == (201, "In flight")
    assert await busy.closed()
    async with asyncio.timeout(5):
        await stopping
    try:
        late = await api.wire()
    except ConnectionRefusedError:
        pass
    else:
        raise AssertionError(f"somebody listens: {late}")


async def test_a_server_without_connections_stops_at_once(serve: Any) -> None:
    async with serve() as api:
        started = asyncio.get_running_loop().time()
        await retire(api.client.server.runner)
        assert asyncio.get_running_loop().time() - started < 0.2
