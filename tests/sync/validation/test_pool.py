"""Helpers judge the records of a large file in processes of their own: nothing of a run may come out otherwise for it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import signal
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from structlog.testing import capture_logs

from syncd.domain import Run
from syncd.store import Store, runs
from syncd.sync.run import reading
from syncd.sync.run.feed import Stopped
from syncd.sync.run.rejects import RejectsWriter
from syncd.sync.validation import pool, worker_connection

ROWS = 900
ZONE = ZoneInfo("America/Toronto")


class Watch:
    """How many parcels helpers judged, and their processes."""

    def __init__(self) -> None:
        self.answers = 0
        self.processes: list[Any] = []


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Helpers for small files: started at the 50th record, waited for, given small parcels."""
    watch, rows_in, popen = Watch(), pool.rows_in, worker_connection.subprocess.Popen

    def counted(data: bytes) -> Any:
        watch.answers += 1
        return rows_in(data)

    def begun(*arguments: Any, **options: Any) -> Any:
        watch.processes.append(popen(*arguments, **options))
        return watch.processes[-1]

    monkeypatch.setattr(pool, "rows_in", counted)
    monkeypatch.setattr(worker_connection.subprocess, "Popen", begun)
    monkeypatch.setattr(pool, "WORTH", 0)
    monkeypatch.setattr(pool, "START", 30.0)
    monkeypatch.setattr(pool, "RECORDS", 20)
    monkeypatch.setattr(reading, "EDGE", 50)
    return watch


@pytest.fixture
def twin(board: Any, tmp_path: Path) -> Iterator[Any]:
    """A second board, with the same clock and employer."""
    folder = tmp_path / "twin"
    folder.mkdir()
    with Store.open(f"sqlite:///{folder}/syncd.db", clock=board.clock, timezone=ZONE) as store:
        yield type(board)(store, board.clock, folder)


def delivered(board: Any, content: bytes, toml: str, helpers: int) -> tuple[Run, bytes]:
    """The run of the file, and its file of rejected rows."""
    feed = board.feed(toml)
    rejects = RejectsWriter(board.folder / "rejected", records=feed.config.read.records)
    run = board.drop(feed, content, importer=board.make_importer(helpers=helpers), rejects=rejects)
    return run, rejects.path.read_bytes() if rejects.path else b""


def ended(board: Any, run: Run) -> Any:
    """All that a run leaves behind."""
    return (
        (run.state, run.holds, run.reason, run.withheld, run.counts),
        board.rejected(run),
        board.warnings(run),
        board.store.read(lambda tx: runs.unknown(tx, run.id)),
        board.jobs(),
    )


def same(board: Any, twin: Any, content: bytes, toml: str = "") -> Run:
    """Delivers with and without helpers, and compares."""
    helped, file = delivered(board, content, toml, 1)
    alone, expected = delivered(twin, content, toml, 0)
    assert ended(board, helped) == ended(twin, alone)
    assert file == expected
    return helped


def rows(board: Any, first: int = 0, count: int = ROWS) -> list[dict[str, Any]]:
    """Valid ones, rejected ones, repeated ones, one with a place that no catalogue has."""
    made = [board.row(f"r{number}", title=f"Cook & {number} <é>") for number in range(first, first + count)]
    for at in range(7, count, 61):
        made[at]["title"] = ""
    for at in range(30, count, 113):
        made[at]["referenceId"] = made[at - 20]["referenceId"]
    for at in range(40, count, 97):
        made[at]["locations"] = [{"description": "Nowhere Landing, ON"}]
    for at in range(42, count, 101):
        made[at]["locations"] = [{"description": "Toronto, Texas"}]
    for at in range(45, count, 89):
        made[at]["closeDate"] = "2026-11-01"
    return made


LISTS = {"locations": "location", "categories": "category"}


def members(values: dict[str, Any]) -> str:
    return "".join(element(name, value) for name, value in values.items())


def element(name: str, value: Any) -> str:
    if isinstance(value, list):
        return f"<{name}>{''.join(element(LISTS[name], item) for item in value)}</{name}>"
    inside = members(value) if isinstance(value, dict) else escape(str(value))
    return f"<{name}>{inside}</{name}>"


def xml(made: list[dict[str, Any]], head: str = "") -> bytes:
    return f'<?xml version="1.0"?>\n{head}<jobs>\n{"".join(records(made))}</jobs>\n'.encode()


def records(made: list[dict[str, Any]]) -> list[str]:
    return [f"<job>\n{members(row)}</job>\n" for row in made]


def as_csv(made: list[dict[str, Any]]) -> bytes:
    names = ("referenceId", "title", "locations", "categories", "positionType", "description", "closeDate")
    out = io.StringIO()
    write = csv.writer(out).writerow
    write([*names, "applicantRoutingType", "applicationEmail"])
    for at, row in enumerate(made):
        cells = [
            row["referenceId"],
            row["title"],
            row["locations"][0]["description"],
            1,
            1,
            row["description"],
        ]
        ragged = ["too many"] if at % 200 == 150 else []
        write([*cells, row.get("closeDate", ""), 1, row["applicationEmail"], *ragged])
    return out.getvalue().encode()


def as_json(made: list[dict[str, Any]]) -> bytes:
    made = [row | {"salary": {"amount": 20.5, "period": {"id": 5}}} for row in made]
    return json.dumps([*made[:200], "no object", None, *made[200:]]).encode()


def as_lines(made: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in made).encode()


FORMS = {
    "xml": xml,
    "csv": as_csv,
    "json": as_json,
    "json lines": as_lines,
    "gzip": lambda made: gzip.compress(xml(made)),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_comes_to_the_same_with_a_helper(board: Any, twin: Any, watch: Watch, form: str) -> None:
    run = same(board, twin, FORMS[form](rows(board)))
    assert run.counts.created > 800
    assert run.counts.rejected > 10
    unknown = board.store.read(lambda tx: runs.unknown(tx, run.id))
    assert unknown.found == {"locations": [("Toronto, Texas", 9)]}
    assert watch.answers >= 2  # how many more depends on what else the machine does
    assert all(process.poll() is not None for process in watch.processes)


@pytest.mark.parametrize("form", FORMS)
def test_a_parcel_has_a_bound_in_bytes_too(
    board: Any, watch: Watch, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(pool, "RECORDS", 10_000)
    monkeypatch.setattr(pool, "BYTES", 10_000)
    monkeypatch.setattr(worker_connection, "_AHEAD", 1_000)  # the helper gets them all
    delivered(board, FORMS[form](rows(board)), "", 1)
    assert watch.answers > 5


def test_so_does_the_next_file_of_which_half_is_known(board: Any, twin: Any, watch: Watch) -> None:
    same(board, twin, xml(rows(board)))
    made = rows(board)
    for row in made[200:700:2]:
        row["title"] += ", again"
    before = watch.answers
    run = same(board, twin, xml([*made[:600], *rows(board, 2000, 100), *made[600:880]]))
    assert run.counts.updated > 200
    assert run.counts.created >= 90
    assert run.counts.unchanged > 200
    assert watch.answers > before


#: What stands among the records, and makes them no clean slices.
STRANGE = {
    "an end tag in CDATA": "<job><title><![CDATA[a </job> b]]></title></job>",
    "a record in a record": "<job><title>a<job>b</job></title></job>",
    "an end tag in a comment": "<job><!-- </job> --><title>a</title></job>",
    "records under another parent": "<old><job><title>a</title></job></old>",
    "other elements": "<note>half time</note>",
    "a comment": "<!-- <job><title>a</title></job> -->",
    "text": "half time",
}


@pytest.mark.parametrize("strange", STRANGE.values(), ids=STRANGE)
def test_what_can_be_told_only_from_the_whole_file_is(
    board: Any, twin: Any, watch: Watch, strange: str
) -> None:
    parts = records(rows(board))
    content = f"<jobs>{''.join(parts[:500])}{strange}{''.join(parts[500:])}</jobs>".encode()
    same(board, twin, content)
    assert watch.answers


FAULTS = {
    "cut off": lambda text: text[: len(text) * 3 // 4],
    "a bare ampersand": lambda text: text.replace("Cook &amp; 700", "Cook & 700"),
    "an unknown entity": lambda text: text.replace("Cook &amp; 700", "Cook &nosuch; 700"),
    "a wrong end tag": lambda text: text.replace("Cook &amp; 700 &lt;é&gt;</title>", "Cook 700</titel>"),
    "a control character": lambda text: text.replace("Cook &amp; 700", "Cook \x01 700"),
    "too deep": lambda text: text.replace("Cook &amp; 700", "<b>" * 80 + "x" + "</b>" * 80),
    "an end tag too many": lambda text: text.replace("</jobs>", "</job></jobs>"),
    "trailing junk": lambda text: text + "<job>",
}


@pytest.mark.parametrize("spoil", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_told_with_its_place_all_the_same(board: Any, twin: Any, watch: Watch, spoil: Any) -> None:
    run = same(board, twin, spoil(xml(rows(board)).decode()).encode())
    assert run.state == "failed"
    assert "line" in run.reason
    assert watch.answers


def test_entities_of_the_prolog_hold_for_helpers_too(board: Any, twin: Any, watch: Watch) -> None:
    made = rows(board)
    for row in made:
        row["title"] = row["title"].replace("é", "CHEF")
    content = xml(made).replace(b"CHEF", b"&eacute;&#233;")
    same(board, twin, content)
    assert "éé" in board.job("r1").title
    assert watch.answers


def test_a_mapping_that_looks_outside_the_records_is_read_in_one_piece(
    board: Any, twin: Any, watch: Watch
) -> None:
    toml = """
        [fields]
        referenceId = "id"
        title = "{ from = 'title' }"
        locations = "../city"
    """
    toml = toml.replace("\"{ from = 'title' }\"", '"title"')
    content = "<jobs><city>Ottawa, ON</city>"
    content += "".join(f"<job><id>{n}</id><title>Cook</title></job>" for n in range(ROWS)) + "</jobs>"
    run = same(board, twin, content.encode(), toml)
    assert run.counts.rejected == ROWS  # a job needs more than that; what was found is said alike
    assert not watch.answers


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_helper_that_fails_amid_its_work_costs_nothing(
    board: Any, twin: Any, watch: Watch, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(worker_connection, "ANSWER", 0.5)
    rows_in = pool.rows_in

    def kill(data: bytes) -> Any:
        if watch.answers == 5:
            os.kill(watch.processes[0].pid, number)
        return rows_in(data)

    monkeypatch.setattr(pool, "rows_in", kill)
    with capture_logs() as events:
        same(board, twin, xml(rows(board)))
    assert 5 < watch.answers < 12
    assert [e["event"] for e in events if e["event"].startswith("sync.")] == ["sync.helper_lost"]


@pytest.mark.parametrize("command", ["/nonexistent/python", "/bin/true", "/bin/cat"])
def test_a_helper_that_cannot_be_had_costs_nothing(
    board: Any, twin: Any, watch: Watch, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(worker_connection.sys, "executable", command)
    with capture_logs() as events:
        same(board, twin, xml(rows(board)))
    assert not watch.answers
    assert [e["event"] for e in events if e["event"].startswith("sync.")] == ["sync.helper_lost"]


def test_a_run_that_is_stopped_leaves_no_helper(board: Any, watch: Watch) -> None:
    feed, source = board.feed(), board.file(xml(rows(board)))
    importer = board.make_importer(helpers=2, stop=lambda: watch.answers > 3)
    with pytest.raises(Stopped):
        importer.run(feed, source, board.begin(feed, source))
    assert len(watch.processes) == 2
    assert all(process.poll() is not None for process in watch.processes)


def test_small_files_get_no_helper(board: Any, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "WORTH", 16 << 20)
    delivered(board, xml(rows(board)), "", 1)
    assert not watch.processes


def test_known_records_are_not_what_a_helper_is_started_for(
    board: Any, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = xml(rows(board))
    delivered(board, content, "", 0)
    monkeypatch.setattr(pool, "WORTH", len(content) // 4)
    delivered(board, content.replace(b"Cook &amp; 800", b"Chef"), "", 1)
    assert not watch.processes
