"""A revert of one job: several changes in one run, and rules that it would break."""

from typing import Any

import pytest
from msgspec.structs import replace

from syncd.domain import (
    ArchivedBy,
    CloseOrigin,
    Job,
    PastChange,
    Reject,
    Status,
    Unchanged,
    Update,
    decide_revert,
)
from tests.domain.jobs import FIELDS, put, stored

MINE, OTHER = True, False


def a_job(**attributes: Any) -> Job:
    return replace(stored(put(None, **FIELDS)), **attributes)


def change(undone: bool, **before: Any) -> PastChange:
    return PastChange(undone, before)


def test_of_several_changes_in_one_run_the_first_counts() -> None:
    decided = decide_revert(a_job(title="C"), [change(MINE, title="A"), change(MINE, title="B")])
    assert isinstance(decided.decision, Update)
    assert (decided.decision.job.title, decided.decision.changed) == ("A", ("title",))


def test_a_change_of_others_between_two_of_the_run_is_what_comes_back() -> None:
    changes = [change(MINE, title="A"), change(OTHER, title="B"), change(MINE, title="C")]
    assert decide_revert(a_job(title="D"), changes).decision.job.title == "C"  # type: ignore[union-attr]


def test_of_a_new_job_that_the_run_changed_again_only_the_status_changes() -> None:
    decided = decide_revert(a_job(title="B"), [PastChange(MINE, None), change(MINE, title="A")])
    assert isinstance(decided.decision, Update)
    job = decided.decision.job
    assert (job.title, job.status, job.archived_by) == ("B", Status.ARCHIVED, ArchivedBy.MISSING)


@pytest.mark.parametrize(("now", "stays"), [("C", ("title",)), ("A", ())])
def test_what_others_changed_since_stays_and_is_named_if_it_differs(now: str, stays: tuple[str, ...]) -> None:
    decided = decide_revert(a_job(title=now), [change(MINE, title="A"), change(OTHER, title="B")])
    assert isinstance(decided.decision, Unchanged)
    assert decided.stays == stays


def test_a_new_job_whose_status_others_changed_stays() -> None:
    changes = [PastChange(MINE, None), change(OTHER, status=Status.DRAFT)]
    decided = decide_revert(a_job(), changes)
    assert (type(decided.decision), decided.stays) == (Unchanged, ("status",))


def test_a_status_comes_back_with_its_reason_and_a_date_with_its_origin() -> None:
    before = a_job(status=Status.ARCHIVED, archived_by=ArchivedBy.PERSON, close_origin=CloseOrigin.RENEWED)
    run = change(
        MINE,
        status=before.status,
        archived_by=before.archived_by,
        close_date=before.close_date,
        close_origin=before.close_origin,
    )
    now = replace(before, status=Status.ACTIVE, archived_by=None, close_origin=CloseOrigin.CHOSEN)
    assert decide_revert(now, [run]).decision.job == before  # type: ignore[union-attr]


def test_an_active_job_becomes_a_draft_again() -> None:
    decided = decide_revert(a_job(), [change(MINE, status=Status.DRAFT, archived_by=None)])
    assert decided.decision.job.status is Status.DRAFT  # type: ignore[union-attr]


def test_values_that_do_not_fit_together_any_more_are_refused() -> None:
    """The run changed the routing to a web page; then a person removed the address for e-mails."""
    job = a_job(routing=2, application_url="https://x.example", application_email=None)
    changes = [change(MINE, routing=1), change(OTHER, application_email="a@x.example")]
    decided = decide_revert(job, changes)
    assert isinstance(decided.decision, Reject)
    assert [problem.pointer for problem in decided.decision.problems] == ["/applicationEmail"]
