"""The overview, ``/readyz``, ``syncd status`` and systemd's ``STATUS=`` say the same about how things are."""

import asyncio
from datetime import timedelta
from html import unescape
from types import SimpleNamespace
from typing import Any

import pytest

from syncd.cli.daemon import faults_of_service, status
from syncd.config import load_settings
from syncd.domain import RunState
from syncd.errors import SyncdError
from syncd.feeds.configuration import FeedFile
from syncd.notify import ServiceNotices
from syncd.notify.words import words_of
from syncd.service import served
from syncd.service.housekeeping import DegradedFeeds, Housekeeping
from syncd.service.supervision import tell_status
from syncd.store import feeds, notices, sources
from syncd.store.sources import SourceState
from syncd.sync.drop_file import DropFile

FULL = "/srv/drop: No space left on device"
LOCKED = "the store cannot be used now: another process holds it locked"
CLOCK = "the time moved by 3 hours: no file is run, and no job closed or refreshed, for 10 minutes"


def fail(world):
    """Run a file of acme that cannot be read."""
    spoilt = world.board.folder / "drop" / "failed" / "spoilt.json"
    spoilt.parent.mkdir(parents=True, exist_ok=True)
    spoilt.write_text("{")
    source, feed = DropFile.at(spoilt), world.feeds["acme"]
    run = world.board.importer.run(feed, source, world.board.begin(feed, source))
    assert run.state is RunState.FAILED


def source_failing(world):
    world.feed("acme", '[source]\nurl = "https://careers.example.ca/jobs.json"')
    now = world.board.store.now().instant
    state = SourceState(failures=2, failing_since=now - timedelta(hours=21), reason="403 Forbidden")
    world.board.store.write(lambda tx: sources.remember(tx, "acme", state, world.settings.timezone))


def overdue(world):
    world.feed("acme", 'expect_every = "1d"')
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 3))
    world.board.clock.forward(days=2)


#: State → (what makes it, whether the service is ready, the headline, a part of the reason, the event of the notice).
STATES: dict[str, Any] = {
    "all well": (lambda world: None, True, "All is well", "", None),
    "paused": (
        lambda world: (
            world.board.deliver(world.feeds["acme"], world.board.rows(1, 3)),
            world.board.store.write(lambda tx: feeds.pause(tx, "acme", "nonsense")),
        ),
        True,
        "All is well; acme is paused",
        "nonsense",
        None,
    ),
    "full disk": (
        lambda world: world.faults.update(disk=FULL),
        False,
        "The disk is full or has a fault",
        FULL,
        "service.disk",
    ),
    "locked store": (
        lambda world: world.faults.update(store=LOCKED),
        False,
        "The store cannot be used",
        LOCKED,
        "service.store",
    ),
    "clock": (
        lambda world: world.faults.update(clock=CLOCK),
        True,
        "No file is run, because the time is in doubt",
        CLOCK,
        "service.clock",
    ),
    "degraded": (
        lambda world: world.files.update(acme=FeedFile("acme", None, ("acme.toml: employer: missing",))),
        True,
        "1 feed needs somebody: acme is degraded",
        "acme.toml: employer: missing",
        "feed.degraded",
    ),
    "overdue": (
        overdue,
        True,
        "1 feed needs somebody: acme is overdue",
        ", one is expected every 24 hours",
        "feed.overdue",
    ),
    "failed": (
        fail,
        True,
        "1 feed needs somebody: the last file of acme failed",
        "run 1 failed: ",
        "feed.failed",
    ),
    "source failing": (
        source_failing,
        True,
        "1 feed needs somebody: the file of acme cannot be fetched",
        "failing since 2026-11-15 15:00 EST: 403 Forbidden",
        "source.failed",
    ),
    "held": (
        lambda world: world.hold(),
        True,
        "1 feed needs somebody: acme waits for a decision",
        "run 2 waits for a decision: ",
        "feed.held",
    ),
}


def settings_of(address):
    return load_settings(None, environ={"SYNCD_OPERATOR__LISTEN": address})


async def notices_of(world):
    """Let the daemon's timers look for more than a minute; return all notices."""
    store, seconds = world.board.store, [0.0]
    in_force: Any = SimpleNamespace(
        feeds=world.feeds,
        waiting=dict,
        wrong={name: "; ".join(file.faults) for name, file in world.files.items() if file.faults},
    )
    clock: Any = SimpleNamespace(trusts=lambda now: True, remember=lambda: None)
    notifier: Any = SimpleNamespace(store=store, send_unkept=lambda unkept: sent_unkept(store, unkept))
    service = ServiceNotices(notifier, world.parts, lambda: seconds[0])
    for _ in range(2):
        DegradedFeeds(store, in_force, lambda: seconds[0]).tick()
        Housekeeping(store, timedelta(days=400), in_force, clock, world.settings.timezone).tick()
        await service.look()
        seconds[0] += 61.0
    every = store.read(lambda tx: tx.all(notices._NEW, after=0, limit=100))
    return [notice for notice in every if notice.event != "feed.recovered"]


async def sent_unkept(store, unkept):
    """Keep what would be sent from memory: the store of the test is not really locked."""
    for notice in unkept:
        store.write(lambda tx, notice=notice: notices.add(tx, notice))


@pytest.mark.parametrize("state", STATES)
async def test_all_say_the_same(browse, world, capsys, state):
    make, ready, headline, reason, event = STATES[state]
    make(world)
    well = headline.startswith("All is well")
    browser = await browse()
    server = browser.client.server

    code, answer = await browser.json("/readyz")
    assert (code, answer["ready"], answer["well"]) == (200 if ready else 503, ready, well)
    assert answer["headline"] == headline

    page = unescape((await browser.get("/"))[1])
    assert f"<h1>{headline}</h1>" in page
    assert reason in page

    settings = settings_of(f"{server.host}:{server.port}")
    capsys.readouterr()
    assert await asyncio.to_thread(status, settings, False) == (0 if well else 1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == headline
    assert any(reason in line for line in lines)

    heard: list[str] = []
    notifier: Any = SimpleNamespace(send=heard.append)
    readiness: Any = world.health
    task = asyncio.create_task(tell_status(notifier, readiness))
    while not heard:
        await asyncio.sleep(0)
    task.cancel()
    assert heard == [f"STATUS={headline}"]

    written = await notices_of(world)
    assert [notice.event for notice in written] == ([event] if event is not None else [])
    for notice, need in zip(written, answer["needs"], strict=True):
        assert notice.feed == need["feed"]
        words = words_of(notice, "")
        assert need["reason"].lower() in f"{words.happened}: {words.title}".lower()


def test_without_a_daemon_the_status_is_an_error_that_says_so():
    with pytest.raises(SyncdError, match=r"no daemon answers at 127\.0\.0\.1:9 "):
        status(settings_of("127.0.0.1:9"), False)


async def test_a_headline_names_the_most_urgent_feeds_and_counts_the_others(browse, world):
    for name in ("birch", "cedar", "dogwood", "elm"):
        world.files[name] = FeedFile(name, None, ("wrong",))
    world.hold()
    answer = (await (await browse()).json("/readyz"))[1]
    assert answer["headline"] == (
        "5 feeds need somebody: acme waits for a decision, birch is degraded, cedar is degraded and 2 more"
    )
    assert [need["feed"] for need in answer["needs"]] == ["acme", "birch", "cedar", "dogwood", "elm"]


async def test_a_list_of_feeds_says_why_no_file_is_run(browse, world, monkeypatch):
    world.faults |= {"disk": FULL, "loop": "late by 2.0 s"}
    world.hold()
    server = (await browse()).client.server
    settings = settings_of(f"{server.host}:{server.port}")
    assert await asyncio.to_thread(faults_of_service, settings) == [], (
        "it is the daemon of another installation"
    )
    monkeypatch.setattr(served, "served_store", lambda settings: ("it", True))
    assert await asyncio.to_thread(faults_of_service, settings) == [f"disk: {FULL}"]
    assert faults_of_service(settings_of("127.0.0.1:9")) == []
