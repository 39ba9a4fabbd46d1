"""The values of which each job has its own, and their accidents: one for many jobs, those of other jobs, other labels, the
digits of pay in another unit. Nobody edits jobs so: a column has gone wrong (docs/reconciliation.md "When a run stops short")."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from decimal import Decimal
from operator import attrgetter
from typing import Any, NamedTuple

from syncd.domain import Job, Routing, Status

#: The most different values of a kind that are compared. Of more it is every eighth, of still more every 64th, …
_MAX_COMPARED, _SHARE = 5_000, 8
#: The different values that one for many jobs is among.
_MAX_FIRST = 8
_DATE = "close date"
#: The least and the most that a change makes of most amounts of pay.
_LEAST, _MOST = Decimal("0.6"), Decimal("1.6")
#: The least number of different close dates that do not all slip.
_MIN_DATES = 3
_VISIT = re.compile("[?;]")
#: The factors of an amount of pay whose decimal point moves.
_POWERS_OF_TEN = frozenset(Decimal(10) ** power for power in range(-5, 6) if power)


class _Kind(NamedTuple):
    """``name``: that in OWN_VALUES. ``fewest``: as many different values are never made one; None: they may be. ``new_in``: of
    the values that other jobs lose, fewer than one in this number are new. ``labels``: jobs that had as many different ones do
    not all get others."""

    name: str
    value: Callable[[Job], object]
    fewest: int | None = None
    new_in: int = 2
    labels: int | None = None


def _address(job: Job) -> str | None:
    return job.application_email if job.routing == Routing.EMAIL else job.application_url


def _page(job: Job) -> str | None:
    """Return the address without its query and its session, which may count no more than the visits to one page."""
    return _VISIT.split(_address(job) or "", 1)[0] or None


_KINDS = (
    _Kind("description", attrgetter("description"), 5),
    _Kind("address to apply at", _page, 5),
    _Kind("address to apply at", _address),
    _Kind("place", attrgetter("locations"), 2),
    _Kind("pay", attrgetter("salary"), 3, 5),
    _Kind(_DATE, attrgetter("close_date"), new_in=3),
    _Kind("position type", attrgetter("position_type"), 2, labels=2),
    _Kind("category", attrgetter("categories"), 2, labels=3),
)
#: The kinds that a file of edits alone does not make one for many jobs.
_TEXTS = ("description", "address to apply at")


class _Changes:
    """The values of one kind that some jobs lose, and those that they get."""

    def __init__(self) -> None:
        self.number, self._step = 0, 1
        self._lost, self._got, self._first = Counter[int](), Counter[int](), Counter[int]()

    def add(self, old: object, new: object) -> None:
        self.number += 1
        lost, got = hash(old), hash(new)
        if new and (len(self._first) < _MAX_FIRST or got in self._first):
            self._first[got] += 1
        for counts, mark in ((self._lost, lost), (self._got, got)):
            if mark % self._step == 0:
                counts[mark] += 1
        if max(len(self._lost), len(self._got)) > _MAX_COMPARED:
            self._step *= _SHARE
            for counts in (self._lost, self._got):
                for mark in [mark for mark in counts if mark % self._step]:
                    del counts[mark]

    def to_one(self, fewest: int, jobs: int) -> int:
        """Return how many of some jobs get one and the same value, where they all had at least ``fewest``."""
        number = max(self._first.values(), default=0)
        return number if len(self._lost) + (number < jobs) >= fewest else 0

    def to_other_labels(self, labels: int) -> int:
        """Return how many jobs lose a value, where these are at least ``labels`` different ones."""
        return self.number if len(self._lost) >= labels else 0

    def to_others(self, new_in: int) -> int:
        """Return how many jobs get values that other jobs lose, each value as often as before."""
        new, got = (self._got - self._lost).total(), self._got.total()
        return self.number if new * new_in < got else 0


class _Dates:
    """The close dates that become others. ``slips``: former date → how often it became a day earlier, that
    of another year, or that whose day and month change places."""

    def __init__(self) -> None:
        self._later = self._earlier = 0
        self.slips = Counter[date]()

    def add(self, old: date, new: date) -> None:
        self._later += new > old
        self._earlier += new < old
        if (old - new).days == 1 or (old.day, old.month) in ((new.day, new.month), (new.month, new.day)):
            self.slips[old] += 1

    @property
    def mixed(self) -> bool:
        """Return whether many become later and many earlier."""
        return 4 * min(self._later, self._earlier) > self._later + self._earlier


class OwnValues:
    """The changes of the own values of active jobs. ``repaid``: jobs that keep the digits of their pay, in another unit or with
    another decimal point; ``halved``: that have one amount in place of two; ``leaps``: that have far less or far more of the same
    unit. ``displaced``: jobs that get a place that nobody knows. ``revealed``: that are no longer confidential."""

    def __init__(self) -> None:
        self._changes = [(kind, _Changes()) for kind in _KINDS]
        self.repaid = self.halved = self.leaps = self.displaced = self.revealed = 0
        self._dates = _Dates()

    def add(self, old: Job, new: Job) -> None:
        """Add an update: the job as it was, and as it would be."""
        if old.status is not Status.ACTIVE:
            return
        for kind, changes in self._changes:
            before, after = kind.value(old), kind.value(new)
            if before != after:
                changes.add(before, after)
        if old.close_date and new.close_date and old.close_date != new.close_date:
            self._dates.add(old.close_date, new.close_date)
        self.revealed += old.confidential and not new.confidential
        if old.locations != new.locations:
            self.displaced += any(not place.id for place in new.locations)
        was, now = old.salary, new.salary
        if was and now and was.amount and now.amount and was != now:
            self.halved += bool(was.max_amount) and not now.max_amount
            if was.amount == now.amount:
                self.repaid += was.max_amount == now.max_amount and was.period != now.period
            else:
                ratio = now.amount / was.amount
                self.repaid += ratio in _POWERS_OF_TEN
                self.leaps += was.period == now.period and not _LEAST <= ratio <= _MOST

    def counts(self, names: Sequence[str], jobs: int, *, whole: bool) -> dict[str, Any]:
        """Return the members of PlanCounts, for the values of these names. ``jobs``: as many does the file name; ``whole``: these
        are all jobs of the feed, and not the edited ones alone."""
        slips = self._dates.slips
        singles = (
            ("place", "displaced", self.displaced),
            ("close date", "misdated", slips.total() if len(slips) >= _MIN_DATES else 0),
            *(("pay", name, getattr(self, name)) for name in ("leaps", "halved", "repaid")),
        )
        return {
            "uniform": self._uniform(names, jobs, whole=whole),
            "swapped": self._swapped(names),
            "relabelled": self._relabelled(names) if whole else {},
            "revealed": self.revealed,
            **{member: number for name, member, number in singles if whole and name in names},
        }

    def _uniform(self, names: Iterable[str], jobs: int, *, whole: bool) -> dict[str, int]:
        """Return by name how many of the jobs get one value in place of many."""
        return {
            kind.name: number
            for kind, changes in self._changes
            if kind.name in names
            and kind.fewest is not None
            and (whole or kind.name in _TEXTS)
            and (number := changes.to_one(kind.fewest, jobs))
        }

    def _swapped(self, names: Iterable[str]) -> dict[str, int]:
        """Return by name how many jobs get the values of other jobs. Dates that are put off, or forward, meet those of others."""
        return {
            kind.name: number
            for kind, changes in self._changes
            if kind.name in names
            and (self._dates.mixed or kind.name != _DATE)
            and (number := changes.to_others(kind.new_in))
        }

    def _relabelled(self, names: Iterable[str]) -> dict[str, int]:
        """Return by name how many jobs get another value of a few that are there."""
        return {
            kind.name: number
            for kind, changes in self._changes
            if kind.name in names
            and kind.labels is not None
            and (number := changes.to_other_labels(kind.labels))
        }
