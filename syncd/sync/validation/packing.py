"""A checked row, and a list of problems, as bytes for the run's scratch file. One program writes and reads them
within one run; they are never kept."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple, cast

from syncd.domain import FLAT, FieldKind, JobInput, Location, NewJob, Place, Status, fields_of
from syncd.errors import Problem, shared_problem

_DESCRIPTION = FLAT.index("description")
#: The version of marshal's format that does not look for repeated objects: it is read in a third of the time.
_VERSION = 2


class Creation(NamedTuple):
    """The job that a row creates if no job has its referenceId, and the first day (ISO) on which the same row would
    change that job (None: never)."""

    job: NewJob
    due: str | None


def pack(sent: JobInput, creation: Creation | None) -> bytes:
    """Return the row in marshal's own types: a few microseconds a row, where pickle takes 20. ``sent`` is packed
    by itself, because a row that creates the job as decided does not need it."""
    fields = _plain(sent.fields)
    places = fields.get("locations")
    if creation is None:
        return marshal.dumps((None, None, places, marshal.dumps((fields, sent.id))), _VERSION)
    values = creation.job.values
    if fields.get("description") == values[_DESCRIPTION]:
        fields["description"] = None  # nearly all of the row: kept once
    return marshal.dumps((values, creation.due, places, marshal.dumps((fields, sent.id))), _VERSION)


class PackedRow:
    """A row packed by ``pack``. What it sends is unpacked when it is asked for.

    ``creation``: what it was packed with."""

    __slots__ = ("_sent", "creation")

    def __init__(self, data: bytes) -> None:
        values, due, places, self._sent = marshal.loads(data)  # noqa: S302 - our own scratch file, unlinked since it was opened
        self.creation: Creation | None = None
        if values is not None:
            self.creation = Creation(NewJob(values, cast("tuple[Place, ...]", _places(places))), due)

    @property
    def sent(self) -> JobInput:
        fields, job_id = marshal.loads(self._sent)  # noqa: S302 - as above
        if self.creation is not None and fields.get("description", "") is None:
            fields["description"] = self.creation.job.values[_DESCRIPTION]
        for name, (_, unpacked) in _FORMS:
            if (value := fields.get(name)) is not None:
                fields[name] = unpacked(value)
        return JobInput(fields, job_id)


def _plain(sent: Mapping[str, Any]) -> dict[str, Any]:
    fields = dict(sent)
    for name, (packed, _) in _FORMS:
        if (value := fields.get(name)) is not None:
            fields[name] = packed(value)
    return fields


def pack_problems(problems: Sequence[Problem]) -> bytes:
    """Return the problems as bytes."""
    return marshal.dumps([(p.pointer, p.code, p.detail, p.value) for p in problems])


def unpack_problems(data: bytes) -> tuple[Problem, ...]:
    """Return what was given to ``pack_problems``."""
    return tuple(shared_problem(*values) for values in marshal.loads(data))  # noqa: S302 - as above


def _plain_place(place: Place | Location) -> tuple[Any, ...]:
    if isinstance(place, Place):
        return place.city, place.province
    return place.id, place.name, place.description, place.type


@lru_cache(maxsize=16384)  # a feed has few different places
def _places(plain: tuple[tuple[Any, ...], ...]) -> tuple[Place | Location, ...]:
    return tuple(_place(values) for values in plain)


def _place(values: tuple[Any, ...]) -> Place | Location:
    return Place(*values) if len(values) == 2 else Location(*values)


def _plain_salary(salary: Mapping[str, Any]) -> dict[str, Any]:
    """Amounts as tuples of their text, so that they differ from every other value."""
    return {name: (str(value),) if isinstance(value, Decimal) else value for name, value in salary.items()}


def _salary(plain: Mapping[str, Any]) -> dict[str, Any]:
    return {name: Decimal(value[0]) if isinstance(value, tuple) else value for name, value in plain.items()}


#: Kinds whose values marshal has no type for → how a value that is not None is packed and unpacked.
_BY_KIND: Mapping[FieldKind, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    FieldKind.DATE: (date.toordinal, date.fromordinal),
    FieldKind.STATUS: (str, Status),
    FieldKind.PLACES: (lambda places: tuple(map(_plain_place, places)), _places),
    FieldKind.SALARY: (_plain_salary, _salary),
}
_FORMS = [(field.name, _BY_KIND[field.kind]) for field in fields_of(*_BY_KIND)]
