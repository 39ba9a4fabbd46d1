"""One feed row against the job that it names: the law, case by case (docs/reconciliation.md "The law")."""

from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from syncd.domain.decisions import Ownership, Reject, Unchanged, Update
from syncd.domain.feed_rows import decide_row, field_digests, row_due, value_digest
from syncd.domain.job import ArchivedBy, CloseOrigin, JobInput, Moment, Place, Salary, Status
from syncd.domain.lifecycle import default_close_date, new_job
from syncd.domain.policy import Policy
from tests.domain.jobs import FIELDS, LAVAL, NOW, TODAY

BODY = {name: value for name, value in FIELDS.items() if name not in ("status", "salary", "applicationUrl")}
OURS = Ownership(owner=5)


def in_days(days):
    return TODAY + timedelta(days=days)


def job(status="active", by=None, left=60, origin=CloseOrigin.DEFAULT, **changes):
    """A stored job as the body above makes it, with ``left`` days left."""
    made = new_job(BODY, NOW, 9)
    kept = {"status": Status(status), "archived_by": by, "close_date": in_days(left), "close_origin": origin}
    return replace(made, **{"id": 1, "version": 1, **kept, **changes})


def row(current, ownership=OURS, policy=Policy(), now=NOW, **fields):  # noqa: B008
    sent = JobInput(BODY | fields)
    return decide_row(current, sent, now, employer_id=9, feed_id=5, ownership=ownership, policy=policy)


P, M, C, X = ArchivedBy.PERSON, ArchivedBy.MISSING, ArchivedBy.CLOSED, ArchivedBy.EXPIRED
CHOSEN, DEFAULT, RENEWED = CloseOrigin.CHOSEN, CloseOrigin.DEFAULT, CloseOrigin.RENEWED


@pytest.mark.parametrize(
    ("by", "left", "origin", "sent_in", "action", "status", "close_in"),
    [
        # archived by a person or nobody knows by whom: stays
        (P, 60, CHOSEN, 70, "suppressed", "archived", 70),
        (None, 60, CHOSEN, None, "suppressed", "archived", 60),
        # archived as missing: back, and renewed at once where the next run would do it
        (M, 5, CHOSEN, None, "reactivated", "active", 5),
        (M, -1, CHOSEN, None, "reactivated", "active", 60),
        (M, 0, CHOSEN, None, "reactivated", "active", 0),
        (M, 29, DEFAULT, None, "reactivated", "active", 60),
        (M, 0, RENEWED, None, "reactivated", "active", 60),
        (M, 30, DEFAULT, None, "reactivated", "active", 30),
        (M, -1, CHOSEN, 40, "reactivated", "active", 40),
        # closed, or archived by its own row's date: back with a date of the row from today on, or by renewal
        (C, -1, CHOSEN, 0, "reactivated", "active", 0),
        (C, -1, RENEWED, None, "reactivated", "active", 60),
        (X, -1, CHOSEN, 0, "reactivated", "active", 0),
        (X, -1, CHOSEN, -1, "unchanged", "archived", -1),
        (X, -1, CHOSEN, -3, "updated", "archived", -3),
    ],
)
def test_which_archived_jobs_come_back(  # noqa: PLR0917
    by, left, origin, sent_in, action, status, close_in
):
    current = job("archived", by, left, origin)
    fields = {} if sent_in is None else {"closeDate": in_days(sent_in)}
    decided = row(current, **fields)
    after = decided.decision.job
    assert (decided.action, after.status, after.close_date) == (action, status, in_days(close_in))
    assert decided.archives is False


def test_suppressed_and_changed_is_suppressed_and_written():
    decided = row(job("archived", P), title="Fitter")
    assert decided.action == "suppressed"
    assert decided.decision.job.title == "Fitter"
    assert decided.decision.job.status is Status.ARCHIVED


@pytest.mark.parametrize(
    ("left", "origin", "renews"),
    [
        (30, DEFAULT, False),
        (29, DEFAULT, True),
        (0, DEFAULT, True),
        (-5, DEFAULT, True),
        (29, RENEWED, True),
        (30, RENEWED, False),
        (29, CHOSEN, False),
        (-1, CHOSEN, False),
    ],
)
def test_a_date_that_nobody_chose_is_renewed_while_the_feed_lists_the_job(left, origin, renews):
    current = job(left=left, origin=origin)
    decided = row(current)
    assert decided.action == ("updated" if renews else "unchanged")
    if renews:
        assert decided.decision.changed == ("closeDate",)
        assert decided.decision.job.close_date == default_close_date(NOW.today) == in_days(60)
        assert decided.decision.job.close_origin is RENEWED
        assert row(decided.decision.job).action == "unchanged"


def test_renewal_can_be_switched_off():
    off = Policy(renew=False)
    assert row(job(left=5), policy=off).action == "unchanged"
    assert row(job("archived", C, -1), policy=off).action == "unchanged"
    refused = row(job("archived", M, -1), policy=off)
    assert refused.action == "rejected"
    assert [(p.pointer, p.code) for p in refused.decision.problems] == [("/closeDate", "date_order")]


def test_a_row_with_a_date_of_its_own_is_never_renewed():
    decided = row(job(left=5), closeDate=in_days(5))
    assert decided.action == "unchanged"
    assert row(job(left=60), closeDate=in_days(5)).decision.job.close_origin is CHOSEN


def test_a_null_date_asks_for_the_default_but_does_not_undo_a_renewal():
    assert row(job(left=45, origin=RENEWED, publish_date=in_days(-50)), closeDate=None).action == "unchanged"
    reset = row(job(left=10, origin=CHOSEN), closeDate=None)
    assert (reset.decision.job.close_date, reset.decision.job.close_origin) == (in_days(60), DEFAULT)
    old = row(job(left=10, origin=CHOSEN, publish_date=in_days(-50)), closeDate=None)
    assert (old.decision.job.close_date, old.decision.job.close_origin) == (in_days(60), RENEWED)


def test_a_draft_stays_a_draft_until_the_mapping_says_otherwise():
    assert row(job("draft")).action == "unchanged"
    published = row(job("draft", left=10, publish_date=in_days(-50)), status=Status.ACTIVE)
    assert published.action == "updated"
    assert (published.decision.job.close_date, published.decision.job.close_origin) == (in_days(60), DEFAULT)
    late = row(job("draft", left=-10, origin=CHOSEN), status=Status.ACTIVE)
    assert (late.decision.job.close_date, late.decision.job.close_origin) == (in_days(60), RENEWED)


def test_an_expired_row_archives_its_job_and_counts_for_the_guard():
    decided = row(job(), closeDate=in_days(-1))
    assert (decided.action, decided.archives, decided.owns) == ("expired", True, True)
    after = decided.decision.job
    assert (after.status, after.archived_by, after.close_date) == (Status.ARCHIVED, X, in_days(-1))
    again = row(after, closeDate=in_days(-1))
    assert (again.action, again.archives) == ("unchanged", False)
    assert row(None, closeDate=in_days(-1)).owns is False
    sent_archived = row(job(), status=Status.ARCHIVED)
    assert (sent_archived.archives, sent_archived.decision.job.archived_by) == (True, P)


def test_a_row_that_expires_today_is_live():
    assert row(None, closeDate=TODAY).action == "created"
    assert row(job(), closeDate=TODAY).decision.job.status is Status.ACTIVE


def test_an_expired_row_archives_a_draft_but_not_one_that_is_sent_as_a_draft():
    archived = row(job("draft"), closeDate=in_days(-1))
    assert (archived.action, archived.archives) == ("expired", False)
    assert (
        row(job("draft", left=-1, origin=CHOSEN), closeDate=in_days(-1), status=Status.DRAFT).action
        == "unchanged"
    )


def test_expired_dates_can_be_ignored():
    ignore = Policy(expired="ignore")
    made = row(None, policy=ignore, closeDate=in_days(-1))
    assert (made.action, made.decision.job.close_date) == ("created", in_days(60))
    assert row(job(), policy=ignore, closeDate=in_days(-1)).action == "unchanged"
    assert row(job("archived", C, -1), policy=ignore, closeDate=in_days(-1)).action == "reactivated"


# --- on_api_edit = "keep" ----------------------------------------------------------------------------------

KEEP = Policy(on_api_edit="keep")


def last(**fields):
    """The store's memory of the row that this feed last sent."""
    return Ownership(owner=5, sent=field_digests(BODY | fields))


def test_what_a_person_changed_is_kept_until_the_feeds_own_value_changes():
    edited = job(title="Master welder")
    kept = row(edited, last(), KEEP)
    assert (kept.action, kept.owns) == ("unchanged", True)
    other = row(edited, last(), KEEP, description="<p>More.</p>")
    assert other.decision.changed == ("description",)
    changed = row(edited, last(), KEEP, title="Fitter")
    assert changed.decision.job.title == "Fitter"


def test_a_job_that_the_feed_does_not_own_yet_keeps_nothing():
    assert row(job(title="Other"), Ownership(), KEEP).decision.job.title == "Welder"


def test_a_field_that_the_feed_never_sent_before_is_written():
    ownership = Ownership(owner=5, sent=field_digests({"title": "Welder"}))
    assert row(job(description="x"), ownership, KEEP).decision.job.description == "<p>Weld.</p>"


def test_a_mapped_status_gives_way_to_a_person_but_not_to_the_service():
    before = last(status=Status.ACTIVE)
    kept = row(job("archived", P), before, KEEP, status=Status.ACTIVE)
    assert (kept.action, kept.decision.job.status) == ("suppressed", Status.ARCHIVED)
    assert row(job("archived", M), before, KEEP, status=Status.ACTIVE).action == "reactivated"
    published = row(job(), last(status=Status.DRAFT), KEEP, status=Status.DRAFT, title="Fitter")
    assert (published.action, published.decision.job.status) == ("suppressed", Status.ACTIVE)


def test_a_close_date_that_a_person_moved_holds_off_the_rows_expiry():
    before = last(closeDate=in_days(-1))
    moved = row(job(left=20, origin=CHOSEN), before, KEEP, closeDate=in_days(-1))
    assert (moved.action, moved.decision.job.close_date) == ("unchanged", in_days(20))
    untouched = row(job(left=-1, origin=CHOSEN), before, KEEP, closeDate=in_days(-1))
    assert untouched.action == "expired"


# --- when a row that stays the same results in something else ----------------------------------------------


@pytest.mark.parametrize(
    ("current", "fields", "policy", "due"),
    [
        (job(left=60), {}, Policy(), 31),
        (job(left=60, origin=RENEWED), {}, Policy(), 31),
        (job(left=60), {}, Policy(renew=False), None),
        (job(left=60, origin=CHOSEN), {}, Policy(), None),
        (job(left=40, origin=CHOSEN), {"closeDate": in_days(40)}, Policy(), 41),
        (job(left=40, origin=CHOSEN), {"closeDate": in_days(40)}, Policy(expired="ignore", renew=False), 41),
        (job("archived", X, -1), {"closeDate": in_days(-1)}, Policy(), None),
        (job("draft"), {}, Policy(), None),
    ],
)
def test_a_row_is_due_on_the_first_day_on_which_the_row_changes_something(current, fields, policy, due):
    day = row_due(JobInput(BODY | fields), current, policy, NOW)
    assert day == (None if due is None else in_days(due))
    if due is not None and policy.renew:
        eve = Moment(NOW.instant + timedelta(days=due - 1), in_days(due - 1))
        itself = Moment(NOW.instant + timedelta(days=due), in_days(due))
        assert row(current, now=eve, policy=policy, **fields).action == "unchanged"
        assert row(current, now=itself, policy=policy, **fields).action != "unchanged"


def test_the_last_day_of_the_calendar_is_never_due():
    assert row_due(JobInput({"closeDate": date.max}), job(close_date=date.max), Policy(), NOW) is None


# --- the law as a property ---------------------------------------------------------------------------------

rows = st.fixed_dictionaries(
    {},
    optional={
        "title": st.sampled_from(["Welder", "Fitter"]),
        "status": st.sampled_from(list(Status)),
        "closeDate": st.none() | st.integers(-3, 70).map(in_days),
        "salary": st.sampled_from([None, {"amount": Decimal(5), "period": 1}, {"plusCommission": True}]),
    },
)
currents = st.builds(
    job,
    status=st.sampled_from(["active", "draft", "archived"]),
    by=st.sampled_from(list(ArchivedBy)),
    left=st.integers(-5, 70),
    origin=st.sampled_from(list(CloseOrigin)),
    publish_date=st.integers(-90, 0).map(in_days),
).map(lambda made: made if made.status is Status.ARCHIVED else replace(made, archived_by=None))
policies = st.builds(
    Policy,
    expired=st.sampled_from(["archive", "ignore"]),
    renew=st.booleans(),
    on_api_edit=st.sampled_from(["overwrite", "keep"]),
)


@given(st.none() | currents, rows, policies)
def test_the_same_row_twice_writes_once(current, fields, policy):
    first = row(current, policy=policy, **fields)
    if first.decision is None or isinstance(first.decision, Reject):
        return
    after = replace(first.decision.job, id=1)
    ownership = Ownership(owner=5, sent=field_digests(BODY | fields))
    second = row(after, ownership, policy, **fields)
    assert second.decision == Unchanged(after)
    assert second.action in ("unchanged", "suppressed")


@given(currents, rows, policies)
def test_what_a_row_counts_as_is_what_it_did(current, fields, policy):
    decided = row(current, policy=policy, **fields)
    if isinstance(decided.decision, Reject):
        assert decided.action == "rejected"
        assert not decided.owns
        return
    after = decided.decision.job
    went = current.status is Status.ACTIVE and after.status is Status.ARCHIVED
    back = current.status is Status.ARCHIVED and after.status is Status.ACTIVE
    assert decided.archives == went
    assert (decided.action == "reactivated") == back
    assert isinstance(decided.decision, Update) or decided.action in ("unchanged", "suppressed")
    # Only a mapping that says so brings back what a person archived.
    if back and current.archived_by is ArchivedBy.PERSON:
        assert fields["status"] is Status.ACTIVE
    # A job that a row leaves active by its own doing has a live date.
    if back:
        assert after.close_date >= TODAY


# --- digests of field values


def test_digests_are_stable_and_short_and_differ_for_different_values():
    values = [
        None,
        "",
        "1",
        1,
        True,
        False,
        Decimal("1.1"),
        TODAY,
        TODAY.isoformat(),
        (1,),
        (1, 2),
        ("1", "2"),
        {"amount": Decimal(1)},
        {"amount": None},
        Salary(Decimal(1), None, 1),
        (LAVAL,),
        (Place("Laval"),),
        "x" * 5000,
        "x" * 5001,
    ]
    digests = [value_digest(value) for value in values]
    assert len(set(digests)) == len(values)
    assert max(map(len, digests)) <= 18
    # Stored by one version of the program, compared by the next.
    assert value_digest("x" * 5000) == "2b97adc3fd645d87fb"
    assert value_digest(Decimal("1.50")) == "=n1.5"


def test_equal_values_have_equal_digests():
    assert value_digest(Decimal("1.50")) == value_digest(Decimal("1.5"))
    assert value_digest(Decimal(1)) == value_digest(1)
    assert value_digest((Place("Laval", "QC"),)) == value_digest((LAVAL,))
    assert value_digest({"a": 1, "b": 2}) == value_digest({"b": 2, "a": 1})
    assert value_digest(Status.ACTIVE) == value_digest("active")
    full = {"amount": Decimal("5.0"), "maxAmount": None, "period": 5, "plusCommission": False}
    assert value_digest(full) == value_digest(Salary(Decimal(5), None, 5))


def test_digests_by_wire_name():
    assert field_digests({"title": "Welder"}) == {"title": value_digest("Welder")}
    with pytest.raises(TypeError):
        value_digest(1.5)
