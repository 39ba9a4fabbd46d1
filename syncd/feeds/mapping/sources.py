"""Sources: what a field can be made of. The grammar of a mapping's right-hand sides, below the level of
fields:

source = "selector" | [source, …] (the first that gives a value)
       | { from = source } | { value = constant } | { all = [source, …] }
       | { template = "{selector}, {other}" }
       | any of these with each = "selector" (relative to each of its nodes; alone: the nodes),
         split = "," | [",", "/"], lookup = "NAME", default = constant
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from syncd.domain import name_key
from syncd.feeds.faults import Scope, nearest
from syncd.feeds.mapping.selectors import Node, Selector, compile_columns, compile_selector
from syncd.feeds.readers import Format
from syncd.feeds.text import spelled

Values = list[object]
#: Lookups compare so many characters of a value.
_LONGEST = 500
SOURCE_KEYS = ("from", "value", "all", "template", "each", "split", "lookup", "default")
_FORMS = ("from", "value", "all", "template")
_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@dataclass(frozen=True, slots=True)
class Source:
    """``first``: the first value, or None. ``every``: all of them. Values are text, numbers or booleans,
    never empty."""

    first: Callable[[Node], object | None]
    every: Callable[[Node], Values]


class Table(dict[str, Values]):
    """A lookup: name key → values. An entry that was written with a ``*`` at its end stands under its key with
    that ``*``, and holds for every text that begins so; the longest one wins, and a whole name over any."""

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
    """``29*`` holds for "29" and "2951"; ``29-*`` for "29-51", not for these."""
    stem = text.rstrip()
    if not stem.endswith("*"):
        return name_key(text)
    stem = stem[:-1]
    return name_key(stem) + ("*" if stem[-1:].isalnum() else " *")


@dataclass(slots=True)
class Build:
    """What compiling needs to know. ``lookups``: tables by name. ``whole``:
    says of a text that it is one value although it holds a separator. ``outside`` gathers the selectors
    that leave the record."""

    form: Format
    lookups: Mapping[str, Table] = field(default_factory=dict)
    markup: bool = False
    whole: Callable[[str], bool] = field(default=lambda text: False)
    outside: list[str] = field(default_factory=list)


NOTHING = Source(lambda node: None, lambda node: [])


def compile_source(expression: object, build: Build, scope: Scope) -> Source:
    """Faults go to ``scope``; a faulty source gives nothing."""
    if isinstance(expression, str):
        found = selector(expression, build, scope)
        return Source(found.first, found.every) if found else NOTHING
    if isinstance(expression, list):
        return _alternatives(expression, build, scope)
    if isinstance(expression, dict):
        scope.keys(expression, SOURCE_KEYS)
        return compile_table(expression, build, scope)
    scope.fault('must be a selector (text), a list of alternatives or a table such as { from = "title" }')
    return NOTHING


def compile_table(table: Mapping[str, Any], build: Build, scope: Scope) -> Source:
    """The source keys of a table; other keys are the field's business."""
    forms = [name for name in _FORMS if name in table]
    if len(forms) > 1 or (not forms and "each" not in table):
        scope.fault(
            f"needs exactly one of {', '.join(_FORMS)}" + (f", not {' and '.join(forms)}" if forms else "")
        )
        return NOTHING
    source = _form(forms[0] if forms else "from", table, build, scope)
    if "each" in table:
        source = _each(table["each"], source, build, scope)
    if "split" in table:
        source = _split(table["split"], source, build, scope)
    if "lookup" in table:
        source = _lookup(table["lookup"], source, build, scope)
    if "default" in table:
        source = _default(constants(table["default"], scope.at("default")), source)
    return source


def constants(value: object, scope: Scope) -> Values:
    """A constant of the configuration as values: text, number, boolean or date, or a list of these."""
    items = value if isinstance(value, list) else [value]
    if any(isinstance(item, dict | list) for item in items):
        scope.fault("must be a constant (text, number, true, false) or a list of constants")
        return []
    plain = (item.isoformat() if hasattr(item, "isoformat") else item for item in items)
    return [item for item in plain if item != ""]


def selector(text: object, build: Build, scope: Scope) -> Selector | None:
    if not isinstance(text, str):
        scope.fault("must be a selector (text)")
        return None
    try:
        found = compile_selector(text, build.form, markup=build.markup)
    except ValueError as error:
        scope.fault(f'"{text}" {error}')
        return None
    if found.outside:
        build.outside.append(text)
    return found


def _form(name: str, table: Mapping[str, Any], build: Build, scope: Scope) -> Source:
    if name == "value":
        fixed = constants(table["value"], scope.at("value"))
        return Source(lambda node: fixed[0] if fixed else None, lambda node: list(fixed))
    if name == "all":
        return _all(table["all"], build, scope.at("all"))
    if name == "template":
        return _template(table["template"], build, scope.at("template"))
    return compile_source(table.get("from", "."), build, scope.at("from"))


def _alternatives(expressions: list[object], build: Build, scope: Scope) -> Source:
    columns = [e for e in expressions if isinstance(e, str) and e.strip()]
    if build.form == "csv" and columns and len(columns) == len(expressions):
        found = compile_columns(columns)
        return Source(found.first, found.every)
    sources = [compile_source(e, build, scope.at(i)) for i, e in enumerate(expressions, 1)]
    if not sources:
        scope.fault("a list of alternatives needs at least one")
    if len(sources) == 1:
        return sources[0]
    firsts, everies = tuple(s.first for s in sources), tuple(s.every for s in sources)

    def first(node: Node) -> object | None:
        for source in firsts:
            value = source(node)
            if value is not None:
                return value
        return None

    def every(node: Node) -> Values:
        for source in everies:
            values = source(node)
            if values:
                return values
        return []

    return Source(first, every)


def _from_every(every: Callable[[Node], Values]) -> Source:
    return Source(lambda node: next(iter(every(node)), None), every)


def _all(expressions: object, build: Build, scope: Scope) -> Source:
    if not isinstance(expressions, list) or not expressions:
        scope.fault("must be a list of sources")
        return NOTHING
    sources = [compile_source(e, build, scope.at(i)).every for i, e in enumerate(expressions, 1)]
    return _from_every(lambda node: [value for every in sources for value in every(node)])


def _template(text: object, build: Build, scope: Scope) -> Source:
    """Text with selectors in braces (``{{`` and ``}}`` are braces). A part without value: no value at
    all."""
    if not isinstance(text, str):
        scope.fault('must be text such as "{city}, {state}"')
        return NOTHING
    parts: list[str | Callable[[Node], object | None]] = []
    at = 0
    for match in _PART.finditer(text):
        parts.append(text[at : match.start()])
        at = match.end()
        if match[0] in ("{{", "}}"):
            parts.append(match[0][0])
        elif match[1] is None:
            scope.fault(f"a lone {match[0]} (write {match[0] * 2} for the character)")
        else:
            found = selector(match[1], build, scope)
            parts.append(found.first if found else lambda node: None)
    parts.append(text[at:])
    pieces = tuple(part for part in parts if part != "")

    def fill(node: Node) -> object | None:
        out = []
        for piece in pieces:
            value = piece(node) if callable(piece) else piece
            if value is None:
                return None
            out.append(value if value.__class__ is str else spelled(value))
        return "".join(out)

    return Source(fill, lambda node: [] if (value := fill(node)) is None else [value])


def _each(text: object, source: Source, build: Build, scope: Scope) -> Source:
    found = selector(text, build, scope.at("each"))
    if build.form == "csv":
        scope.at("each").fault("a CSV row has no parts; use split")
        return NOTHING
    if found is None:
        return NOTHING
    nodes, every = found.nodes, source.every
    return _from_every(lambda node: [value for part in nodes(node) for value in every(part)])


def _split(separators: object, source: Source, build: Build, scope: Scope) -> Source:
    marks = separators if isinstance(separators, list) else [separators]
    if not marks or not all(isinstance(mark, str) and mark for mark in marks):
        scope.at("split").fault('must be a separator such as "," or a list of them')
        return NOTHING
    cut, whole, inner = re.compile("|".join(map(re.escape, marks))), build.whole, source.every

    def every(node: Node) -> Values:
        out: Values = []
        for value in inner(node):
            if isinstance(value, str) and cut.search(value) and not whole(value):
                out.extend(part.strip() for part in cut.split(value) if part.strip())
            else:
                out.append(value)
        return out

    return _from_every(every)


def _lookup(name: object, source: Source, build: Build, scope: Scope) -> Source:
    """Values that the table has are replaced (by nothing, where it says ""); others pass."""
    table = build.lookups.get(name) if isinstance(name, str) else None
    if table is None:
        scope.at("lookup").fault(f"there is no [lookup.{name}]{nearest(str(name), build.lookups)}")
        return source
    if not table:
        return source
    inner, find = source.every, table.find
    return _from_every(lambda node: [new for value in inner(node) for new in find(spelled(value), [value])])


def _default(values: Values, source: Source) -> Source:
    first, every = source.first, source.every

    def first_or(node: Node) -> object | None:
        value = first(node)
        return value if value is not None or not values else values[0]

    return Source(first_or, lambda node: every(node) or list(values))
