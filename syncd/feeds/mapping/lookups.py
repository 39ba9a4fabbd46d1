"""Constants and lookup tables of a feed's file: ``[lookup.NAME]``, ``value`` and ``default``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from syncd.domain import name_key
from syncd.feeds.faults import Scope

Values = list[object]
#: A lookup compares this many characters of a value.
_LONGEST = 500


class LookupTable(dict[str, Values]):
    """A lookup: name key → values.

    An entry that is written with a ``*`` at its end keeps the ``*`` in its key, and holds for every text that begins so.
    The longest one wins; an entry for the whole text wins over all of these."""

    def __init__(self, entries: Mapping[str, Values]) -> None:
        super().__init__({_entry_key(text): values for text, values in entries.items()})
        starts = (key[:-1] for key in self if key.endswith("*"))
        self._starts = tuple(sorted(starts, key=len, reverse=True))

    def find(self, text: str, default: Values) -> Values:
        key = name_key(text[:_LONGEST])
        found = self.get(key)
        if found is None and self._starts:
            found = next((self[f"{start}*"] for start in self._starts if key.startswith(start)), None)
        return default if found is None else found


def _entry_key(text: str) -> str:
    """``29*`` holds for "29" and "2951"; ``29-*`` holds for "29-51", but not for these."""
    stem = text.rstrip()
    if not stem.endswith("*"):
        return name_key(text)
    stem = stem[:-1]
    return name_key(stem) + ("*" if stem[-1:].isalnum() else " *")


def lookup_tables(lookups: Mapping[str, Mapping[str, object]], scope: Scope) -> dict[str, LookupTable]:
    """Return the tables by name. Their keys compare without case, accents and punctuation."""
    tables: dict[str, LookupTable] = {}
    for name, entries in lookups.items():
        inner = scope.at(name)
        if isinstance(entries, dict):
            tables[name] = LookupTable({k: constants(value, inner.at(k)) for k, value in entries.items()})
        else:
            inner.fault('must be a table of "text in the feed" = "value"')
            tables[name] = LookupTable({})
    return tables


def lookups_in(expression: object) -> Iterator[str]:
    """Yield the names of the lookups that one right-hand side of ``[fields]`` uses, or all of them."""
    if isinstance(expression, dict):
        if isinstance(expression.get("lookup"), str):
            yield expression["lookup"]
        expression = list(expression.values())
    if isinstance(expression, list):
        for part in expression:
            yield from lookups_in(part)


def constants(value: object, scope: Scope) -> Values:
    """Return a constant of the configuration (text, number, boolean, date, or a list of these) as values."""
    items = value if isinstance(value, list) else [value]
    if any(isinstance(item, dict | list) for item in items):
        scope.fault("must be a constant (text, number, true, false) or a list of constants")
        return []
    plain = (item.isoformat() if hasattr(item, "isoformat") else item for item in items)
    return [item for item in plain if item != ""]
