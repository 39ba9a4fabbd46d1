"""What is wrong with a feed's configuration, gathered: every fault with its file and key, none raised
before all are known."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class Scope:
    """A place in a feed's file: ``acme.toml``, ``fields.salary``. Children share the list of faults."""

    file: str
    path: str = ""
    faults: list[str] = field(default_factory=list)

    def at(self, key: str | int) -> Scope:
        """The place of a member (text) or of an alternative (a number, counted from 1)."""
        part = f"[{key}]" if isinstance(key, int) else f".{key}" if self.path else key
        return Scope(self.file, self.path + part, self.faults)

    def fault(self, message: str) -> None:
        line = f"{self.file}: {self.path}: {message}" if self.path else f"{self.file}: {message}"
        if line not in self.faults:
            self.faults.append(line)

    def keys(self, table: Mapping[str, object], known: Collection[str], what: str = "key") -> None:
        """A fault for every key of ``table`` that is not ``known``, with the nearest that is."""
        for key in table:
            if key not in known:
                self.at(key).fault(f"unknown {what}{nearest(key, known)}")


def nearest(key: str, known: Collection[str]) -> str:
    """The hint behind "unknown key": the likely spelling, or all of a few, or nothing."""
    folded = {name.lower().replace("-", "_"): name for name in known}
    near = get_close_matches(key.lower().replace("-", "_"), folded, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {folded[near[0]]}?"
    return f"; known: {', '.join(sorted(known))}" if 0 < len(known) <= 12 else ""
