"""Job ↔ row of the table ``job``, and the JSON in which the history keeps old values. No queries."""

# ruff: noqa: S608 - SQL is put together from constants only; every value is a parameter

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from operator import attrgetter
from typing import Any

import msgspec

from syncd.domain import ATTRIBUTES, ArchivedBy, CloseOrigin, Job, Location, Salary, Status
from syncd.domain.flat import FLAT, Flat, decimal_text, flat

#: The columns that make a Job, in the order in which ``job_of`` takes them.
COLUMNS = (
    "id",
    "employer_id",
    "reference_id",
    "title",
    "published_at",
    "publish_date",
    "close_date",
    "close_origin",
    "confidential",
    "auto_refresh",
    "status",
    "locations",
    "categories",
    "position_type",
    "salary_amount",
    "salary_max",
    "salary_period",
    "salary_commission",
    "routing",
    "application_email",
    "application_url",
    "archived_by",
    "version",
    "description",
)
SELECT = f"SELECT {', '.join(COLUMNS)} FROM job"
#: What only the transaction that inserts a job knows of it; the rest is FLAT.
_OWN = ("id", "version", "published_at", "locations")
_INSERTED = (*_OWN, *FLAT)
INSERT = f"INSERT INTO job ({', '.join(_INSERTED)}) VALUES ({', '.join('?' * len(_INSERTED))})"
#: Attribute of Job → its columns, where they are not one of the same name.
_COLUMNS_OF = {
    "title": ("title", "search"),
    "reference_id": ("reference_id", "search"),
    "salary": ("salary_amount", "salary_max", "salary_period", "salary_commission"),
}
_ATTRIBUTES = Job.__struct_fields__
_attributes = attrgetter(*_ATTRIBUTES)

Row = tuple[object, ...]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_STATUS = {status.value: status for status in Status}
_ORIGIN = {origin.value: origin for origin in CloseOrigin}
_ARCHIVED: dict[str | None, ArchivedBy | None] = {None: None, **{by.value: by for by in ArchivedBy}}
_encode = msgspec.json.Encoder().encode
_decode_locations = msgspec.json.Decoder(list[tuple[int, str, str, str]]).decode
_decode_ids = msgspec.json.Decoder(tuple[int, ...]).decode

#: What the history keeps beside wire fields: the exact instant, and who chose the close date or archived the
#: job.
PRIVATE = ("publishedAt", "closeOrigin", "archivedBy")


def micros(instant: datetime) -> int:
    """Microseconds since 1970."""
    return (instant - _EPOCH) // _MICROSECOND


def instant_of(value: int) -> datetime:
    return _EPOCH + timedelta(microseconds=value)


def optional_instant(value: int | None) -> datetime | None:
    return None if value is None else instant_of(value)


def to_json(value: object) -> str:
    """Compact JSON; decimals as strings, dates as ISO text."""
    return _encode(value).decode()


@lru_cache(maxsize=8192)
def locations_of(text: str) -> tuple[Location, ...]:
    return tuple(Location(*values) for values in _decode_locations(text))


@lru_cache(maxsize=8192)
def locations_json(locations: tuple[Location, ...]) -> str:
    return to_json([(place.id, place.name, place.description, place.type) for place in locations])


@lru_cache(maxsize=4096)
def ids_of(text: str) -> tuple[int, ...]:
    return _decode_ids(text)


def job_of(row: tuple[Any, ...]) -> Job:
    """The Job in a row of ``SELECT``."""
    return Job(
        row[0],
        row[1],
        row[2],
        row[3],
        _EPOCH + timedelta(microseconds=row[4]),
        date.fromisoformat(row[5]),
        date.fromisoformat(row[6]),
        _ORIGIN[row[7]],
        bool(row[8]),
        bool(row[9]),
        _STATUS[row[10]],
        locations_of(row[11]),
        ids_of(row[12]),
        row[13],
        salary_of(row[14], row[15], row[16], row[17]),
        row[23],
        row[18],
        row[19],
        row[20],
        _ARCHIVED[row[21]],
        row[22],
    )


@lru_cache(maxsize=4096)
def salary_of(
    amount: str | None, maximum: str | None, period: int | None, commission: int | None
) -> Salary | None:
    """None if there is none: then ``commission`` is None, and only then."""
    if commission is None:
        return None
    return Salary(
        None if amount is None else Decimal(amount),
        None if maximum is None else Decimal(maximum),
        period,
        bool(commission),
    )


def row_of(job: Job) -> Row:
    """The values of ``INSERT``."""
    return inserted(job.id, job.version, micros(job.published_at), locations_json(job.locations), flat(job))


def inserted(job_id: int, version: int, published_at: int, locations: str, values: Flat) -> Row:
    """The values of ``INSERT`` for a job that is flat already; ``published_at`` in microseconds, ``locations`` as
    JSON."""
    return (job_id, version, published_at, locations, *values)


def update_of(before: Job, after: Job) -> tuple[str, list[object]]:
    """The statement that makes ``before`` into ``after``, and its values. Of no effect if the row's version is not
    that of ``before``.

    Only what differs is set: SQLite writes every index that has a column named in an UPDATE, whether its value
    changes or not, and there are five."""
    pairs = zip(_attributes(before), _attributes(after), strict=True)
    sql, places = _update(tuple(place for place, (old, new) in enumerate(pairs) if old != new))
    row = row_of(after)
    return sql, [*[row[place] for place in places], before.id, before.version]


@lru_cache(maxsize=1024)
def _update(changed: tuple[int, ...]) -> tuple[str, list[int]]:
    """The UPDATE of those attributes of Job, and where in ``row_of`` its values are."""
    names = [_ATTRIBUTES[place] for place in changed]
    columns = list(dict.fromkeys(c for name in names for c in _COLUMNS_OF.get(name, (name,))))
    sql = f"UPDATE job SET {', '.join(f'{c} = ?' for c in columns)} WHERE id = ? AND version = ?"
    return sql, [_INSERTED.index(column) for column in columns]


def old_values(before: Job, names: Iterable[str], after: Job | None) -> str:
    """The history's ``before``: of each wire name in ``names`` the value in ``before``, and what of PRIVATE
    differs. ``after`` None: everything."""
    values = {name: _value(before, name) for name in names}
    if after is None or before.published_at != after.published_at:
        values["publishedAt"] = micros(before.published_at)
    if after is None or before.close_origin is not after.close_origin:
        values["closeOrigin"] = before.close_origin.value
    if after is None or before.archived_by is not after.archived_by:
        values["archivedBy"] = before.archived_by.value if before.archived_by else None
    return to_json(values)


def _value(job: Job, name: str) -> object:
    if name == "publishDate":
        return job.publish_date
    value = getattr(job, ATTRIBUTES[name])
    if name == "locations":
        return [(place.id, place.name, place.description, place.type) for place in job.locations]
    if name == "salary" and job.salary is not None:
        salary = job.salary
        return {
            "amount": decimal_text(salary.amount),
            "maxAmount": decimal_text(salary.max_amount),
            "period": salary.period,
            "plusCommission": salary.plus_commission,
        }
    return value


def attributes_of(before: dict[str, Any]) -> dict[str, Any]:
    """Attributes of Job, typed, from a history's ``before``: what ``dataclasses.replace`` takes to put them
    back."""
    return {_ATTRIBUTE[name]: _TYPED.get(name, _same)(value) for name, value in before.items()}


def _same(value: Any) -> Any:
    return value


def _salary_from(value: dict[str, Any] | None) -> Salary | None:
    if value is None:
        return None
    return salary_of(value["amount"], value["maxAmount"], value["period"], value["plusCommission"])


_ATTRIBUTE = {
    **ATTRIBUTES,
    "publishDate": "publish_date",
    "publishedAt": "published_at",
    "closeOrigin": "close_origin",
    "archivedBy": "archived_by",
}
_TYPED: dict[str, Callable[[Any], Any]] = {
    "publishDate": date.fromisoformat,
    "closeDate": date.fromisoformat,
    "publishedAt": instant_of,
    "closeOrigin": CloseOrigin,
    "archivedBy": lambda value: _ARCHIVED[value],
    "status": Status,
    "locations": lambda value: tuple(Location(*place) for place in value),
    "categories": tuple,
    "salary": _salary_from,
}
