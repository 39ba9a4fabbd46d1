"""What a partner can do to files and names while the daemon works harms only the partner's own feed."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from syncd.domain import RunState
from tests.amounts import some
from tests.sync.arrival.arrivals import claims, names
from tests.sync.arrival.test_partners import repeated
from tests.sync.board import on_phase

#: Things in one folder: more than a partner has by accident.
MANY = 5_000


def unexpected(logs: Any) -> list[tuple[str | None, str]]:
    return [(log["file"], log["reason"]) for log in logs if log["event"] == "feed.stray"]


# -- hard links -------------------------------------------------------------------------------------


def test_a_file_with_a_second_name_is_neither_read_nor_moved(arrival, private_file):
    feed = arrival.feed()
    feed.folder.mkdir(parents=True, exist_ok=True)
    os.link(private_file, feed.folder / "jobs.json")
    with capture_logs() as logs:
        assert arrival.run_files() == []
    [(file, reason)] = unexpected(logs)
    assert (file, reason.partition(",")[0]) == ("jobs.json", "it has a second name (a hard link)")
    assert (feed.folder / "jobs.json").samefile(private_file)
    private_file.unlink()
    [run] = arrival.run_files()
    assert (run.file, run.state) == ("jobs.json", RunState.PARTIAL)


def test_a_second_name_that_appears_at_the_claim_keeps_the_file_from_being_read(arrival, private_file):
    feed = arrival.feed()
    path = arrival.drop(feed, json.loads(private_file.read_text()))
    os.utime(path, ns=(10**18, 10**18))
    arrival.worker.tick()
    arrival.monotonic.now += 61
    path.unlink()
    (feed.folder / ".claimed").mkdir(exist_ok=True)
    os.link(private_file, feed.folder / ".claimed" / "0123abcd-jobs.json")
    with capture_logs() as logs:
        assert arrival.run_files() == []
    assert [file for file, _ in unexpected(logs)] == [".claimed/0123abcd-jobs.json"]
    assert "secret" not in "".join(p.read_text() for p in feed.folder.rglob("*.report.json"))


# -- open descriptors -------------------------------------------------------------------------------


def test_a_partner_who_still_writes_to_a_claimed_file_delays_only_his_own(arrival):
    feed, other = arrival.feed(), arrival.feed(name="other")
    path = arrival.drop(feed, [arrival.row(f"a{n}") for n in range(2_000)])
    partner = os.open(path, os.O_RDONLY)

    def touch() -> None:
        os.utime(f"/proc/self/fd/{partner}")

    arrival.restart(arrival.board.make_importer(progress=on_phase("reading", touch)))
    arrival.run_files()
    arrival.drop(other, [arrival.row("x")])
    with open(f"/proc/self/fd/{partner}", "r+b"):
        ended = arrival.run_files()
    assert [run.feed for run in ended] == ["other"]
    os.close(partner)
    assert [run.feed for run in arrival.run_files()] == ["acme"]


# -- names and renames ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        b"0123abcd-jobs.json", b"1-jobs.json", b"jobs.json.report.json", b"jobs.json.rejected.json", b"done.json",
        b"a" * 250 + b".json", b"\xff\xfe\x80.json", b"new\nline.json", b"\x1b[31mred.json", b"-rf.json", b" .json",
        "\N{RIGHT-TO-LEFT OVERRIDE}nosj.json".encode(), b"%FF.json", b"$(reboot).json",
    ],
)  # fmt: skip
def test_a_file_with_any_name_is_run_and_filed_beside_its_reports(arrival, name):
    feed = arrival.feed()
    feed.folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, 3):
        with open(os.path.join(os.fsencode(feed.folder), name), "wb") as file:
            file.write(json.dumps([arrival.row(f"a{number}"), arrival.row("b", title=None)]).encode())
        [run] = arrival.run_files()
        assert run.state in (RunState.PARTIAL, RunState.HELD)
        kept = [found for found in names(feed.folder / "done") if found.startswith(f"{run.id}-")]
        assert len(kept) == 4, kept
        assert all("\udcff" not in found for found in kept)
    assert claims(feed) == []
    assert arrival.worker.waiting is None


def test_entries_that_are_renamed_again_and_again_lose_no_file_and_hold_up_no_other_feed(arrival):
    feed, other = (
        arrival.feed('mode = "delta"\nsettle = "0"'),
        arrival.feed('mode = "delta"\nsettle = "0"', "other"),
    )
    arrival.worker.tick()
    swaps = [
        ("done", ".aside"),
        ("failed", "done"),
        (".aside", "failed"),
        (".claimed", ".c"),
        (".c", ".claimed"),
    ]

    def rename() -> None:
        for source, target in swaps:
            with suppress(OSError):
                (feed.folder / source).rename(feed.folder / target)
        for path in feed.folder.glob("*.json"):
            with suppress(OSError):
                path.rename(path.with_name(f"again-{path.name[-20:]}"))

    with repeated(rename):
        for number in range(20):
            arrival.drop(other, [arrival.row(f"x{number}")], f"{number}.json")
            with suppress(OSError):
                arrival.drop(feed, [arrival.row(f"a{number}")], f"{number}.json")
            arrival.worker.tick()
            arrival.monotonic.now += 61
    for _ in range(5):
        arrival.run_files()
    assert {f"x{number}" for number in range(20)} <= arrival.board.active()
    assert {run.state for run in arrival.runs() if run.feed == "other"} == {RunState.SUCCEEDED}
    assert arrival.worker.waiting is None
    assert all(run.state.ended for run in arrival.runs() if run.feed == "other")


# -- huge numbers -----------------------------------------------------------------------------------


def fill(folder: Path, kind: str, count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        path = os.path.join(os.fsencode(folder), b"\xff%d-jobs.json" % number)
        match kind:
            case "links":
                os.symlink("/etc/passwd", path)
            case "folders":
                os.mkdir(path)
            case "FIFOs":
                os.mkfifo(path)
            case "unfinished files":
                os.close(os.open(path + b".tmp", os.O_CREAT | os.O_WRONLY))


@pytest.mark.parametrize("kind", some(["links", "unfinished files", "folders", "FIFOs"], 2))
@pytest.mark.parametrize("place", some([".", "done"], 1))
def test_thousands_of_things_in_one_feed_hold_up_no_other_and_do_not_fill_the_log(arrival, kind, place):
    feed, other = arrival.feed(), arrival.feed(name="other")
    fill(feed.folder / place, kind, MANY)
    arrival.drop(other, [arrival.row("x")])
    arrival.drop(feed, [arrival.row("a")], "good.json")
    with capture_logs() as logs:
        assert sorted(run.feed for run in arrival.run_files()) == ["acme", "other"]
    assert len(unexpected(logs)) in ((0,) if place == "done" or kind == "unfinished files" else (101,))
    assert arrival.worker.waiting is None


def test_ever_new_names_are_not_all_logged(arrival):
    feed = arrival.feed()
    arrival.worker.tick()
    with capture_logs() as logs:
        for number in range(300):
            link = feed.folder / f"{number}.json"
            link.symlink_to("/etc/passwd")
            arrival.worker.tick()
            link.unlink()
    assert len(unexpected(logs)) == 101
    file, reason = unexpected(logs)[-1]
    assert (file, reason) == (None, "there are more than 100; further ones are not reported for an hour")
    arrival.monotonic.now += 3600
    with capture_logs() as logs:
        (feed.folder / "later.json").symlink_to("/etc/passwd")
        arrival.worker.tick()
    assert [file for file, _ in unexpected(logs)] == ["later.json"]
