"""The watcher gives hints, on the real file system."""

import os
import shutil
import threading
import time
from contextlib import suppress

import pytest
import watchfiles

from syncd.service import watcher as watcher_module
from syncd.service.watcher import OURS, Watcher

TIMEOUT = 20  # seconds


@pytest.fixture
def watched(watcher):
    """(folder, event that a hint sets)."""
    return watcher[:2]


@pytest.fixture(params=[False, True], ids=["notified", "polling"])
def watcher(tmp_path, request):
    """(folder, event that a hint sets, the watcher)."""
    for name in OURS:
        (tmp_path / "drop" / "acme" / name).mkdir(parents=True)
    hinted = threading.Event()
    watcher = Watcher(tmp_path / "drop", hinted.set, poll=request.param)
    watcher.start()
    assert watcher.running.wait(TIMEOUT)
    assert hinted.wait(TIMEOUT), "a start is a hint"
    hinted.clear()
    yield tmp_path / "drop", hinted, watcher
    watcher.stop()
    watcher.join(TIMEOUT)
    assert not watcher.is_alive()


def expect(hinted):
    assert hinted.wait(TIMEOUT)
    hinted.clear()


def test_a_file_that_arrives_is_a_hint(watched):
    folder, hinted = watched
    (folder / "acme" / "jobs.csv").write_text("x")
    expect(hinted)


def test_files_that_runs_move_are_not_a_hint(watched):
    folder, hinted = watched
    for name in OURS:
        (folder / "acme" / name / "7-jobs.csv").write_text("x")
    assert not hinted.wait(1)


def test_it_keeps_running_when_it_begins_again_for_the_folder_of_a_new_feed(watcher):
    folder, hinted, thread = watcher
    down = threading.Event()
    thread.running.clear = down.set
    (folder / "second").mkdir()
    expect(hinted)
    (folder / "second" / "jobs.csv").write_text("x")
    expect(hinted)
    assert thread.running.is_set()
    assert not down.is_set()


@pytest.mark.parametrize("which", ["acme", "."])
def test_a_folder_that_is_replaced_is_watched_again(watched, which):
    folder, hinted = watched
    shutil.rmtree(folder / which if which != "." else folder)
    expect(hinted)
    (folder / "acme").mkdir(parents=True)
    expect(hinted)
    hinted.wait(2)
    hinted.clear()
    for number in range(20):
        (folder / "acme" / f"jobs{number}.csv").write_text("x")
        if hinted.wait(1):
            return
    pytest.fail("it watches what is no longer there")


def test_a_name_that_is_not_utf8_does_not_end_it(watched):
    folder, hinted = watched
    with open(os.fsencode(folder / "acme") + b"/caf\xe9.csv", "wb"):
        pass
    expect(hinted)
    os.unlink(os.fsencode(folder / "acme") + b"/caf\xe9.csv")
    for number in range(20):
        hinted.clear()
        (folder / "acme" / f"jobs{number}.csv").write_text("x")
        if hinted.wait(1):
            return
    pytest.fail("it has died")


@pytest.mark.parametrize("poll", [False, True], ids=["notified", "polling"])
def test_links_are_not_followed(tmp_path, poll):
    drop, outside = tmp_path / "drop" / "acme", tmp_path / "outside"
    drop.mkdir(parents=True)
    for number in range(50):
        (outside / str(number)).mkdir(parents=True)
    for name, target in (("outside", outside), ("itself", "."), ("above", "..")):
        (drop / name).symlink_to(target)
    before, hinted = watches(), threading.Event()
    watcher = Watcher(drop.parent, hinted.set, poll=poll)
    watcher.start()
    try:
        expect(hinted)
        assert watcher.running.is_set()
        assert watches() - before <= 3
        (drop / "jobs.csv").write_text("x")
        expect(hinted)
        assert watcher.running.is_set()
    finally:
        watcher.stop()
        watcher.join(TIMEOUT)


def watches():
    """Return the number of places that the kernel watches for this process."""
    count = 0
    for info in os.listdir("/proc/self/fdinfo"):
        with suppress(FileNotFoundError), open(f"/proc/self/fdinfo/{info}") as file:
            count += sum(line.startswith("inotify wd") for line in file)
    return count


def test_without_inotify_instances_it_polls_and_says_so_once(tmp_path, monkeypatch, logged):
    (tmp_path / "acme").mkdir()
    attempts = []

    def watch(*_folders, **_options):
        attempts.append(1)
        if len(attempts) < 4:
            raise OSError(24, "Too many open files (os error 24) about [...]")
        yield from real(*_folders, **_options)

    real = watchfiles.watch
    monkeypatch.setattr(watcher_module, "watch", watch)
    monkeypatch.setattr(watcher_module, "PAUSE", 0.02)
    monkeypatch.setattr(watcher_module, "LISTEN_AGAIN", 0.2)
    hinted = threading.Event()
    watcher = Watcher(tmp_path, hinted.set)
    watcher.start()
    try:
        assert watcher.running.wait(TIMEOUT)
        expect(hinted)
        (tmp_path / "acme" / "jobs.csv").write_text("x")
        expect(hinted)
        while len(attempts) < 4:
            assert watcher.running.is_set()
            time.sleep(0.01)
        hinted.clear()
        (tmp_path / "acme" / "more.csv").write_text("x")
        expect(hinted)
    finally:
        watcher.stop()
        watcher.join(TIMEOUT)
    [event] = logged
    assert (event["event"], event["part"]) == ("service.fault", "watcher")
    assert "is looked at every" in event["reason"]


def test_a_folder_that_is_gone_is_reported_once(tmp_path, monkeypatch, logged):
    monkeypatch.setattr(watcher_module, "PAUSE", 0.02)
    watcher = Watcher(tmp_path / "drop", lambda: None)
    watcher.start()
    time.sleep(0.3)
    assert not watcher.running.is_set()
    (tmp_path / "drop").mkdir()
    assert watcher.running.wait(TIMEOUT)
    watcher.stop()
    watcher.join(TIMEOUT)
    assert len(logged) == 1
