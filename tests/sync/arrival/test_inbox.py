"""The folder of a feed: which files are complete, how they are claimed, and where they are filed
(docs/reconciliation.md "When a file is taken")."""

import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any

import pytest

from syncd.sync.arrival import file_away as filing
from syncd.sync.arrival import inbox as inbox_module
from syncd.sync.arrival.claims import Claims, copy_in
from syncd.sync.arrival.feed_folder import make_folders, tidy
from syncd.sync.arrival.inbox import Inbox, Scan, Settling
from syncd.sync.drop_file import DropFile
from syncd.sync.files import display_name, filed_name, never_taken, parse_filed, short_name
from tests.sync.arrival.arrivals import Died, MonotonicClock, names
from tests.sync.board import FakeHost


@pytest.fixture
def clock():
    return MonotonicClock()


@pytest.fixture
def make_inbox(tmp_path, clock):
    def make(settle: float = 2.0, marker: str | None = None) -> Inbox:
        inbox = Inbox(tmp_path / "drop" / "acme", marker, Settling(settle, clock))
        make_folders(inbox.folder)
        return inbox

    return make


@pytest.fixture
def inbox(make_inbox):
    return make_inbox()


def drop(
    inbox: Inbox, name: str = "jobs.xml", content: bytes = b"<jobs/>", mtime: float | None = None
) -> Path:
    path = inbox.folder / name
    path.write_bytes(content)
    if mtime is not None:
        os.utime(path, (mtime, mtime))
    return path


def ready_names(scan: Scan) -> list[str]:
    return [candidate.name for candidate in scan.ready]


def scan_after(inbox: Inbox, clock: MonotonicClock, wait: float = 2.0) -> Scan:
    """Return the scan of the folder ``wait`` seconds after a first one."""
    inbox.scan()
    clock.now += wait
    return inbox.scan()


def file_away(
    inbox: Inbox,
    claimed: DropFile,
    run: int,
    *,
    reports: dict[str, bytes],
    step: Callable[[str], None] = lambda name: None,
) -> Path:
    written = {suffix: partial(_write, content) for suffix, content in reports.items()}
    return filing.file_away(
        claimed, run, inbox.folder / "done", lambda rejected: written, FakeHost(step=step)
    )


def _write(content: bytes, file: IO[bytes]) -> None:
    file.write(content)


def claims_of(inbox: Inbox, marker: str | None = None) -> Claims:
    return Claims(inbox.folder, marker)


def claim(inbox: Inbox, clock: MonotonicClock) -> DropFile:
    [file] = scan_after(inbox, clock, 60).ready
    claimed = claims_of(inbox).claim(file)
    assert claimed is not None
    return claimed


def orphans(inbox: Inbox, marker: str | None = None) -> list[DropFile]:
    claims = claims_of(inbox, marker)
    return [claimed for file in claims.claimed() if (claimed := claims.open(file)) is not None]


# -- what is never taken --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [".hidden.xml", "a.tmp", "a.part", "a.partial", "a.filepart", "a.crdownload", "a.swp", "a.xml~", "a.TMP"],
)
def test_a_file_with_the_name_of_an_unfinished_one_is_never_taken(inbox, clock, name):
    drop(inbox, name)
    scan = scan_after(inbox, clock, 1000)
    assert (scan.ready, scan.waiting, scan.unexpected) == ((), (), ())
    assert never_taken(name)


@pytest.mark.parametrize(
    "name",
    [
        "~$jobs.xlsx",
        ".~lock.jobs.ods#",
        "desktop.ini",
        "Desktop.ini",
        "Thumbs.db",
        "Icon\r",
        "jobs.csv.lnk",
        "Careers.URL",
    ],
)
def test_a_file_that_a_desktop_or_an_office_program_leaves_behind_is_reported_and_never_taken(
    inbox, clock, name
):
    drop(inbox, name)
    scan = scan_after(inbox, clock, 1000)
    assert (scan.ready, scan.waiting) == ((), ())
    assert [(file.name, "left it behind" in file.why) for file in scan.unexpected] == [(name, True)]


@pytest.mark.parametrize(
    "name", ["desktop.ini.csv", "jobs~$.csv", "thumbs.csv", "icon.csv", "url", "lock.jobs#"]
)
def test_a_name_that_is_like_one_of_those_is_taken(inbox, clock, name):
    drop(inbox, name)
    assert [file.name for file in scan_after(inbox, clock, 1000).ready] == [name]


def test_links_and_special_files_are_reported_and_never_opened(inbox, clock, tmp_path):
    secret = tmp_path / "secret.xml"
    secret.write_bytes(b"<jobs/>")
    (inbox.folder / "link.xml").symlink_to(secret)
    (inbox.folder / "folder").mkdir()
    os.mkfifo(inbox.folder / "fifo.xml")  # to open it for reading would block
    os.mknod(inbox.folder / "socket.xml", stat.S_IFSOCK | 0o600)
    scan = scan_after(inbox, clock, 1000)
    assert scan.ready == ()
    assert {s.name: s.why.split(":")[0] for s in scan.unexpected} == {
        "link.xml": "a symbolic link",
        "folder": "a folder",
        "fifo.xml": "a FIFO",
        "socket.xml": "a socket",
    }


def test_a_device_is_never_opened(inbox, clock):
    if os.getuid() != 0:
        pytest.skip("needs root to make a device")
    os.mknod(inbox.folder / "zero.xml", 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    assert scan_after(inbox, clock, 1000).unexpected[0].why.startswith("a device")


# -- when a file is complete ------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "seconds"), [("any", 2.0), ("without a lease", 30.0), ("empty", 60.0)])
def test_a_file_is_ready_when_it_has_been_still_for_a_time(inbox, clock, monkeypatch, kind, seconds):
    if kind == "without a lease":
        monkeypatch.setattr(inbox_module, "open_for_writing", lambda fd: None)
    drop(inbox, content=b"" if kind == "empty" else b"<jobs/>")
    inbox.scan()
    clock.now += seconds - 0.5
    scan = inbox.scan()
    assert ready_names(scan) == []
    assert scan.due == pytest.approx(0.5)
    clock.now += 0.5
    assert ready_names(inbox.scan()) == ["jobs.xml"]


@pytest.mark.parametrize("change", ["grow", "touch", "replace"])
def test_any_change_of_a_file_starts_its_settle_time_again(inbox, clock, change):
    path = drop(inbox, mtime=1_700_000_000)
    inbox.scan()
    clock.now += 1.9
    if change == "grow":
        path.write_bytes(b"<jobs></jobs>")
        os.utime(path, (1_700_000_000, 1_700_000_000))
    elif change == "touch":
        os.utime(path, (1_700_000_001, 1_700_000_001))
    else:
        other = drop(inbox, ".new", mtime=1_700_000_000)
        other.rename(path)
    inbox.scan()
    clock.now += 1.9
    assert ready_names(inbox.scan()) == []
    clock.now += 0.1
    assert ready_names(inbox.scan()) == ["jobs.xml"]


def test_the_settle_time_of_a_file_that_was_moved_away_and_back_starts_again(inbox, clock, tmp_path):
    path = drop(inbox)
    inbox.scan()
    path.rename(tmp_path / "aside")
    clock.now += 5
    inbox.scan()
    (tmp_path / "aside").rename(path)
    assert ready_names(inbox.scan()) == []


def test_a_file_that_is_open_for_writing_is_not_complete(inbox, clock):
    path = drop(inbox)
    with path.open("ab"):
        scan = scan_after(inbox, clock, 100)
        assert ready_names(scan) == []
        assert "writing" in scan.waiting[0].why
    assert ready_names(inbox.scan()) == ["jobs.xml"]


def test_a_program_that_opens_the_file_during_the_lease_does_not_end_the_process(tmp_path):
    code = """
import fcntl, os, signal, subprocess, sys
from syncd.sync.arrival import inbox
path = sys.argv[1]
fd = os.open(path, os.O_RDONLY)
real_fcntl = fcntl.fcntl
def open_before_unlock(fd, command, value=0):  # another process opens the file while the lease is held
    if command == fcntl.F_SETLEASE and value == fcntl.F_UNLCK:
        other = "import os, sys; os.open(sys.argv[1], os.O_WRONLY | os.O_NONBLOCK)"
        subprocess.run([sys.executable, "-c", other, path], stderr=subprocess.DEVNULL, check=False)
    return real_fcntl(fd, command, value)
inbox.fcntl.fcntl = open_before_unlock
print(inbox.open_for_writing(fd))
"""
    path = tmp_path / "x"
    path.write_bytes(b"x")
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr


def test_the_lease_of_a_file_of_another_user_is_refused(inbox, clock):
    if os.getuid() != 0:
        pytest.skip("needs root to give a file to another user")
    path = drop(inbox)
    path.chmod(0o644)
    os.chown(path, 12345, 12345)
    code = """
import os, sys
from syncd.sync.arrival.inbox import open_for_writing
os.setgroups([]); os.setgid(65534); os.setuid(65534)
print(open_for_writing(os.open(0 if len(sys.argv) < 2 else "/proc/self/fd/0", os.O_RDONLY)))
"""
    with path.open("rb") as file:
        done = subprocess.run(
            [sys.executable, "-c", code, "x"], stdin=file, capture_output=True, text=True, check=False
        )
    assert done.stdout.strip() == "None", done.stderr


def test_a_file_with_a_marker_is_ready_without_a_settle_time(make_inbox, clock):
    inbox = make_inbox(marker=".done")
    drop(inbox)
    scan = scan_after(inbox, clock, 1000)
    assert (ready_names(scan), scan.due) == ([], None)
    drop(inbox, "jobs.xml.done", b"")
    assert ready_names(inbox.scan()) == ["jobs.xml"]


def test_the_claim_removes_the_marker_so_that_the_next_file_needs_its_own(make_inbox):
    inbox = make_inbox(marker=".done")
    drop(inbox)
    drop(inbox, "jobs.xml.done", b"")
    [file] = inbox.scan().ready
    assert claims_of(inbox, ".done").claim(file) is not None
    drop(inbox, content=b"<half")
    assert ready_names(inbox.scan()) == []


def die_after_the_rename(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a process claim the complete file, and die when it has renamed it."""
    rename = os.rename

    def rename_and_die(*args: Any, **options: Any) -> None:
        rename(*args, **options)
        raise Died

    [file] = inbox.scan().ready
    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", rename_and_die)
        with pytest.raises(Died):
            claims_of(inbox, ".done").claim(file)


def test_a_marker_that_a_dead_process_left_is_removed_with_its_claimed_file(make_inbox, monkeypatch):
    inbox = make_inbox(marker=".done")
    drop(inbox, "jobs.xml.done", b"")
    drop(inbox)
    die_after_the_rename(inbox, monkeypatch)
    drop(inbox, content=b"<half")
    assert len(orphans(inbox, ".done")) == 1
    assert ready_names(inbox.scan()) == []
    assert len(os.listdir(inbox.folder / ".claimed")) == 1


@pytest.mark.parametrize("how", ["written again", "replaced"])
def test_the_marker_of_the_next_file_is_not_removed_with_a_claimed_file_of_a_dead_process(
    make_inbox, monkeypatch, how
):
    inbox = make_inbox(marker=".done")
    marker = drop(inbox, "jobs.xml.done", b"")
    drop(inbox)
    die_after_the_rename(inbox, monkeypatch)
    drop(inbox, content=b"<next/>")
    time.sleep(0.02)  # the kernel counts the times of files in steps
    if how == "replaced":
        marker.unlink()
    marker.touch()
    assert len(orphans(inbox, ".done")) == 1
    assert ready_names(inbox.scan()) == ["jobs.xml"]


def test_a_new_marker_stays_whose_time_is_before_that_of_the_claim(make_inbox):
    inbox = make_inbox(marker=".done")
    drop(inbox)
    drop(inbox, "jobs.xml.done", b"")
    [file] = inbox.scan().ready
    claimed = claims_of(inbox, ".done").claim(file)
    assert claimed is not None
    drop(inbox)
    drop(inbox, "jobs.xml.done", b"")
    time.sleep(0.02)
    (inbox.folder / ".claimed" / claimed.entry).chmod(
        0o640
    )  # as if the clock had been set back since the claim
    assert len(orphans(inbox, ".done")) == 1
    assert ready_names(inbox.scan()) == ["jobs.xml"]


# -- claiming ---------------------------------------------------------------------------------------


def test_a_file_that_replaced_another_after_the_scan_has_to_settle_first(inbox, clock):
    path = drop(inbox)
    [file] = scan_after(inbox, clock).ready
    drop(inbox, ".new", b"<half").rename(path)
    assert claims_of(inbox).claim(file) is None
    [orphan] = orphans(inbox)
    assert orphan.path.read_bytes() == b"<half"
    settling = Settling(2.0, clock)
    assert settling.too_early(orphan.entry, orphan.signature) is not None
    clock.now += 2
    assert settling.too_early(orphan.entry, orphan.signature) is None
    assert settling.in_use(orphan.entry, orphan.fd) is None


def test_a_claimed_file_stays_the_same_when_its_name_becomes_a_link(inbox, clock, tmp_path):
    drop(inbox, content=b"mine")
    claimed = claim(inbox, clock)
    (tmp_path / "secret").write_bytes(b"secret")
    place = inbox.folder / ".claimed" / claimed.entry
    place.unlink()
    place.symlink_to(tmp_path / "secret")
    assert claimed.path.read_bytes() == b"mine"
    claimed.close()
    assert orphans(inbox) == []


def test_a_copy_of_an_imported_file_has_its_bytes_and_its_time(inbox, tmp_path):
    original = tmp_path / "mine.csv"
    original.write_bytes(b"a,b\n" * 400_000)
    os.utime(original, (1_700_000_000, 1_700_000_000))
    claimed = copy_in(inbox.folder, original)
    assert claimed.path.read_bytes() == original.read_bytes()
    assert (claimed.name, claimed.signature.mtime_ns) == ("mine.csv", 1_700_000_000 * 10**9)
    assert names(inbox.folder / ".claimed") == [claimed.entry]


def test_tidy_removes_only_what_dead_processes_left(inbox, clock):
    drop(inbox)
    claimed = claim(inbox, clock)
    claims = inbox.folder / ".claimed"
    dead = (".copy-00000000", ".00000000.rejected.csv.part", ".draft-0123456789abcdef")
    for name in (*dead, claimed.rejects.name + ".csv"):
        (claims / name).write_bytes(b"x")
    tidy(inbox.folder)
    assert {p.name for p in claims.iterdir()} == {claimed.entry, claimed.rejects.name + ".csv"}


# -- names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("a" * 181, "a" * 180),
        ("é" * 100, "é" * 90),
        ("a" + "é" * 90, "a" + "é" * 89),
        ("short.xml", "short.xml"),
    ],
)
def test_a_name_is_cut_to_180_bytes_between_characters(name, kept):
    assert short_name(name) == kept


def test_a_file_with_the_longest_name_is_filed_with_its_reports(inbox, clock):
    (inbox.folder / os.fsdecode(b"\xff" * 255)).write_bytes(b"x")
    claimed = claim(inbox, clock)
    claimed.rejects.with_name(claimed.rejects.name + ".jsonl").touch()
    filed = file_away(inbox, claimed, 2**31, reports={".report.json": b"{}"})
    assert filed.name == f"{2**31}-" + "%FF" * 60
    suffixes = ("", ".rejected.jsonl", ".report.json")
    assert names(filed.parent) == [filed.name + suffix for suffix in suffixes]


@pytest.mark.parametrize(
    ("name", "run"), [("42-a.xml", 42), ("42.3-a.xml", 42), ("a.xml", None), ("42-", None)]
)
def test_the_name_of_a_filed_file_has_the_number_of_its_run(name, run):
    assert parse_filed(name) == run
    assert parse_filed(filed_name(9, "x")) == 9
    assert display_name("plain") == "plain"


# -- filing -----------------------------------------------------------------------------------------


def test_the_reports_are_written_before_the_file_is_moved(inbox, clock):
    drop(inbox)

    def placed(_step: str) -> None:
        assert list((inbox.folder / ".claimed").glob("*-jobs.xml"))
        assert names(inbox.folder / "done") == ["42-jobs.xml.report.json"]

    file_away(inbox, claim(inbox, clock), 42, reports={".report.json": b"{}"}, step=placed)
    assert names(inbox.folder / "done") == ["42-jobs.xml", "42-jobs.xml.report.json"]
