"""/docs in a real browser: it shows the operations, calls them, and connects to this service only."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from syncd.api import documentation
from tests.amounts import nightly
from tests.api.client import ApiClient
from tests.api.conftest import Start
from tests.e2e.console.world import launched


@pytest.fixture(params=["", "https://jobs.example.ca"], ids=["no public_url", "a public_url"])
async def anywhere(request: pytest.FixtureRequest, serve: Start) -> AsyncIterator[ApiClient]:
    """An API that names another address than that at which the page is opened, or that one."""
    async with serve(public_url=request.param) as api:
        yield api


@nightly
async def test_the_page_shows_every_operation_and_calls_them_without_any_other_address(
    anywhere: ApiClient, program: Callable[..., str]
) -> None:
    from playwright.async_api import async_playwright

    api = anywhere
    job = await api.create(title="Welder of the night")
    origin = f"http://127.0.0.1:{api.port}"
    paths = json.loads((await api.get("/openapi.json")).raw)["paths"]
    operations = [operation["operationId"] for item in paths.values() for operation in item.values()]
    requests: list[str] = []
    complaints: list[str] = []
    async with async_playwright() as playwright:
        browser = await launched(playwright, program("chromium", "chromium-browser", "google-chrome"))
        page = await browser.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
        await page.goto(f"{origin}/docs#/jobs/getJob")
        await page.wait_for_selector(".opblock")
        shown = await page.locator(".opblock").evaluate_all(
            "all => all.map(block => block.id.split('-').pop())"
        )
        assert sorted(shown) == sorted(operations)

        await page.evaluate(f"void ui.preauthorizeApiKey('key', {json.dumps(api.key)})")
        operation = page.locator("#operations-jobs-getJob")
        await operation.locator("tr[data-param-name=id] input").fill(str(job["id"]))
        await operation.locator(".execute").click()
        answer = await operation.locator(".live-responses-table .response").first.inner_text()
        assert "200" in answer
        assert "Welder of the night" in answer
        assert [url for url in requests if not url.startswith((origin + "/", "data:"))] == []
        assert f"{origin}/api/v1.1/jobs/{job['id']}" in requests
        assert complaints == []
        outside = await page.evaluate("fetch('http://127.0.0.2:9/').then(() => 'went', () => 'refused')")
        assert outside == "refused"
        assert any("Content Security Policy" in complaint for complaint in complaints)
        await browser.close()


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
