"""Employers: added and found by the operator. Their names are unique."""

from __future__ import annotations

from difflib import get_close_matches

from sqlmodel import col, select

from syncd.domain import Employer
from syncd.errors import Conflict, Invalid, NotFound, Problem
from syncd.store.tables import EmployerRow
from syncd.store.tx import Tx

MAX_NAME = 128
_SELECT = "SELECT id, name, unlimited FROM employer"


def add(tx: Tx, name: str, unlimited: bool = True) -> Employer:
    """A new employer. Raises Conflict if the name exists, Invalid if it is empty or longer than 128
    characters."""
    name = " ".join(name.split())
    if not name:
        raise Invalid([Problem("/name", "required", "an employer needs a name")])
    if len(name) > MAX_NAME:
        raise Invalid(
            [Problem("/name", "too_long", f"{len(name)} characters; at most {MAX_NAME} are allowed")]
        )
    taken = tx.one(f"{_SELECT} WHERE name = ?", (name,))
    if taken:
        raise Conflict(f"employer {taken[0]} already has the name {name!r}")
    sql = "INSERT INTO employer (name, unlimited) VALUES (?, ?) RETURNING id"
    return Employer(tx.insert(sql, (name, unlimited)), name, unlimited)


def get(tx: Tx, employer_id: int) -> Employer:
    """Raises NotFound."""
    row = tx.one(f"{_SELECT} WHERE id = ?", (employer_id,))
    if row is None:
        raise NotFound("employer", employer_id)
    return Employer(row[0], row[1], bool(row[2]))


def find(tx: Tx, name_or_id: str | int) -> Employer:
    """By exact name, else by id. Raises NotFound with the nearest names as a hint."""
    wanted = str(name_or_id).strip()
    for employer in everyone if (everyone := all(tx)) else ():
        if employer.name == wanted:
            return employer
    for employer in everyone:
        if str(employer.id) == wanted:
            return employer
    near = get_close_matches(wanted, [employer.name for employer in everyone], n=3, cutoff=0.5)
    raise NotFound("employer", name_or_id, f"did you mean {' or '.join(map(repr, near))}?" if near else "")


def all(tx: Tx) -> list[Employer]:
    """Every employer, by id."""
    found = tx.connection.execute(
        select(EmployerRow.id, EmployerRow.name, EmployerRow.unlimited).order_by(col(EmployerRow.id))
    )
    return [Employer(*row) for row in found]
