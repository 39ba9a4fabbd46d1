"""Readers of the nested members of a body: locations, categories, the objects that name a catalogue entry by
its id, salary. Each returns the typed value, or FAULT after it has added what is wrong to ``problems``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from syncd.domain import places
from syncd.domain.catalog import Catalog
from syncd.domain.fields import (
    FAULT,
    Fault,
    read_amount,
    read_boolean,
    read_int32,
    read_string,
    shown,
    wrong_type,
)
from syncd.domain.job import Place
from syncd.domain.job_fields import ATTRIBUTES
from syncd.domain.text import fold
from syncd.errors import Problem

Problems = list[Problem]

#: Smallest and largest number of locations and of categories.
FEWEST, MOST = 1, 3
#: Of a list that is too long, so many items are looked at.
LOOKED_AT = 100
LOCATION_READ_ONLY = frozenset({"id", "name", "type"})
NAMED_READ_ONLY = frozenset({"name"})
PERIOD_READ_ONLY = frozenset({"name", "unit"})


def unknown_field(parent: str, name: str, known: Mapping[str, object]) -> Problem:
    """A typing error must not lose data silently; where the name is one of ``known`` but for its writing, it
    says which."""
    pointer = f"{parent}/{name.replace('~', '~0').replace('/', '~1')}"
    detail = "there is no such field"
    if len(name) <= 64 and (meant := _SPELLINGS.get(_spelling(name))) in known:
        detail += f"; {meant} is meant?"
    return Problem(pointer, "unknown_field", detail)


def _spelling(name: str) -> str:
    return fold(name).replace("_", "").replace("-", "").replace(" ", "")


_SPELLINGS = {
    _spelling(name): name
    for name in (*ATTRIBUTES, "description", "id", "amount", "maxAmount", "period", "plusCommission")
}


def _list(pointer: str, value: object, what: str, problems: Problems) -> list[Any] | Fault:
    """``value`` as an array of at least one item, or FAULT; more than 3 are complained of, and looked at."""
    if not isinstance(value, list):
        return wrong_type(pointer, value, f"an array of {what}", problems)
    if len(value) < FEWEST:
        problems.append(Problem(pointer, "too_few", f"{FEWEST} to {MOST} {what} are needed"))
        return FAULT
    if len(value) > MOST:
        problems.append(Problem(pointer, "too_many", f"{len(value)} {what}; at most {MOST} are allowed"))
    return value


def read_locations(value: object, problems: Problems) -> object:
    items = _list("/locations", value, "locations", problems)
    if isinstance(items, Fault):
        return FAULT
    before = len(problems)
    found: dict[tuple[str, str | None], Place] = {}
    for index, item in enumerate(items[:LOOKED_AT]):
        read = _location(index, item, problems)
        if read is not None:
            found.setdefault(read[1], read[0])
    return tuple(found.values()) if len(problems) == before else FAULT


_Located = tuple[Place, tuple[str, str | None]]


def _location(index: int, item: object, problems: Problems) -> _Located | None:
    if not isinstance(item, dict):
        wrong_type(f"/locations/{index}", item, "an object with a description", problems)
        return None
    if len(item) > 1 or "description" not in item:
        for name in item:
            if name != "description" and name not in LOCATION_READ_ONLY:
                problems.append(unknown_field(f"/locations/{index}", name, {"description": None}))
    text = item.get("description")
    # What is longer is either wrong or padded; remembering it would let a client fill the memory.
    known = _known_place(text) if type(text) is str and len(text) <= places.MAX_DESCRIPTION else None
    return known or _read_place(f"/locations/{index}/description", text, problems)


@lru_cache(maxsize=16384)
def _known_place(text: str) -> _Located | None:
    """The place in a text that is right in every way, remembered, since feeds repeat their cities; else
    None."""
    return _read_place("", text, [])


def _read_place(pointer: str, value: object, problems: Problems) -> _Located | None:
    text = read_string(pointer, value, places.MAX_DESCRIPTION, problems)
    if text is None:
        problems.append(Problem(pointer, "required", 'a location needs a description: "City, ProvinceCode"'))
    if not isinstance(text, str):
        return None
    try:
        place = places.parse(text)
    except places.PlaceError as error:
        problems += [Problem(pointer, code, detail, shown(text)) for code, detail in error.faults]
        return None
    return place, places.identity(place)


def read_categories(value: object, catalog: Catalog, problems: Problems) -> object:
    items = _list("/categories", value, "categories", problems)
    if isinstance(items, Fault):
        return FAULT
    known = catalog.categories
    ids = [
        read_entry_id(f"/categories/{index}", item, known, NAMED_READ_ONLY, problems)
        for index, item in enumerate(items[:LOOKED_AT])
    ]
    return FAULT if len(items) > MOST or FAULT in ids else tuple(dict.fromkeys(ids))


def read_entry_id(
    pointer: str, value: object, known: Mapping[int, object], read_only: frozenset[str], problems: Problems
) -> int | Fault:
    """The id of an object that names a catalogue entry by it."""
    if not isinstance(value, dict):
        return wrong_type(pointer, value, "an object with an id", problems)
    before = len(problems)
    for name in value:
        if name != "id" and name not in read_only:
            problems.append(unknown_field(pointer, name, {"id": None}))
    if "id" not in value:
        problems.append(Problem(f"{pointer}/id", "required", "the id is needed"))
        return FAULT
    id = read_int32(f"{pointer}/id", value["id"], problems)
    if isinstance(id, int) and id not in known:
        problems.append(Problem(f"{pointer}/id", "unknown_value", f"there is no entry with the id {id}", id))
    return id if len(problems) == before else FAULT


def read_salary(value: object, catalog: Catalog, problems: Problems) -> object:
    if not isinstance(value, dict):
        return None if value is None else wrong_type("/salary", value, "an object", problems)
    before = len(problems)
    members: dict[str, object] = {}
    for name, member in value.items():
        if name in ("amount", "maxAmount"):
            members[name] = read_amount(f"/salary/{name}", member, problems)
        elif name == "period":
            members[name] = _period(member, catalog, problems)
        elif name == "plusCommission":
            members[name] = read_boolean("/salary/plusCommission", member, problems)
        else:
            problems.append(unknown_field("/salary", name, _SALARY_MEMBERS))
    return members if len(problems) == before else FAULT


def _period(value: object, catalog: Catalog, problems: Problems) -> int | Fault | None:
    if value is None:
        return None
    return read_entry_id("/salary/period", value, catalog.periods, PERIOD_READ_ONLY, problems)


_SALARY_MEMBERS: Mapping[str, None] = dict.fromkeys(("amount", "maxAmount", "period", "plusCommission"))
