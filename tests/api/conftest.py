"""The API over a real store in a temporary folder, reached through real sockets on 127.0.0.1."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import web
from aiohttp.test_utils import BaseTestServer, TestClient
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry
from referencing.jsonschema import DRAFT202012
from yarl import URL

from syncd import config
from syncd.api import add_health, make_app
from syncd.api.context import CONTEXT
from syncd.domain import Catalogue, Employer
from syncd.store import Store, employers, facts, keys
from syncd.web import ServerLimits, make_runner
from tests.clock import ZONE, Clock

BASE = "/api/v1.1"


@dataclass
class Answer:
    status: int
    headers: Any
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw, parse_float=Decimal)

    @property
    def code(self) -> str:
        """The code of a problem, after a look at whether it is one."""
        assert self.headers["Content-Type"] == "application/problem+json", self.raw
        problem = self.json
        assert problem["status"] == self.status
        assert problem["requestId"] == self.headers["X-Request-Id"]
        assert problem["type"]
        assert problem["title"]
        assert problem["detail"]
        return str(problem["code"])

    @property
    def faults(self) -> list[tuple[str, str]]:
        """(pointer, code) of every fault of a 422."""
        assert (self.status, self.code) == (422, "validation_failed"), self.raw
        return [(fault["pointer"], fault["code"]) for fault in self.json["errors"]]


class Contract:
    """The served OpenAPI document, held against answers: a status, body, type or header that it does not tell of is
    a failure, and so is a member of an object that it does not name."""

    def __init__(self, document: Any) -> None:
        self._paths = document["paths"]
        self._codes = document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"]
        resource = DRAFT202012.create_resource(closed(document))
        self._registry: Any = Registry().with_resource("urn:document", resource)
        self._known: dict[str, Draft202012Validator] = {}
        self._templates = {
            template: re.compile(re.sub(r"\\{\w+\\}", "[^/]*", re.escape(template)))
            for template in self._paths
        }

    def check(self, method: str, path: str, sent: Mapping[str, str], answer: Answer) -> None:
        if method == "POST" and (wanted := sent.get("X-HTTP-Method-Override", "").strip().upper()) in (
            "PUT",
            "DELETE",
        ):
            method = wanted
        template = next(
            (t for t, pattern in self._templates.items() if pattern.fullmatch(path.partition("?")[0])), ""
        )
        operation = self._paths.get(template, {}).get("get" if method == "HEAD" else method.lower())
        where = f"{method} {path}: {answer.status}"
        assert answer.headers["X-Request-Id"], where
        if operation is None:
            self._elsewhere(method, template, where, answer)
            return
        responses = operation["responses"]
        assert str(answer.status) in responses, f"{where} is not documented: {answer.raw!r}"
        response = responses[str(answer.status)]
        for name, header in response.get("headers", {}).items():
            assert name in answer.headers or not header["required"], f"{where}: no {name}"
        pointer = f"/paths/{template.replace('/', '~1')}/{'get' if method == 'HEAD' else method.lower()}"
        self._body(method, f"{pointer}/responses/{answer.status}", response.get("content"), where, answer)

    def _elsewhere(self, method: str, template: str, where: str, answer: Answer) -> None:
        """What is no operation: OPTIONS, a 405, an address that is not there."""
        if method == "OPTIONS" and answer.status == 204:
            assert "Allow" in answer.headers or "Access-Control-Allow-Methods" in answer.headers, where
            return
        expected = {401, 404, 429, 503, *({405} if template else set())}
        assert answer.status in expected, where
        self.check_problem(answer.json, where)

    def check_problem(self, told: Any, where: str = "") -> None:
        """The body of an answer that is nobody's: to what is no request, or at an address that is not there."""
        self._validate("/components/schemas/Problem", told, where)

    def _body(self, method: str, pointer: str, content: Any, where: str, answer: Answer) -> None:
        if not content or method == "HEAD":
            assert not answer.raw, where
            return
        media = answer.headers["Content-Type"].partition(";")[0]
        assert media in content, f"{where}: {media} is not documented"
        self._validate(f"{pointer}/content/{media.replace('/', '~1')}/schema", answer.json, where)

    def _validate(self, pointer: str, told: Any, where: str) -> None:
        validator = self._known.get(pointer)
        if validator is None:
            schema = {"$ref": f"urn:document#{quote(pointer, safe='/~')}"}
            checker = Draft202012Validator.FORMAT_CHECKER
            validator = Draft202012Validator(schema, registry=self._registry, format_checker=checker)
            self._known[pointer] = validator
        fault = best_match(validator.iter_errors(told))
        assert fault is None, f"{where}: {fault.message} at {list(fault.absolute_path)}: {told!r}"


def closed(schema: Any) -> Any:
    """A copy in which an object has no members but those that it names."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {name: closed(value) for name, value in schema.items()}
    if copy.get("type") == "object" and isinstance(copy.get("properties"), dict):
        copy.setdefault("additionalProperties", False)
    return copy


@cache
def contract_of(document: bytes) -> Contract:
    return Contract(json.loads(document))


#: Seconds that a raw connection waits for what has to come.
WAIT = 8.0


class Wire:
    """One raw connection."""

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
        """Status and code of an answer that has to be a whole problem."""
        status, headers, told = await self.answer()
        assert headers["content-type"] == "application/problem+json"
        assert headers["x-request-id"] == told["requestId"]
        assert headers["server"] == "syncd"
        assert told["status"] == status
        self.contract.check_problem(told)
        return status, told["code"]

    async def closed(self) -> bool:
        """Whether the other side hangs up."""
        async with asyncio.timeout(WAIT):
            with suppress(ConnectionError):
                while await self.reader.read(65_536):
                    pass
        return True

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()


@dataclass
class ApiClient:
    """A client that sends ``key`` and speaks in paths under the base."""

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
        """A new job made of ``job_body(**fields)``, as answered."""
        answer = await self.post(job_body(**fields))
        assert answer.status == 201, answer.raw
        return answer.json

    def as_employer(self, name: str) -> ApiClient:
        employer, key = new_employer(self.store, name)
        return replace(self, employer=employer, key=key)

    @staticmethod
    def body(**fields: object) -> dict[str, object]:
        return job_body(**fields)

    async def wire(self, source: str = "127.0.0.1") -> Wire:
        """A raw connection, from another address of this machine if need be."""
        self.wires.append(
            Wire(
                *await asyncio.open_connection("127.0.0.1", self.port, local_addr=(source, 0)), self.contract
            )
        )
        return self.wires[-1]

    @asynccontextmanager
    async def writer_held(self) -> AsyncIterator[None]:
        """Writes wait until the end of the block."""
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
    """An active, whole job; ``fields`` replace or add, ``...`` takes away."""
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


class ApiServer(BaseTestServer):
    def __init__(self, app: web.Application, limits: ServerLimits) -> None:
        super().__init__()
        self.app, self.limits = app, limits

    async def _make_runner(self, **kwargs: Any) -> web.AppRunner:
        kwargs["handler_cancellation"] = False
        return make_runner(self.app, self.limits, **kwargs)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated, empty store."""
    path = tmp_path_factory.mktemp("template") / "syncd.db"
    Store.open(f"sqlite:///{path}", timezone=ZONE).close()
    return path


@pytest.fixture
def store(tmp_path: Path, clock: Clock, template: Path) -> Iterator[Store]:
    shutil.copy(template, tmp_path / "syncd.db")
    store = Store.open(f"sqlite:///{tmp_path / 'syncd.db'}", clock=clock, timezone=ZONE)
    yield store
    store.close()


Start = Callable[..., Any]


@pytest.fixture
def serve(store: Store, clock: Clock) -> Start:
    """``async with serve(read_timeout=1) as api``: the API with these settings, to the end of the block."""
    employer, key = new_employer(store, "Maple Kitchens")

    @asynccontextmanager
    async def start(catalogue: Catalogue | None = None, **settings: Any) -> AsyncIterator[ApiClient]:
        given = config.Api(**settings)
        app = make_app(store, given, catalogue or Catalogue.default())

        async def readiness() -> dict[str, Any]:
            await asyncio.to_thread(store.write, facts.prove_writable)
            return {"ready": True}

        add_health(app, readiness)
        async with TestClient(ApiServer(app, given)) as client:
            api = ApiClient(client, store, clock, employer, key, contract_of(app[CONTEXT].document))
            try:
                yield api
            finally:
                for wire in api.wires:
                    await wire.close()

    return start


@pytest.fixture
async def api(serve: Start) -> AsyncIterator[ApiClient]:
    async with serve() as api:
        yield api
