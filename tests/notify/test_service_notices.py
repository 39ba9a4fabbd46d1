"""Notices of the service itself: once, with their end, over a restart, and also while the store is what is broken."""

import sqlite3
from contextlib import closing

import pytest
from sqlmodel import col, select

from syncd.notify import ServiceNotices
from syncd.store.model import sql
from syncd.store.model.tables import NoticeRow
from tests.notify.receivers import Hook, Mailbox, texts
from tests.stores import sqlite_only

_ALL = sql.Statement(select(NoticeRow.event, NoticeRow.reason).order_by(col(NoticeRow.id)))
FULL = "/srv/drop: No space left on device"
LOCKED = "the store cannot be used now: another process holds it locked"


class Watch:
    """A daemon whose parts have the faults that a test gives them."""

    def __init__(self, office, notifier):
        self.office, self.notifier, self.faults, self.seconds = office, notifier, {}, 0.0
        self.restart()

    def restart(self):
        self.notices = ServiceNotices(self.notifier, self.parts, lambda: self.seconds)

    async def parts(self):
        return {"store": "ok", "disk": "ok", "sync": "ok", "clock": "ok", **self.faults}

    async def look(self, seconds=10.0):
        """Let time pass, and look."""
        self.seconds += seconds
        self.office.clock.forward(seconds=seconds)
        await self.notices.look()

    async def fail(self, **faults):
        """Have these faults, for longer than a minute."""
        self.faults = faults
        await self.look()
        await self.look(61.0)

    def noted(self):
        return self.office.store.read(lambda tx: tx.all(_ALL))


@pytest.fixture
def watch(office):
    return Watch(office, office.notifier(office.settings()))


async def test_a_fault_that_lasts_is_noted_once_and_its_end_too_over_restarts(watch):
    watch.faults = {"disk": FULL}
    await watch.look()
    await watch.look(59.0)
    assert watch.noted() == []
    await watch.look(2.0)
    for _ in range(3):
        await watch.look(100.0)
        watch.restart()
    assert watch.noted() == [("service.disk", FULL)]
    watch.faults = {}
    for _ in range(3):
        await watch.look()
    assert watch.noted()[1:] == [("service.recovered", None)]
    await watch.fail(disk=FULL)
    assert watch.noted()[2:] == [("service.disk", FULL)]


async def test_a_fault_that_ends_while_the_daemon_is_down_is_over_at_the_next_start(watch):
    await watch.fail(clock="the time moved")
    watch.faults = {}
    watch.restart()
    await watch.look()
    assert [event for event, _ in watch.noted()] == ["service.clock", "service.recovered"]


async def test_a_fault_that_passes_and_other_parts_are_not_noted(watch):
    for _ in range(5):
        watch.faults = {"disk": FULL, "sync": "not running"}
        await watch.look(50.0)
        watch.faults = {"sync": "not running"}
        await watch.look(50.0)
    assert watch.noted() == []


async def test_two_daemons_of_one_machine_note_a_fault_once(office):
    first, second = (Watch(office, office.notifier(office.settings())) for _ in range(2))
    for faults in ({"disk": FULL}, {}):
        for watch in (first, second):
            await watch.fail(**faults)
    assert [event for event, _ in first.noted()] == ["service.disk", "service.recovered"]


async def test_events_choose_them_and_feeds_do_not(office):
    with Hook() as hook:
        notifier = office.notifier(office.settings(hook, events="disk", feeds="acme"))
        watch = Watch(office, notifier)
        for faults in ({"disk": FULL, "clock": "the time moved"}, {}):
            await watch.fail(**faults)
            await office.work(notifier)
        assert [(body["event"], body["state"]) for body in hook.accepted] == [("service.disk", "fault")]
        assert hook.accepted[0]["feed"] is None
        assert hook.accepted[0]["text"].startswith("disk: the disk is full or has a fault")
        assert FULL in hook.accepted[0]["text"]


@sqlite_only
async def test_a_store_that_is_broken_is_reported_from_memory_and_its_end_from_the_store(office):
    with Hook() as hook, Mailbox() as mailbox:
        notifier = office.notifier(office.settings(hook, mailbox))
        watch = Watch(office, notifier)
        await watch.look()
        with closing(sqlite3.connect(office.store.database.path)) as other:
            other.execute("BEGIN EXCLUSIVE")
            await watch.fail(store=LOCKED, disk=FULL)
            for _ in range(3):
                await watch.look()
            other.rollback()
        assert [body["event"] for body in hook.accepted] == ["service.store", "service.disk"]
        (mail,) = mailbox.accepted
        assert LOCKED in texts(mail)[0]
        assert FULL in texts(mail)[0]
        watch.faults = {"disk": FULL}
        await watch.look()
        await office.work(notifier)
        assert [body["event"] for body in hook.accepted[2:]] == ["service.recovered"]
        assert hook.accepted[2]["text"].startswith("recovered: store")
        watch.faults = {}
        await watch.look()
        await office.work(notifier, turns=3, step=301)
        assert [body["event"] for body in hook.accepted[3:]] == ["service.recovered"]
        events = [event for event, _ in watch.noted()]
        assert sorted(events) == ["service.disk", "service.recovered", "service.recovered", "service.store"]
        assert len({body["id"] for body in hook.accepted}) == 4
        assert len([mail for mail in mailbox.accepted if LOCKED in texts(mail)[0]]) == 1


@sqlite_only
async def test_a_receiver_that_is_away_while_the_store_is_broken_is_reported_from_the_store(office):
    with Hook() as hook:
        notifier = office.notifier(office.settings(hook))
        watch = Watch(office, notifier)
        await watch.look()
        hook.answer = lambda number: None if number == 0 else 200
        with closing(sqlite3.connect(office.store.database.path)) as other:
            other.execute("BEGIN EXCLUSIVE")
            await watch.fail(store=LOCKED)
            other.rollback()
        assert hook.accepted == []
        watch.faults = {}
        await watch.look()
        office.clock.forward(minutes=30)
        await office.work(notifier, turns=2)
        assert [body["event"] for body in hook.accepted] == ["service.store", "service.recovered"]
