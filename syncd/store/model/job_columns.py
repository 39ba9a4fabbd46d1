"""The columns of a job, and the JSON in which the history keeps old values: a table by kind of field. No queries."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import msgspec
import sqlalchemy as sa

from syncd.domain import (
    CHANGEABLE,
    FIELDS,
    SALARY_MEMBERS,
    ArchivedBy,
    CloseOrigin,
    FieldKind,
    Job,
    JobField,
    Location,
    Salary,
    Status,
    fold,
)
from syncd.store.model.columns import Columns, instant_of, micros, optional, to_json
from syncd.store.model.sql import Statement, updating
from syncd.store.model.tables import JobRow

_decode_locations = msgspec.json.Decoder(list[tuple[int, str, str, str]]).decode
_decode_ids = msgspec.json.Decoder(tuple[int, ...]).decode

T = TypeVar("T")
Decode = Callable[..., Any]


def _same(value: Any) -> Any:
    return value


class Codec(NamedTuple):
    """How a value of a Job is kept. ``encode`` makes the value of its column of it, ``decode`` is the way back; None: they are
    the same. ``old`` makes it ready for ``to_json``, ``restore`` is the way back from parsed JSON."""

    encode: Callable[[Any], Any] = _same
    decode: Decode | None = None
    old: Callable[[Any], Any] = _same
    restore: Callable[[Any], Any] = _same


# -- by kind -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8192)
def _locations_of(text: str) -> tuple[Location, ...]:
    return tuple(Location(*values) for values in _decode_locations(text))


def _locations_old(locations: Iterable[Location]) -> list[tuple[int, str, str, str]]:
    return [(place.id, place.name, place.description, place.type) for place in locations]


@lru_cache(maxsize=8192)
def _locations_text(locations: tuple[Location, ...]) -> str:
    return to_json(_locations_old(locations))


@lru_cache(maxsize=4096)
def _ids_text(ids: tuple[int, ...]) -> str:
    return to_json(ids)


@lru_cache(maxsize=4096)
def _ids_of(text: str) -> tuple[int, ...]:
    return _decode_ids(text)


#: The rows of a run have few dates.
_date_text = lru_cache(maxsize=4096)(date.isoformat)


def _amount_text(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:f}"


#: The kinds of members of a salary whose values are not the columns' own.
_MEMBER_KINDS: Mapping[FieldKind, Codec] = {
    FieldKind.AMOUNT: Codec(_amount_text, optional(Decimal), _amount_text),
    FieldKind.FLAG: Codec(decode=bool),
}
_MEMBERS = [(member, _MEMBER_KINDS.get(member.kind, Codec())) for member in SALARY_MEMBERS]


@lru_cache(maxsize=4096)
def _salary_of(*values: object) -> Salary | None:
    if all(value is None for value in values):
        return None
    pairs = zip(_MEMBERS, values, strict=True)
    return Salary(**{member.attribute: (codec.decode or _same)(value) for (member, codec), value in pairs})


def _salary_old(salary: Salary | None) -> dict[str, object] | None:
    if salary is None:
        return None
    return {member.name: codec.old(getattr(salary, member.attribute)) for member, codec in _MEMBERS}


def _salary_from(value: dict[str, Any] | None) -> Salary | None:
    return None if value is None else _salary_of(*(value.get(member.name) for member in SALARY_MEMBERS))


def _by_value(kind: type[Enum]) -> Decode:
    """Return the look-up of a member by its value, None by None: a call of ``kind`` takes six times as long."""
    return {None: None, **{member.value: member for member in kind}}.__getitem__


#: The kinds whose values are not the columns' own.
_BY_KIND: Mapping[FieldKind, Codec] = {
    FieldKind.FLAG: Codec(decode=bool),
    FieldKind.DATE: Codec(_date_text, date.fromisoformat, restore=date.fromisoformat),
    FieldKind.STATUS: Codec(str, _by_value(Status), restore=Status),
    FieldKind.CHOICES: Codec(_ids_text, _ids_of, restore=tuple),
    FieldKind.PLACES: Codec(
        _locations_text,
        _locations_of,
        _locations_old,
        lambda value: tuple(Location(*place) for place in value),
    ),
    FieldKind.SALARY: Codec(decode=_salary_of, old=_salary_old, restore=_salary_from),
}


def _codec(field: JobField) -> Codec:
    codec = _BY_KIND.get(field.kind, Codec())
    if not field.nullable or field.kind is FieldKind.SALARY or codec.decode is None:
        return codec
    return Codec(*(optional(function) for function in codec if function is not None))


#: By attribute. Attributes that are not fields are written out.
_CODECS: Mapping[str, Codec] = {
    **dict.fromkeys(("id", "employer_id", "version"), Codec()),
    "published_at": Codec(micros, instant_of, micros, instant_of),
    "publish_date": _BY_KIND[FieldKind.DATE],
    "close_origin": Codec(str, _by_value(CloseOrigin), restore=CloseOrigin),
    "archived_by": Codec(optional(str), _by_value(ArchivedBy), restore=_by_value(ArchivedBy)),
    **{field.attribute: _codec(field) for field in FIELDS},
}
#: The columns of attributes that have none of their name; of a salary in the order of its members.
_COLUMNS = {"salary": ("salary_amount", "salary_max", "salary_period", "salary_commission")}


def _columns(attribute: str) -> tuple[str, ...]:
    return _COLUMNS.get(attribute, (attribute,))


# -- rows ----------------------------------------------------------------------------------------------------


def columns_of(
    build: Callable[..., T], attributes: Iterable[str], as_kept: Collection[str] = ()
) -> Columns[T]:
    """Return the columns of an object with some attributes of a Job; those of ``as_kept`` are not decoded."""
    others = {
        name: (
            tuple(getattr(JobRow, column) for column in _columns(name)),
            None if name in as_kept else _CODECS[name].decode,
        )
        for name in attributes
    }
    return Columns(build, JobRow, **others)


JOB = columns_of(Job, Job.__struct_fields__)

_ATTRIBUTES = Job.__struct_fields__
_attributes = attrgetter(*_ATTRIBUTES)
#: Attributes of Job whose values are in the column ``search``, too.
_SEARCHED = {"title", "reference_id"}


def _value(attribute: str, then: Callable[[Any], Any]) -> Callable[[Job], Any]:
    """Return the function of a job for the value of an attribute as ``then`` makes it."""
    value_of = attrgetter(attribute)
    return value_of if then is _same else lambda job: then(value_of(job))


def _salary_value(attribute: str, encode: Callable[[Any], Any]) -> Callable[[Job], Any]:
    value_of = attrgetter(attribute)
    return lambda job: None if job.salary is None else encode(value_of(job.salary))


def _search(job: Job) -> str:
    """Return the text in which ``q`` is looked for: the folded title and referenceId, on two lines so that no term matches
    across."""
    return f"{fold(job.title)}\n{fold(job.reference_id or '')}"


#: Column → the function of a job for its value.
_VALUES: dict[str, Callable[[Job], Any]] = {
    **{name: _value(name, _CODECS[name].encode) for name in _ATTRIBUTES if name != "salary"},
    **{
        column: _salary_value(member.attribute, codec.encode)
        for column, (member, codec) in zip(_columns("salary"), _MEMBERS, strict=True)
    },
    "search": _search,
}
#: Columns whose values are those of the job, and the others.
_SAME = [name for name in _ATTRIBUTES if name != "salary" and _CODECS[name].encode is _same]
_MADE = [name for name in _VALUES if name not in _SAME]
INSERT = Statement(sa.insert(sa.table("job", *map(sa.column, [*_SAME, *_MADE]))), order=[*_SAME, *_MADE])
_same_values, _made_values = attrgetter(*_SAME), [_VALUES[name] for name in _MADE]


def row_of(job: Job) -> tuple[Any, ...]:
    """Return the values of ``INSERT``."""
    return (*_same_values(job), *[value_of(job) for value_of in _made_values])


def update_of(before: Job, after: Job) -> tuple[Statement[Any], tuple[Any, ...]]:
    """Return the statement that makes ``before`` into ``after``, and its values. It has no effect if the row's version is
    not that of ``before``.

    Only the values that differ are set: SQLite writes each of the five indexes that has a column of the UPDATE, whether its
    value changes or not."""
    pairs = zip(_ATTRIBUTES, _attributes(before), _attributes(after), strict=True)
    statement, columns = _update(tuple([name for name, old, new in pairs if old is not new and old != new]))
    return statement, (*[_VALUES[name](after) for name in columns], before.id, before.version)


@lru_cache(maxsize=1024)
def _update(changed: tuple[str, ...]) -> tuple[Statement[Any], list[str]]:
    """Return the UPDATE of these attributes of Job, and its columns."""
    names = [column for name in changed for column in _columns(name)]
    names += ["search"] if _SEARCHED.intersection(changed) else []
    columns = (getattr(JobRow, name) for name in names)
    return updating(*columns, where=[JobRow.id], was=[JobRow.version]), names


# -- old values ----------------------------------------------------------------------------------------------

#: Values that the history keeps besides those that can be changed: the exact instant, and who chose the close date or archived
#: the job.
PRIVATE: Mapping[str, str] = {
    "publishedAt": "published_at",
    "closeOrigin": "close_origin",
    "archivedBy": "archived_by",
}
_KEPT = {**CHANGEABLE, **PRIVATE}
_private = attrgetter(*PRIVATE.values())


_OLD = {name: _value(attribute, _CODECS[attribute].old) for name, attribute in _KEPT.items()}
_RESTORE = {name: (attribute, _CODECS[attribute].restore) for name, attribute in _KEPT.items()}


def old_values(before: Job, names: Iterable[str], after: Job | None) -> str:
    """Return the history's ``before``: of each wire name in ``names`` the value in ``before``, and the PRIVATE values that
    differ. ``after`` None: everything."""
    if after is None:
        names = (*names, *PRIVATE)
    elif (old := _private(before)) != (new := _private(after)):
        pairs = zip(PRIVATE, old, new, strict=True)
        names = (*names, *(name for name, was, now in pairs if was != now))
    return to_json({name: _OLD[name](before) for name in names})


def attributes_of(before: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes of Job, typed, from a history's ``before``: for ``msgspec.structs.replace``."""
    restored = {}
    for name, value in before.items():
        attribute, restore = _RESTORE[name]
        restored[attribute] = restore(value)
    return restored
