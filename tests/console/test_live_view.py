"""Live views: a page that is open learns that what it shows has changed."""

import asyncio
import re

import pytest

from syncd.console import digests, live
from syncd.domain import RunProgress
from syncd.store import feeds, runs
from tests.console.conftest import csrf_of


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(live, "LOOK", 0.02)


def live_address(page):
    return re.findall(r'<main[^>]* data-live="([^"]+)"', page)[0].replace("&amp;", "&")


async def listen(browser, path, **options):
    answer = await browser.client.get(path, allow_redirects=False, **options)
    assert (answer.status, answer.content_type) == (200, "text/event-stream")
    assert await event(answer) == "retry: 2000"
    return answer


async def event(answer, seconds=5.0):
    found = await asyncio.wait_for(answer.content.readuntil(b"\n\n"), seconds)
    return found.decode().strip()


async def silent(answer):
    """Return whether nothing comes while a store is looked at several times."""
    try:
        await event(answer, 0.2)
    except TimeoutError:
        return True
    return False


async def test_the_overview_learns_of_runs_and_pauses(browse, world):
    browser = await browse()
    stream = await listen(browser, live_address((await browser.get("/"))[1]))
    assert await silent(stream)
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 3))
    assert (await event(stream)).startswith("id: ")
    world.board.store.write(lambda tx: feeds.pause(tx, "acme", "nonsense"))
    assert (await event(stream)).startswith("id: ")
    assert await silent(stream)


async def test_the_overview_learns_how_far_a_run_is(browse, world):
    feed, source = world.feeds["acme"], world.board.file(world.board.rows(1, 3))
    world.board.begin(feed, source)
    browser = await browse()
    stream = await listen(browser, live_address((await browser.get("/"))[1]))
    world.board.store.write(lambda tx: runs.set_progress(tx, 1, RunProgress("reading", 12, 0.37)))
    await event(stream)
    page = (await browser.get("/"))[1]
    assert ("Running now" in page, "reading, 37 %" in page) == (True, True)
    assert 'value="0.37" aria-label="Progress of run 1">37 %</progress>' in page
    shown = (await browser.json("/runs/1"))[1]
    assert shown["progress"] == {"phase": "reading", "records": 12, "share": 0.37}


async def test_a_run_learns_what_concerns_it_and_nothing_else(browse, world):
    feed = world.feeds["acme"]
    world.board.deliver(feed, world.board.rows(1, 30))
    world.board.deliver(feed, world.board.rows(1, 8))
    browser = await browse()
    page = (await browser.get("/runs/2"))[1]
    stream = await listen(browser, live_address(page))
    world.board.deliver(world.feed("other"), [world.board.row("o1")])
    assert await silent(stream)
    await browser.submit("/runs/2/reject")
    assert (await event(stream)).startswith("id: ")


async def test_the_overview_learns_what_time_alone_changes(browse, world, clock):
    world.feed("late", 'expect_every = "3h"')
    world.board.deliver(world.feeds["late"], world.board.rows(1, 3))
    browser = await browse()
    page = (await browser.get("/"))[1]
    assert re.search(r"<time datetime=[^>]+ data-relative>in 3 hours</time>", page)
    stream = await listen(browser, live_address(page))
    clock.forward(hours=2)
    assert await silent(stream)  # the page renews relative times by itself
    clock.forward(hours=2)
    await event(stream)
    page = (await browser.get("/"))[1]
    assert (">overdue</span>" in page, "1 hour ago</time>" in page) == (True, True)
    clock.forward(hours=1)
    assert await silent(stream)
    clock.forward(hours=24)  # "today" is "yesterday" now
    await event(stream)


async def test_the_overview_learns_of_jobs_of_the_api_once_in_a_while(browse, world, monkeypatch):
    monkeypatch.setattr(digests, "JOBS", 1.0)
    browser = await browse()
    stream = await listen(browser, live_address((await browser.get("/"))[1]))
    world.board.put(world.board.row("api-1"))
    await event(stream)
    world.board.put(world.board.row("api-2"))
    assert await silent(stream)
    await event(stream)


async def test_a_feed_learns_of_its_runs_and_pauses_and_of_nothing_else(browse, world):
    other = world.feed("other")
    browser = await browse()
    stream = await listen(browser, live_address((await browser.get("/feeds/acme"))[1]))
    world.board.deliver(other, [world.board.row("o1")])
    assert await silent(stream)
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 3))
    await event(stream)
    world.board.store.write(lambda tx: feeds.pause(tx, "acme", "nonsense"))
    await event(stream)
    assert await silent(stream)


async def test_an_employer_learns_of_its_keys_and_of_their_end(browse, world, clock):
    browser = await browse()
    page = (await browser.get("/employers/1"))[1]
    stream = await listen(browser, live_address(page))
    fields = {"csrf": csrf_of(page), "expires": "2h"}
    assert (await browser.post("/employers/1/keys", fields))[0] == 201
    await event(stream)
    clock.forward(hours=1)
    assert await silent(stream)
    clock.forward(hours=2)
    await event(stream)
    wrong = await browser.post("/employers/1/keys", {**fields, "expires": "soon"})
    assert "data-live" not in wrong[1]  # it would be replaced by a page without the fault


async def test_a_view_of_what_is_not_there_is_silent(browse, world):
    browser = await browse()
    for query in ("run=99", "feed=nobody", "feed=%3Cscript%3E", "employer=99"):
        assert await silent(await listen(browser, f"/live?{query}&seen="))


async def test_a_view_that_comes_back_learns_what_it_missed(browse, world):
    browser = await browse()
    path = live_address((await browser.get("/"))[1])
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 3))
    found = await event(await listen(browser, path))
    number = re.findall("^id: (.*)$", found, re.MULTILINE)[0]
    assert number in live_address((await browser.get("/"))[1])
    again = await listen(browser, path, headers={"Last-Event-ID": number})
    assert await silent(again)


async def test_all_views_share_one_look_at_the_store(browse, world, monkeypatch):
    looks = []
    digest = digests.Digests.of

    def counted(*given):
        looks.append(1)
        return digest(*given)

    monkeypatch.setattr(digests.Digests, "of", counted)
    monkeypatch.setattr(live, "SHARED", 50)
    browser = await browse()
    path = live_address((await browser.get("/"))[1])
    streams = await asyncio.gather(*(listen(browser, path) for _ in range(50)))
    looks.clear()
    await asyncio.sleep(0.2)
    assert 0 < len(looks) <= 11
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 3))
    assert len({await event(stream) for stream in streams}) == 1


async def test_too_many_views_are_refused(browse, world, monkeypatch):
    monkeypatch.setattr(live, "MOST", 2)
    browser = await browse()
    first = await listen(browser, "/live?seen=x")
    await listen(browser, "/live?seen=x")
    assert (await browser.get("/live"))[0] == 503
    first.close()
    for _ in range(200):
        if (await browser.client.get("/live?seen=x")).status == 200:
            return
        await asyncio.sleep(0.02)
    pytest.fail("a browser that went away still counts")


async def test_a_stop_ends_all_views_at_once(browse, world):
    browser = await browse()
    path = live_address((await browser.get("/"))[1])
    streams = [await listen(browser, path) for _ in range(3)]
    await asyncio.wait_for(browser.client.server.close(), 2)
    for stream in streams:
        assert await asyncio.wait_for(stream.content.read(), 1) == b""


async def test_a_view_ends_with_its_session(browse, world, monkeypatch):
    monkeypatch.setattr(live, "SILENCE", 0.05)
    world.guarded()
    browser = await browse()
    await browser.log_in()
    page = (await browser.get("/"))[1]
    stream = await listen(browser, live_address(page))
    assert await event(stream) == ": nothing new"
    await browser.post("/logout", {"csrf": csrf_of(page)})
    await asyncio.wait_for(stream.content.read(), 2)
    assert (await browser.get("/live"))[0] == 303


@pytest.mark.parametrize("query", ["run=0", "run=x", "run=-1", "run=99999999999999999999", "employer=x"])
async def test_a_wrong_number_is_refused(browse, world, query):
    status = (await (await browse()).get(f"/live?{query}"))[0]
    assert status == 400


async def test_a_page_of_another_site_gets_no_stream(browse, world):
    browser = await browse()
    assert (await browser.get("/live", headers={"Origin": "https://evil.example"}))[0] == 403
    assert (await browser.get("/live", headers={"Host": "evil.example"}))[0] == 403


async def test_nothing_of_a_browser_is_repeated_in_the_stream(browse, world):
    browser = await browse()
    stream = await listen(browser, "/live?seen=%0a%0adata:%20evil", headers={"Last-Event-ID": "evil"})
    assert "evil" not in await event(stream)


async def test_pages_that_do_not_change_have_no_stream(browse, world):
    browser = await browse()
    for path in ("/runs", "/jobs", "/employers", "/service", "/preview"):
        assert "data-live" not in (await browser.get(path))[1]
