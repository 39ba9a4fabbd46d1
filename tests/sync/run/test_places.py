"""Places of mapped feeds, with files that the importer runs (docs/feeds.md "Places"): a place needs a word that it is in
Canada, and a bare city without one is assumed, with a warning, or refused."""

import json
from collections.abc import Collection
from typing import Any

import pytest

from syncd.domain import FeedWarning, RejectedRow, Run
from syncd.errors import ConfigError
from syncd.sync.report.files import written_reports
from tests.sync.board import Board, content, not_none, report
from tests.sync.native_files import archive_of

FIELDS = """
[fields]
referenceId = "id"
title = "title"
description = "text"
locations = { from = "city", split = ";", province = "province", country = "country", postal = "postal" }
categories = { value = "Other" }
positionType = { value = "Full Time" }
applicationEmail = "email"
applicantRoutingType = { prefer = ["applicationEmail"] }
"""


def row(reference: str, city: str, **beside: str) -> dict[str, Any]:
    text = "<p>We look for somebody who cooks well and likes to do so every day.</p>"
    body = {"id": reference, "title": f"Cook {reference}", "text": text, "email": "jobs@example.com"}
    return {**body, "city": city, **beside}


def places(board: Board, reference: str) -> list[str]:
    return [place.description for place in board.job(reference).locations]


def codes(rejected: RejectedRow) -> list[tuple[str, str]]:
    return [(problem.pointer, problem.code) for problem in rejected.errors]


def doubts(board: Board, run: Run) -> list[FeedWarning]:
    """Return the warnings of a run but those of places that are not in the catalogue."""
    return [warning for warning in board.warnings(run) if warning.code != "new_place"]


def warned(board: Board, run: Run) -> list[tuple[str, str | None]]:
    return [(warning.code, warning.reference_id) for warning in doubts(board, run)]


def new_places(warnings: Collection[FeedWarning]) -> list[tuple[int | None, str | None, str]]:
    return [
        (warning.record, warning.reference_id, warning.detail.partition(" is not")[0])
        for warning in warnings
        if warning.code == "new_place"
    ]


@pytest.mark.parametrize(
    ("city", "beside", "place"),
    [
        ("London, Ontario", {}, "London, ON"),
        ("London", {"province": "ON"}, "London, ON"),
        ("London", {"country": "Canada"}, "London, ON"),
        ("London", {"country": "ca"}, "London, ON"),
        ("London, Canada", {}, "London, ON"),
        ("London N6A 1B2", {}, "London, ON"),
        ("London", {"postal": "N6A 1B2"}, "London, ON"),
        ("London", {"postal": "n6a1b2"}, "London, ON"),
        ("Quebec City", {"country": "Canada"}, "Québec, QC"),
        ("Québec", {}, "Québec, QC"),
        ("Petit-Lac-du-Nord, QC", {}, "Petit-Lac-du-Nord, QC"),
        ("Corner Brook, NL", {}, "Corner Brook, NL"),
        ("Saint John, NL", {}, "St. John's, NL"),
        ("Lac-Perdu, NL, Canada", {}, "Lac-Perdu, NL"),
        ("Lac-Perdu, SK, CA", {}, "Lac-Perdu, SK"),
        ("Lac-Perdu, CA-SK", {}, "Lac-Perdu, SK"),
        ("CA-SK-Perdu", {}, "Perdu, SK"),
        ("Lloydminster, SK", {}, "Lloydminster, SK"),
        ("Lac-Perdu, SK", {"country": "CA"}, "Lac-Perdu, SK"),
        ("Lac-Perdu", {"province": "PE", "postal": "C0A 1A0"}, "Lac-Perdu, PE"),
        ("Lac-Perdu, Newfoundland", {}, "Lac-Perdu, NL"),
    ],
)
def test_a_place_with_a_word_that_it_is_in_canada_is_taken_without_a_warning(board, city, beside, place):
    run = board.deliver(board.feed(FIELDS), [row("r1", city, **beside)])
    assert run.state == "succeeded"
    assert places(board, "r1") == [place]
    assert warned(board, run) == []


@pytest.mark.parametrize(
    ("preset", "content"),
    [
        (
            "indeed",
            "<source><job><referencenumber>r1</referencenumber><title>Cook</title><city>London</city>"
            "<postalcode>N6A 1B2</postalcode><description>Cook well.</description>"
            "<url>https://a.example/1</url></job></source>",
        ),
        (
            "csv",
            "id,title,city,postal code,description,apply url\nr1,Cook,London,N6A 1B2,Cook well.,https://a.example/1\n",
        ),
        (
            "schemaorg",
            '[{"@type": "JobPosting", "identifier": "r1", "title": "Cook", "description": "Cook well.", "url": '
            '"https://a.example/1", "jobLocation": {"address": {"addressLocality": "London", "postalCode": "N6A 1B2"}}}]',
        ),
    ],
)
def test_presets_name_the_postal_code(board, preset, content):
    run = board.deliver(board.feed(f'preset = "{preset}"'), content.encode())
    assert places(board, "r1") == ["London, ON"]
    assert "place_assumed" not in [code for code, _ in warned(board, run)]


def test_a_bare_city_is_assumed_with_a_warning_that_names_what_was_assumed(board):
    run = board.deliver(board.feed(FIELDS), [row("r1", "London"), row("r2", "Hanoi, ON")])
    assert run.state == "succeeded"
    assert places(board, "r1") == ["London, ON"]
    (warning,) = doubts(board, run)
    assert (warning.code, warning.reference_id) == ("place_assumed", "r1")
    assert "London, ON" in warning.detail


@pytest.mark.parametrize(
    ("city", "beside", "country"),
    [
        ("Amsterdam, NL", {}, "the Netherlands"),
        ("Lima, pe", {}, "Peru"),
        ("NL-Utrecht", {}, "the Netherlands"),
        ("Bratislava (SK)", {}, "Slovakia"),
        ("Utrecht", {"province": "NL", "postal": "3511 AB"}, "the Netherlands"),
    ],
)
def test_an_unknown_place_with_a_code_that_is_a_countrys_too_is_assumed(board, city, beside, country):
    feed = board.feed(FIELDS)
    run = board.deliver(feed, [row("r1", city, **beside), row("r2", "Laval, QC")])
    assert run.state == "succeeded"
    assert len(places(board, "r1")) == 1
    (warning,) = doubts(board, run)
    assert (warning.code, warning.reference_id) == ("place_assumed", "r1")
    assert country in warning.detail
    run = board.deliver(feed, [row(f"n{number}", city, **beside) for number in range(5)])
    assert (run.holds, len(board.jobs())) == ("all", 2)
    strict = board.deliver(board.feed('places = "strict"\n' + FIELDS), [row("s1", city, **beside)])
    (rejected,) = board.rejected(strict)
    assert codes(rejected) == [("/locations/0/description", "unknown_value")]
    assert country in rejected.errors[0].detail


@pytest.mark.parametrize(
    "city", ["255 Greenwich Street", "110 William St. N Y", "Hồ Chí Minh", "Thành phố Đà Nẵng", "Ontario"]
)
@pytest.mark.parametrize("beside", [{}, {"country": "Canada"}, {"postal": "N6A 1B2"}])
def test_a_bare_name_that_is_not_a_known_place_adds_none(board, city, beside):
    run = board.deliver(board.feed(FIELDS), [row("r1", city, **beside)])
    (rejected,) = board.rejected(run)
    assert codes(rejected) == [("/locations/0/description", "unknown_value")]
    assert rejected.errors[0].value == city
    assert "province" in rejected.errors[0].detail
    assert board.jobs() == []
    unknown = report(board.store, run.id)["unknownValues"]
    assert [entry["value"] for entry in unknown["locations"]] == [city]


STRICT, CANADA = (f'places = "{policy}"\n{FIELDS}' for policy in ("strict", "canada"))


@pytest.mark.parametrize(
    ("toml", "city", "beside", "warning", "fault"),
    [
        (FIELDS, "London", {"postal": "SW1A 1AA"}, "place_assumed", ""),  # of another country
        (STRICT, "London", {}, "", "unknown_value"),
        (STRICT, "London", {"country": "Canada"}, "", ""),
        (CANADA, "London", {}, "", ""),
        (CANADA, "Lac-Perdu, NL", {}, "", ""),  # the code is that of the province
        (CANADA, "255 Greenwich Street", {}, "", "unknown_value"),
    ],
)
def test_a_feed_says_what_a_bare_city_is(board, toml, city, *, beside, warning, fault):
    run = board.deliver(board.feed(toml), [row(f"r{n}", city, **beside) for n in range(3)])
    assert warned(board, run) == [(warning, f"r{n}") for n in range(3) if warning]
    faults = [codes(rejected) for rejected in board.rejected(run)]
    assert faults == ([[("/locations/0/description", fault)]] * 3 if fault else [])
    assert len(board.active()) == (0 if fault else 3)


def test_a_country_that_is_not_canada_is_refused_and_says_what_leaves_such_rows_out(board):
    run = board.deliver(board.feed(FIELDS), [row("r1", "Boston, ON", country="US"), row("r2", "Laval, QC")])
    (rejected,) = board.rejected(run)
    assert codes(rejected) == [("/locations/0/description", "outside_canada")]
    detail = rejected.errors[0].detail
    assert "the service takes Canadian places only" in detail
    assert "[rows] only" in detail
    pages = {suffix: content(write) for suffix, write in written_reports(board.store, run.id).items()}
    assert b"[rows] only" in pages[".report.json"]
    assert b"Only jobs in Canada are taken." in pages[".report.html"]
    assert b"[rows] only" not in pages[".report.html"]


def test_a_place_that_is_wrong_does_not_hide_what_else_is_wrong_with_the_row(board):
    wrong = row("r1", "255 Greenwich Street", email="") | {"title": ""}
    (rejected,) = board.rejected(board.deliver(board.feed(FIELDS), [wrong]))
    assert {pointer for pointer, _ in codes(rejected)} >= {
        "/locations/0/description",
        "/title",
        "/applicantRoutingType",
    }


def test_each_unknown_place_of_a_row_is_reported(board):
    wrong = row("r1", "255 Greenwich Street; Laval, QC; Wall Street 1")
    (rejected,) = board.rejected(board.deliver(board.feed(FIELDS), [wrong]))
    assert codes(rejected) == [
        ("/locations/0/description", "unknown_value"),
        ("/locations/2/description", "unknown_value"),
    ]


def rows(assumed: int, certain: int) -> list[dict[str, Any]]:
    return [row(f"a{n}", "London") for n in range(assumed)] + [
        row(f"c{n}", "Laval, QC") for n in range(certain)
    ]


@pytest.mark.parametrize(
    ("assumed", "certain", "holds"),
    [(4, 0, None), (5, 0, "all"), (5, 5, None), (6, 5, "all"), (5, 6, None)],
)
def test_over_half_of_the_rows_with_assumed_places_hold_the_run(board, assumed, certain, holds):
    run = board.deliver(board.feed(FIELDS), rows(assumed, certain))
    assert (run.holds and run.holds.value) == holds
    assert len(board.jobs()) == (0 if holds else assumed + certain)
    if holds:
        assert f"{assumed} of {assumed + certain} rows" in not_none(run.reason)
        assert 'places = "canada"' in not_none(run.reason)


def test_rejected_and_left_out_rows_are_not_among_those_that_would_go_in(board):
    feed = board.feed('max_rejected = 100\n[rows]\nskip = { id = "x*" }\n' + FIELDS)
    others = [row(f"bad{n}", "Nowhere Street 5") for n in range(9)]
    others += [row(f"x{n}", "Laval, QC") for n in range(9)]
    run = board.deliver(feed, [*rows(5, 4), *others])
    assert run.holds == "all"
    assert "5 of 9 rows" in not_none(run.reason)


def test_rows_that_only_the_plan_rejects_are_not_among_the_assumed_ones(board):
    """A new job needs a description, which the mapping alone does not know."""
    feed = board.feed(FIELDS)
    run = board.deliver(feed, [row(f"a{n}", "London") | {"text": ""} for n in range(6)])
    assert run.holds == "all"
    assert "6 of 6 rows were rejected" in not_none(run.reason)
    assert "in Canada" not in not_none(run.reason)


def test_a_row_with_one_certain_place_beside_an_assumed_one_does_not_count(board):
    found = [row(f"r{n}", "London; Laval, QC") for n in range(9)]
    run = board.deliver(board.feed(FIELDS), found)
    assert run.state == "succeeded"
    assert warned(board, run) == [("place_assumed", f"r{n}") for n in range(9)]


def test_an_approved_run_applies_its_places_and_the_same_rows_are_not_asked_about_again(board):
    feed = board.feed(FIELDS)
    held = board.deliver(feed, rows(6, 0))
    assert held.holds == "all"
    board.importer.approve(held.id, feed)
    assert len(board.active()) == 6
    later = board.deliver(feed, [*rows(6, 0), row("new", "Windsor")])
    assert later.state == "succeeded"
    assert len(board.active()) == 7


def test_the_service_s_own_shape_is_as_the_api_has_it(board):
    run = board.deliver(
        board.feed(), [board.row(f"r{n}", locations=[{"description": "Greenwich"}]) for n in range(9)]
    )
    assert (run.state, doubts(board, run)) == ("succeeded", [])


@pytest.mark.parametrize(
    ("toml", "fault"),
    [
        ('places = "europe"\n' + FIELDS, "places: must be canada or strict"),
        ("places = true\n" + FIELDS, "places: must be canada or strict"),
        ('places = "canada"\n', "places: has no use"),
        ('[fields]\nlocations = { from = "l", default = "Nowhere Street" }', "not a known Canadian place"),
    ],
)
def test_a_wrong_word_about_places_is_a_fault_of_the_feed_s_file(board, toml, fault):
    with pytest.raises(ConfigError, match=fault):
        board.feed(toml)


def test_a_new_place_is_a_warning_at_the_first_row_that_has_it(board):
    feed = board.feed(FIELDS)
    cities = ("Head Office, ON", "Toronto, ON", "HEAD OFFICE, Ontario", "Halifax, AB")
    rows = [row(f"r{number}", city) for number, city in enumerate(cities, 1)]
    expected = [(1, "r1", "'Head Office, ON'"), (4, "r4", "'Halifax, AB'")]
    planned = board.importer.plan(feed, board.file(rows).path)
    assert (new_places(planned.warnings), planned.run.counts.warnings) == (expected, 2)
    run = board.deliver(feed, rows)
    assert (new_places(board.warnings(run)), run.counts.warnings) == (expected, 2)
    assert places(board, "r3") == ["Head Office, ON"]
    run = board.deliver(feed, [row("r5", "Halifax, AB"), row("r6", "Lost Lake, BC;Old Mill, ON"), *rows])
    assert new_places(board.warnings(run)) == [(2, "r6", "'Lost Lake, BC'"), (2, "r6", "'Old Mill, ON'")]
    run = board.deliver(feed, [row("r6", "Third Lake, BC"), *rows])
    assert (new_places(board.warnings(run)), run.counts.warnings) == ([(1, "r6", "'Third Lake, BC'")], 1)


def test_a_new_place_is_named_as_the_first_row_spells_it_though_a_later_one_updates_a_job(board):
    feed = board.feed_with([row("r2", "Toronto, ON")], FIELDS)
    rows = [row("r1", "Head Office, ON"), row("r2", "HEAD OFFICE, ON")]
    expected = [(1, "r1", "'Head Office, ON'")]
    assert new_places(board.importer.plan(feed, board.file(rows).path).warnings) == expected
    assert new_places(board.warnings(board.deliver(feed, rows))) == expected


def test_a_new_place_in_a_file_of_an_archive_is_named_with_the_file(board):
    cities = enumerate(("Toronto, ON", "Head Office, ON"))
    files = {f"{number}.json": json.dumps([row(f"r{number}", city)]) for number, city in cities}
    run = board.deliver(board.feed(FIELDS), archive_of(files))
    assert [(warning.code, warning.member) for warning in board.warnings(run)] == [("new_place", "1.json")]


def test_the_new_places_of_a_held_run_are_warnings_of_its_approval(board):
    feed = board.feed(FIELDS)
    rows = [*(row(f"r{number}", "London") for number in range(6)), row("r6", "Head Office, ON")]
    run = board.deliver(feed, rows)
    assert (run.holds, new_places(board.warnings(run)), run.counts.warnings) == ("all", [], 6)
    approved = board.importer.approve(run.id, feed)
    assert new_places(board.warnings(approved)) == [(7, "r6", "'Head Office, ON'")]
    assert approved.counts.warnings == len(board.warnings(approved)) == 7
