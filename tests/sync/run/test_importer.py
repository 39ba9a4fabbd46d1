"""What the importer does with the files of a feed: rows, counts, ownership, dates, faults, dry runs, events
(docs/reconciliation.md "What a run does")."""

import json
import mmap
import tracemalloc
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from random import Random

import pytest

from syncd.domain import Actor, ActorKind, ArchivedBy, Run, check_body
from syncd.errors import FeedError
from syncd.service.housekeeping import Refresher
from syncd.store import Tx, feed_jobs, runs
from syncd.store.jobs import upsert
from syncd.sync.drop_file import DropFile
from syncd.sync.report import for_partner
from syncd.sync.run import RejectsWriter, Stopped, reading, repeats
from tests.amounts import nightly
from tests.sync.board import Board, Progress, not_none, on_phase
from tests.sync.histories.forms import dump
from tests.sync.native_files import archive_of, as_csv

DAY = timedelta(days=1)


def nonzero_counts(run: Run) -> dict[str, int]:
    names = run.counts.__dataclass_fields__
    return {name: n for name in names if (n := getattr(run.counts, name))}


def problems(board: Board, run: Run) -> list[tuple[int, str | None, list[str]]]:
    """Return the number, the reference and the problems of each rejected record."""
    return [
        (r.record, r.reference_id, [f"{p.pointer} {p.code}" for p in r.errors]) for r in board.rejected(run)
    ]


def before_the_write(act: Callable[[], object]) -> Progress:
    """Return a ``progress`` that calls ``act`` between the plan and the write of the rows: they are one batch."""
    return on_phase("planning", act)


def test_a_file_with_the_bytes_of_the_last_run_is_not_read(board):
    feed = board.feed_with([board.row("a")])
    run = board.deliver(feed, [board.row("a")])
    assert (run.state, nonzero_counts(run), set(run.phases)) == ("unchanged", {}, {"hash"})


@pytest.mark.parametrize("since", ["edit", "delete", "grace", "due", "settings", "partial", "new"])
def test_a_file_with_the_bytes_of_the_last_run_is_read_if_that_could_change_a_job(board, since):
    rows = [board.row("a"), board.row("b", closeDate="2026-11-20")]
    feed = board.feed("grace = 2" if since == "grace" else "")
    if since == "grace":
        board.deliver(feed, [*rows, board.row("c")])
    if since == "partial":
        rows.append(board.row("c", title=""))
    board.deliver(feed, rows)
    match since:
        case "edit":
            board.put({"referenceId": "a", "title": "Edited"})
        case "delete":
            board.delete("a")
        case "due":
            board.clock.forward(days=5)
        case "settings":
            feed = board.feed("expired = 'ignore'")
        case "new":
            board.put(board.row("new"))  # a job of the API does not concern the feed
    run = board.deliver(feed, rows)
    if since in ("new", "partial"):
        assert run.state == ("unchanged" if since == "new" else "partial")
    assert run.counts.read == (0 if since == "new" else len(rows))


def test_an_auto_refresh_is_not_a_touch(board):
    feed = board.feed()
    rows = [board.row("a", autoRefresh=True)]
    board.deliver(feed, rows)
    board.clock.forward(days=8)
    assert Refresher(board.store).tick() == (1, 0)
    assert board.deliver(feed, rows).state == "unchanged"


def test_keep_applies_to_edits_from_before_it_was_configured(board):
    feed = board.feed_with([board.row("a"), board.row("b")])
    board.put({"referenceId": "a", "title": "Edited"})
    feed = board.feed_with(
        [board.row("a", confidential=True), board.row("b", title="Baker")], 'on_api_edit = "keep"'
    )
    assert (board.job("a").title, board.job("a").confidential) == ("Edited", True)
    assert board.job("b").title == "Baker"
    board.deliver(feed, [board.row("a"), board.row("b")])
    assert board.job("a").title == "Edited"
    board.deliver(feed, [board.row("a", title="Chef"), board.row("b")])
    assert board.job("a").title == "Chef"


# -- rejected rows -----------------------------------------------------------------------------------------


def test_a_rejected_row_has_its_record_line_reference_and_every_problem(board):
    feed = board.feed()
    text = json.dumps(
        [board.row("a"), board.row("b", title="", locations=[]), board.row("c", closeDate="x")], indent=0
    )
    run = board.deliver(feed, text.encode())
    assert (run.state, nonzero_counts(run)) == ("partial", {"read": 3, "created": 1, "rejected": 2})
    assert problems(board, run) == [
        (2, "b", ["/title required", "/locations too_few"]),
        (3, "c", ["/closeDate invalid_date"]),
    ]
    line = not_none(board.rejected(run)[0].line)
    assert '"b"' in "".join(text.splitlines()[line - 1 : line + 2])


def test_a_row_with_the_id_of_another_job_is_rejected(board):
    feed = board.feed_with([board.row("a"), board.row("b")])
    a, b = board.job("a").id, board.job("b").id
    run = board.deliver(
        feed, [board.row("a", id=a, title="Chef"), board.row("b", id=a), board.row("c", id=b)]
    )
    assert problems(board, run) == [
        (2, "b", ["/id read_only_mismatch"]),
        (3, "c", ["/id read_only_mismatch"]),
    ]
    assert board.job("a").title == "Chef"


def test_the_file_of_rejected_records_has_those_that_the_store_refused(board, tmp_path):
    feed = board.feed()
    writer = RejectsWriter(tmp_path / "out", feed.config.read)
    board.deliver(
        feed,
        [board.row("a"), {"referenceId": "b", "title": "late"}, board.row("c", title="")],
        rejects=writer,
    )
    written = json.loads((tmp_path / "out.json").read_text())
    assert {row["referenceId"] for row in written} == {"b", "c"}
    assert all(row["syncd_errors"] for row in written)


# -- the same reference twice ------------------------------------------------------------------------------


def test_the_last_valid_row_of_a_reference_counts_and_a_warning_names_both_records(board):
    feed = board.feed()
    rows = [
        board.row("a", title="One"),
        board.row("b"),
        board.row("a", title="Two"),
        board.row("a", title=""),
    ]
    run = board.deliver(feed, rows)
    assert board.job("a").title == "Two"
    assert nonzero_counts(run) == {"read": 4, "created": 2, "replaced": 1, "rejected": 1, "warnings": 1}
    [warning] = board.warnings(run)
    assert (warning.code, warning.record, warning.reference_id) == ("duplicate_reference", 1, "a")
    assert warning.detail == "record 3 has the referenceId 'a', too: the last valid one counts"


def test_a_file_with_rows_of_one_reference_changes_nothing_when_it_comes_again(board):
    feed = board.feed()
    rows = [board.row("a", title="One"), board.row("a", title="Two"), board.row("b"), board.row("b")]
    board.deliver(feed, rows)
    for more, unchanged in ((), 2), ((board.row("c"),), 2):
        run = board.deliver(feed, [*more, *rows])
        expected = {"read": 4 + len(more), "unchanged": unchanged, "replaced": 2, "warnings": 1}
        if run.state == "unchanged":
            continue
        assert nonzero_counts(run) == expected | ({"created": 1} if more else {})
    assert board.job("a").version == 1


@pytest.mark.parametrize("last", ["known", "new"])
def test_a_known_record_and_a_changed_one_of_one_reference(board, last):
    feed = board.feed()
    known, other = board.row("a"), board.row("a", title="Other")
    board.deliver(feed, [known, board.row("b")])
    rows = [other, known] if last == "known" else [known, other]
    run = board.deliver(feed, [*rows, board.row("b")])
    changed = {"unchanged": 2} if last == "known" else {"unchanged": 1, "updated": 1}
    assert nonzero_counts(run) == {"read": 3, "replaced": 1, "warnings": 1, **changed}
    assert board.job("a").title == ("Other" if last == "new" else known["title"])
    assert board.active() == {"a", "b"}


PLACES = [[{"description": place}] for place in ("Toronto, ON", "Ottawa, ON", "Hamilton, ON", "Guelph, ON")]


def test_a_posting_with_a_record_for_each_place_is_named(board):
    feed = board.feed()
    rows = [board.row("a", locations=place) for place in PLACES[:3]]
    others = [board.row("b", title="One"), board.row("b", title="Two", locations=PLACES[0]), board.row("c")]
    run = board.deliver(feed, [*rows, *others])
    assert [place.description for place in board.job("a").locations] == ["Hamilton, ON"]
    [warning] = [warning for warning in board.warnings(run) if warning.code != "duplicate_reference"]
    assert (warning.code, warning.record) == ("locations_replaced", None)
    assert warning.detail.startswith("one posting at several places: 2 records replaced by a later one")
    assert run.counts.warnings == 4


def test_records_that_differ_in_their_places_alone_can_become_one_posting(board):
    feed = board.feed('repeats = "places"')
    rows = [board.row("a", locations=place) for place in PLACES]
    more = [board.row("b", locations=PLACES[0]), board.row("b", title="Two"), board.row("c")]
    run = board.deliver(feed, [*rows, *more])
    assert nonzero_counts(run) == {"read": 7, "created": 3, "replaced": 4, "warnings": 1}
    assert [place.description for place in board.job("a").locations] == [
        "Toronto, ON",
        "Ottawa, ON",
        "Hamilton, ON",
    ]
    assert board.job("b").title == "Two"
    # a place less, and nothing else: the record that counts has the same bytes
    run = board.deliver(feed, [*rows[1:], *more])
    assert [place.description for place in board.job("a").locations] == [
        "Ottawa, ON",
        "Hamilton, ON",
        "Guelph, ON",
    ]
    assert nonzero_counts(run) == {"read": 6, "updated": 1, "unchanged": 2, "replaced": 3, "warnings": 1}


def test_of_very_many_records_with_other_places_the_first_are_counted(board, monkeypatch):
    monkeypatch.setattr(repeats, "MAX_PAIRS", 2)
    monkeypatch.setattr(repeats, "MAX_COMPARED", 3)
    places = ["Toronto, ON", "Ottawa, ON"] * 5
    run = board.deliver(
        board.feed(), [board.row("a", locations=[{"description": place}]) for place in places]
    )
    [warning] = [warning for warning in board.warnings(run) if warning.code == "locations_replaced"]
    assert "places: at least 4 records replaced" in warning.detail


@pytest.mark.parametrize("form", ["csv", "xml", "json"])
def test_records_of_one_id_in_two_languages_are_named_with_both_ways_out(board, form):
    rows = [{"id": "9", "title": title, "place": "Laval, QC", "lang": lang, "note": lang[3:]}
            for title, lang in (("Manager", "en-CA"), ("Gérant", "fr-CA"))]  # fmt: skip
    content = dump(form, rows)
    toml = """
        [fields]
        referenceId = "id"
        title = "title"
        locations = "place"
        categories = { value = "Other" }
        positionType = { value = "Full Time" }
        description = "title"
        applicationUrl = { value = "https://acme.example/jobs" }
        applicantRoutingType = { prefer = ["applicationUrl"] }
    """
    feed = board.feed(toml)
    run = board.deliver(feed, content)
    assert nonzero_counts(run) == {"read": 2, "created": 1, "replaced": 1, "warnings": 2}
    languages, repeated = board.warnings(run)
    assert (languages.code, repeated.code) == ("languages_replaced", "duplicate_reference")
    ways = '[rows] only = { lang = "en-CA" }', '[fields] referenceId = { template = "{id}-{lang}" }'
    assert languages.detail.startswith(
        "records of one referenceId are in several languages: lang is 'en-CA' in"
    )
    assert all(way in languages.detail for way in ways)
    assert "[" not in for_partner(languages.detail)
    version = board.job("9").version
    assert board.deliver(feed, content).state == "unchanged"
    board.put({"referenceId": "9", "confidential": True})
    assert board.deliver(feed, content).counts.updated == 0
    assert board.job("9").version == version + 1
    both = board.feed(toml.replace('"id"', '{ template = "{id}-{lang}" }'))
    assert nonzero_counts(board.deliver(both, content)) == {"read": 2, "created": 2, "missing": 1}


def test_a_record_that_is_rejected_replaces_no_locations(board):
    rows = [
        board.row("a"),
        board.row("a", locations=[{"description": "Ottawa, ON"}], positionType={"id": 99}),
    ]
    run = board.deliver(board.feed(), rows)
    assert (board.warnings(run), run.counts.rejected) == ([], 1)
    assert [place.description for place in board.job("a").locations] == ["Montréal, QC"]


def test_records_without_a_title_say_nothing_of_one_posting_at_several_places(board):
    feed = board.feed_with([board.row("a")])
    places = ("Toronto, ON", "Ottawa, ON")
    rows = [{"referenceId": "a", "locations": [{"description": place}]} for place in places]
    run = board.deliver(feed, rows)
    assert [warning.code for warning in board.warnings(run)] == ["duplicate_reference"]
    assert (run.counts.updated, run.counts.replaced) == (1, 1)


def test_identical_records_are_only_counted(board):
    feed = board.feed()
    run = board.deliver(feed, [board.row("a")] * 3)
    assert nonzero_counts(run) == {"read": 3, "created": 1, "replaced": 2}
    run = board.deliver(feed, [board.row("a")] * 3 + [board.row("b")])
    assert nonzero_counts(run) == {"read": 4, "created": 1, "unchanged": 1, "replaced": 2}


@pytest.mark.parametrize("order", ["same", "reversed", "shuffled"])
@pytest.mark.parametrize("page", [3, 1000])
def test_known_records_are_found_in_any_order(board, monkeypatch, order, page):
    monkeypatch.setattr(reading, "_PAGE", page)
    feed, other = board.feed(), board.feed(name="other")
    rows = [board.row(f"r{n}") for n in range(40)]
    board.deliver(feed, rows[:20])
    board.deliver(other, [board.row(f"o{n}") for n in range(30)])
    board.deliver(feed, rows)
    board.put({"referenceId": "r7", "title": "Edited"})
    if order == "reversed":
        rows.reverse()
    elif order == "shuffled":
        Random(5).shuffle(rows)
    run = board.deliver(feed, [*rows[:11], board.row("new"), *rows[11:30], rows[3], *rows[30:]])
    assert nonzero_counts(run) == {"read": 42, "created": 1, "updated": 1, "unchanged": 39, "replaced": 1}
    assert board.job("r7").title == "Cook r7"


# -- ownership and naming ----------------------------------------------------------------------------------


def test_a_feed_that_owns_the_jobs_of_its_employer_archives_jobs_of_the_api(board):
    feed = board.feed('owns = "employer"')
    board.put(board.row("api", status="active"))
    run = board.deliver(feed, [board.row("a")])
    assert run.state == "held"  # it would archive all jobs that were active
    board.importer.approve(run.id, feed)
    assert board.statuses() == {"api": "archived", "a": "active"}


def test_a_feed_that_owns_the_jobs_of_its_employer_reads_the_same_bytes_again(board):
    feed = board.feed('owns = "employer"')
    rows = [board.row(f"r{n}") for n in range(8)]
    board.deliver(feed, rows)
    board.put(board.row("api", status="active"))
    assert board.deliver(feed, rows).counts.archived == 1
    assert board.statuses()["api"] == "archived"


def test_grace_spares_a_job_until_that_many_files_in_a_row_lack_it(board):
    feed = board.feed("grace = 3")
    keep = [board.row("k"), board.row("l")]
    board.deliver(feed, [*keep, board.row("a")])

    def status_after_a_file_without_a(n: int):
        board.deliver(feed, [*keep, board.row("m", title=f"Snapshot {n}")])
        return board.statuses()["a"]

    assert [status_after_a_file_without_a(n) for n in (1, 2)] == ["active", "active"]
    board.deliver(feed, [*keep, board.row("a", title="")])  # rejected, but named: the grace begins again
    assert [status_after_a_file_without_a(n) for n in (3, 4, 5)] == ["active", "active", "archived"]


def test_a_rejected_row_of_a_corrected_file_ends_the_waiting_of_its_job(board):
    feed, keep = board.feed("grace = 2"), board.row("k")
    board.deliver(feed, [keep, board.row("a")])
    board.deliver(feed, [keep, board.row("b")])
    board.deliver(feed, [board.row("a", title="", syncd_errors="/title required")])
    board.deliver(feed, [keep, board.row("c")])
    assert board.statuses()["a"] == "active"
    board.deliver(feed, [keep, board.row("d")])
    assert board.statuses()["a"] == "archived"


# -- dates -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [[], [{"referenceId": "other"}]], ids=["the same file", "another file"])
def test_after_the_clock_was_set_back_a_date_that_had_passed_counts_again(board, more):
    feed = board.feed('expired = "ignore"')
    row = board.row("r1", closeDate=str(board.clock.today + timedelta(days=5)))
    board.clock.forward(days=20)
    board.deliver(feed, [row])
    assert board.job("r1").close_date > board.clock.today
    board.clock.forward(days=-20)
    run = board.deliver(feed, [row, *more])
    assert (run.counts.updated, str(board.job("r1").close_date)) == (1, row["closeDate"])
    assert board.deliver(feed, [row, *more]).counts.updated == 0


def test_a_row_whose_close_date_is_ignored_renews_the_date_of_its_job(board):
    feed = board.feed('expired = "ignore"')
    rows = [board.row("a", closeDate="2026-01-01")]
    board.deliver(feed, rows)
    board.clock.forward(days=31)
    run = board.deliver(feed, rows)
    assert (run.counts.updated, board.job("a").close_date) == (1, date(2027, 2, 15))


# -- files that cannot be used, and faults -----------------------------------------------------------------


def test_a_file_that_changes_while_it_is_read_is_not_applied_and_is_read_by_the_next_call(board):
    feed = board.feed()
    source = board.file([board.row("a")])
    run = board.begin(feed, source)
    more = json.dumps([board.row("a"), board.row("b")])
    importer = board.make_importer(progress=on_phase("hashing", lambda: source.path.write_text(more)))
    with pytest.raises(FeedError) as raised:
        importer.run(feed, source, run)
    assert raised.value.code == "file_changed"
    assert board.jobs() == []
    assert not board.saved(run.id).state.ended
    run = importer.run(feed, source.again(), run)
    assert (run.state, run.counts.created, run.size) == ("succeeded", 2, source.path.stat().st_size)


def test_a_change_through_a_memory_map_is_found_although_the_times_stay(board):
    feed = board.feed()
    path = board.file([board.row(f"r{n}") for n in range(5_000)]).path
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:] = bytes(
            mapped
        )  # all pages are to be written to the disk already: a change leaves the times as they are
        source = DropFile.at(path)
        run, last = board.begin(feed, source), mapped.rfind(b"Cook")

        def exchange() -> None:
            mapped[last : last + 4] = b"Cool"

        importer = board.make_importer(progress=on_phase("reading", exchange))
        with pytest.raises(FeedError) as raised:
            importer.run(feed, source, run)
        assert DropFile.at(path) == source
    assert (raised.value.code, board.jobs()) == ("file_changed", [])


def test_jobs_that_were_edited_after_the_plan_are_decided_again(board):
    feed = board.feed_with([board.row("a"), board.row("b"), board.row("c")])

    def edit() -> None:
        board.put({"referenceId": "a", "confidential": True, "title": "Person"})
        board.put({"referenceId": "c", "status": "archived"})

    importer = board.make_importer(progress=before_the_write(edit))
    run = board.deliver(feed, [board.row("a", title="Chef"), board.row("b")], importer=importer)
    assert (run.state, run.counts.updated, run.counts.archived) == ("succeeded", 1, 0)
    assert (board.job("a").title, board.job("a").confidential) == ("Chef", True)
    assert board.job("c").archived_by is ArchivedBy.PERSON


def test_a_missing_job_that_another_feed_takes_over_after_the_plan_stays(board):
    feed, taker = board.feed(), board.feed("take_over = true", name="taker")
    board.deliver(feed, [board.row("a"), board.row("b"), board.row("c")])
    importer = board.make_importer(progress=before_the_write(lambda: board.deliver(taker, [board.row("c")])))
    source = board.file([board.row("a"), board.row("b")], "other.json")
    run = importer.run(feed, source, board.begin(feed, source))
    assert (run.state, run.counts.missing, run.counts.archived) == ("succeeded", 1, 0)
    assert board.statuses() == {"a": "active", "b": "active", "c": "active"}


def test_a_missing_job_that_gets_the_reference_of_a_row_after_the_plan_stays(board):
    feed = board.feed_with([board.row("a"), board.row("old")])
    old = board.job("old").id

    def rename() -> None:
        checked = check_body({"referenceId": "new"}, board.catalogue)
        board.store.write(
            lambda tx: upsert.update(tx, board.employer.id, old, checked, Actor(ActorKind.KEY, 1))
        )

    importer = board.make_importer(progress=on_phase("planning", rename, nth=2))  # rows, then missing jobs
    run = board.deliver(feed, [board.row("a"), board.row("new")], importer=importer)
    assert (run.counts.missing, run.counts.archived) == (1, 0)
    assert [(job.id, job.reference_id, job.title, job.status) for job in board.jobs()][1:] == [
        (old, "new", "Cook new", "active")
    ]


def test_a_job_that_was_created_after_the_plan_is_updated(board):
    progress = before_the_write(lambda: board.put(board.row("a", title="Mine", confidential=True)))
    run = board.deliver(
        board.feed(), [board.row("a"), board.row("b")], importer=board.make_importer(progress=progress)
    )
    assert (run.state, run.counts.created, run.counts.updated, run.counts.rejected) == ("succeeded", 1, 1, 0)
    assert [(job.reference_id, job.title, job.confidential, job.version) for job in board.jobs()] == [
        ("a", "Cook a", True, 2),
        ("b", "Cook b", False, 1),
    ]


def test_a_job_that_is_created_after_midnight_is_published_on_the_new_day(board, clock):
    yesterday = clock.today
    rows = [
        board.row("a"),
        board.row("b", closeDate=str(yesterday)),
        board.row("c", closeDate=str(yesterday)),
    ]
    board.put(board.row("c"))
    progress = before_the_write(lambda: clock.forward(hours=12))
    run = board.deliver(board.feed(), rows, importer=board.make_importer(progress=progress))
    today = yesterday + DAY
    assert clock.today == today
    assert (run.counts.created, run.counts.expired) == (1, 2)
    assert board.find_job("b") is None  # its last day has passed by then
    assert board.statuses() == {"a": "active", "c": "archived"}
    job = board.job("a")
    assert (job.publish_date, job.close_date) == (today, today + 60 * DAY)
    assert job.published_at == clock.now


def test_a_write_that_fails_for_good_rejects_its_row_and_holds_the_archiving(board, monkeypatch):
    feed = board.feed_with([board.row("a"), board.row("b")])
    own = feed_jobs.own

    def fail(tx: Tx, feed_id: int, rows: Sequence[feed_jobs.Written], *, run_id: int | None = None) -> None:
        if any(row.reference_id == "x" for row in rows):
            raise ValueError("a value that does not fit")
        own(tx, feed_id, rows, run_id=run_id)

    monkeypatch.setattr(feed_jobs, "own", fail)
    run = board.deliver(feed, [board.row("a"), board.row("x"), board.row("c")])
    assert (run.state, run.holds, run.counts.created, run.counts.rejected) == ("held", "archive", 1, 1)
    assert "1 write failed" in not_none(run.reason)
    assert problems(board, run) == [(2, "x", [" write_failed"])]
    assert board.statuses() == {"a": "active", "b": "active", "c": "active"}


def test_a_run_that_changed_jobs_before_it_was_cut_off_is_not_unchanged(board):
    feed, rows = board.feed(), [board.row("a")]
    board.deliver(feed, rows)
    board.put({"referenceId": "a", "title": "Edited"})
    source = board.file(rows)
    run = board.begin(feed, source)
    with pytest.raises(Stopped):
        board.make_importer_that_stops("applying").run(feed, source, run)
    assert board.job("a").title == "Cook a"
    resumed, _deaths = board.store.write(lambda tx: runs.resume(tx, run.id))
    assert board.importer.run(feed, source, resumed).state == "succeeded"


# -- dry runs, reports, logs -------------------------------------------------------------------------------


def test_a_dry_run_of_the_same_bytes_has_no_changes_and_one_of_a_truncated_file_fails(board):
    feed = board.feed_with([board.row("a")])
    planned = board.importer.plan(feed, board.file([board.row("a")]).path)
    assert (planned.unchanged, list(planned.changes)) == (True, [])
    with pytest.raises(FeedError, match="ends before"):
        board.importer.plan(feed, board.file(b'[{"a": 1}').path)


def test_a_run_stores_checkpoints(board, monkeypatch):
    places: list[str] = []
    set_checkpoint = runs.set_checkpoint

    def set_and_list(tx: Tx, run_id: int, place: str) -> None:
        places.append(place)
        set_checkpoint(tx, run_id, place)

    monkeypatch.setattr(runs, "set_checkpoint", set_and_list)
    board.deliver(board.feed(), [board.row(f"r{n}") for n in range(2100)])
    assert places == ["read 2000", *(f"apply {n}" for n in (1000, 2000, 2100))]


@nightly
def test_the_memory_of_a_run_does_not_grow_with_the_file(board):
    def peak(rows: int) -> int:
        feed = board.feed(name=f"f{rows}")
        source = board.file(
            [board.row(f"{rows}-{n}", description="<p>" + "x" * 2000 + "</p>") for n in range(rows)]
        )
        run = board.begin(feed, source)
        tracemalloc.start()
        board.importer.run(feed, source, run)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(500)
    assert peak(6000) < 1.5 * peak(2000)


def test_progress_is_reported_to_the_end_of_every_phase(board):
    feed, source = board.feed(), board.file([board.row(f"r{n}") for n in range(1200)])
    reports: list[tuple[str, int, int]] = []
    importer = board.make_importer(progress=lambda *report: reports.append(report))
    importer.run(feed, source, board.begin(feed, source))
    assert list(dict.fromkeys(phase for phase, _, _ in reports)) == ["hashing", "planning", "applying"]
    assert ("applying", 1200, 1200) in reports
    assert ("hashing", source.size, source.size) in reports


def test_a_guessed_encoding_is_a_warning_of_the_run_also_within_an_archive(board):
    content = as_csv([board.row("r1", title="Café – cook")]).encode("cp1252")
    for delivery in (content, archive_of({"a.csv": as_csv([board.row("r2")]), "b.csv": content + b"\n"})):
        run = board.deliver(board.feed('mode = "delta"'), delivery)
        (warning,) = board.warnings(run)
        assert (warning.code, warning.record, run.counts.warnings) == ("encoding_guessed", None, 1)
        assert "Windows-1252" in warning.detail
        assert board.job("r1").title == "Café – cook"


@nightly
def test_a_file_with_hundreds_of_thousands_of_empty_lines_is_read_again(board):
    """Each could be a record until it is parsed, and all of them are looked up."""
    feed, rows = board.feed('[read]\nformat = "csv"\n'), [board.row(f"r{n}") for n in range(300)]
    lines = as_csv(rows).encode()
    assert board.deliver(feed, lines + b"\r\n" * 700_000).counts.created == 300
    run = board.deliver(feed, lines + b"\r\n" * 700_001)
    assert (run.state, run.counts.unchanged) == ("succeeded", 300)
