"""A checked row, and a list of problems, as bytes for the run's scratch file. One program writes and reads them
within one run; they are never kept."""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from types import GenericAlias
from typing import Any, TypedDict

from msgspec import msgpack

from syncd.domain import FIELDS, SALARY_MEMBERS, FieldKind, JobField, JobInput, Place, Status
from syncd.errors import Problem, shared_problem

_dict_of: Any = TypedDict  # made from the table of fields, which a type checker does not read


def _typed(name: str, fields: Iterable[JobField], types: Mapping[FieldKind, Any]) -> Any:
    """Return the type of a dict of some of the fields, each by its name; any value may be None."""
    return _dict_of(name, {field.name: types[field.kind] | None for field in fields}, total=False)


#: Kind → the type of a value that was sent and is not yet located.
_TYPES: dict[FieldKind, Any] = {
    **dict.fromkeys((FieldKind.TEXT, FieldKind.EMAIL, FieldKind.URL, FieldKind.HTML), str),
    FieldKind.NUMBER: int,
    FieldKind.AMOUNT: Decimal,
    FieldKind.FLAG: bool,
    FieldKind.DATE: date,
    FieldKind.STATUS: Status,
    FieldKind.CHOICE: int,
    FieldKind.CHOICES: tuple[int, ...],
    FieldKind.PLACES: tuple[Place, ...],
}
_TYPES[FieldKind.SALARY] = _typed("_Salary", SALARY_MEMBERS, _TYPES)


_encode = msgpack.Encoder().encode
_decode = msgpack.Decoder(GenericAlias(tuple, (_typed("_Fields", FIELDS, _TYPES), int | None))).decode


def pack(sent: JobInput) -> bytes:
    """Return a row that is not yet located as bytes."""
    return _encode((sent.fields, sent.id))


def unpack(data: bytes) -> JobInput:
    """Return the row that was packed."""
    return JobInput(*_decode(data))


def pack_problems(problems: Sequence[Problem]) -> bytes:
    """Return the problems as bytes."""
    return marshal.dumps([(p.pointer, p.code, p.detail, p.value) for p in problems])


def unpack_problems(data: bytes) -> tuple[Problem, ...]:
    """Return the problems that were packed."""
    return tuple(shared_problem(*values) for values in marshal.loads(data))  # noqa: S302 - our own scratch file
