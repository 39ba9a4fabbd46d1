"""The mapping of a feed as it is in force, with the origin of each line: the feed's file, its preset, or what that extends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, NamedTuple

from syncd.feeds import toml_text
from syncd.feeds.mapping.presets import overridden, preset_layers

_TOP = ("employer", "preset", "places")
_Layers = list[tuple[str, Mapping[str, Any]]]


class MappingLine(NamedTuple):
    """``key = value`` of a table ("" is the top of the file), and where it comes from."""

    table: str
    key: str
    value: object
    origin: str


def mapping_in_force(name: str, values: Mapping[str, Any]) -> list[MappingLine]:
    """Return the lines of the mapping of a feed whose file has ``values`` and no fault."""
    own = f"{name}.toml"
    layers: _Layers = [*(preset_layers(values["preset"]) if "preset" in values else ()), (own, values)]
    merged = reduce(overridden, (dict(tables) for _, tables in layers))
    lines = [MappingLine("", key, values[key], own) for key in _TOP if key in values]
    for table in ("read", "fields"):
        lines += _lines(layers, (table,), merged.get(table, {}))
    for lookup, entries in merged.get("lookup", {}).items():
        lines += _lines(layers, ("lookup", lookup), entries)
    return lines + [MappingLine("rows", key, rule, own) for key, rule in values.get("rows", {}).items()]


def mapping_toml(lines: Iterable[MappingLine]) -> Iterator[str]:
    """Yield the lines as TOML, each with its origin as a comment."""
    table = ""
    for line in lines:
        if line.table != table:
            table = line.table
            yield f"\n[{'.'.join(map(toml_text.key, table.split('.', 1)))}]"
        yield f"{toml_text.key(line.key)} = {toml_text.value(line.value)}  # {line.origin}"


def _lines(layers: _Layers, path: tuple[str, ...], entries: Mapping[str, Any]) -> Iterator[MappingLine]:
    for key, value in entries.items():
        origin = next(origin for origin, tables in reversed(layers) if key in _table(tables, path))
        yield MappingLine(".".join(path), key, value, origin)


def _table(tables: Mapping[str, Any], path: tuple[str, ...]) -> Mapping[str, Any]:
    return reduce(lambda table, name: table.get(name, {}), path, tables)
