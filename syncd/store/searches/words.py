"""A search among many jobs asks the words of their texts first (``TextWords``), which are far fewer.

They are in the memory of the process. ``count_words`` reads the jobs of an employer with many jobs in the background, a few in
each transaction, so that none is open for long. After that it follows their changes. For an employer that nobody has searched
yet, it does both only while few jobs change, so that an import is not slowed. A search that comes soon after a change follows it
itself. If the words cannot answer, or are too far behind, the search counts as before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from typing import Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy import bindparam
from sqlmodel import col, select

from syncd.store.database import Asked
from syncd.store.model import JobRow, JobTotal, Statement, TextContains, among
from syncd.store.search_memory import EMPLOYERS, CountedJob, JobsWith, KnownWords, SearchMemory, SearchState
from syncd.store.searches.changes import CHECKED, SearchedJob, changed_jobs
from syncd.store.searches.state import state_of
from syncd.store.transactions import Tx

T = TypeVar("T")

#: An employer's jobs up to which a search is quick enough without.
MANY = 20_000
#: Changes of an employer's jobs that ``count_words`` follows. If there are more, it counts anew.
BEHIND = 10_000
#: Transactions between two looks at whether many jobs change.
LOOK = 100
#: Seconds that a search waits while another one follows changes.
LONGEST_WAIT = 0.05
#: Jobs that are read in one transaction, which takes 10 to 30 ms, in which requests have half of the interpreter.
BATCH = 500

#: In the order of ids, in which bitmaps grow at their ends. (+ 0: no index of the employer's jobs, which have other orders.)
_NEXT = Statement(
    sa.select(col(JobRow.id), col(JobRow.search), col(JobRow.status), col(JobRow.published_at))
    .where(col(JobRow.employer_id) + 0 == bindparam("employer_id"), col(JobRow.id) > bindparam("after"))
    .order_by(col(JobRow.id))
    .limit(bindparam("limit"))
)
_HAVING = Statement(
    select(JobRow.id).where(
        among(JobRow.id, "ids"), TextContains(col(JobRow.search), bindparam("term", type_=sa.Text()))
    )
)
_jobs = sa.func.sum(col(JobTotal.n))
_LARGE = Statement(
    sa.select(col(JobTotal.employer_id))
    .group_by(col(JobTotal.employer_id))
    .having(_jobs > bindparam("many"))
    .order_by(_jobs.desc())
    .limit(bindparam("limit"))
)


class Read(Protocol):
    """Runs a function in a transaction that reads."""

    def __call__(self, fn: Callable[[Tx], T], /) -> T: ...


def having(tx: Tx, asked: Asked, state: SearchState, *, jobs: int, first: int) -> JobsWith | None:
    """Return what the words say of the jobs that are searched, in ``state``, which ``tx`` sees: their number, and if the words
    know ids the ``first`` ones, or more. ``jobs``: how many the employer has. None: they cannot say."""
    if tx.search_memory is None or jobs <= MANY:
        return None
    known = tx.search_memory.words.get(asked.employer_id)
    if known is None or known.counted is not None or not known.lock.acquire(timeout=LONGEST_WAIT):
        return None
    try:
        newer = state.changes_after(known.state)
        if known.counted is not None or newer is None or newer > CHECKED:
            return None
        if newer and not _follow(tx, asked.employer_id, known, state, newer):
            return None
        found = known.words.having(asked.term, asked.status, first=first)
    finally:
        known.lock.release()
    if found is not None and found.undecided:
        found = found.decided(tx.scalars(_HAVING, ids=list(found.undecided), term=asked.term))
    if found is None or asked.most is None:
        return found
    return found._replace(total=min(found.total, asked.most + 1))


def count_words(read: Read, memory: SearchMemory, go_on: Callable[[], bool]) -> None:
    """Count the words of the employers with many jobs, or follow the changes since. ``go_on`` says before each transaction
    whether to continue. Raises what ``read`` raises."""
    if not go_on():
        return
    while memory.words.free_some() and go_on():
        pass
    steps, few = count(1), read(_note_large_employers)
    for employer_id in memory.words.all():
        while (few or memory.words.is_searched(employer_id)) and go_on():
            if not read(partial(_count_some, employer_id=employer_id)):
                break
            if next(steps) % LOOK == 0:
                few = read(_note_large_employers)


def _note_large_employers(tx: Tx) -> bool:
    """Note which employers have many jobs. Return whether few changes were made since the last time."""
    memory = tx.search_memory
    assert memory is not None
    before, now = memory.words.seen, state_of(tx)
    if now != before:
        memory.words.seen = now
        memory.words.expect(tx.scalars(_LARGE, many=MANY, limit=EMPLOYERS))
    newer = now.changes_after(before) if before is not None else 0
    return newer is not None and newer <= CHECKED


def _count_some(tx: Tx, employer_id: int) -> bool:
    """Bring the words of an employer up to the state that ``tx`` sees, and count some jobs more. Return whether there are
    more."""
    memory = tx.search_memory
    assert memory is not None
    state = state_of(tx)
    counted = memory.words.all()
    if employer_id not in counted:
        return False
    known = counted[employer_id]
    if known is None:
        known = KnownWords(state)
        memory.words.keep(employer_id, known)
    elif known.state == state and known.counted is None and not known.words.to_be_counted_anew:
        return False
    with known.lock:
        words = known.words
        anew = words.to_be_counted_anew
        if not (words.usable or anew) or known.state.changes_after(state):
            return False  # they are given up, or a search has followed later changes already
        newer = state.changes_after(known.state)
        if anew or newer is None or not _follow(tx, employer_id, known, state, newer):
            new = KnownWords(state, random_references=words.random_references)
            memory.words.keep(employer_id, new)
            return True
        if known.counted is not None:
            _add_some(tx, employer_id, known)
        return known.counted is not None or words.to_be_counted_anew


def _follow(tx: Tx, employer_id: int, known: KnownWords, now: SearchState, newer: int) -> bool:
    """Bring the words into the state ``now``, ``newer`` changes later. Return False if too many are of the employer."""
    changed = changed_jobs(tx, employer_id, known.state, newer, most=BEHIND)
    if changed is None:
        return False
    before, after = (_counted(known, jobs) for jobs in changed)
    known.words.change(before, after)
    known.state = now
    return True


def _counted(known: KnownWords, jobs: Mapping[int, SearchedJob]) -> dict[int, CountedJob]:
    """Return by id those of ``jobs`` that are counted."""
    counted = known.counted
    return {
        job_id: CountedJob(job.text, job.status, job.published_at)
        for job_id, job in jobs.items()
        if counted is None or job_id <= counted
    }


def _add_some(tx: Tx, employer_id: int, known: KnownWords) -> None:
    assert known.counted is not None
    found = tx.all(_NEXT, employer_id=employer_id, after=known.counted, limit=BATCH)
    known.words.add({job_id: CountedJob(search, status, at) for job_id, search, status, at in found})
    last = found[-1][0] if len(found) == BATCH else None
    known.counted = last if known.words.usable else None
