"""A client of the API, and its requests."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from yarl import URL

from syncd.api.payloads import encode
from syncd.domain import Catalogue, Employer
from syncd.store import Store, employers, keys
from syncd.views import job_view
from tests.api.contract import Answer, Contract
from tests.api.wire import Wire
from tests.clock import Clock

BASE = "/api/v1.1"


@dataclass
class ApiClient:
    """A client that sends ``key``. Its paths are under the base path."""

    client: Any
    store: Store
    clock: Clock
    employer: Employer
    key: str
    contract: Contract
    extra: dict[str, str] = field(default_factory=dict)
    wires: list[Wire] = field(default_factory=list)

    async def __call__(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        sent = {"API-Key": self.key, **self.extra, **(headers or {})}
        if raw is None and body is not None:
            raw = json.dumps(body).encode()
        if raw is not None:
            sent = {"Content-Type": "application/json", **sent}
        url = URL(str(self.client.make_url("/")).rstrip("/") + BASE + path, encoded=True)
        async with self.client.session.request(
            method,
            url,
            data=raw,
            headers={k: v for k, v in sent.items() if v},
            skip_auto_headers=("Content-Type",),
        ) as reply:
            answer = Answer(reply.status, reply.headers, await reply.read())
        self.contract.check(method, path, sent, answer)
        return answer

    def get(self, path: str, **kwargs: Any) -> Awaitable[Answer]:
        return self("GET", path, **kwargs)

    def post(self, body: object, **kwargs: Any) -> Awaitable[Answer]:
        return self("POST", "/jobs", body, **kwargs)

    def put(self, path: str, body: object, **kwargs: Any) -> Awaitable[Answer]:
        return self("PUT", path, body, **kwargs)

    def delete(self, path: str, body: object = None, **kwargs: Any) -> Awaitable[Answer]:
        return self("DELETE", path, body, **kwargs)

    async def create(self, **fields: object) -> Any:
        answer = await self.post(job_body(**fields))
        assert answer.status == 201, answer.raw
        return answer.json

    async def history(self, job_id: int, page: int = 1) -> dict[str, Any]:
        """Return 10 changes of a job as the operator sees them."""
        view = await self.store.read_async(lambda tx: job_view(tx, job_id, page, 10, Catalogue.default()))
        return dict(json.loads(encode(view)))

    def as_employer(self, name: str) -> ApiClient:
        employer, key = new_employer(self.store, name)
        return replace(self, employer=employer, key=key)

    @staticmethod
    def body(**fields: object) -> dict[str, object]:
        return job_body(**fields)

    async def wire(self, source: str = "127.0.0.1") -> Wire:
        """Open a raw connection from the address ``source`` of this machine."""
        self.wires.append(
            Wire(
                *await asyncio.open_connection("127.0.0.1", self.port, local_addr=(source, 0)), self.contract
            )
        )
        return self.wires[-1]

    def head(self, method: str = "GET", *lines: str, path: str = "/jobs") -> bytes:
        """Return the head of a request as bytes, with the key."""
        head = [f"{method} {BASE}{path} HTTP/1.1", "Host: x", f"API-Key: {self.key}", *lines]
        return "\r\n".join(head).encode() + b"\r\n\r\n"

    def whole(self, method: str, body: object, *lines: str) -> bytes:
        """Return a request for the list of jobs as bytes, with the key and a JSON body."""
        raw = json.dumps(body).encode()
        return (
            self.head(method, *lines, "Content-Type: application/json", f"Content-Length: {len(raw)}") + raw
        )

    @asynccontextmanager
    async def writer_held(self) -> AsyncIterator[None]:
        """Let writes wait until the end of the block."""
        held, let_go = threading.Event(), threading.Event()

        def hold(_tx: object) -> None:
            held.set()
            let_go.wait(30)

        blocker = asyncio.ensure_future(self.store.write_async(hold))
        await asyncio.to_thread(held.wait, 30)
        try:
            yield
        finally:
            let_go.set()
            await blocker

    @property
    def port(self) -> int:
        return int(self.client.port)


def job_body(**fields: object) -> dict[str, object]:
    """Return the body of a whole active job. ``fields`` replace or add members; ``...`` removes one."""
    body: dict[str, object] = {
        "title": "Line Cook",
        "status": "active",
        "locations": [{"description": "Calgary, AB"}],
        "categories": [{"id": 1}],
        "positionType": {"id": 1},
        "salary": {"amount": 20.5, "maxAmount": 25, "period": {"id": 5}, "plusCommission": False},
        "description": "<p>Cook <strong>well</strong>.</p>",
        "applicantRoutingType": {"id": 1},
        "applicationEmail": "jobs@example.com",
        **fields,
    }
    return {name: value for name, value in body.items() if value is not ...}


def new_employer(store: Store, name: str) -> tuple[Employer, str]:
    employer = store.write(lambda tx: employers.add(tx, name))
    _, key = store.write(lambda tx: keys.create(tx, employer.id, "test", None))
    return employer, key
