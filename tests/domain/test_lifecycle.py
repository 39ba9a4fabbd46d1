"""The life of a job: creation, merge, transitions, close dates, refresh."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from msgspec.structs import replace

from syncd.domain.decisions import Reject, Unchanged, Update
from syncd.domain.job import ArchivedBy, CloseOrigin, JobInput, Location, Moment, Salary, Status
from syncd.domain.lifecycle import decide, decide_close, decide_missing, decide_refresh
from tests.domain.jobs import FIELDS, LATER, LAVAL, NOW, REGINA, TODAY, job, put


def codes(decision):
    assert isinstance(decision, Reject)
    return [(p.pointer, p.code) for p in decision.problems]


@pytest.mark.parametrize("status", list(Status))
def test_a_job_can_be_created_in_any_status_and_is_published(status):
    made = put(None, **FIELDS | {"status": status})
    assert made.job.status is status
    assert made.job.publish_date == TODAY
    assert made.job.archived_by == (ArchivedBy.PERSON if status is Status.ARCHIVED else None)


def test_a_close_date_that_is_sent_is_chosen():
    made = put(None, **FIELDS, closeDate=date(2027, 3, 1)).job
    assert (made.close_date, made.close_origin) == (date(2027, 3, 1), CloseOrigin.CHOSEN)
    assert put(None, **FIELDS, closeDate=None).job.close_origin is CloseOrigin.DEFAULT


def test_the_default_close_date_does_not_fall_off_the_calendar():
    last = Moment(datetime(9999, 12, 1, tzinfo=UTC), date(9999, 12, 1))
    assert put(None, last, **FIELDS).job.close_date == date.max


def test_a_new_job_has_a_problem_for_all_that_it_lacks_in_the_order_of_the_specification():
    assert codes(put(None)) == [
        ("/title", "required"),
        ("/locations", "required"),
        ("/categories", "required"),
    ]
    assert codes(put(None, status=Status.ACTIVE)) == [
        ("/title", "required"),
        ("/locations", "required"),
        ("/categories", "required"),
        ("/positionType", "required"),
        ("/description", "required"),
        ("/applicantRoutingType", "required"),
    ]


def test_problems_of_fields_that_were_sent_come_first_in_the_order_of_the_body():
    body = {"applicantRoutingType": 2, "salary": {"amount": Decimal(5)}, "description": None}
    assert codes(put(None, **body, status=Status.ACTIVE)) == [
        ("/salary/period", "required"),
        ("/description", "required"),
        ("/title", "required"),
        ("/locations", "required"),
        ("/categories", "required"),
        ("/positionType", "required"),
        ("/applicationUrl", "required"),
    ]


def test_a_status_that_is_not_allowed_is_reported_beside_other_problems():
    decision = put(job(salary=None), status=Status.DRAFT, salary={})
    assert codes(decision) == [("/salary/amount", "required")]
    assert decision.conflict.target == "draft"


@pytest.mark.parametrize("by", list(ArchivedBy))
def test_who_archived_is_noted_and_forgotten_when_the_job_is_back(by):
    sent = JobInput({"status": Status.ARCHIVED})
    archived = decide(job(), sent, NOW, employer_id=9, by=by)
    assert isinstance(archived, Update)
    assert archived.job.archived_by is by
    again = decide(archived.job, sent, NOW, employer_id=9, by=ArchivedBy.EXPIRED)
    assert again == Unchanged(archived.job)
    assert put(archived.job, status=Status.ACTIVE).job.archived_by is None


def test_a_close_date_sent_with_the_publication_is_kept_even_if_it_was_the_default():
    draft = job(status=Status.DRAFT)
    published = put(draft, LATER, status=Status.ACTIVE, closeDate=draft.close_date).job
    assert (published.close_date, published.close_origin) == (draft.close_date, CloseOrigin.CHOSEN)


def test_a_null_close_date_goes_back_to_the_default():
    current = job(close_date=date(2027, 5, 1), close_origin=CloseOrigin.CHOSEN)
    update = put(current, LATER, closeDate=None)
    assert (update.job.close_date, update.job.close_origin) == (date(2027, 1, 20), CloseOrigin.DEFAULT)
    assert update.changed == ("closeDate",)


def test_sending_the_default_close_date_back_does_not_make_it_chosen():
    assert put(job(), closeDate=date(2027, 1, 20)) == Unchanged(job())


@pytest.mark.parametrize(
    ("status", "fields", "rejected"),
    [
        ("active", {"closeDate": date(2026, 11, 29)}, True),
        ("active", {"closeDate": None}, False),
        ("active", {"title": "Other"}, False),
        ("active", {"closeDate": date(2026, 12, 1)}, False),
        ("active", {"status": Status.ARCHIVED}, False),
        ("archived", {"status": Status.ACTIVE}, True),
        ("archived", {"status": Status.ACTIVE, "closeDate": date(2026, 12, 1)}, False),
        ("archived", {"closeDate": date(2020, 1, 1)}, False),
        ("draft", {"closeDate": date(2020, 1, 1)}, False),
        ("draft", {"status": Status.ACTIVE}, True),
        ("draft", {"status": Status.ACTIVE, "closeDate": None}, False),
    ],
)
def test_an_active_job_needs_a_live_close_date_if_status_or_date_change(status, fields, rejected):
    current = job(status=Status(status), close_date=date(2026, 11, 30), close_origin=CloseOrigin.CHOSEN)
    decision = put(current, LATER, **fields)
    if rejected:
        assert codes(decision) == [("/closeDate", "date_order")]
    else:
        assert isinstance(decision, Update)


def test_an_update_merges_and_says_what_changed():
    update = put(job(), LATER, title="Fitter", confidential=True, categories=(1, 2), applicantRoutingType=1)
    assert update.job == job(title="Fitter", confidential=True, categories=(1, 2))
    assert update.changed == ("title", "confidential", "categories")
    assert update.before == job()


@pytest.mark.parametrize(
    ("current", "sent", "after"),
    [
        (None, {"amount": Decimal(5), "period": 5}, Salary(Decimal(5), None, 5)),
        (Salary(Decimal(5), None, 5), {"amount": Decimal(6)}, Salary(Decimal(6), None, 5)),
        (Salary(Decimal(5), Decimal(9), 5), {"maxAmount": None}, Salary(Decimal(5), None, 5)),
        (
            Salary(Decimal(5), Decimal(9), 5),
            {"plusCommission": True},
            Salary(Decimal(5), Decimal(9), 5, True),
        ),
        (Salary(Decimal(5), None, 5), {}, Salary(Decimal(5), None, 5)),
        (Salary(Decimal(5), None, 5), None, None),
        (
            Salary(Decimal(5), Decimal(9), 5, True),
            {"amount": None, "maxAmount": None, "period": None},
            Salary(plus_commission=True),
        ),
        (None, {"plusCommission": True}, Salary(plus_commission=True)),
        (None, {"amount": Decimal(0), "period": 1}, Salary(Decimal(0), None, 1)),
        (
            None,
            {"amount": Decimal(5), "maxAmount": Decimal(5), "period": 1},
            Salary(Decimal(5), Decimal(5), 1),
        ),
    ],
)
def test_salaries_merge_like_the_top_level_does(current, sent, after):
    assert put(job(salary=current), salary=sent).job.salary == after


@pytest.mark.parametrize(
    ("current", "sent", "expected"),
    [
        (None, {}, [("/salary/amount", "required")]),
        (None, {"plusCommission": False}, [("/salary/amount", "required")]),
        (None, {"amount": Decimal(5)}, [("/salary/period", "required")]),
        (None, {"amount": Decimal(0)}, [("/salary/period", "required")]),
        (None, {"period": 1}, [("/salary/amount", "required")]),
        (None, {"period": 1, "plusCommission": True}, [("/salary/amount", "required")]),
        (None, {"maxAmount": Decimal(5), "plusCommission": True}, [("/salary/amount", "required")]),
        (Salary(Decimal(5), None, 5, True), {"amount": None}, [("/salary/amount", "required")]),
        (Salary(Decimal(5), None, 5), {"period": None}, [("/salary/period", "required")]),
        (
            Salary(Decimal(5), None, 5),
            {"maxAmount": Decimal("4.9999")},
            [("/salary/maxAmount", "out_of_range")],
        ),
        (
            Salary(Decimal(5), Decimal(9), 5),
            {"amount": Decimal("9.0001")},
            [("/salary/maxAmount", "out_of_range")],
        ),
        (Salary(plus_commission=True), {"plusCommission": False}, [("/salary/amount", "required")]),
    ],
)
def test_the_merged_salary_must_fit_together(current, sent, expected):
    assert codes(put(job(salary=current), salary=sent)) == expected


def test_locations_are_replaced_as_a_list_and_known_by_their_id():
    assert put(job(), locations=(REGINA, LAVAL)).job.locations == (REGINA, LAVAL)
    assert put(job(), locations=(REGINA, LAVAL, REGINA)).job.locations == (REGINA, LAVAL)
    assert put(job(), locations=(Location(1, "Laval", "Laval, Québec"),)) == Unchanged(job())
    assert put(job(), locations=(LAVAL, Location(1, "Laval", "Laval"))) == Unchanged(job())


def test_places_that_the_store_has_yet_to_add_differ_by_their_name():
    new, other = Location(0, "Oz", "Oz, SK"), Location(0, "Ur", "Ur, SK")
    assert put(None, **FIELDS | {"locations": (new, other, new)}).job.locations == (new, other)
    assert isinstance(put(job(), locations=(new,)), Update)


@pytest.mark.parametrize("status", list(Status))
def test_a_missing_job_is_archived_if_it_is_active(status):
    current = job(status=status)
    decision = decide_missing(current)
    if status is Status.ACTIVE:
        after = job(status=Status.ARCHIVED, archived_by=ArchivedBy.MISSING)
        assert decision == Update(current, after, ("status",))
    else:
        assert decision == Unchanged(current)


@pytest.mark.parametrize(
    ("days", "status", "closes"),
    [
        (-1, "active", True),
        (0, "active", False),
        (1, "active", False),
        (-1, "draft", False),
        (-1, "archived", False),
    ],
)
def test_a_job_is_closed_on_the_day_after_its_last(days, status, closes):
    current = job(status=Status(status), close_date=TODAY + timedelta(days=days))
    decision = decide_close(current, NOW)
    assert isinstance(decision, Update) == closes
    assert not closes or decision.job.archived_by is ArchivedBy.CLOSED


@pytest.mark.parametrize(
    ("changes", "due"),
    [
        ({}, True),
        ({"published_at": NOW.instant - timedelta(days=70)}, True),
        ({"published_at": NOW.instant - timedelta(days=7) + timedelta(microseconds=1)}, False),
        ({"auto_refresh": False}, False),
        ({"status": Status.DRAFT}, False),
        ({"status": Status.ARCHIVED}, False),
        ({"close_date": TODAY}, True),
        ({"close_date": TODAY - timedelta(days=1)}, False),
    ],
)
def test_auto_refresh_publishes_again_what_is_due(changes, due):
    current = job(**{"auto_refresh": True, "published_at": NOW.instant - timedelta(days=7)} | changes)
    decision = decide_refresh(current, NOW, timedelta(days=7))
    assert isinstance(decision, Update) == due
    if isinstance(decision, Update):
        assert decision.job == replace(current, published_at=NOW.instant, publish_date=TODAY)
        assert decision.changed == ("publishDate",)
        assert decide_refresh(decision.job, NOW, timedelta(days=7)) == Unchanged(decision.job)
