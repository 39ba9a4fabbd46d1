"""Sessions and wrong tokens as time goes by, over HTTP."""

from dataclasses import dataclass

import pytest
from aiohttp import web
from pytest_aiohttp.plugin import AiohttpClient

from syncd.console import add_console
from syncd.console.gate import LIFETIME, Gate, Sessions
from syncd.web import envelope
from tests.console.conftest import TOKEN, Browser, csrf_of


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
async def browser(world, seconds, aiohttp_client: AiohttpClient):
    """A browser of pages that ask for the token."""
    world.guarded()
    gate = Gate(world.settings, Sessions(TOKEN, lambda: seconds.now), seconds.nanoseconds)
    app = web.Application(middlewares=[envelope()])
    add_console(app, world.context(), gate)
    return Browser(await aiohttp_client(app))


async def test_an_expired_session_shows_and_does_nothing(browser, world, seconds):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 30))
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 8))
    await browser.log_in()
    csrf = csrf_of((await browser.get("/runs/2/approve"))[1])
    seconds.now = LIFETIME
    for path in ("/runs/2/approve", "/feeds/acme/pause", "/employers", "/employers/1/keys", "/preview/apply"):
        status, page, answer = await browser.post(path, {"csrf": csrf})
        assert (status, answer.headers["Location"], page) == (303, "/login", "")
    assert (await browser.get("/feeds/acme"))[2].headers["Location"] == "/login?next=/feeds/acme"
    assert world.board.saved(2).state == "held"
    await browser.log_in()
    assert (await browser.post("/runs/2/approve", {"csrf": csrf}))[
        0
    ] == 403  # the form of the session that ended
    assert world.board.saved(2).state == "held"


async def test_a_thousand_wrong_tokens_are_refused_and_a_while_later_the_right_one_is_not(browser, seconds):
    bearer = {"Authorization": "Bearer wrong", "Accept": "application/json"}
    statuses = [(await browser.get("/runs", headers=bearer))[0] for _ in range(1000)]
    assert statuses == [401] * 10 + [429] * 990
    status, _, answer = await browser.log_in()
    assert status == 429
    seconds.now += int(answer.headers["Retry-After"])
    assert (await browser.log_in())[0] == 303
