"""Reports: the data and the page (docs/operations.md "JSON output"; docs/reconciliation.md "After a run")."""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import syncd
from syncd import languages
from syncd.domain import FeedWarning, HoldScope, RejectedRow, Run, RunCounts, RunState
from syncd.errors import FEED_ERROR_CODES, Problem
from syncd.store import Tx, facts, run_results, runs
from syncd.sync.report import sentences
from syncd.sync.report.files import refresh_reports, written_reports
from syncd.sync.report.files.html import MAX_GOING, render_html
from syncd.sync.report.letter import Letter, letter_of, note_letter
from syncd.sync.report.reports import partner_report
from syncd.sync.run.context import MAX_WRITTEN, Warnings
from tests.sync.board import Board, content, not_none, report


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
def feed(board):
    return board.feed("max_rejected = { percent = 100, rows = 5 }")


def partners(board: Board, run: Run, rejected_file: str | None = None) -> dict[str, Any]:
    """Return the partner's report, its iterators as lists."""

    def listed(tx: Tx) -> dict[str, Any]:
        found = partner_report(tx, run.id, rejected_file)
        return {name: list(value) if isinstance(value, Iterator) else value for name, value in found.items()}

    return board.store.read(listed)


def page_of(report: dict[str, Any], language: str = "en", **columns: str) -> str:
    """Return the page; ``columns`` are the partner's names of fields."""
    return render_html(
        report, Letter(languages.language(language), {f"/{name}": c for name, c in columns.items()})
    )


def page(board: Board, run: Run) -> Page:
    return Page(page_of(partners(board, run)))


def words_of(html: str) -> str:
    return " ".join(Page(html.partition("</style>")[2]).words.split())


def test_the_codes_of_unusable_files_are_those_that_the_source_raises():
    found = set()
    for path in Path(syncd.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "FeedError":
                found |= {part.value for part in node.args[:1] if isinstance(part, ast.Constant)}
    assert found <= FEED_ERROR_CODES
    assert found | {"file_changed"} == FEED_ERROR_CODES


def test_the_lists_of_a_report_can_be_limited(board, feed):
    run = board.deliver(feed, [board.row(str(n), title=None if n % 2 else "Cook") for n in range(40)])
    data = report(board.store, run.id, most=7)
    assert (len(data["rejectedRows"]), len(data["changes"]), data["counts"]["rejected"]) == (7, 7, 20)


def test_the_page_shows_the_problems_grouped_and_escaped(board, feed):
    hostile = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
    run = board.deliver(feed, [board.row("a"), board.row("b", title=None), board.row("c", title=None)])
    board.store.write(
        lambda tx: run_results.add_rejected(
            tx,
            run.id,
            [RejectedRow(9, 77, hostile, (Problem("/locations/2/description", hostile, hostile, hostile),))],
        )
    )
    board.store.write(
        lambda tx: run_results.add_warnings(tx, run.id, [FeedWarning(hostile, hostile, 4, hostile)])
    )
    html = page_of(
        partners(board, run) | {"reason": hostile, "file": hostile, "feed": hostile, "employer": hostile}
    )
    assert "<script" not in html
    assert "<img" not in html
    shown = Page(html)
    assert "script" not in shown.tags
    assert hostile in shown.words
    assert "The job title is empty." in shown.words
    assert "2 ×" in shown.words
    assert "the place of work" in shown.words
    assert "77" in shown.words


def test_the_page_loads_nothing_from_another_place(board, feed):
    run = board.deliver(feed, [board.row("a"), board.row("b", title=None)])
    html = page_of(partners(board, run))
    assert not {"script", "link", "img", "iframe"} & set(Page(html).tags)
    assert not re.search(r"https?://|url\(|@import|src=", html)
    assert 'name="viewport"' in html
    assert "prefers-color-scheme: dark" in html
    assert "default-src 'none'" in html


@pytest.mark.parametrize("state", list(RunState))
@pytest.mark.parametrize("holds", [None, HoldScope.ARCHIVE, HoldScope.ALL])
def test_every_state_has_a_page(board, feed, state, holds):
    run = board.begin(feed, board.file([]))
    run = replace(run, state=state, holds=holds)
    board.store.write(lambda tx: runs.save(tx, run))
    shown = page(board, run)
    assert "syncd" not in shown.words


def test_the_page_of_a_held_run_says_that_somebody_looks_at_it_and_nothing_for_the_operator(board, feed):
    board.deliver(feed, [board.row("a"), board.row("b")])
    run = board.deliver(feed, [board.row("b")] + [board.row(None)] * 4)
    assert run.state is RunState.HELD
    words = words_of(page_of(partners(board, run)))
    assert "is being looked at" in words
    assert not_none(run.reason) not in words
    for word in ("syncd", "limit", "%", "seconds", "approve"):
        assert word not in words


@pytest.mark.parametrize("mode", ["snapshot", "delta"])
def test_the_page_of_a_held_run_is_true_about_what_takes_its_place(board, mode):
    feed = board.feed(f'mode = "{mode}"\nmax_rejected = {{ percent = 0, rows = 1 }}')
    held = board.deliver(feed, [board.row("a", title=None)])
    assert held.holds is HoldScope.ALL
    words = words_of(page_of(partners(board, held)))
    assert "If your files have all of your jobs each time, the next one takes the place of this one." in words
    board.deliver(feed, [board.row("a") | {"syncd_errors": "/title required: a job needs a title"}])
    assert board.saved(held.id).state is RunState.HELD
    board.deliver(feed, [board.row("a"), board.row("b")])
    assert board.saved(held.id).state is (RunState.SUPERSEDED if mode == "snapshot" else RunState.HELD)


def test_a_held_run_lists_the_jobs_that_would_be_archived(board, feed):
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
    assert "Jobs that may leave the board" in shown.words
    assert "These 3 jobs leave the board" in shown.words
    assert "<i>Baker</i>" in shown.words
    assert "i" not in shown.tags
    assert shown.words.count("not in the file") == 2
    assert shown.words.count("by the date of its own row") == 1
    assert "The first" not in shown.words
    assert "stays" not in shown.words


def test_the_list_of_jobs_to_archive_is_complete_in_the_data_and_limited_on_the_page(board, feed):
    number = MAX_GOING + 2
    board.deliver(feed, [board.row(f"r{n:04}", title=f"Cook {n}") for n in range(number)])
    run = board.deliver(feed, [])
    data = report(board.store, run.id)
    assert data["wouldArchive"]["total"] == len(data["wouldArchive"]["jobs"]) == number
    few = report(board.store, run.id, would_archive=3)["wouldArchive"]
    assert (few["total"], [job["referenceId"] for job in few["jobs"]]) == (
        number,
        ["r0000", "r0001", "r0002"],
    )
    words = " ".join(page(board, run).words.split())
    assert f"r{MAX_GOING - 1:04}" in words
    assert f"r{MAX_GOING:04}" not in words
    assert f"The first {MAX_GOING} of {number}." in words
    written = json.loads(content(written_reports(board.store, run.id)[".report.json"]))
    assert len(written["wouldArchive"]["jobs"]) == number


def test_the_jobs_to_archive_are_listed_as_they_are_now(board, feed):
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


def test_reports_are_rewritten_only_where_they_exist(board, feed):
    run = board.deliver(feed, [board.row("a")])
    refresh_reports(board.store, feed.folder, run.id)
    done = feed.folder / "done"
    assert [path.name for path in done.iterdir()] == ["1-jobs.json"]
    (done / "1-jobs.json.report.json").write_text("{}")
    refresh_reports(board.store, feed.folder, run.id)
    assert json.loads((done / "1-jobs.json.report.json").read_text())["id"] == run.id
    assert sorted(path.name for path in done.iterdir()) == ["1-jobs.json", "1-jobs.json.report.json"]
    assert list((feed.folder / ".claimed").iterdir()) == []


def test_characters_that_change_the_direction_of_text_are_written_as_codes(board, feed):
    run = board.deliver(
        feed, [board.row("a"), board.row("b", closeDate="\u202egnp.exe\u2066 \u05e9\u05dc\u05d5\u05dd")]
    )
    html = page_of(partners(board, run))
    assert "\\u202egnp.exe\\u2066 \u05e9\u05dc\u05d5\u05dd" in html
    assert not set(html) & set("\u202e\u2066")


def test_a_name_or_a_value_of_a_megabyte_is_shortened(board, feed):
    run = board.deliver(
        feed, [board.row("a"), board.row("b", title="x" * 900_000), board.row("c", **{"y" * 900_000: 1})]
    )
    data = report(board.store, run.id)
    assert data["counts"]["rejected"] == 2
    assert len(json.dumps(data)) < 20_000
    assert len(page_of(partners(board, run))) < 40_000


HEADLINES = [
    ({"read": 3, "created": 3}, None, "All 3 rows went in"),
    ({"read": 1, "unchanged": 1}, None, "The one row went in"),
    ({"read": 3, "created": 1, "replaced": 2}, None,
     "1 of 3 rows went in, 2 have a later row with the same reference number, which counts"),
    ({"read": 0}, None, "The file had no rows"),
    ({"read": 3, "rejected": 3}, None, "None of the 3 rows went in"),
    ({"read": 1, "rejected": 1}, None, "The one row was not taken"),
    ({"read": 1200, "created": 1199, "rejected": 1}, None, "1,199 of 1,200 rows went in, 1 was not taken"),
    ({"read": 9, "updated": 4, "expired": 2, "rejected": 3}, None, "4 of 9 rows went in, 3 were not taken, 2 were left out"),
    ({"read": 3, "created": 3}, "read leniently ([read] recover = true)", "All 3 rows went in"),
]  # fmt: skip


@pytest.mark.parametrize(("counts", "withheld", "headline"), HEADLINES)
def test_the_headline_is_true_for_the_counts(board, feed, counts, withheld, headline):
    run = board.begin(feed, board.file([]))
    state = RunState.PARTIAL if counts.get("rejected") or withheld else RunState.SUCCEEDED
    run = replace(run, state=state, withheld=withheld, counts=RunCounts(**counts))
    board.store.write(lambda tx: runs.save(tx, run))
    html = page_of(partners(board, run))
    assert f"<h1>{headline}</h1>" in html
    assert ("it may not be whole. Send" in html) == (withheld is not None)
    assert "recover" not in html
    nothing_to_do = not counts.get("rejected") and withheld is None
    assert ("You need not do anything" in html) == nothing_to_do


def test_the_partner_gets_no_limits_no_settings_and_no_times(board, feed):
    board.deliver(feed, [board.row("a")])
    run = board.deliver(feed, [])
    held = partners(board, run)
    assert (held["state"], held["reason"]) == ("held", None)
    assert not {"phases", "attempt", "lookupToml"} & set(held)
    failed = replace(
        run, state=RunState.FAILED, reason="limit_exceeded: more than 7 rows ([limits] rows); line 9"
    )
    board.store.write(lambda tx: runs.save(tx, failed))
    assert partners(board, run)["reason"] == "limit_exceeded: more than 7 rows; line 9"
    died = replace(
        run, state=RunState.FAILED, reason="3 attempts in a row died at the same place; not tried again"
    )
    board.store.write(lambda tx: runs.save(tx, died))
    assert partners(board, run)["reason"] is None
    assert "The file could not be processed" in words_of(page_of(partners(board, run)))


def test_the_report_beside_the_file_has_all_rejected_rows_and_warnings(board, feed):
    number = 10_500
    run = board.deliver(feed, [board.row("a"), board.row("b", title=None)])
    rows = [
        RejectedRow(n, n, None, (Problem("/title", "required", "a job needs a title"),))
        for n in range(3, number)
    ]
    board.store.write(lambda tx: run_results.add_rejected(tx, run.id, rows))
    warnings = [FeedWarning("html_cleaned", f"tags {n % 4}", n) for n in range(number)]
    board.store.write(lambda tx: run_results.add_warnings(tx, run.id, warnings))
    written = written_reports(board.store, run.id)
    data = json.loads(content(written[".report.json"]))
    assert (len(data["rejectedRows"]), len(data["warnings"])) == (number - 2, number)
    html = content(written[".report.html"]).decode()
    assert len(html) < 1_000_000
    assert "<details>" in html  # long lists are closed: the page of a phone shows the kinds of problems first
    words = words_of(html)
    assert f"{number - 2:,} ×the job title The job title is empty." in words
    assert (
        f"The first 1,000 of {number - 2:,}; the file with the ending .report.json has all of them." in words
    )
    assert words.count("Formatting that cannot be shown was taken out") == 1
    assert f"{number:,} × Formatting" in words


def test_a_run_keeps_every_warning(board, feed):
    number = 3 * MAX_WRITTEN + 7
    run = board.deliver(
        feed, [board.row(str(n), locations=[{"description": "Toronto, ON"}] * 4) for n in range(3)]
    )
    warnings = Warnings(board.folder)
    for n in range(number):
        warnings.add("odd", f"half a pair \ud800 {n}", n, None, "a.csv")
    found = [warning for batch in warnings.batches() for warning in batch]
    assert [warning.record for warning in found] == list(range(number))
    assert found[-1] == FeedWarning("odd", f"half a pair \ud800 {number - 1}", number - 1, None, "a.csv")
    warnings.clear()
    warnings.add("one", "after a second reading")
    assert [len(batch) for batch in warnings.batches()] == [1]
    assert run.counts.rejected == 3


def test_errors_of_one_kind_are_listed_with_their_values(board):
    feed = board.feed("max_rejected = { percent = 100, rows = 9 }")
    types = ["half day"] * 3 + ["night"] * 2 + ["moon"]
    rows = [board.row(str(n), closeDate=text) for n, text in enumerate(types)]
    run = board.deliver(feed, [board.row("good"), *rows])
    words = words_of(page_of(partners(board, run)))
    assert "“half day” 3 ×, “night” 2 ×, “moon” 1 ×" in words


def test_a_fault_that_a_row_has_several_times_is_there_once_and_what_is_not_kept_is_not_called_nothing(board):
    feed = board.feed("max_rejected = { percent = 100, rows = 9 }")
    rows = [
        board.row("a"),
        board.row("b", description='<p onclick="x"><i onclick="y">a</i></p><script>z</script>'),
    ]
    run = board.deliver(feed, [*rows, board.row("c", title="")])
    html = page_of(partners(board, run))
    assert [len(row["errors"]) for row in partners(board, run)["rejectedRows"]] == [4, 1]
    assert (html.count("<code>b</code>"), html.count("<code>c</code>")) == (1, 1)
    assert html.count(">nothing<") == 1, "of the title"


def test_the_file_of_rejected_records_is_named(board, feed):
    run = board.deliver(feed, [board.row("a"), board.row("b", title=None)])
    html = page_of(partners(board, run, "1-jobs.json.rejected.json"))
    assert "1-jobs.json.rejected.json" in html
    assert "any name" in html
    assert "beside this page" not in page_of(partners(board, run))


BANNED = re.compile(r"\b(?:null|array|pointer|codes?|dmy|string|boolean|object|syncd)\b", re.I)
COLUMNS = {"title": "Poste", "locations": "Ville", "closeDate": "Fin", "description": "Texte"}


@pytest.mark.parametrize("language", languages.names())
def test_the_letter_has_no_code_and_no_word_of_programmers(board, feed, language):
    """Also for each code that there is, and for messages with such words."""
    run = board.deliver(feed, [board.row("a"), board.row("b", title=None)])
    rows = [
        {"record": n, "line": n, "member": None, "referenceId": f"r{n}", "errors": [
            {"pointer": pointer, "code": code, "detail": "null is not allowed; a string is needed, not an array", "value": "x"}
        ]}
        for n, (code, pointer) in enumerate(
            (code, pointer) for code in (*sentences._PROBLEMS, "odd") for pointer in ("", "/title", "/locations/0", "/odd")
        )
    ]  # fmt: skip
    warnings = [
        {"code": code, "detail": "null", "record": 1} for code in (*sentences._REMARKS, "title_cut", "odd")
    ]
    report = partners(board, run) | {"rejectedRows": rows, "warnings": warnings}
    words = words_of(page_of(report, language, **COLUMNS))
    assert not BANNED.findall(words)
    assert not set(re.findall(r"[a-z]+_[a-z_]+", words))
    for code in (*FEED_ERROR_CODES, "odd"):
        failed = report | {"state": "failed", "reason": f"{code}: null in dmy; line 9, column 3"}
        assert not BANNED.findall(words_of(page_of(failed, language)))


def test_the_letter_names_the_columns_of_the_partner(board, feed):
    run = board.deliver(feed, [board.row("a"), board.row("b", title=None)])
    english = words_of(page_of(partners(board, run), title="Poste"))
    assert "Poste (the job title) The column Poste is empty. Every job needs a value there." in english
    french = words_of(page_of(partners(board, run), "fr", title="Poste"))
    assert "Poste (le titre du poste) La colonne Poste est vide." in french
    assert "Lignes refusées : 1" in french


def test_the_columns_and_the_language_of_a_feed_are_kept_for_later_reports(board):
    feed = board.feed("")
    letters = board.store.read(lambda tx: letter_of(tx, feed.config.name))
    assert (letters.say.name, letters.column("/title")) == ("en", None)
    partner = Letter(languages.language("fr"), {"/title": "Poste"})
    board.store.write(lambda tx: note_letter(tx, feed.config.name, partner))
    letters = board.store.read(lambda tx: letter_of(tx, feed.config.name))
    assert letters.what("/title") == "la colonne Poste"
    assert letters.what("/closeDate") == "la date limite"
    older = '["fr",{"/title":"Poste"},"column"]'
    board.store.write(lambda tx: facts.put(tx, f"letter {feed.config.name}", older))
    assert board.store.read(lambda tx: letter_of(tx, feed.config.name)) == partner
