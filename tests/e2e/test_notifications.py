"""Notifications of a real daemon, through receivers that fail and over SIGKILLs; and ``syncd notify test``."""

import random
import re
import signal
import threading
import time

from tests.e2e.conftest import row, wait_until
from tests.notify.receivers import SECRET, Hook, Mailbox, texts


def settings(hook=None, mailbox=None, more=""):
    lines = ["[notify]", more]
    if hook is not None:
        lines += [f'webhook = "{hook.url}"', f'webhook_secret = "{SECRET}"']
    if mailbox is not None:
        lines += [
            f'smtp = "{mailbox.url}"',
            'email_from = "syncd@example.ca"',
            'email_to = ["ops@example.ca"]',
        ]
    return "\n".join(lines) + "\n"


def drop_text(acme, feed, name, text):
    folder = acme.drop_folder / feed
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f".{name}.tmp").write_text(text)
    (folder / f".{name}.tmp").rename(folder / name)


def mailed(mailbox):
    """The texts of all e-mails: one that came again, with the same Message-ID, once."""
    return "\n".join({mail["Message-ID"]: texts(mail)[0] for mail in mailbox.accepted}.values())


def test_each_run_is_sent_once_and_in_order_over_faults_and_sigkills(acme, start):
    chance = random.Random(3)
    feeds = ["acme", "beta"]
    acme.feed("beta")
    with (
        Hook(answer=lambda number: chance.choice([500, None]) if chance.random() < 0.3 else 200) as hook,
        Mailbox() as mailbox,
    ):
        acme.settings(settings(hook, mailbox))
        for turn in range(3):
            serving = start()
            for number in range(4):
                feed = feeds[number % 2]
                drop_text(acme, feed, f"{turn}-{number}.json", "{" + f'"{turn}-{number}')
            wait_until(lambda serving=serving: len(serving.events("feed.failed")) >= 3, "runs that failed")
            serving.signal(signal.SIGKILL)
            serving.close()
        serving = start()
        wait_until(lambda: len({each["id"] for each in hook.accepted}) >= 12, "12 webhooks")
        wait_until(lambda: mailbox.accepted, "an e-mail, which has the runs of its first ten seconds")
        runs = sorted(run["id"] for run in acme.run("runs", "--json").json)
        serving.stop()
    assert len(runs) == 12
    assert hook.faults == []
    first = {each["id"]: each for each in hook.accepted}.values()
    assert sorted(each["run"] for each in first) == runs
    for feed in feeds:
        times = [each["at"] for each in first if each["feed"] == feed]
        assert times == sorted(times)
    text = mailed(mailbox)
    assert max(len(re.findall(rf"/runs/{number}\b", text)) for number in runs) == 1


def test_what_a_command_did_is_sent_by_the_daemon_and_metrics_count_it(acme, start, tmp_path):
    with Hook() as hook:
        acme.settings(settings(hook))
        serving = start()
        for name, rows in (("a", [row(f"r{n}") for n in range(20)]), ("b", [row("r1")])):
            (tmp_path / f"{name}.csv").write_text(acme.csv_text(rows))
            acme.run("import", str(tmp_path / f"{name}.csv"), "--feed", "acme")
        wait_until(lambda: hook.accepted, "a webhook")
        acme.run("runs", "approve", "2")
        wait_until(lambda: len(hook.accepted) == 2, "a second webhook")
        wait_until(lambda: len(serving.events("notify.sent")) == 2, "notify.sent")
        metrics = serving.text("/metrics", which="operator")
        address = serving.address("operator")
        assert serving.stop() == 0
        log = serving.log.read_text()
    assert [(each["event"], each["run"], each["state"]) for each in hook.accepted] == [
        ("feed.held", 2, "held"),
        ("feed.recovered", 2, "succeeded"),
    ]
    assert hook.accepted[0]["url"] == f"http://{address}/runs/2"
    assert 'syncd_notifications_total{result="sent",way="webhook"} 2.0' in metrics
    assert SECRET not in log
    assert "hidden" not in log


def test_a_receiver_that_hangs_is_in_the_way_of_neither_a_run_nor_the_end(acme, start):
    let_go = threading.Event()
    with Hook(answer=lambda number: 200 if let_go.wait(60) else None) as hook:
        acme.settings(settings(hook))
        serving = start()
        drop_text(acme, "acme", "bad.json", "{")
        wait_until(lambda: hook.tried, "a try")
        acme.drop("good.csv", [row("r1")])
        wait_until(lambda: len(serving.events("feed.reconciled")) == 2, "a second run")
        begin = time.monotonic()
        assert serving.stop() == 0
        assert time.monotonic() - begin < 20
        let_go.set()
        serving.close()
        serving = start()
        wait_until(lambda: len(serving.events("notify.sent")) == 2, "notify.sent")
        serving.stop()
    assert [each["event"] for each in hook.accepted if each["event"] == "feed.recovered"] == [
        "feed.recovered"
    ]
    assert len({each["id"] for each in hook.accepted}) == 2


def test_notify_test_says_what_became_of_each_message(acme):
    with Hook() as hook, Mailbox() as mailbox:
        acme.settings(settings(hook, mailbox))
        result = acme.run("notify", "test")
        found = acme.run("notify", "test", "--json").json
    assert result.code == 0
    assert [line.split()[:3] for line in result.out.splitlines()] == [
        ["way", "to", "result"],
        ["webhook", "127.0.0.1", "sent"],
        ["email", "ops@example.ca", "sent"],
    ]
    assert [each["event"] for each in hook.accepted] == ["service.test"] * 2
    assert [mail["Subject"] for mail in mailbox.accepted] == ["syncd: this is a test"] * 2
    assert [(trial["way"], trial["sent"]) for trial in found] == [("webhook", True), ("email", True)]


def test_notify_test_fails_if_a_receiver_does_not_accept_or_there_is_none(acme):
    with Hook(answer=lambda number: 403) as hook:
        acme.settings(settings(hook))
        result = acme.run("notify", "test")
    assert result.code == 1
    assert "answered with status 403" in result.out
    acme.settings()
    result = acme.run("notify", "test")
    assert (result.code, result.err) == (
        1,
        "syncd: nobody is notified: set notify.webhook or notify.email_to\n",
    )


def test_check_names_a_feed_that_nobody_knows(acme):
    acme.settings('[notify]\nfeeds = ["acme", "acmee"]\n')
    result = acme.run("check")
    assert "notify.feeds: there is no feed 'acmee'; known: acme" in result.err
