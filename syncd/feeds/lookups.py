"""What no catalogue and no lookup has, as lines for the feed's own file, ready to be filled in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from collections.abc import Mapping as Map

from syncd.domain.catalog import Catalog
from syncd.feeds.catalogue_values import finders
from syncd.feeds.mapping import Mapping
from syncd.feeds.toml_text import key, lookup_lines

#: The names that the shipped presets give to the lookups of these fields.
USUAL = {"categories": "category", "positionType": "position", "locations": "location"}


def suggestions(values: Counter[str], field: str, catalog: Catalog) -> dict[str, str]:
    """Value → the name in the catalogue that it may be a misspelling of."""
    find = next((f for f in finders(catalog).values() if f.pointer == f"/{field}"), None)
    if find is None:
        return {}
    hints = {value: find.hint(value) for value, _ in values.most_common(200) if len(value) <= 200}
    return {value: hint.split("mean ", 1)[1].rstrip("?") for value, hint in hints.items() if hint}


def unknown_lines(
    unknown: Map[str, Counter[str]], mapping: Mapping, existing: Collection[str], catalog: Catalog
) -> list[str]:
    """TOML for ``[lookup.…]``. ``existing``: the tables that the feed's own file has already; for these no
    heading is given, since TOML forbids a second one."""
    lines: list[str] = []
    for field, values in unknown.items():
        name = mapping.lookup_of(field.split("/", maxsplit=1)[0])
        lines += [""] if lines else []
        if name is None:
            name = USUAL.get(field, field.rpartition("/")[2])
            lines.append(f'# {field} has no lookup yet: add lookup = "{name}" to it in [fields]')
        heading = f"[lookup.{key(name)}]"
        lines.append(f"# these go into {heading}, which the file has" if name in existing else heading)
        lines += lookup_lines(values, suggestions(values, field, catalog))
    return lines
