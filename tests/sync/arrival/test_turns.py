"""Feeds take turns, one file each (docs/reconciliation.md "When a file is taken")."""

import threading
import time

from structlog.testing import capture_logs

from syncd.domain import Run
from syncd.service.sync_thread import SMALL, Heartbeat, SyncThreads
from syncd.sync.arrival.inbox import Inbox, Scan
from syncd.sync.drop_file import DropFile
from syncd.sync.run import Feed, Importer, RejectsWriter
from tests.sync.arrival.arrivals import Arrival

TIMEOUT = 20.0


class Gated:
    """An importer whose runs of the feed ``large`` last until the test opens the gate. ``going_on``: the feeds of the
    runs that go on; ``twice``: whether a feed ever had two."""

    def __init__(self, importer: Importer) -> None:
        self.importer, self.gate, self.began = importer, threading.Event(), threading.Event()
        self.going_on: list[str] = []
        self.twice = False

    def run(self, feed: Feed, source: DropFile, run: Run, rejects: RejectsWriter | None) -> Run:
        self.twice = self.twice or feed.name in self.going_on
        self.going_on.append(feed.name)
        if feed.name == "large":
            self.began.set()
            assert self.gate.wait(TIMEOUT)
        try:
            return self.importer.run(feed, source, run, rejects)
        finally:
            self.going_on.remove(feed.name)


def drop_many(arrival: Arrival, name: str, count: int) -> None:
    feed = arrival.feed('mode = "delta"', name=name)
    for number in range(count):
        arrival.drop(feed, [arrival.row(f"{name}-{number}")], f"{number}.json", number)


def test_many_files_of_one_feed_do_not_hold_up_the_file_of_another(arrival):
    drop_many(arrival, "many", 30)
    drop_many(arrival, "one", 1)
    drop_many(arrival, "two", 2)
    order = [run.feed for run in arrival.run_files()]
    assert order[:5] == ["many", "one", "two", "many", "two"]
    assert order.count("many") == 30


def test_many_files_are_not_looked_for_again_after_each(arrival, monkeypatch):
    scans: list[int] = []
    scan = Inbox.scan

    def count(inbox: Inbox) -> Scan:
        scans.append(1)
        return scan(inbox)

    monkeypatch.setattr(Inbox, "scan", count)
    drop_many(arrival, "many", 30)
    assert len(arrival.run_files()) == 30
    assert len(scans) < 6


def test_a_thread_for_small_files_leaves_large_ones_to_others(arrival):
    drop_many(arrival, "large", 2)
    drop_many(arrival, "small", 2)
    (arrival.feeds["large"].folder / "0.json").write_bytes(b"[" + b" " * 5000 + b"]")
    arrival.worker.tick()
    arrival.monotonic.now += 61
    arrival.worker.wake()
    ended = []
    while (some := arrival.worker.work(1000)) is not None:
        ended += some
    assert [run.feed for run in ended] == ["large", "small", "small"]
    assert arrival.worker.due(1000) is None
    ended = []
    while (some := arrival.worker.work()) is not None:
        ended += some
    assert [(run.feed, run.file) for run in ended] == [("large", "0.json")]


def test_a_small_file_does_not_wait_for_a_large_one_and_no_feed_runs_twice_at_once(arrival):
    drop_many(arrival, "large", 1)
    (arrival.feeds["large"].folder / "0.json").write_bytes(b"[" + b" " * SMALL + b"]")
    importer = Gated(arrival.board.importer)
    arrival.restart(importer)
    arrival.worker.tick()
    arrival.monotonic.now += 61
    threads = SyncThreads(arrival.worker, 60.0, Heartbeat(), threading.Event(), 2)
    threads.start()
    try:
        threads.hint()
        assert importer.began.wait(TIMEOUT)
        drop_many(arrival, "small", 3)
        end = time.monotonic() + TIMEOUT
        while len([run for run in arrival.runs() if run.feed == "small" and run.state.ended]) < 3:
            arrival.monotonic.now += 1
            threads.hint()
            assert time.monotonic() < end
            time.sleep(0.02)
        while importer.going_on != [
            "large"
        ]:  # the last small run has ended in the store, not yet in its thread
            assert time.monotonic() < end
            time.sleep(0.02)
        importer.gate.set()
        while len([run for run in arrival.runs() if run.state.ended]) < 4:
            assert time.monotonic() < end
            time.sleep(0.02)
    finally:
        importer.gate.set()
        threads.stop()
        threads.join(TIMEOUT)
    assert not importer.twice
    assert threads.trouble is None


def test_what_is_unexpected_is_reported_though_another_thread_finds_nothing_to_do_meanwhile(arrival):
    others: list[object] = []

    def stop() -> bool:
        if not others:  # as the turn of the feed begins
            others.append(None)
            others[0] = arrival.worker.work()
        return False

    (arrival.drop(arrival.feed(), b"x").parent / "stray").symlink_to("/")
    arrival.restart(stop=stop)
    with capture_logs() as logs:
        arrival.worker.wake()
        while arrival.worker.work() is not None:
            pass
    assert others == [None], "nothing to do for another thread"
    assert [entry["file"] for entry in logs if entry["event"] == "feed.stray"] == ["stray"]
