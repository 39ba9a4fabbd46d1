"""The worker: from dropped files to filed runs, whatever happens in between
(docs/reconciliation.md "Crash, fault and race")."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from structlog.testing import capture_logs

from syncd.domain import Run, RunState
from syncd.errors import FeedError, NotFound, StoreBusy
from syncd.store import Store, runs
from syncd.sync.arrival import Worker, delivery
from syncd.sync.arrival.feed_folder import feed_lock
from syncd.sync.run.feed import Feed, Stopped

STEPS = ["claimed", "begun", "run", "reported", "filed"]


class Died(BaseException):
    """The process ends here: no handler of ``Exception`` sees it."""


class Ticker:
    def __init__(self) -> None:
        self.now = 500.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Flaky:
    """The importer, but ``faults`` are raised first, one a call (None: it is let through)."""

    def __init__(self, importer: Any, *faults: BaseException | None) -> None:
        self.importer, self.faults, self.calls = importer, list(faults), 0

    def run(self, *args: Any) -> Run:
        self.calls += 1
        if self.faults and (fault := self.faults.pop(0)) is not None:
            raise fault
        return self.importer.run(*args)


class Yard:
    """A drop folder with its worker, and a clock that the test turns."""

    def __init__(self, board: Any) -> None:
        self.board, self.ticker = board, Ticker()
        self.feeds: dict[str, Feed] = {}
        self.importer: Any = board.importer
        self.stop: Callable[[], bool] = lambda: False
        self.at: Callable[[str], None] = lambda step: None
        self.worker = self.restart()

    def restart(self) -> Worker:
        self.worker = Worker(
            self.board.store,
            self.feeds,
            self.importer,
            drop=self.board.folder / "drop",
            monotonic=self.ticker,
            sleep=self.ticker.sleep,
            stop=lambda: self.stop(),  # noqa: PLW0108 - a test sets it later
            at=lambda step: self.at(step),  # noqa: PLW0108
        )
        return self.worker

    def feed(self, toml: str = "", name: str = "acme") -> Feed:
        self.feeds[name] = self.board.feed(toml, name)
        self.worker.change_feeds(self.feeds)
        return self.feeds[name]

    def drop(self, feed: Feed, content: Any, name: str = "jobs.json", mtime: float | None = None) -> Path:
        feed.folder.mkdir(parents=True, exist_ok=True)
        path = feed.folder / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        if mtime is not None:
            os.utime(path, (mtime, mtime))
        return path

    def work(self, *, wait: float = 61) -> list[Run]:
        """What a scan sees, and the tick after everything has settled."""
        ended = self.worker.tick()
        self.ticker.now += wait
        ended += self.worker.tick()
        return ended

    def runs(self) -> list[Run]:
        return sorted(self.board.store.read(lambda tx: list(runs.list(tx))), key=lambda run: run.id)

    def states(self) -> list[str]:
        return [run.state.value for run in self.runs()]


@pytest.fixture
def yard(board: Any) -> Yard:
    return Yard(board)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def claims(feed: Feed) -> list[str]:
    return [name for name in names(feed.folder / ".claimed") if not name.startswith(".")]


def bad(board: Any) -> list[Any]:
    return [board.row("a"), board.row("b", title=None)]


# -- the way of a file ------------------------------------------------------------------------------


def test_a_dropped_file_becomes_jobs_and_lies_in_done_with_its_reports(yard: Yard) -> None:
    feed = yard.feed()
    yard.drop(feed, [yard.board.row("a")])
    [run] = yard.work()
    assert (run.state, run.counts.created, run.file) == (RunState.SUCCEEDED, 1, "jobs.json")
    assert yard.board.statuses() == {"a": "active"}
    assert names(feed.folder / "done") == [
        "1-jobs.json",
        "1-jobs.json.report.html",
        "1-jobs.json.report.json",
    ]
    assert claims(feed) == []


def test_a_file_is_not_run_before_it_has_settled(yard: Yard) -> None:
    feed = yard.feed('settle = "5s"')
    yard.drop(feed, [yard.board.row("a")])
    assert yard.worker.tick() == []
    assert yard.worker.due == pytest.approx(5)
    yard.ticker.now += 4.9
    assert yard.worker.tick() == []
    yard.ticker.now += 0.1
    assert len(yard.worker.tick()) == 1
    assert yard.worker.due is None


def test_a_file_that_cannot_be_used_goes_to_failed(yard: Yard) -> None:
    feed = yard.feed()
    yard.drop(feed, b'[{"referenceId": "a"')
    [run] = yard.work()
    assert run.state is RunState.FAILED
    assert names(feed.folder / "failed")[0] == "1-jobs.json"


def test_rejected_records_lie_beside_the_file_and_are_upserts_only_when_dropped_back(yard: Yard) -> None:
    feed = yard.feed("max_rejected = { percent = 100, rows = 5 }")
    yard.drop(feed, [*bad(yard.board), yard.board.row("c")])
    [run] = yard.work()
    assert run.state is RunState.PARTIAL
    rejected = feed.folder / "done" / "1-jobs.json.rejected.json"
    [record] = json.loads(rejected.read_bytes())
    assert record["syncd_errors"].startswith("/title required")
    yard.drop(feed, rejected.read_bytes().replace(b'"title":null', b'"title":"Baker"'))
    [mended] = yard.work()
    assert (mended.counts.created, mended.counts.archived, mended.state) == (1, 0, RunState.SUCCEEDED)
    assert yard.board.statuses() == dict.fromkeys("abc", "active")


CATEGORIES = """
[read]
format = "csv"
[fields]
referenceId = "id"
title = "title"
locations = { value = "Toronto, ON" }
categories = { from = "sector", lookup = "sector" }
positionType = { value = "Full Time" }
description = { value = "<p>Work.</p>" }
applicantRoutingType = { value = "Email" }
applicationEmail = { value = "hr@acme.example" }
[lookup.sector]
"Known" = "Other"
"""


def test_the_values_that_nothing_knows_are_in_both_reports_ready_to_be_pasted(yard: Yard) -> None:
    config = "max_rejected = { percent = 100, rows = 5 }\n" + CATEGORIES
    feed = yard.feed(config)
    many = [f"{n},Cook,Sector <{n}>" for n in range(300)]
    rows = ["id,title,sector", "a,Cook,Known", "b,Cook,Retial", "c,Cook,Retial", *many]
    yard.drop(feed, "\n".join(rows).encode(), "jobs.csv")
    [run] = yard.work()
    assert run.counts.rejected == 302
    done = feed.folder / "done"
    told = json.loads((done / "1-jobs.csv.report.json").read_text())
    assert told["unknownValues"]["categories"][:2] == [
        {"value": "Retial", "rows": 2},
        {"value": "Sector <0>", "rows": 1},
    ]
    assert len(told["unknownValues"]["categories"]) == 200
    lines = told["lookupToml"].splitlines()
    assert lines[:2] == [
        "# these go into [lookup.sector], which the file has",
        '"Retial" = ""  # 2 rows; Retail?',
    ]
    assert lines[-1] == "# … and 101 more values"
    page = (done / "1-jobs.csv.report.html").read_text()
    assert "&#34;Sector &lt;0&gt;&#34; = &#34;&#34;  # 1 row" in page

    yard.feed(config + lines[1].replace('""', '"Retail"') + "\n")
    yard.drop(feed, "\n".join(rows[:4]).encode(), "jobs.csv")
    [run] = yard.work()
    told = json.loads((done / "2-jobs.csv.report.json").read_text())
    assert (run.counts.rejected, told["unknownValues"], told["lookupToml"]) == (0, {}, "")
    assert "Unknown values" not in (done / "2-jobs.csv.report.html").read_text()


def test_names_that_are_not_utf_8_are_run_like_any_other(yard: Yard) -> None:
    feed = yard.feed()
    yard.drop(feed, [yard.board.row("a")], os.fsdecode(b"caf\xe9.json"))
    [run] = yard.work()
    assert run.file == "caf%E9.json"
    assert names(feed.folder / "done")[0] == "1-caf%E9.json"


def test_a_feeds_folder_is_made_and_made_again(yard: Yard) -> None:
    feed = yard.feed()
    yard.worker.tick()
    for name in names(feed.folder):
        for file in (feed.folder / name).iterdir():
            file.unlink()
        (feed.folder / name).rmdir()
    feed.folder.rmdir()
    yard.worker.tick()
    assert names(feed.folder) == [".claimed", "done", "failed"]


def test_strays_are_told_once_and_left_alone(yard: Yard) -> None:
    feed = yard.feed()
    stray = yard.drop(replace(feed, folder=feed.folder.parent), b"x", "lost.xml")
    (feed.folder / "link").symlink_to(stray)
    with capture_logs() as logs:
        yard.work()
        yard.work()
    told = [(log["feed"], log["file"]) for log in logs if log["event"] == "feed.stray"]
    assert sorted(told, key=str) == [("acme", "link"), (None, "lost.xml")]
    assert stray.read_bytes() == b"x"


def test_exactly_one_feed_reconciled_for_each_run(yard: Yard) -> None:
    feed = yard.feed()
    yard.drop(feed, [yard.board.row("a")], "1.json", 10)
    yard.drop(feed, [yard.board.row("b")], "2.json", 20)
    with capture_logs() as logs:
        yard.work()
    told = [(log["event"], log["run"]) for log in logs if log["event"].startswith("feed.") and "run" in log]
    assert sorted(told) == [
        ("feed.claimed", 1),
        ("feed.claimed", 2),
        ("feed.reconciled", 1),
        ("feed.reconciled", 2),
        ("feed.superseded", 1),
    ]


# -- several files ----------------------------------------------------------------------------------


def test_of_a_snapshot_feeds_files_the_newest_is_run(yard: Yard) -> None:
    feed = yard.feed()
    for name, mtime in (("z.json", 10), ("a.json", 20), ("b.json", 20)):
        yard.drop(feed, [yard.board.row(name)], name, mtime)
    ended = yard.work()
    assert [(run.file, run.state.value) for run in ended] == [
        ("z.json", "superseded"),
        ("a.json", "superseded"),
        ("b.json", "succeeded"),
    ]
    assert ended[0].reason == "a newer file was waiting: b.json"
    assert list(yard.board.statuses()) == ["b.json"]
    assert {"1-z.json", "2-a.json", "3-b.json", "1-z.json.report.html"} <= set(names(feed.folder / "done"))


def test_a_delta_feed_runs_all_oldest_first(yard: Yard) -> None:
    feed = yard.feed('mode = "delta"')
    for name, mtime in (("new.json", 20), ("old.json", 10)):
        yard.drop(feed, [yard.board.row("a", title=name)], name, mtime)
    assert [run.file for run in yard.work()] == ["old.json", "new.json"]
    assert yard.board.job("a").title == "new.json"


def test_a_file_of_mended_rows_neither_supersedes_nor_is_superseded(yard: Yard) -> None:
    feed = yard.feed()
    mended = {"syncd_errors": "mended"}
    yard.drop(feed, [yard.board.row("a")], "full1.json", 10)
    yard.drop(feed, [yard.board.row("b") | mended], "mended1.json", 20)
    yard.drop(feed, [yard.board.row("a"), yard.board.row("b")], "full2.json", 30)
    yard.drop(feed, [yard.board.row("c") | mended], "mended2.json", 40)
    assert [run.state.value for run in yard.work()] == ["superseded", "succeeded", "succeeded", "succeeded"]
    assert yard.board.statuses() == dict.fromkeys("abc", "active")


def test_one_feeds_trouble_does_not_delay_another(yard: Yard) -> None:
    for name in ("a", "b", "c"):
        yard.drop(yard.feed(name=name), [yard.board.row(name)])
    broken = yard.feeds["a"].folder
    yard.importer = Flaky(yard.board.importer, RuntimeError("a bug"))
    yard.restart()
    assert [run.feed for run in yard.work(wait=2)] == ["b", "c"]
    assert names(broken / ".claimed")[-1].endswith("-jobs.json")
    yard.ticker.now += 1
    assert [(run.feed, run.attempt) for run in yard.worker.tick()] == [("a", 2)]


def test_a_feed_whose_folder_is_unusable_does_not_delay_another(yard: Yard) -> None:
    broken = yard.feed(name="a")
    (broken.folder / "done").rmdir()
    broken.folder.rmdir()
    broken.folder.symlink_to("/nowhere")
    yard.drop(yard.feed(name="b"), [yard.board.row("x")])
    assert [run.feed for run in yard.work()] == ["b"]
    assert yard.worker.degraded["a"].startswith(f"{broken.folder} is a symbolic link, not a folder")
    assert yard.worker.waiting is None, "no fault of the service's"


# -- faults that pass -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        StoreBusy("locked"),
        OSError(errno.ENOSPC, "full"),
        OSError(errno.EROFS, "read-only"),
        FileNotFoundError(2, "moving"),
    ],
    ids=str,
)
def test_a_passing_fault_is_tried_again_at_once_with_growing_pauses(yard: Yard, fault: BaseException) -> None:
    feed = yard.feed()
    yard.drop(feed, [yard.board.row("a")])
    yard.importer = Flaky(yard.board.importer, fault, fault, fault)
    yard.restart()
    [run] = yard.work()
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 1)
    assert len(yard.ticker.slept) == 3
    assert yard.ticker.slept[0] < yard.ticker.slept[1] < yard.ticker.slept[2] < 2


@pytest.mark.parametrize(
    "fault", [RuntimeError("a bug"), OSError(errno.EIO, "disk"), PermissionError(13, "no")], ids=str
)
def test_no_other_fault_is_tried_again_at_once(yard: Yard, fault: BaseException) -> None:
    yard.drop(yard.feed(), [yard.board.row("a")])
    yard.importer = Flaky(yard.board.importer, fault)
    yard.restart()
    assert yard.work() == []
    assert (yard.importer.calls, yard.ticker.slept) == (1, [])


def test_a_fault_that_stays_keeps_the_feed_waiting_and_costs_no_attempts(yard: Yard) -> None:
    feed = yard.feed()
    yard.drop(feed, [yard.board.row("a")])
    yard.importer = Flaky(yard.board.importer, *[StoreBusy("the disk is full")] * 40)
    yard.restart()
    assert yard.work() == []
    assert yard.worker.waiting == "acme: the disk is full"
    for _ in range(9):  # many more visits than deaths are allowed
        assert yard.worker.due is not None
        yard.ticker.now += yard.worker.due
        assert yard.worker.tick() == []
    assert yard.worker.due == pytest.approx(60)
    yard.ticker.now += 60
    assert [(run.state, run.attempt) for run in yard.worker.tick()] == [(RunState.SUCCEEDED, 1)]
    assert yard.worker.waiting is None


def test_a_disk_that_is_full_while_filing_loses_nothing(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    feed = yard.feed()
    yard.drop(feed, [yard.board.row("a")])

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(delivery, "written_reports", full)
        yard.work()
    assert yard.states() == ["succeeded"]
    assert "No space left" in yard.worker.waiting
    yard.ticker.now += 60
    yard.worker.tick()
    assert names(feed.folder / "done")[0] == "1-jobs.json"
    assert yard.states() == ["succeeded"]
    assert yard.worker.waiting is None


def test_a_file_that_changes_while_it_is_read_is_read_again_once_it_is_still(yard: Yard) -> None:
    feed = yard.feed()
    yard.drop(feed, [yard.board.row("a")])
    changed = FeedError("file_changed", "jobs.json was written to")
    yard.importer = Flaky(yard.board.importer, *[changed] * 5)
    yard.restart()
    assert yard.work() == []
    for _ in range(20):
        yard.ticker.now += 60
        if yard.worker.tick():
            break
    [run] = yard.runs()  # five starts, and none of them a death
    assert (run.state, run.attempt, yard.importer.calls) == (RunState.SUCCEEDED, 1, 6)


def test_a_claimed_file_that_vanished_ends_its_run(yard: Yard) -> None:
    feed = yard.feed()
    yard.drop(feed, [yard.board.row("a")])
    yard.importer = Flaky(yard.board.importer, RuntimeError("a bug"))
    yard.restart()
    yard.work()
    (feed.folder / ".claimed" / claims(feed)[0]).unlink()
    yard.ticker.now += 60
    yard.worker.tick()
    assert yard.states() == ["failed"]
    assert "was removed" in yard.runs()[0].reason


# -- death and resurrection -------------------------------------------------------------------------


@pytest.mark.parametrize("step", STEPS)
def test_a_death_after_any_step_leads_to_the_same_end(yard: Yard, step: str) -> None:
    feed = yard.feed()
    yard.drop(feed, bad(yard.board))

    def die(at: str) -> None:
        if at == step:
            raise Died

    yard.at = die
    with pytest.raises(Died):
        yard.work()
    yard.at = lambda step: None
    yard.restart()
    yard.work()
    [run] = yard.runs()
    assert (run.state, run.counts.created, run.counts.rejected) == (RunState.PARTIAL, 1, 1)
    assert run.attempt == (2 if step == "begun" else 1)
    assert yard.board.statuses() == {"a": "active"}
    assert names(feed.folder / "done") == [
        "1-jobs.json",
        "1-jobs.json.rejected.json",
        "1-jobs.json.report.html",
        "1-jobs.json.report.json",
    ]
    assert claims(feed) == []


@pytest.mark.parametrize("step", ["begun", "reported"])
def test_sigkill_after_any_step_leads_to_the_same_end(yard: Yard, step: str) -> None:
    feed = yard.feed()
    path = yard.drop(feed, [yard.board.row("a")])
    yard.board.store.close()
    code = """
import os, signal, sys
from pathlib import Path
from zoneinfo import ZoneInfo
from syncd.domain import Catalogue
from syncd.feeds.configuration.feed_files import FeedDefaults, parse_feed
from syncd.store import Store, employers, feeds
from syncd.sync.run.feed import Feed
from syncd.sync.run.importer import Importer
from syncd.sync.arrival import Worker
base, step = Path(sys.argv[1]), sys.argv[2]
store = Store.open(f"sqlite:///{base}/syncd.db", timezone=ZoneInfo("America/Toronto"))
catalogue = Catalogue.default()
config = parse_feed("acme", 'employer = "Acme Ltd."', catalogue, FeedDefaults())
employer = store.read(lambda tx: employers.find(tx, "Acme Ltd."))
number = store.write(lambda tx: feeds.feed_id(tx, "acme", employer.id))
feed = Feed(number, config, employer, base / "drop" / "acme")
now = [0.0]
die = lambda at: os.kill(os.getpid(), signal.SIGKILL) if at == step else None
worker = Worker(store, {"acme": feed}, Importer(store, catalogue=catalogue), monotonic=lambda: now[0], at=die)
for _ in range(3):
    worker.tick()
    now[0] += 100
store.close()
"""
    args = [sys.executable, "-c", code, str(yard.board.folder)]
    killed = subprocess.run([*args, step], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not path.exists()
    done = subprocess.run([*args, "never"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert names(feed.folder / "done")[0] == "1-jobs.json"
    assert claims(feed) == []
    with Store.open(f"sqlite:///{yard.board.folder}/syncd.db", timezone=ZoneInfo("America/Toronto")) as store:
        [run] = store.read(lambda tx: list(runs.list(tx)))
    assert (run.state, run.counts.created) == (RunState.SUCCEEDED, 1)


def test_a_run_that_was_cut_off_goes_on_under_its_number_before_newer_files(yard: Yard) -> None:
    feed = yard.feed()
    yard.drop(feed, [yard.board.row("a")], "old.json", 10)

    class Cut(Flaky):
        def run(self, feed: Feed, source: Any, run: Run, rejects: Any) -> Run:
            yard.board.store.write(lambda tx: runs.save(tx, replace(run, state=RunState.APPLYING)))
            raise Died

    importer, yard.importer = yard.importer, Cut(yard.importer)
    yard.restart()
    with pytest.raises(Died):
        yard.work()
    yard.drop(feed, [yard.board.row("b")], "new.json", 20)
    yard.importer = importer
    yard.restart()
    assert [(run.id, run.attempt, run.file) for run in yard.work()] == [
        (1, 2, "old.json"),
        (2, 1, "new.json"),
    ]


def test_a_file_whose_run_never_began_gives_way_to_a_newer_one(yard: Yard) -> None:
    feed = yard.feed()
    yard.drop(feed, [yard.board.row("a")], "old.json", 10)

    def die(step: str) -> None:
        raise Died

    yard.at = die
    with pytest.raises(Died):
        yard.work()
    yard.drop(feed, [yard.board.row("b")], "new.json", 20)
    yard.at = lambda step: None
    yard.restart()
    assert [(run.file, run.state.value) for run in yard.work()] == [
        ("old.json", "superseded"),
        ("new.json", "succeeded"),
    ]


def test_three_deaths_at_one_place_make_a_poison_file(yard: Yard) -> None:
    feed = yard.feed()
    yard.drop(feed, [yard.board.row("a")])
    for death in range(3):
        yard.importer = Flaky(yard.board.importer, Died())
        yard.restart()
        with pytest.raises(Died):
            yard.work() if death == 0 else yard.worker.tick()
    yard.importer = Flaky(yard.board.importer)
    yard.restart()
    with capture_logs() as logs:
        [run] = yard.worker.tick()
    assert (run.state, run.attempt, yard.importer.calls) == (RunState.FAILED, 4, 0)
    assert "3 attempts in a row died at the same place" in run.reason
    assert names(feed.folder / "failed")[0] == "1-jobs.json"
    assert [log["event"] for log in logs if log["event"] in ("feed.reconciled", "feed.failed")] == [
        "feed.reconciled",
        "feed.failed",
    ]


def test_deaths_at_different_places_do_not_add_up(yard: Yard) -> None:
    feed = yard.feed()
    yard.drop(feed, [yard.board.row("a")])
    places = iter(["read 1", "read 2", "read 1", "apply 1", "apply 2"])

    class Moving(Flaky):
        def run(self, feed: Feed, source: Any, run: Run, rejects: Any) -> Run:
            if (place := next(places, None)) is not None:
                yard.board.store.write(lambda tx: runs.set_checkpoint(tx, run.id, place))
                raise Died
            return self.importer.run(feed, source, run, rejects)

    yard.importer = Moving(yard.board.importer)
    for death in range(5):
        yard.restart()
        with pytest.raises(Died):
            yard.work() if death == 0 else yard.worker.tick()
    yard.restart()
    [run] = yard.worker.tick()
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 6)


def test_being_stopped_is_no_death(yard: Yard) -> None:
    feed = yard.feed()
    yard.drop(feed, [yard.board.row("a")])
    for stop in range(5):
        yard.importer = Flaky(yard.board.importer, Stopped("stopped"))
        yard.restart()
        assert (yard.work() if stop == 0 else yard.worker.tick()) == []
        assert claims(feed)
    yard.importer = yard.board.importer
    yard.restart()
    [run] = yard.worker.tick()
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 6)


def test_a_worker_that_is_told_to_stop_begins_nothing_new(yard: Yard) -> None:
    feed = yard.feed('mode = "delta"')
    for number in range(3):
        yard.drop(feed, [yard.board.row(str(number))], f"{number}.json", number)
    yard.stop = lambda: bool(yard.runs())
    assert len(yard.work()) == 1
    assert sorted(names(feed.folder))[1:3] == ["1.json", "2.json"]


# -- two at once, and the command line --------------------------------------------------------------


def test_of_two_workers_on_one_folder_one_runs_the_file(yard: Yard) -> None:
    feed = yard.feed()
    yard.drop(feed, [yard.board.row("a")])
    first, second = yard.worker, yard.restart()
    first.tick()
    second.tick()
    yard.ticker.now += 2
    ended: list[Run] = []

    def meanwhile(step: str) -> None:
        if step == "begun":
            ended.extend(second.tick())

    yard.at = meanwhile
    assert len(first.tick()) == 1
    assert ended == []
    assert yard.states() == ["succeeded"]


def test_a_file_is_imported_by_a_copy_and_goes_the_usual_way(yard: Yard) -> None:
    feed = yard.feed()
    path = yard.board.folder / "mine.json"
    path.write_text(json.dumps([yard.board.row("a")]))
    seen: list[tuple[str, int, int]] = []
    run = yard.worker.import_file(feed, path, lambda *step: seen.append(step))
    assert (run.state, run.file) == (RunState.SUCCEEDED, "mine.json")
    assert seen[-1] == ("copying", path.stat().st_size, path.stat().st_size)
    assert path.exists()
    assert names(feed.folder / "done")[0] == "1-mine.json"


def test_an_import_waits_until_the_daemon_is_done_with_the_feed(yard: Yard) -> None:
    feed = yard.feed()
    path = yard.board.folder / "mine.json"
    path.write_text(json.dumps([yard.board.row("a")]))
    yard.worker.tick()
    lock = feed_lock(feed.folder)
    assert lock.__enter__()

    def release(seconds: float) -> None:
        if len(yard.ticker.slept) == 2:
            lock.__exit__(None, None, None)
        yard.ticker.slept.append(seconds)

    command = Worker(yard.board.store, {}, yard.importer, sleep=release)
    assert command.import_file(feed, path).state is RunState.SUCCEEDED
    assert len(yard.ticker.slept) == 3


def test_an_import_that_died_is_continued_by_the_daemon(yard: Yard) -> None:
    feed = yard.feed()
    path = yard.board.folder / "mine.json"
    path.write_text(json.dumps([yard.board.row("a")]))

    def die(step: str) -> None:
        if step == "begun":
            raise Died

    command = Worker(yard.board.store, {}, yard.importer, at=die)
    with pytest.raises(Died):
        command.import_file(feed, path)
    yard.work()
    assert [(run.id, run.state.value) for run in yard.runs()] == [(1, "succeeded")]


# -- afterwards -------------------------------------------------------------------------------------


def test_old_files_are_swept_but_not_those_of_a_held_run_nor_anybody_elses(yard: Yard) -> None:
    feed = yard.feed('keep_files = "10d"')
    yard.drop(feed, [yard.board.row("a")])
    yard.work()
    yard.drop(feed, [])  # an empty feed is held
    yard.work()
    for name in ("1-mine.txt", "77-jobs.json", "notes.txt"):
        yard.drop(replace(feed, folder=feed.folder / "done"), b"mine", name)
    assert yard.states() == ["succeeded", "held"]
    yard.board.clock.forward(days=9)
    yard.work()
    assert "1-jobs.json" in names(feed.folder / "done")
    yard.board.clock.forward(days=2)
    yard.work()
    left = names(feed.folder / "done")
    assert not [name for name in left if name.startswith("1-jobs")]
    assert {"2-jobs.json", "2-jobs.json.report.html", "1-mine.txt", "77-jobs.json", "notes.txt"} <= set(left)


def test_keep_files_is_the_feeds_own(yard: Yard) -> None:
    assert yard.feed('keep_files = "10d"').config.keep_files == timedelta(days=10)


def test_a_held_run_that_a_later_file_replaced_says_so_in_its_report(yard: Yard) -> None:
    feed = yard.feed()
    yard.drop(feed, [yard.board.row("a")], "1.json")
    yard.work()
    yard.drop(feed, [], "2.json")
    yard.work()
    report = feed.folder / "done" / "2-2.json.report.json"
    assert json.loads(report.read_text())["state"] == "held"
    yard.drop(feed, [yard.board.row("a"), yard.board.row("b")], "3.json")
    yard.work()
    assert json.loads(report.read_text())["state"] == "superseded"


def test_feeds_can_be_replaced_between_ticks(yard: Yard) -> None:
    yard.drop(yard.feed(name="a"), [yard.board.row("a")])
    yard.worker.tick()
    feed = yard.feed('settle = "1s"', name="b")
    yard.drop(feed, [yard.board.row("b")])
    yard.worker.change_feeds({"b": feed})
    assert [run.feed for run in yard.work(wait=1)] == ["b"]


def test_a_held_run_is_not_approved_before_its_file_has_arrived_where_it_stays(yard: Yard) -> None:
    feed = yard.feed()
    yard.drop(feed, [yard.board.row(name) for name in "abcdef"])
    yard.work()
    said: list[str] = []

    def too_early(step: str) -> None:
        if step == "run":
            with pytest.raises(NotFound) as caught:
                yard.board.importer.approve(yard.runs()[-1].id, feed)
            said.append(str(caught.value))

    yard.at = too_early
    yard.drop(feed, [yard.board.row("a")], "less.json")
    (held,) = yard.work()
    assert held.state is RunState.HELD
    assert said[0].endswith(f"it is just being moved to {feed.folder}/done; try again in a moment")
    assert yard.board.importer.approve(held.id, feed).state is RunState.SUCCEEDED
