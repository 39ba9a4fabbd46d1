"""Preview: a file is uploaded, looked at, and applied; and is removed whatever happens."""

import asyncio
import io
import json
from dataclasses import replace

import pytest
from aiohttp import ClientSession, FormData

from syncd.console import add_console
from syncd.service.listeners import make_operator_app
from syncd.web import Server
from tests.console.conftest import csrf_of


@pytest.fixture
def home(world, tmp_path):
    """Keep previews in the folder of the store of these pages; return their folder."""
    store = replace(world.settings.store, url=f"sqlite:///{tmp_path}/syncd.db")
    world.settings = replace(world.settings, store=store)
    return tmp_path / ".previews"


def files_in(home):
    return sorted(path.name for path in home.rglob("*") if path.is_file())


def form(csrf, rows, *, feed="acme", name="jobs.json"):
    data = FormData()
    if csrf is not None:
        data.add_field("csrf", csrf)
    data.add_field("feed", feed)
    content = rows if isinstance(rows, bytes) else json.dumps(rows).encode()
    data.add_field("file", io.BytesIO(content), filename=name)
    return data


async def send(browser, rows, **options):
    csrf = csrf_of((await browser.get("/preview"))[1])
    return await browser.post("/preview", form(csrf, rows, **options))


async def until(condition):
    async with asyncio.timeout(20):
        while not (found := await condition()):
            await asyncio.sleep(0.02)
    return found


async def shown(browser):
    async def ended():
        page = (await browser.get("/preview"))[1]
        return "loads itself again" not in page and page

    return await until(ended)


async def until_files(home, *names):
    async def there():
        return files_in(home) == [*names]

    await until(there)


async def test_a_file_is_previewed_changes_nothing_and_is_applied(browse, world, home):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 60))
    browser = await browse()
    row = world.board.row
    changed = [row("r1", title="Baker"), row("r2", confidential=True), row("new", title="Miller")]
    rows = [*changed, *world.board.rows(3, 60), row("x", title="")]
    status, _, answer = await send(browser, rows)
    assert (status, answer.headers["Location"]) == (303, "/preview")
    page = await shown(browser)
    assert "<del>Cook r1</del> → <ins>Baker</ins>" in page
    assert ('href="/jobs/2">Cook r2</a>' in page, "Miller" in page) == (True, True)
    assert "Rejected rows: 1" in page
    assert world.board.job("r1").title == "Cook r1"
    assert files_in(home) == ["jobs.json"]
    assert (await browser.post("/preview/apply", {"csrf": csrf_of(page)}))[0] == 303

    async def applied():
        return (await browser.get("/preview"))[2].headers.get("Location") == "/runs/2"

    await until(applied)
    assert (world.board.job("r1").title, world.board.saved(2).file) == ("Baker", "jobs.json")
    assert files_in(home) == []
    assert (await browser.post("/preview/apply", {"csrf": csrf_of(page)}))[0] == 409


async def test_a_file_without_a_feed_gets_a_draft(world, home, browser):
    await send(browser, b"Title,Reference,City\nCook,1,Toronto\nBaker,2,Ottawa\n", feed="", name="jobs.csv")
    page = await shown(browser)
    assert ("A draft for jobs.csv" in page, "[fields]" in page) == (True, True)
    assert (await browser.post("/preview/apply", {"csrf": csrf_of(page)}))[0] == 409


async def test_a_program_gets_the_plan_and_its_file_is_removed(browse, world, home):
    world.guarded()
    browser = await browse()
    headers = {"Authorization": "Bearer hush-hush", "Accept": "application/json"}
    data = form(None, world.board.rows(1, 3))
    status, text, _ = await browser.post("/preview", data, headers=headers)
    found = json.loads(text)
    assert (status, found["state"]) == (200, "planned")
    assert found["counts"]["created"] == len(found["changes"]) == 3
    assert files_in(home) == []
    status, text, _ = await browser.post("/preview", form(None, b"%PDF-1.7 no feed"), headers=headers)
    assert (status, files_in(home)) == (409, [])


NAMES = (
    "../../../etc/passwd",
    "<img src=x>.json",
    "a\u202eb\u2028.json",
    "..",
    "x" * 500 + ".json",
    "\\\\a\\b.json",
)


@pytest.mark.parametrize("name", NAMES)
async def test_a_hostile_name_stays_in_its_folder_and_is_text(world, home, name, browser):
    status = (await send(browser, world.board.rows(1, 2), name=name))[0]
    assert status == (400 if name == ".." else 303)
    page = await shown(browser)
    assert "<img" not in page
    assert len(files_in(home)) == (status == 303)


async def test_a_file_that_cannot_be_used_says_why(world, home, browser):
    await send(browser, b"\x00\x01 <script>alert(1)</script>")
    page = await shown(browser)
    assert ('role="alert"' in page, "<script>alert" in page) == (True, False)


async def test_a_preview_needs_the_token_of_the_form_before_its_file(world, home, browser):
    await browser.get("/preview")
    assert (await browser.post("/preview", form("wrong", world.board.rows(1, 2))))[0] == 403
    assert (await browser.post("/preview", form(None, world.board.rows(1, 2))))[0] == 403
    assert (await browser.post("/preview", {"csrf": "x"}))[0] == 400
    assert (await browser.post("/preview/apply", {"csrf": "wrong"}))[0] == 403
    assert files_in(home) == []


async def test_a_wrong_feed_and_a_file_that_is_too_large_leave_nothing(browse, world, home):
    limits = replace(world.settings.limits, file=3_000_000)
    world.settings = replace(world.settings, limits=limits)
    browser = await browse()
    assert (await send(browser, b"[]", feed="nobody"))[0] == 404
    assert (await send(browser, b" " * 2_900_000))[0] == 303
    await shown(browser)
    assert (await send(browser, b" " * 3_000_001))[0] == 413
    assert files_in(home) == []


async def test_an_upload_that_breaks_off_leaves_nothing_and_another_one_waits_for_its_end(
    world, home, browser
):
    csrf = csrf_of((await browser.get("/preview"))[1])
    cookie = browser.client.session.cookie_jar.filter_cookies(browser.client.make_url("/"))[
        "syncd_operator"
    ].value
    _reader, writer = await asyncio.open_connection(browser.client.host, browser.client.port)
    head = (
        f"POST /preview HTTP/1.1\r\nHost: localhost\r\nCookie: syncd_operator={cookie}\r\nContent-Length: 900000\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\n\r\n"
        f'--b\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{csrf}\r\n'
        '--b\r\nContent-Disposition: form-data; name="file"; filename="a.json"\r\n\r\n[{'
    )
    writer.write(head.encode() + b" " * 100_000)
    await writer.drain()
    await until_files(home, "a.json")
    status, page, _ = await browser.post("/preview", form(csrf, b"[]"))
    assert (status, "another preview" in page, files_in(home)) == (409, True, ["a.json"])
    writer.close()
    await until_files(home)


async def test_what_a_killed_daemon_left_is_removed_at_the_start_and_the_rest_at_the_end(browse, world, home):
    (home / "left").mkdir(parents=True)
    (home / "left" / "old.json").touch()
    browser = await browse()
    assert files_in(home) == []
    await send(browser, world.board.rows(1, 2))
    await shown(browser)
    assert (files_in(home), home.stat().st_mode & 0o777) == (["jobs.json"], 0o700)
    await browser.client.server.close()
    assert not home.exists()


async def test_two_sessions_do_not_see_the_files_of_each_other(browse, world, home):
    first, second = await browse(), await browse()
    await send(first, world.board.rows(1, 2))
    await shown(first)
    page = (await second.get("/preview"))[1]
    assert "jobs.json" not in page
    assert (await second.post("/preview/apply", {"csrf": csrf_of(page)}))[0] == 409


async def test_the_server_lets_a_file_be_larger_than_other_bodies(world, home):
    operator = make_operator_app({})
    add_console(operator, world.console())
    server = Server(operator, world.settings.api)
    address = "http://{}:{}/".format(*await server.listen(("127.0.0.1", 0)))
    rows = world.board.rows(1, 9, description="<p>" + "We cook. " * 60_000 + "</p>")
    headers = {"Accept": "application/json", "Authorization": "Bearer x"}
    try:
        async with ClientSession() as client:
            answer = await client.post(address + "preview", data=form(None, rows), headers=headers)
            assert (answer.status, (await answer.json())["counts"]["created"]) == (200, 9)
    finally:
        await server.retire()
