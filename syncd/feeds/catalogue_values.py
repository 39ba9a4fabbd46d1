"""Catalogue values as feeds give them, by id or by name, to ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from syncd.domain import Catalogue
from syncd.feeds.faults import nearest
from syncd.feeds.text import spelled

#: No catalogue has longer names; what is longer is not worth looking up (or remembering).
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Finder:
    """How one catalogue is searched. ``what``: an entry in words; ``pointer`` of the field in the body."""

    what: str
    pointer: str
    by_name: Callable[[str], int | None]
    ids: Mapping[int, object]
    names: tuple[str, ...]

    def hint(self, value: object) -> str:
        near = nearest(spelled(value), self.names)
        return near if near.startswith("; did") else ""


def finders(catalogue: Catalogue) -> dict[str, Finder]:
    """The finders of ``catalogue`` by the field that they serve (``period`` for the salary's)."""

    def finder(
        what: str, field: str, by_name: Callable[[str], int | None], entries: Mapping[int, object]
    ) -> Finder:
        names = tuple(str(getattr(entry, "name", "")) for entry in entries.values())
        return Finder(what, f"/{field}", by_name, entries, names)

    return {
        "categories": finder(
            "category", "categories", partial(catalogue.find, "categories"), catalogue.categories
        ),
        "positionType": finder(
            "position type",
            "positionType",
            partial(catalogue.find, "position_types"),
            catalogue.position_types,
        ),
        "period": finder(
            "salary period", "salary/period", partial(catalogue.find, "periods"), catalogue.periods
        ),
        "applicantRoutingType": finder(
            "applicant routing type",
            "applicantRoutingType",
            partial(catalogue.find, "routing_types"),
            catalogue.routing_types,
        ),
    }


def catalogue_id(value: object, find: Finder) -> int | None:
    """The id that ``value`` names: an id of the catalogue, a name or a synonym. None: neither."""
    if value.__class__ is str:
        if len(value) > _LONGEST:
            return None
        found = find.by_name(value)
        if found is not None:
            return found
        text = value.strip()
        return _known(int(text), find) if text.isdecimal() and len(text) < 11 else None
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    return _known(int(value), find) if 0 < value < 2**31 and value == int(value) else None


def _known(id: int, find: Finder) -> int | None:
    return id if id in find.ids else None


def catalogue_name(name: str, find: Finder) -> int | None:
    """The id of the entry with this name or synonym; digits are no name."""
    return find.by_name(name) if len(name) <= _LONGEST else None
