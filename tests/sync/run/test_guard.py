"""The table of docs/reconciliation.md "When a run stops short", row by row: what a real file does through the
importer, what stands, what waits, and in which words. Each limit is met exactly and exceeded by one."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from syncd.domain import FeedLimits

TEXT = "<p>" + "We look for somebody who cooks well and likes to do so every day. " * 4 + "</p>"


def rows(board: Any, first: int, last: int, **fields: Any) -> list[dict[str, Any]]:
    """The bodies r<first> to r<last>, both included."""
    return [board.row(f"r{n}", **fields) for n in range(first, last + 1)]


def active(board: Any) -> set[str]:
    return {reference for reference, status in board.statuses().items() if status == "active"}


def named(first: int, last: int) -> set[str]:
    return {f"r{n}" for n in range(first, last + 1)}


def ended(run: Any) -> tuple[str, str | None]:
    return run.state.value, run.holds.value if run.holds else None


def as_xml(bodies: list[dict[str, Any]], more: str = "") -> bytes:
    """The service's own shape as XML."""
    items = "".join(
        f"<job><referenceId>{b['referenceId']}</referenceId><title>{b['title']}</title>"
        "<locations><location><description>Montréal, QC</description></location></locations>"
        "<categories><category><id>1</id></category></categories><positionType><id>1</id></positionType>"
        f"<description><![CDATA[{b['description']}]]></description>"
        "<applicantRoutingType><id>1</id></applicantRoutingType>"
        "<applicationEmail>jobs@example.com</applicationEmail></job>"
        for b in bodies
    )
    return f"<jobs>{more}{items}</jobs>".encode()


def as_csv(bodies: list[dict[str, Any]]) -> str:
    """The service's own shape as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["referenceId", "title", "locations", "categories", "positionType", "description",
                     "applicantRoutingType", "applicationEmail"])  # fmt: skip
    for b in bodies:
        writer.writerow(
            [b["referenceId"], b["title"], "Montréal, QC", 1, 1, b["description"], 1, "jobs@example.com"]
        )
    return out.getvalue()


# -- failed: nothing of the file could be used ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["empty_file", "0 bytes"]),
        (b'[{"referenceId": "r1"} {"referenceId": "r2"}]', ["line 1"]),
        (b'[{"referenceId": "r1"},\n{"referenceId": "r2", "ti', ["truncated"]),
        (b'{"page": {"of": "nothing"}}', ["no_records_path"]),
        (as_xml([{"referenceId": "r1", "title": "Cook", "description": "x"}])[:-7], ["truncated", "last good referenceId r1"]),
        (b"<jobs><job><referenceId>r1</referenceId></wrong></jobs>", ["line 1"]),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><jobs><job><referenceId>&b;</referenceId></job></jobs>', ["line 1"]),
    ],
    ids=["empty", "malformed", "truncated", "no path", "truncated xml", "malformed xml", "entity"],
)  # fmt: skip
def test_a_file_that_cannot_be_used_fails_and_there_is_nothing_to_approve(
    board: Any, content: bytes, words: list[str]
) -> None:
    feed = board.feed()
    board.drop(feed, rows(board, 1, 2))
    run = board.drop(feed, content)
    assert ended(run) == ("failed", None)
    for word in words:
        assert word in run.reason
    assert active(board) == named(1, 2)
    with pytest.raises(Exception, match="only a held run can be approved"):
        board.importer.approve(run.id, feed)


def test_a_broken_limit_fails_the_file_with_its_name_and_one_below_it_goes_in(board: Any) -> None:
    feed, importer = board.feed(), board.make_importer(limits=FeedLimits(rows=3))
    run = board.drop(feed, rows(board, 1, 4), importer=importer)
    assert ended(run) == ("failed", None)
    assert "rows" in run.reason
    assert board.jobs() == []
    assert ended(board.drop(feed, rows(board, 1, 3), importer=importer)) == ("succeeded", None)


def test_a_failed_file_leaves_a_held_run_waiting(board: Any) -> None:
    feed = board.feed()
    board.drop(feed, rows(board, 1, 4))
    held = board.drop(feed, [])
    assert board.drop(feed, b"[").state == "failed"
    assert board.saved(held.id).state == "held"
    board.importer.approve(held.id, feed)
    assert active(board) == set()


# -- partial: the archiving is withheld ----------------------------------------------------------------------


def test_a_file_that_was_read_leniently_only_adds_and_updates(board: Any) -> None:
    feed = board.feed("[read]\nrecover = true")
    board.drop(feed, as_xml(rows(board, 1, 3)))
    run = board.drop(feed, as_xml(rows(board, 2, 4)))
    assert ended(run) == ("partial", None)
    assert "recover" in run.withheld
    assert (run.counts.created, run.counts.archived) == (1, 0)
    assert active(board) == named(1, 4)


def test_more_records_declared_than_found_only_adds_and_updates(board: Any) -> None:
    feed = board.feed()
    board.drop(feed, as_xml(rows(board, 1, 3)))
    short = as_xml(rows(board, 2, 4), "<expectedJobCount>4</expectedJobCount>")
    run = board.drop(feed, short)
    assert ended(run) == ("partial", None)
    assert run.withheld == "the file says that it has 4 records, but 3 were found"
    assert active(board) == named(1, 4)
    whole = as_xml(rows(board, 2, 4), "<expectedJobCount>3</expectedJobCount>")
    assert ended(board.drop(feed, whole)) == ("succeeded", None)
    assert active(board) == named(2, 4)


def test_a_withheld_file_is_still_held_for_too_many_rejected_rows(board: Any) -> None:
    feed = board.feed('[read]\nrecords = "jobs"')
    bad = rows(board, 1, 6, title="")
    run = board.drop(feed, {"jobs": [*bad, *rows(board, 7, 9)], "totalFound": 20})
    assert ended(run) == ("held", "all")
    assert board.jobs() == []


def test_a_delta_file_and_mended_rows_archive_nothing_whatever_they_lack(board: Any) -> None:
    delta = board.feed('mode = "delta"')
    board.drop(delta, rows(board, 1, 10))
    assert ended(board.drop(delta, rows(board, 1, 1, title="Chef"))) == ("succeeded", None)
    assert ended(board.drop(delta, [])) == ("succeeded", None)
    assert active(board) == named(1, 10)
    snapshot = board.feed(name="other")
    board.drop(snapshot, [board.row(f"s{n}") for n in range(10)])
    mended = [board.row("s1", title="Chef", syncd_errors="x"), board.row("t", title="", syncd_errors="x")]
    assert ended(board.drop(snapshot, mended)) == ("partial", None)
    assert len(active(board)) == 20


# -- a row without a readable referenceId --------------------------------------------------------------------


@pytest.mark.parametrize("reference", [None, "", "   ", "x" * 51, 5.5, ["r1"]])
def test_a_row_without_a_readable_reference_holds_the_archiving(board: Any, reference: Any) -> None:
    feed = board.feed()
    board.drop(feed, rows(board, 1, 20))
    run = board.drop(feed, [*rows(board, 1, 19, confidential=True), board.row(None, referenceId=reference)])
    assert ended(run) == ("held", "archive")
    assert run.reason == "1 row has no readable referenceId; 1 of 20 active jobs would be archived (5 %)"
    assert (run.counts.updated, run.counts.rejected, run.counts.missing, run.counts.archived) == (19, 1, 1, 0)
    assert active(board) == named(1, 20)


def test_a_row_without_a_reference_holds_nothing_where_nothing_is_missing(board: Any) -> None:
    feed = board.feed()
    board.drop(feed, rows(board, 1, 9))
    assert ended(board.drop(feed, [*rows(board, 1, 9), board.row(None)])) == ("partial", None)


def test_the_id_of_a_ragged_row_counts_only_if_the_feed_owns_that_job(board: Any) -> None:
    feed = board.feed()
    table = as_csv(rows(board, 1, 20)).splitlines(keepends=True)
    assert ended(board.drop(feed, "".join(table).encode())) == ("succeeded", None)
    # r20's own row breaks into one cell too many: its job is named by it, and stays
    own = [*table[:-2], table[-1].rstrip("\n") + ",more,than,columns\n"]
    run = board.drop(feed, "".join(own).encode())
    assert (ended(run), active(board)) == (("partial", None), named(1, 18) | {"r20"})
    # a ragged row whose first cell is the id of nobody's job: who knows whose row it is
    strange = [*table[:-3], "Cook at large" + table[-1][3:].rstrip("\n") + ",more\n"]
    run = board.drop(feed, "".join(strange).encode())
    assert ended(run) == ("held", "archive")
    assert "1 row has no readable referenceId" in run.reason
    assert active(board) == named(1, 18) | {"r20"}


def test_a_ragged_row_with_the_id_of_somebody_else_s_job_names_no_job_of_the_feed(board: Any) -> None:
    feed = board.feed()
    board.put(board.row("theirs", status="active"))
    table = as_csv(rows(board, 1, 20)).splitlines(keepends=True)
    board.drop(feed, "".join(table).encode())
    ragged = [*table[:-1], "theirs" + table[-1][3:].rstrip("\n") + ",more\n"]
    run = board.drop(feed, "".join(ragged).encode())
    assert ended(run) == ("held", "archive")
    assert run.reason == "1 row has no readable referenceId; 1 of 20 active jobs would be archived (5 %)"


# -- the feed's own settings changed -------------------------------------------------------------------------


def test_the_first_run_that_would_archive_after_the_feed_s_settings_changed_waits(board: Any) -> None:
    board.drop(board.feed(), rows(board, 1, 20))
    commented = board.feed("# a comment is no setting")
    assert ended(board.drop(commented, rows(board, 1, 19))) == ("succeeded", None)
    changed = board.feed("grace = 1")
    assert ended(board.drop(changed, rows(board, 1, 19, confidential=True))) == ("succeeded", None)
    run = board.drop(changed, rows(board, 1, 18))
    assert ended(run) == ("held", "archive")
    assert run.reason == "the feed's settings have changed; 1 of 19 active jobs would be archived (5.3 %)"
    assert active(board) == named(1, 19)
    board.importer.approve(run.id, changed)
    assert active(board) == named(1, 18)
    assert ended(board.drop(changed, rows(board, 1, 17))) == ("succeeded", None)


def test_settings_stay_doubtful_until_somebody_approves_them(board: Any) -> None:
    board.drop(board.feed(), rows(board, 1, 20))
    changed = board.feed("grace = 1")
    first = board.drop(changed, rows(board, 1, 19))
    board.importer.reject(first.id)
    second = board.drop(changed, rows(board, 1, 18))
    assert (ended(first), ended(second)) == (("held", "archive"), ("held", "archive"))
    back = board.feed()
    assert ended(board.drop(back, rows(board, 1, 18, confidential=True))) == ("succeeded", None)


# -- share and count of what would be archived ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "held"),
    [
        (20, 15, False),  # 5 of 20: 25 %, which is not more
        (20, 14, True),  # 6 of 20
        (19, 14, True),  # 5 of 19: 26.3 %, and five
        (15, 11, False),  # 4 of 15: 26.7 %, but four
        (5, 1, False),
        (5, 0, True),
        (2, 1, False),
        (1, 0, True),  # all that are active
    ],
)
def test_more_than_a_quarter_and_at_least_five_or_all_that_are_active_wait(
    board: Any, before: int, after: int, held: bool
) -> None:
    feed = board.feed()
    board.drop(feed, rows(board, 1, before))
    run = board.drop(feed, [*rows(board, 1, after, confidential=True), board.row("new")])
    assert ended(run) == (("held", "archive") if held else ("succeeded", None))
    assert active(board) == named(1, before if held else after) | {"new"}
    assert run.counts.missing == before - after
    assert run.counts.archived == (0 if held else before - after)
    if held:
        assert f"{before - after} of {before}" in run.reason or f"all {before}" in run.reason
        assert "the limit is 25 % and at least 5" in run.reason
    if after:
        assert board.job("r1").confidential


def test_ten_runs_at_nineteen_percent_do_not_empty_a_board(board: Any) -> None:
    feed, left, states = board.feed(), 100, []
    board.drop(feed, rows(board, 1, left))
    while len(states) < 10:
        board.clock.forward(hours=1)
        left -= left * 19 // 100
        states.append(ended(board.drop(feed, rows(board, 1, left))))
    assert states[0] == ("succeeded", None)
    assert set(states[1:]) == {("held", "archive")}
    assert len(active(board)) == 81


@pytest.mark.parametrize(("seconds", "held"), [(0, True), (1, False)])
def test_what_was_archived_counts_for_twenty_four_hours(board: Any, seconds: int, held: bool) -> None:
    feed = board.feed()
    board.drop(feed, rows(board, 1, 20))
    assert ended(board.drop(feed, rows(board, 1, 15))) == ("succeeded", None)
    board.clock.forward(hours=24, seconds=seconds)
    run = board.drop(feed, rows(board, 1, 14))
    assert ended(run) == (("held", "archive") if held else ("succeeded", None))
    if held:
        assert "6 of 20 active jobs would be archived, with the 5 archived in the last 24 hours" in run.reason


def test_what_is_back_and_what_a_person_approved_is_not_counted_against_the_next_run(board: Any) -> None:
    feed = board.feed()
    board.drop(feed, rows(board, 1, 20))
    board.drop(feed, rows(board, 1, 15))
    board.drop(feed, rows(board, 1, 20, confidential=True))  # all five are back
    assert ended(board.drop(feed, rows(board, 6, 20))) == ("succeeded", None)  # 5 of 20
    board.clock.forward(days=2)
    board.drop(feed, rows(board, 1, 20, autoRefresh=True))
    held = board.drop(feed, rows(board, 1, 10))
    assert ended(held) == ("held", "archive")
    board.importer.approve(held.id, feed)
    assert ended(board.drop(feed, rows(board, 1, 8))) == ("succeeded", None)  # 2 of 10


def test_what_rows_dates_archive_counts_too_and_waits_with_the_rest(board: Any) -> None:
    feed = board.feed()
    board.drop(feed, rows(board, 1, 20))
    past = rows(board, 1, 3, closeDate="2026-11-15", title="Late")
    run = board.drop(feed, [*past, *rows(board, 4, 17, confidential=True)])
    assert ended(run) == ("held", "archive")
    assert "6 of 20 active jobs would be archived" in run.reason
    assert (active(board), board.job("r1").title) == (named(1, 20), "Cook r1")
    assert board.job("r4").confidential
    run = board.importer.approve(run.id, feed)
    assert (active(board), board.job("r1").title) == (named(4, 17), "Late")
    assert (run.counts.expired, run.counts.archived, run.counts.unchanged) == (3, 3, 0)


def test_a_mapped_status_that_archives_counts_for_the_guard(board: Any) -> None:
    feed = board.feed()
    board.drop(feed, rows(board, 1, 10))
    run = board.drop(feed, [*rows(board, 1, 5, status="archived"), *rows(board, 6, 10)])
    assert ended(run) == ("held", "archive")
    assert active(board) == named(1, 10)
    board.importer.approve(run.id, feed)
    assert active(board) == named(6, 10)


def test_limits_of_the_feed_itself_are_the_ones_that_count(board: Any) -> None:
    feed = board.feed("max_archive = { percent = 50, jobs = 2 }")
    board.drop(feed, rows(board, 1, 4))
    assert ended(board.drop(feed, rows(board, 1, 2))) == ("succeeded", None)
    board.clock.forward(days=2)
    board.drop(feed, rows(board, 1, 4, confidential=True))
    run = board.drop(feed, rows(board, 1, 1))
    assert ended(run) == ("held", "archive")
    assert "3 of 4 active jobs would be archived (75 %, the limit is 50 % and at least 2)" in run.reason


def test_grace_counts_only_what_would_go_now(board: Any) -> None:
    feed = board.feed("grace = 2")
    board.drop(feed, rows(board, 1, 10))
    first = board.drop(feed, rows(board, 1, 2))
    assert (ended(first), first.counts.missing, first.counts.archived) == (("succeeded", None), 8, 0)
    assert ended(board.drop(feed, rows(board, 1, 2, confidential=True))) == ("held", "archive")
    assert active(board) == named(1, 10)


def test_a_file_that_was_not_applied_does_not_end_the_waiting_in_grace(board: Any) -> None:
    feed = board.feed("grace = 2")
    board.drop(feed, [*rows(board, 1, 12), board.row("c")])
    board.drop(feed, rows(board, 1, 12))
    assert ended(board.drop(feed, [*rows(board, 1, 12, title="Chef"), board.row("c")])) == ("held", "all")
    board.drop(feed, rows(board, 1, 12, confidential=True))
    assert active(board) == named(1, 12)


def test_a_rejected_row_ends_the_waiting_in_grace_though_the_archiving_waits(board: Any) -> None:
    feed = board.feed("grace = 2")
    board.drop(feed, [*rows(board, 1, 12), board.row("c")])
    board.drop(feed, rows(board, 1, 4))
    assert ended(board.drop(feed, [*rows(board, 1, 4), board.row("c", title="")])) == ("held", "archive")
    assert ended(board.drop(feed, rows(board, 1, 12, confidential=True))) == ("succeeded", None)
    assert active(board) == named(1, 12) | {"c"}


# -- an empty feed -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [[], b"<jobs/>", {"jobs": []}], ids=["json", "xml", "wrapped"])
def test_a_feed_without_records_waits_and_an_honest_one_is_approved(board: Any, content: Any) -> None:
    feed = board.feed('[read]\nrecords = "jobs"' if isinstance(content, dict) else "")
    first = rows(board, 1, 8)
    board.drop(feed, {"jobs": first} if isinstance(content, dict) else first)
    run = board.drop(feed, content)
    assert ended(run) == ("held", "archive")
    assert run.reason.startswith("the file has no records; 8 of 8 active jobs would be archived (100 %)")
    assert active(board) == named(1, 8)
    assert board.importer.approve(run.id, feed).state == "succeeded"
    assert active(board) == set()
    assert ended(board.drop(feed, content))[0] in ("succeeded", "unchanged")  # nothing is left to lose


# -- rejected rows -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("good", "bad", "held"),
    [(44, 5, False), (43, 5, True), (43, 6, True), (5, 4, False), (0, 4, False), (0, 5, True)],
)
def test_more_than_a_tenth_and_at_least_five_rejected_rows_hold_everything(
    board: Any, good: int, bad: int, held: bool
) -> None:
    feed = board.feed()
    board.drop(feed, [board.row("old")])
    run = board.drop(
        feed, [*rows(board, 1, good), *rows(board, 101, 100 + bad, title=""), board.row("old", title="New")]
    )
    read = good + bad + 1
    assert ended(run) == (("held", "all") if held else ("partial", None))
    assert run.counts.rejected == bad
    assert active(board) == ({"old"} if held else named(1, good) | {"old"})
    assert board.job("old").title == ("Cook old" if held else "New")
    if held:
        assert run.reason.startswith(f"{bad} of {read} rows were rejected")
        assert "the limit is 10 % and at least 5" in run.reason
        assert len(board.rejected(run)) == bad


def test_rows_that_only_the_store_refuses_count_as_rejected(board: Any) -> None:
    north, south = board.feed(name="north"), board.feed(name="south")
    board.drop(north, rows(board, 1, 6))
    run = board.drop(south, [*rows(board, 1, 6), board.row("s")])
    assert ended(run) == ("held", "all")
    assert "6 of 7 rows were rejected" in run.reason
    assert "s" not in active(board)


# -- accidents: re-keyed, shifted, shrunk, a step back -------------------------------------------------------


def rekeyed(board: Any, kept: int, moved: int, fresh: int) -> list[dict[str, Any]]:
    """Of 12 jobs r1 to r12 the first ``kept`` stay, the next ``moved`` come under another id, and so many are really new."""
    again = [board.row(f"x{n}", title=f"Cook r{n}") for n in range(kept + 1, kept + moved + 1)]
    return [*rows(board, 1, kept), *again, *(board.row(f"n{n}") for n in range(fresh))]


@pytest.mark.parametrize(
    ("kept", "moved", "holds"),
    [
        (5, 4, "all"),  # 7 of 12 missing, 4 of them again: over half, and half
        (5, 3, "archive"),  # 3 of 7 again: less than half
        (6, 6, "archive"),  # 6 of 12 missing is not over half
        (0, 12, "all"),
    ],
)
def test_a_feed_that_gave_its_jobs_other_ids_waits_with_everything(
    board: Any, kept: int, moved: int, holds: str
) -> None:
    feed = board.feed()
    board.drop(feed, rows(board, 1, 12))
    run = board.drop(feed, rekeyed(board, kept, moved, 3))
    assert ended(run) == ("held", holds)
    assert active(board) >= named(1, 12)
    assert ("new again under another referenceId" in run.reason) == (holds == "all")
    if holds == "all":
        assert active(board) == named(1, 12)
        board.importer.approve(run.id, feed)
        assert len(active(board)) == kept + moved + 3


def test_the_same_title_in_other_letters_is_the_same(board: Any) -> None:
    feed = board.feed()
    board.drop(feed, rows(board, 1, 8, title="Préposé à l'entretien"))
    run = board.drop(feed, [board.row(f"x{n}", title="PREPOSE A L'ENTRETIEN") for n in range(1, 9)])
    assert ended(run) == ("held", "all")
    assert "8 of these are new again" in run.reason


def test_the_same_title_in_another_place_is_another_job(board: Any) -> None:
    feed = board.feed()
    board.drop(feed, rows(board, 1, 8))
    there = [{"description": "Calgary, AB"}]
    run = board.drop(feed, [board.row(f"x{n}", title=f"Cook r{n}", locations=there) for n in range(1, 9)])
    assert ended(run) == ("held", "archive")


@pytest.mark.parametrize(
    ("number", "changed", "held"), [(10, 5, False), (10, 6, True), (9, 5, True), (7, 4, False)]
)
@pytest.mark.parametrize("accident", ["retitled", "shrunk"])
def test_shifted_columns_and_broken_texts_hold_everything(
    board: Any, accident: str, number: int, changed: int, held: bool
) -> None:
    feed = board.feed()
    board.drop(feed, rows(board, 1, number, description=TEXT))
    what = {"title": "Montréal, QC"} if accident == "retitled" else {"description": "<p>We look for</p>"}
    broken = rows(board, 1, changed, **{"description": TEXT} | what)
    run = board.drop(feed, [*broken, *rows(board, changed + 1, number, description=TEXT)])
    assert ended(run) == (("held", "all") if held else ("succeeded", None))
    assert (board.job("r1").title == "Cook r1" and board.job("r1").description == TEXT) == held
    if held:
        said = "would get another title" if accident == "retitled" else "would lose half of their text"
        assert run.reason.startswith(f"{changed} of {number} ")
        assert said in run.reason
        assert "the limit is 50 % and at least 5" in run.reason


def test_a_description_that_keeps_half_of_its_text_did_not_shrink(board: Any) -> None:
    feed = board.feed()
    board.drop(feed, rows(board, 1, 8, description="<p>" + "x" * 100 + "</p>"))
    half = rows(board, 1, 8, description="<p>" + "x" * 50 + "</p>")
    assert ended(board.drop(feed, half)) == ("succeeded", None)
    less = rows(board, 1, 8, description="<div><p><b>" + "x" * 24 + "</b></p></div>")  # markup is no text
    assert ended(board.drop(feed, less)) == ("held", "all")


def test_titles_and_texts_of_jobs_that_are_not_active_or_unnamed_do_not_count(board: Any) -> None:
    feed = board.feed()
    board.drop(feed, rows(board, 1, 10))
    for n in range(1, 6):
        board.put({"referenceId": f"r{n}", "status": "archived"})
    run = board.drop(feed, rows(board, 1, 10, title="Chef"))
    assert "5 of 5 active jobs would get another title" in run.reason


@pytest.mark.parametrize("key", ["max_retitled", "max_shrunk", "max_rekeyed"])
def test_a_feed_may_set_the_percent_of_each_accident(board: Any, key: str) -> None:
    feed = board.feed(f"{key} = 100\nmax_archive = {{ percent = 100, jobs = 100 }}")
    board.drop(feed, rows(board, 1, 12, description=TEXT))
    match key:
        case "max_retitled":
            second = rows(board, 1, 12, description=TEXT, title="Chef")
        case "max_shrunk":
            second = rows(board, 1, 12, description="<p>x</p>")
        case _:
            second = [*rekeyed(board, 1, 11, 0)]
    assert ended(board.drop(feed, second)) == ("succeeded", None)


def test_the_bytes_of_an_older_applied_file_hold_everything(board: Any) -> None:
    feed = board.feed()
    first, second = (rows(board, 1, 9, confidential=flag) for flag in (False, True))
    board.drop(feed, first)
    board.drop(feed, second)
    assert board.drop(feed, second).state == "unchanged"  # the newest again is no step back
    run = board.drop(feed, first)
    assert ended(run) == ("held", "all")
    assert "a step back in time" in run.reason
    assert board.job("r1").confidential
    board.importer.approve(run.id, feed)
    assert not board.job("r1").confidential
    assert board.drop(feed, first).state == "unchanged"
    assert ended(board.drop(feed, second)) == ("held", "all")  # now that one is older


def test_bytes_that_were_never_applied_are_no_step_back(board: Any) -> None:
    feed = board.feed()
    board.drop(feed, rows(board, 1, 9))
    never = [*rows(board, 1, 9, title="")]
    assert ended(board.drop(feed, never)) == ("held", "all")
    board.drop(feed, rows(board, 1, 9, confidential=True))
    run = board.drop(feed, never)
    assert ended(run) == ("held", "all")
    assert "step back" not in run.reason


def test_other_feeds_are_not_held_by_a_held_run_and_see_other_bytes_only(board: Any) -> None:
    north, south = board.feed(name="north"), board.feed(name="south")
    board.drop(north, rows(board, 1, 9))
    assert ended(board.drop(north, [])) == ("held", "archive")
    assert ended(board.drop(south, [board.row("s")])) == ("succeeded", None)
    assert "s" in active(board)


def test_everything_waits_for_the_gravest_reason_and_all_of_that_kind_are_told(board: Any) -> None:
    feed = board.feed()
    board.drop(feed, rows(board, 1, 20, description=TEXT))
    run = board.drop(
        feed, [*rows(board, 1, 9, title="Chef", description="<p>x</p>"), *rows(board, 30, 40, title="")]
    )
    assert ended(run) == ("held", "all")
    for words in ("rows were rejected", "would get another title", "would lose half of their text"):
        assert words in run.reason
    assert "archived" not in run.reason
    assert json.loads(json.dumps(run.reason)) == run.reason
    assert "\n" not in run.reason
