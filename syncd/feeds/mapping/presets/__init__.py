"""Presets: mappings for the feeds that employers already have, one TOML file each, in the language of ``[fields]``.

A preset is data: ``about`` (one line), ``[detect]`` (how such a feed is recognised, see ``drafting.preset_match``),
``[read]``, ``[fields]`` and ``[lookup.NAME]``. With ``extends = "NAME"`` it starts from another one, a shipped preset
or a family (``families/NAME.toml``), and says what is different: a field replaces the field of that name, ``false``
removes it, lookups are joined entry by entry. A feed's own file overrides a preset in the same way."""

from __future__ import annotations

import tomllib
from functools import cache, reduce
from importlib.resources import files
from typing import Any


@cache
def preset_names() -> tuple[str, ...]:
    """Return the names of the shipped presets, in alphabetical order."""
    found = (entry.name for entry in files("syncd.feeds.mapping.presets").iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))


def load_preset(name: str) -> dict[str, Any]:
    """Return the tables of a shipped preset, with what it extends; a new value each time."""
    return reduce(overridden, (tables for _, tables in preset_layers(name)))


def preset_layers(name: str) -> list[tuple[str, dict[str, Any]]]:
    """Return what a preset is made of, what it extends first: (``preset NAME`` or ``family NAME``, its own tables)."""
    home = files("syncd.feeds.mapping.presets")
    path = home / f"{name}.toml" if name in preset_names() else home / "families" / f"{name}.toml"
    own = tomllib.loads(path.read_text(encoding="utf-8"))
    parent = own.pop("extends", None)
    kind = "preset" if name in preset_names() else "family"
    return [*(preset_layers(parent) if parent else ()), (f"{kind} {name}", own)]


def overridden(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Return ``base`` overridden by ``own``: fields and reading by key, lookups by entry, the rest whole."""
    merged = {**base, **own}
    for table in ("read", "fields"):
        merged[table] = {**base.get(table, {}), **own.get(table, {})}
    merged["fields"] = {
        key: value
        for key, value in merged["fields"].items()
        if value is not False or key not in base.get("fields", {})
    }
    lookups = {**base.get("lookup", {}), **own.get("lookup", {})}
    for name in base.get("lookup", {}).keys() & own.get("lookup", {}).keys():
        if isinstance(lookups[name], dict):
            lookups[name] = {**base["lookup"][name], **lookups[name]}
    merged["lookup"] = lookups
    return merged
