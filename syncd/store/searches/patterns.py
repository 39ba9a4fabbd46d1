"""A search among many jobs asks the patterns of their texts first (``TextPatterns``), which are far fewer.

They are in the memory of the process, and are counted beside the searches, once an employer with many jobs has been searched:
``count_patterns`` reads its jobs once, and follows their changes afterwards. A search that comes soon after a change follows it
itself. Where the patterns do not say what has a term, or are behind, the search counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sqlmodel import select

from syncd.domain import search_text
from syncd.store.database import Asked
from syncd.store.model import JobRow, Statement, matching
from syncd.store.search_memory import JobsWith, KnownPatterns, SearchMemory, SearchState, TextPatterns
from syncd.store.searches.changes import CHECKED, changed
from syncd.store.searches.state import state_of
from syncd.store.transactions import Tx

#: An employer's jobs up to which a search is quick enough without.
MANY = 20_000
#: Changes that ``count_patterns`` follows. If there are more, it counts anew.
BEHIND = 20_000
#: Jobs that are read at a time.
BATCH = 1_000

_SEARCHED = Statement(select(JobRow.search, JobRow.status).where(*matching(JobRow.employer_id)))
Read = Callable[[Callable[[Tx], None]], None]


def having(tx: Tx, asked: Asked, state: SearchState, among: int) -> JobsWith | None:
    """Return what the patterns say of the jobs that are searched, in ``state``, which ``tx`` sees. ``among``: how many
    jobs the employer has. None: nothing."""
    if tx.search_memory is None or among <= MANY:
        return None
    known = tx.search_memory.patterns.get(asked.employer_id)
    if known is None or not known.lock.acquire(blocking=False):
        return None
    try:
        if not _follow(tx, asked.employer_id, known, state, CHECKED):
            return None
        found = known.patterns.having(asked.term, asked.status)
    finally:
        known.lock.release()
    if found is None or asked.most is None:
        return found
    return found._replace(total=min(found.total, asked.most + 1))


def count_patterns(read: Read, memory: SearchMemory, go_on: Callable[[], bool]) -> None:
    """Count the patterns of the employers that are searched, as far as their jobs have changed. ``go_on`` is asked now and then
    whether to. Raises what ``read`` raises."""
    for employer_id, known in memory.patterns.all():
        if go_on():
            read(partial(_count, employer_id=employer_id, known=known, go_on=go_on))


def _count(tx: Tx, *, employer_id: int, known: KnownPatterns | None, go_on: Callable[[], bool]) -> None:
    assert tx.search_memory is not None
    state = state_of(tx)
    if known is not None:
        with known.lock:
            if not known.patterns.usable or _follow(tx, employer_id, known, state, BEHIND):
                return
    patterns = TextPatterns()
    for number, (search, status) in enumerate(tx.each(_SEARCHED, employer_id=employer_id), start=1):
        patterns.add(search, status)
        if not patterns.usable:
            break
        if not number % BATCH and not go_on():
            return
    tx.search_memory.patterns.keep(employer_id, KnownPatterns(state, patterns))


def _follow(tx: Tx, employer_id: int, known: KnownPatterns, now: SearchState, most: int) -> bool:
    """Bring the patterns into the state ``now``. Return False if that needs more than ``most`` changes, or is not known."""
    newer = now.change - known.state.change
    if known.state.since != now.since or not 0 <= newer <= most:
        return False
    if newer:
        before, after = changed(tx, employer_id, known.state, now)
        for jobs, note in ((before, known.patterns.remove), (after, known.patterns.add)):
            for job in jobs.values():
                if job is not None:
                    note(search_text(job["title"], job["referenceId"]), job["status"])
        known.state = now
    return True
