"""Partners are strangers: whatever lies where a partner may write harms nobody but the partner's own feed."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from syncd.domain import Run, RunState
from syncd.errors import NotFound
from syncd.sync.arrival import claims as claims_of_feeds
from syncd.sync.arrival.inbox import Inbox
from syncd.sync.run import Feed
from tests.sync.arrival.test_worker import Died, Yard, claims, names

#: Seconds after which a call that waits for a partner has failed.
PATIENCE = 20
#: What a partner can put under a name.
KINDS = (
    "file",
    "empty file",
    "link",
    "dangling link",
    "FIFO",
    "folder",
    "full folder",
    "socket",
    "hard link",
)
REPORTS = ("", ".report.json", ".report.html", ".rejected.json")


class Blocked(BaseException):
    """A call waits for a partner; no handler of ``Exception`` may hide that."""


@pytest.fixture
def yard(board: Any) -> Yard:
    return Yard(board)


@pytest.fixture(autouse=True)
def _nothing_blocks() -> Iterator[None]:
    """A call that waits for a partner fails, and does not hold up the tests."""

    def fail(*_: object) -> None:
        raise Blocked

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file of the daemon's that no partner may write to."""
    path = tmp_path / "victim"
    path.write_bytes(b"precious")
    path.chmod(0o600)
    return path


def plant(path: Path, kind: str, victim: Path) -> tuple[Any, ...]:
    """Put a thing of ``kind`` there; return how it looks."""
    match kind:
        case "file":
            path.write_bytes(b"the partner's own")
        case "empty file":
            path.touch()
        case "link":
            path.symlink_to(victim)
        case "dangling link":
            path.symlink_to(victim.with_name("new"))
        case "link to a folder":
            path.symlink_to(victim.parent / "elsewhere")
            (victim.parent / "elsewhere").mkdir()
        case "FIFO":
            os.mkfifo(path)
        case "folder" | "full folder":
            path.mkdir()
            if kind == "full folder":
                (path / "thing").write_bytes(b"the partner's own")
        case "socket":
            here = os.getcwd()
            os.chdir(path.parent)  # the address of a socket is short
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(path.name)
            os.chdir(here)
        case "hard link":
            os.link(victim, path)
    return look(path)


def look(path: Path) -> tuple[Any, ...]:
    found = path.lstat()
    content = path.read_bytes() if stat.S_ISREG(found.st_mode) else None
    return found.st_ino, found.st_mode, content


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink()


def partly_bad(yard: Yard) -> list[Any]:
    return [yard.board.row("a"), yard.board.row("b", title=None)]


def filed(feed: Feed, sub: str, run: int, name: str = "jobs.json") -> list[str]:
    """Return the stem under which the file of a run and all that belongs to it lie, and what is added to it."""
    [stem] = [
        found
        for found in names(feed.folder / sub)
        if found.startswith(f"{run}") and found.endswith(f"-{name}") and _whole(feed.folder / sub / found)
    ]
    return [stem, *sorted(n.removeprefix(stem) for n in names(feed.folder / sub) if n.startswith(f"{stem}."))]


def _whole(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.read_bytes().startswith((b"[", b"{"))


# -- what lies under the names of reports -----------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", [".report.json", ".report.html"])
def test_a_report_is_never_written_through_the_name_of_a_draft(
    yard: Yard, victim: Path, kind: str, suffix: str
) -> None:
    feed = yard.feed()
    yard.worker.tick()
    draft = feed.folder / "done" / f".1-jobs.json{suffix}.tmp"
    before = plant(draft, kind, victim)
    yard.drop(feed, partly_bad(yard))
    [run] = yard.work()
    assert run.counts.created == 1
    assert filed(feed, "done", 1) == ["1-jobs.json", ".rejected.json", ".report.html", ".report.json"]
    assert look(draft) == before
    assert victim.read_bytes() == b"precious"
    assert not victim.with_name("new").exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", REPORTS)
def test_what_lies_under_a_name_that_a_run_wants_stays_and_the_run_takes_another(
    yard: Yard, victim: Path, kind: str, suffix: str
) -> None:
    feed, other = yard.feed(), yard.feed(name="other")
    yard.worker.tick()
    thing = feed.folder / "done" / f"1-jobs.json{suffix}"
    before = plant(thing, kind, victim)
    yard.drop(feed, partly_bad(yard))
    yard.drop(other, [yard.board.row("x")])
    assert [run.feed for run in yard.work()] == ["acme", "other"]
    assert look(thing) == before
    assert victim.read_bytes() == b"precious"
    assert not victim.with_name("new").exists()
    assert filed(feed, "done", 1) == ["1.2-jobs.json", ".rejected.json", ".report.html", ".report.json"]
    assert json.loads((feed.folder / "done" / "1.2-jobs.json.report.json").read_text())["id"] == 1
    assert claims(feed) == []
    assert yard.worker.waiting is None


@pytest.mark.parametrize("kind", ["link", "FIFO", "folder"])
def test_the_reports_of_a_file_that_failed_are_as_safe(yard: Yard, victim: Path, kind: str) -> None:
    feed = yard.feed()
    yard.worker.tick()
    before = plant(feed.folder / "failed" / "1-jobs.json.report.json", kind, victim)
    yard.drop(feed, b'[{"referenceId": "a"')
    [run] = yard.work()
    assert run.state is RunState.FAILED
    assert look(feed.folder / "failed" / "1-jobs.json.report.json") == before
    assert filed(feed, "failed", 1) == ["1.2-jobs.json", ".report.html", ".report.json"]
    assert victim.read_bytes() == b"precious"


@pytest.mark.parametrize("suffix", REPORTS)
def test_a_death_while_filing_and_a_thing_in_the_way_afterwards(
    yard: Yard, victim: Path, suffix: str
) -> None:
    feed = yard.feed()
    yard.drop(feed, partly_bad(yard))

    def die(step: str) -> None:
        if step == "reported":
            raise Died

    yard.at = die
    with pytest.raises(Died):
        yard.work()
    done = feed.folder / "done"
    (done / f"1-jobs.json{suffix}").unlink(missing_ok=True)
    before = plant(done / f"1-jobs.json{suffix}", "link", victim)
    yard.at = lambda step: None
    yard.restart()
    yard.work()
    assert look(done / f"1-jobs.json{suffix}") == before
    assert victim.read_bytes() == b"precious"
    assert filed(feed, "done", 1)[-2:] == [".report.html", ".report.json"]
    assert claims(feed) == []


# -- folders that are not the daemon's --------------------------------------------------------------


@pytest.mark.parametrize("kind", ["file", "link", "link to a folder", "dangling link", "FIFO", "socket"])
@pytest.mark.parametrize("name", ["done", "failed", ".claimed", "."])
def test_a_feed_whose_folder_is_not_a_folder_waits_alone_and_goes_on_by_itself(
    yard: Yard, victim: Path, kind: str, name: str
) -> None:
    feed, other = yard.feed(), yard.feed(name="other")
    yard.worker.tick()
    spoiled = feed.folder / name if name != "." else feed.folder
    aside = spoiled.rename(spoiled.parent.parent / "aside")
    if name != ".":
        yard.drop(feed, [yard.board.row("a")])
    plant(spoiled, kind, victim)
    yard.drop(other, [yard.board.row("x")])
    with capture_logs() as logs:
        assert [run.feed for run in yard.work()] == ["other"]
    what = "a symbolic link" if "link" in kind else f"a {kind}"
    why = f"{spoiled} is {what}, not a folder: remove it, and syncd makes the folder"
    assert yard.worker.degraded == {"acme": why}
    assert yard.worker.waiting is None, "the service as a whole is ready"
    assert why in [log["reason"] for log in logs if log["event"] == "feed.waiting"]
    assert victim.read_bytes() == b"precious"
    assert not list((victim.parent / "elsewhere").glob("*"))
    assert not victim.with_name("new").exists()

    remove(spoiled)
    if name != ".":
        assert yard.runs()[-1].feed == "other", "nothing was begun that could not be filed"
    else:
        aside.rename(spoiled)
        yard.drop(feed, [yard.board.row("a")])
    yard.ticker.now += 60
    with capture_logs() as logs:
        assert [run.feed for run in yard.work()] == ["acme"]
    assert [log["feed"] for log in logs if log["event"] == "feed.resumed"] == ["acme"]
    assert yard.worker.degraded == {}


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701, 0o2777])
def test_a_folder_for_drafts_that_others_can_enter_is_closed_first(yard: Yard, mode: int) -> None:
    feed = yard.feed()
    yard.worker.tick()
    private = feed.folder / ".claimed"
    private.chmod(mode)
    yard.drop(feed, [yard.board.row("a")])
    modes: list[int] = []
    yard.at = lambda step: modes.append(stat.S_IMODE(private.stat().st_mode))
    assert len(yard.work()) == 1
    assert set(modes) == {mode & 0o7700}


def test_a_folder_for_drafts_that_cannot_be_closed_is_not_used(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = yard.feed()
    yard.worker.tick()
    (feed.folder / ".claimed").chmod(0o755)
    yard.drop(feed, [yard.board.row("a")])
    with monkeypatch.context() as patch:
        patch.setattr(os, "fchmod", lambda fd, mode: None)  # as some file systems of other kinds do
        assert yard.work() == []
    why = "can be entered by other users (mode 0755), and its file system does not let that be changed"
    assert yard.worker.degraded == {"acme": f"{feed.folder}/.claimed {why}"}
    yard.ticker.now += 60
    assert len(yard.work()) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a folder away")
def test_a_folder_for_drafts_that_is_somebody_elses_is_not_used(yard: Yard) -> None:
    feed = yard.feed()
    yard.worker.tick()
    private = feed.folder / ".claimed"
    os.chown(private, 12345, -1)
    yard.drop(feed, [yard.board.row("a")])
    assert yard.work() == []
    assert yard.worker.degraded["acme"].startswith(
        f"{private} belongs to the user 12345, not to syncd's user 0"
    )
    os.chown(private, 0, -1)
    yard.ticker.now += 60
    assert len(yard.work()) == 1


@pytest.mark.parametrize("kind", ["FIFO", "folder", "link", "dangling link", "socket"])
def test_a_lock_that_is_not_a_file_neither_blocks_nor_is_followed(
    yard: Yard, victim: Path, kind: str
) -> None:
    feed, other = yard.feed(), yard.feed(name="other")
    yard.worker.tick()
    lock = feed.folder / ".claimed" / ".lock"
    lock.unlink()
    plant(lock, kind, victim)
    yard.drop(feed, [yard.board.row("a")])
    yard.drop(other, [yard.board.row("x")])
    assert [run.feed for run in yard.work()] == ["other"]
    assert yard.worker.degraded["acme"].startswith(str(lock))
    remove(lock)
    yard.ticker.now += 60
    assert [run.feed for run in yard.work()] == ["acme"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name",
    ["0123abcd-jobs.json", ".copy-0123abcd", ".0123abcd.rejected.json", ".0123abcd.rejected.json.part"],
)
def test_nothing_in_the_folder_of_claimed_files_stops_the_feed(
    yard: Yard, victim: Path, kind: str, name: str
) -> None:
    feed = yard.feed('mode = "delta"')
    yard.worker.tick()
    plant(feed.folder / ".claimed" / name, kind, victim)
    yard.drop(feed, [yard.board.row("a")], "fresh.json")
    with capture_logs() as logs:
        assert "fresh.json" in [run.file for run in yard.work()]
    assert yard.worker.waiting is None
    assert yard.worker.degraded == {}
    assert victim.read_bytes() == b"precious"
    if name == "0123abcd-jobs.json" and kind not in ("file", "empty file", "hard link"):
        strays = [log["file"] for log in logs if log["event"] == "feed.stray"]
        assert strays == [".claimed/0123abcd-jobs.json"]


def test_what_is_exchanged_for_a_fifo_between_the_look_and_the_claim_is_not_read(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = yard.feed()
    path = yard.drop(feed, [yard.board.row("a")])
    yard.worker.tick()
    yard.ticker.now += 61
    inbox_scan = Inbox.scan

    def scan(self: Any) -> Any:
        found = inbox_scan(self)
        path.unlink()
        os.mkfifo(path)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Inbox, "scan", scan)
        assert yard.worker.tick() == []
    yard.drop(feed, [yard.board.row("a")], "good.json")
    assert [run.file for run in yard.work()] == ["good.json"]


# -- markers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["link", "dangling link", "FIFO", "folder", "full folder", "socket"])
def test_a_marker_is_a_file(yard: Yard, victim: Path, kind: str) -> None:
    feed = yard.feed('marker = ".done"')
    yard.worker.tick()
    before = plant(feed.folder / "jobs.json.done", kind, victim)
    yard.drop(feed, [yard.board.row("a")])
    with capture_logs() as logs:
        assert yard.work() == []
    [stray] = [log for log in logs if log["event"] == "feed.stray"]
    assert stray["file"] == "jobs.json.done"
    assert stray["reason"].endswith("only a regular file is a marker")
    assert look(feed.folder / "jobs.json.done") == before
    yard.drop(feed, b"", "other.json.done")
    yard.drop(feed, [yard.board.row("a")], "other.json")
    assert [run.file for run in yard.work()] == ["other.json"]
    assert yard.worker.waiting is None


def test_a_marker_that_becomes_a_folder_when_its_file_is_claimed_does_not_stop_the_feed(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = yard.feed('marker = ".done"')
    yard.drop(feed, b"", "jobs.json.done")
    yard.drop(feed, [yard.board.row("a")])
    take = claims_of_feeds.take

    def exchange(*args: Any) -> Any:
        (feed.folder / "jobs.json.done").unlink(missing_ok=True)
        (feed.folder / "jobs.json.done").mkdir(exist_ok=True)
        return take(*args)

    monkeypatch.setattr(claims_of_feeds, "take", exchange)
    [run] = yard.work()
    assert run.state is RunState.SUCCEEDED
    assert yard.worker.waiting is None


# -- held runs --------------------------------------------------------------------------------------


@pytest.fixture
def held(yard: Yard) -> tuple[Feed, Run]:
    """A feed whose second file waits for a decision."""
    feed = yard.feed()
    yard.drop(feed, [yard.board.row(name) for name in "abcdef"])
    yard.work()
    yard.drop(feed, [yard.board.row("a")], "less.json")
    [run] = yard.work()
    assert run.state is RunState.HELD
    return feed, run


@pytest.mark.parametrize("kind", ["link to the same bytes", "FIFO", "folder", "socket", "other bytes"])
def test_only_the_very_file_of_a_run_is_approved(
    yard: Yard, held: tuple[Feed, Run], victim: Path, kind: str
) -> None:
    feed, run = held
    kept = feed.folder / "done" / "2-less.json"
    content = kept.read_bytes()
    kept.unlink()
    if kind == "link to the same bytes":
        victim.write_bytes(content)
        kept.symlink_to(victim)
    elif kind == "other bytes":
        kept.write_bytes(content.replace(b"Cook", b"Cool"))
    else:
        plant(kept, kind, victim)
    with pytest.raises(NotFound, match="it is no longer in"):
        yard.board.importer.approve(run.id, feed)
    assert yard.board.saved(run.id).state is RunState.HELD
    remove(kept)
    kept.write_bytes(content)
    assert yard.board.importer.approve(run.id, feed).state is RunState.SUCCEEDED


def test_a_file_of_a_held_run_that_lies_behind_a_link_is_not_approved(
    yard: Yard, held: tuple[Feed, Run], tmp_path: Path
) -> None:
    feed, run = held
    (feed.folder / "done").rename(tmp_path / "elsewhere")
    (feed.folder / "done").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Exception, match="a symbolic link, not a folder"):
        yard.board.importer.approve(run.id, feed)
    assert yard.board.saved(run.id).state is RunState.HELD


def test_a_file_of_a_held_run_that_changes_once_it_was_compared_is_not_approved(
    yard: Yard, held: tuple[Feed, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    feed, run = held
    kept = feed.folder / "done" / "2-less.json"
    before = kept.stat()
    from syncd.sync.run import approval

    compare = approval.sha256

    def exchange(*args: Any) -> bytes:
        digest = compare(*args)
        kept.write_bytes(kept.read_bytes().replace(b"Cook", b"Cool"))
        os.utime(kept, ns=(before.st_mtime_ns, before.st_mtime_ns))
        return digest

    monkeypatch.setattr(approval, "sha256", exchange)
    with pytest.raises(Exception, match="was written to while it was read"):
        yard.board.importer.approve(run.id, feed)
    saved = yard.board.saved(run.id)
    assert (saved.state, saved.sha256) == (RunState.HELD, run.sha256)
    assert set(yard.board.statuses().values()) == {"active"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", [".report.json", ".report.html"])
def test_a_report_that_a_partner_replaced_is_left_alone_when_the_run_goes_on(
    yard: Yard, held: tuple[Feed, Run], victim: Path, kind: str, suffix: str
) -> None:
    feed, _run = held
    report = feed.folder / "done" / f"2-less.json{suffix}"
    report.unlink()
    before = plant(report, kind, victim)
    yard.drop(feed, [yard.board.row(name) for name in "abcdefg"], "more.json")
    [run] = yard.work()
    assert (run.id, run.state) == (3, RunState.SUCCEEDED)
    assert yard.states()[1] == "superseded"
    assert victim.read_bytes() == b"precious"
    assert not victim.with_name("new").exists()
    if kind not in ("file", "empty file"):  # a file of the daemon's own user is its earlier report
        assert look(report) == before
    assert yard.worker.waiting is None


# -- two file systems, and races --------------------------------------------------------------------


MOUNTED = """
set -e
mount -t tmpfs none "$1"
shift
exec "$@"
"""


def elsewhere(folder: Path, code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run ``code`` where ``folder`` is a file system of its own."""
    rights = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    command = ["unshare", *rights, "--mount", "sh", "-c", MOUNTED, "sh", folder]
    command += [sys.executable, "-c", code, *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def mounts(tmp_path_factory: pytest.TempPathFactory) -> None:
    done = elsewhere(tmp_path_factory.mktemp("mount"), "")
    if done.returncode != 0:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")


WORK = """
import json, sys
from pathlib import Path
from zoneinfo import ZoneInfo
from syncd.domain import Catalogue
from syncd.feeds.configuration import FeedDefaults, parse_feed
from syncd.store import Store, employers, feeds
from syncd.sync.arrival import Worker
from syncd.sync.run import Feed, Importer
base = Path(sys.argv[1])
store = Store.open(f"sqlite:///{base}/syncd.db", timezone=ZoneInfo("America/Toronto"))
catalogue = Catalogue.default()
config = parse_feed("acme", 'employer = "Acme Ltd."', catalogue, FeedDefaults())
employer = store.read(lambda tx: employers.find(tx, "Acme Ltd."))
number = store.write(lambda tx: feeds.feed_id(tx, "acme", employer.id))
feed = Feed(number, config, employer, base / "drop" / "acme")
feed.folder.mkdir(parents=True, exist_ok=True)
now = [0.0]
worker = Worker(store, {"acme": feed}, Importer(store, catalogue=catalogue), monotonic=lambda: now[0])
(feed.folder / "jobs.json").write_text(sys.argv[2])
ended = []
for _ in range(3):
    ended += worker.tick()
    now[0] += 100
left = sorted(p.name for p in feed.folder.iterdir()) + sorted(p.name for p in (feed.folder / "done").iterdir())
print(json.dumps([[run.state.value for run in ended], left, worker.degraded, worker.waiting]))
store.close()
"""


@pytest.mark.usefixtures("mounts")
def test_a_feeds_folder_may_be_a_file_system_of_its_own(yard: Yard) -> None:
    feed = yard.feed()
    yard.board.store.close()
    done = elsewhere(feed.folder, WORK, yard.board.folder, json.dumps(partly_bad(yard)))
    assert done.returncode == 0, done.stderr
    states, left, degraded, waiting = json.loads(done.stdout.splitlines()[-1])
    assert (states, degraded, waiting) == (["partial"], {}, None)
    assert left[:4] == [".claimed", "done", "failed", "1-jobs.json"]
    assert left[4:] == [
        f"1-jobs.json{suffix}" for suffix in (".rejected.json", ".report.html", ".report.json")
    ]


@pytest.mark.usefixtures("mounts")
@pytest.mark.parametrize("name", ["done", "failed", ".claimed"])
def test_a_folder_inside_it_may_not(yard: Yard, name: str) -> None:
    feed = yard.feed()
    yard.worker.tick()
    yard.board.store.close()
    done = elsewhere(feed.folder / name, WORK, yard.board.folder, json.dumps([yard.board.row("a")]))
    assert done.returncode == 0, done.stderr
    states, left, degraded, waiting = json.loads(done.stdout.splitlines()[-1])
    assert (states, waiting) == ([], None)
    why = f"is on another file system than {feed.folder}; a feed's folders must be on the same one"
    assert degraded == {"acme": f"{feed.folder / name} {why}"}
    assert "jobs.json" in left, "nothing was begun that could not be filed"


@pytest.mark.parametrize("name", ["done", ".claimed"])
def test_folders_that_are_exchanged_all_the_time_lead_nowhere(yard: Yard, victim: Path, name: str) -> None:
    feed = yard.feed('mode = "delta"\nsettle = "0"')
    yard.worker.tick()
    elsewhere = victim.parent / "elsewhere"
    elsewhere.mkdir()
    real, link = feed.folder / name, feed.folder / ".link"
    stop = threading.Event()

    def exchange() -> None:
        while not stop.is_set():
            try:
                real.rename(feed.folder / ".aside")
                link.symlink_to(elsewhere)
                link.rename(real)
                real.unlink()
            except OSError:  # the daemon made the folder anew
                link.unlink(missing_ok=True)
            try:
                (feed.folder / ".aside").rename(real)
            except OSError:
                stop.wait(0.001)

    partner = threading.Thread(target=exchange)
    partner.start()
    try:
        for number in range(60):
            yard.drop(feed, [yard.board.row(str(number))], f"{number}.json")
            yard.worker.tick()
            yard.ticker.now += 61
    finally:
        stop.set()
        partner.join()
    for _ in range(5):
        yard.ticker.now += 61
        yard.worker.tick()
    assert list(elsewhere.iterdir()) == []
    assert victim.read_bytes() == b"precious"
    assert yard.worker.waiting is None
    assert len(yard.runs()) > 0


def test_names_that_are_exchanged_all_the_time_are_never_followed(yard: Yard, victim: Path) -> None:
    feed = yard.feed('mode = "delta"\nsettle = "0"')
    yard.worker.tick()
    done = feed.folder / "done"
    stop = threading.Event()
    put: list[Callable[[Path], None]] = [
        lambda path: path.symlink_to(victim),
        os.mkfifo,
        lambda path: path.mkdir(),
        lambda path: os.link(victim, path),
    ]

    def exchange() -> None:
        step = 0
        while not stop.is_set():
            for path in [*done.glob("*"), *(done / f"{n}-{n - 1}.json.report.json" for n in range(1, 40))]:
                step += 1
                try:
                    if not path.is_dir():
                        path.unlink(missing_ok=True)
                    put[step % 4](path)
                    if step % 3 == 0:
                        remove(path)
                except OSError:
                    continue

    partner = threading.Thread(target=exchange)
    partner.start()
    try:
        for number in range(40):
            yard.drop(feed, [yard.board.row(str(number))], f"{number}.json")
            yard.worker.tick()
            yard.ticker.now += 61
    finally:
        stop.set()
        partner.join()
    assert victim.read_bytes() == b"precious"
    for _ in range(5):
        yard.ticker.now += 61
        yard.worker.tick()
    assert claims(feed) == []
    assert yard.worker.waiting is None
    assert {run.state for run in yard.runs()} == {RunState.SUCCEEDED}
