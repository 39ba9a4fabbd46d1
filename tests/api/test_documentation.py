"""Addresses beside the API: /docs, also in a real browser, the document, and health."""

import json
from typing import Any

import pytest

from syncd.api import documentation
from tests.amounts import nightly
from tests.api.client import ApiClient
from tests.e2e.console.world import launched


@pytest.fixture(params=["", "https://jobs.example.ca"], ids=["no public_url", "a public_url"])
async def anywhere(request, serve):
    """An API that names another address than that at which the page is opened, or that one."""
    async with serve(public_url=request.param) as api:
        yield api


@nightly
async def test_the_page_shows_every_operation_and_calls_them_without_any_other_address(anywhere, program):
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
async def test_it_needs_no_key_and_lets_nothing_else_in(api, path):
    status, headers, body = await fetched(api, path)
    assert status == 200
    assert body
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "http" not in policy
    assert (await fetched(api, path, **{"If-None-Match": headers["ETag"]}))[0] == 304


async def test_no_other_file_is_there(api):
    for name in ("docs.html", "..%2Fdocs.py", "LICENSE", ""):
        status, headers, _ = await fetched(api, f"/docs/{name}")
        assert (status, headers["Content-Type"]) == (404, "application/problem+json")


@pytest.mark.parametrize(("base", "document"), [("", "openapi.json"), ("/api/v1.1", "api/v1.1/openapi.json")])
async def test_the_page_finds_the_document_wherever_the_base_is(serve, base, document):
    async with serve(base_path=base) as api:
        for path in ("/docs", "/"):
            _, _, body = await fetched(api, path, Accept="text/html,*/*;q=0.8")
            assert f'data-document="{document}"' in body.decode()
        assert (await fetched(api, f"/{document}"))[0] == 200


async def test_the_entrance_answers_a_program_where_things_are(api):
    for accept in ("*/*", "application/json"):
        status, headers, body = await fetched(api, "/", Accept=accept)
        assert (status, headers["Content-Type"], headers["Vary"]) == (200, "application/json", "Accept")
        places = json.loads(body)
        assert places.keys() == {"api", "openapi", "docs", "health"}
        for name in ("openapi", "docs", "health"):
            assert (await fetched(api, places[name]))[0] == 200


async def test_the_type_of_a_problem_leads_to_the_page(api):
    problem = (await api.get("/jobs/999")).json
    assert problem["type"] == "/docs#not_found"
    assert (await fetched(api, problem["type"]))[0] == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/docs", "/docs/docs.js", "/api/v1.1/openapi.json"])
async def test_what_is_beside_the_api_needs_no_key_and_is_only_read(api, path):
    async def ask(method: str, **headers: str) -> tuple[int, Any, bytes]:
        async with api.client.session.request(method, api.client.make_url(path), headers=headers) as answer:
            assert answer.headers["X-Request-Id"]
            return answer.status, answer.headers, await answer.read()

    status, headers, body = await ask("GET")
    assert (status, bool(body)) == (200, True)
    assert (await ask("GET", **{"API-Key": "wrong"}))[0] == 200
    status, head, nothing = await ask("HEAD")
    assert (status, head["Content-Length"], nothing) == (200, headers["Content-Length"], b"")
    assert head["Content-Type"] == headers["Content-Type"]
    status, headers, _ = await ask("OPTIONS")
    assert (status, headers["Allow"]) == (204, "GET, HEAD, OPTIONS")
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        status, headers, refused = await ask(method)
        assert (status, headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
        assert b'"method_not_allowed"' in refused


async def test_the_base_address_says_where_the_documentation_is(api):
    for path in ("", "/", "/nothing"):
        answer = await api.get(path)
        assert answer.status == 404
        assert "/api/v1.1/openapi.json" in answer.json["detail"]
        assert "/docs" in answer.json["detail"]
