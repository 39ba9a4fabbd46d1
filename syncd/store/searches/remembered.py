"""Searches that remember what they found.

To count what a term is in is what a search costs; the next page of it, or the same search of somebody else, need not count
again. An answer is never used by its age: each search reads in its own snapshot the number of the last entry of the history,
which every change of a job writes in its own transaction, whatever process it is of. If there are newer entries than when the
answer was found, and they are not many, they say what has become of it (``changes``).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace

from syncd.store.database import FIRST, Asked, Found
from syncd.store.search_memory import RARE, SearchMemory, SearchState
from syncd.store.searches.changes import follow
from syncd.store.searches.state import state_of
from syncd.store.searches.words import having
from syncd.store.transactions import Tx

#: An employer's jobs up to which a search is quick enough without.
FEW = 2_000
#: Characters of the longest term that is remembered.
LONGEST = 200


def find(tx: Tx, asked: Asked, *, page: int, size: int, among: int) -> tuple[int, Sequence[int]]:
    """Return how many jobs a search finds, and the ids of a page of them: see ``Search.find``."""
    memory = tx.search_memory
    if memory is None or among <= FEW or len(asked.term) > LONGEST:
        found, ids = tx.search.find(tx, asked, page=page, size=size, among=among)
        return found.total, ids
    state = state_of(tx)
    known = _recall(tx, memory, asked, state)
    if known is not None and (kept := known.page(page, size, asked.most)) is not None:
        return known.total, kept
    total = None if known is None else known.total
    rare = total is None or total <= RARE
    counted = having(tx, asked, state, jobs=among, first=page * size) if rare else None
    if counted is not None and counted.ids is not None:
        ids = Found(counted.total, counted.ids).page(page, size, asked.most) or ()
        found = Found(counted.total, array("q", counted.ids[:FIRST]))
    else:
        total = total if counted is None else counted.total
        found, ids = tx.search.find(tx, asked, page=page, size=size, among=among, total=total)
    memory.keep(asked, state, _with_page(found, known, (page - 1) * size, ids))
    return found.total, ids


def _with_page(found: Found, known: Found | None, skip: int, ids: Sequence[int]) -> Found:
    """Return what was found with the ids that were known, and with those of the page if it is the next one."""
    first = found.first or (known.first if known is not None else ())
    if skip <= len(first) < skip + len(ids) <= FIRST:
        first = array("q", [*first[:skip], *ids])
    return replace(found, first=first)


def _recall(tx: Tx, memory: SearchMemory, asked: Asked, state: SearchState) -> Found | None:
    """Return what is known to be found in ``state``."""
    kept = memory.get(asked)
    if kept is None:
        return None
    found = follow(tx, asked, kept.found, kept.state, state)
    if found is not None:
        memory.keep(asked, state, found)
    return found
