"""Places: the text of a client or a feed becomes a location of the catalogue (docs/api.md "Locations").

Shipped places come first, compared without case, accents or punctuation; "City" alone means the most populous. A place that is
not shipped belongs to its employer: ``apply`` adds it with the first job that has it, and the same text finds it again.
"""

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from itertools import product

import sqlalchemy as sa
from msgspec.structs import replace
from sqlmodel import col

from syncd import shipped_data
from syncd.domain import JobInput, Location, Place, place_aliases, place_key, place_words
from syncd.store import facts
from syncd.store.database import Session
from syncd.store.model import sql
from syncd.store.model.tables import PlaceRow
from syncd.store.transactions import Tx

#: Added places count from here; every GeoNames id is below.
FIRST_ADDED = 1_000_000_000


def _location(row: tuple[int, str, str | None]) -> Location:
    place_id, name, province = row
    return Location(place_id, name, f"{name}, {province}" if province else name)


_shipped_only = col(PlaceRow.employer_id).is_(None)
_SELECT = sql.SelectOf([PlaceRow.id, PlaceRow.name, PlaceRow.province], _location)
_BEST = _SELECT.where(_shipped_only).order_by(col(PlaceRow.population).desc(), col(PlaceRow.id)).limit(1)
_SHIPPED = sql.Statement(_BEST.where(*sql.matching(PlaceRow.key, PlaceRow.province)))
_SHIPPED_ANYWHERE = sql.Statement(_BEST.where(*sql.matching(PlaceRow.key)))
_ADDED = sql.Statement(
    _SELECT.where(
        *sql.matching(PlaceRow.key, PlaceRow.employer_id),
        sa.func.coalesce(col(PlaceRow.province), "") == sa.bindparam("province"),
    )
)
_visible = sa.or_(_shipped_only, *sql.matching(PlaceRow.employer_id))
_GET = sql.Statement(_SELECT.where(*sql.matching(PlaceRow.id), _visible))
_ADD = sql.inserting(PlaceRow)


def locate(tx: Tx, employer_id: int, sent: JobInput) -> JobInput:
    """Return ``sent`` with a Location for every Place, each once. Its id is 0 if the catalogue lacks the place."""
    places = sent.fields.get("locations")
    if not isinstance(places, tuple) or not places:
        return sent
    return JobInput({**sent.fields, "locations": find_all(tx, employer_id, places)}, sent.id)


def find_all(tx: Tx, employer_id: int, places: Sequence[Place | Location]) -> tuple[Location, ...]:
    """Return the locations for ``places``, each once."""
    if len(places) == 1 and isinstance(places[0], Place):
        return (find(tx, employer_id, places[0]),)
    locations: dict[tuple[int, str], Location] = {}
    for place in places:
        location = find(tx, employer_id, place) if isinstance(place, Place) else place
        locations.setdefault((location.id, "" if location.id else place_key(location.description)), location)
    return tuple(locations.values())


def find(tx: Tx, employer_id: int, place: Place) -> Location:
    """Return the catalogue's location for ``place``, else one with id 0 as it was written."""
    key = place_key(place.city)
    known = _shipped(tx, key, place.province)
    if known is None:
        known = tx.one(_ADDED, key=key, province=place.province or "", employer_id=employer_id)
    return known or Location(0, place.city, place.description)


def _shipped(tx: Tx, key: str, province: str | None) -> Location | None:
    known = tx.places.get((key, province))
    if known is not None:
        return known
    location = _best(tx, key, province)
    if location is None:
        location = next((_best(tx, name, at) for name, at in place_aliases(key, province)), None)
    if location is not None:
        tx.places[key, province] = location
    return location


def _best(tx: Tx, key: str, province: str | None) -> Location | None:
    if province is None:
        return tx.one(_SHIPPED_ANYWHERE, key=key)
    return tx.one(_SHIPPED, key=key, province=province)


def add(tx: Tx, employer_id: int, location: Location) -> Location:
    """Return a location with id 0 with the id of its place, which is added for the employer if it still lacks it."""
    province = location.description[len(location.name) + 2 :] or None
    known = find(tx, employer_id, Place(location.name, province))
    if known.id:
        return known
    (new_id,) = tx.next_ids("place", 1, first=FIRST_ADDED)
    tx.many(_ADD, [(new_id, location.name, province, place_key(location.name), 0, employer_id)])
    added = replace(location, id=new_id)
    tx.added_places.append(added)
    return added


def get(tx: Tx, employer_id: int, place_id: int) -> Location | None:
    """Return a location of the catalogue that the employer sees: shipped, or added by it."""
    return tx.one(_GET, id=place_id, employer_id=employer_id)


def _readings(q: str) -> list[str]:
    """Return the texts that keys of places with ``q`` in their name may contain. The first and the last word of ``q``
    may be parts of longer ones: the "st" of "St. John's", or that of "Stratford"."""
    words = place_words(q)
    if not words:
        return []
    ends = (0, len(words) - 1)
    choices = [{place_key(word), *([word] if n in ends else [])} for n, word in enumerate(words)]
    return [" ".join(chosen) for chosen in product(*choices)]


def page(
    tx: Tx, employer_id: int, *, q: str | None = None, page: int = 1, page_size: int = 10
) -> tuple[int, list[Location]]:
    """Return the number of places with ``q`` in their name, and those of ``page``: shortest name first."""
    parts = _readings(q) if q else []
    values = {"employer_id": employer_id, **{f"part_{n}": part for n, part in enumerate(parts)}}
    counted, listed = _pages(len(parts))
    total = tx.scalar(counted, **values) or 0
    return total, tx.page(listed, page, page_size, **values)


@cache
def _pages(parts: int) -> tuple[sql.Statement[tuple[int]], sql.Statement[Location]]:
    """Return the statements for the count and for a page of the places whose key contains one of this many parts."""
    where, key = [_visible], col(PlaceRow.key)
    if parts:  # not LIKE, which takes some characters for patterns
        where.append(
            sa.or_(*(sa.func.replace(key, sa.bindparam(f"part_{n}"), "") != key for n in range(parts)))
        )
    order = (
        sa.func.length(col(PlaceRow.name)),
        col(PlaceRow.name),
        col(PlaceRow.population).desc(),
        col(PlaceRow.id),
    )
    return sql.counting(PlaceRow, *where), sql.Statement(sql.paged(_SELECT.where(*where).order_by(*order)))


# -- the shipped places ----------------------------------------------------------------------------------------

#: The setting that holds the digest of the file that was loaded.
_LOADED = "gazetteer"
_SHIP = sql.replacing(PlaceRow)


def load_shipped(session: Session, tx: Tx) -> None:
    """Load the shipped file of Canadian places, unless it was loaded before. Never removes a place."""
    content = shipped_data.place_file()
    digest = sha256(content).hexdigest()
    if facts.get(tx, _LOADED) == digest:
        return
    session.begin()
    shipped = shipped_data.places_in(content)
    tx.many(_SHIP, ((p.id, p.name, p.province, place_key(p.name), p.population, None) for p in shipped))
    facts.put(tx, _LOADED, digest)
    session.commit()
