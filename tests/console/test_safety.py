"""Who may use the pages, and what a browser may be made to do."""

import re
from dataclasses import dataclass, replace

import pytest
from aiohttp import FormData, web

from syncd.console import add_console
from syncd.console.app import POLICY, ROUTES
from syncd.console.gate import LIFETIME, Gate, Sessions
from syncd.store import employers, feeds, keys, runs
from syncd.web import envelope
from tests.console.conftest import TOKEN, Browser, csrf_of


@pytest.fixture
def guarded(world):
    world.guarded()


async def test_without_a_session_every_page_leads_to_the_login(world, guarded, browser):
    for path in {*GETS} - {"/login"}:
        status, page, answer = await browser.get(path)
        back = "" if path == "/" else f"?next={path}"
        assert (status, answer.headers["Location"], page) == (303, "/login" + back, "")
        status, problem = await browser.json(path)
        assert (status, problem["code"]) == (401, "unauthenticated")


async def test_the_token_opens_a_session_that_a_script_cannot_read(browse, world, guarded):
    browser = await browse()
    before = (await browser.get("/login"))[2].cookies["syncd_operator"].value
    status, _, answer = await browser.log_in()
    cookie = answer.cookies["syncd_operator"]
    assert (status, answer.headers["Location"]) == (303, "/")
    assert cookie.value != before  # a session that somebody planted opens nothing
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Strict", "/")
    assert (cookie["max-age"], cookie["secure"]) == ("43200", "")
    assert (await browser.get("/"))[0] == 200
    stranger = await browse()
    assert (await stranger.get("/", cookies={"syncd_operator": before}))[0] == 303


@pytest.fixture
def proxied(world, guarded):
    api = replace(world.settings.api, trusted_proxies=("127.0.0.0/8",))
    world.settings = replace(world.settings, api=api)


async def test_behind_tls_the_cookie_is_for_tls_alone(proxied, browser):
    answer = (await browser.get("/login", headers={"X-Forwarded-Proto": "https"}))[2]
    assert answer.cookies["syncd_operator"]["secure"] is True


async def test_a_login_leads_back_to_the_page_that_was_asked_for_and_nowhere_else(world, guarded, browser):
    for sent, leads_to in (
        ("/runs?state=held", "/runs?state=held"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example/", "/"),
        ("/runs\r\nX: y", "/"),
    ):
        answer = (await browser.submit("/login", token=TOKEN, next=sent))[2]
        assert answer.headers["Location"] == leads_to


async def test_after_a_logout_its_cookie_opens_nothing(browse, world, guarded):
    browser = await browse()
    cookie = (await browser.log_in())[2].cookies["syncd_operator"].value
    page = (await browser.get("/"))[1]
    csrf = csrf_of(page)
    status, _, answer = await browser.post("/logout", {"csrf": csrf})
    assert (status, answer.headers["Location"]) == (303, "/login")
    assert (await browser.get("/"))[0] == 303
    thief = await browse()
    assert (await thief.get("/", cookies={"syncd_operator": cookie}))[0] == 303


def test_a_thousand_logins_need_no_more_memory():
    sessions = Sessions(TOKEN)
    first = sessions.open()
    for _ in range(1000):
        last = sessions.open()
    assert (sessions.find(first.secret), sessions.find(last.secret)) == (None, last)


async def test_after_ten_wrong_tokens_an_address_has_to_wait_and_others_go_on(browse, world, guarded):
    browser, inside = await browse(), await browse()
    await inside.log_in()
    for _ in range(10):
        status, page, _ = await browser.log_in("wrong")
        assert (status, "not the operator&#39;s token" in page) == (401, True)
    status, _, answer = await browser.log_in()
    assert (status, int(answer.headers["Retry-After"]) > 0) == (429, True)
    bearer = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json"}
    assert (await browser.get("/", headers=bearer))[0] == 429
    assert (await inside.get("/"))[0] == 200  # a session is not a guess


async def test_behind_a_proxy_the_wrong_tokens_of_one_client_keep_no_other_out(proxied, browser):
    csrf = csrf_of((await browser.get("/login"))[1])

    async def log_in(client, token):
        headers = {"Origin": browser.origin, "X-Forwarded-For": client}
        return (await browser.post("/login", {"csrf": csrf, "token": token}, headers=headers))[0]

    assert [await log_in("203.0.113.1", "wrong") for _ in range(12)] == [401] * 10 + [429] * 2
    assert await log_in("203.0.113.1", TOKEN) == 429
    assert await log_in("203.0.113.2", TOKEN) == 303


@pytest.mark.parametrize("sent", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", "Bearer h\u00e9"])
async def test_a_program_needs_the_token(world, guarded, sent, browser):
    headers = {"Authorization": sent, "Accept": "application/json"}
    status, _, answer = await browser.get("/runs", headers=headers)
    assert (status, answer.headers["WWW-Authenticate"]) == (401, 'Bearer realm="operator"')
    assert "Set-Cookie" not in answer.headers


async def test_a_program_with_the_token_needs_no_session(browse, world, guarded):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 3))
    browser = await browse()
    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json"}
    answer = (await browser.get("/runs", headers=headers))[2]
    assert [run["id"] for run in await answer.json()] == [1]
    status, _, answer = await browser.post("/runs/1/revert", headers=headers)
    # all jobs would go: yes=true is needed
    assert (status, (await answer.json())["code"]) == (409, "conflict")
    status, _, answer = await browser.post("/runs/1/revert", {"yes": "true"}, headers=headers)
    assert (status, (await answer.json())["reverts"]) == (200, 1)


OURS = ("127.0.0.1:8081", "localhost", "[::1]:8081", "ops.example.ca", "outside.example.ca")
THEIRS = ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8081")


@pytest.mark.parametrize("host", [*OURS, *THEIRS])
async def test_a_name_of_somebody_else_that_leads_here_shows_nothing(browse, world, host):
    world.guarded(hosts=("ops.example.ca",), public_url="https://outside.example.ca")
    browser = await browse()
    status, page, _ = await browser.get("/login", headers={"Host": host})
    assert (status, "operator.hosts" in page) == ((403, True) if host in THEIRS else (200, False))


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/metrics"), ("GET", "/healthz"), ("GET", "/readyz"), ("POST", "/reload")]
)
async def test_addresses_for_programs_are_served_for_the_same_names_as_the_pages(browse, world, method, path):
    world.guarded(hosts=("ops.example.ca",))
    client = (await browse()).client
    for host in ("127.0.0.1:8081", "localhost", "OPS.example.ca"):
        assert (await client.request(method, path, headers={"Host": host})).status == 200
    for host in ("evil.example", "127.0.0.1.evil.example"):
        answer = await client.request(method, path, headers={"Host": host})
        problem = await answer.json(content_type="application/problem+json")
        assert (answer.status, problem["code"]) == (403, "forbidden_host")
    assert (await client.request(method, path, headers={"Host": "no host"})).status == 400


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost.evil"]
)
async def test_a_page_of_another_origin_can_send_nothing(world, origin, browser):
    fields = {"csrf": csrf_of((await browser.get("/employers"))[1]), "name": "Evil Ltd."}
    assert (await browser.post("/employers", fields, headers={"Origin": origin}))[0] == 403
    assert "Evil Ltd." not in (await browser.get("/employers"))[1]
    assert (await browser.get("/runs", headers={"Origin": origin}))[0] == 403


def addresses(method):
    """Return the addresses of the pages with this method."""
    paths = [path for path, methods in ROUTES.items() if method in methods]
    return sorted(path.format(name="acme", number=1, key=1, employer=1) for path in paths)


POSTS, GETS = addresses("POST"), addresses("GET")


@pytest.mark.parametrize("path", POSTS)
async def test_no_address_takes_a_form_of_another_site_or_session(browse, world, guarded, path):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 3))
    world.board.store.write(lambda tx: keys.create(tx, 1))
    browser, stranger = await browse(), await browse()
    await browser.log_in()
    csrf = csrf_of((await browser.get("/login"))[1])
    foreign = csrf_of((await stranger.get("/login"))[1])
    evil = {"Origin": "https://evil.example"}

    def form(**fields):
        found = FormData(fields, default_to_multipart=path == "/preview")
        if path == "/preview":
            found.add_field("file", b"[]", filename="jobs.json")
        return found

    before = world.board.store.read(_changeable)
    assert (await browser.post(path, form(), headers={}))[0] == 403
    assert (await browser.post(path, form(csrf=foreign), headers={}))[0] == 403
    assert (await browser.post(path, form(csrf=csrf), headers=evil))[0] == 403
    assert (await browser.post(path, form(csrf=csrf), headers={"Host": "evil.example"}))[0] == 403
    if path != "/login":
        assert (await stranger.post(path, form(csrf=foreign)))[2].headers["Location"] == "/login"
    assert world.board.store.read(_changeable) == before
    assert (await browser.post(path, form(csrf=csrf)))[0] != 403  # the same form from a page of ours


def _changeable(tx):
    return employers.all(tx), keys.all(tx), feeds.paused(tx), runs.page(tx, None, None, page=1, page_size=9)


#: With "no-referrer" a browser sends its forms with "Origin: null", which is refused.
SAFE = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}


@pytest.mark.parametrize("prepared", [True, False])
async def test_every_address_has_the_headers_of_safety(browse, world, prepared):
    if prepared:
        world.board.deliver(world.feeds["acme"], world.board.rows(1, 3))
        world.board.store.write(lambda tx: keys.create(tx, 1))
    browser = await browse()
    for path in (*GETS, "/nowhere", "/static/0/nothing.css"):
        answer = (await browser.get(path, headers={"Accept": "text/html"}))[2]
        assert answer.status < 500
        found = {name: answer.headers[name] for name in SAFE}
        sheet = (
            path.endswith("/sheet") and answer.status == 200
        )  # one file with its own style, as reports are
        if sheet:
            assert found.pop("Content-Security-Policy").startswith("default-src 'none'; style-src 'sha256-")
        assert found == {name: SAFE[name] for name in found}
        if path.endswith(("/file", "report.html")) and prepared:
            assert answer.headers["Content-Disposition"].startswith("attachment; filename*=UTF-8''")
        elif answer.content_type == "text/html" and not sheet:
            page = (await answer.text()).replace("http://127.0.0.1:8080/docs", "")  # a link to the API
            assert not re.search(r"<style|<script(?! src=)| style=| on\w+=|javascript:|https?://", page)
    assert POLICY.startswith("default-src 'none'; ")
    assert ("frame-ancestors 'none'" in POLICY, "unsafe" in POLICY) == (True, False)


async def test_what_a_page_loads_is_in_the_package_and_may_be_kept(world, guarded, browser):
    page = (await browser.get("/login"))[1]
    found = re.findall(r'(?:href|src)="(/static/[^"]+)"', page)
    assert len(found) == 3
    for path in found:
        status, _, answer = await browser.get(path)
        assert (status, "immutable" in answer.headers["Cache-Control"]) == (200, True)
    status, _, answer = await browser.get("/static/000000000000/style.css")
    assert (status, answer.headers["Cache-Control"]) == (200, "no-store")
    for path in ("/static/0/nothing.css", "/static/0/..%2fcontext.py", "/static/0/%2e%2e"):
        assert (await browser.get(path))[0] == 404


# -- as time goes by ------------------------------------------------------------------------------------------


@dataclass
class Seconds:
    """The clock of sessions and of wrong tokens."""

    now: float = 0.0

    def nanoseconds(self):
        return int(self.now * 1e9)


@pytest.fixture
def seconds():
    return Seconds()


@pytest.fixture
async def timed(world, seconds, aiohttp_client):
    """A browser of pages that ask for the token."""
    world.guarded()
    gate = Gate(world.settings, Sessions(TOKEN, lambda: seconds.now), seconds.nanoseconds)
    app = web.Application(middlewares=[envelope()])
    add_console(app, world.console(gate=gate))
    return Browser(await aiohttp_client(app))


async def test_an_expired_session_shows_and_does_nothing(timed, world, seconds):
    world.hold()
    await timed.log_in()
    csrf = csrf_of((await timed.get("/runs/2/approve"))[1])
    seconds.now = LIFETIME - 1
    assert (await timed.get("/"))[0] == 200
    seconds.now = LIFETIME
    for path in ("/runs/2/approve", "/feeds/acme/pause", "/employers", "/employers/1/keys", "/preview/apply"):
        status, page, answer = await timed.post(path, {"csrf": csrf})
        assert (status, answer.headers["Location"], page) == (303, "/login", "")
    assert (await timed.get("/feeds/acme"))[2].headers["Location"] == "/login?next=/feeds/acme"
    assert world.board.saved(2).state == "held"
    await timed.log_in()
    assert (await timed.post("/runs/2/approve", {"csrf": csrf}))[0] == 403  # a form of the session that ended
    assert world.board.saved(2).state == "held"


async def test_a_thousand_wrong_tokens_are_refused_and_a_while_later_the_right_one_is_not(timed, seconds):
    bearer = {"Authorization": "Bearer wrong", "Accept": "application/json"}
    statuses = [(await timed.get("/runs", headers=bearer))[0] for _ in range(1000)]
    assert statuses == [401] * 10 + [429] * 990
    status, _, answer = await timed.log_in()
    assert status == 429
    seconds.now += int(answer.headers["Retry-After"])
    assert (await timed.log_in())[0] == 303
