"""/docs in a real browser: it shows the operations, calls them, and connects to this service only."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from syncd.api import documentation
from tests.amounts import nightly
from tests.api.client import ApiClient
from tests.api.conftest import Start

TIMEOUT = 60.0  # seconds
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync --disable-extensions --remote-debugging-port=0"
).split()


class Page:
    """One tab, driven by the DevTools protocol. ``requests`` are its requests, ``complaints`` the lines of its console."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self.requests: list[str] = []
        self.complaints: list[str] = []

    async def listen(self) -> None:
        async for message in self._socket:
            found = json.loads(message.data)
            if "id" in found:
                self._waiting.pop(found["id"]).set_result(found)
            elif found["method"] == "Network.requestWillBeSent":
                self.requests.append(found["params"]["request"]["url"])
            elif found["method"] == "Log.entryAdded":
                self.complaints.append(found["params"]["entry"]["text"])
            elif found["method"] == "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(found["params"]["exceptionDetails"]))

    async def __call__(self, method: str, **params: Any) -> Any:
        self._number += 1
        reply = self._waiting[self._number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        async with asyncio.timeout(TIMEOUT):
            found = await reply
        assert "error" not in found, found
        return found["result"]

    async def run(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        found = await self("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def until(self, script: str) -> Any:
        """Wait until the expression is true, and return its value."""
        async with asyncio.timeout(TIMEOUT):
            while not (value := await self.run(script)):
                await asyncio.sleep(0.05)
        return value


@asynccontextmanager
async def browser(chromium: str, profile: Path) -> AsyncIterator[Page]:
    process = await asyncio.create_subprocess_exec(
        chromium,
        *OPTIONS,
        f"--user-data-dir={profile}",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        port = await debugging_port(profile)
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as tabs:
                target = next(tab for tab in await tabs.json(content_type=None) if tab["type"] == "page")
            async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                page = Page(socket)
                listener = asyncio.create_task(page.listen())
                yield page
                listener.cancel()
    finally:
        process.terminate()
        await process.wait()


async def debugging_port(profile: Path) -> int:
    """Return the port, which the browser writes when it is ready."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            lines = (
                (profile / "DevToolsActivePort").read_text().split()
                if profile.exists() and (profile / "DevToolsActivePort").exists()
                else []
            )
            if lines:
                return int(lines[0])
            await asyncio.sleep(0.05)


@pytest.fixture(params=["", "https://jobs.example.ca"], ids=["no public_url", "a public_url"])
async def anywhere(request: pytest.FixtureRequest, serve: Start) -> AsyncIterator[ApiClient]:
    """An API that names another address than that at which the page is opened, or that one."""
    async with serve(public_url=request.param) as api:
        yield api


@nightly
async def test_the_page_shows_every_operation_and_calls_them_without_any_other_address(
    anywhere: ApiClient, tmp_path: Path, program: Callable[..., str]
) -> None:
    api = anywhere
    job = await api.create(title="Welder of the night")
    origin = f"http://127.0.0.1:{api.port}"
    operations = [
        operation["operationId"]
        for item in json.loads((await api.get("/openapi.json")).raw)["paths"].values()
        for name, operation in item.items()
        if name != "parameters"
    ]
    chromium = program("chromium", "chromium-browser", "google-chrome")
    async with browser(chromium, tmp_path / "profile") as page:
        for domain in ("Network", "Log", "Runtime", "Page"):
            await page(f"{domain}.enable")
        await page("Page.navigate", url=f"{origin}/docs#/jobs/getJob")
        await page.until("document.querySelectorAll('.opblock').length")
        shown = await page.run(
            "[...document.querySelectorAll('.opblock')].map(block => block.id.split('-').pop())"
        )
        assert sorted(shown) == sorted(operations)

        await page.run(f"void ui.preauthorizeApiKey('key', {json.dumps(api.key)})")
        await page.until("document.querySelector('#operations-jobs-getJob .execute') !== null")
        await page.run(FILL_ID.replace("ID", str(job["id"])))
        answer = await page.until(EXECUTE)
        assert "200" in answer
        assert "Welder of the night" in answer
        requests, complaints = list(page.requests), list(page.complaints)
        outside = await page.run("fetch('http://127.0.0.2:9/').then(() => 'went', () => 'refused')")
        await page.until("true")
        refused = page.complaints[len(complaints) :]

    assert [url for url in requests if not url.startswith((origin + "/", "data:", "about:"))] == []
    assert f"{origin}/api/v1.1/jobs/{job['id']}" in requests
    assert complaints == []
    assert outside == "refused"
    assert any("Content Security Policy" in complaint for complaint in refused)


#: Types into a field as React notices it.
FILL_ID = """
(() => {
  const field = document.querySelector("#operations-jobs-getJob tr[data-param-name=id] input");
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, "ID");
  field.dispatchEvent(new Event("input", {bubbles: true}));
  field.dispatchEvent(new Event("change", {bubbles: true}));
})()
"""


#: The page learns of the field a moment later, so it may be empty at the first press.
EXECUTE = """
(() => {
  const operation = document.querySelector("#operations-jobs-getJob");
  const answer = operation.querySelector(".live-responses-table .response");
  if (!answer) operation.querySelector(".execute").click();
  return answer ? answer.innerText : "";
})()
"""


async def fetched(api: ApiClient, path: str, method: str = "GET", **headers: str) -> Any:
    async with api.client.session.request(method, api.client.make_url(path), headers=headers) as reply:
        return reply.status, reply.headers, await reply.read()


@pytest.mark.parametrize("path", ["/docs", *(f"/docs/{name}" for name in documentation.FILES)])
async def test_it_needs_no_key_and_lets_nothing_else_in(api: ApiClient, path: str) -> None:
    status, headers, body = await fetched(api, path)
    assert status == 200
    assert body
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "http" not in policy
    assert (await fetched(api, path, **{"If-None-Match": headers["ETag"]}))[0] == 304
    assert (await fetched(api, path, "HEAD"))[2] == b""
    assert (await fetched(api, path, "POST"))[0] == 405


async def test_no_other_file_is_there(api: ApiClient) -> None:
    for name in ("docs.html", "..%2Fdocs.py", "LICENSE", ""):
        status, headers, _ = await fetched(api, f"/docs/{name}")
        assert (status, headers["Content-Type"]) == (404, "application/problem+json")


@pytest.mark.parametrize(("base", "document"), [("", "openapi.json"), ("/api/v1.1", "api/v1.1/openapi.json")])
async def test_the_page_finds_the_document_wherever_the_base_is(serve: Any, base: str, document: str) -> None:
    async with serve(base_path=base) as api:
        _, _, body = await fetched(api, "/docs")
        assert f'data-document="{document}"' in body.decode()
        assert (await fetched(api, f"/{document}"))[0] == 200


async def test_the_type_of_a_problem_leads_to_the_page(api: ApiClient) -> None:
    problem = (await api.get("/jobs/999")).json
    assert problem["type"] == "/docs#not_found"
    assert (await fetched(api, problem["type"]))[0] == 200
