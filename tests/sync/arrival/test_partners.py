"""Partners are not trusted: what a partner puts where it may write harms only the partner's own feed."""

import itertools
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from syncd.domain import RunState
from syncd.sync import files
from syncd.sync.drop_file import DropFile
from syncd.sync.run import Feed, approval
from tests.amounts import some
from tests.stores import store_url
from tests.sync.arrival.arrivals import PRIVATE, WORKER_PROGRAM, Arrival, Died, claims, names, partly_rejected

#: Seconds after which a call that waits for a partner fails. Such a call would wait for ever; a busy machine takes 20 for others.
LIMIT = 120
#: The kinds of things that a partner can make.
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
    """A call waits for a partner. No handler of ``Exception`` hides it."""


@pytest.fixture(autouse=True)
def _nothing_blocks():
    """Let a call that waits for a partner fail."""

    def fail(*_: object) -> None:
        raise Blocked

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(LIMIT)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def put_thing(path: Path, kind: str, private_file: Path) -> tuple[Any, ...]:
    """Make a thing of this kind at ``path``. Return its state."""
    match kind:
        case "file":
            path.write_bytes(b"the partner's own")
        case "empty file":
            path.touch()
        case "link":
            path.symlink_to(private_file)
        case "dangling link":
            path.symlink_to(private_file.with_name("new"))
        case "link to a folder":
            path.symlink_to(private_file.parent / "elsewhere")
            (private_file.parent / "elsewhere").mkdir()
        case "FIFO":
            os.mkfifo(path)
        case "folder" | "full folder":
            path.mkdir()
            if kind == "full folder":
                (path / "thing").write_bytes(b"the partner's own")
        case "socket":
            os.mknod(path, stat.S_IFSOCK | 0o600)
        case "hard link":
            os.link(private_file, path)
    return state_of(path)


def state_of(path: Path) -> tuple[Any, ...]:
    """Return what changes if the thing is replaced or written to."""
    found = path.lstat()
    content = path.read_bytes() if stat.S_ISREG(found.st_mode) else None
    return found.st_ino, found.st_mode, content


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink()


def filed(feed: Feed, sub: str, run: int, name: str = "jobs.json") -> list[str]:
    """Return the name of the file of a run, then the suffixes of its other files."""
    [stem] = [
        found
        for found in names(feed.folder / sub)
        if found.startswith(f"{run}") and found.endswith(f"-{name}") and _is_json(feed.folder / sub / found)
    ]
    return [stem, *sorted(n.removeprefix(stem) for n in names(feed.folder / sub) if n.startswith(f"{stem}."))]


def _is_json(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.read_bytes().startswith((b"[", b"{"))


# -- things with the names of reports ---------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", [f"1-jobs.json{suffix}" for suffix in REPORTS] + [".1-jobs.json.report.json.tmp"]
)
def test_what_has_the_name_of_a_file_of_a_run_stays_and_the_run_takes_another_name(
    arrival, private_file, kind, name
):
    feed, other = arrival.feed(), arrival.feed(name="other")
    arrival.worker.tick()
    thing = feed.folder / "done" / name
    # a file of the user of the daemon counts as a report that an attempt left which died
    replaced = ".report." in name and "file" in kind
    stem = "1-jobs.json" if replaced or name.startswith(".") else "1.2-jobs.json"
    before = put_thing(thing, kind, private_file)
    arrival.drop(feed, partly_rejected())
    arrival.drop(other, [arrival.row("x")])
    assert [run.feed for run in arrival.run_files()] == ["acme", "other"]
    assert replaced or state_of(thing) == before
    assert private_file.read_bytes() == PRIVATE
    assert not private_file.with_name("new").exists()
    assert filed(feed, "done", 1) == [stem, ".rejected.json", ".report.html", ".report.json"]
    report = json.loads((feed.folder / "done" / f"{stem}.report.json").read_text())
    assert (report["id"], report["rejectedFile"]) == (1, f"{stem}.rejected.json")
    assert claims(feed) == []
    assert arrival.worker.waiting is None


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_replaced_on_a_file_system_that_cannot_exclude_it(
    arrival, private_file, kind, monkeypatch
):
    monkeypatch.setattr(files, "_renameat2", None)  # as on NFS
    feed = arrival.feed()
    arrival.worker.tick()
    things = [feed.folder / "done" / "1-jobs.json.rejected.json", feed.folder / "done" / "1.2-jobs.json"]
    before = [put_thing(thing, kind, private_file) for thing in things]
    arrival.drop(feed, partly_rejected())
    arrival.run_files()
    assert [state_of(thing) for thing in things] == before
    assert filed(feed, "done", 1) == ["1.3-jobs.json", ".rejected.json", ".report.html", ".report.json"]


@pytest.mark.parametrize("suffix", REPORTS)
def test_a_link_that_replaces_a_report_after_a_process_died_is_not_followed(arrival, private_file, suffix):
    feed = arrival.feed_with(partly_rejected())
    arrival.restart_dying("reported")
    with pytest.raises(Died):
        arrival.run_files()
    done = feed.folder / "done"
    (done / f"1-jobs.json{suffix}").unlink(missing_ok=True)
    before = put_thing(done / f"1-jobs.json{suffix}", "link", private_file)
    arrival.restart()
    arrival.run_files()
    assert state_of(done / f"1-jobs.json{suffix}") == before
    assert private_file.read_bytes() == PRIVATE
    assert filed(feed, "done", 1)[-2:] == [".report.html", ".report.json"]
    assert claims(feed) == []


# -- folders that the daemon cannot use -------------------------------------------------------------


@pytest.mark.parametrize("kind", ["file", "link", "link to a folder", "dangling link", "FIFO", "socket"])
@pytest.mark.parametrize("name", ["done", "failed", ".claimed", "."])
def test_a_feed_waits_alone_while_its_folder_is_not_a_folder_and_goes_on_by_itself(
    arrival, private_file, kind, name
):
    feed, other = arrival.feed(), arrival.feed(name="other")
    arrival.worker.tick()
    place = feed.folder / name if name != "." else feed.folder
    aside = place.rename(place.parent.parent / "aside")
    if name != ".":
        arrival.drop(feed, [arrival.row("a")])
    put_thing(place, kind, private_file)
    arrival.drop(other, [arrival.row("x")])
    with capture_logs() as logs:
        assert [run.feed for run in arrival.run_files()] == ["other"]
    what = "a symbolic link" if "link" in kind else f"a {kind}"
    why = f"{place} is {what}, not a folder: remove it, and syncd makes the folder"
    assert arrival.worker.degraded == {"acme": why}
    assert arrival.worker.waiting is None, "the service as a whole is ready"
    assert why in [log["reason"] for log in logs if log["event"] == "feed.waiting"]
    assert private_file.read_bytes() == PRIVATE
    assert not list((private_file.parent / "elsewhere").glob("*"))
    assert not private_file.with_name("new").exists()

    remove(place)
    if name != ".":
        assert arrival.runs()[-1].feed == "other", "no run began whose file could not be moved"
    else:
        aside.rename(place)
        arrival.drop(feed, [arrival.row("a")])
    arrival.monotonic.now += 60
    with capture_logs() as logs:
        assert [run.feed for run in arrival.run_files()] == ["acme"]
    assert [log["feed"] for log in logs if log["event"] == "feed.resumed"] == ["acme"]
    assert arrival.worker.degraded == {}


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701, 0o2777])
def test_a_folder_for_drafts_that_others_can_enter_is_closed_first(arrival, mode):
    feed = arrival.feed()
    arrival.worker.tick()
    private = feed.folder / ".claimed"
    private.chmod(mode)
    arrival.drop(feed, [arrival.row("a")])
    modes: list[int] = []
    arrival.restart(step=lambda step: modes.append(stat.S_IMODE(private.stat().st_mode)))
    assert len(arrival.run_files()) == 1
    assert set(modes) == {mode & 0o7700}


def test_a_folder_for_drafts_that_cannot_be_closed_is_not_used(arrival, monkeypatch):
    feed = arrival.feed()
    arrival.worker.tick()
    (feed.folder / ".claimed").chmod(0o755)
    arrival.drop(feed, [arrival.row("a")])
    with monkeypatch.context() as patch:
        patch.setattr(os, "fchmod", lambda fd, mode: None)  # as on some file systems
        assert arrival.run_files() == []
    why = "can be entered by other users (mode 0755), and its file system does not let that be changed"
    assert arrival.worker.degraded == {"acme": f"{feed.folder}/.claimed {why}"}
    arrival.monotonic.now += 60
    assert len(arrival.run_files()) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a folder away")
def test_a_folder_for_drafts_of_another_user_is_not_used(arrival):
    feed = arrival.feed()
    arrival.worker.tick()
    private = feed.folder / ".claimed"
    os.chown(private, 12345, -1)
    arrival.drop(feed, [arrival.row("a")])
    assert arrival.run_files() == []
    assert arrival.worker.degraded["acme"].startswith(
        f"{private} belongs to the user 12345, not to syncd's user 0"
    )
    os.chown(private, 0, -1)
    arrival.monotonic.now += 60
    assert len(arrival.run_files()) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name",
    ["0123abcd-jobs.json", ".copy-0123abcd", ".0123abcd.rejected.json", ".0123abcd.rejected.json.part"],
)
def test_nothing_in_the_folder_of_claimed_files_stops_the_feed(arrival, private_file, kind, name):
    feed = arrival.feed('mode = "delta"')
    arrival.worker.tick()
    put_thing(feed.folder / ".claimed" / name, kind, private_file)
    arrival.drop(feed, [arrival.row("a")], "fresh.json")
    with capture_logs() as logs:
        assert "fresh.json" in [run.file for run in arrival.run_files()]
    assert arrival.worker.waiting is None
    assert arrival.worker.degraded == {}
    assert private_file.read_bytes() == PRIVATE
    if name == "0123abcd-jobs.json" and kind not in ("file", "empty file", "hard link"):
        unexpected = [log["file"] for log in logs if log["event"] == "feed.stray"]
        assert unexpected == [".claimed/0123abcd-jobs.json"]


# -- markers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["link", "dangling link", "FIFO", "folder", "full folder", "socket"])
def test_only_a_file_is_a_marker(arrival, private_file, kind):
    feed = arrival.feed('marker = ".done"')
    arrival.worker.tick()
    before = put_thing(feed.folder / "jobs.json.done", kind, private_file)
    arrival.drop(feed, [arrival.row("a")])
    with capture_logs() as logs:
        assert arrival.run_files() == []
    [unexpected] = [log for log in logs if log["event"] == "feed.stray"]
    assert unexpected["file"] == "jobs.json.done"
    assert unexpected["reason"].endswith("only a regular file is a marker")
    assert state_of(feed.folder / "jobs.json.done") == before
    arrival.drop(feed, b"", "other.json.done")
    arrival.drop(feed, [arrival.row("a")], "other.json")
    assert [run.file for run in arrival.run_files()] == ["other.json"]
    assert arrival.worker.waiting is None


# -- held runs --------------------------------------------------------------------------------------


def test_a_held_run_whose_folder_became_a_link_is_not_approved(arrival, held, tmp_path):
    feed, run = held
    (feed.folder / "done").rename(tmp_path / "elsewhere")
    (feed.folder / "done").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Exception, match="a symbolic link, not a folder"):
        arrival.board.importer.approve(run.id, feed)
    assert arrival.board.saved(run.id).state is RunState.HELD


def test_a_held_run_whose_file_changes_after_the_comparison_is_not_approved(arrival, held, monkeypatch):
    feed, run = held
    kept = feed.folder / "done" / "2-less.json"
    before = kept.stat()

    sha256 = approval._sha256

    def exchange(source: DropFile) -> str:
        digest = sha256(source)
        kept.write_bytes(kept.read_bytes().replace(b"Cook", b"Cool"))
        os.utime(kept, ns=(before.st_mtime_ns, before.st_mtime_ns))
        return digest

    monkeypatch.setattr(approval, "_sha256", exchange)
    with pytest.raises(Exception, match="was changed while it was read"):
        arrival.board.importer.approve(run.id, feed)
    saved = arrival.board.saved(run.id)
    assert (saved.state, saved.sha256) == (RunState.HELD, run.sha256)
    assert set(arrival.board.statuses().values()) == {"active"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", [".report.json", ".report.html"])
def test_what_a_partner_put_in_place_of_a_report_stays_when_the_run_is_superseded(
    arrival, held, private_file, kind, suffix
):
    feed, _run = held
    report = feed.folder / "done" / f"2-less.json{suffix}"
    report.unlink()
    before = put_thing(report, kind, private_file)
    arrival.drop(feed, [arrival.row(name) for name in "abcdefg"], "more.json")
    [run] = arrival.run_files()
    assert (run.id, run.state) == (3, RunState.SUCCEEDED)
    assert arrival.states()[1] == "superseded"
    assert private_file.read_bytes() == PRIVATE
    assert not private_file.with_name("new").exists()
    if kind not in ("file", "empty file"):  # a file of the user of the daemon counts as its earlier report
        assert state_of(report) == before
    assert arrival.worker.waiting is None


# -- two file systems, and races --------------------------------------------------------------------


#: Mounts an empty file system on the first argument, and runs the others as a command.
MOUNT = """
set -e
mount -t tmpfs none "$1"
shift
exec "$@"
"""


def run_on_mount(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments where ``folder`` is a file system of its own."""
    rights = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    command = ["unshare", *rights, "--mount", "sh", "-c", MOUNT, "sh", folder]
    command += [sys.executable, *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def mounts(tmp_path_factory):
    done = run_on_mount(tmp_path_factory.mktemp("mount"), "-c", "")
    if done.returncode != 0:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")


def run_worker_on_mount(arrival: Arrival, mount: Path, rows: list[Any]) -> Any:
    """Run the worker program with a file of these rows where ``mount`` is a file system of its own. Return what it prints."""
    arrival.board.store.close()
    folder = arrival.board.folder
    url = store_url(folder / "syncd.db")
    done = run_on_mount(mount, WORKER_PROGRAM, url, folder, json.dumps(rows))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.usefixtures("mounts")
def test_the_folder_of_a_feed_may_be_on_another_file_system(arrival):
    feed = arrival.feed()
    states, left, degraded, waiting = run_worker_on_mount(arrival, feed.folder, partly_rejected())
    assert (states, degraded, waiting) == (["partial"], {}, None)
    assert left[:4] == [".claimed", "done", "failed", "1-jobs.json"]
    assert left[4:] == [
        f"1-jobs.json{suffix}" for suffix in (".rejected.json", ".report.html", ".report.json")
    ]


@pytest.mark.usefixtures("mounts")
@pytest.mark.parametrize("name", some([".claimed", "done", "failed"], 1))
def test_a_folder_in_the_folder_of_a_feed_must_not_be_on_another_file_system(arrival, name):
    feed = arrival.feed()
    arrival.worker.tick()
    states, left, degraded, waiting = run_worker_on_mount(arrival, feed.folder / name, [arrival.row("a")])
    assert (states, waiting) == ([], None)
    why = f"is on another file system than {feed.folder}; a feed's folders must be on the same one"
    assert degraded == {"acme": f"{feed.folder / name} {why}"}
    assert "jobs.json" in left, "no run began whose file could not be moved"


@contextmanager
def repeated(act: Callable[[], None]) -> Iterator[None]:
    """Call ``act`` again and again in a thread."""
    stop = threading.Event()

    def repeat() -> None:
        while not stop.is_set():
            act()

    partner = threading.Thread(target=repeat)
    partner.start()
    try:
        yield
    finally:
        stop.set()
        partner.join()


def run_numbered_files(arrival: Arrival, feed: Feed, count: int) -> None:
    for number in range(count):
        arrival.drop(feed, [arrival.row(str(number))], f"{number}.json")
        arrival.worker.tick()
        arrival.monotonic.now += 61


def visit_again(arrival: Arrival) -> None:
    """Let the worker run what it could not run before."""
    for _ in range(5):
        arrival.monotonic.now += 61
        arrival.worker.tick()


@pytest.mark.parametrize("name", some(["done", ".claimed"], 1))
def test_a_folder_that_is_exchanged_for_a_link_again_and_again_is_not_followed(arrival, private_file, name):
    feed = arrival.feed('mode = "delta"\nsettle = "0"')
    arrival.worker.tick()
    elsewhere = private_file.parent / "elsewhere"
    elsewhere.mkdir()
    real, link, aside = feed.folder / name, feed.folder / ".link", feed.folder / ".aside"

    def exchange() -> None:
        try:
            real.rename(aside)
            link.symlink_to(elsewhere)
            link.rename(real)
            real.unlink()
        except OSError:  # the daemon made the folder again
            link.unlink(missing_ok=True)
        try:
            aside.rename(real)
        except OSError:
            time.sleep(0.001)

    with repeated(exchange):
        run_numbered_files(arrival, feed, 60)
    visit_again(arrival)
    assert list(elsewhere.iterdir()) == []
    assert private_file.read_bytes() == PRIVATE
    assert arrival.worker.waiting is None
    assert len(arrival.runs()) > 0


def test_files_that_are_exchanged_for_links_again_and_again_are_not_followed(arrival, private_file):
    feed = arrival.feed('mode = "delta"\nsettle = "0"')
    arrival.worker.tick()
    done = feed.folder / "done"
    reports = [done / f"{n}-{n - 1}.json.report.json" for n in range(1, 40)]
    things: list[Callable[[Path], None]] = [
        lambda path: path.symlink_to(private_file),
        os.mkfifo,
        lambda path: path.mkdir(),
        lambda path: os.link(private_file, path),
    ]
    numbers = itertools.count(1)

    def exchange() -> None:
        for path in [*done.glob("*"), *reports]:
            number = next(numbers)
            with suppress(OSError):
                if not path.is_dir():
                    path.unlink(missing_ok=True)
                things[number % 4](path)
                if number % 3 == 0:
                    remove(path)

    with repeated(exchange):
        run_numbered_files(arrival, feed, 40)
    assert private_file.read_bytes() == PRIVATE
    visit_again(arrival)
    assert claims(feed) == []
    assert arrival.worker.waiting is None
    assert {run.state for run in arrival.runs()} == {RunState.SUCCEEDED}
