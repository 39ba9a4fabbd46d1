"""Catalogue values as feeds give them, by id or by name, and the ids that they mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial

from syncd.domain import FIELDS, SALARY_MEMBERS, Catalogue, CatalogueEntry, near_names
from syncd.feeds.text import spelled

#: No catalogue has a longer name, so a longer text is not looked up (and not remembered).
_LONGEST = 200
#: Catalogue → what messages call one of its entries.
_ENTRY_WORDS = {
    "categories": "category",
    "position_types": "position type",
    "periods": "salary period",
    "routing_types": "applicant routing type",
}


@dataclass(frozen=True, slots=True)
class EntryFinder:
    """The search for entries of the catalogue that serves one field.

    ``what`` is what messages call an entry; ``pointer`` is the JSON pointer of the field in a body."""

    what: str
    pointer: str
    by_name: Callable[[str], int | None]
    entries: Mapping[int, CatalogueEntry]

    def id_of(self, value: object) -> int | None:
        """Return the id that ``value`` means: an id of the catalogue, a name or a synonym. None: it is neither."""
        if value.__class__ is str:
            if len(value) > _LONGEST:
                return None
            found = self.by_name(value)
            if found is not None:
                return found
            text = value.strip()
            id = int(text) if text.isdecimal() and len(text) < 11 else 0
        elif isinstance(value, bool) or not isinstance(value, int | Decimal):
            return None
        else:
            id = int(value) if 0 < value < 2**31 and value == int(value) else 0
        return id if id in self.entries else None

    def id_by_name(self, name: str) -> int | None:
        """Return the id of the entry with this name or synonym. Digits are not taken for an id."""
        return self.by_name(name) if len(name) <= _LONGEST else None

    def similar(self, value: object) -> str | None:
        """Return the name in the catalogue that ``value`` may be a misspelling of."""
        near = near_names(spelled(value), (entry.name for entry in self.entries.values()))
        return near[0] if near else None

    def unknown(self, value: object) -> str:
        """Return the message that ``value`` names no entry, with a similar name if there is one."""
        article = "an" if self.what.startswith("a") else "a"
        near = self.similar(value)
        hint = f"; did you mean {near}?" if near else ""
        return f"{spelled(value)[:100]!r} is not {article} {self.what} of the catalogue{hint}"


def finders(catalogue: Catalogue) -> dict[str, EntryFinder]:
    """Return the finders of ``catalogue`` by the field that they serve (``period`` is a member of the salary)."""
    found = {}
    for parent, fields in (("", FIELDS), ("/salary", SALARY_MEMBERS)):
        for field in fields:
            if name := field.catalogue:
                # feeds repeat the names that they have
                pointer, by_name = f"{parent}/{field.name}", lru_cache(4096)(partial(catalogue.find, name))
                found[field.name] = EntryFinder(_ENTRY_WORDS[name], pointer, by_name, catalogue.entries(name))
    return found
