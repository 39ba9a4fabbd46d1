"""Places: what somebody wrote → a catalogue location (docs/api.md "Locations").

Shipped places come first, compared without case, accents or punctuation; "City" alone means the most
populous. What they lack is the employer's own: found again by the same text, added by ``apply`` when a job
with it is written.
"""

# ruff: noqa: S608 - SQL is put together from constants only; every value is a parameter

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import cast

from msgspec.structs import replace

from syncd.domain import JobInput, Location, Place, fold
from syncd.store.tx import Row, Tx

#: Added places count from here; every GeoNames id is below.
FIRST_ADDED = 1_000_000_000

_SAINTS = {"st": "saint", "ste": "sainte", "sts": "saints", "stes": "saintes"}
_LOOSE = str.maketrans({"-": " ", ".": " ", "/": " ", "(": " ", ")": " ", "'": None, "!": None})

#: Names that are used for a shipped place but are not its name: (key, province) → key.
ALIASES = {
    ("quebec city", "QC"): "quebec",
    ("ville de quebec", "QC"): "quebec",
    ("ville de montreal", "QC"): "montreal",
    ("sudbury", "ON"): "greater sudbury",
    ("grand sudbury", "ON"): "greater sudbury",
    ("saint jean", "NB"): "saint john",
    ("saint jean", "NL"): "saint johns",
    ("saint john", "NL"): "saint johns",
}

_COLUMNS = "id, name, province"
_BEST = "employer_id IS NULL ORDER BY population DESC, id LIMIT 1"
_SHIPPED = f"SELECT {_COLUMNS} FROM place WHERE key = ? AND province = ? AND {_BEST}"
_SHIPPED_ANYWHERE = f"SELECT {_COLUMNS} FROM place WHERE key = ? AND {_BEST}"
_ADDED = f"SELECT {_COLUMNS} FROM place WHERE key = ? AND coalesce(province, '') = ? AND employer_id = ?"
_VISIBLE = "(employer_id IS NULL OR employer_id = ?)"
# (Not LIKE: its patterns end at a NUL and may not be long.)
_PART = "instr(key, ?)"


@lru_cache(maxsize=16384)
def place_key(name: str) -> str:
    """``name`` as it is compared: "St. Jérôme", "Saint-Jérôme" and "ST JEROME" are one."""
    return " ".join(_SAINTS.get(word, word) for word in _words(name))


def _words(name: str) -> list[str]:
    return fold(name).translate(_LOOSE).split()


def locate(tx: Tx, employer_id: int, sent: JobInput) -> JobInput:
    """``sent`` with every Place a Location; the id is 0 for one that the catalogue lacks. The same place
    twice counts once."""
    places = sent.fields.get("locations")
    if not isinstance(places, tuple) or not places:
        return sent
    return JobInput({**sent.fields, "locations": find_all(tx, employer_id, places)}, sent.id)


def find_all(tx: Tx, employer_id: int, places: Sequence[Place | Location]) -> tuple[Location, ...]:
    """The locations for ``places``, each once."""
    if len(places) == 1 and isinstance(places[0], Place):
        return (find(tx, employer_id, places[0]),)
    found: dict[tuple[int, str], Location] = {}
    for place in places:
        location = find(tx, employer_id, place) if isinstance(place, Place) else place
        found.setdefault((location.id, "" if location.id else place_key(location.description)), location)
    return tuple(found.values())


def find(tx: Tx, employer_id: int, place: Place) -> Location:
    """The catalogue's location for ``place``, else one with id 0 as it was written."""
    key = place_key(place.city)
    known = _shipped(tx, key, place.province)
    if known is None:
        row = tx.one(_ADDED, (key, place.province or "", employer_id))
        known = _location(row) if row else Location(0, place.city, place.description)
    return known


def _shipped(tx: Tx, key: str, province: str | None) -> Location | None:
    cached = tx.gazetteer.get(key, province)
    if cached is not None:
        return cached
    row = _shipped_row(tx, key, province)
    if row is None:
        row = next((_shipped_row(tx, name, at) for name, at in _aliases(key, province)), None)
    if row is None:
        return None
    location = _location(row)
    tx.gazetteer.keep(key, province, location)
    return location


def _shipped_row(tx: Tx, key: str, province: str | None) -> Row | None:
    if province is None:
        return tx.one(_SHIPPED_ANYWHERE, (key,))
    return tx.one(_SHIPPED, (key, province))


def _aliases(key: str, province: str | None) -> list[tuple[str, str]]:
    """Where ``key`` is another name; without a province only if it is so in one province alone."""
    found = [(name, at) for (alias, at), name in ALIASES.items() if alias == key and province in (None, at)]
    return found if len(found) == 1 else []


def _location(row: Row) -> Location:
    return Location(row[0], row[1], f"{row[1]}, {row[2]}" if row[2] else row[1])


def add_unknown(tx: Tx, employer_id: int, locations: Sequence[Location]) -> tuple[Location, ...]:
    """``locations`` with an id for each: those with id 0 are added for the employer, unless that has happened
    meanwhile."""
    if all(place.id for place in locations):
        return tuple(locations)
    return tuple(place if place.id else _add(tx, employer_id, place) for place in locations)


def _add(tx: Tx, employer_id: int, location: Location) -> Location:
    province = location.description[len(location.name) + 2 :] or None
    known = find(tx, employer_id, Place(location.name, province))
    if known.id:
        return known
    (new_id,) = tx.next_ids("place", 1, first=FIRST_ADDED)
    tx.run(
        "INSERT INTO place (id, name, province, key, population, employer_id) VALUES (?, ?, ?, ?, 0, ?)",
        (new_id, location.name, province, place_key(location.name), employer_id),
    )
    return replace(location, id=new_id)


def get(tx: Tx, employer_id: int, place_id: int) -> Location | None:
    """A location of the catalogue that the employer sees: shipped, or added by it."""
    row = tx.one(f"SELECT {_COLUMNS} FROM place WHERE id = ? AND {_VISIBLE}", (place_id, employer_id))
    return _location(row) if row else None


def _readings(q: str) -> list[str]:
    """What keys of places that contain ``q`` may contain. Its first and last word may be parts of longer ones: the
    "st" of "St. John's", or that of "Stratford"."""
    words = _words(q)
    ends = (0, len(words) - 1)
    choices = [{_SAINTS.get(word, word), *([word] if n in ends else [])} for n, word in enumerate(words)]
    return [" ".join(chosen) for chosen in product(*choices)]


def page(
    tx: Tx, employer_id: int, *, q: str | None = None, page: int = 1, page_size: int = 10
) -> tuple[int, list[Location]]:
    """(total, locations) whose name contains ``q`` (compared as places are), shortest name first."""
    where, values = _VISIBLE, cast("list[object]", [employer_id])
    if q:
        parts = _readings(q)
        where = f"{where} AND ({' OR '.join([_PART] * len(parts))})"
        values += parts
    row = tx.one(f"SELECT count(*) FROM place WHERE {where}", values)
    found = tx.all(
        f"SELECT {_COLUMNS} FROM place WHERE {where}"
        " ORDER BY length(name), name, population DESC, id LIMIT ? OFFSET ?",
        [*values, page_size, (page - 1) * page_size],
    )
    return (row[0] if row else 0), [_location(r) for r in found]
