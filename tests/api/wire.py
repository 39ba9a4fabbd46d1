"""Raw connections to the API."""

import asyncio
import json
from contextlib import suppress
from typing import Any

from tests.api.contract import Contract

#: Seconds that a raw connection waits for the server.
WAIT = 8.0


class Wire:
    """One raw connection. Its answers are checked against the OpenAPI document."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, contract: Contract
    ) -> None:
        self.reader, self.writer, self.contract = reader, writer, contract

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        with suppress(ConnectionError):
            await self.writer.drain()

    async def head(self) -> tuple[int, dict[str, str]]:
        async with asyncio.timeout(WAIT):
            lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        version, status, _ = lines[0].split(" ", 2)
        assert version.startswith("HTTP/1.")
        return int(status), {n.lower(): v for n, v in (line.split(": ", 1) for line in lines[1:] if line)}

    async def answer(self) -> tuple[int, dict[str, str], Any]:
        status, headers = await self.head()
        async with asyncio.timeout(WAIT):
            raw = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return status, headers, json.loads(raw) if raw else None

    async def problem(self) -> tuple[int, str]:
        """Return the status and code of an answer that has to be a whole problem."""
        status, headers, problem = await self.answer()
        assert headers["content-type"] == "application/problem+json"
        assert headers["x-request-id"] == problem["requestId"]
        assert headers["server"] == "syncd"
        assert problem["status"] == status
        self.contract.check_problem(problem)
        return status, problem["code"]

    async def closed(self) -> bool:
        async with asyncio.timeout(WAIT):
            with suppress(ConnectionError):
                while await self.reader.read(65_536):
                    pass
        return True

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()
