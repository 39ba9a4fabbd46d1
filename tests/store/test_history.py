"""The history of a job, page by page: each change with the job as it was on either side."""

from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from syncd.domain import ArchivedBy, Job, Salary, Status
from syncd.store import Store, history, jobs
from syncd.store.jobs.writing import WHOLE_EVERY
from tests.amounts import some
from tests.store.board import changes_of

CHANGES = 3 * WHOLE_EVERY + 5


@pytest.fixture
def states(board):
    """A job's states from the first to the last: all kinds of fields change, now the one and now the other."""
    states = [board.create(reference_id="R")]
    for number in range(1, CHANGES):
        job = states[-1]
        if number % 7 == 3:
            archived = job.status is Status.ARCHIVED
            changed = (
                board.update(job, status=Status.ACTIVE, archived_by=None)
                if archived
                else board.archive(job, ArchivedBy.PERSON)
            )
        elif number % 7 == 5:
            changed = board.update(
                job, salary=Salary(Decimal(number), None, 1, False) if number % 2 else None
            )
        elif number % 7 == 6:
            changed = board.update(job, published_at=job.published_at + timedelta(hours=1))
        else:
            changed = board.update(
                job, title=f"Title {number}", description=None if number % 2 else "<p>x</p>"
            )
        states.append(changed)
    return states


def pages(store: Store, job: Job, size: int) -> list[tuple[Job | None, Job | None]]:
    """Return the job on either side of each change, oldest first."""
    sides: list[tuple[Job | None, Job | None]] = []
    number = 0
    while True:
        number += 1
        total, steps = store.read(
            partial(history.page, employer_id=job.employer_id, job_id=job.id, page=number, page_size=size)
        )
        if not steps:
            assert len(sides) == total
            return sides[::-1]
        sides += [(step.before, step.after) for step in steps]


@pytest.mark.parametrize("size", some([7, 1, 10, 100], 1))
@pytest.mark.parametrize("whole", [True, False], ids=["with whole states", "as older versions wrote it"])
@pytest.mark.parametrize("deleted", [True, False], ids=["deleted", "there"])
def test_every_page_knows_the_job_as_it_was_then(  # noqa: PLR0917
    store, board, states, size, whole, deleted
):
    if deleted:
        board.delete(states[-1])
    if not whole:
        store.write(lambda tx: tx.execute("UPDATE history SET state = NULL"))
    expected: list[tuple[Job | None, Job | None]] = [*zip([None, *states], states, strict=False)]
    expected += [(states[-1], None)] if deleted else []
    assert pages(store, states[0], size) == expected


@pytest.mark.parametrize("page", [1, 2, 5, 10])
def test_a_page_is_read_without_all_that_came_after_it(store, states, page, monkeypatch):
    read, entry = [], history._ENTRY._build

    def counted(*row: Any) -> history.HistoryEntry:
        read.append(row)
        return entry(*row)

    monkeypatch.setattr(history._ENTRY, "_build", counted)
    job = states[0]
    store.read(lambda tx: history.page(tx, job.employer_id, job.id, page=page, page_size=10))
    assert len(read) < 10 + WHOLE_EVERY + 1
    assert page > 1 or len(read) == 10


def test_an_entry_has_what_changed_also_where_the_whole_job_is_kept(store, employer, states):
    entries = changes_of(store, employer.id, states[0].id)
    kept = store.read(
        lambda tx: tx.execute(
            "SELECT version FROM history WHERE state IS NOT NULL ORDER BY version"
        ).fetchall()
    )
    assert [row[0] for row in kept] == [WHOLE_EVERY * n for n in (1, 2, 3)]
    [entry] = [entry for entry in entries if entry.version == WHOLE_EVERY]
    before, after = states[WHOLE_EVERY - 2 : WHOLE_EVERY]
    assert replace(after, version=before.version, **entry.attributes) == before
    assert len(entry.attributes) < 4
    assert store.read(lambda tx: jobs.get(tx, employer.id, states[0].id)) == states[-1]
