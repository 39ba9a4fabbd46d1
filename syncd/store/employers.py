"""Employers: added and found by the operator. Their names are unique."""

from collections.abc import Collection

from msgspec.structs import replace
from sqlmodel import col

from syncd.domain import Employer, check_line, near_names
from syncd.errors import Conflict, Invalid, NotFound, Problem
from syncd.store.model import sql
from syncd.store.model.columns import Columns
from syncd.store.model.tables import EmployerRow
from syncd.store.transactions import Tx, existing

MAX_NAME = 128

_EMPLOYER = Columns(Employer, EmployerRow, unlimited=bool)
_GET = sql.Statement(_EMPLOYER.select().where(*sql.matching(EmployerRow.id)))
_NAMED = sql.Statement(_EMPLOYER.select().where(*sql.matching(EmployerRow.name)))
_ALL = sql.Statement(_EMPLOYER.select().order_by(col(EmployerRow.id)))
_RENAME = sql.updating(EmployerRow.name, where=[EmployerRow.id])


def add(tx: Tx, name: str, unlimited: bool = True) -> Employer:
    """Add an employer. Raises Conflict if the name exists, Invalid if it is empty, longer than 128 characters, has control
    characters, or is a whole number, which would be taken for an id."""
    name = _free_name(tx, name)
    return Employer(tx.insert({EmployerRow.name: name, EmployerRow.unlimited: unlimited}), name, unlimited)


def rename(tx: Tx, employer_id: int, name: str) -> Employer:
    """Give an employer another name. Raises NotFound, and the errors of ``add``."""
    employer = get(tx, employer_id)
    name = _free_name(tx, name, but=employer_id)
    tx.run(_RENAME, id=employer_id, name=name)
    return replace(employer, name=name)


def _free_name(tx: Tx, name: str, but: int = 0) -> str:
    """Return the name without surrounding and repeated white space. The employer ``but`` may have it."""
    name = check_line("name", name, MAX_NAME)
    if not name:
        raise Invalid([Problem("/name", "required", "an employer needs a name")])
    if name.isdecimal():
        detail = f"{name} is a whole number, and would be taken for an id; give a name with a letter"
        raise Invalid([Problem("/name", "unknown_value", detail)])
    taken = tx.one(_NAMED, name=name)
    if taken and taken.id != but:
        raise Conflict(f"employer {taken.id} already has the name {name!r}")
    return name


def get(tx: Tx, employer_id: int) -> Employer:
    """Raises NotFound."""
    return existing(tx.one(_GET, id=employer_id), "employer", employer_id)


def find(tx: Tx, name_or_id: str | int) -> Employer:
    """Return the employer with that exact name, else with that id. Raises NotFound with the nearest names as a hint."""
    return among(all(tx), name_or_id)


def among(everyone: Collection[Employer], name_or_id: str | int) -> Employer:
    """Return one of these employers, as ``find`` does."""
    wanted = str(name_or_id).strip()
    known = {str(employer.id): employer for employer in everyone} | {e.name: e for e in everyone}
    if wanted in known:
        return known[wanted]
    near = near_names(wanted, (employer.name for employer in everyone), most=3, least=0.5)
    raise NotFound("employer", name_or_id, f"did you mean {' or '.join(map(repr, near))}?" if near else "")


def all(tx: Tx) -> list[Employer]:
    return tx.all(_ALL)
