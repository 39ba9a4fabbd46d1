"""The catalogues: position types, categories, salary periods, routing types (docs/specification.md 2.3 to 2.6.1).

A value: made once from the shipped entries and the configuration, then passed on. Retired entries stay valid in bodies, so that
a job that has one can be sent back as it was read; they are only no longer found by name."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import blake2b

from syncd.domain.job_fields import INT32_MAX
from syncd.domain.text import MAX_NAME_CHARACTERS, name_key, near_names
from syncd.errors import ConfigError
from syncd.shipped_data import CatalogueEntry, catalogue_entries

MAX_CATEGORY_NAME = 40
MAX_POSITION_NAME = 10
_MAX_NAME = {"categories": MAX_CATEGORY_NAME, "position_types": MAX_POSITION_NAME}


#: Catalogue → members of an entry that answers show beside its id; a body may have them, and they are ignored.
SHOWN_MEMBERS: Mapping[str, tuple[str, ...]] = {
    "position_types": ("name",),
    "categories": ("name",),
    "periods": ("name", "unit"),
    "routing_types": ("name",),
}
#: The ratios by which a text and the name of an entry, or a phrase of it and any name, have to be alike.
_LEAST_ALIKE, _LEAST_ALIKE_PHRASE = 0.82, 0.93
#: The most words of an unknown text that are looked at, and of a phrase.
_MAX_WORDS, _MAX_PHRASE = 8, 4
#: Names of entries that say little as a part of a longer name ("Support Services", "Waste Management").
_VAGUE_WORDS = frozenset(
    "general other others autre autres divers support office bureau operations people direction gestion management leadership"
    " executive community communautaire culture energy business gas store auto administration admin technology".split()
)
Entries = Mapping[int, CatalogueEntry]
#: The parts of the digest of the catalogues: it never changes, and neither do the names of these.
Entry = namedtuple("Entry", "id name retired")
Period = namedtuple("Period", "id name unit retired")


@dataclass(frozen=True)
class Catalogue:
    """All four, by id, in the order of ids."""

    position_types: Entries
    categories: Entries
    periods: Entries
    routing_types: Entries

    @cached_property
    def _by_name(self) -> Mapping[str, Mapping[str, int]]:
        """Return catalogue → key of a name → id."""
        return {each.name: _names(self.entries(each.name)) for each in fields(self)}

    @cached_property
    def _alike(self) -> Mapping[tuple[str, str, int], list[str]]:
        """Return the keys of names by catalogue, first letter and number of words."""
        alike: dict[tuple[str, str, int], list[str]] = {}
        for name, ids in self._by_name.items():
            for key in ids:
                alike.setdefault((name, key[0], key.count(" ")), []).append(key)
        return alike

    @classmethod
    def default(cls) -> Catalogue:
        """Return the catalogues that are shipped (docs/api.md "Catalogues")."""
        return cls(**catalogue_entries())

    def extended(self, **names: Mapping[int, str]) -> Catalogue:
        """Return this catalogue with entries of ``position_types`` and ``categories`` added or renamed (id → name), and retired
        (an empty name); none is ever removed.

        Raise ConfigError with every fault: an id beyond Int32, a name too long or used twice, an unknown id to retire."""
        faults: list[str] = []
        changed = {kind: _changed(kind, self.entries(kind), ids, faults) for kind, ids in names.items()}
        if faults:
            raise ConfigError(faults)
        return replace(self, **changed)

    def with_retired(self, **names: Mapping[int, str]) -> Catalogue:
        """Return this catalogue with further entries (id → name) of each kind that are retired."""
        changed: dict[str, Entries] = {}
        for kind, ids in names.items():
            retired = {id: CatalogueEntry(id, name, retired=True) for id, name in ids.items()}
            changed[kind] = dict(sorted({**self.entries(kind), **retired}.items()))
        return replace(self, **changed)

    def entries(self, name: str) -> Entries:
        """Return the catalogue of this name (``JobField.catalogue``): id → entry."""
        found: Entries = getattr(self, name)
        return found

    def find(self, name: str, text: str) -> int | None:
        """Return the id of the entry that ``text`` names in the catalogue ``name``, or None. Its own name and the others
        count (``FULL_TIME``, ``temps plein``), without case, accents and "and"."""
        names, key = self._by_name[name], name_key(text)
        entry_id, bare = names.get(key), _bare(key)
        if entry_id is None and ("&" in text or bare != key):
            return names.get(f"& {bare}")
        return entry_id

    def likely(self, name: str, text: str) -> str | None:
        """Return the name of the entry for which an unknown ``text`` is likely meant: of that whose name it misspells, else of
        the only one to which its longest known phrase belongs. None: there is none, or there are several."""
        entries, ids = self.entries(name), self._by_name[name]
        live = (entry.name for entry in entries.values() if not entry.retired)
        if near := near_names(text, live, least=_LEAST_ALIKE):
            return near[0]
        words = name_key(text[:MAX_NAME_CHARACTERS]).split()[:_MAX_WORDS]
        for length in range(min(len(words), _MAX_PHRASE), 0, -1):
            phrases = (" ".join(words[at : at + length]) for at in range(len(words) - length + 1))
            known = {self._spelled(name, phrase) for phrase in phrases if phrase not in _VAGUE_WORDS}
            if meant := {ids[phrase] for phrase in known if phrase in ids}:
                return entries[meant.pop()].name if len(meant) == 1 else None
        return None

    def _spelled(self, name: str, phrase: str) -> str:
        """Return the name that a phrase misspells by a letter, else the phrase. A short word may be another one ("baking")."""
        if phrase in self._by_name[name] or len(phrase) < 7:
            return phrase
        beginning = self._alike.get((name, phrase[0], phrase.count(" ")), ())
        alike = [known for known in beginning if abs(len(known) - len(phrase)) < 2]
        near = near_names(phrase, alike, least=_LEAST_ALIKE_PHRASE) if alike else []
        return near[0] if near else phrase

    def digest(self) -> bytes:
        """Return 16 bytes over every id, name, unit and retirement, equal for equal catalogues in any version: stores keep
        digests of feeds that have it."""

        def plain(entries: Entries) -> tuple[Entry, ...]:
            return tuple(Entry(each.id, each.name, each.retired) for each in entries.values())

        parts = [
            ("position", plain(self.position_types)),
            ("category", plain(self.categories)),
            ("period", tuple(Period(p.id, p.name, p.unit, p.retired) for p in self.periods.values())),
            ("routing", plain(self.routing_types)),
        ]
        return blake2b(repr(parts).encode(), digest_size=16).digest()


def _names(entries: Entries) -> dict[str, int]:
    """Return key of a name → id. A proper name wins over another one, and neither belongs to a retired entry. After "& "
    follow the same keys without "and": no other key has such a sign."""
    live = [entry for entry in entries.values() if not entry.retired]
    ids = {name_key(name): entry.id for entry in live for name in entry.other_names}
    ids |= {name_key(entry.name): entry.id for entry in live}
    for name, id in tuple(ids.items()):
        ids.setdefault(f"& {_bare(name)}", id)
    return ids


def _bare(key: str) -> str:
    """Return ``key`` without "and": "Oil & Gas", "Oil and Gas" and "Oil, Gas" are one name."""
    return " ".join(word for word in key.split() if word not in ("and", "et"))


def _changed(
    kind: str, entries: Entries, names: Mapping[int, str], faults: list[str]
) -> dict[int, CatalogueEntry]:
    changed = dict(entries)
    for id, written in names.items():
        if name := written.strip():
            if not 1 <= id <= INT32_MAX:
                faults.append(f"{kind}.{id}: an id must be 1 to {INT32_MAX}")
            if len(name) > (most := _MAX_NAME[kind]):
                faults.append(
                    f"{kind}.{id}: {written!r} has {len(name)} characters; at most {most} are allowed"
                )
            changed[id] = replace(changed.get(id, CatalogueEntry(id, name)), name=name, retired=False)
        elif id in changed:
            changed[id] = replace(changed[id], retired=True)
        else:
            faults.append(
                f"{kind}.{id}: an empty name retires an entry that ships, and this is none; to retire one of your own,"
                " remove its line"
            )
    by_name: dict[str, CatalogueEntry] = {}
    for entry in changed.values():
        first = entry if entry.retired else by_name.setdefault(name_key(entry.name), entry)
        if first is not entry:
            faults.append(f"{kind}: {entry.name!r} is the name of both {first.id} and {entry.id}")
    return dict(sorted(changed.items()))
