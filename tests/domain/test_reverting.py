"""A revert of one job: several changes in one run, and rules that it would break."""

from typing import Any

from msgspec.structs import replace

from syncd.domain import (
    ArchivedBy,
    Job,
    PastChange,
    Status,
    Update,
    decide_revert,
)
from tests.domain.jobs import FIELDS, put, stored

MINE, OTHER = True, False


def a_job(**attributes: Any) -> Job:
    return replace(stored(put(None, **FIELDS)), **attributes)


def change(undone: bool, **before: Any) -> PastChange:
    return PastChange(undone, before)


def test_of_several_changes_in_one_run_the_first_counts():
    decided = decide_revert(a_job(title="C"), [change(MINE, title="A"), change(MINE, title="B")])
    assert isinstance(decided.decision, Update)
    assert (decided.decision.job.title, decided.decision.changed) == ("A", ("title",))


def test_a_change_of_others_between_two_of_the_run_is_what_comes_back():
    changes = [change(MINE, title="A"), change(OTHER, title="B"), change(MINE, title="C")]
    assert decide_revert(a_job(title="D"), changes).decision.job.title == "C"  # type: ignore[union-attr]


def test_of_a_new_job_that_the_run_changed_again_only_the_status_changes():
    decided = decide_revert(a_job(title="B"), [PastChange(MINE, None), change(MINE, title="A")])
    assert isinstance(decided.decision, Update)
    job = decided.decision.job
    assert (job.title, job.status, job.archived_by) == ("B", Status.ARCHIVED, ArchivedBy.MISSING)
