"""Requests as bytes, and the answers to them."""

import asyncio
import json
from typing import Any

import structlog

from tests.api.client import ApiClient

BASE = "/api/v1.1"
JSON = "Content-Type: application/json"
#: A body that is a request: if it is answered, it was smuggled.
SMUGGLED = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: smuggled\r\n\r\n"
END = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: end\r\n\r\n"
CHUNKED = "Transfer-Encoding: chunked"
LENGTH = f"Content-Length: {len(SMUGGLED)}"
CHUNKS = f"{len(SMUGGLED):x}\r\n".encode() + SMUGGLED + b"\r\n0\r\n\r\n"


def ask(method: str = "POST", *lines: str | bytes, path: str = "/jobs", version: str = "HTTP/1.1") -> bytes:
    """Return the head of a request. KEY is replaced by a good key."""
    head = [f"{method} {BASE}{path} {version}", "Host: x", "API-Key: KEY", *lines]
    return b"\r\n".join(line if isinstance(line, bytes) else line.encode() for line in head) + b"\r\n\r\n"


async def exchange(api: ApiClient, data: bytes) -> list[int | str]:
    """Send the data and a valid request after it. Return the statuses of the answers in order, then ``end`` (the valid
    request was answered) or ``closed``. Every answer but a 2xx has to be a problem; a request logs at most one line."""
    wire = await api.wire()
    seen: list[int | str] = []
    with structlog.testing.capture_logs() as lines:
        await wire.send(data.replace(b"KEY", api.key.encode()) + END)
        while seen[-1:] not in (["end"], ["closed"]):
            seen.append(await answer(wire, data.startswith(b"HEAD")))
    assert {line["event"] for line in lines} <= {"api.request"}, lines
    assert len(lines) <= len(seen)
    assert all("exc_info" not in line and "smuggled" not in str(line) for line in lines)
    return seen


async def answer(wire: Any, bodiless: bool) -> int | str:
    """Return the status of the next answer, ``end`` for that of the valid request, or ``closed``. ``bodiless``: the
    answers have no bodies, as those to HEAD."""
    try:
        status, headers = await wire.head()
    except (asyncio.IncompleteReadError, ConnectionError):
        return "closed"
    name = headers["x-request-id"]
    assert name != "smuggled"
    if not bodiless or name == "end":
        raw = await wire.reader.readexactly(int(headers.get("content-length", 0)))
        if status >= 300:
            problem = json.loads(raw)
            assert (headers["content-type"], problem["status"]) == ("application/problem+json", status)
            wire.contract.check_problem(problem)
            assert "Traceback" not in raw.decode()
    return "end" if name == "end" else status
