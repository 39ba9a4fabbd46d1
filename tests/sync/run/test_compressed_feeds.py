"""Compressed files, and files read leniently, through the importer: they behave like any other delivery."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import structlog

from syncd.sync.report import report
from syncd.sync.report.html import render_html
from syncd.sync.run.rejects import RejectsWriter


def zipped(data: bytes, *, alone: bool = False) -> bytes:
    """Two members, each with half of the array's rows, or one with all."""
    rows = json.loads(data)
    parts = (("a.json", rows),) if alone else (("a.json", rows[::2]), ("b.json", rows[1::2]))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts:
            archive.writestr(name, json.dumps(part))
    return out.getvalue()


def gzipped(data: bytes) -> bytes:
    """The same bytes whenever it is done."""
    return gzip.compress(data, mtime=0)


@pytest.mark.parametrize("pack", [gzipped, zipped])
def test_a_compressed_feed_creates_archives_rejects_and_knows_its_rows_again(
    board: Any, pack: Any, tmp_path: Path
) -> None:
    feed = board.feed("max_rejected = 90")

    def drop(*rows: dict[str, Any], rejects: RejectsWriter | None = None) -> Any:
        return board.drop(feed, pack(json.dumps(rows).encode()), rejects=rejects)

    writer = RejectsWriter(tmp_path / "rejected")
    first = drop(*map(board.row, "abc"), board.row("d", title=""), rejects=writer)
    assert (first.counts.created, first.counts.rejected) == (3, 1)
    path = writer.close()
    assert path is not None
    assert [row["referenceId"] for row in json.loads(path.read_text())] == ["d"]
    again = drop(*map(board.row, "abc"), board.row("d"))
    assert (again.counts.unchanged, again.counts.created) == (3, 1)
    same = drop(*map(board.row, "abc"), board.row("d"))
    assert same.state == "unchanged"
    less = drop(*map(board.row, "bcd"))
    assert (less.counts.archived, board.statuses()["a"]) == (1, "archived")


def test_rows_of_an_archive_are_told_with_the_file_that_they_stand_in(board: Any, tmp_path: Path) -> None:
    feed = board.feed("max_rejected = 90")
    rows = [board.row("a"), board.row("b", title=""), board.row("c"), board.row("d", title="")]
    lines = "\n".join(map(json.dumps, rows[2:])).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("east.jsonl", "\n".join(map(json.dumps, rows[:2])))
        archive.writestr("west/\x1b[1m.jsonl", lines)
    writer = RejectsWriter(tmp_path / "rejected")
    with structlog.testing.capture_logs() as logged:
        run = board.drop(feed, out.getvalue(), rejects=writer)
    assert [(e["record"], e["line"], e["member"]) for e in logged if e["event"] == "row.rejected"] == [
        (2, 2, "east.jsonl"),
        (4, 2, "west/?[1m.jsonl"),
    ]
    assert [(row.record, row.line, row.member) for row in board.rejected(run)] == [
        (2, 2, "east.jsonl"),
        (4, 2, "west/?[1m.jsonl"),
    ]
    told = report(board.store, run.id)
    assert [row["member"] for row in told["rejectedRows"]] == ["east.jsonl", "west/?[1m.jsonl"]
    assert "east.jsonl" in render_html(told)
    path = writer.close()
    assert path is not None
    reasons = [json.loads(line)["syncd_errors"] for line in path.read_text().splitlines()]
    assert [reason.partition(": /title")[0] for reason in reasons] == ["east.jsonl", "west/?[1m.jsonl"]
    alone = board.drop(feed, zipped(json.dumps(rows[:1]).encode(), alone=True))
    assert alone.counts.rejected == 0
    alone = board.drop(feed, zipped(json.dumps(rows[1:2]).encode(), alone=True))
    assert [row.member for row in board.rejected(alone)] == [None]


MAPPED = """
max_rejected = 90
[fields]
referenceId = "id"
title = "title"
description = { from = "text", html = "clean" }
locations = { value = "Toronto, ON" }
applicantRoutingType = { value = "Email" }
applicationEmail = { value = "a@b.example" }
"""


def test_warnings_of_an_archive_name_the_file_too(board: Any) -> None:
    def some(title: str, *ids: str) -> str:
        return json.dumps([{"id": id, "title": title, "text": "<h2>Cook</h2><p>We cook.</p>"} for id in ids])

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("east.json", some("Cook", "a", "b"))
        archive.writestr("west/<b>.json", some("Chef", "c", "a"))
    run = board.drop(board.feed(MAPPED), out.getvalue())
    told = report(board.store, run.id)
    found = [(warning["code"], warning["record"], warning["member"]) for warning in told["warnings"]]
    assert found == [
        ("html_cleaned", 1, "east.json"),
        ("html_cleaned", 2, "east.json"),
        ("html_cleaned", 3, "west/<b>.json"),
        ("html_cleaned", 4, "west/<b>.json"),
        ("duplicate_reference", 4, "west/<b>.json"),
    ]
    assert "records 1 (in east.json) and 4 have" in told["warnings"][-1]["detail"]
    page = render_html(told)
    assert page.count("west/&lt;b&gt;.json") >= 3
    assert "west/<b>.json" not in page


def test_warnings_of_a_file_by_itself_name_none(board: Any) -> None:
    data = json.dumps([{"id": "a", "title": "Cook", "text": "<h2>Cook</h2>"}])
    for content in (data.encode(), zipped(data.encode(), alone=True)):
        run = board.drop(board.feed(MAPPED), content)
        assert {warning["member"] for warning in report(board.store, run.id)["warnings"]} <= {None}


def test_a_bomb_and_a_cut_archive_fail_and_archive_nothing(board: Any) -> None:
    feed = board.feed()
    board.drop(feed, [board.row("a"), board.row("b")])
    cut = gzip.compress(json.dumps([board.row("a")] * 50).encode())[:-9]
    bomb = gzip.compress(b'[{"referenceId": "' + b"x" * 20_000_000)
    assert (board.drop(feed, cut).state, board.drop(feed, bomb).state) == ("failed", "failed")
    assert board.statuses() == {"a": "active", "b": "active"}


XML = "<jobs><job><referenceId>a</referenceId><title>Cook & chef</title></job></jobs>"


def test_xml_that_is_read_leniently_updates_but_never_archives_and_says_so(board: Any) -> None:
    strict, feed = board.feed(), board.feed("[read]\nrecover = true")
    board.drop(strict, [board.row("a"), board.row("b")])
    assert board.drop(strict, XML.encode()).state == "failed"
    run = board.drop(feed, XML.encode())
    assert (run.counts.updated, run.counts.archived) == (1, 0)
    assert board.statuses() == {"a": "active", "b": "active"}
    assert (run.state, "leniently" in run.withheld) == ("partial", True)


def test_every_root_of_a_lenient_feed_is_imported_and_what_is_lost_is_told(board: Any) -> None:
    strict, feed = board.feed(), board.feed("[read]\nrecover = true")
    board.drop(strict, [board.row("a"), board.row("b"), board.row("c")])
    roots = XML.replace("Cook", "Lead") + XML.replace(">a<", ">b<") + "<jobs><job><title>x</job></jobs>" * 2
    failed = board.drop(strict, roots.replace("&", "and").encode())
    assert (failed.state, "[read] recover" in failed.reason) == ("failed", True)
    run = board.drop(feed, roots.encode())
    assert (run.counts.read, run.counts.updated, run.counts.rejected, run.counts.archived) == (3, 2, 1, 0)
    assert "of 4 <job> 1 could not be read" in run.withheld
    assert set(board.statuses().values()) == {"active"}
