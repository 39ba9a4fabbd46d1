"""What keeps a run from archiving, or from everything, with files that the importer runs
(docs/reconciliation.md "When a run stops short").

The tests have the order of the table there. Each limit is reached exactly, and exceeded by one."""

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from syncd.domain import FeedLimits, Run
from tests.feeds.spreadsheets import zipped
from tests.sync.board import LONG_TEXT, Board, Row, not_none
from tests.sync.histories.forms import dump
from tests.sync.native_files import as_csv, as_xml


def references(first: int, last: int) -> set[str]:
    return {f"r{n}" for n in range(first, last + 1)}


def reason_of(run: Run) -> str:
    return not_none(run.reason)


def outcome(run: Run) -> tuple[str, str | None]:
    """Return the state of a run and what it holds."""
    return run.state.value, run.holds.value if run.holds else None


# -- failed: nothing of the file could be used ---------------------------------------------------------------


ROWS = [Board.row(f"r{n}") for n in range(1, 6)]
XML, CSV, JSON = as_xml(ROWS), as_csv(ROWS).encode(), json.dumps(ROWS).replace("}, {", "},\n{").encode()
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
LONG = b"x" * (9 << 20)
MOSTLY = ["bad_encoding: mostly UTF-8, but the byte 0xE9 is not"]
#: Name -> bytes of which nothing can be used, and words of the reason.
BROKEN: dict[str, tuple[bytes, list[str]]] = {
    "empty": (b"", ["empty_file: the file has 0 bytes"]),
    "blanks": (b" \r\n" * 50, ["empty_file: the file is empty"]),
    "malformed": (JSON.replace(b"},", b"}", 1), ["not_well_formed", "line 1"]),
    "malformed xml": (b"<jobs><job><referenceId>r1</referenceId></wrong></jobs>", ["line 1"]),
    "no path": (b'{"page": {"of": "nothing"}}', ["no_records_path"]),
    "cut off": (JSON[:-20], ["truncated: the file ends before its records do; line 5", "last good referenceId r4"]),
    "cut off csv": (CSV[: CSV.rindex(b"Montr") + 3], ["truncated: the file ends inside a quoted cell; line 6"]),
    "cut off xml": (XML.removesuffix(b"</jobs>\n"), ["truncated", "last good referenceId r5"]),
    "cut off lines": (LINES[:-20], ["truncated: the last line has no end and does not parse"]),
    "too long csv": (CSV.replace(b"Cook r3", LONG), ["limit_exceeded: "]),
    "too long xml": (XML.replace(b"Cook r3", LONG), ["limit_exceeded: more than 8388608 bytes without the end of a record"]),
    "too long json": (JSON.replace(b"Cook r3", LONG), ["limit_exceeded: a record of more than 8388608 bytes; line 3"]),
    "bad byte csv": (CSV.replace(b"Cook r3", b"\xc3\xa9" * 3 + b"\xe9"), MOSTLY),
    "bad byte xml": (XML.replace(b"Cook r3", b"\xc3\xa9" * 3 + b"\xe9"), MOSTLY),
    "bad byte lines": (LINES.replace(b"Cook r3", b"\xc3\xa9" * 3 + b"\xe9"), MOSTLY),
    "half a character": (CSV.decode().encode("utf-16")[:-1], ["bad_encoding: the file ends within a character of UTF-16-LE"]),
    "noise": (Random(4711).randbytes(5000), ["bad_encoding: the byte 0x90 is not text in Windows-1252"]),
    "zeros": (bytes(5000), ["not_a_feed: neither XML nor JSON"]),
    "page": (b"<!DOCTYPE html><html><body>Please sign in</body></html>", ["not_a_feed: this is an HTML page"]),
    "pdf": (b"%PDF-1.7\n%\xe2\xe3\n" + bytes(99), ["not_a_feed: this is a PDF document"]),
    "zip": (b"PK\x03\x04\x14\x00" + bytes(99), ["truncated: a zip archive that is cut off or damaged"]),
    "entity": (b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><jobs><job><title>&b;</title></job></jobs>',
               ["forbidden_dtd: a document type with declarations is not accepted; line 1"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_used_fails_and_cannot_be_approved(board: Board, name: str) -> None:
    content, words = BROKEN[name]
    feed = board.feed_with(board.rows(1, 2))
    run = board.deliver(feed, content)
    assert outcome(run) == ("failed", None)
    for word in words:
        assert word in reason_of(run)
    assert board.active() == references(1, 2)
    with pytest.raises(Exception, match="only a held run can be approved"):
        board.importer.approve(run.id, feed)
    assert outcome(board.deliver(feed, board.rows(1, 3))) == ("succeeded", None)


def test_a_file_above_a_limit_fails_with_its_name_and_a_file_at_the_limit_is_applied(board: Board) -> None:
    feed, importer = board.feed(), board.make_importer(limits=FeedLimits(rows=3))
    run = board.deliver(feed, board.rows(1, 4), importer=importer)
    assert outcome(run) == ("failed", None)
    assert "rows" in reason_of(run)
    assert board.jobs() == []
    assert outcome(board.deliver(feed, board.rows(1, 3), importer=importer)) == ("succeeded", None)


# -- partial: the archiving is withheld ----------------------------------------------------------------------


def test_a_file_with_fewer_records_than_it_declares_only_adds_and_updates(board: Board) -> None:
    feed = board.feed_with(as_xml(board.rows(1, 3)))
    short = as_xml(board.rows(2, 4), "<expectedJobCount>4</expectedJobCount>")
    run = board.deliver(feed, short)
    assert outcome(run) == ("partial", None)
    assert run.withheld == "the file says that it has 4 records, but 3 were found"
    assert board.active() == references(1, 4)
    whole = as_xml(board.rows(2, 4), "<expectedJobCount>3</expectedJobCount>")
    assert outcome(board.deliver(feed, whole)) == ("succeeded", None)
    assert board.active() == references(2, 4)


NAMES = ("expectedJobCount", "jobCount", "totalJobs", "totalFound", "totalResults", "total")
DECLARED: list[tuple[str, object]] = [(name, 38) for name in NAMES]
DECLARED += [("total", "38"), ("total", "1,038"), ("total", "1 038")]


@pytest.mark.parametrize(("name", "total"), DECLARED)
def test_a_file_declares_the_number_of_its_records_under_several_names_and_as_text(
    board: Board, name: str, total: object
) -> None:
    rows, number = board.rows(2, 4), "".join(filter(str.isdigit, str(total)))
    board.deliver(board.feed(), board.rows(1, 4))
    for content in (as_xml(rows, f"<{name}>{total}</{name}>"), {name: total, "jobs": rows}):
        feed = board.feed('[read]\nrecords = "jobs"' if isinstance(content, dict) else "")
        run = board.deliver(feed, content)
        assert run.withheld == f"the file says that it has {number} records, but 3 were found"
        assert board.active() == references(1, 4)


@pytest.mark.parametrize(
    ("about", "more"),
    [
        ({"hasMore": True}, "hasMore"),
        ({"pageInfo": {"has_next_page": True}}, "has_next_page"),
        ({"next": "https://acme.example/jobs?page=2"}, "next"),
        ({"meta": {"next_page": 2}}, "next_page"),
        ({"page": 1, "pages": 3}, "pages"),
        ({"meta": {"total_pages": "3"}}, "total_pages"),
        ({"page": "1 of 3"}, "page"),
        ({"links": {"next": "/jobs?page=2"}}, "next"),
        ({"paging": {"next": {"offset": 9}}}, "next"),
        ({"last": False}, "last"),
        ({"info": {"more_records": True, "page": 1}}, "more_records"),
        ({"offset": "itr8/rec5"}, "offset"),
        ({"done": False}, "done"),
        ({"moreDataAvailable": True}, "moreDataAvailable"),
        ({"offset": 0, "info": {"more_records": False}, "done": True}, None),
        ({"hasMore": False, "next": None, "nextPageToken": ""}, None),
        ({"filters": {"next": "all"}, "page": True}, None),
        ({"page": 1, "pages": 1, "last": True, "links": {"next": None}}, None),
        ({"pages": 2, "total": 10}, None),
    ],
)
@pytest.mark.parametrize("behind", [True, False])
def test_a_page_of_a_longer_list_only_adds_and_updates(
    board: Board, about: dict[str, Any], more: str | None, *, behind: bool
) -> None:
    feed = board.feed('[read]\nrecords = "jobs"')
    board.deliver(feed, {"jobs": board.rows(1, 10)})
    jobs = {"jobs": board.rows(2, 11)}
    page = jobs | about if behind else about | jobs
    run = board.deliver(feed, page)
    assert run.withheld == (more and f"the file says that other records follow it (`{more}`)")
    assert board.active() == references(1 if more else 2, 11)
    if more:  # the last of the pages in an archive decides
        pages = {"1.json": json.dumps(page), "2.json": json.dumps({"jobs": board.rows(12, 12)})}
        assert outcome(board.deliver(feed, zipped(pages))) == ("succeeded", None)
        assert board.active() == references(2, 12)


@pytest.mark.parametrize(
    ("about", "wrong"),
    [
        ({"errors": [{"message": "time out", "path": ["jobs"]}]}, "errors"),
        ({"error": {"code": 500}}, "error"),
        ({"error": "partial answer"}, "error"),
        ({"success": False}, "success"),
        ({"errors": [], "error": None, "success": True}, None),
        ({"error": False, "errors": {"count": 0}}, None),
    ],
)
def test_a_file_that_says_that_something_went_wrong_only_adds_and_updates(
    board: Board, about: dict[str, Any], wrong: str | None
) -> None:
    feed = board.feed('[read]\nrecords = "jobs"')
    board.deliver(feed, {"jobs": board.rows(1, 10)})
    run = board.deliver(feed, about | {"jobs": board.rows(2, 11)})
    assert run.withheld == (wrong and f"the file says that it may not be whole (`{wrong}`)")
    assert board.active() == references(1 if wrong else 2, 11)
    if wrong:  # in whatever file of an archive
        pages = {
            "1.json": json.dumps(about | {"jobs": board.rows(2, 11)}),
            "2.json": json.dumps({"jobs": board.rows(12, 12)}),
        }
        assert outcome(board.deliver(feed, zipped(pages)))[0] == "partial"


def test_xml_may_say_as_well_that_something_went_wrong(board: Board) -> None:
    feed = board.feed()
    board.deliver(feed, as_xml(board.rows(1, 10)))
    run = board.deliver(feed, as_xml(board.rows(2, 11), "<error>time out</error>"))
    assert run.withheld == "the file says that it may not be whole (`error`)"


@pytest.mark.parametrize(
    ("before", "behind", "more"),
    [
        ("<totalPages>3</totalPages>", "", "totalPages"), ("", "<page>1 of 3</page>", "page"),
        ("", "<hasMore>true</hasMore>", "hasMore"), ('<link rel="next" href="/jobs?page=2"/>', "", "next"),
        ("", '<link rel="next" href="/jobs?page=2"/>', "next"), ("<pages>1</pages>", "<hasMore>false</hasMore>", None),
    ],
)  # fmt: skip
def test_xml_may_say_as_well_that_it_is_a_page_of_a_longer_list(
    board: Board, before: str, behind: str, more: str | None
) -> None:
    feed = board.feed()
    board.deliver(feed, as_xml(board.rows(1, 10)))
    page = as_xml(board.rows(2, 11), before).replace(b"</jobs>", f"{behind}</jobs>".encode())
    run = board.deliver(feed, page)
    assert run.withheld == (more and f"the file says that other records follow it (`{more}`)")
    assert board.active() == references(1 if more else 2, 11)


def test_a_zip_archive_of_all_pages_is_whole(board: Board) -> None:
    feed = board.feed('[read]\nrecords = "jobs"')
    board.deliver(feed, {"jobs": board.rows(1, 10)})
    rows = {1: board.rows(2, 5), 2: board.rows(7, 10)}
    pages = {f"{n}.json": json.dumps({"page": n, "pages": 2, "jobs": rows[n]}) for n in rows}
    run = board.deliver(feed, zipped(pages))
    assert run.withheld is None
    assert board.active() == references(2, 5) | references(7, 10)


def test_a_file_whose_archiving_is_withheld_is_still_held_for_too_many_rejected_rows(board: Board) -> None:
    feed = board.feed('[read]\nrecords = "jobs"')
    bad = board.rows(1, 6, title="")
    run = board.deliver(feed, {"jobs": [*bad, *board.rows(7, 9)], "totalFound": 20})
    assert outcome(run) == ("held", "all")
    assert board.jobs() == []


# -- a row without a readable referenceId --------------------------------------------------------------------


@pytest.mark.parametrize("reference", [None, "", "   ", "x" * 51, 5.5, ["r1"]])
def test_more_rows_without_a_readable_reference_than_are_tolerated_hold_the_archiving(
    board: Board, reference: Any
) -> None:
    feed = board.feed_with(board.rows(1, 40))
    unnamed = [board.row(None, referenceId=reference, title=f"Baker {n}") for n in range(4)]
    run = board.deliver(feed, [*board.rows(1, 38, confidential=True), *unnamed])
    assert outcome(run) == ("held", "archive")
    assert reason_of(run) == (
        "4 of 42 rows have no readable referenceId (9.5 %, the limit is 1 % and at least 4); "
        "2 of 40 active jobs would be archived (5 %)"
    )
    assert (run.counts.updated, run.counts.rejected, run.counts.missing, run.counts.archived) == (38, 4, 2, 0)
    assert board.active() == references(1, 40)


@pytest.mark.parametrize(("number", "unnamed", "held"), [(20, 3, False), (396, 4, False), (395, 4, True)])
def test_some_rows_without_a_reference_are_tolerated(
    board: Board, number: int, unnamed: int, held: bool
) -> None:
    feed = board.feed_with(board.rows(1, number + 1))
    run = board.deliver(
        feed, [*board.rows(1, number), *(board.row(None, title=f"Baker {n}") for n in range(unnamed))]
    )
    assert outcome(run) == (("held", "archive") if held else ("partial", None))
    assert (run.counts.missing, run.counts.archived) == (1, 0 if held else 1)
    assert board.active() == references(1, number + 1 if held else number)


def test_a_missing_job_that_is_like_a_row_without_a_reference_counts_as_named(board: Board) -> None:
    feed = board.feed()
    page = {"applicantRoutingType": {"id": 2}, "applicationUrl": "https://jobs.example.com/18"}
    gone = [
        board.row("r18", **page),
        board.row("r19", title="Préposé à l'entretien", locations=[{"description": "Sainte-Foy, QC"}]),
        board.row("r20", title="Préposé à l'entretien"),
    ]
    board.deliver(feed, [*board.rows(1, 17), *gone])
    unnamed = [
        board.row(None, title="Renamed", locations=[{"description": "Calgary, AB"}], **page),
        board.row(None, title="PREPOSE A L'ENTRETIEN", locations=[{"description": "Ste Foy, Quebec"}]),
        board.row(None, title="", positionType={"id": 99}),
    ]
    run = board.deliver(feed, [*board.rows(1, 17), *unnamed])
    assert outcome(run) == ("partial", None)
    assert (run.counts.rejected, run.counts.missing, run.counts.archived) == (3, 1, 1)
    assert board.active() == references(1, 19)
    warnings = [(w.code, w.record, w.reference_id) for w in board.warnings(run)]
    assert warnings == [("named_by_likeness", 18, "r18"), ("named_by_likeness", 19, "r19")]
    # a job that is spared waits no longer in grace, and is archived as usual when nothing is like it
    assert outcome(board.deliver(feed, board.rows(1, 17, confidential=True))) == ("succeeded", None)
    assert board.active() == references(1, 17)


def test_a_job_that_is_like_a_row_without_a_reference_waits_no_longer_in_grace(board: Board) -> None:
    feed = board.feed_with(board.rows(1, 20), "grace = 2")
    board.deliver(feed, board.rows(1, 19))
    board.deliver(feed, [*board.rows(1, 19), board.row(None, title="Cook r20")])
    board.deliver(feed, board.rows(1, 19, confidential=True))
    assert board.active() == references(1, 20)
    board.deliver(feed, board.rows(1, 19, autoRefresh=True))
    assert board.active() == references(1, 19)


def title_first(board: Board, first: int, last: int) -> list[str]:
    """Return the lines of a CSV whose ids are in its second column."""
    lines = as_csv(board.rows(first, last)).splitlines(keepends=True)
    return [f"{title},{id},{rest}" for id, title, rest in (line.split(",", 2) for line in lines)]


def test_a_ragged_row_names_a_job_only_if_the_feed_owns_that_job(board: Board) -> None:
    feed = board.feed()
    table = title_first(board, 1, 20)
    assert outcome(board.deliver(feed, "".join(table).encode())) == ("succeeded", None)
    # the row of r20 has too many cells: it names its job, which stays
    own = [*table[:-2], table[-1].rstrip("\n") + ",more,than,columns\n"]
    run = board.deliver(feed, "".join(own).encode())
    assert (outcome(run), board.active()) == (("partial", None), references(1, 18) | {"r20"})
    # a ragged row whose cell is not the id of a job may be the row of any job: that of r18, which is like it
    unknown = [*table[:-3], table[-3].replace(",r18,", ",at large,").rstrip("\n") + ",more\n"]
    run = board.deliver(feed, "".join(unknown).encode())
    assert (outcome(run), board.active()) == (("partial", None), references(1, 18))
    strict = board.feed("max_unnamed = { percent = 0, rows = 1 }")
    board.deliver(strict, "".join(table[:-2]).encode())
    run = board.deliver(strict, "".join(unknown[:-1]).encode() + b"1,Cook\n")
    assert outcome(run) == ("held", "archive")
    assert "1 of 18 rows have no readable referenceId" in reason_of(run)
    assert board.active() == references(1, 18)


def test_a_ragged_row_with_the_id_of_a_job_of_the_api_does_not_name_a_job(board: Board) -> None:
    feed = board.feed("max_unnamed = { percent = 0, rows = 1 }")
    board.put(board.row("theirs", status="active"))
    table = title_first(board, 1, 20)
    board.deliver(feed, "".join(table).encode())
    ragged = [*table[:-1], table[-1].replace(",r20,", ",theirs,").rstrip("\n") + ",more\n"]
    run = board.deliver(feed, "".join(ragged).encode())
    assert outcome(run) == ("held", "archive")
    assert "1 of 20 rows have no readable referenceId" in reason_of(run)


OWN_FIELDS = """[fields]
referenceId = "id"
title = "title"
locations = "locations"
categories = "categories"
positionType = "positionType"
description = "description"
applicantRoutingType = "applicantRoutingType"
applicationEmail = "applicationEmail"
"""


@pytest.mark.parametrize("mapped", [False, True])
def test_the_id_of_a_ragged_row_in_the_first_column_counts_also_for_new_jobs(
    board: Board, mapped: bool
) -> None:
    feed = board.feed("max_rejected = 50\n" + (OWN_FIELDS if mapped else ""))
    table = as_csv(board.rows(1, 120))
    table = table.replace("referenceId", "id", 1) if mapped else table
    header, *rows = table.splitlines(keepends=True)
    ragged = [f"new{n},Cook at large\n" for n in range(18)]
    assert board.deliver(feed, "".join([header, *rows, *ragged]).encode()).counts.rejected == 18
    short = ["r1,Cook\n", *rows[1:-2], *ragged]
    run = board.deliver(feed, "".join([header, *short]).encode())
    assert (outcome(run), run.counts.archived) == (("partial", None), 2)
    assert board.active() == references(1, 118)


# -- the feed's own settings changed -------------------------------------------------------------------------


def test_the_first_run_that_would_archive_after_changed_settings_is_held(board: Board) -> None:
    board.deliver(board.feed(), board.rows(1, 20))
    commented = board.feed("# a comment is not a setting")
    assert outcome(board.deliver(commented, board.rows(1, 19))) == ("succeeded", None)
    changed = board.feed("grace = 1")
    assert outcome(board.deliver(changed, board.rows(1, 19, confidential=True))) == ("succeeded", None)
    run = board.deliver(changed, board.rows(1, 18))
    assert outcome(run) == ("held", "archive")
    assert reason_of(run) == "the feed's settings have changed; 1 of 19 active jobs would be archived (5.3 %)"
    assert board.active() == references(1, 19)
    board.importer.approve(run.id, changed)
    assert board.active() == references(1, 18)
    assert outcome(board.deliver(changed, board.rows(1, 17))) == ("succeeded", None)


def test_changed_settings_hold_each_run_that_would_archive_until_one_is_approved(board: Board) -> None:
    board.deliver(board.feed(), board.rows(1, 20))
    changed = board.feed("grace = 1")
    first = board.deliver(changed, board.rows(1, 19))
    board.importer.reject(first.id)
    second = board.deliver(changed, board.rows(1, 18))
    assert (outcome(first), outcome(second)) == (("held", "archive"), ("held", "archive"))
    back = board.feed()
    assert outcome(board.deliver(back, board.rows(1, 18, confidential=True))) == ("succeeded", None)


def test_only_the_approval_of_a_run_that_would_archive_ends_the_wait_after_changed_settings(
    board: Board,
) -> None:
    board.deliver(board.feed(), board.rows(1, 20))
    changed = board.feed("grace = 1")
    run = board.deliver(changed, board.rows(1, 20, title="Chef"))
    assert outcome(run) == ("held", "all")
    board.importer.approve(run.id, changed)
    run = board.deliver(changed, board.rows(1, 19, title="Chef"))
    assert outcome(run) == ("held", "archive")
    assert reason_of(run).startswith("the feed's settings have changed")


def test_settings_are_compared_with_those_of_a_first_run_whose_rows_went_in_although_it_was_held(
    board: Board,
) -> None:
    board.put(board.row("theirs", status="active"))
    toml = 'owns = "employer"'
    first = board.deliver(board.feed(toml), board.rows(1, 20))
    assert outcome(first) == ("held", "archive")  # the one active job would go
    board.importer.reject(first.id)
    run = board.deliver(board.feed(f"{toml}\ngrace = 1"), board.rows(1, 20))
    assert outcome(run) == ("held", "archive")
    assert reason_of(run).startswith("the feed's settings have changed; 1 of 21 active jobs")


# -- share and count of what would be archived ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "held"),
    [
        (20, 15, False),  # 5 of 20: 25 % is not more than 25 %
        (20, 14, True),  # 6 of 20
        (19, 14, True),  # 5 of 19: 26.3 %, and 5 jobs
        (15, 11, False),  # 4 of 15: 26.7 %, but only 4 jobs
        (5, 1, False),
        (5, 0, True),
        (2, 1, False),
        (1, 0, True),  # all active jobs
    ],
)
def test_a_run_that_would_archive_more_than_a_quarter_and_at_least_five_or_all_is_held(
    board: Board, before: int, after: int, held: bool
) -> None:
    feed = board.feed_with(board.rows(1, before))
    run = board.deliver(feed, [*board.rows(1, after, confidential=True), board.row("new")])
    assert outcome(run) == (("held", "archive") if held else ("succeeded", None))
    assert board.active() == references(1, before if held else after) | {"new"}
    assert run.counts.missing == before - after
    assert run.counts.archived == (0 if held else before - after)
    if held:
        assert f"{before - after} of {before}" in reason_of(run) or f"all {before}" in reason_of(run)
        assert "the limit is 25 % and at least 5" in reason_of(run) or before < 5
    if after:
        assert board.job("r1").confidential


@pytest.mark.parametrize(("seconds", "held"), [(0, True), (1, False)])
def test_archived_jobs_count_for_twenty_four_hours(board: Board, seconds: int, held: bool) -> None:
    feed = board.feed_with(board.rows(1, 20))
    assert outcome(board.deliver(feed, board.rows(1, 15))) == ("succeeded", None)
    board.clock.forward(hours=24, seconds=seconds)
    run = board.deliver(feed, board.rows(1, 14))
    assert outcome(run) == (("held", "archive") if held else ("succeeded", None))
    if held:
        expected = "1 of 15 active jobs would be archived (6.7 %, with the 5 archived in the last 24 hours it is 30 %"
        assert expected in reason_of(run)


def test_jobs_that_are_active_again_or_archived_with_approval_do_not_count(board: Board) -> None:
    feed = board.feed_with(board.rows(1, 20))
    board.deliver(feed, board.rows(1, 15))
    board.deliver(feed, board.rows(1, 20, confidential=True))  # all five are active again
    assert outcome(board.deliver(feed, board.rows(6, 20))) == ("succeeded", None)  # 5 of 20
    board.clock.forward(days=2)
    board.deliver(feed, board.rows(1, 20, autoRefresh=True))
    held = board.deliver(feed, board.rows(1, 10))
    assert outcome(held) == ("held", "archive")
    board.importer.approve(held.id, feed)
    assert outcome(board.deliver(feed, board.rows(1, 8))) == ("succeeded", None)  # 2 of 10


def test_a_feed_may_set_its_own_limits(board: Board) -> None:
    feed = board.feed_with(board.rows(1, 4), "max_archive = { percent = 50, jobs = 2 }")
    assert outcome(board.deliver(feed, board.rows(1, 2))) == ("succeeded", None)
    board.clock.forward(days=2)
    board.deliver(feed, board.rows(1, 4, confidential=True))
    run = board.deliver(feed, board.rows(1, 1))
    assert outcome(run) == ("held", "archive")
    assert "3 of 4 active jobs would be archived (75 %, the limit is 50 % and at least 2)" in reason_of(run)


# -- no records ----------------------------------------------------------------------------------------------


# -- rejected rows -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("good", "bad", "held"),
    [(44, 5, False), (43, 5, True), (43, 6, True), (5, 4, False), (0, 4, False), (0, 5, True)],
)
def test_more_than_a_tenth_and_at_least_five_rejected_rows_hold_everything(
    board: Board, good: int, bad: int, held: bool
) -> None:
    feed = board.feed_with([board.row("old")])
    run = board.deliver(
        feed, [*board.rows(1, good), *board.rows(101, 100 + bad, title=""), board.row("old", title="New")]
    )
    read = good + bad + 1
    assert outcome(run) == (("held", "all") if held else ("partial", None))
    assert run.counts.rejected == bad
    assert board.active() == ({"old"} if held else references(1, good) | {"old"})
    assert board.job("old").title == ("Cook old" if held else "New")
    if held:
        assert reason_of(run).startswith(f"{bad} of {read} rows were rejected")
        assert "the limit is 10 % and at least 5" in reason_of(run)
        assert len(board.rejected(run)) == bad


def test_rows_that_the_store_refuses_count_as_rejected(board: Board) -> None:
    north, south = board.feed(name="north"), board.feed(name="south")
    board.deliver(north, board.rows(1, 6))
    run = board.deliver(south, [*board.rows(1, 6), board.row("s")])
    assert outcome(run) == ("held", "all")
    assert "6 of 7 rows were rejected" in reason_of(run)
    assert "s" not in board.active()


# -- accidents: changed ids, shifted columns, shortened texts, a step back --------------------------------


def rows(first: int, last: int, **fields: Any) -> list[Row]:
    return [Board.row(f"r{n}", **fields) for n in range(first, last + 1)]


def other_ids(last: int, **fields: Any) -> list[Row]:
    return [Board.row(f"x{n}", **{"title": f"Cook r{n}"} | fields) for n in range(1, last + 1)]


def on_page(row: Row, page: object) -> Row:
    """Return the row with the address of a page where one applies."""
    return {**row, "applicantRoutingType": {"id": 2}, "applicationUrl": f"https://example.com/{page}"}


def on_pages(rows: list[Row]) -> list[Row]:
    return [on_page(row, n) for n, row in enumerate(rows)]


ALL, ARCHIVE, FINE, PARTIAL = ("held", "all"), ("held", "archive"), ("succeeded", None), ("partial", None)
PAY = {"amount": 20, "period": {"id": 5}}
NO_LIMIT = "max_archive = { percent = 100, jobs = 100 }"
HALF, MORE = (f"<p><b>{'x' * letters}.</b></p>" for letters in (49, 51))
#: Name -> the settings of a feed, its files in a row, their outcomes, the jobs that are active in the end (None: any), and
#: words of a reason.
FILES_IN_A_ROW: dict[str, tuple[str, list[list[Row]], list[tuple[str, str | None]], set[str] | None, str]] = {
    "the feed's own limit of rows without a reference": (
        "max_unnamed = { percent = 0, rows = 1 }", [rows(1, 20), [*rows(1, 19), Board.row(None, title="Baker")]],
        [FINE, ARCHIVE], None, "1 of 20 rows have no readable referenceId (5 %, the limit is 0 %"),
    "rows without a reference that are like jobs, above the limit": (
        "", [rows(1, 20), [*rows(1, 16), *(Board.row(None, title=f"Cook r{n}") for n in range(17, 21))]],
        [FINE, ARCHIVE], None, "4 of 20 active jobs would be archived"),
    "a row without a reference that has the page of several jobs": (
        "", [[on_page(row, "x") for row in each] for each in (rows(1, 20), [*rows(1, 19), Board.row(None, title="Baker")])],
        [FINE, PARTIAL], references(1, 19), ""),
    "other ids and titles on the same pages": (
        "", [on_pages(rows(1, 8)), on_pages(other_ids(8, title="Chef"))],
        [FINE, ALL], None, "8 are new again under another referenceId"),
    "one page of all jobs": (
        "", [[on_page(row, "careers") for row in each] for each in (rows(1, 12), [*rows(1, 5), *rows(20, 26)])],
        [FINE, ARCHIVE], None, ""),
    "titles in another case without accents": (
        "", [rows(1, 8, title="Préposé à l'entretien"), other_ids(8, title="PREPOSE A L'ENTRETIEN")],
        [FINE, ALL], None, "8 are new again"),
    "the same titles in another place": (
        "", [rows(1, 9), [*other_ids(8, locations=[{"description": "Calgary, AB"}]), *rows(9, 9)]],
        [FINE, ARCHIVE], None, ""),
    "a known record that is applied again": (
        "", [rows(1, 10), [*rows(1, 6, title="Chef"), *rows(7, 10, description="<p>Other.</p>"), *rows(7, 10)]],
        [FINE, ALL], None, "6 of 10 active jobs would get another title"),
    "half of the text": (
        "", [rows(1, 6, description=f"<p>{'x' * 100}</p>"), rows(1, 6, description=HALF)], [FINE, ALL], None, ""),
    "more than half": (
        "", [rows(1, 6, description=f"<p>{'x' * 100}</p>"), rows(1, 6, description=MORE)], [FINE, FINE], None, ""),
    "max_retitled": ("max_retitled = 100", [rows(1, 12), rows(1, 12, title="Chef")], [FINE, FINE], None, ""),
    "max_shrunk": (
        "max_shrunk = 100", [rows(1, 12, description=LONG_TEXT), rows(1, 12, description="<p>x</p>")], [FINE, FINE], None, ""),
    "max_rekeyed": (
        f"max_rekeyed = 100\n{NO_LIMIT}", [rows(1, 12), [*rows(1, 1), *other_ids(12)[1:]]], [FINE, FINE], None, ""),
    "max_emptied": ("max_emptied = 100", [rows(1, 12, salary=PAY), rows(1, 12, salary=None)], [FINE, FINE], None, ""),
    "a field of the service's own shape that is emptied": (
        "", [rows(1, 6, salary=PAY), rows(1, 6, salary=None), rows(1, 5, salary=None)],
        [FINE, ALL, ALL], None, "renamed?): pay (100 %"),
    "a delta": (
        'mode = "delta"', [rows(1, 10), rows(1, 1, title="Chef"), []], [FINE, FINE, FINE], references(1, 10), ""),
    "corrected rows": (
        "", [rows(1, 10), rows(1, 1, title="Chef", syncd_errors="x") + rows(99, 99, title="", syncd_errors="x")],
        [FINE, PARTIAL], references(1, 10), ""),
    "jobs that the dates of their rows archived count for a day": (
        "", [rows(1, 20), [*rows(1, 15), *rows(16, 20, closeDate="2026-11-15")], rows(1, 14)],
        [FINE, FINE, ARCHIVE], references(1, 15), "1 of 15 active jobs would be archived (6.7 %, with the 5 archived"),
    "a small feed and small steps": (  # 4 of 6, 5 of 6
        "", [rows(1, 6), rows(1, 2), rows(1, 1), rows(9, 9)], [FINE, FINE, ARCHIVE, ARCHIVE], {"r1", "r2", "r9"}, ""),
    "jobs that grace spares do not count": (
        "grace = 2", [rows(1, 10), rows(1, 2), rows(1, 2, confidential=True)], [FINE, FINE, ARCHIVE], references(1, 10), ""),
    "a file that is not applied does not end the grace of a job": (
        "grace = 2", [rows(1, 13), rows(1, 12), [*rows(1, 12, title="Chef"), *rows(13, 13)], rows(1, 12, confidential=True)],
        [FINE, FINE, ALL, FINE], references(1, 12), ""),
    "a rejected row ends the grace of its job although the run is held": (
        "grace = 2", [rows(1, 13), rows(1, 4), [*rows(1, 4), *rows(13, 13, title="")], rows(1, 12, confidential=True)],
        [FINE, FINE, ARCHIVE, FINE], references(1, 13), ""),
    "an empty delta that comes again is not a step back": (
        'mode = "delta"', [[], rows(1, 2), []], [FINE, FINE, FINE], references(1, 2), ""),
    "an empty file that comes again while there are jobs": (
        "", [[], rows(1, 2), []], [FINE, FINE, ("held", "all")], references(1, 2), ""),
    "a file of which no row went in makes no older file a step back": (
        'mode = "delta"', [rows(1, 9), rows(1, 4, title=""), rows(1, 9)], [FINE, PARTIAL, FINE], references(1, 9), ""),
    "jobs that the file itself makes and archives": (
        "", [[Board.row(f"r{n}", status=status) for n in range(6) for status in ("active", "archived")]], [FINE], set(), ""),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES_IN_A_ROW)
def test_files_in_a_row_are_judged(board: Board, name: str) -> None:
    toml, files, outcomes, active, words = FILES_IN_A_ROW[name]
    feed = board.feed(toml)
    delivered = [board.deliver(feed, file) for file in files]
    assert [outcome(run) for run in delivered] == outcomes
    assert active in (None, board.active())
    assert any(words in (run.reason or "") for run in delivered)


@pytest.mark.parametrize(
    ("number", "changed", "held"), [(10, 5, False), (10, 6, True), (9, 5, True), (7, 4, False)]
)
@pytest.mark.parametrize("accident", ["retitled", "shortened"])
def test_shifted_columns_and_shortened_texts_hold_everything(
    board: Board, accident: str, number: int, changed: int, held: bool
) -> None:
    feed = board.feed_with(board.rows(1, number, description=LONG_TEXT))
    change = {"title": "Montréal, QC"} if accident == "retitled" else {"description": "<p>We look for</p>"}
    broken = board.rows(1, changed, **{"description": LONG_TEXT} | change)
    run = board.deliver(feed, [*broken, *board.rows(changed + 1, number, description=LONG_TEXT)])
    assert outcome(run) == (("held", "all") if held else ("succeeded", None))
    assert (board.job("r1").title == "Cook r1" and board.job("r1").description == LONG_TEXT) == held
    if held:
        expected = "would get another title" if accident == "retitled" else "would lose half of their text"
        assert reason_of(run).startswith(f"{changed} of {number} ")
        assert expected in reason_of(run)
        assert "the limit is 50 % and at least 5" in reason_of(run)


def test_only_titles_of_active_jobs_count(board: Board) -> None:
    feed = board.feed_with(board.rows(1, 10))
    for n in range(1, 6):
        board.put({"referenceId": f"r{n}", "status": "archived"})
    run = board.deliver(feed, board.rows(1, 10, title="Chef"))
    assert "5 of 5 active jobs would get another title" in reason_of(run)


MAPPED = """
    [fields]
    referenceId = "id"
    title = "title"
    locations = "place"
    categories = { from = "group", default = "Other" }
    positionType = ["type", { value = "Full Time" }]
    salary = { text = "pay" }
    description = "text"
    applicationUrl = "link"
    applicantRoutingType = { prefer = ["applicationUrl"] }
"""
#: A value of each kind that the guard looks at, by the name of its column.
VALUES = {
    "group": "Engineering",
    "type": "Full Time",  # as the constant of the mapping
    "pay": "$21.50/hr",
    "text": "Cooks food daily.",
    "link": "https://acme.example/jobs/1",
}


def mapped(first: int, last: int, form: str = "json", **columns: str | None) -> bytes:
    """Return a file of these rows. ``columns``: the column's new name; None: the column is gone."""
    rows = [
        {"id": f"r{n}", "title": f"Cook {n}", "place": "Toronto, ON", **VALUES}
        for n in range(first, last + 1)
    ]
    named = [{columns.get(name, name): value for name, value in row.items()} for row in rows]
    rows = [{name: value for name, value in row.items() if name is not None} for row in named]
    return dump(form, rows)


@pytest.mark.parametrize("form", ["csv", "xml", "json"])
def test_a_required_column_that_is_renamed_is_named_once_with_the_line_to_paste(
    board: Board, form: str
) -> None:
    feed = board.feed(MAPPED)
    board.deliver(feed, mapped(1, 8, form))
    new = "long" if form == "xml" else "Long Text"
    renamed = mapped(1, 8, form, text=new)
    for _ in range(2):  # as long as the file is not used
        run = board.deliver(feed, renamed)
        assert outcome(run) == ("held", "all")
        shape = not_none(run.shape)
        assert (shape.gone, shape.new) == (("text",), (new,))
        noun = {"csv": "column", "xml": "element", "json": "member"}[form]
        assert shape.lines == (f'description = "{new}"',)
        assert reason_of(run).startswith(
            f"the file has no {noun} `text` any more; new in it: `{new}`; [fields] with the new names:"
            f' description = "{new}"; 8 of 8 rows were rejected'
        )
        assert "would lose" not in reason_of(run)
        assert not board.warnings(run)
    pasted = board.feed(MAPPED.replace('description = "text"', shape.lines[0]))
    assert outcome(board.deliver(pasted, renamed)) == ("succeeded", None)


@pytest.mark.parametrize("form", ["csv", "xml", "json"])
@pytest.mark.parametrize("name", ["internalOnly", "salaryCurrency", "country"])
def test_a_new_column_that_may_say_what_is_not_live_is_named(board: Board, name: str, form: str) -> None:
    feed = board.feed(MAPPED)
    rows = json.loads(mapped(1, 8))
    board.deliver(feed, dump(form, rows))
    later = [row | {name: "no", "bonus": "none"} for row in rows]
    run = board.deliver(feed, dump(form, later))
    assert outcome(run) == ("succeeded", None)
    noun = {"csv": "column", "xml": "element", "json": "member"}[form]
    assert reason_of(run) == (
        f"the file has the new {noun} `{name}`, which the feed's file does not use,"
        " and which may say that jobs are closed, not public, abroad, or paid in other money"
    )
    later = [row | {"title": f"{row['title']} A"} if row["id"] == "r1" else row for row in later]
    assert board.deliver(feed, dump(form, later)).reason is None


def test_a_line_to_paste_keeps_all_but_the_selectors_that_look_at_nothing(board: Board) -> None:
    lines = {
        'locations = "place"': 'locations = [{ template = "{place}, {site}" }, { from = "place" }]',
        'categories = { from = "group"': 'categories = { from = ["group", "nothing"], split = ";"',
        'salary = { text = "pay" }': 'salary = { amount = "low", text = "pay" }',
    }
    toml = MAPPED
    for old, new in lines.items():
        toml = toml.replace(old, new)
    feed = board.feed(toml)
    board.deliver(feed, mapped(1, 12, "csv", type="kind"))
    run = board.deliver(feed, mapped(1, 12, "csv", place="where", group="team", pay="wage", type="kind"))
    assert run.shape is not None
    assert run.shape.lines == (
        'locations = [{ template = "{where}, {site}" }, { from = "where" }]',
        'categories = { from = ["team"], split = ";", default = "Other" }',
        'salary = { text = "wage" }',
    )


def test_a_name_is_not_gone_while_one_of_its_alternatives_is_there(board: Board) -> None:
    feed = board.feed(MAPPED.replace('text = "pay"', 'text = ["wage", "pay"]'))
    both = [row | {"wage": row["pay"]} for row in json.loads(mapped(1, 8))]
    for content in (both, mapped(1, 9), mapped(1, 9, pay="wage")):
        assert board.deliver(feed, content).shape is None
    assert board.deliver(feed, mapped(1, 9, pay=None)).shape is not None


@pytest.mark.parametrize("form", ["csv", "xml", "json"])
def test_a_name_that_the_mapping_does_not_use_or_that_some_records_still_have_is_not_gone(
    board: Board, form: str
) -> None:
    feed = board.feed(MAPPED.replace('salary = { text = "pay" }', ""))
    board.deliver(feed, mapped(1, 12, form))
    assert board.deliver(feed, mapped(1, 13, form, pay=None)).shape is None
    if form == "json":
        rows = [*json.loads(mapped(1, 12, pay="x", link=None)), *json.loads(mapped(13, 13, pay="x"))]
        assert board.deliver(feed, rows).shape is None


def test_the_share_of_emptied_rows_is_that_of_all_rows_whose_jobs_were_named_before(board: Board) -> None:
    feed = board.feed(MAPPED)
    board.deliver(feed, mapped(1, 12))
    whole, without = json.loads(mapped(1, 12)), json.loads(mapped(1, 12, pay=None))
    # known rows count as they did, new rows do not count
    assert outcome(
        board.deliver(feed, [*without[:6], *whole[6:], *json.loads(mapped(13, 40, pay=None))])
    ) == (
        "succeeded",
        None,
    )
    board.deliver(feed, [*whole, *json.loads(mapped(13, 40, pay=None))])
    archive_all = "max_archive = { percent = 100, jobs = 100 }"
    feed = board.feed(archive_all + MAPPED)
    run = board.deliver(feed, [*without[:7], *whole[7:]])
    assert outcome(run) == ("held", "all")
    assert "7 of 12 rows" in reason_of(run)


def test_a_value_that_the_feeds_file_makes_otherwise_than_before_is_not_emptied(board: Board) -> None:
    feed = board.feed(MAPPED)
    board.deliver(feed, mapped(1, 12))
    feed = board.feed(MAPPED.replace('salary = { text = "pay" }', ""))
    assert outcome(board.deliver(feed, mapped(1, 12, type=None))) == ("held", "all")
    assert outcome(board.deliver(feed, mapped(1, 12))) == ("succeeded", None)
    feed = board.feed(MAPPED.replace('["type", { value', '["kind", { value'))
    assert outcome(board.deliver(feed, mapped(1, 12, type=None))) == ("succeeded", None)


def test_a_hold_on_everything_gives_all_its_reasons_and_no_reason_of_the_archiving(board: Board) -> None:
    feed = board.feed_with(board.rows(1, 20, description=LONG_TEXT))
    run = board.deliver(
        feed, [*board.rows(1, 9, title="Chef", description="<p>x</p>"), *board.rows(30, 40, title="")]
    )
    assert outcome(run) == ("held", "all")
    for words in ("rows were rejected", "would get another title", "would lose half of their text"):
        assert words in reason_of(run)
    assert "archived" not in reason_of(run)
    assert json.loads(json.dumps(reason_of(run))) == reason_of(run)
    assert "\n" not in reason_of(run)


def test_the_bytes_of_the_last_delta_file_are_read_when_the_feed_has_become_a_snapshot(board: Board) -> None:
    delta = board.feed('mode = "delta"')
    board.deliver(delta, board.rows(1, 20))
    board.deliver(delta, board.rows(1, 19))
    assert board.deliver(delta, board.rows(1, 19)).state == "unchanged"
    run = board.deliver(board.feed('mode = "snapshot"'), board.rows(1, 19))
    assert outcome(run) == ("held", "archive")
    assert reason_of(run).startswith("the feed's settings have changed; 1 of 20 active jobs")


@pytest.mark.parametrize(("number", "warned"), [(50, True), (49, False), (60, False), (100, True)])
def test_three_files_of_one_round_number_are_perhaps_cut(board: Board, number: int, warned: bool) -> None:
    feed = board.feed_with(board.rows(1, number + 2), "max_archive = { percent = 100, jobs = 1000 }")
    codes = []
    for shift in (0, 1, 2, 2, 3):
        run = board.deliver(feed, board.rows(1 + shift, number + shift))
        codes.append([warning.code for warning in board.warnings(run)])
    assert codes == [[], [], ["round_count"] if warned else [], [], ["round_count"] if warned else []]
    grown = board.deliver(feed, board.rows(1, number + 3))
    assert (grown.counts.read, board.warnings(grown)) == (number + 3, [])


def own(first: int, last: int, **same: str) -> bytes:
    """Return a file of rows that have a text and an address of their own, but for these values."""
    each = [
        {"text": f"Cooks dish {n} of the day.", "link": f"https://acme.example/jobs/{n}", **same}
        for n in range(first, last + 1)
    ]
    rows = json.loads(mapped(first, last))
    return dump("json", [row | mine for row, mine in zip(rows, each, strict=True)])


MIXED = {
    "place": ["Toronto, ON", "Halifax, NS", "Montréal, QC"], "group": ["Legal", "Retail", "Engineering"],
    "type": ["Full Time", "Part Time", "Contract"], "pay": ["$20 / hour", "$21 / hour", "$22 / hour", "$23 / hour"],
}  # fmt: skip


def mixed(column: str, *shifts: int) -> bytes:
    """Return a file of 12 jobs whose values of a column are those of MIXED, moved by one shift for each third of the rows."""
    rows = json.loads(own(1, 12))
    for n, row in enumerate(rows):
        row[column] = MIXED[column][(n + shifts[n % len(shifts)]) % len(MIXED[column])]
    return dump("json", rows)


def test_one_value_for_fewer_jobs_than_the_limit_is_a_warning(board: Board) -> None:
    feed = board.feed(MAPPED)
    rows = json.loads(own(1, 12))
    board.deliver(
        feed, dump("json", [row | {"type": "Part Time"} if n < 5 else row for n, row in enumerate(rows)])
    )
    run = board.deliver(feed, own(1, 12))
    assert outcome(run) == ("succeeded", None)
    assert [(w.code, w.detail) for w in board.warnings(run)] == [
        ("uniform", "5 of 12 active jobs get one and the same position type")
    ]


def test_one_value_for_many_edited_jobs_is_no_fault_of_a_delta_but_for_texts(board: Board) -> None:
    feed = board.feed('mode = "delta"' + MAPPED)
    board.deliver(feed, mixed("group", 0))
    assert outcome(board.deliver(feed, own(1, 12, group="Legal"))) == ("succeeded", None)
    assert outcome(board.deliver(feed, own(1, 12, group="Legal", pay="$21.50/day"))) == ("succeeded", None)
    run = board.deliver(feed, own(1, 12, link="https://acme.example/"))
    assert outcome(run) == ("held", "all")


@pytest.mark.parametrize("one", ["mailto:jobs@acme.example", "https://acme.example/?visit={n}"])
def test_pages_that_become_one_mailbox_or_one_page_hold_everything(board: Board, one: str) -> None:
    feed = board.feed(
        MAPPED.replace('["applicationUrl"]', '["applicationUrl", "applicationEmail"]').replace(
            'applicationUrl = "link"', 'applicationUrl = "link"\napplicationEmail = "mail"'
        )
    )
    board.deliver(feed, own(1, 12))
    rows = [row | {"link": one.format(n=n)} for n, row in enumerate(json.loads(own(1, 12)))]
    run = board.deliver(feed, dump("json", rows))
    assert outcome(run) == ("held", "all")
    assert "12 of 12 active jobs would get one and the same address to apply at" in reason_of(run)


@pytest.mark.parametrize("pay", ["$21.50/day", "$215.00/hr", "$2.15/hr"])
@pytest.mark.parametrize(("number", "state"), [(5, "held"), (4, "succeeded")])
def test_pay_that_keeps_its_digits_and_gets_another_unit_or_decimal_point_holds_everything(
    board: Board, number: int, state: str, pay: str
) -> None:
    feed = board.feed(MAPPED)
    board.deliver(feed, own(1, 12))
    rows = json.loads(own(1, 12))
    run = board.deliver(
        feed, dump("json", [row | {"pay": pay} if n < number else row for n, row in enumerate(rows)])
    )
    assert run.state == state
    words = "5 of 12 active jobs would keep the digits of their pay and get another unit or decimal point"
    assert (words in (run.reason or "")) == (number == 5)


@pytest.mark.parametrize(
    ("column", "old", "new", "words"),
    [
        ("group", MIXED["group"], ["Healthcare", "Accounting", "Security"], "another category (a code that means"),
        ("type", ["Full Time", "Part Time"], ["Contract", "Temp"], "another position type"),
        ("place", MIXED["place"], ["Acme Ltd., ON", "Nova Ltd., NS"], "a place that is not known"),
        ("group", MIXED["group"][:2], ["Healthcare", "Accounting", "Security"], ""),  # two may become three
    ],
)  # fmt: skip
@pytest.mark.parametrize("first", [12, 5])
def test_other_labels_and_places_that_nobody_knows_hold_everything(
    board: Board, *, column: str, old: list[str], new: list[str], words: str, first: int
) -> None:
    feed = board.feed(MAPPED)
    rows = json.loads(own(1, 12))
    for n, row in enumerate(rows):
        row[column] = old[n % len(old)]
    board.deliver(feed, dump("json", rows))
    for n, row in enumerate(rows[:first]):
        row[column] = new[n % len(new)]
    run = board.deliver(feed, dump("json", rows))
    held = bool(words) and first == 12
    assert outcome(run) == (("held", "all") if held else ("succeeded", None))
    assert (f"12 of 12 active jobs would get {words}" in (run.reason or "")) == held


@pytest.mark.parametrize(("factor", "held"), [(2, True), (1 / 12, True), (1.5, False), (0.7, False)])
@pytest.mark.parametrize("number", [7, 6])
def test_pay_that_becomes_far_less_or_far_more_holds_everything(
    board: Board, number: int, factor: float, *, held: bool
) -> None:
    feed = board.feed(MAPPED)
    rows = [row | {"pay": f"${60000 + 500 * n} per year"} for n, row in enumerate(json.loads(own(1, 12)))]
    board.deliver(feed, dump("json", rows))
    for n, row in enumerate(rows[:number]):
        row["pay"] = f"${(60000 + 500 * n) * factor:.2f} per year"
    run = board.deliver(feed, dump("json", rows))
    words = "7 of 12 active jobs would have less than 60 % or more than 160 % of their pay (58.3 %"
    assert (words in (run.reason or "")) == (run.state == "held") == (held and number == 7)


@pytest.mark.parametrize("pay", ["$21.50/hr", "$25.00/hr"])
@pytest.mark.parametrize("number", [7, 6])
def test_one_amount_of_pay_in_place_of_two_holds_everything(board: Board, number: int, pay: str) -> None:
    feed = board.feed(MAPPED)
    rows = [row | {"pay": "$21.50 - $25.00/hr"} for row in json.loads(own(1, 12))]
    board.deliver(feed, dump("json", rows))
    run = board.deliver(
        feed, dump("json", [row | {"pay": pay} if n < number else row for n, row in enumerate(rows)])
    )
    words = "7 of 12 active jobs would have one amount of pay in place of two (58.3 %"
    assert (words in (run.reason or "")) == (run.state == "held") == (number == 7)


DATED = MAPPED + '    closeDate = "until"\n'


def dated(day: Callable[[int], str]) -> bytes:
    """Return a file of 12 jobs. ``day``: of each, the close date."""
    return dump("json", [row | {"until": day(n)} for n, row in enumerate(json.loads(own(1, 12)))])


@pytest.mark.parametrize(
    ("day", "words"),
    [
        (lambda n: f"2027-01-{(n + 5) % 12 + 10}", "the close date of another job"),
        (lambda n: f"2027-01-{21 - n}", "the close date of another job"),
        (lambda n: f"2027-01-{n + 9:02}", "a close date a day earlier, or the same of another year"),
        (lambda n: f"2028-01-{n + 10}", "a close date a day earlier, or the same of another year"),
        (lambda n: f"2027-01-{n + 11}", ""),  # as of a feed whose dates are each 30 days ahead
        (lambda n: f"2027-02-{n + 10}", ""),
        (lambda n: "2027-03-31", ""),
        (lambda n: f"2027-01-{n + (9 if n < 6 else 10):02}", ""),
    ],
)  # fmt: skip
def test_close_dates_of_other_jobs_or_of_another_year_hold_everything(
    board: Board, day: Callable[[int], str], words: str
) -> None:
    feed = board.feed(DATED)
    board.deliver(feed, dated(lambda n: f"2027-01-{n + 10}"))
    run = board.deliver(feed, dated(day))
    assert outcome(run) == (("held", "all") if words else ("succeeded", None))
    assert words in (run.reason or "")


def test_close_dates_whose_day_and_month_change_places_hold_everything(board: Board) -> None:
    feed = board.feed(DATED)
    board.deliver(feed, dated(lambda n: f"2027-{n % 3 + 1:02}-{n % 9 + 4:02}"))
    run = board.deliver(feed, dated(lambda n: f"2027-{n % 9 + 4:02}-{n % 3 + 1:02}"))
    assert outcome(run) == ("held", "all")
    assert "with day and month swapped" in reason_of(run)


def test_an_employer_may_have_all_jobs_close_a_day_earlier(board: Board) -> None:
    feed = board.feed(DATED)
    for content in (dated(lambda n: f"2027-0{n % 2 + 1}-11"), dated(lambda n: f"2027-0{n % 2 + 1}-10")):
        assert outcome(board.deliver(feed, content)) == ("succeeded", None)


@pytest.mark.parametrize("cut", [4, 6])
def test_texts_that_are_cut_in_fewer_rows_than_the_limit_are_a_warning(board: Board, cut: int) -> None:
    feed = board.feed_with(board.rows(1, 18, description=LONG_TEXT))
    short = board.rows(1, cut, description=LONG_TEXT[: len(LONG_TEXT) // 3])
    run = board.deliver(feed, [*short, *board.rows(cut + 1, 18, description=LONG_TEXT)])
    assert outcome(run) == ("succeeded", None)
    assert [warning.code for warning in board.warnings(run)] == (["shrunk"] if cut > 4 else [])


@pytest.mark.parametrize("form", ["csv", "json", "xml"])
@pytest.mark.parametrize(
    ("hidden", "after", "words"),
    [
        (6, lambda n: None, "6 of 20 active jobs would be confidential no longer"),
        (6, lambda n: "yes" if n >= 6 else "no", "6 of 20 active jobs would be confidential no longer"),
        (3, lambda n: None, ""),
        (6, lambda n: "oui" if n < 6 else "", None),
    ],
)
def test_jobs_that_would_be_confidential_no_longer_hold_everything(
    board: Board, form: str, hidden: int, after: Callable[[int], str | None], words: str | None
) -> None:
    rows = json.loads(own(1, 20))
    before = [row | {"hidden": "X" if n < hidden else ""} for n, row in enumerate(rows)]
    feed = board.feed(MAPPED + '    confidential = "hidden"\n')
    assert outcome(board.deliver(feed, dump(form, before))) == ("succeeded", None)
    run = board.deliver(feed, dump(form, [row | {"hidden": after(n)} for n, row in enumerate(rows)]))
    assert outcome(run) == (("held", "all") if words else ("succeeded", None))
    assert (words or "") in (run.reason or "")
    assert [warning.code for warning in board.warnings(run)] == (["revealed"] if words == "" else [])


def test_values_that_fewer_rows_than_the_limit_lose_are_a_warning(board: Board) -> None:
    feed = board.feed(MAPPED)
    board.deliver(feed, own(1, 12))
    rows = [row | {"pay": None} if n < 5 else row for n, row in enumerate(json.loads(own(1, 12)))]
    run = board.deliver(feed, dump("json", rows))
    assert outcome(run) == ("succeeded", None)
    assert [(w.code, w.detail) for w in board.warnings(run)] == [
        ("emptied", "5 of 12 rows have lost a value that they had: pay")
    ]


ACCENTS = "<p>Un poste d’été à Montréal.</p><p>Repas nº {} inclus.</p><p>Où? Près du métro — c’est idéal!</p>"


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda text: re.sub("[à-ü]", "", text), "texts with accents would lose these"),
        (lambda text: re.sub("[à-ü]", "?", text), "texts with accents would lose these"),
        (lambda text: text.replace("é", "Ž").replace("à", "ˆ"), "texts with accents would lose these"),
        (lambda text: re.sub("<[^>]*>", "", text), "or their paragraphs, or end"),
        (lambda text: text.replace("’", "'").replace("—", "-"), ""),
        (lambda text: text.replace("été", "hiver"), ""),
        (lambda text: f"<b>Prime!</b> {text}", ""),
    ],
)  # fmt: skip
def test_texts_that_lose_their_accents_or_paragraphs_hold_everything(
    board: Board, spoil: Callable[[str], str], words: str
) -> None:
    feed = board.feed(MAPPED)
    rows = json.loads(own(1, 12))
    texts = [ACCENTS.format(n) if n < 9 else "Cooks food daily." for n in range(12)]
    before = [row | {"text": text} for row, text in zip(rows, texts, strict=True)]
    board.deliver(feed, dump("json", before))
    run = board.deliver(feed, dump("json", [row | {"text": spoil(row["text"])} for row in before]))
    assert outcome(run) == (("held", "all") if words else ("succeeded", None))
    assert words in (run.reason or "")
    if words:  # and the way back is free
        assert outcome(board.deliver(feed, dump("json", before[1:]))) == ("succeeded", None)


def test_one_value_is_no_fault_where_few_jobs_had_others_or_the_mapping_gives_it(
    board: Board,
) -> None:
    few, one = board.feed(MAPPED, name="few"), "https://acme.example/"
    board.deliver(few, own(101, 104))
    assert outcome(board.deliver(few, own(101, 104, link=one))) == ("succeeded", None)
    board.deliver(few, own(101, 112))
    changed = board.feed(MAPPED.replace('"link"', f'{{ value = "{one}" }}'), name="few")
    assert outcome(board.deliver(changed, own(101, 112))) == ("succeeded", None)


@pytest.mark.parametrize(("active", "new", "held"), [(5, 5, "all"), (4, 5, "archive"), (5, 4, "archive")])
def test_a_file_with_none_of_the_jobs_and_as_many_new_ones_is_that_of_another_feed(
    board: Board, active: int, new: int, held: str
) -> None:
    feed = board.feed(MAPPED)
    board.deliver(feed, own(1, active))
    others = [row | {"title": f"Nurse {row['id']}"} for row in json.loads(own(101, 100 + new))]
    run = board.deliver(feed, dump("json", others))
    assert outcome(run) == ("held", held)
    assert ("is it the file of another feed?" in reason_of(run)) == (held == "all")
    assert len(board.active()) == active + (0 if held == "all" else new)


def test_damaged_texts_that_are_live_do_not_hold_a_file_that_changes_something_else(board: Board) -> None:
    def rows(**fields: object) -> list[dict[str, object]]:
        return [board.row(f"r{n}", title=f"DÃ©veloppeur {n}", **fields) for n in range(1, 9)]

    feed = board.feed()
    run = board.deliver(feed, rows())
    assert outcome(run) == ("held", "all")
    board.importer.approve(run.id, feed)
    assert outcome(board.deliver(feed, rows(closeDate="2026-12-31"))) == ("succeeded", None)
