"""Rows that a feed's file leaves out, with files that the importer runs (docs/feeds.md "Rows to leave out")."""

from typing import Any

import pytest

from syncd.domain import Run
from syncd.errors import ConfigError
from syncd.sync.report.files import written_reports
from tests.sync.board import Board, content, counted_rows, not_none, report
from tests.sync.histories.forms import dump
from tests.sync.native_files import as_csv, as_xml

MAPPED = """
[fields]
referenceId = "id"
title = "title"
description = "text"
locations = { value = "Laval, QC" }
categories = { value = "Other" }
positionType = { value = "Full Time" }
applicationEmail = { value = "jobs@example.com" }
applicantRoutingType = { prefer = ["applicationEmail"] }
"""


def record(reference: str, **beside: Any) -> dict[str, Any]:
    text = "<p>We look for somebody who cooks well and likes to do so every day.</p>"
    return {"id": reference, "title": f"Cook {reference}", "text": text, **beside}


def filtered(board: Board, run: Run) -> list[tuple[str, int]]:
    """Return the rules of a report with their counts, which have to add up to the count of the run."""
    found = report(board.store, run.id)["filteredBy"]
    assert sum(entry["rows"] for entry in found) == run.counts.filtered
    assert counted_rows(run.counts) == run.counts.read
    return [(entry["rule"], entry["rows"]) for entry in found]


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ('only = { country = ["CA", "Canada"] }', "abc"),
        ('only = { country = "ca*" }', "abc"),
        ('only = [{ country = "canada" }, { status = "OPEN" }]', "abc"),
        ('only = { country = "ca*", status = "open" }', "a"),
        ('skip = { status = "closed" }', "abde"),
        ('skip = [{ status = "fermé" }, { type = ["internal*", "unposted"] }]', "acd"),
        ('skip = { status = "open", country = "us" }', "abcde"),
        ('only = { country = "can*" }\nskip = { type = "Internal*" }', "c"),
        ('skip = { type = "internal*" }', "acde"),
        ('skip = { "note.kind" = "x" }', "abcd"),
        ('skip = { filled = "{seats}" }', "abce"),
        ('skip = { filled = ["{seats}", "1"] }', "abe"),
    ],
)
def test_what_only_does_not_name_and_what_skip_names_is_left_out(board, rows, kept):
    feed = board.feed(f"[rows]\n{rows}\n{MAPPED}")
    run = board.deliver(
        feed,
        [
            record("a", country=" CA ", status="Open"),
            record("b", country="Canada", type="INTERNAL only"),
            record("c", country="CANADA", status="Closed", filled="1", seats=2),
            record("d", country="US", filled=3, seats="3"),
            record("e", status="Fermé", type=["Posted", "unposted"], note={"kind": "x"}),
        ],
    )
    assert board.active() == set(kept)
    assert (run.state, run.counts.rejected, run.counts.read) == ("succeeded", 0, 5)
    assert run.counts.filtered == 5 - len(kept)


def marked(mark: Any, *, last: int = 12, internal: Any = "internal") -> list[dict[str, Any]]:
    """Return records of which each fourth is ``internal``, the others have this ``mark``."""
    records = [record(f"r{n}", kind=mark if n % 4 else internal, text2=None) for n in range(last)]
    return [{name: value for name, value in each.items() if value is not ...} for each in records]


@pytest.mark.parametrize("form", ["csv", "json", "xml"])
@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            marked("external"),
            marked(..., internal=...),
            "any more; 9 of 9 rows would lose a value that they had",
        ),
        (marked("external"), marked(None, internal=None), "9 of 9 rows would lose a value that they had"),
        (marked(None), marked(..., internal=...), "any more; 9 of 9 rows would lose a value that they had"),
        (
            marked("ext", last=20),
            marked("E", last=20, internal="I"),
            "left 5 rows out of the last file, and none",
        ),
        (
            marked(None, last=20),
            marked(None, last=20, internal=None),
            "left 5 rows out of the last file, and none",
        ),
        (marked("external"), marked("public"), None),
        (marked("external"), [r for r in marked("external", last=16) if r["kind"] != "internal"], None),
    ],
)
def test_marks_of_rows_that_are_gone_or_others_hold_everything(board, form, before, after, words):
    feed = board.feed('[rows]\nskip = { kind = "internal" }\n' + MAPPED)
    assert board.deliver(feed, dump(form, before)).state == "succeeded"
    live = board.active()
    run = board.deliver(feed, dump(form, after))
    assert run.state == ("held" if words else "succeeded"), run.reason
    assert (words or "") in (run.reason or "")
    assert live <= board.active() if words is None else live == board.active()
    if words:  # once that is approved, the next file is like it
        board.importer.approve(run.id, feed)
        assert board.deliver(feed, dump(form, [*after, after[1] | {"id": "new"}])).state == "succeeded"


@pytest.mark.parametrize("blank", [3, 5])
def test_rows_without_a_mark_that_all_others_have_make_no_jobs_live(board, blank):
    feed = board.feed('[rows]\nskip = { kind = "internal" }\n' + MAPPED)
    before = marked("external", last=24)
    board.deliver(feed, before)
    after = [row | {"kind": None} if n % 4 == 0 and n // 4 < blank else row for n, row in enumerate(before)]
    run = board.deliver(feed, after)
    assert run.state == ("held" if blank == 5 else "succeeded"), run.reason
    if blank == 5:
        assert "5 rows have no mark of [rows]" in run.reason
    else:
        assert [warning.code for warning in board.warnings(run)] == ["no_status"]


@pytest.mark.parametrize("form", ["json", "xml", "csv"])
@pytest.mark.parametrize("inside", [0, 2])
def test_one_of_several_columns_of_a_status_that_is_gone_makes_no_jobs_live(board, form, inside):
    status = 'status = { all = ["state", "internalOnly"], lookup = "status" }\n[lookup.status]\n'
    feed = board.feed(MAPPED + status)
    flags = ["yes"] * inside + ["no"] * 8
    before = [record(f"r{n}", state="open", internalOnly=flag) for n, flag in enumerate(flags)]
    board.deliver(feed, dump(form, before))
    live = board.active()
    after = [{name: text for name, text in row.items() if name != "internalOnly"} for row in before]
    run = board.deliver(feed, dump(form, after))
    assert run.state == ("held" if inside else "succeeded"), run.reason
    assert ("8 of 8 rows would lose a value that they had" in (run.reason or "")) == bool(inside)
    assert board.active() == live
    if inside:
        board.importer.approve(run.id, feed)
        assert board.deliver(feed, dump(form, [*after, record("new", state="open")])).state == "succeeded"


def test_a_prefix_matches_its_own_text_and_ignores_case_and_accents(board):
    board.feed_with(
        [record("a", type="ETE"), record("b", type="Été 2026"), record("c", type="et")],
        '[rows]\nskip = { type = "été*" }\n' + MAPPED,
    )
    assert board.active() == {"c"}


def test_left_out_rows_are_counted_by_rule_in_the_report_and_on_the_page(board):
    feed = board.feed('[rows]\nonly = { country = "CA" }\nskip = [{ status = ["closed", "x"] }]\n' + MAPPED)
    records = [record("a", country="CA"), record("b", country="CA", status="x")]
    run = board.deliver(feed, [*records, record("c", country="US"), record("d"), {"country": "US"}])
    rules = [("skip status = closed | x", 1), ("only country = CA", 3)]
    assert filtered(board, run) == rules
    assert board.rejected(run) == []
    page = content(written_reports(board.store, run.id)[".report.html"]).decode()
    assert "<b>4</b>not for this board" in page
    for rule, _ in rules:
        assert rule not in page  # it is the operator's


def test_a_job_whose_row_is_left_out_from_now_on_is_missing_and_the_run_is_held(board):
    before = board.feed(MAPPED)
    records = [record(f"r{n}", status="open") for n in range(9)]
    board.deliver(before, records)
    after = board.feed('[rows]\nskip = { id = "r1" }\n' + MAPPED)
    run = board.deliver(after, records)
    assert (run.state, run.holds, run.counts.missing, run.counts.filtered) == ("held", "archive", 1, 1)
    assert "settings have changed" in not_none(run.reason)
    assert board.importer.approve(run.id, after).counts.archived == 1
    assert board.statuses()["r1"] == "archived"
    assert filtered(board, board.saved(run.id)) == [("skip id = r1", 1)]


def test_a_file_of_which_all_is_left_out_is_held_and_says_so(board):
    feed = board.feed_with(
        [record(f"r{n}", status="open") for n in range(6)], '[rows]\nonly = { status = "open" }\n' + MAPPED
    )
    run = board.deliver(feed, [record(f"r{n}", status="closed") for n in range(6)])
    assert (run.state, run.holds) == ("held", "archive")
    assert "[rows] leaves all of the file's records out" in not_none(run.reason)


def test_rejected_rows_are_measured_against_those_that_are_not_left_out(board):
    feed = board.feed('[rows]\nskip = { status = "closed" }\n' + MAPPED)
    closed = [record(f"x{n}", status="closed") for n in range(60)]
    bad = [record(f"b{n}") | {"title": ""} for n in range(5)]
    run = board.deliver(feed, [*closed, *bad, record("good")])
    assert (run.state, run.holds) == ("held", "all")
    assert "5 of 6 rows were rejected" in not_none(run.reason)


@pytest.mark.parametrize("form", ["json", "xml", "csv"])
def test_rows_of_the_service_s_own_shape_are_left_out_as_well(board, form):
    feed = board.feed('[rows]\nskip = { title = "cook r2" }\n')
    rows = board.rows(1, 3)
    content: Any = {"json": rows, "xml": as_xml(rows), "csv": as_csv(rows).encode()}[form]
    run = board.deliver(feed, content)
    assert board.active() == {"r1", "r3"}
    assert filtered(board, run) == [("skip title = cook r2", 1)]


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ("", r"rows: must be a table with only, skip or both"),
        ("skip = {}", r"rows.skip: must be a table"),
        ("skip = []", r"rows.skip: must be a table"),
        ("skip = [{}]", r"rows.skip\[1\]: must be a table"),
        ("only = { a = [] }", r"rows.only.a: must be a text or a list of texts"),
        ("only = { a = true }", r"rows.only.a: must be a text or a list of texts"),
        ("only = { a = 5 }", r"rows.only.a: must be a text or a list of texts"),
        ('only = { a = ["x", 5] }', r"rows.only.a: must be a text or a list of texts"),
        ('only = { a = "" }', r"rows.only.a: must be a text or a list of texts"),
        ('only = "a"', r"rows.only: must be a table"),
        ('skipp = { a = "x" }', r"rows.skipp: unknown key; did you mean skip"),
        ('skip = { "a[" = "x" }', r"rows.skip.*a\["),
    ],
)
@pytest.mark.parametrize("mapping", ["", MAPPED], ids=["native", "mapped"])
def test_a_rule_that_means_nothing_is_a_fault_of_the_feed_s_file(board, rows, fault, mapping):
    with pytest.raises(ConfigError, match=fault):
        board.feed(f'[read]\nformat = "json"\n[rows]\n{rows}\n{mapping}')


def test_rows_that_is_no_table_is_a_fault(board):
    with pytest.raises(ConfigError, match="rows: must be a table"):
        board.feed("rows = 5\n" + MAPPED)
