"""Sources of values, with the constants and lookup tables of a feed's file: the part of a right-hand side in ``[fields]``
that is the same for every field.

source = "selector" | [source, …] (the first that gives a value)
       | { from = source } | { value = constant } | { all = [source, …] }
       | { template = "{selector}, {other}" }
       | any of these with each = "selector" or a list of selectors (relative to each of their nodes; alone: the nodes),
         after = "Closing date:", before = "Salary:" (the part of each text between two marks),
         split = "," | [",", "/"], lookup = "NAME", default = constant
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from itertools import chain
from typing import Any, Literal

from syncd.domain import name_key, unescape
from syncd.feeds.catalogue_values import EntryFinder
from syncd.feeds.faults import Scope, nearest
from syncd.feeds.mapping.selectors import Node, Selector, Source, Values, compile_columns, compile_selector
from syncd.feeds.mapping.transforms import text_behind
from syncd.feeds.readers import Format
from syncd.feeds.text import spelled

SOURCE_KEYS = ("from", "value", "all", "template", "each", "after", "before", "split", "lookup", "default")
_FORMS = ("from", "value", "all", "template")
#: The most characters of a value that a lookup compares.
_MAX_KEY = 500
_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class Meant(str):
    """A text with its meaning, which a lookup translates where it does not name the text itself."""

    __slots__ = ("meaning",)
    meaning: str

    @classmethod
    def of(cls, text: str, meaning: str) -> Meant:
        value = cls(text)
        value.meaning = meaning
        return value


#: A feed's rule for places without a word that they are in Canada: all of them are, or none is taken.
PlacesRule = Literal["canada", "strict"]


class LookupTable(dict[str, Values]):
    """A lookup: name key → values.

    An entry that is written with a ``*`` at its end keeps the ``*`` in its key, and holds for every text that begins so.
    The longest one wins; an entry for the whole text wins over all of these."""

    def __init__(self, entries: Mapping[str, Values]) -> None:
        super().__init__({_entry_key(text): values for text, values in entries.items()})
        starts = (key[:-1] for key in self if key.endswith("*"))
        self._starts = tuple(sorted(starts, key=len, reverse=True))

    def find(self, text: str, default: Values) -> Values:
        key = name_key(text[:_MAX_KEY])
        values = self.get(key)
        if values is None and self._starts:
            values = next((self[f"{start}*"] for start in self._starts if key.startswith(start)), None)
        return default if values is None else values


def _entry_key(text: str) -> str:
    """Return the key of an entry. ``29*`` holds for "29" and "2951"; ``29-*`` holds for "29-51", but not for these."""
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


class NotedValues(threading.local):
    """A note, for each thread, whether a selector has found a value since ``found`` was set to False."""

    found = False

    def of(self, source: Source) -> Source:
        """Return the source with the note."""

        def noted(node: Node) -> Values:
            values = source(node)
            if values:
                self.found = True
            return values

        return noted


@dataclass(slots=True)
class MappingContext:
    """The context in which a mapping is compiled. ``finders``: of catalogue entries, by field (docs/feeds.md "Fields").

    ``places``: the feed's rule for bare cities. ``zone``: that of the service.
    ``markup``: the value of an XML element with children is their markup.
    ``noted``: the selectors note there that they found a value. ``reads`` returns the source of a selector as the
    field reads its values. ``whole`` returns whether a text with a separator is one value.
    ``outside`` collects selectors that leave the record, ``selectors`` all of them: of each place its alternatives, and of each
    of these the selectors that it needs together."""

    form: Format
    lookups: Mapping[str, LookupTable]
    finders: Mapping[str, EntryFinder]
    places: PlacesRule | None = None
    zone: tzinfo = UTC
    markup: bool = False
    noted: NotedValues | None = None
    reads: Callable[[str, Source], Source] | None = None
    whole: Callable[[str], bool] = field(default=lambda text: False)
    outside: list[str] = field(default_factory=list)
    selectors: list[tuple[tuple[str, ...], ...]] = field(default_factory=list)


def nothing(node: Node) -> Values:
    """Find no value, as a source and as the nodes of a selector."""
    return []


def compile_source(expression: object, context: MappingContext, scope: Scope) -> Source:
    """Return the source that an expression describes. Faults go to ``scope``; a faulty source gives nothing."""
    if isinstance(expression, str):
        return selector(expression, context, scope).values
    if isinstance(expression, list):
        return _alternatives(expression, context, scope)
    if isinstance(expression, dict):
        scope.keys(expression, SOURCE_KEYS)
        return compile_table(expression, context, scope)
    scope.fault('must be a selector (text), a list of alternatives or a table such as { from = "title" }')
    return nothing


def compile_table(table: Mapping[str, Any], context: MappingContext, scope: Scope) -> Source:
    """Return the source that the source keys of a table describe. It does not look at other keys."""
    forms = [name for name in _FORMS if name in table]
    if len(forms) > 1 or (not forms and "each" not in table):
        several = f", not {' and '.join(forms)}" if forms else ""
        scope.fault(f"needs exactly one of {', '.join(_FORMS)}{several}")
        return nothing
    cut = "after" in table or "before" in table
    # the lines of a text show in its markup; a text without the mark gives no value of its own
    texts = replace(context, markup=True, noted=None) if cut else context
    source = _plain_source(forms[0] if forms else "from", table, texts, scope)
    if "each" in table:
        source = _each(table["each"], source, texts, scope)
    if cut:
        source = _between(table, source, context, scope)
    if "split" in table:
        source = _split(table["split"], source, context, scope)
    if "lookup" in table:
        source = _lookup(table["lookup"], source, context, scope)
    if "default" in table:
        default = constants(table["default"], scope.at("default"))
        return lambda node: source(node) or default
    return source


def selector(text: object, context: MappingContext, scope: Scope) -> Selector:
    """Return the selector that a text means. Faults go to ``scope``; a faulty selector finds nothing."""
    if not isinstance(text, str):
        scope.fault("must be a selector (text)")
        return Selector(nothing, nothing)
    try:
        compiled = compile_selector(text, context.form, markup=context.markup)
    except ValueError as error:
        scope.fault(f'"{text}" {error}')
        return Selector(nothing, nothing)
    context.selectors.append(((text,),))
    if compiled.outside:
        context.outside.append(text)
    if context.reads is not None:
        compiled = compiled._replace(values=context.reads(text, compiled.values))
    return compiled._replace(values=context.noted.of(compiled.values)) if context.noted else compiled


def each_node(selectors: object, context: MappingContext, scope: Scope) -> Callable[[Node], list[Node]]:
    """Return a function from a node to the nodes that one selector, or each of a list of them, finds below it."""
    if not isinstance(selectors, list):
        return selector(selectors, context, scope).nodes
    if not selectors:
        scope.fault("must be a selector or a list of selectors")
    places = [selector(text, context, scope.at(i)).nodes for i, text in enumerate(selectors, 1)]
    return lambda node: [part for nodes in places for part in nodes(node)]


def _plain_source(form: str, table: Mapping[str, Any], context: MappingContext, scope: Scope) -> Source:
    if form == "value":
        fixed = constants(table["value"], scope.at("value"))
        return lambda node: fixed
    if form == "all":
        return _all(table["all"], context, scope.at("all"))
    if form == "template":
        return _template(table["template"], context, scope.at("template"))
    return compile_source(table.get("from", "."), context, scope.at("from"))


def _alternatives(expressions: list[object], context: MappingContext, scope: Scope) -> Source:
    columns = [e for e in expressions if isinstance(e, str) and e.strip()]
    if context.form == "csv" and columns and len(columns) == len(expressions) and context.reads is None:
        context.selectors.append(tuple((column,) for column in columns))
        compiled = compile_columns(columns).values
        return context.noted.of(compiled) if context.noted else compiled
    sources, before, alternatives = list[Source](), len(context.selectors), list[tuple[str, ...]]()
    for i, expression in enumerate(expressions, 1):
        sources.append(compile_source(expression, context, scope.at(i)))
        groups = context.selectors[before:]
        del context.selectors[before:]
        # a template needs all of its parts
        alternatives += groups[0] if len(groups) == 1 else filter(None, [tuple(chain(*chain(*groups)))])
    if alternatives:
        context.selectors.append(tuple(alternatives))
    if not sources:
        scope.fault("a list of alternatives needs at least one")
    if len(sources) == 1:
        return sources[0]

    def first(node: Node) -> Values:
        for source in sources:
            values = source(node)
            if values:
                return values
        return []

    return first


def _all(expressions: object, context: MappingContext, scope: Scope) -> Source:
    if not isinstance(expressions, list) or not expressions:
        scope.fault("must be a list of sources")
        return nothing
    sources = [compile_source(e, context, scope.at(i)) for i, e in enumerate(expressions, 1)]
    return lambda node: [value for source in sources for value in source(node)]


def _template(text: object, context: MappingContext, scope: Scope) -> Source:
    """Return the source of a text with selectors in braces (``{{`` and ``}}`` are braces). Without a part there is no value."""
    if not isinstance(text, str):
        scope.fault('must be text such as "{city}, {state}"')
        return nothing
    parts: list[str | Source] = []
    at = 0
    for match in _PART.finditer(text):
        parts.append(text[at : match.start()])
        at = match.end()
        if match[0] in ("{{", "}}"):
            parts.append(match[0][0])
        elif match[1] is None:
            scope.fault(f"a lone {match[0]} (write {match[0] * 2} for the character)")
        else:
            parts.append(selector(match[1], context, scope).values)
    parts.append(text[at:])
    pieces = tuple(part for part in parts if part != "")

    def fill(node: Node) -> Values:
        out = []
        for piece in pieces:
            if isinstance(piece, str):
                out.append(piece)
            elif values := piece(node):
                out.append(spelled(values[0]))
            else:
                return []
        return ["".join(out)]

    return fill


def _each(selectors: object, source: Source, context: MappingContext, scope: Scope) -> Source:
    nodes = each_node(selectors, context, scope.at("each"))
    if context.form == "csv":
        scope.at("each").fault("a CSV row has no parts; use split")
    return lambda node: [value for part in nodes(node) for value in source(part)]


def _between(table: Mapping[str, Any], source: Source, context: MappingContext, scope: Scope) -> Source:
    """Return a source of what stands in each text behind the mark ``after``, up to the mark ``before`` or the end of the line.
    Tags of HTML are line ends. A text without the mark, or with nothing behind it, gives no value."""
    for key in ("after", "before"):
        if key in table and not (isinstance(table[key], str) and table[key].strip(" \t")):
            scope.at(key).fault('must be the text of a mark such as "Closing date:"')
            return nothing
    if "after" not in table:
        scope.at("before").fault("has an effect only beside after")
        return nothing
    behind = text_behind(table["after"], table.get("before"))

    def parts(node: Node) -> Values:
        return [part for value in source(node) if (part := behind(spelled(value))) is not None]

    return context.noted.of(parts) if context.noted else parts


def _split(separators: object, source: Source, context: MappingContext, scope: Scope) -> Source:
    marks = separators if isinstance(separators, list) else [separators]
    if not marks or not all(isinstance(mark, str) and mark for mark in marks):
        scope.at("split").fault('must be a separator such as "," or a list of them')
        return nothing
    cut, whole = re.compile("|".join(map(re.escape, marks))), context.whole

    def parts(node: Node) -> Values:
        out: Values = []
        for each in source(node):
            # the ";" of "&amp;" parts nothing
            value = unescape(each) if isinstance(each, str) and "&" in each else each
            if isinstance(value, str) and cut.search(value) and not whole(value):
                out.extend(part.strip() for part in cut.split(value) if part.strip())
            else:
                out.append(value)
        return out

    return parts


def _lookup(name: object, source: Source, context: MappingContext, scope: Scope) -> Source:
    """Return a source whose values are replaced by those of the table (by nothing, where it has ""); other values stay."""
    table = context.lookups.get(name) if isinstance(name, str) else None
    if table is None:
        scope.at("lookup").fault(f"there is no [lookup.{name}]{nearest(str(name), context.lookups)}")
        return source
    if not table:
        return source
    find = table.find

    def translated(value: object) -> Values:
        same = [value]
        return find(spelled(value), find(value.meaning, same) if isinstance(value, Meant) else same)

    return lambda node: [new for value in source(node) for new in translated(value)]
