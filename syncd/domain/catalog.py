"""The catalogues: position types, categories, salary periods, routing types (docs/specification.md 2.3 to 2.6.1).

A value: made once from the shipped entries and the configuration, then passed round. Retired entries stay
valid on input, so that a job that has one can be sent back as it was read; they are only no longer found by
name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from syncd.domain.catalog_data import (
    CATEGORIES,
    CATEGORY_SYNONYMS,
    PERIOD_SYNONYMS,
    PERIODS,
    POSITION_SYNONYMS,
    POSITION_TYPES,
    ROUTING_SYNONYMS,
    ROUTING_TYPES,
)
from syncd.domain.text import key
from syncd.errors import ConfigError

MAX_CATEGORY_NAME = 40
MAX_POSITION_NAME = 10
INT32_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Entry:
    """A position type, category or routing type. ``retired``: valid on old jobs, no longer offered."""

    id: int
    name: str
    retired: bool = False


@dataclass(frozen=True, slots=True)
class Period:
    """A salary period; ``unit`` is what one amount pays for (Year … Hour)."""

    id: int
    name: str
    unit: str
    retired: bool = False


def _names(entries: Iterable[Entry | Period], synonyms: Mapping[int, tuple[str, ...]]) -> dict[str, int]:
    """Key of a name → id. A proper name wins over a synonym, and neither belongs to a retired entry. Behind
    "& " the same keys without "and": no other key has such a sign."""
    live = [entry for entry in entries if not entry.retired]
    found = {key(name): entry.id for entry in live for name in synonyms.get(entry.id, ())}
    found.update({key(entry.name): entry.id for entry in live})
    for name, id in tuple(found.items()):
        found.setdefault(f"& {_bare(name)}", id)
    return found


def _bare(name_key: str) -> str:
    """``name_key`` without "and": "Oil & Gas", "Oil and Gas" and "Oil, Gas" are one."""
    return " ".join(word for word in name_key.split() if word not in ("and", "et"))


@dataclass(frozen=True)
class Catalog:
    """All four, by id, in the order of ids. Compare catalogues by ``digest()``."""

    position_types: Mapping[int, Entry]
    categories: Mapping[int, Entry]
    periods: Mapping[int, Period]
    routing_types: Mapping[int, Entry]
    _by_name: Mapping[str, Mapping[str, int]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = {
            "categories": _names(self.categories.values(), CATEGORY_SYNONYMS),
            "position_types": _names(self.position_types.values(), POSITION_SYNONYMS),
            "periods": _names(self.periods.values(), PERIOD_SYNONYMS),
            "routing_types": _names(self.routing_types.values(), ROUTING_SYNONYMS),
        }
        object.__setattr__(self, "_by_name", names)

    @classmethod
    def default(cls) -> Catalog:
        """What syncd ships (docs/api.md "Catalogues")."""
        return cls(
            position_types={id: Entry(id, name) for id, name in POSITION_TYPES.items()},
            categories={id: Entry(id, name) for id, name in CATEGORIES.items()},
            periods={id: Period(id, name, unit) for id, (name, unit) in PERIODS.items()},
            routing_types={id: Entry(id, name) for id, name in ROUTING_TYPES.items()},
        )

    def extended(
        self,
        *,
        categories: Mapping[int, str] | None = None,
        position_types: Mapping[int, str] | None = None,
        retired_categories: Iterable[int] = (),
        retired_position_types: Iterable[int] = (),
    ) -> Catalog:
        """This catalogue with entries added or renamed (id → name), and others retired; nothing is ever
        removed.

        Raises ConfigError with every fault: an id beyond Int32, a name too long, empty or used twice, an
        unknown id to retire."""
        faults: list[str] = []
        changed = Catalog(
            _changed(
                "position_types",
                self.position_types,
                position_types or {},
                retired_position_types,
                limit=MAX_POSITION_NAME,
                faults=faults,
            ),
            _changed(
                "categories",
                self.categories,
                categories or {},
                retired_categories,
                limit=MAX_CATEGORY_NAME,
                faults=faults,
            ),
            self.periods,
            self.routing_types,
        )
        if faults:
            raise ConfigError(faults)
        return changed

    def entries(self, name: str) -> Mapping[int, Entry | Period]:
        """Return the catalogue of this name (``JobField.catalogue``): id → entry."""
        found: Mapping[int, Entry | Period] = getattr(self, name)
        return found

    def find(self, name: str, text: str) -> int | None:
        """Return the id of the entry that ``text`` names in the catalogue ``name``, without case and accents, or None."""
        names, wanted = self._by_name[name], key(text)
        found, bare = names.get(wanted), _bare(wanted)
        if found is None and ("&" in text or bare != wanted):
            return names.get(f"& {bare}")
        return found

    def category(self, id: int) -> Entry | None:
        return self.categories.get(id)

    def position_type(self, id: int) -> Entry | None:
        return self.position_types.get(id)

    def period(self, id: int) -> Period | None:
        return self.periods.get(id)

    def routing_type(self, id: int) -> Entry | None:
        return self.routing_types.get(id)

    def find_category(self, name: str) -> int | None:
        """The id of the category with this name or a known synonym, without case and accents; None if there
        is none."""
        return self.find("categories", name)

    def find_position_type(self, name: str) -> int | None:
        """The same for position types (``FULL_TIME``, ``temps plein``, ``Contractor`` …)."""
        return self.find("position_types", name)

    def find_period(self, name: str) -> int | None:
        """The same for salary periods, by name, unit or abbreviation (``Yearly``, ``HOUR``, ``an``,
        ``hr``)."""
        return self.find("periods", name)

    def find_routing_type(self, name: str) -> int | None:
        """The same for routing types (``Email``, ``courriel``, ``URL``)."""
        return self.find("routing_types", name)

    def digest(self) -> bytes:
        """16 bytes over every id, name, unit and retirement: equal for equal catalogues, in any process."""
        parts = [
            (kind, tuple(entries.values()))
            for kind, entries in (
                ("position", self.position_types),
                ("category", self.categories),
                ("period", self.periods),
                ("routing", self.routing_types),
            )
        ]
        return blake2b(repr(parts).encode(), digest_size=16).digest()


def _changed(
    kind: str,
    entries: Mapping[int, Entry],
    names: Mapping[int, str],
    retired: Iterable[int],
    *,
    limit: int,
    faults: list[str],
) -> dict[int, Entry]:
    changed = dict(entries)
    for id, name in names.items():
        faults.extend(f"{kind}.{id}: {fault}" for fault in _entry_faults(id, name, limit))
        changed[id] = Entry(id, name.strip())
    for id in retired:
        if id in changed:
            changed[id] = Entry(id, changed[id].name, retired=True)
        else:
            faults.append(f"{kind}: {id} cannot be retired, there is no such id")
    faults.extend(_twice(kind, changed.values()))
    return {id: changed[id] for id in sorted(changed)}


def _entry_faults(id: int, name: str, limit: int) -> list[str]:
    faults = []
    if not 1 <= id <= INT32_MAX:
        faults.append(f"an id must be 1 to {INT32_MAX}")
    if not name.strip():
        faults.append("a name must not be empty")
    if len(name.strip()) > limit:
        faults.append(f"{name!r} has {len(name.strip())} characters; at most {limit} are allowed")
    return faults


def _twice(kind: str, entries: Iterable[Entry]) -> list[str]:
    seen: dict[str, Entry] = {}
    faults = []
    for entry in entries:
        if entry.retired:
            continue
        if (other := seen.setdefault(key(entry.name), entry)) is not entry:
            faults.append(f"{kind}: {entry.name!r} is the name of both {other.id} and {entry.id}")
    return faults
