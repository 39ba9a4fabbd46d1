"""Catalogue values as feeds give them, by id or by name, and the ids that they mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from syncd.domain import FIELDS, SALARY_MEMBERS, Catalogue, CatalogueEntry, JobField
from syncd.feeds.faults import nearest
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
            return self._known(int(text)) if text.isdecimal() and len(text) < 11 else None
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            return None
        return self._known(int(value)) if 0 < value < 2**31 and value == int(value) else None

    def id_by_name(self, name: str) -> int | None:
        """Return the id of the entry with this name or synonym. Digits are not taken for an id."""
        return self.by_name(name) if len(name) <= _LONGEST else None

    def hint(self, value: object) -> str:
        """Return the end of a message that suggests a similar name of the catalogue; "" if there is none."""
        near = nearest(spelled(value), [entry.name for entry in self.entries.values()])
        return near if near.startswith("; did") else ""

    def unknown(self, value: object) -> str:
        """Return the message that ``value`` names no entry, with a similar name if there is one."""
        article = "an" if self.what.startswith("a") else "a"
        return f"{spelled(value)[:100]!r} is not {article} {self.what} of the catalogue{self.hint(value)}"

    def _known(self, id: int) -> int | None:
        return id if id in self.entries else None


def finders(catalogue: Catalogue) -> dict[str, EntryFinder]:
    """Return the finders of ``catalogue`` by the field that they serve (``period`` is a member of the salary)."""
    found = {field.name: _finder(field, f"/{field.name}", catalogue) for field in FIELDS if field.catalogue}
    for member in SALARY_MEMBERS:
        if member.catalogue:
            found[member.name] = _finder(member, f"/salary/{member.name}", catalogue)
    return found


def _finder(field: JobField, pointer: str, catalogue: Catalogue) -> EntryFinder:
    name = field.catalogue
    return EntryFinder(_ENTRY_WORDS[name], pointer, partial(catalogue.find, name), catalogue.entries(name))
