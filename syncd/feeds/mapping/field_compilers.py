"""Fields: one compiler for each kind of job field, from the right-hand side of ``[fields]`` to a function
of the record.

A field function takes a node and a RowLog and returns what a client would send for the field, None for no
value, or DROPPED when it logged a problem instead. It never judges what the rules judge: odd values are
passed on for them to refuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from syncd.domain import Catalogue
from syncd.feeds.faults import Scope
from syncd.feeds.mapping.sources import NOTHING, SOURCE_KEYS, Build, Source, compile_source, compile_table
from syncd.feeds.row_log import RowLog


class _Dropped:
    """The field is not sent: the row has a problem instead."""


DROPPED = _Dropped()
Field = Callable[[Any, RowLog], object]
Compile = Callable[[Mapping[str, Any], Source, "Context", Scope], Field]


@dataclass(frozen=True, slots=True)
class Context:
    """What the kinds compile with: the source's Build, and the catalogue for values by name."""

    build: Build
    catalogue: Catalogue


@dataclass(frozen=True, slots=True)
class Kind:
    """``options``: the keys that a field of this kind takes beside those of a source; ``compile`` reads
    them. ``alone``: those with which a table has no source. ``field_default``: the kind applies
    ``default`` itself. ``bare``: its options alone, without any source, are enough."""

    compile: Compile
    options: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    field_default: bool = False
    bare: bool = False
    prepare: Callable[[Context], Context] = lambda context: context


def compile_field(kind: Kind, expression: object, context: Context, scope: Scope) -> Field:
    """One right-hand side. A list whose tables use the field's own options is a list of alternatives of the
    whole field."""
    if isinstance(expression, list) and any(isinstance(e, dict) and _own(kind, e) for e in expression):
        return _first_of([compile_field(kind, e, context, scope.at(i)) for i, e in enumerate(expression, 1)])
    context = kind.prepare(context)
    if not isinstance(expression, dict):
        return kind.compile({}, compile_source(expression, context.build, scope), context, scope)
    alone = any(option in expression for option in kind.alone)
    scope.keys(expression, kind.alone if alone else (*SOURCE_KEYS, *kind.options))
    own_keys = (*kind.options, "default") if kind.field_default else kind.options
    plain = {key: value for key, value in expression.items() if key not in own_keys}
    bare = kind.bare and _own(kind, expression) and not plain
    source = NOTHING if alone or bare else compile_table(plain, context.build, scope)
    return kind.compile(expression, source, context, scope)


def _own(kind: Kind, table: Mapping[str, Any]) -> bool:
    return any(option in table for option in kind.options)


def _first_of(fields: list[Field]) -> Field:
    def value(node: Any, log: RowLog) -> object:
        for one in fields:
            found = one(node, log)
            if found is not None:
                return found
        return None

    return value


def choice(table: Mapping[str, Any], key: str, known: tuple[str, ...], scope: Scope) -> str:
    """The value of an option that is one of a few words; the first is the default."""
    value = table.get(key, known[0])
    if value not in known:
        scope.at(key).fault(f"must be {' or '.join(known)}, not {value!r}")
        return known[0]
    return str(value)
