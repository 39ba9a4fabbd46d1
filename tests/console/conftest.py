"""The operator's pages over a job board, and browsers of the operator."""

import json
import re
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from aiohttp.test_utils import BaseTestServer

from syncd.cli.entry import run
from syncd.config import Settings, load_settings
from syncd.console import Console, add_console, for_known_hosts
from syncd.feeds.configuration import FeedFile
from syncd.service.listeners import make_operator_app
from syncd.sync.arrival import ArrivalContext
from syncd.sync.run import Feed
from syncd.views import feed_states, how_things_are
from syncd.web import controls_of, health_of
from tests.stores import store_url
from tests.sync.board import Board, FakeHost
from tests.sync.board_fixtures import board_fixture, clock_fixture, store_fixture  # noqa: F401

TOKEN = "hush-hush"
CSRF = re.compile(r'name="csrf" value="(\w+)"')
FIELD = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')


@dataclass
class World:
    """Feeds and settings of the pages; a test changes them before it opens a browser."""

    board: Board
    feeds: dict[str, Feed]
    files: dict[str, FeedFile]
    settings: Settings
    faults: dict[str, str] = field(default_factory=dict)
    #: Whether the clock is trusted.
    trusted: bool = True

    def feed(self, name="acme", toml=""):
        feed = self.feeds[name] = self.board.feed(toml, name)
        self.files[name] = FeedFile(name, feed.config, ())
        return feed

    def hold(self):
        """Run two files of ``acme``. The second would archive 22 of 30 jobs, so its run waits."""
        self.board.deliver(self.feeds["acme"], self.board.rows(1, 30))
        return self.board.deliver(self.feeds["acme"], self.board.rows(1, 8))

    def console(self, prefix="", gate=None):
        board = self.board
        arrival = ArrivalContext(board.store, board.importer, FakeHost(trusts=lambda now: self.trusted))
        parts: dict[str, Any] = {"configured": self, "arrival": arrival, "parts": self.parts}
        return Console(board.store, self.settings, board.catalogue, **parts, prefix=prefix, gate=gate)

    async def parts(self):
        return {"store": "ok", "disk": "ok", "clock": "ok", **self.faults}

    async def health(self):
        """Return how things are, as the daemon does."""
        drop = self.settings.drop.folder
        look = partial(feed_states, files=[*self.files.values()], drop=drop, zone=self.settings.timezone)
        now = self.board.store.now().instant.astimezone(self.settings.timezone)
        return how_things_are(self.board.store.read(look), await self.parts(), now)

    def guarded(self, **changes):
        """Have the pages ask for the token."""
        self.settings = replace(
            self.settings, operator=replace(self.settings.operator, token=TOKEN, **changes)
        )


@pytest.fixture
def world(board, tmp_path):
    """A board with one feed, ``acme``."""
    (tmp_path / "config").mkdir()
    settings = load_settings(None, environ={})
    settings = replace(settings, drop=replace(settings.drop, folder=board.folder / "drop"))
    found = World(board, {}, {}, settings)
    found.feed()
    return found


def csrf_of(page):
    """Return the CSRF token of the forms of a page."""
    return CSRF.findall(page)[0]


class Browser:
    """A client that sends forms as a browser does: with their hidden fields and an Origin."""

    def __init__(self, client):
        self.client = client

    async def get(self, path, **options):
        answer = await self.client.get(path, allow_redirects=False, **options)
        return answer.status, await answer.text(), answer

    async def json(self, path):
        answer = await self.client.get(path, headers={"Accept": "application/json"}, allow_redirects=False)
        return answer.status, await answer.json(content_type=None)

    @property
    def origin(self):
        return str(self.client.make_url("/")).rstrip("/")

    async def post(self, path, fields=None, headers=None, **options):
        headers = {"Origin": self.origin} if headers is None else headers
        options = {"data": fields or {}, "headers": headers, "allow_redirects": False, **options}
        answer = await self.client.post(path, **options)
        return answer.status, await answer.text(), answer

    async def submit(self, path, **fields):
        """Open the page at ``path`` and send the form that it has to the same address."""
        status, page, _ = await self.get(path)
        assert status == 200, page
        main = page[page.index("<main") :]
        return await self.post(path, {**dict(FIELD.findall(main)), **fields})

    async def log_in(self, token=TOKEN):
        return await self.submit("/login", token=token)


@pytest.fixture
def browse(aiohttp_client, world):
    """``await browse()``: another browser of the same daemon; ``restarted``: of another life of it."""
    servers: list[BaseTestServer] = []

    async def open_browser(prefix="", *, restarted=False):
        if restarted or not servers:
            controls = controls_of(lambda accept: ("text/plain", b""), world.health, "")
            programs = {**health_of(world.health), **controls}
            app = make_operator_app(for_known_hosts(world.settings, programs))
            add_console(app, world.console(prefix))
            servers.append((await aiohttp_client(app)).server)
        return Browser(await aiohttp_client(servers[-1]))

    return open_browser


@pytest.fixture
async def browser(browse):
    """A browser of the world as the other fixtures made it."""
    return await browse()


@pytest.fixture
def command(world, capsys, tmp_path):
    """``command("runs")``: what the command prints with ``--json`` about the same store and the same feeds."""
    folder = tmp_path / "config"
    (folder / "feeds.d").mkdir()
    world.settings = replace(world.settings, feeds=folder / "feeds.d")
    (folder / "feeds.d" / "acme.toml").write_text(f'employer = "{world.board.employer.name}"\n')
    (folder / "syncd.toml").write_text(
        f'timezone = "America/Toronto"\n[store]\nurl = "{store_url(tmp_path / "syncd.db")}"\n[drop]\nfolder = "{tmp_path}/drop"\n'
    )

    def call(*arguments, text=False):
        capsys.readouterr()
        code = run(["--config", f"{folder}/syncd.toml", *arguments, *([] if text else ["--json"])])
        shown = capsys.readouterr()
        assert code == 0, shown.err
        return shown.out if text else json.loads(shown.out)

    return call
