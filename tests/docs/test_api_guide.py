"""docs/api.md: its commands, run in one shell against a real server, print what it shows; its client works; and it has every
operation and every code."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from aiohttp import web
from aiohttp.typedefs import Handler

from syncd.api import make_app
from syncd.api.openapi.operations import OPERATIONS
from syncd.config import Api
from syncd.domain import Catalogue
from syncd.errors import (
    FIELD_CODES,
    DuplicateReference,
    IllegalTransition,
    Invalid,
    NotFound,
    PreconditionFailed,
    Problem,
    StoreError,
)
from syncd.store import Store, employers, keys
from syncd.web import CODES, Refusal, Server, problems
from syncd.web.envelope import effective_method

GUIDE = Path(__file__).parents[2] / "docs" / "api.md"
TEXT = GUIDE.read_text(encoding="utf-8")
BASE = "/api/v1.1"
#: Ten in the morning in Toronto; the dates in the guide follow from it.
NOW = datetime(2027, 1, 15, 15, 0, tzinfo=UTC)
OUTSIDE = "https://jobs.example.ca"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)
_MARK = "---- end of a command ----"


@dataclass
class Served:
    """A running API. ``asked`` collects what it was asked for: (method, path under the base)."""

    base: str = ""
    key: str = ""
    asked: set[tuple[str, str]] = field(default_factory=set)
    refusals: list[Refusal] = field(default_factory=list)
    seen: list[web.Request] = field(default_factory=list)

    @web.middleware
    async def refuse(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """The first of the ``refusals`` that are left instead of a PUT."""
        if effective_method(request) == "PUT" and self.refusals:
            raise self.refusals.pop(0)
        return await handler(request)

    async def note(self, request: web.Request, _response: web.StreamResponse) -> None:
        self.seen.append(request)
        resource = request.match_info.route.resource
        if resource is not None:
            self.asked.add((effective_method(request), resource.canonical.removeprefix(BASE)))

    async def run(self, *command: str) -> str:
        """What ``command`` prints; it must succeed."""
        environment = {**os.environ, "no_proxy": "127.0.0.1", "BASE": self.base, "KEY": self.key}
        process = await asyncio.create_subprocess_exec(
            *command,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(60):
            said, complaint = await process.communicate()
        assert process.returncode == 0, said.decode() + complaint.decode()
        return said.decode().replace("\r\n", "\n")


@pytest.fixture
def store(tmp_path):
    zone = ZoneInfo("America/Toronto")
    store = Store.open(f"sqlite:///{tmp_path / 'syncd.db'}", clock=lambda: NOW, timezone=zone)
    yield store
    store.close()


@pytest.fixture
def curl(program):
    """The guide's commands want gzip as well."""
    program("gzip")
    return program("curl")


@asynccontextmanager
async def serving(store: Store) -> AsyncIterator[Served]:
    employer = store.write(lambda tx: employers.add(tx, "Harbour Clinics"))
    _, key = store.write(lambda tx: keys.create(tx, employer.id, "hr-system", None))
    served, settings = Served(key=key), Api()
    app = make_app(store, settings, Catalogue.default())
    app.middlewares.append(served.refuse)
    app.on_response_prepare.append(served.note)
    server = Server(app, settings)
    try:
        _, port = await server.listen(("127.0.0.1", 0))
        served.base = f"http://127.0.0.1:{port}{BASE}"
        yield served
    finally:
        await server.retire()


def steps() -> list[tuple[str, str]]:
    """Each shell block with what is shown of its output, "" for none. The first one is the reader's to fill in."""
    found: list[tuple[str, str]] = []
    blocks = list(_FENCE.finditer(TEXT))
    for this, following in zip(blocks, [*blocks[1:], None], strict=True):
        if this[1] == "sh":
            near = following and following[1] != "sh" and not TEXT[this.end() : following.start()].strip()
            found.append((this[2], following[2] if following and near else ""))
    return found[1:]


async def outputs(served: Served) -> list[str]:
    """What each step prints, all of them run in one shell."""
    script = "".join(f"{command}\necho; echo '{_MARK}'\n" for command, _ in steps())
    said = await served.run("bash", "-euo", "pipefail", "-c", script)
    return said.replace(served.base, OUTSIDE + BASE).split(f"{_MARK}\n")[:-1]


def pattern(shown: str) -> re.Pattern[str]:
    """Matches, white space apart, what ``shown`` shows; ``…`` stands for anything."""
    return re.compile(".*".join(re.escape(squeezed(part)) for part in shown.split("…")), re.S)


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize(
    ("shown", "said", "fits"),
    [
        ('{"a": 1,\n "b": 2}', '{"a":1,"b":2}\n', True),
        ('{"a": 1, …}', '{"a":1,"b":2}', True),
        ('{"a": 1}', '{"a":1,"b":2}', False),
        ('{"a": 2, …}', '{"a":1,"b":2}', False),
    ],
)
def test_the_comparison_sees_what_differs(shown, said, fits):
    assert bool(pattern(shown).fullmatch(squeezed(said))) is fits


@pytest.mark.usefixtures("curl")
async def test_the_commands_print_what_the_guide_shows_and_reach_every_operation(store):
    async with serving(store) as served:
        said = await outputs(served)
        assert len(said) == len(steps())
        for (command, shown), output in zip(steps(), said, strict=True):
            if shown:
                assert pattern(shown).fullmatch(squeezed(output)), (
                    f"{command}\nprints\n{output}\nnot\n{shown}"
                )
        assert served.asked >= set(OPERATIONS), set(OPERATIONS) - served.asked


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.id)
def test_every_operation_is_named(operation):
    assert f"`{operation.id}`" in TEXT


# --- errors -------------------------------------------------------------------------------------------------

#: Code → an error with it. The detail of any other code is that of the table, or its title.
ERRORS = {
    "malformed_json": Refusal("malformed_json", "line 3, column 12: Expecting ',' delimiter"),
    "malformed_request": Refusal("malformed_request", "the Host header names no host"),
    "invalid_parameter": Refusal("invalid_parameter", "page has to be a whole number from 1 to 2147483647"),
    "unauthenticated": Refusal("unauthenticated", "send a valid key in the API-Key header"),
    "not_found": NotFound("job", 4711),
    "method_not_allowed": Refusal("method_not_allowed", "this address takes DELETE, GET, HEAD, OPTIONS, PUT"),
    "duplicate_reference": DuplicateReference("HC-101", 4711),
    "illegal_transition": IllegalTransition("active", "draft", ("archived",)),
    "precondition_failed": PreconditionFailed(
        "the ETag of the job is not in If-Match: the job has changed since, or the tag is weak"
    ),
    "validation_failed": Invalid(
        [
            Problem("/salary/period", "required", "a salary with an amount needs a period"),
            Problem("/titel", "unknown_field", "there is no such field; title is meant?"),
        ]
    ),
    "internal_error": RuntimeError(),
    "overloaded": StoreError(),
}


@pytest.mark.parametrize("code", CODES)
def test_every_error_code_has_its_status_meaning_remedy_and_a_true_example(code):
    section = re.search(rf"^#### {code}: (\d+)\n(.*?)(?=^###? |^#### |\Z)", TEXT, re.S | re.M)
    assert section, f"no section {code}"
    assert int(section[1]) == CODES[code][0]
    example = _FENCE.search(section[2])
    assert example
    assert len(section[2][: example.start()].strip().split("\n\n")) == 2
    body = problems.render(ERRORS.get(code) or Refusal(code, CODES[code][1]), "9f2c1e7ab0d34c55").body
    assert isinstance(body, bytes)
    assert json.loads(example[2]) == json.loads(body)


def field_rows() -> dict[str, tuple[str, str]]:
    """Field code → a body that gets it, and its pointer."""
    found = re.findall(r"^\| `(\w+)` \| [^|]+ \| `(\{.*\})` \| `([^`]+)` \|", TEXT, re.M)
    return {code: (body, at) for code, body, at in found}


def test_every_field_code_has_its_row():
    assert list(field_rows()) == list(FIELD_CODES)
    for code, why in FIELD_CODES.items():
        assert f"| `{code}` | {why} |" in TEXT


async def test_the_bodies_in_the_table_get_those_codes(store, curl):
    """Each is sent as an update of the guide's own job."""
    async with serving(store) as served:
        await outputs(served)
        for code, (body, at) in field_rows().items():
            said = await served.run(
                *(curl, "-s", "-X", "PUT", "-H", f"API-Key: {served.key}"),
                *("-H", "Content-Type: application/json", "-d", body, f"{served.base}/jobs/1"),
            )
            faults = [(fault["pointer"], fault["code"]) for fault in json.loads(said).get("errors", ())]
            assert (at, code) in faults, f"{body} gets {said}"


# --- the client ---------------------------------------------------------------------------------------------


def client() -> str:
    found = [block[2] for block in _FENCE.finditer(TEXT) if block[1] == "python"]
    assert len(found) == 1
    return found[0]


def test_the_client_has_at_most_thirty_lines():
    assert client().count("\n") <= 30
    compile(client(), "client.py", "exec")


@pytest.mark.parametrize(
    "refusals", [[], ["rate_limited", "overloaded"]], ids=["at once", "after two requests to wait"]
)
async def test_the_client_upserts_changes_and_pages(store, refusals):
    async with serving(store) as served:
        served.refusals = [Refusal(code, "wait", headers={"Retry-After": "0"}) for code in refusals]
        said = await served.run(sys.executable, "-W", "error", "-c", client())
        puts = [request for request in served.seen if effective_method(request) == "PUT"]
        assert len(puts) == 13 + len(refusals)
        assert "If-Match" in puts[-1].headers
        assert not served.refusals
    assert said.splitlines() == ["W-12 Head Welder", *(f"W-{number} Welder" for number in range(11, 0, -1))]


async def test_the_client_gives_up_on_a_problem_that_waiting_does_not_mend(store):
    async with serving(store) as served:
        served.key = "wrong"
        with pytest.raises(AssertionError, match="unauthenticated"):
            await served.run(sys.executable, "-c", client())
        assert len(served.seen) == 1
