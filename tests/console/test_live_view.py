"""Live views: an open page asks for itself every two seconds, and gets a 304 while it shows what is so."""

import pytest

from syncd.domain import RunProgress
from syncd.store import feeds, runs
from tests.console.conftest import csrf_of


class View:
    """An open page, which asks for itself as htmx does."""

    def __init__(self, browser, path):
        self.browser, self.path, self.page, self.etag = browser, path, "", ""

    async def renews(self):
        """Return whether the page is another one now."""
        status, page, answer = await self.browser.get(self.path, headers={"If-None-Match": self.etag})
        assert status in (200, 304), page
        assert (answer.headers["Cache-Control"], bool(page)) == ("no-store", status == 200)
        self.page, self.etag = page or self.page, answer.headers["ETag"]
        return status == 200


@pytest.fixture
def open_page(browse):
    async def opened(path):
        view = View(await browse(), path)
        assert await view.renews()
        assert not await view.renews()
        return view

    return opened


async def test_a_page_asks_for_itself_with_the_etag_that_it_was_answered_with(open_page, world):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 3))
    paths = "/?page=1 /feeds/acme?page=1 /runs/1?action=created /employers/1 /employers/1/keys"
    for path in paths.split():
        view = await open_page(path)
        tag = view.etag.replace('"', "&#34;")
        assert f'hx-get="{path}" hx-trigger="every 2s, renew"' in view.page
        assert f'data-etag="{tag}"' in view.page


async def test_the_overview_learns_of_runs_and_pauses(open_page, world):
    view = await open_page("/")
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 3))
    assert await view.renews()
    world.board.store.write(lambda tx: feeds.pause(tx, "acme", "nonsense"))
    assert (await view.renews(), "nonsense" in view.page, await view.renews()) == (True, True, False)


async def test_the_overview_learns_how_far_a_run_is(open_page, world):
    feed, source = world.feeds["acme"], world.board.file(world.board.rows(1, 3))
    world.board.begin(feed, source)
    view = await open_page("/")
    world.board.store.write(lambda tx: runs.set_progress(tx, 1, RunProgress("reading", 12, 0.37)))
    assert await view.renews()
    assert ("Running now" in view.page, "reading, 37 %" in view.page) == (True, True)
    assert 'value="0.37" aria-label="Progress of run 1">37 %</progress>' in view.page
    shown = (await view.browser.json("/runs/1"))[1]
    assert shown["progress"] == {"phase": "reading", "records": 12, "share": 0.37}


async def test_a_run_learns_of_what_concerns_it_alone(open_page, world):
    world.hold()
    view = await open_page("/runs/2")
    world.board.deliver(world.feed("other"), [world.board.row("o1")])
    assert not await view.renews()
    await view.browser.submit("/runs/2/reject")
    assert (await view.renews(), "rejected" in view.page) == (True, True)


async def test_a_feed_learns_of_its_runs_and_pauses_and_of_no_other_run(open_page, world):
    other, view = world.feed("other"), await open_page("/feeds/acme")
    world.board.deliver(other, [world.board.row("o1")])
    assert not await view.renews()
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 3))
    assert await view.renews()
    world.board.store.write(lambda tx: feeds.pause(tx, "acme", "nonsense"))
    assert (await view.renews(), await view.renews()) == (True, False)


async def test_an_employer_learns_of_its_keys(open_page, world):
    view = await open_page("/employers/1")
    fields = {"csrf": csrf_of(view.page), "expires": "2h"}
    assert (await view.browser.post("/employers/1/keys", fields))[0] == 201
    assert (await view.renews(), await view.renews()) == (True, False)
    wrong = await view.browser.post("/employers/1/keys", {**fields, "expires": "soon"})
    assert ("hx-get" in wrong[1], "ETag" in wrong[2].headers) == (False, False)  # its fault would vanish


async def test_a_page_learns_within_half_a_minute_of_what_time_and_the_api_change(open_page, world, clock):
    world.feed("late", 'expect_every = "3h"')
    world.board.deliver(world.feeds["late"], world.board.rows(1, 3))
    view = await open_page("/")
    assert "data-relative>in 3 hours</time>" in view.page
    world.board.put(world.board.row("api-1"))
    assert not await view.renews()
    clock.forward(seconds=30)
    assert (await view.renews(), "1 draft<" in view.page) == (True, True)
    clock.forward(hours=4)
    assert await view.renews()
    assert (">overdue</span>" in view.page, "1 hour ago</time>" in view.page) == (True, True)


async def test_a_page_of_another_life_of_the_daemon_is_renewed_with_its_forms(open_page, browse, world):
    view = await open_page("/feeds/acme")
    before = csrf_of(view.page)
    view.browser = await browse(restarted=True)
    assert (await view.renews(), csrf_of(view.page) != before) == (True, True)


async def test_a_view_ends_with_its_session(browse, world):
    world.guarded()
    browser = await browse()
    await browser.log_in()
    _, page, answer = await browser.get("/")
    await browser.post("/logout", {"csrf": csrf_of(page)})
    status, _, again = await browser.get("/", headers={"If-None-Match": answer.headers["ETag"]})
    assert (status, again.headers["Location"]) == (303, "/login")


async def test_pages_that_do_not_renew_themselves_ask_for_nothing(world, browser):
    for path in ("/runs", "/jobs", "/employers", "/service", "/preview"):
        _, page, answer = await browser.get(path)
        assert ("hx-get" in page, "live.js" in page, "ETag" in answer.headers) == (False, False, False)
