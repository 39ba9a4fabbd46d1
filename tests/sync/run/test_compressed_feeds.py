"""Compressed files, and XML that is read with ``recover``: their runs are like those of any other file."""

import gzip
import json

import pytest
import structlog

from syncd.sync.report.files import written_reports
from syncd.sync.run import RejectsWriter
from tests.sync.board import Row, content, not_none, report
from tests.sync.native_files import archive_of


def zipped(data: bytes) -> bytes:
    """Return an archive of two files, each with half of the rows."""
    rows = json.loads(data)
    return archive_of({"a.json": json.dumps(rows[::2]), "b.json": json.dumps(rows[1::2])})


def zipped_alone(data: bytes) -> bytes:
    return archive_of({"a.json": data.decode()})


def gzipped(data: bytes) -> bytes:
    """Return the bytes compressed; they do not depend on the time."""
    return gzip.compress(data, mtime=0)


@pytest.mark.parametrize("pack", [gzipped, zipped])
def test_the_rows_of_a_compressed_file_are_created_rejected_known_again_and_archived(board, pack, tmp_path):
    feed = board.feed("max_rejected = 90")

    def deliver(*rows: Row, rejects: RejectsWriter | None = None):
        return board.deliver(feed, pack(json.dumps(rows).encode()), rejects=rejects)

    writer = RejectsWriter(tmp_path / "rejected", feed.config.read)
    first = deliver(*map(board.row, "abc"), board.row("d", title=""), rejects=writer)
    assert (first.counts.created, first.counts.rejected) == (3, 1)
    path = not_none(writer.close())
    assert [row["referenceId"] for row in json.loads(path.read_text())] == ["d"]
    again = deliver(*map(board.row, "abc"), board.row("d"))
    assert (again.counts.unchanged, again.counts.created) == (3, 1)
    same = deliver(*map(board.row, "abc"), board.row("d"))
    assert same.state == "unchanged"
    less = deliver(*map(board.row, "bcd"))
    assert (less.counts.archived, board.statuses()["a"]) == (1, "archived")


def test_a_rejected_row_of_an_archive_has_the_name_of_its_file(board, tmp_path):
    feed = board.feed("max_rejected = 90")
    rows = [board.row("a"), board.row("b", title=""), board.row("c"), board.row("d", title="")]
    first, second = ("\n".join(map(json.dumps, part)) for part in (rows[:2], rows[2:]))
    packed = archive_of({"east.jsonl": first, "west/\x1b[1m.jsonl": second})
    writer = RejectsWriter(tmp_path / "rejected", feed.config.read)
    with structlog.testing.capture_logs() as logged:
        run = board.deliver(feed, packed, rejects=writer)
    assert [(e["record"], e["line"], e["member"]) for e in logged if e["event"] == "row.rejected"] == [
        (2, 2, "east.jsonl"),
        (4, 2, "west/?[1m.jsonl"),
    ]
    assert [(row.record, row.line, row.member) for row in board.rejected(run)] == [
        (2, 2, "east.jsonl"),
        (4, 2, "west/?[1m.jsonl"),
    ]
    data = report(board.store, run.id)
    assert [row["member"] for row in data["rejectedRows"]] == ["east.jsonl", "west/?[1m.jsonl"]
    assert "east.jsonl" in content(written_reports(board.store, run.id)[".report.html"]).decode()
    path = not_none(writer.close())
    reasons = [json.loads(line)["syncd_errors"] for line in path.read_text().splitlines()]
    assert [reason.partition(": The job title")[0] for reason in reasons] == ["east.jsonl", "west/?[1m.jsonl"]
    alone = board.deliver(feed, zipped_alone(json.dumps(rows[:1]).encode()))
    assert alone.counts.rejected == 0
    alone = board.deliver(feed, zipped_alone(json.dumps(rows[1:2]).encode()))
    assert [row.member for row in board.rejected(alone)] == [None]


MAPPING = """
max_rejected = 90
[fields]
referenceId = "id"
title = "title"
description = { from = "text", html = "clean" }
locations = { value = "Toronto, ON" }
applicantRoutingType = { value = "Email" }
applicationEmail = { value = "a@b.example" }
"""


def test_a_warning_of_an_archive_has_the_name_of_its_file(board):
    def records(title: str, *ids: str) -> str:
        return json.dumps([{"id": id, "title": title, "text": "<h2>Cook</h2><p>We cook.</p>"} for id in ids])

    east, west = records("Cook", "a", "b"), records("Chef", "c", "a")
    run = board.deliver(board.feed(MAPPING), archive_of({"east.json": east, "west/<b>.json": west}))
    data = report(board.store, run.id)
    found = [(warning["code"], warning["record"], warning["member"]) for warning in data["warnings"]]
    assert found == [
        ("html_cleaned", 1, "east.json"),
        ("html_cleaned", 2, "east.json"),
        ("html_cleaned", 3, "west/<b>.json"),
        ("html_cleaned", 4, "west/<b>.json"),
        ("duplicate_reference", 1, "east.json"),
    ]
    assert "record 4 (in west/<b>.json) has" in data["warnings"][-1]["detail"]
    page = content(written_reports(board.store, run.id)[".report.html"]).decode()
    assert "4 × Formatting that cannot be shown was taken out of texts." in page
    assert "west/<b>.json" not in page


def test_a_decompression_bomb_and_a_truncated_file_fail_and_archive_nothing(board):
    feed = board.feed_with([board.row("a"), board.row("b")])
    truncated = gzip.compress(json.dumps([board.row("a")] * 50).encode())[:-9]
    bomb = gzip.compress(b'[{"referenceId": "' + b"x" * 20_000_000)
    assert (board.deliver(feed, truncated).state, board.deliver(feed, bomb).state) == ("failed", "failed")
    assert board.statuses() == {"a": "active", "b": "active"}


XML = "<jobs><job><referenceId>a</referenceId><title>Cook & chef</title></job></jobs>"


def test_xml_that_is_read_with_recover_updates_but_does_not_archive(board):
    strict, feed = board.feed(), board.feed("[read]\nrecover = true")
    board.deliver(strict, [board.row("a"), board.row("b")])
    assert board.deliver(strict, XML.encode()).state == "failed"
    run = board.deliver(feed, XML.encode())
    assert (run.counts.updated, run.counts.archived) == (1, 0)
    assert board.statuses() == {"a": "active", "b": "active"}
    assert (run.state, "leniently" in not_none(run.withheld)) == ("partial", True)


def test_control_characters_in_xml_that_is_read_with_recover_are_one_warning_of_the_run(board):
    feed = board.feed("[read]\nrecover = true")
    board.deliver(board.feed(), [board.row("a"), board.row("b")])
    second = XML.replace(">a<", ">b<").removeprefix("<jobs>")
    run = board.deliver(feed, (XML.replace("Cook", "C\x0bo\x01ok").removesuffix("</jobs>") + second).encode())
    assert (run.counts.read, run.counts.updated, run.counts.rejected) == (2, 2, 0)
    assert (board.job("a").title, board.job("b").title) == ("Cook & chef", "Cook & chef")
    (warning,) = board.warnings(run)
    assert (warning.code, warning.record) == ("control_characters", None)
    assert warning.detail.startswith("2 control characters were left out")


def test_with_recover_a_record_that_has_others_in_it_is_rejected_and_changes_no_job(board):
    feed = board.feed("[read]\nrecover = true")
    board.deliver(board.feed(), [board.row("a"), board.row("b")])
    swallowing = XML.replace("chef", "chef<br>").replace("</jobs>", "") + XML.replace(
        ">a<", ">b<"
    ).removeprefix("<jobs>")
    run = board.deliver(feed, swallowing.encode())
    assert (run.counts.read, run.counts.updated, run.counts.rejected, run.counts.archived) == (1, 0, 1, 0)
    assert "Cook & chef" not in (board.job("a").title, board.job("b").title)


def test_with_recover_the_first_root_is_imported_and_nothing_is_archived(board):
    strict, feed = board.feed(), board.feed("[read]\nrecover = true")
    board.deliver(strict, [board.row("a"), board.row("b"), board.row("c")])
    roots = XML.replace("Cook", "Lead") + XML.replace(">a<", ">b<") + "<jobs><job><title>x</job></jobs>" * 2
    failed = board.deliver(strict, roots.replace("&", "and").encode())
    assert (failed.state, "[read] recover" in not_none(failed.reason)) == ("failed", True)
    run = board.deliver(feed, roots.encode())
    assert (run.counts.read, run.counts.updated, run.counts.rejected, run.counts.archived) == (1, 1, 0, 0)
    assert "begins after the end of the first root and was left out" in not_none(run.withheld)
    assert set(board.statuses().values()) == {"active"}
