"""The turns of all sources while the daemon runs, by a clock that the test sets."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, timedelta
from types import SimpleNamespace
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest

from syncd.domain import Catalogue
from syncd.errors import Conflict
from syncd.feeds.configuration import FeedDefaults, parse_feed
from syncd.sources import Fetcher, Schedule, schedule
from syncd.sources.fetcher import address_digest
from syncd.store import Store, employers, feeds, sources
from tests.sources.conftest import NOW

HOUR = timedelta(hours=1)


@dataclass
class Fetches:
    """A Fetcher that writes the next turn as the test wants it. ``begun`` has the feeds; one that ``hangs`` never ends."""

    store: Store
    begun: list[str] = field(default_factory=list)
    hangs: set[str] = field(default_factory=set)
    busy: bool = False

    async def turn(self, feed, source):
        self.begun.append(feed.name)
        if self.busy:
            raise Conflict("another process fetches")
        if feed.name in self.hangs:
            await asyncio.Event().wait()
        now = self.store.now().instant
        state = sources.SourceState(address_digest(source), succeeded_at=now, next_at=now + HOUR)
        self.store.write(lambda tx: sources.remember(tx, feed.name, state))
        return SimpleNamespace(state=state)


@pytest.fixture
def time():
    return SimpleNamespace(now=NOW)


@pytest.fixture
def store(tmp_path, time):
    with Store.open(
        f"sqlite:///{tmp_path}/syncd.db", timezone=ZoneInfo("UTC"), clock=lambda: time.now
    ) as store:
        store.write(lambda tx: employers.add(tx, "Acme"))
        yield store


def feed(name, more='every = "1h"'):
    text = f'employer = "Acme"\n[source]\nurl = "https://h.example/{name}"\n{more}'
    config = parse_feed(name, text, Catalogue.default(), FeedDefaults())
    return SimpleNamespace(name=name, config=config)


class Running:
    """A schedule that runs. ``until(condition)`` gives it turns of the loop."""

    def __init__(self, store, feeds, monkeypatch):
        monkeypatch.setattr(schedule, "POLL", 0.001)
        self.feeds, self.fetches = feeds, Fetches(store)
        self.schedule = Schedule(store, cast("Fetcher", self.fetches), self._configured, UTC)

    def _configured(self) -> dict[str, Any]:
        return {each.name: each for each in self.feeds}

    async def __aenter__(self):
        self.task = asyncio.create_task(self.schedule.run())
        return self

    async def __aexit__(self, *_):
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task

    async def begun(self, count):
        async with asyncio.timeout(20):
            while len(self.fetches.begun) < count:
                await asyncio.sleep(0.001)
        return self.fetches.begun

    async def nothing_more(self):
        before = len(self.fetches.begun)
        await asyncio.sleep(0.05)
        assert len(self.fetches.begun) == before


@pytest.fixture
def running(store, monkeypatch):
    return lambda *feeds: Running(store, list(feeds), monkeypatch)


async def test_every_begins_at_the_start_and_goes_on_by_the_store(running, time):
    async with running(feed("acme")) as world:
        assert await world.begun(1) == ["acme"]
        await world.nothing_more()
        time.now += HOUR
        await world.begun(2)


async def test_times_of_day_wait_for_their_time_and_missed_ones_are_not_made_up(running, time, store):
    late = sources.SourceState(next_at=NOW - HOUR)
    store.write(lambda tx: sources.remember(tx, "acme", late))
    async with running(feed("acme", 'at = ["13:00"]')) as world:
        await world.nothing_more()
        time.now += HOUR
        await world.begun(1)


async def test_one_that_hangs_delays_no_other_and_is_cancelled_in_the_end(running):
    async with running(feed("hangs"), feed("acme")) as world:
        world.fetches.hangs = {"hangs"}
        assert sorted(await world.begun(2)) == ["acme", "hangs"]
        await world.nothing_more()
    assert world.schedule._going == {}


async def test_few_turns_begin_at_once_and_those_that_hang_delay_no_other(store):
    many = [feed(f"f{number}") for number in range(schedule.MAX_BEGUN * 2 + 1)]
    fetches = Fetches(store, hangs={each.name for each in many})
    turns = Schedule(
        store, cast("Fetcher", fetches), lambda: {each.name: cast("Any", each) for each in many}, UTC
    )
    going = []
    for _ in range(4):
        turns._look()
        going.append(len(turns._going))
    assert going == [schedule.MAX_BEGUN, schedule.MAX_BEGUN * 2, len(many), len(many)]
    for task in turns._going.values():
        task.cancel()
    await asyncio.gather(*turns._going.values(), return_exceptions=True)


async def test_a_paused_feed_has_no_turn_until_it_is_resumed(running, time, store):
    owner = store.read(lambda tx: employers.find(tx, "Acme"))
    store.write(lambda tx: feeds.feed_id(tx, "acme", owner.id))
    store.write(lambda tx: feeds.pause(tx, "acme", ""))
    async with running(feed("acme")) as world:
        await world.nothing_more()
        store.write(lambda tx: feeds.resume(tx, "acme"))
        time.now += timedelta(seconds=schedule.AGAIN)
        await world.begun(1)


async def test_a_command_counts_as_a_turn(running, time, store):
    async with running(feed("acme")) as world:
        await world.begun(1)
        await world.nothing_more()
        before = store.read(lambda tx: sources.state(tx, "acme"))
        later = before._replace(next_at=NOW + 2 * HOUR)
        store.write(lambda tx: sources.remember(tx, "acme", later))
        time.now += HOUR
        await world.nothing_more()
        time.now += HOUR
        await world.begun(2)


async def test_a_source_that_was_slowed_down_stays_so_over_a_restart(running, store):
    source = feed("acme").config.source
    slow = sources.SourceState(address_digest(source), failures=5, failing_since=NOW, next_at=NOW + 4 * HOUR)
    store.write(lambda tx: sources.remember(tx, "acme", slow))
    async with running(feed("acme")) as world:
        await world.nothing_more()


async def test_another_address_has_its_turn_at_once(running):
    async with running(feed("acme")) as world:
        await world.begun(1)
        await world.nothing_more()
        other = feed("acme", 'every = "2h"')
        world.feeds[:] = [other]
        await world.begun(2)


async def test_while_another_process_fetches_it_looks_again_later(running, time):
    async with running(feed("acme")) as world:
        world.fetches.busy = True
        await world.begun(1)
        await world.nothing_more()
        time.now += timedelta(seconds=schedule.AGAIN)
        await world.begun(2)
