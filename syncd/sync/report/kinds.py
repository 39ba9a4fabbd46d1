"""Errors and warnings by kind, with the distinct texts and values of each kind and how many rows have them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from syncd.errors import Problem
from syncd.store.run_results import StoredError

#: Kinds, and distinct texts and values of all kinds together, that are counted one by one.
MAX_KINDS, MAX_CAUSES = 1000, 10_000
#: The kind of all that are too many.
OTHERS = ("", "other")
_CUT = 120
Fault = TypeVar("Fault", Problem, StoredError)


@dataclass(slots=True)
class Kind:
    """The rows that have an error or a warning of one field and code; ``record`` is the first of them. ``pointer`` is
    without positions (``/locations/description``). ``causes``: (text, value or None) → rows."""

    pointer: str
    code: str
    record: int | None
    rows: int = 0
    causes: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    uncounted: int = 0

    @property
    def detail(self) -> str:
        """The first text."""
        return next(iter(self.causes), ("", None))[0]

    def described(self, most: int) -> list[str]:
        """Return the kind in at most ``most`` + 1 short lines: one text with the values that it is about, or each text with
        the number of its rows. The most frequent come first; the last line counts the others."""
        texts: Counter[str] = Counter()
        for (text, _), rows in self.causes.items():
            texts[text] += rows
        if len(texts) > 1 or self.uncounted:
            shown = [f"{rows:,} × {_cut(text)}" for text, rows in texts.most_common(most)]
            rest = self.uncounted + sum(rows for _, rows in texts.most_common()[most:])
            return [*shown, f"… and {rest:,} × others"] if rest else shown
        values = [(value, rows) for (_, value), rows in self.causes.most_common() if value is not None]
        return [_cut(self.detail), *([_values(values, most)] if values else [])]


def _values(values: list[tuple[str, int]], most: int) -> str:
    """Return ``"PT" 12 ×, "GR" 3 ×, … and 4 × others``; one value that all have comes without a number."""
    if len(values) == 1:
        return f'"{_cut(values[0][0])}"'
    shown = [f'"{_cut(value)}" {rows:,} ×' for value, rows in values[:most]]
    rest = sum(rows for _, rows in values[most:])
    return ", ".join([*shown, f"… and {rest:,} × others"] if rest else shown)


class Kinds:
    """Counts kinds, in limited memory."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, str], Kind] = {}
        #: The same by the pointer and code of a problem, as they are.
        self._known: dict[tuple[str, str], Kind] = {}
        self._causes = 0

    def add_errors(self, record: int, problems: Sequence[Fault], rows: int = 1) -> list[tuple[Kind, Fault]]:
        """Count ``rows`` rejected rows with the same problems, once for each kind and once for each distinct cause; return the
        problems with their kinds. ``record``: of the first row."""
        if len(problems) == 1:
            p = problems[0]
            kind = self._known.get((p.pointer, p.code)) or self._kind_of(p, record)
            kind.rows += rows
            self._count(kind, p.detail, None if p.value is None else str(p.value), rows)
            return [(kind, p)]
        with_kinds, counted = [], set[object]()
        for p in problems:
            kind = self._known.get((p.pointer, p.code)) or self._kind_of(p, record)
            if id(kind) not in counted:
                kind.rows += rows
            cause = (id(kind), p.detail, None if p.value is None else str(p.value))
            if cause not in counted:
                self._count(kind, *cause[1:], rows)
            counted.update((id(kind), cause))
            with_kinds.append((kind, p))
        return with_kinds

    def add_warning(self, code: str, detail: str, record: int | None = None, number: int = 1) -> Kind:
        """Count ``number`` equal warnings, and return their kind. ``record``: of the first one."""
        kind = self._kind("", code, record)
        kind.rows += number
        self._count(kind, detail, None, number)
        return kind

    def by_frequency(self) -> list[Kind]:
        """Return the kinds, the one with the most rows first."""
        return sorted(self._kinds.values(), key=lambda kind: -kind.rows)

    @property
    def total(self) -> int:
        return sum(kind.rows for kind in self._kinds.values())

    def _kind_of(self, problem: Problem | StoredError, record: int) -> Kind:
        key = (problem.pointer, problem.code)
        kind = self._known.get(key)
        if kind is None:
            kind = self._kind(_field_of(problem.pointer), problem.code, record)
            if len(self._known) < MAX_CAUSES:
                self._known[key] = kind
        return kind

    def _kind(self, where: str, code: str, record: int | None) -> Kind:
        key = (_cut(where), _cut(code))
        if key not in self._kinds and len(self._kinds) >= MAX_KINDS:
            key = OTHERS
        if key not in self._kinds:
            self._kinds[key] = Kind(*key, record)
        return self._kinds[key]

    def _count(self, kind: Kind, text: str, value: str | None, rows: int) -> None:
        cause, causes = (text, value), kind.causes
        if cause in causes:
            causes[cause] += rows
        elif self._causes >= MAX_CAUSES:
            kind.uncounted += rows
        else:
            self._causes += 1
            causes[cause] = rows


@lru_cache(1000)
def _field_of(pointer: str) -> str:
    """Return a pointer without positions: ``/locations/0/description`` → ``/locations/description``."""
    return "/".join(step for step in pointer.split("/") if not step.isdigit()) or "/"


def _cut(text: str) -> str:
    return text if len(text) <= _CUT else text[: _CUT - 1] + "…"
