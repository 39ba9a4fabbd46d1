"""The results of a run beside jobs: refused rows, warnings, unknown values; and the plan of a held run."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlmodel import col, select

from syncd.domain import FeedWarning, RejectedRow, UnknownValues
from syncd.errors import Problem, shared_problem
from syncd.store.model import sql
from syncd.store.model.columns import Columns, clean, kept, kept_row, to_json
from syncd.store.model.tables import RunPlan, RunRejected, RunUnknown, RunWarning
from syncd.store.transactions import Tx

_decode_unknown = msgspec.json.Decoder(dict[str, list[tuple[str, int]]]).decode
_decode_errors = msgspec.json.Decoder(list[tuple[str, str, str, Any]]).decode


def _errors(text: str) -> tuple[Problem, ...]:
    return tuple(shared_problem(*values) for values in _decode_errors(text))


_REJECTED = Columns(RejectedRow, RunRejected, errors=_errors)
_WARNING = Columns(FeedWarning, RunWarning)
_UNKNOWN = Columns(UnknownValues, RunUnknown, found=_decode_unknown)
_GET_REJECTED = sql.Statement(
    _REJECTED.select()
    .where(*sql.matching(RunRejected.run_id))
    .order_by(col(RunRejected.record), col(RunRejected.id))
)
_SOME_ERRORS = sql.Statement(
    select(RunRejected.errors).where(*sql.matching(RunRejected.run_id)).limit(sa.bindparam("limit"))
)
_ALL_ERRORS = sql.Statement(
    select(RunRejected.errors, RunRejected.id)
    .where(*sql.matching(RunRejected.run_id))
    .order_by(col(RunRejected.id))
)
_PLACES = sql.Statement(
    select(  # type: ignore[call-overload]
        RunRejected.id, RunRejected.record, RunRejected.line, RunRejected.member, RunRejected.reference_id
    ).where(col(RunRejected.id).in_(sa.bindparam("ids", expanding=True)))
)
_GET_WARNINGS = sql.Statement(
    _WARNING.select().where(*sql.matching(RunWarning.run_id)).order_by(col(RunWarning.id))
)
_COUNTED_WARNINGS = sql.Statement(
    select(RunWarning.code, RunWarning.detail, sa.func.count(), sa.func.min(RunWarning.record))
    .where(*sql.matching(RunWarning.run_id))
    .group_by(col(RunWarning.code), col(RunWarning.detail))
    .order_by(sa.func.min(RunWarning.id))
)
_GET_UNKNOWN = sql.Statement(_UNKNOWN.select().where(*sql.matching(RunUnknown.run_id)))
_GET_PLAN = sql.Statement(select(RunPlan.payload).where(*sql.matching(RunPlan.run_id)))
_ADD_REJECTED, _ADD_WARNING = sql.inserting(RunRejected), sql.inserting(RunWarning)
_ADD_UNKNOWN, _PUT_PLAN = sql.inserting(RunUnknown), sql.replacing(RunPlan)
_FORGET_REJECTED, _FORGET_WARNINGS, _FORGET_UNKNOWN, _FORGET_PLAN = (
    sql.deleting(column)
    for column in (RunRejected.run_id, RunWarning.run_id, RunUnknown.run_id, RunPlan.run_id)
)


def add_rejected(tx: Tx, run_id: int, rows: Iterable[RejectedRow]) -> None:
    added = []
    for row in rows:
        errors = to_json([(clean(p.pointer), p.code, clean(p.detail), _plain(p.value)) for p in row.errors])
        added.append((run_id, row.record, row.line, kept(row.reference_id), errors, kept(row.member)))
    tx.many(_ADD_REJECTED, added)


def rejected_rows(tx: Tx, run_id: int) -> Iterator[RejectedRow]:
    """Yield the rows by record. To be read to the end within the transaction."""
    return tx.each(_GET_REJECTED, run_id=run_id)


def some_errors(tx: Tx, run_id: int, limit: int) -> list[tuple[Problem, ...]]:
    """Return the errors of up to ``limit`` rejected rows of the run, in no particular order."""
    return [_errors(text) for text in tx.scalars(_SOME_ERRORS, run_id=run_id, limit=limit)]


class StoredError(msgspec.Struct, array_like=True, gc=False):
    """A problem as the store has it: quicker made than a Problem, for a file of very many rejected rows."""

    pointer: str
    code: str
    detail: str
    value: Any = None


class Place(NamedTuple):
    """The place of a rejected row in its file; ``member``: the name of its file in an archive of several."""

    record: int
    line: int | None
    member: str | None
    reference_id: str | None


_decode_stored = msgspec.json.Decoder(list[StoredError]).decode


class StoredErrors:
    """The errors of all rejected rows of a run, in the order of the rows. Equal ones are one text, so that those of very many
    rows are counted quickly."""

    def __init__(self, tx: Tx, run_id: int) -> None:
        self._rows = tx.all(_ALL_ERRORS, run_id=run_id)
        self.texts = Counter(text for text, _ in self._rows)

    def __iter__(self) -> Iterator[tuple[str, list[StoredError], int]]:
        """Yield each text, its errors, and the number of its rows; first the text whose first row comes first."""
        for text, rows in self.texts.items():
            yield text, _decode_stored(text), rows

    def first_rows(self, texts: Mapping[str, Sequence[int]], most: int) -> dict[int, list[int]]:
        """Return group → the ids of its first ``most`` rows. ``texts``: text → its groups."""
        first = {group: list[int]() for groups in texts.values() for group in groups}
        open_groups = len(first)
        for text, row_id in self._rows:
            if text in texts:
                for group in texts[text]:
                    if len(ids := first[group]) < most:
                        ids.append(row_id)
                        open_groups -= len(ids) == most
                if not open_groups:
                    break
        return first


def places(tx: Tx, row_ids: Sequence[int]) -> dict[int, Place]:
    """Return id of a rejected row → its place."""
    return {row_id: Place(*place) for row_id, *place in tx.all(_PLACES, ids=row_ids)}


def add_warnings(tx: Tx, run_id: int, warnings: Iterable[FeedWarning]) -> None:
    names = _ADD_WARNING.order[1:]
    tx.many(_ADD_WARNING, [(run_id, *kept_row(warning, names)) for warning in warnings])


def warnings(tx: Tx, run_id: int) -> Iterator[FeedWarning]:
    """Yield the warnings in the order in which they were added. To be read to the end within the transaction."""
    return tx.each(_GET_WARNINGS, run_id=run_id)


def counted_warnings(tx: Tx, run_id: int) -> list[tuple[str, str, int, int | None]]:
    """Return code, detail, number and first record of the warnings of the run, equal ones once, in order."""
    return tx.all(_COUNTED_WARNINGS, run_id=run_id)


def set_unknown(tx: Tx, run_id: int, unknown: UnknownValues) -> None:
    """Keep ``unknown`` in place of the former ones."""
    tx.run(_FORGET_UNKNOWN, run_id=run_id)
    by_name = {
        clean(name): [(clean(value), rows) for value, rows in values]
        for name, values in unknown.found.items()
    }
    if by_name:
        tx.run(_ADD_UNKNOWN, run_id=run_id, found=to_json(by_name), toml=clean(unknown.toml))


def unknown(tx: Tx, run_id: int) -> UnknownValues:
    return tx.one(_GET_UNKNOWN, run_id=run_id) or UnknownValues({}, "")


def clear(tx: Tx, run_id: int) -> None:
    """Forget refused rows, warnings and unknown values: the next attempt finds them again."""
    for forget in (_FORGET_UNKNOWN, _FORGET_REJECTED, _FORGET_WARNINGS):
        tx.run(forget, run_id=run_id)


def set_plan(tx: Tx, run_id: int, payload: bytes | None) -> None:
    """Keep the plan of a held run, as the importer packed it; None: forget it."""
    if payload is None:
        tx.run(_FORGET_PLAN, run_id=run_id)
    else:
        tx.run(_PUT_PLAN, run_id=run_id, payload=payload)


def plan(tx: Tx, run_id: int) -> bytes | None:
    return tx.scalar(_GET_PLAN, run_id=run_id)


def _plain(value: object) -> object:
    """Return ``value`` where JSON has it as it is, else its text."""
    if value is None or isinstance(value, (bool, float)) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    return clean(value if isinstance(value, str) else str(value))
