"""The life of a job: creation, merge, transitions, close dates, refresh, reverts."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from syncd.domain.decisions import Reject, Unchanged, Update
from syncd.domain.job import ArchivedBy, JobInput, Moment, Salary, Status
from syncd.domain.lifecycle import PastChange, decide, decide_revert, new_job
from tests.domain.jobs import FIELDS, NOW, job, put


def codes(decision):
    assert isinstance(decision, Reject)
    return [(p.pointer, p.code) for p in decision.problems]


def test_the_default_close_date_does_not_fall_off_the_calendar():
    last = Moment(datetime(9999, 12, 1, tzinfo=UTC), date(9999, 12, 1))
    assert put(None, last, **FIELDS).job.close_date == date.max


@pytest.mark.parametrize("by", list(ArchivedBy))
def test_who_archived_is_noted_and_forgotten_when_the_job_is_back(by):
    sent = JobInput({"status": Status.ARCHIVED})
    archived = decide(job(), sent, NOW, employer_id=9, by=by)
    assert isinstance(archived, Update)
    assert archived.job.archived_by is by
    again = decide(archived.job, sent, NOW, employer_id=9, by=ArchivedBy.EXPIRED)
    assert again == Unchanged(archived.job)
    assert put(archived.job, status=Status.ACTIVE).job.archived_by is None


@pytest.mark.parametrize("by", list(ArchivedBy))
@pytest.mark.parametrize("status", list(Status))
def test_a_new_job_says_who_keeps_it_off_the_board(status, by):
    kept = status is Status.ARCHIVED or (status is Status.DRAFT and by is ArchivedBy.MISSING)
    assert new_job(FIELDS | {"status": status}, NOW, 9, by=by).archived_by is (by if kept else None)


ZERO, FIVE, SIX, NINE = map(Decimal, (0, 5, 6, 9))


@pytest.mark.parametrize(
    ("current", "sent", "after"),
    [
        (None, {"amount": FIVE, "period": 5}, Salary(FIVE, None, 5)),
        (Salary(FIVE, None, 5), {"amount": SIX}, Salary(SIX, None, 5)),
        (Salary(FIVE, NINE, 5), {"maxAmount": None}, Salary(FIVE, None, 5)),
        (Salary(FIVE, NINE, 5), {"plusCommission": True}, Salary(FIVE, NINE, 5, True)),
        (Salary(FIVE, None, 5), {}, Salary(FIVE, None, 5)),
        (Salary(FIVE, None, 5), None, None),
        (
            Salary(FIVE, NINE, 5, True),
            {"amount": None, "maxAmount": None, "period": None},
            Salary(plus_commission=True),
        ),
        (None, {"plusCommission": True}, Salary(plus_commission=True)),
        (None, {"amount": ZERO, "period": 1}, Salary(ZERO, None, 1)),
        (None, {"amount": FIVE, "maxAmount": FIVE, "period": 1}, Salary(FIVE, FIVE, 1)),
    ],
)
def test_salaries_merge_like_the_top_level_does(current, sent, after):
    assert put(job(salary=current), salary=sent).job.salary == after


@pytest.mark.parametrize(
    ("current", "sent", "expected"),
    [
        (None, {}, [("/salary/amount", "required")]),
        (None, {"plusCommission": False}, [("/salary/amount", "required")]),
        (None, {"amount": FIVE}, [("/salary/period", "required")]),
        (None, {"amount": ZERO}, [("/salary/period", "required")]),
        (None, {"period": 1}, [("/salary/amount", "required")]),
        (None, {"period": 1, "plusCommission": True}, [("/salary/amount", "required")]),
        (None, {"maxAmount": FIVE, "plusCommission": True}, [("/salary/amount", "required")]),
        (Salary(FIVE, None, 5, True), {"amount": None}, [("/salary/amount", "required")]),
        (Salary(FIVE, None, 5), {"period": None}, [("/salary/period", "required")]),
        (Salary(FIVE, None, 5), {"maxAmount": Decimal("4.9999")}, [("/salary/maxAmount", "out_of_range")]),
        (Salary(FIVE, NINE, 5), {"amount": Decimal("9.0001")}, [("/salary/maxAmount", "out_of_range")]),
        (Salary(plus_commission=True), {"plusCommission": False}, [("/salary/amount", "required")]),
    ],
)
def test_the_merged_salary_must_fit_together(current, sent, expected):
    assert codes(put(job(salary=current), salary=sent)) == expected


# -- a revert of one job: several changes in one run -------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "title"),
    [
        ([(True, "A"), (True, "B")], "A"),  # of several changes in one run the first counts
        (
            [(True, "A"), (False, "B"), (True, "C")],
            "C",
        ),  # a change of others between two of the run comes back
    ],
)
def test_a_revert_puts_back_what_was_before_the_run(before, title):
    changes = [PastChange(undone, {"title": old}) for undone, old in before]
    decision = decide_revert(job(title="D"), changes).decision
    assert isinstance(decision, Update)
    assert (decision.job.title, decision.changed) == (title, ("title",))


def test_of_a_new_job_that_the_run_changed_again_only_the_status_changes():
    changes = [PastChange(True, None), PastChange(True, {"title": "A"})]
    decision = decide_revert(job(title="B"), changes).decision
    assert isinstance(decision, Update)
    after = decision.job
    assert (after.title, after.status, after.archived_by) == ("B", Status.ARCHIVED, ArchivedBy.MISSING)
