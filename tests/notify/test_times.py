"""Quiet hours, bursts and the daily digest, by a clock that the test moves: it is noon in Toronto when a test begins."""

from datetime import timedelta

import pytest

from syncd.domain import NoticeEvent
from syncd.notify.delivery import email_may_go, pause_after
from syncd.notify.ways import MAX_PAUSE
from tests.clock import START
from tests.notify.receivers import Hook, Mailbox, texts

NONE = timedelta(0)


async def test_a_burst_becomes_one_e_mail(office, clock):
    with Mailbox() as mailbox:
        notifier = office.notifier(office.settings(None, mailbox))
        for number in range(1, 6):
            office.write(f"feed-{number}", run=number)
            await office.work(notifier, step=1.0)
        assert mailbox.accepted == []  # what comes within seconds is in the same e-mail
        clock.forward(seconds=10)
        await office.work(notifier)
        assert [mail["Subject"] for mail in mailbox.accepted] == [
            "5 notices: failed: feed feed-1: it is not a table; failed: feed feed-2: it is not a table; failed: f"
            "eed feed-3: it is not a table; failed: feed feed-…"
        ]
        assert mailbox.accepted[0]["References"] is None
        for number in range(6, 9):
            office.write(f"feed-{number}", run=number)
            await office.work(notifier, turns=5, step=10.0)
        assert len(mailbox.accepted) == 1
        await office.work(notifier, turns=20, step=10.0)
    assert len(mailbox.accepted) == 2
    assert all(f"Run {number} failed" in texts(mailbox.accepted[1])[0] for number in (6, 7, 8))
    assert "Run 5 failed" not in texts(mailbox.accepted[1])[0]


async def test_a_large_burst_is_sent_whole(office):
    with Mailbox() as mailbox:
        notifier = office.notifier(office.settings(None, mailbox))
        for number in range(1, 251):
            office.write(run=number)
        await office.work(notifier, turns=100, step=60.0)
    assert len(mailbox.accepted) == 3
    text = "\n".join(texts(mail)[0] for mail in mailbox.accepted)
    assert [text.count(f"Run {number} failed:") for number in range(1, 251)] == [1] * 250


async def test_an_e_mail_that_failed_stays_as_it_is_when_more_happens(office):
    with Mailbox(answer=lambda number: "250 OK" if number > 2 else "451 later") as mailbox:
        notifier = office.notifier(office.settings(None, mailbox), burst=timedelta(minutes=1))
        office.write(run=1)
        await office.work(notifier, turns=2, step=15.0)
        office.write(run=2)
        await office.work(notifier, turns=60, step=15.0)
    assert [
        ("Run 1 failed" in texts(mail)[0], "Run 2 failed" in texts(mail)[0]) for mail in mailbox.accepted
    ] == [
        (True, False),
        (False, True),
    ]


async def test_nothing_is_sent_in_quiet_hours(office, clock):
    with Hook() as hook, Mailbox() as mailbox:
        notifier = office.notifier(office.settings(hook, mailbox, quiet="22:00-06:00"))
        clock.forward(hours=10)  # 22:00
        for number in range(1, 3):
            office.write(run=number)
        office.write(run=3, event=NoticeEvent.RECOVERED, over=NoticeEvent.HELD)
        await office.work(notifier, turns=48, step=600.0)
        assert (hook.tried, mailbox.tried) == ([], 0)  # 06:00, not asked yet
        await office.work(notifier)
    assert [each["run"] for each in hook.accepted] == [1, 2, 3]
    (mail,) = mailbox.accepted
    assert mail["Subject"].startswith(
        "3 notices: failed: feed acme: it is not a table; failed: feed acme: it"
    )
    assert mail["References"]  # all are of one feed


async def test_the_digest_comes_once_a_day_at_its_time(office, clock):
    with Hook() as hook, Mailbox() as mailbox:
        settings = office.settings(hook, mailbox, digest="08:00", events="held")
        notifier = office.notifier(settings, degraded={"beta": "no employer"}, burst=NONE)
        await office.work(notifier, turns=24 * 6, step=600.0)  # until noon of the next day
        assert [(each["event"], each["at"]) for each in hook.accepted] == [
            ("service.digest", "2026-11-17T13:00:00Z")
        ]
        notifier = office.notifier(settings, burst=NONE)
        clock.forward(days=2)  # nobody looked in the night
        await office.work(notifier, turns=3, step=600.0)
    assert len(hook.accepted) == 2
    assert len(mailbox.accepted) == 2
    plain, page = texts(mailbox.accepted[0])
    assert mailbox.accepted[0]["Subject"] == "syncd: summary of the last day"
    assert "cannot be used: beta: no employer" in plain
    assert "cannot be used: beta: no employer" in page
    assert hook.accepted[0]["counts"] == {"waiting": 0, "degraded": 1}
    assert hook.accepted[0]["feed"] is None


@pytest.mark.parametrize(("digest", "trusted"), [("", True), ("08:00", False)])
async def test_no_digest_is_sent_that_nobody_wants_or_by_a_clock_that_cannot_be_trusted(
    office, digest, trusted
):
    with Hook() as hook:
        notifier = office.notifier(office.settings(hook, digest=digest), trusted=trusted)
        await office.work(notifier, turns=50, step=3600.0)
    assert hook.tried == []


async def test_the_digest_says_what_waits_and_what_ran(office, board):
    with Mailbox() as mailbox:
        notifier = office.notifier(
            office.settings(None, mailbox, digest="08:00", events="poison"), burst=NONE
        )
        await office.work(notifier)
        feed = board.feed()
        board.deliver(feed, board.rows(1, 20))
        board.deliver(feed, board.rows(1, 2))
        await office.work(notifier, turns=21, step=3600.0)
    (mail,) = mailbox.accepted
    plain, _ = texts(mail)
    assert "waits for a decision: acme, run 2" in plain
    assert "runs of acme: 1 held, 1 succeeded" in plain


@pytest.mark.parametrize(
    ("after", "last", "may"),
    [(0, None, False), (9, None, False), (10, None, True), (20, -279, False), (20, -280, True), (20, -290, True),
     (20, 3600, True), (-5, None, True)],
)  # fmt: skip
def test_when_an_e_mail_may_go(after, last, may):
    now = START + timedelta(seconds=after)
    sent = None if last is None else START + timedelta(seconds=last)
    assert email_may_go(START, sent, now, timedelta(minutes=5)) is may


def test_pauses_double_up_to_a_limit():
    pauses = [pause_after(tries) for tries in range(1, 2000)]
    assert [pause.total_seconds() for pause in pauses[:5]] == [1, 4, 15, 30, 60]
    assert max(pauses) == MAX_PAUSE
