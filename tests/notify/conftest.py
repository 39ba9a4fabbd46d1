"""A store with a clock that the test moves, and notifiers that send to receivers of the test."""

from dataclasses import replace

import pytest

from syncd.config import load_settings
from syncd.domain import Notice, NoticeEvent
from syncd.notify import Notifier, Sending, ways_of
from syncd.notify.delivery import BURST
from syncd.store import notices
from tests.clock import ZONE
from tests.notify.receivers import SECRET
from tests.sync.board_fixtures import board_fixture, clock_fixture, logged_fixture, store_fixture  # noqa: F401

PAGES = "https://syncd.example.ca"


class Office:
    """Writes notices, and has a notifier send them."""

    def __init__(self, store, clock):
        self.store, self.clock, self.counted = store, clock, []

    def settings(self, hook=None, mailbox=None, **more):
        """Settings with these receivers; ``more`` are settings of ``[notify]`` as text."""
        values = dict(more)
        if hook is not None:
            values |= {"webhook": getattr(hook, "url", hook), "webhook_secret": SECRET}
        if mailbox is not None:
            values |= {
                "smtp": getattr(mailbox, "url", mailbox),
                "email_from": "syncd@example.ca",
                "email_to": more.get("email_to", "ops@example.ca"),
            }
        environ = {f"SYNCD_NOTIFY__{name.upper()}": value for name, value in values.items()}
        return load_settings(
            None, {**environ, "SYNCD_OPERATOR__PUBLIC_URL": PAGES, "SYNCD_OPERATOR__TOKEN": "of the pages"}
        )

    def notifier(self, settings, *, degraded=None, trusted=True, burst=BURST):
        """A notifier that has begun; what is written from now on is sent."""
        parts = self.store, settings.notify, PAGES, ZONE
        sending = Sending(*parts, lambda now: trusted, lambda *counts: self.counted.append(counts), burst)
        notifier = Notifier(sending, ways_of(settings.notify, ZONE), lambda: degraded or {})
        notifier.begin(settings)
        return notifier

    def write(
        self, feed="acme", event=NoticeEvent.FAILED, run=1, reason="bad_header: it is not a table", **more
    ):
        notice = Notice(event, feed, reason, run, "failed", {"read": 3, "rejected": 1})
        return self.store.write(lambda tx: notices.add(tx, replace(notice, **more)))

    async def work(self, notifier, turns=1, step=0.0):
        """Let the notifier collect and send ``turns`` times, each ``step`` seconds later."""
        for _ in range(turns):
            await notifier.collect()
            for delivery in notifier._deliveries.values():
                while await delivery.turn():
                    pass
            self.clock.forward(seconds=step)


@pytest.fixture
def office(store, clock, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Office(store, clock)
