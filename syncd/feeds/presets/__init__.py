"""Presets: mappings for the feeds that employers already have, one TOML file each, in the language of
``[fields]``.

A preset is data: ``about`` (one line), ``[read]``, ``[fields]`` and ``[lookup.NAME]``. A feed's own file
overrides it field by field and, within a lookup, entry by entry."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def preset_names() -> tuple[str, ...]:
    """All that are shipped, in alphabetical order."""
    found = (entry.name for entry in files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))


def load_preset(name: str) -> dict[str, Any]:
    """The parsed file of a shipped preset; a new value each time. KeyError: there is none of that name."""
    if name not in preset_names():
        raise KeyError(name)
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
