"""Notices go to each receiver once, in order for each feed, whatever the receiver does."""

import asyncio
import json
import random
from datetime import timedelta

import pytest

from syncd.config import load_settings
from syncd.domain import NoticeEvent
from syncd.notify import ways
from syncd.notify.delivery import KEPT
from syncd.store import notices
from tests.notify.conftest import PAGES
from tests.notify.receivers import SECRET, Hook, Mailbox, texts

NONE = timedelta(0)
LONG = {"turns": 300, "step": 60.0}


def runs_of(found, feed):
    return [each["run"] for each in found if each["feed"] == feed]


async def test_the_body_of_a_webhook(office):
    with Hook() as hook:
        notifier = office.notifier(office.settings(hook))
        notice = office.write(run=42)
        await office.work(notifier)
    assert hook.faults == []
    assert hook.accepted == [
        {
            "id": notice.key,
            "event": "feed.failed",
            "feed": "acme",
            "run": 42,
            "state": "failed",
            "reason": "bad_header: it is not a table",
            "counts": {"read": 3, "rejected": 1},
            "at": "2026-11-16T17:00:00Z",
            "url": f"{PAGES}/runs/42",
            "text": "\n".join(
                [
                    "failed: feed acme: it is not a table",
                    "Run 42 failed: bad_header: it is not a table",
                    "Nothing of the file was used. The jobs are as they were, and the file is in failed/.",
                    "Send the report beside the file to the partner, and ask for a corrected file.",
                    "For every detail: syncd runs show 42",
                    f"{PAGES}/runs/42",
                ]
            ),
        }
    ]


async def test_a_daemon_without_receivers_leaves_those_of_another_daemon_of_the_store_alone(office):
    shared = load_settings(None, {"SYNCD_STORE__URL": "postgresql://syncd@db.example.ca/syncd"})
    with Hook() as hook:
        notifier = office.notifier(office.settings(hook))
        office.write(run=1)
        await notifier.collect()
        office.notifier(shared)
        office.write(run=2)
        await office.work(notifier, **LONG)
    assert runs_of(hook.accepted, "acme") == [1, 2]


async def test_receivers_that_fail_now_and_then_get_each_notice_once_and_in_order(office):
    chance = random.Random(7)

    def http(number):
        return chance.choice([500, None, 503]) if chance.random() < 0.3 else 200

    def smtp(number):
        return "451 try again" if chance.random() < 0.3 else "250 OK"

    feeds = ["acme", "beta", "gamma"]
    with Hook(answer=http) as hook, Mailbox(answer=smtp) as mailbox:
        notifier = office.notifier(office.settings(hook, mailbox), burst=NONE)
        for number in range(1, 31):
            office.write(feeds[number % 3], run=number)
            await office.work(notifier)
        await office.work(notifier, **LONG)
    assert hook.faults == []
    assert sorted(each["run"] for each in hook.accepted) == list(range(1, 31))
    assert len(hook.tried) > 30
    for feed in feeds:
        assert runs_of(hook.accepted, feed) == sorted(runs_of(hook.accepted, feed))
    mailed = "\n".join(texts(mail)[0] for mail in mailbox.accepted)
    assert [mailed.count(f"Run {number} failed") for number in range(1, 31)] == [1] * 30
    assert mailbox.tried > len(mailbox.accepted)
    assert office.store.read(notices.waiting) == {}


async def test_of_two_daemons_one_sends_each_notice(office):
    with Hook() as hook, Mailbox() as mailbox:
        settings = office.settings(hook, mailbox, email_to="a/b@example.ca")
        one, two = office.notifier(settings, burst=NONE), office.notifier(settings, burst=NONE)
        for number in range(1, 11):
            office.write(run=number)
        await asyncio.gather(office.work(one), office.work(two))
        await office.work(one, **LONG)
    assert runs_of(hook.tried, "acme") == list(range(1, 11))
    mailed = "\n".join(texts(mail)[0] for mail in mailbox.accepted)
    assert [mailed.count(f"Run {number} failed") for number in range(1, 11)] == [1] * 10


async def test_a_try_has_the_id_of_the_one_before_it(office):
    with Hook(answer=lambda number: 500 if number < 4 else 200) as hook:
        notifier = office.notifier(office.settings(hook))
        office.write()
        await office.work(notifier, **LONG)
    assert len(hook.tried) == 5
    assert len({json.dumps(each) for each in hook.tried}) == 1
    assert len(hook.accepted) == 1


async def test_one_notice_that_is_refused_does_not_hold_up_other_feeds(office):
    with Hook() as hook:
        hook.answer = lambda number: 422 if hook.tried[-1]["feed"] == "acme" else 200
        notifier = office.notifier(office.settings(hook))
        for feed, run in (("acme", 1), ("acme", 2), ("beta", 3)):
            office.write(feed, run=run)
        await office.work(notifier)
    assert runs_of(hook.accepted, "beta") == [3]
    assert set(runs_of(hook.tried, "acme")) == {1}


async def test_a_receiver_that_asks_for_time_gets_it(office, clock, logged):
    with Hook(answer=lambda number: 200 if number else 429, headers={"Retry-After": "600"}) as hook:
        notifier = office.notifier(office.settings(hook))
        office.write()
        office.write("beta", run=2)
        await office.work(notifier)
        assert len(hook.tried) == 1
        clock.forward(seconds=590)
        await office.work(notifier)
        assert len(hook.tried) == 1
        clock.forward(seconds=11)
        await office.work(notifier)
    assert len(hook.accepted) == 2
    (failed,) = [event for event in logged if event["event"] == "notify.failed"]
    assert (failed["seconds"], failed["reason"]) == (600, "answered with status 429")


async def test_the_time_that_is_asked_for_has_a_limit(office, logged):
    with Hook(answer=lambda number: 503, headers={"Retry-After": "9" * 5000}) as hook:
        notifier = office.notifier(office.settings(hook))
        office.write()
        await office.work(notifier)
    assert [event["seconds"] for event in logged if event["event"] == "notify.failed"] == [1800]


async def test_what_could_not_be_sent_for_days_is_given_up_and_said(office, clock, logged):
    with Hook(answer=lambda number: 500) as hook:
        notifier = office.notifier(office.settings(hook))
        office.write()
        await office.work(notifier)
        clock.forward(days=KEPT.days, seconds=1)
        for delivery in notifier._deliveries.values():
            await delivery.give_up_old()
    assert office.store.read(notices.waiting) == {}
    (dropped,) = [event for event in logged if event["event"] == "notify.dropped"]
    assert (dropped["number"], dropped["way"], dropped["reason"]) == (1, "webhook", "not sent within 3 days")
    assert ("webhook", "dropped", 1) in office.counted


async def test_a_clock_that_is_not_trusted_gives_nothing_up(office, clock):
    notifier = office.notifier(office.settings("http://127.0.0.1:9/"), trusted=False)
    office.write()
    await office.work(notifier)
    clock.forward(days=1000)
    for delivery in notifier._deliveries.values():
        await delivery.give_up_old()
    assert office.store.read(notices.waiting) == {"webhook": 1}


@pytest.mark.parametrize(("status", "minutes"), [(500, 10), (401, 0)])
async def test_a_new_process_goes_on_where_the_last_one_ended(office, clock, status, minutes):
    """A receiver that refused everything is tried at once."""
    with Hook(answer=lambda number: status if number < 3 else 200) as hook:
        settings = office.settings(hook)
        first = office.notifier(settings)
        office.write(run=1)
        await office.work(first, turns=3, step=5.0)
        assert (len(hook.tried), hook.accepted) == (3, [])
        office.write(run=2)
        clock.forward(minutes=minutes)
        await office.work(office.notifier(settings))
        await office.work(office.notifier(settings))
    assert runs_of(hook.accepted, "acme") == [1, 2]


async def test_a_receiver_gets_what_happens_after_it_was_configured(office):
    with Hook() as hook:
        settings = office.settings(hook)
        office.write(run=1)
        office.notifier(settings)
        office.write(run=2)
        office.notifier(office.settings())  # nobody is notified: what waits is dropped
        office.write(run=3)
        notifier = office.notifier(settings)
        office.write(run=4)
        await office.work(notifier)
    assert runs_of(hook.accepted, "acme") == [4]


async def test_only_the_events_and_feeds_that_are_wanted(office):
    with Hook() as hook:
        notifier = office.notifier(office.settings(hook, events="held,recovered", feeds="acme"))
        for feed, event in (
            ("acme", NoticeEvent.FAILED),
            ("acme", NoticeEvent.HELD),
            ("beta", NoticeEvent.HELD),
            ("acme", NoticeEvent.RECOVERED),
        ):
            office.write(feed, event)
        await office.work(notifier)
    assert [(each["feed"], each["event"]) for each in hook.accepted] == [
        ("acme", "feed.held"),
        ("acme", "feed.recovered"),
    ]


async def test_each_receiver_of_e_mail_has_messages_of_his_own(office):
    with Mailbox() as mailbox:
        settings = office.settings(None, mailbox, email_to="one@example.ca,two@example.ca")
        notifier = office.notifier(settings, burst=NONE)
        office.write()
        await office.work(notifier)
    assert sorted(mailbox.receivers) == [["one@example.ca"], ["two@example.ca"]]
    assert [mail["To"] for mail in mailbox.accepted] == [receivers[0] for receivers in mailbox.receivers]


async def test_an_e_mail_that_is_refused_again_and_again_is_given_up(office, logged):
    with Mailbox(answer=lambda number: "554 looks like spam" if number < 8 else "250 OK") as mailbox:
        notifier = office.notifier(office.settings(None, mailbox), burst=NONE)
        office.write(run=1)
        await office.work(notifier)
        office.write(run=2)
        await office.work(notifier, **LONG)
    (mail,) = mailbox.accepted
    assert "Run 2 failed" in texts(mail)[0]
    dropped = [event["reason"] for event in logged if event["event"] == "notify.dropped"]
    assert dropped == ["refused 8 times: answered 554 looks like spam"]


async def test_a_fault_in_one_message_does_not_hold_up_others(office, logged, monkeypatch):
    with Hook() as hook:
        notifier = office.notifier(office.settings(hook))
        whole = ways.body_of

        def body_of(notice, pages):
            if notice.run == 1:
                raise ZeroDivisionError
            return whole(notice, pages)

        monkeypatch.setattr(ways, "body_of", body_of)
        office.write("acme", run=1)
        office.write("beta", run=2)
        office.write("acme", run=3)
        await office.work(notifier, **LONG)
    assert [each["run"] for each in hook.accepted] == [2, 3]
    assert [event["reason"] for event in logged if event["event"] == "notify.dropped"] == [
        "refused 8 times: a fault of syncd: ZeroDivisionError"
    ]


async def test_secrets_are_in_no_event_of_the_log(office, logged):
    with Hook(answer=lambda number: [302, 401, None, 200][min(number, 3)]) as hook, Mailbox() as mailbox:
        settings = office.settings(hook, mailbox)
        notifier = office.notifier(settings, burst=NONE)
        office.write()
        await office.work(notifier, **LONG)
    refused = office.settings(
        "http://127.0.0.1:1/hidden-part", "smtp://user@127.0.0.1:1", smtp_password="pass-hidden"
    )
    office.notifier(refused)
    notifier = office.notifier(refused)
    office.write(run=2)
    await office.work(notifier)
    text = json.dumps(logged, default=str)
    assert "notify.failed" in text
    assert "notify.sent" in text
    assert SECRET not in text
    assert "hidden" not in text
