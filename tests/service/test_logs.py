"""How the log is written."""

import asyncio
import io
import json
import logging
import os
import re
import subprocess
import sys
import threading
from datetime import date

import pytest
import structlog

from syncd import logs


@pytest.fixture
def written():
    """A function that sets the log up and gives the stream."""

    def set_up(form="json", level="info"):
        stream = io.StringIO()
        logs.set_up(form, level, stream)
        return stream

    return set_up


def test_an_event_is_one_line_of_json_with_time_level_and_name_in_front(written):
    stream = written("auto")
    with logs.bind_context(request_id="r1"):
        structlog.get_logger().warning(logs.Event.FEED_HELD, feed="acme", when=date(2026, 11, 2), text="a\nb")
    (line,) = stream.getvalue().splitlines()
    event = json.loads(line)
    assert list(event)[:3] == ["timestamp", "level", "event"]
    assert event["timestamp"].endswith("Z")
    assert (event["level"], event["event"], event["feed"]) == ("warning", "feed.held", "acme")
    assert (event["request_id"], event["when"], event["text"]) == ("r1", "2026-11-02", "a\nb")


def test_exceptions_and_other_libraries_have_the_same_form_and_low_levels_are_left_out(written):
    stream = written(level="warning")
    structlog.get_logger().info("quiet")
    logging.getLogger("aiohttp").info("quiet")
    try:
        1 / 0  # noqa: B018
    except ZeroDivisionError:
        structlog.get_logger().exception("oops")
    logging.getLogger("aiohttp.server").error("bad %s", "thing", exc_info=ValueError("x"))
    oops, event = map(json.loads, stream.getvalue().splitlines())
    assert "ZeroDivisionError" in oops["exception"]
    assert (event["event"], event["logger"], event["level"]) == ("bad thing", "aiohttp.server", "error")
    assert "ValueError: x" in event["exception"]


RUN = {
    "run": 7,
    "feed": "acme",
    "employer": "Acme Ltd.",
    "kind": "file",
    "state": "partial",
    "holds": None,
    "withheld": None,
    "reason": None,
    "attempt": 1,
    "file": "jobs.csv",
    "size": 1000,
    "sha256": "0" * 64,
    **dict.fromkeys(("read", "replaced", "suppressed", "expired", "filtered", "missing", "warnings"), 0),
    "created": 11,
    "reactivated": 1,
    "updated": 15,
    "archived": 10,
    "unchanged": 263,
    "rejected": 8,
    "phases": {"reading": 3.21},
    "seconds": 3.21,
}


@pytest.mark.parametrize(
    ("event", "changes", "line"),
    [
        ("feed.reconciled", {}, "partial  acme  jobs.csv  +12 ~15 −10 =263 ✗8  3.2 s"),
        (
            "feed.reconciled",
            {**dict.fromkeys(("created", "reactivated", "updated", "archived", "unchanged", "rejected"), 0)}
            | {"state": "failed", "reason": "cannot_parse: line 2\n\x1b[2J", "seconds": 0.01},
            "failed  acme  jobs.csv  0.0 s  cannot_parse: line 2  [2J",
        ),
        (
            "feed.reconciled",
            {"kind": "revert", "state": "succeeded", "archived": 0, "withheld": "no"},
            "succeeded  acme  revert (run 7)  +12 ~15 =263 ✗8  3.2 s  no",
        ),
        ("run.approved", {"state": "succeeded"}, "run.approved  acme  jobs.csv  +12 ~15 −10 =263 ✗8  3.2 s"),
    ],
)
def test_the_figures_of_a_run_are_a_line_that_a_person_reads_on_the_console(written, event, changes, line):
    stream = written("console")
    with logs.bind_context(run=7, feed="acme"):
        structlog.get_logger().info(logs.Event(event), **RUN | changes)
    time, _, text = stream.getvalue().rstrip("\n").partition("  ")
    assert (time[-1], text) == ("Z", line)


class Stream(io.StringIO):
    """Keeps the text of each write."""

    def __init__(self):
        super().__init__()
        self.writes = []

    def write(self, text):
        self.writes.append([json.loads(line)["event"] for line in text.strip().splitlines()])
        return super().write(text)


@pytest.fixture
def stream(written):
    stream = Stream()
    logs.set_up("json", "info", stream)
    return stream


async def test_the_lines_of_one_turn_of_the_loop_are_written_together_in_their_order(written, stream):
    log = structlog.get_logger()
    log.info("one")
    log.info("two")
    assert stream.writes == []
    await asyncio.sleep(0)
    assert stream.writes == [["one", "two"]]
    log.info("last")
    logs.flush()
    assert stream.writes[1:] == [["last"]]
    await asyncio.sleep(0)
    assert len(stream.writes) == 2


@pytest.mark.parametrize("level", ["warning", "error", "exception", "of a thread"])
async def test_a_warning_and_a_line_of_a_thread_are_written_at_once_after_the_lines_that_wait(
    written, stream, level
):
    log = structlog.get_logger()
    log.info("before")
    if level == "of a thread":
        thread = threading.Thread(target=log.info, args=("trouble",))
        thread.start()
        thread.join()
    else:
        getattr(log, level)("trouble")
    assert stream.writes[0] == ["before", "trouble"]


def test_a_process_that_ends_within_a_turn_writes_its_lines():
    code = """if True:
        import asyncio, structlog
        from syncd import logs
        logs.set_up("json")
        loop = asyncio.new_event_loop()
        def within_the_turn():
            structlog.get_logger().info("last")
            raise SystemExit(3)
        loop.call_soon(within_the_turn)
        loop.run_forever()
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert json.loads(done.stderr.splitlines()[0])["event"] == "last"


async def test_a_log_that_cannot_be_written_to_stops_nothing(written, stream, monkeypatch):
    def full(_text):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(stream, "write", full)
        structlog.get_logger().info("lost")
        structlog.get_logger().error("lost too")
        await asyncio.sleep(0)
    structlog.get_logger().error("written again")
    assert stream.writes == [["written again"]]


def test_half_a_line_on_a_full_disk_does_not_swallow_the_next(tmp_path):
    code = (
        "import resource, signal, sys, structlog; from syncd import logs; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "logs.set_up('json', 'info', sys.stderr); log = structlog.get_logger(); log.info('first')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY)); log.info('torn', text='x' * 200)\n"
        "log.info('lost'); resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2); log.info('next')\n"
    )
    with (tmp_path / "log").open("wb") as file:
        subprocess.run([sys.executable, "-c", code], stderr=file, check=True)
    first, torn, after = (tmp_path / "log").read_text().splitlines()
    assert json.loads(first)["event"] == "first"
    assert len(first) + 1 + len(torn) == 100
    assert json.loads(after)["event"] == "next"


@pytest.mark.parametrize("form", ["json", "console"])
@pytest.mark.parametrize("level", ["debug", "info", "warning"])
def test_a_frequent_line_is_the_one_that_a_logger_writes(written, form, level):
    fields = {"route": "/jobs/{id}", "status": 200, "ms": 0.25, "key": None, "request_id": "r1"}
    lines = []
    for log in (
        lambda: logs.frequent(logs.Event.API_REQUEST)(**fields),
        lambda: structlog.get_logger().info(logs.Event.API_REQUEST, **fields),
    ):
        stream = written(form, level)
        log()
        lines.append(re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "NOW", stream.getvalue()))
    assert lines[0] == lines[1]
    assert bool(lines[0]) == (level != "warning")
    assert ("route=" in lines[0]) == (form == "console" and level != "warning")  # text


def test_a_frequent_line_is_captured_like_any_other(written):
    written()
    log = logs.frequent(logs.Event.API_REQUEST)
    with structlog.testing.capture_logs() as lines:
        log(request_id="r1")
    assert lines == [{"event": "api.request", "log_level": "info", "request_id": "r1"}]


@pytest.mark.parametrize("form", ["json", "console"])
async def test_invalid_unicode_loses_neither_its_line_nor_others(written, form):
    stream = written(form)
    frequent = logs.frequent(logs.Event.API_REQUEST)
    frequent(request_id="before")
    frequent(request_id="r1", route="/\udcff")
    structlog.get_logger().info("feed.stray", file="\ud800.csv", when=date(2027, 1, 15))
    frequent(request_id="behind")
    await asyncio.sleep(0)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 4
    if form == "json":
        found = [json.loads(line) for line in lines]
        assert [line["event"] for line in found] == [
            "api.request",
            "api.request",
            "feed.stray",
            "api.request",
        ]
        assert (found[1]["route"], found[2]["file"], found[2]["when"]) == (
            "/\udcff",
            "\ud800.csv",
            "2027-01-15",
        )


@pytest.mark.parametrize("leads_there", [True, False])
def test_the_journal_gets_the_level_as_the_priority_of_the_line(tmp_path, monkeypatch, leads_there):
    with (tmp_path / "journal").open("w") as stream:
        found = os.fstat(stream.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{found.st_dev}:{found.st_ino if leads_there else 1}")
        logs.set_up("json", "debug", stream)
        log = structlog.get_logger()
        for level in ("debug", "info", "warning", "error", "exception", "critical"):
            getattr(log, level)(logs.Event.FEED_HELD)
    lines = (tmp_path / "journal").read_text().splitlines()
    marks = ["<7>", "", "<4>", "<3>", "<3>", "<2>"] if leads_there else [""] * 6
    assert [line.partition("{")[0] for line in lines] == marks
    assert all(json.loads(line[line.index("{") :])["event"] == "feed.held" for line in lines)
