"""The faults of a feed's configuration, each with its file and key, and the notes about a row. All faults are collected before
any is raised."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec import Struct

from syncd.domain import near_names
from syncd.errors import Problem, shortened
from syncd.values import ValueFault

T = TypeVar("T")
D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Scope:
    """A place in a feed's file: ``acme.toml``, ``fields.salary``. Places below it share the list of faults."""

    file: str
    path: str = ""
    faults: list[str] = field(default_factory=list)

    def at(self, key: str | int) -> Scope:
        """Return the place of a member (text) or of an alternative (a number, counted from 1)."""
        part = f"[{key}]" if isinstance(key, int) else f".{key}" if self.path else key
        return Scope(self.file, self.path + part, self.faults)

    def fault(self, message: str) -> None:
        line = f"{self.file}: {self.path}: {message}" if self.path else f"{self.file}: {message}"
        if line not in self.faults:
            self.faults.append(line)

    def keys(self, table: Mapping[str, object], known: Collection[str], what: str = "key") -> None:
        """Add a fault for every key of ``table`` that is not ``known``, with the most similar key that is."""
        for key in table:
            if key not in known:
                self.at(key).fault(f"unknown {what}{nearest(key, known)}")


def nearest(key: str, known: Collection[str]) -> str:
    """Return the end of an "unknown key" message: the likely spelling, or all known keys if they are few, or ""."""
    if near := near_names(key, known):
        return f"; did you mean {near[0]}?"
    return f"; known: {', '.join(sorted(known))}" if 0 < len(known) <= 12 else ""


def member(
    table: Mapping[str, Any], key: str, parse: Callable[[object], T], default: D, scope: Scope
) -> T | D:
    """Return ``table[key]`` parsed; ``default`` where it is absent or (with a fault) wrong."""
    if key not in table:
        return default
    try:
        return parse(table[key])
    except ValueFault as error:
        scope.at(key).fault(str(error))
        return default


class RowLog(Struct):
    """The notes about one row. ``unknown`` is (field, value) of values that no catalogue and no lookup has."""

    warnings: list[tuple[str, str]] = []
    problems: list[Problem] = []
    unknown: list[tuple[str, str]] = []

    def note(self, code: str, detail: str) -> None:
        self.warnings.append((code, shortened(detail)))
