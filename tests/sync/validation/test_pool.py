"""Worker processes validate the records of a large file. A run has the same result with them as without them."""

import gzip
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from syncd.domain import Run
from syncd.errors import FeedError
from syncd.feeds.readers import Record
from syncd.store import Store, run_results
from syncd.sync.run import RejectsWriter, Stopped, reading
from syncd.sync.validation import ValidatedRow, ValidationTask, pool
from tests.amounts import some
from tests.clock import ZONE
from tests.stores import store_url
from tests.sync.board import Board, Row, not_none
from tests.sync.native_files import as_csv, as_xml, xml_records

ROWS = 900
#: Seconds for a worker process to begin, on a machine that does much else; a service goes on without it sooner.
MAX_START_SECONDS = 300.0


class WorkerProcesses:
    """The worker processes that were started, and the number of batches that were sent to them. ``before_batch`` is called with
    the number of each before it is sent."""

    def __init__(self) -> None:
        self.started: list[subprocess.Popen[bytes]] = []
        self.batches = 0
        self.before_batch: Callable[[int], None] = lambda number: None

    def all_ended(self) -> bool:
        return all(process.poll() is not None for process in self.started)


@pytest.fixture
def workers(monkeypatch):
    """Let small files have worker processes: from its 50th record on, a run sends them all its batches, which are small."""
    workers, popen, ask = WorkerProcesses(), subprocess.Popen, pool.ValidationPool._ask

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        workers.started.append(popen(*arguments, **options))
        return workers.started[-1]

    def send(self: Any, *arguments: Any) -> list[ValidatedRow]:
        workers.batches += 1
        workers.before_batch(workers.batches)
        return ask(self, *arguments)

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(pool.ValidationPool, "_ask", send)
    monkeypatch.setattr(pool, "MAX_ANSWER_SECONDS", MAX_START_SECONDS)
    monkeypatch.setattr(pool, "MAX_RECORDS", 20)
    monkeypatch.setattr(pool, "MAX_WAITING", 1000)
    monkeypatch.setattr(reading, "MIN_FOR_WORKERS", 0)
    monkeypatch.setattr(reading, "EDGE", 50)
    return workers


@pytest.fixture
def other(board, tmp_path):
    """Yield a second board with the same clock, and an employer of the same name."""
    folder = tmp_path / "other"
    folder.mkdir()
    with Store.open(store_url(f"{folder}/syncd.db"), clock=board.clock, timezone=ZONE) as store:
        yield Board(store, board.clock, folder)


def run_file(board: Board, content: bytes, processes: int, toml: str = "") -> tuple[Run, bytes]:
    """Run the file. Return the run, and the content of its file of rejected records."""
    feed = board.feed(toml)
    rejects = RejectsWriter(board.folder / "rejected", feed.config.read)
    run = board.deliver(feed, content, importer=board.make_importer(processes=processes), rejects=rejects)
    return run, rejects.path.read_bytes() if rejects.path else b""


def result_of(board: Board, run: Run) -> Any:
    """Return all that the run stored."""
    return (
        (run.state, run.holds, run.reason, run.withheld, run.counts),
        board.rejected(run),
        board.warnings(run),
        board.store.read(lambda tx: run_results.unknown(tx, run.id)),
        board.jobs(),
    )


def assert_same_result(board: Board, other: Board, content: bytes, toml: str = "") -> Run:
    """Run the file with a worker process on ``board`` and without one on ``other``, and assert that the results are equal.
    Return the first run."""
    run, rejected = run_file(board, content, 1, toml)
    expected, expected_rejected = run_file(other, content, 0, toml)
    assert result_of(board, run) == result_of(other, expected)
    assert rejected == expected_rejected
    return run


def mixed_rows(board: Board, first: int = 0, count: int = ROWS) -> list[Row]:
    """Return rows that are valid, rejected, expired, repeated, and with places that the catalogue does not have."""
    rows = [board.row(f"r{number}", title=f"Cook & {number} <é>") for number in range(first, first + count)]
    for at in range(7, count, 61):
        rows[at]["title"] = ""
    for at in range(30, count, 113):
        rows[at]["referenceId"] = rows[at - 20]["referenceId"]
    for at in range(40, count, 97):
        rows[at]["locations"] = [{"description": "Nowhere Landing, ON"}]
    for at in range(42, count, 101):
        rows[at]["locations"] = [{"description": "Toronto, Texas"}]
    for at in range(45, count, 89):
        rows[at]["closeDate"] = "2026-11-01"
    return rows


def csv_with_ragged_rows(rows: list[Row]) -> bytes:
    lines = as_csv(rows).splitlines()
    for at in range(151, len(lines), 200):
        lines[at] += ",too many"
    return "\n".join(lines).encode()


def json_with_strange_records(rows: list[Row]) -> bytes:
    rows = [row | {"salary": {"amount": 20.5, "period": {"id": 5}}} for row in rows]
    return json.dumps([*rows[:200], "not an object", None, *rows[200:]]).encode()


def as_json_lines(rows: list[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_latin_1(rows: list[Row]) -> bytes:
    text = as_xml(rows).decode().replace("?>", ' encoding="ISO-8859-1"?>', 1)
    return text.encode("latin-1")


FORMATS: dict[str, Callable[[list[Row]], bytes]] = {
    "xml": as_xml,
    "csv": csv_with_ragged_rows,
    "json": json_with_strange_records,
    "json lines": as_json_lines,
    "gzip": lambda rows: gzip.compress(as_xml(rows)),
    "xml in Latin-1": as_latin_1,
    "xml in UTF-16": lambda rows: as_xml(rows).decode().encode("utf-16"),
}


@pytest.mark.parametrize("form", some(FORMATS, 3))
def test_a_run_has_the_same_result_with_a_worker_process(board, other, workers, form):
    rows = '[rows]\nskip = { title = "cook & 55*" }'
    run = assert_same_result(board, other, FORMATS[form](mixed_rows(board)), rows)
    assert run.counts.created > 800
    assert run.counts.filtered >= 9  # of 11: one has no title, and one is ragged in CSV
    assert run.counts.rejected > 10
    unknown = board.store.read(lambda tx: run_results.unknown(tx, run.id))
    assert unknown.found == {"locations": [("Toronto, Texas", 9)]}
    assert workers.batches > 30
    assert workers.all_ended()


def test_the_next_file_with_known_records_has_the_same_result(board, other, workers):
    assert_same_result(board, other, as_xml(mixed_rows(board)))
    rows = mixed_rows(board)
    for row in rows[200:700:2]:
        row["title"] += ", again"
    before = workers.batches
    run = assert_same_result(
        board, other, as_xml([*rows[:600], *mixed_rows(board, 2000, 100), *rows[600:880]])
    )
    assert run.counts.updated > 200
    assert run.counts.created >= 90
    assert run.counts.unchanged > 200
    assert workers.batches > before


#: Content between two records. With it, the bytes from one start tag to the next are not one record.
BETWEEN_RECORDS = {
    "an end tag in CDATA": "<job><title><![CDATA[a </job> b]]></title></job>",
    "a record in a record": "<job><title>a<job>b</job></title></job>",
    "an end tag in a comment": "<job><!-- </job> --><title>a</title></job>",
    "records under another parent": "<old><job><title>a</title></job></old>",
    "other elements": "<note>half time</note>",
    "a comment": "<!-- <job><title>a</title></job> -->",
    "text": "half time",
}


@pytest.mark.parametrize("content", some(BETWEEN_RECORDS.values(), 2), ids=BETWEEN_RECORDS)
def test_a_file_with_other_content_between_the_records_has_the_same_result(board, other, workers, content):
    records = xml_records(mixed_rows(board))
    file = f"<jobs>{''.join(records[:500])}{content}{''.join(records[500:])}</jobs>"
    assert_same_result(board, other, file.encode())
    assert workers.started, "the file may be read anew, or have failed, before the first answer"


FAULTS: dict[str, Callable[[str], str]] = {
    "truncated": lambda text: text[: len(text) * 3 // 4],
    "a bare ampersand": lambda text: text.replace("Cook &amp; 700", "Cook & 700"),
    "an unknown entity": lambda text: text.replace("Cook &amp; 700", "Cook &nosuch; 700"),
    "a wrong end tag": lambda text: text.replace("Cook &amp; 700 &lt;é&gt;</title>", "Cook 700</titel>"),
    "a control character": lambda text: text.replace("Cook &amp; 700", "Cook \x01 700"),
    "elements too deep": lambda text: text.replace("Cook &amp; 700", "<b>" * 80 + "x" + "</b>" * 80),
    "an end tag too many": lambda text: text.replace("</jobs>", "</job></jobs>"),
    "an element after the root": lambda text: text + "<job>",
}


@pytest.mark.parametrize("damage", some(FAULTS.values(), 3), ids=FAULTS)
def test_a_malformed_file_fails_with_the_same_place(board, other, workers, damage):
    run = assert_same_result(board, other, damage(as_xml(mixed_rows(board)).decode()).encode())
    assert run.state == "failed"
    assert "line" in not_none(run.reason)
    assert workers.started, "the file may be read anew, or have failed, before the first answer"


def test_a_mapping_that_reads_outside_the_records_is_validated_in_this_process(board, other, workers):
    toml = """
        [fields]
        referenceId = "id"
        title = "title"
        locations = "../city"
    """
    content = "<jobs><city>Ottawa, ON</city>"
    content += "".join(f"<job><id>{n}</id><title>Cook</title></job>" for n in range(ROWS)) + "</jobs>"
    run = assert_same_result(board, other, content.encode(), toml)
    assert run.counts.rejected == ROWS  # a job needs more fields
    assert not workers.batches


def sync_events(logs: Sequence[Mapping[str, Any]]) -> list[str]:
    return [entry["event"] for entry in logs if entry["event"].startswith("sync.")]


@pytest.mark.parametrize("sent", some([signal.SIGKILL, signal.SIGSTOP], 1), ids=["killed", "stopped"])
def test_a_worker_process_that_is_lost_does_not_change_the_result(board, other, workers, monkeypatch, sent):
    def lose(batch: int) -> None:
        monkeypatch.setattr(pool, "MAX_ANSWER_SECONDS", 0.5 if batch == 5 else MAX_START_SECONDS)
        if batch == 5:
            workers.started[0].send_signal(sent)

    started = pool.ValidationPool._started

    def start(self: Any) -> Any:
        monkeypatch.setattr(pool, "MAX_ANSWER_SECONDS", MAX_START_SECONDS)
        return started(self)

    monkeypatch.setattr(pool.ValidationPool, "_started", start)
    workers.before_batch = lose
    with capture_logs() as logs:
        assert_same_result(board, other, as_xml(mixed_rows(board)))
    assert (len(workers.started), workers.batches) == (2, 43)
    assert sync_events(logs) == ["sync.helper_lost"]
    assert workers.all_ended()


class Deadly:
    """A validator whose process does not survive record 300."""

    def validate(self, records: Iterable[Record], form: object) -> list[object]:
        lines: list[object] = [record.line for record in records]
        if 300 in lines:
            os.kill(os.getpid(), signal.SIGKILL)
        return lines


def test_a_record_that_no_process_survives_is_an_error_of_the_file(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))  # for Deadly
    monkeypatch.setattr(pool, "MAX_ANSWER_SECONDS", MAX_START_SECONDS)
    task: Any = ValidationTask(cast("Any", Deadly()), b"", cast("Any", None), cast("Any", None), "csv")
    done: list[Any] = []
    with closing(pool.ValidationPool(task, lambda: True)) as validation:
        validation.start(1)
        for number in range(1, 400):
            done.extend(validation.add(Record(number, number, b"", {})))
        with pytest.raises(FeedError, match="died or hung over records 257 to 384, and so did the next"):
            done.extend(validation.finish())
    assert ([row for _, rows in done for row in rows], len(validation.lost)) == (list(range(1, 257)), 2)


def test_a_worker_process_without_memory_is_an_error_of_the_file(board, workers, monkeypatch):
    receive = pool._Worker.receive
    monkeypatch.setattr(pool._Worker, "receive", lambda worker: receive(worker) and MemoryError())
    run, _ = run_file(board, as_xml(mixed_rows(board)), 1)
    assert (run.state, board.jobs()) == ("failed", [])
    assert not_none(run.reason).startswith("limit_exceeded: the file takes more memory than there is")


@pytest.mark.parametrize("command", some(["/bin/true", "/nonexistent/python", "/bin/cat"], 1))
def test_a_worker_process_that_does_not_start_does_not_change_the_result(
    board, other, workers, monkeypatch, command
):
    monkeypatch.setattr(sys, "executable", command)
    monkeypatch.setattr(pool, "MAX_ANSWER_SECONDS", 1.0)  # `cat` never answers
    with capture_logs() as logs:
        assert_same_result(board, other, as_xml(mixed_rows(board)))
    assert sync_events(logs) == ["sync.helper_lost"]


def test_a_worker_process_runs_nothing_that_lies_in_the_current_folder(board, workers, tmp_path, monkeypatch):
    (tmp_path / "syncd.py").write_text("raise SystemExit('planted')")
    monkeypatch.chdir(tmp_path)
    with capture_logs() as logs:
        run_file(board, as_xml(mixed_rows(board)), 1)
    assert (len(workers.started), sync_events(logs)) == (1, [])


def test_a_run_that_is_stopped_ends_its_worker_processes(board, workers):
    feed, source = board.feed(), board.file(as_xml(mixed_rows(board)))
    importer = board.make_importer(processes=2, stop=lambda: workers.batches > 3)
    with pytest.raises(Stopped):
        importer.run(feed, source, board.begin(feed, source))
    assert len(workers.started) == 2
    assert workers.all_ended()


def test_a_small_file_and_known_records_do_not_start_a_worker_process(board, workers, monkeypatch):
    content = as_xml(mixed_rows(board))
    monkeypatch.setattr(reading, "MIN_FOR_WORKERS", 16 << 20)
    run_file(board, content, 1)
    monkeypatch.setattr(reading, "MIN_FOR_WORKERS", len(content) // 4)
    run_file(board, content.replace(b"Cook &amp; 800", b"Chef"), 1)
    assert not workers.started


@contextmanager
def requests(store: Store) -> Iterator[None]:
    """Let requests come all the time."""
    ended = threading.Event()

    def ask() -> None:
        while not ended.wait(0.01):
            store.note_request()

    store.note_request()
    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize("busy", [True, False])
def test_while_requests_come_the_process_of_the_run_validates_nothing_that_a_worker_process_can(
    board, workers, monkeypatch, *, busy
):
    """The requests would wait for the interpreter, and the run does not take much longer."""
    monkeypatch.setattr(pool, "MAX_WAITING", 1)
    with requests(board.store) if busy else nullcontext():
        run, _ = run_file(board, as_xml([board.row(f"r{number}") for number in range(ROWS)]), 1)
    assert run.counts.created == ROWS
    all_batches = (ROWS - 1 - 40) // 20 + 1  # the first record, and two batches, came before the process
    assert (workers.batches == all_batches) is busy, workers.batches


@pytest.mark.parametrize("bad", [0, 150, 299])
def test_a_batch_that_spoils_the_file_ends_the_reading_with_its_reason_and_the_rows_before_it(bad):
    class Spoiling:
        def validate(self, records: Iterable[Record], form: object) -> list[object]:
            numbers = [record.number for record in records]
            if bad + 1 in numbers:
                raise FeedError("limit_exceeded", "too much")
            return [object() for _ in numbers]

    task: Any = SimpleNamespace(validator=Spoiling(), form="csv", head=b"", read=None, limits=None)
    validation = pool.ValidationPool(task, lambda: False)
    taken: list[int] = []

    def take(done: Iterable[pool.Validated]) -> None:
        for records, rows in done:
            taken.extend(record.number for record, _ in zip(records, rows, strict=True))

    def read() -> None:
        for number in range(300):
            take(validation.add(Record(number + 1, 1, b"", {"a": "b"})))
        take(validation.finish())

    with pytest.raises(FeedError, match="too much"):
        read()
    take(validation.finish())  # as a run does, for the rows before
    assert taken == list(range(1, bad // 128 * 128 + 1))
