"""The laws that every merge keeps."""

from datetime import timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from syncd.domain.decisions import Reject, Unchanged
from syncd.domain.job import Moment, Status
from syncd.domain.job_fields import ADDRESSES, ATTRIBUTES, SALARY_ATTRIBUTES, check_job
from tests.domain.jobs import FIELDS, LATER, LAVAL, NOW, REGINA, TODAY, job, put, stored

days = st.dates(TODAY - timedelta(days=100), TODAY + timedelta(days=200))
amounts = st.sampled_from([None, Decimal(0), Decimal("1.5"), Decimal(20)])
salaries = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "amount": amounts,
        "maxAmount": amounts,
        "period": st.sampled_from([None, 1, 5]),
        "plusCommission": st.booleans(),
    },
)
bodies = st.fixed_dictionaries(
    {},
    optional={
        "referenceId": st.sampled_from([None, "A-1", "B"]),
        "title": st.sampled_from(["Welder", "Fitter"]),
        "closeDate": st.none() | days,
        "confidential": st.booleans(),
        "autoRefresh": st.booleans(),
        "status": st.sampled_from(list(Status)),
        "locations": st.lists(st.sampled_from([LAVAL, REGINA]), min_size=1, max_size=3).map(tuple),
        "categories": st.sampled_from([(1,), (1, 2)]),
        "positionType": st.sampled_from([None, 1, 2]),
        "salary": salaries,
        "description": st.sampled_from([None, "<p>x</p>", "y"]),
        "applicantRoutingType": st.sampled_from([None, 1, 2]),
        "applicationEmail": st.sampled_from([None, "a@example.com"]),
        "applicationUrl": st.sampled_from([None, "https://example.com"]),
    },
)


@st.composite
def jobs(draw):
    """A job that came about by creating and updating, at moments that pass."""
    body = FIELDS | draw(bodies)
    decision = put(None, **body)
    current = job() if isinstance(decision, Reject) else stored(decision)
    for n in range(draw(st.integers(0, 3))):
        now = Moment(NOW.instant + timedelta(days=9 * n), TODAY + timedelta(days=9 * n))
        decision = put(current, now, **draw(bodies))
        current = current if isinstance(decision, Reject) else stored(decision)
    return current


@given(jobs(), bodies)
def test_deciding_again_after_applying_changes_nothing(current, body):
    decision = put(current, LATER, **body)
    if not isinstance(decision, Reject):
        after = stored(decision)
        assert put(after, LATER, **body) == Unchanged(after)


@given(jobs(), bodies)
def test_an_update_changes_only_what_it_says_and_only_what_was_sent(current, body):
    decision = put(current, LATER, **body)
    if isinstance(decision, Reject):
        return
    changed = {n for n, a in ATTRIBUTES.items() if getattr(current, a) != getattr(decision.job, a)}
    if decision.job.published_at != current.published_at:
        changed.add("publishDate")
        assert current.status is Status.DRAFT
        assert decision.job.status is Status.ACTIVE
    assert set(getattr(decision, "changed", ())) == changed
    extra = changed - set(body)
    assert extra <= ({"publishDate", "closeDate"} if "publishDate" in changed else set())
    assert isinstance(decision, Unchanged) == (not changed)


@given(jobs(), bodies)
def test_what_is_accepted_echoes_what_was_sent_and_keeps_every_rule(current, body):
    decision = put(current, LATER, **body)
    if isinstance(decision, Reject):
        assert decision.problems or decision.conflict
        return
    after = decision.job
    dated = (after.status, after.close_date) != (current.status, current.close_date)
    assert check_job(after, body, LATER.today if dated else None) == []
    for name, attribute in (("title", "title"), ("status", "status"), ("description", "description")):
        assert name not in body or getattr(after, attribute) == body[name]
    if body.get("closeDate"):
        assert after.close_date == body["closeDate"]


@given(jobs(), bodies, bodies)
def test_two_updates_of_different_fields_can_be_sent_as_one(current, one, two):
    # Close date, status and the routing group belong together; all else is independent.
    tied = {"closeDate", "status", "applicantRoutingType", "applicationEmail", "applicationUrl"}
    two = {name: value for name, value in two.items() if name not in one and name not in tied}
    first = put(current, LATER, **one)
    if isinstance(first, Reject):
        return
    second = put(stored(first), LATER, **two)
    if isinstance(second, Reject):
        return
    together = put(current, LATER, **one, **two)
    if not isinstance(together, Reject):
        assert replace(stored(together), version=0) == replace(stored(second), version=0)


@given(jobs())
def test_a_job_sent_back_as_it_was_read_changes_nothing(current):
    body = {name: getattr(current, attribute) for name, attribute in ATTRIBUTES.items()}
    if current.salary is not None:
        body["salary"] = {n: getattr(current.salary, a) for n, a in SALARY_ATTRIBUTES.items()}
    for field in ADDRESSES:  # the one that is not in force is shown as null
        if field.routing != current.routing:
            body[field.name] = None
    now = Moment(NOW.instant, min(TODAY, current.close_date))
    assert put(current, now, **body) == Unchanged(current)
