"""A daemon whose disk, rights or watches fail: it says what to correct, goes on, and loses nothing."""

import errno
import os
import shutil
import signal
import subprocess

import pytest

from tests.amounts import lacking, nightly
from tests.e2e.conftest import JOB, csv_text, row

pytestmark = pytest.mark.slow
BASE = "/api/v1.1"


JOBS = 6


def job(reference, **fields):
    return {"referenceId": reference, **JOB, **fields}


def jobs(feed, **fields):
    """All of a feed's jobs; ``fields`` are the third's."""
    return [job(f"{feed}-{n}", **(fields if n == 3 else {})) for n in range(1, JOBS + 1)]


def as_csv(items):
    return csv_text([row(item["referenceId"], item["title"], item["description"]) for item in items])


def place(folder, name, content):
    """Drop a file as a careful partner does: under another name first."""
    data = content.encode() if isinstance(content, str) else content
    (folder / ".incoming").write_bytes(data)
    (folder / ".incoming").rename(folder / name)


def deliveries(folder):
    """Return all files of a feed's folder, at any depth, except reports."""
    found = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    ours = (".lock", ".report.json", ".report.html")
    return [path for path in found if not path.name.endswith(ours) and ".rejected." not in path.name]


def at_rest(*folders):
    """Return whether every taken file is in its final place: the outcome is logged a moment earlier."""
    return not any(path.name != ".lock" for folder in folders for path in (folder / ".claimed").iterdir())


def serves(daemon):
    assert daemon.request("GET", "/healthz")[0] == 200
    status, state = daemon.request("GET", "/readyz")
    assert (status, state["ready"]) == (200, True), state


def total(daemon, key, status="active"):
    return daemon.request("GET", f"{BASE}/jobs?status={status}", key)[1]["paging"]["total"]


def ended(daemon, feed):
    return [event for event in daemon.events("feed.reconciled") if event["feed"] == feed]


def folders_of(installation, until, *feeds):
    """The feeds' folders, once the daemon has made them."""
    found = [installation.drop_folder / feed for feed in feeds]
    until(lambda: all((folder / ".claimed").is_dir() for folder in found), "the folders")
    return found


def test_a_deleted_and_recreated_drop_folder_is_used_again(installation, start, until):
    installation.employer_with_key()
    installation.settings('rescan = "1h"\n')
    daemon = start()
    (folder,) = folders_of(installation, until, "acme")
    place(folder, "one.csv", as_csv(jobs("acme")))
    until(lambda: len(ended(daemon, "acme")) == 1, "the first run")
    gone = installation.drop_folder.rename(installation.base / "gone")

    def removed():
        shutil.rmtree(gone, ignore_errors=True)  # the daemon may be making a folder in it
        return not gone.exists()

    until(removed, "its removal")
    (folder,) = folders_of(installation, until, "acme")
    place(folder, "two.csv", as_csv([*jobs("acme"), job("acme-7")]))
    (_, second) = until(lambda: (runs := ended(daemon, "acme"))[1:] and runs, "the second run")
    assert (second["state"], second["created"], second["archived"]) == ("succeeded", 1, 0)
    until(lambda: daemon.request("GET", "/readyz")[0] == 200, "readiness, which waits for the watcher")
    serves(daemon)


def without_roots_rights():
    """Nothing is refused to root, so a daemon of root starts without that right."""
    return ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()


@nightly
def test_a_file_or_a_folder_that_the_daemon_may_not_use_is_named_and_used_once_it_may(
    installation, start, until
):
    installation.feed("other")
    installation.feed("marked", 'employer = "Acme Ltd."\nmarker = ".ok"\n')
    installation.settings('rescan = "1s"\n')  # a change of rights gives no event
    installation.employer_with_key()
    daemon = start(real=True, wrapper=without_roots_rights())
    folder, other, marked = folders_of(installation, until, "acme", "other", "marked")
    for place_of in (folder, marked):
        place(place_of, ".secret.csv", as_csv(jobs(place_of.name)))
        (place_of / ".secret.csv").chmod(0)
        (place_of / ".secret.csv").rename(place_of / "secret.csv")
    (marked / "secret.csv.ok").touch()
    strays = daemon.wait_for_event("feed.stray", 2)
    assert sorted((stray["feed"], stray["file"]) for stray in strays) == [
        ("acme", "secret.csv"),
        ("marked", "secret.csv"),
    ]
    why = "it cannot be opened: Permission denied; syncd's user needs to read it"
    assert {stray["reason"] for stray in strays} == {why}
    status, state = daemon.request("GET", "/readyz")
    assert (status, state["ready"], state["well"]) == (200, True, False)
    assert state["feeds"] == f"acme: {folder}/secret.csv: {why}; marked: {marked}/secret.csv: {why}"
    serves(daemon)
    for place_of in (folder, marked):
        (place_of / "secret.csv").chmod(0o644)
        until(lambda f=place_of.name: ended(daemon, f), "the run of the file that can be read")

    other.chmod(0o555)
    try:
        (other / "done").chmod(0o555)
        place_in_read_only(other)
        waiting = daemon.wait_for_event("feed.waiting")[0]
        assert waiting["feed"] == "other"
        assert waiting["reason"].startswith(str(other))
        assert waiting["reason"].endswith("Permission denied")
        status, state = daemon.request("GET", "/readyz")
        assert (status, state["ready"]) == (200, True), "the fault of one feed stops no other"
        assert state["feeds"] == f"other: {waiting['reason']}"
        place(folder, "more.csv", as_csv([*jobs("acme"), job("acme-7")]))
        until(lambda: len(ended(daemon, "acme")) == 2, "the run of another feed")
    finally:
        other.chmod(0o755)
        (other / "done").chmod(0o755)
    until(lambda: ended(daemon, "other"), "the run once the folder can be written to")
    until(lambda: daemon.request("GET", "/readyz")[1]["feeds"] == "ok", "that no feed is degraded")
    assert [event["feed"] for event in daemon.events("feed.resumed")] == ["other"]


def place_in_read_only(folder):
    """A file where the daemon may not rename: the sender has the right for a moment."""
    folder.chmod(0o755)
    (folder / ".late").write_text(as_csv(jobs("other")))
    (folder / ".late").rename(folder / "late.csv")
    folder.chmod(0o555)


#: A small disk of its own under the store and the drop folder, seen by the daemon alone and gone with it.
SMALL_DISK = """
set -e
mkdir disk.kept && cp -a disk/. disk.kept/
mount -t tmpfs -o size=24m none disk
cp -a disk.kept/. disk/
exec "$@"
"""


def on_a_small_disk(base):
    rights = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    return ("unshare", *rights, "--mount", "--wd", str(base), "sh", "-c", SMALL_DISK, "sh")


def test_a_full_disk_stops_nothing_and_loses_nothing_and_runs_go_on_by_themselves(installation, start, until):
    installation.config.write_text(
        '[api]\nlisten = "127.0.0.1:0"\n[operator]\nlisten = ""\n[store]\nurl = "sqlite:///disk/syncd.db"\n'
        '[drop]\nfolder = "disk/drop"\nsettle = "100ms"\n'
    )
    key = installation.employer_with_key()
    daemon = start(wrapper=on_a_small_disk(installation.base), real=True)
    disk = installation.base.__class__(f"/proc/{daemon.process.pid}/root{installation.base}/disk")
    folder = disk / "drop" / "acme"
    until((folder / ".claimed").is_dir, "the feed's folder")
    place(folder, "one.csv", as_csv(jobs("acme")))
    until(lambda: ended(daemon, "acme"), "the first run")

    place(
        folder,
        ".two.csv",
        as_csv([job(f"acme-{n}", description="<p>" + "y" * 2000 + "</p>") for n in range(1, 400)]),
    )
    fill(disk)
    (folder / ".two.csv").rename(folder / "two.csv")
    daemon.wait_for_event("feed.waiting")
    assert any(
        word in daemon.events("feed.waiting")[0]["reason"] for word in ("disk is full", "No space left")
    )
    status, state = daemon.request("GET", "/readyz")
    assert (status, state["sync"].startswith("acme: ")) == (503, True)
    status, problem = daemon.request(
        "PUT", f"{BASE}/jobs", key, job("API-1", description="<p>" + "z" * 200_000 + "</p>")
    )
    assert (status, problem["code"]) == (503, "overloaded")
    assert daemon.request("GET", f"{BASE}/jobs", key)[1]["paging"]["total"] >= JOBS
    assert daemon.request("GET", "/healthz")[0] == 200

    (disk / "filler").unlink()
    _, second = until(lambda: (runs := ended(daemon, "acme"))[1:] and runs, "the second run")
    assert (second["state"], second["read"], second["archived"]) == ("succeeded", 399, 0)
    until(lambda: daemon.request("GET", "/readyz")[0] == 200, "readiness")
    assert daemon.request("PUT", f"{BASE}/jobs", key, job("API-1"))[0] == 201
    until(lambda: at_rest(folder), "the file's place")
    assert sorted(path.name for path in deliveries(folder)) == ["1-one.csv", "2-two.csv"]
    assert (folder / "done" / "2-two.csv.report.json").is_file()


def fill(disk):
    with (disk / "filler").open("wb", buffering=0) as filler:
        try:
            while filler.write(bytes(4096)):
                pass
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def in_a_mount_namespace(*command):
    rights = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    return ("unshare", *rights, "--mount", *command)


def remount(daemon, until, folder, option):
    user = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
    command = ("nsenter", "--target", str(daemon.process.pid), *user, "--mount")
    command += ("mount", "-o", f"remount,bind,{option}", str(folder))
    until(lambda: subprocess.run(command, check=False, capture_output=True).returncode == 0, option)


#: The store on an ext4 file system of its own, which is kept in a file.
STORE_DISK = """
set -e
cd "$0"
[ -f disk.img ] || { truncate -s 64M disk.img && mke2fs -q -t ext4 -F -d disk disk.img; }
mount -o loop disk.img disk
exec "$@"
"""


@nightly
def test_a_store_whose_disk_becomes_read_only_keeps_what_it_acknowledged_and_the_run_goes_on(
    installation, start, until, program
):
    program("mke2fs")
    installation.config.write_text(
        '[api]\nlisten = "127.0.0.1:0"\n[operator]\nlisten = ""\n[store]\nurl = "sqlite:///disk/syncd.db"\n'
        '[drop]\nsettle = "100ms"\n'
    )
    key = installation.employer_with_key()
    wrapper = in_a_mount_namespace("sh", "-c", STORE_DISK, str(installation.base))
    needs(wrapper, "no file can be mounted as a disk here")
    daemon = start(real=True, wrapper=wrapper)
    (folder,) = folders_of(installation, until, "acme")
    place(folder, "one.csv", as_csv(jobs("acme")))
    until(lambda: ended(daemon, "acme") and at_rest(folder), "the first run")
    assert daemon.request("PUT", f"{BASE}/jobs", key, job("API-1"))[0] == 201

    # What the kernel does after a fault of the disk. A plain remount is refused while the store is open.
    command = ("nsenter", "--target", str(daemon.process.pid), "--mount")
    disk = installation.base / "disk"
    subprocess.run([*command, "mount", "-o", "remount,abort", str(disk)], check=True)
    place(folder, "two.csv", as_csv([*jobs("acme"), job("acme-7")]))
    waiting = daemon.wait_for_event("feed.waiting")
    status, state = daemon.request("GET", "/readyz")
    assert (status, state["ready"]) == (503, False)
    assert "Read-only file system" in waiting[0]["reason"]
    assert "Read-only file system" in state["sync"]
    status, problem = daemon.request("PUT", f"{BASE}/jobs", key, job("API-2"))
    assert (status, problem["code"]) == (503, "overloaded")
    assert daemon.request("GET", "/healthz")[0] == 200
    assert len(ended(daemon, "acme")) == 1
    assert daemon.stop() == 0

    # An aborted ext4 can be written to only when it is mounted anew.
    daemon.close()
    daemon = start(real=True, wrapper=wrapper)
    (second,) = until(lambda: ended(daemon, "acme"), "the second run")
    until(lambda: at_rest(folder), "the file's place")
    assert (second["state"], second["file"], second["created"]) == ("succeeded", "two.csv", 1)
    assert (total(daemon, key), total(daemon, key, "draft")) == (JOBS + 1, 1)
    assert daemon.request("PUT", f"{BASE}/jobs", key, job("API-2"))[0] == 201
    assert {path.parent.name for path in deliveries(folder)} == {"done"}
    assert daemon.stop() == 0


LIMITED = 'echo "$1" > "/proc/sys/user/$0" && shift && exec "$@"'


def with_at_most(count, name):
    """The limits of inotify are those of a user namespace of its own: ``name`` is instances or watches."""
    command = ("unshare", "--user", "--map-root-user", "sh", "-c", LIMITED, f"max_inotify_{name}", str(count))
    needs(command, "no user namespace with limits of its own can be made here")
    return command


def needs(command, why_not):
    """Skip the test, or in the nightly run fail it, unless the system lets ``command`` start a program."""
    tried = subprocess.run([*command, "true"], check=False, capture_output=True, text=True)
    if tried.returncode:
        lacking(f"{why_not}: {tried.stderr}")


def faults_of_the_watcher(daemon):
    return [event["reason"] for event in daemon.events("service.fault") if event["part"] == "watcher"]


@nightly
def test_when_watches_run_out_the_daemon_says_so_once_and_polls(installation, start, make_row, until):
    installation.settings('rescan = "1h"\n')
    installation.employer_with_key()
    daemon = start(real=True, wrapper=with_at_most(2, "watches"))  # the drop folder and one feed's
    folders_of(installation, until, "acme")
    installation.drop("one.csv", [make_row("A-1")])
    until(installation.done(1, "one.csv").exists, "the file is noticed by a watch")
    assert not faults_of_the_watcher(daemon)

    for number, feed in enumerate(("second", "third"), start=2):
        installation.feed(feed)
        daemon.signal(signal.SIGHUP)
        until((installation.drop_folder / feed / ".claimed").is_dir, "the new feed's folder")
        until(lambda: faults_of_the_watcher(daemon), "the word that there are no more watches")
        installation.drop("jobs.csv", [make_row(f"B-{number}")], feed)
        until(installation.done(number, "jobs.csv", feed).exists, "the file is found without a watch")
    installation.drop("two.csv", [make_row("A-1"), make_row("A-2")])
    until(installation.done(4, "two.csv").exists, "a file of the feed that had a watch is found as well")
    [reason] = faults_of_the_watcher(daemon)
    assert "watch" in reason
    assert reason.endswith("the folder is looked at every 1 s instead")
    assert daemon.request("GET", "/readyz", which="operator")[0] == 200
    assert daemon.stop() == 0
