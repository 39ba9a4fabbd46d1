"""Values that no catalogue and no lookup has: counted, and as lines for the feed's own file, ready to be filled in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from syncd.domain import Catalogue, UnknownValues
from syncd.errors import Problem
from syncd.feeds.catalogue_values import finders
from syncd.feeds.mapping.mapping import Mapping
from syncd.feeds.toml_text import key, text

#: The names that the shipped presets give to the lookups of these fields.
USUAL = {"categories": "category", "positionType": "position", "locations": "location"}
#: The most different values of a field that are counted, and that are listed.
MOST_VALUES, MOST_LISTED = 10_000, 200
#: Longer values are texts, and lookups are not for them.
_LONGEST = 200


class UnknownCounter:
    """``fields`` is field → unknown value → number of rows."""

    def __init__(self) -> None:
        self.fields: dict[str, Counter[str]] = {}

    def add(self, values: Iterable[tuple[str, str]]) -> None:
        """Count the unknown values of one row, (field, value), each once."""
        for name, value in dict.fromkeys(values):
            counts = self.fields.setdefault(name, Counter())
            if value in counts or len(counts) < MOST_VALUES:
                counts[value] += 1

    def listed(self, mapping: Mapping, existing: Collection[str], catalogue: Catalogue) -> UnknownValues:
        """Return the most frequent values, also as TOML for ``[lookup.…]``. ``existing`` are the lookups that the feed's own
        file already has; they get no heading, since TOML does not allow a second one."""
        lines: list[str] = []
        for field, values in self.fields.items():
            name = mapping.lookup_of(field.split("/", maxsplit=1)[0])
            lines += [""] if lines else []
            if name is None:
                name = USUAL.get(field, field.rpartition("/")[2])
                lines.append(f'# {field} has no lookup yet: add lookup = "{name}" to it in [fields]')
            heading = f"[lookup.{key(name)}]"
            lines.append(f"# these go into {heading}, which the file has" if name in existing else heading)
            lines += lookup_lines(values, field, catalogue)
        found = {name: counts.most_common(MOST_LISTED) for name, counts in self.fields.items()}
        return UnknownValues(found, "\n".join(lines))


def unknown_places(problems: Iterable[Problem]) -> tuple[tuple[str, str], ...]:
    """Return (field, value) of the places among ``problems`` that cannot be read: a lookup translates them too."""
    return tuple(
        ("locations", problem.value)
        for problem in problems
        if problem.code in ("unknown_province", "unknown_value")
        and problem.pointer.startswith("/locations/")
        and isinstance(problem.value, str)
    )


def lookup_lines(values: Counter[str], field: str, catalogue: Catalogue) -> list[str]:
    """Return ``"value" = ""  # 12 rows`` for each value, the most frequent first, with the name that it may be meant for."""
    find = next((f for f in finders(catalogue).values() if f.pointer == f"/{field}"), None)
    fit = [(name, count) for name, count in values.most_common() if len(name) <= _LONGEST]
    lines = []
    for name, count in fit[:MOST_LISTED]:
        near = find.similar(name) if find else None
        hint = f"; {near}?" if near else ""
        lines.append(f'{text(name)} = ""  # {count} row{"s" if count != 1 else ""}{hint}')
    if len(fit) > MOST_LISTED:
        lines.append(f"# … and {len(fit) - MOST_LISTED} more values")
    if longer := len(values) - len(fit):
        lines.append(f"# {longer} values are longer than {_LONGEST} characters: no lookup is for them")
    return lines
