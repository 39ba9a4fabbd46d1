"""How many jobs there were in each status, day by day."""

from __future__ import annotations

from collections import Counter
from datetime import date

from sqlalchemy import bindparam
from sqlmodel import col, select

from syncd.store.jobs.reading import totals
from syncd.store.model import JobDay, Statement, matching, replacing
from syncd.store.transactions import Tx

_SINCE = Statement(
    select(JobDay.day, JobDay.status, JobDay.n)
    .where(col(JobDay.day) >= bindparam("first"))
    .order_by(col(JobDay.day))
)
_OF_DAY = Statement(select(JobDay.status, JobDay.n).where(*matching(JobDay.day)))
_PUT = replacing(JobDay)


def by_status(tx: Tx) -> Counter[str]:
    """Return status → number of jobs of all employers, now."""
    found: Counter[str] = Counter()
    for (_employer, status), number in totals(tx).items():
        found[status] += number
    return found


def is_noted(tx: Tx) -> bool:
    """Return whether ``note`` would change nothing."""
    return dict(tx.all(_OF_DAY, day=tx.now.today.isoformat())) == by_status(tx)


def note(tx: Tx) -> None:
    """Store the numbers of now as those of today."""
    tx.many(_PUT, [(tx.now.today.isoformat(), status, number) for status, number in by_status(tx).items()])


def since(tx: Tx, first: date) -> dict[date, dict[str, int]]:
    """Return day → status → number, from the day ``first`` on. A day on which the service did not run is missing."""
    found: dict[date, dict[str, int]] = {}
    for day, status, number in tx.all(_SINCE, first=first.isoformat()):
        found.setdefault(date.fromisoformat(day), {})[status] = number
    return found
