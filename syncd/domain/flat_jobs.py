"""A job as plain values, the way the store keeps it: text, numbers and booleans, dates in ISO form, exact amounts as
text. Without what only a transaction knows: id, version, instant of publication, places.

This is part of the domain because worker processes make these values, and they do not import the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any

from msgspec import Struct

from syncd.domain.job import ArchivedBy, Job, Place, Salary, Status
from syncd.domain.job_fields import FIELDS, SALARY_MEMBERS, FieldKind, JobField
from syncd.domain.text import fold

Flat = tuple[str | int | None, ...]
Flatten = Callable[[Any], Any]


def search_text(title: str, reference_id: str | None) -> str:
    """What ``q`` looks in: folded title and referenceId, on two lines so that no term matches across."""
    return f"{fold(title)}\n{fold(reference_id or '')}"


def decimal_text(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:f}"


@lru_cache(maxsize=4096)
def _ids(ids: tuple[int, ...]) -> str:
    """As JSON."""
    return f"[{','.join(map(str, ids))}]"


#: The kinds whose values are not flat. (A salary has a flat value for each of its members.)
_BY_KIND: Mapping[FieldKind, Flatten] = {
    FieldKind.AMOUNT: decimal_text,
    FieldKind.DATE: date.isoformat,
    FieldKind.STATUS: str,
    FieldKind.CHOICES: _ids,
}


def _flatten(field: JobField) -> Flatten | None:
    flatten = _BY_KIND.get(field.kind)
    if flatten is None or not field.nullable:
        return flatten
    return lambda value: None if value is None else flatten(value)


_ARCHIVED_BY: Mapping[ArchivedBy | None, str | None] = {None: None, **{by: by.value for by in ArchivedBy}}
#: Attributes of Job with one flat value → the function that makes it; None: the value is flat.
_SINGLE: Mapping[str, Flatten | None] = {
    "employer_id": None,
    "publish_date": date.isoformat,
    "close_origin": str,
    "archived_by": _ARCHIVED_BY.__getitem__,
    **{
        field.attribute: _flatten(field)
        for field in FIELDS
        if field.kind not in (FieldKind.PLACES, FieldKind.SALARY)
    },
}
#: The attributes of Job whose values are in ``flat``, in its order. Each has one value, but the salary, the last, has
#: one for each of SALARY_MEMBERS.
FLAT = (*_SINGLE, "salary")
_values = attrgetter(*_SINGLE)
_FLATTEN = [(place, flatten) for place, flatten in enumerate(_SINGLE.values()) if flatten]
_members = attrgetter(*(member.attribute for member in SALARY_MEMBERS))
_FLATTEN_MEMBERS = [
    (at, made) for at, member in enumerate(SALARY_MEMBERS) if (made := _BY_KIND.get(member.kind))
]
_NO_SALARY = (None,) * len(SALARY_MEMBERS)


def flat(job: Job) -> Flat:
    """Return the values of FLAT, then what ``q`` looks in: title and referenceId, folded, on two lines so that no term matches
    across."""
    values = [*_values(job)]
    for place, flatten in _FLATTEN:
        values[place] = flatten(values[place])
    return (*values, *_salary(job.salary), search_text(job.title, job.reference_id))


def _salary(salary: Salary | None) -> Flat:
    if salary is None:
        return _NO_SALARY
    values = [*_members(salary)]
    for place, flatten in _FLATTEN_MEMBERS:
        values[place] = flatten(values[place])
    return tuple(values)


class NewJob(Struct, frozen=True):
    """A job to be inserted, made before it is known what is in the store: its flat ``values``, its ``places`` as written."""

    values: Flat
    places: tuple[Place, ...]

    @property
    def known(self) -> tuple[int, str | None, Status]:
        """Return the id of the employer, the referenceId and the status."""
        employer_id, reference_id, status = _known(self.values)
        return employer_id, reference_id, _STATUSES[status]


_known = itemgetter(*map(FLAT.index, ("employer_id", "reference_id", "status")))
_STATUSES = {status.value: status for status in Status}
