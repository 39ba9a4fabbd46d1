"""Reports: the data and the page (docs/operations.md "JSON output"; docs/reconciliation.md "After a run")."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from syncd.domain import FeedWarning, HoldScope, RejectedRow, Run, RunState
from syncd.errors import NotFound, Problem
from syncd.store import results, runs
from syncd.sync.report import report
from syncd.sync.report.files import refresh_reports, written_reports
from syncd.sync.report.files.html import LISTED, render_html
from syncd.sync.run import Feed
from tests.sync.board import Board, not_none

KEYS = (
    *("format", "id", "feed", "employer", "kind", "state", "holds", "withheld", "reason", "attempt", "file", "size"),
    *("sha256", "claimedAt", "endedAt", "counts", "phases", "wouldArchive"),
    *("rejectedRows", "unknownValues", "lookupToml", "warnings", "changes"),
)  # fmt: skip
COUNTS = (
    *("read", "created", "updated", "reactivated", "unchanged", "rejected", "suppressed", "expired", "missing"),
    *("archived", "warnings"),
)  # fmt: skip


class Page(HTMLParser):
    """The text and the tags of a page, as a browser sees them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.fixture
def feed(board: Board) -> Feed:
    return board.feed("max_rejected = { percent = 100, rows = 5 }")


def page(board: Board, run: Run) -> Page:
    return Page(render_html(report(board.store, run.id)))


def test_a_report_has_exactly_the_documented_keys(board: Board, feed: Feed) -> None:
    run = board.deliver(feed, [board.row("a"), board.row("b", title=None), board.row("c", locations=[])])
    data = json.loads(json.dumps(report(board.store, run.id)))
    assert tuple(data) == KEYS
    assert tuple(data["counts"]) == COUNTS
    assert data["format"] == "syncd.report/1"
    assert (data["id"], data["feed"], data["employer"], data["kind"]) == (run.id, "acme", "Acme Ltd.", "file")
    assert (data["state"], data["holds"], data["counts"]["rejected"]) == ("partial", None, 2)
    assert data["claimedAt"] == "2026-11-16T17:00:00Z"
    assert re.fullmatch("[0-9a-f]{64}", data["sha256"])
    assert {"hash", "read"} <= set(data["phases"])
    first = data["rejectedRows"][0]
    assert list(first) == ["record", "line", "member", "referenceId", "errors"]
    assert (first["record"], first["referenceId"]) == (2, "b")
    assert list(first["errors"][0]) == ["pointer", "code", "detail", "value"]
    assert data["changes"] == [{"action": "created", "referenceId": "a", "jobId": 1, "fields": []}]


def test_a_change_has_the_names_of_its_fields(board: Board, feed: Feed) -> None:
    board.deliver(feed, [board.row("a")])
    run = board.deliver(feed, [board.row("a", title="Baker", confidential=True)])
    [change] = report(board.store, run.id)["changes"]
    assert (change["action"], change["fields"]) == ("updated", ["confidential", "title"])


def test_an_unknown_run_has_no_report(board: Board) -> None:
    with pytest.raises(NotFound):
        report(board.store, 9)


def test_lists_are_limited_and_the_page_says_how_many_there_are(board: Board, feed: Feed) -> None:
    run = board.deliver(feed, [board.row(str(n), title=None if n % 2 else "Cook") for n in range(40)])
    data = report(board.store, run.id, most=7)
    assert (len(data["rejectedRows"]), len(data["changes"]), data["counts"]["rejected"]) == (7, 7, 20)
    words = Page(render_html(data)).words
    assert "The first 7 of 20 are listed" in " ".join(words.split())


def test_long_values_are_shortened(board: Board, feed: Feed) -> None:
    run = board.deliver(feed, [board.row("a"), board.row("b", title="x" * 5000)])
    [row] = report(board.store, run.id)["rejectedRows"]
    assert all(len(str(error["value"])) < 400 for error in row["errors"])


def test_the_page_shows_the_problems_grouped_and_escaped(board: Board, feed: Feed) -> None:
    hostile = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
    run = board.deliver(feed, [board.row("a"), board.row("b", title=None), board.row("c", title=None)])
    board.store.write(
        lambda tx: results.add_rejected(
            tx,
            run.id,
            [RejectedRow(9, 77, hostile, (Problem("/locations/2/description", hostile, hostile, hostile),))],
        )
    )
    board.store.write(
        lambda tx: results.add_warnings(tx, run.id, [FeedWarning(hostile, hostile, 4, hostile)])
    )
    html = render_html(
        report(board.store, run.id)
        | {"reason": hostile, "file": hostile, "feed": hostile, "employer": hostile}
    )
    assert "<script" not in html
    assert "<img" not in html
    shown = Page(html)
    assert "script" not in shown.tags
    assert hostile in shown.words
    assert "title: required" in shown.words
    assert "2 ×" in shown.words
    assert "locations › description" in shown.words
    assert "77" in shown.words


def test_the_page_loads_nothing_from_another_place(board: Board, feed: Feed) -> None:
    run = board.deliver(feed, [board.row("a"), board.row("b", title=None)])
    html = render_html(report(board.store, run.id))
    assert not {"script", "link", "img", "iframe"} & set(Page(html).tags)
    assert not re.search(r"https?://|url\(|@import|src=", html)
    assert 'name="viewport"' in html
    assert "prefers-color-scheme: dark" in html
    assert "default-src 'none'" in html


@pytest.mark.parametrize("state", list(RunState))
@pytest.mark.parametrize("holds", [None, HoldScope.ARCHIVE, HoldScope.ALL])
def test_every_state_has_a_page(board: Board, feed: Feed, state: RunState, holds: HoldScope | None) -> None:
    run = board.begin(feed, board.file([]))
    run = replace(run, state=state, holds=holds)
    board.store.write(lambda tx: runs.save(tx, run))
    shown = page(board, run)
    assert shown.words.count("syncd runs approve") == (state is RunState.HELD)


def test_the_page_of_a_held_run_has_the_reason_and_the_commands(board: Board, feed: Feed) -> None:
    board.deliver(feed, [board.row("a")])
    run = board.deliver(feed, [])
    assert run.state is RunState.HELD
    words = page(board, run).words
    assert not_none(run.reason) in words
    assert f"syncd runs approve {run.id}" in words
    assert f"syncd runs reject {run.id}" in words


def test_a_held_run_lists_the_jobs_that_would_be_archived(board: Board, feed: Feed) -> None:
    stay = [board.row("stays"), board.row("stays too")]
    board.deliver(
        feed, [*stay, board.row("a", title="Chef"), board.row("b", title="<i>Baker</i>"), board.row("c")]
    )
    run = board.deliver(feed, [*stay, board.row("c", closeDate="2026-11-01"), *[board.row(None)] * 4])
    ids = {reference: board.job(reference).id for reference in "abc"}
    data = report(board.store, run.id)
    assert data["wouldArchive"] == {
        "total": 3,
        "jobs": [
            {"referenceId": "a", "title": "Chef", "jobId": ids["a"], "why": "missing"},
            {"referenceId": "b", "title": "<i>Baker</i>", "jobId": ids["b"], "why": "missing"},
            {"referenceId": "c", "title": "Cook c", "jobId": ids["c"], "why": "row"},
        ],
    }
    shown = page(board, run)
    assert "Jobs that would be archived" in shown.words
    assert "these 3 jobs leave the board" in shown.words
    assert "<i>Baker</i>" in shown.words
    assert "i" not in shown.tags
    assert shown.words.count("not in the file") == 2
    assert shown.words.count("by the date of its own row") == 1
    assert "more:" not in shown.words
    assert "stays" not in shown.words


def test_the_list_of_jobs_to_archive_is_complete_in_the_data_and_limited_on_the_page(
    board: Board, feed: Feed
) -> None:
    number = LISTED + 2
    board.deliver(feed, [board.row(f"r{n:04}", title=f"Cook {n}") for n in range(number)])
    run = board.deliver(feed, [])
    data = report(board.store, run.id)
    assert data["wouldArchive"]["total"] == len(data["wouldArchive"]["jobs"]) == number
    assert report(board.store, run.id, would_archive=None)["wouldArchive"] == data["wouldArchive"]
    few = report(board.store, run.id, would_archive=3)["wouldArchive"]
    assert (few["total"], [job["referenceId"] for job in few["jobs"]]) == (
        number,
        ["r0000", "r0001", "r0002"],
    )
    words = " ".join(page(board, run).words.split())
    assert f"r{LISTED - 1:04}" in words
    assert f"r{LISTED:04}" not in words
    assert f"… and 2 more: syncd runs show {run.id} --json lists all of them." in words
    written = json.loads(written_reports(board.store, run.id)[".report.json"])
    assert len(written["wouldArchive"]["jobs"]) == number


def test_only_a_held_run_lists_jobs_to_archive(board: Board, feed: Feed) -> None:
    assert report(board.store, board.deliver(feed, [board.row("a")]).id)["wouldArchive"] is None
    run = board.deliver(feed, [])
    board.importer.approve(run.id, feed)
    data = report(board.store, run.id)
    assert data["wouldArchive"] is None
    assert [(change["action"], change["referenceId"]) for change in data["changes"]] == [("archived", "a")]
    assert "Jobs that would be archived" not in page(board, run).words


def test_the_jobs_to_archive_are_listed_as_they_are_now(board: Board, feed: Feed) -> None:
    board.deliver(feed, [board.row("a"), board.row("b")])
    run = board.deliver(feed, [])
    board.put({"referenceId": "a", "title": "Edited"})
    board.delete("b")
    listed = report(board.store, run.id)["wouldArchive"]["jobs"]
    assert [(job["referenceId"], job["title"]) for job in listed] == [("a", "Edited"), (None, None)]
    assert "deleted meanwhile" in page(board, run).words
    assert board.importer.approve(run.id, feed).state == "held"
    listed = report(board.store, run.id)["wouldArchive"]
    assert (listed["total"], listed["jobs"][0]["title"]) == (1, "Edited")


def test_a_run_that_holds_everything_lists_jobs_to_archive_too(board: Board, feed: Feed) -> None:
    board.deliver(feed, [board.row(f"r{n}") for n in range(12)])
    run = board.deliver(feed, [board.row(f"x{n}", title=f"Cook r{n}") for n in range(12)])
    assert run.holds is HoldScope.ALL
    assert report(board.store, run.id)["wouldArchive"]["total"] == 12
    kept = [board.row(f"r{n}", title="Montréal") for n in range(12)]
    run = board.deliver(feed, kept)
    assert run.holds is HoldScope.ALL
    assert report(board.store, run.id)["wouldArchive"] == {"total": 0, "jobs": []}
    assert "Jobs that would be archived" not in page(board, run).words


def test_a_run_has_two_reports(board: Board, feed: Feed) -> None:
    run = board.deliver(feed, [board.row("a")])
    written = written_reports(board.store, run.id)
    assert list(written) == [".report.json", ".report.html"]
    assert json.loads(written[".report.json"])["id"] == run.id
    assert written[".report.html"].startswith(b"<!doctype html>")


def test_reports_are_rewritten_only_where_they_exist(board: Board, feed: Feed) -> None:
    run = board.deliver(feed, [board.row("a")])
    refresh_reports(board.store, feed.folder, run.id)
    done = feed.folder / "done"
    assert [path.name for path in done.iterdir()] == ["1-jobs.json"]
    (done / "1-jobs.json.report.json").write_text("{}")
    refresh_reports(board.store, feed.folder, run.id)
    assert json.loads((done / "1-jobs.json.report.json").read_text())["id"] == run.id
    assert sorted(path.name for path in done.iterdir()) == ["1-jobs.json", "1-jobs.json.report.json"]
    assert list((feed.folder / ".claimed").iterdir()) == []


def test_characters_that_change_the_direction_of_text_are_written_as_codes(board: Board, feed: Feed) -> None:
    run = board.deliver(
        feed, [board.row("a"), board.row("b", closeDate="\u202egnp.exe\u2066 \u05e9\u05dc\u05d5\u05dd")]
    )
    html = render_html(report(board.store, run.id))
    assert "\\u202egnp.exe\\u2066 \u05e9\u05dc\u05d5\u05dd" in html
    assert not set(html) & set("\u202e\u2066")


def test_a_name_or_a_value_of_a_megabyte_is_shortened(board: Board, feed: Feed) -> None:
    run = board.deliver(
        feed, [board.row("a"), board.row("b", title="x" * 900_000), board.row("c", **{"y" * 900_000: 1})]
    )
    data = report(board.store, run.id)
    assert data["counts"]["rejected"] == 2
    assert len(json.dumps(data)) < 20_000
    assert len(render_html(data)) < 40_000


def test_a_page_of_ten_thousand_rejected_rows_stays_small_and_says_what_it_omits(
    board: Board, feed: Feed
) -> None:
    run = board.deliver(feed, [board.row("a"), board.row("b", title=None)])
    data = report(board.store, run.id)
    [row] = data["rejectedRows"]
    data["rejectedRows"] = [{**row, "record": n} for n in range(10_000)]
    html = render_html(data)
    assert "The first 1 000 of 10 000; the report in JSON" in " ".join(Page(html).words.split())
    assert len(html) < 1_000_000
    assert "<details>" in html  # long lists are closed: the page of a phone shows the kinds of problems first
