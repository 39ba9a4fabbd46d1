"""From the right-hand side of a line in ``[fields]`` to a function of the record.

The function takes a node and a RowLog. It returns the value that a client would send for the field, None for no value, or
DROPPED when it has logged a problem instead. It does not validate: the rules refuse odd values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from syncd.domain import JobField
from syncd.feeds.faults import RowLog, Scope
from syncd.feeds.mapping.selectors import ValueSource
from syncd.feeds.mapping.sources import (
    NOTHING,
    SOURCE_KEYS,
    MappingContext,
    compile_source,
    compile_table,
    constants,
)

#: Instead of a value: the field is not sent, because the row has a problem.
DROPPED = object()
FieldFunction = Callable[[Any, RowLog], object]


@dataclass(frozen=True, slots=True)
class FieldExpression:
    """A right-hand side of ``field``, as far as it is compiled: the ``source`` of its values, and its own
    ``options``, whose faults belong to ``scope``."""

    field: JobField
    options: Mapping[str, Any]
    source: ValueSource
    context: MappingContext
    scope: Scope

    def choice(self, key: str, *known: str) -> str:
        """Return the value of an option that is one of a few words. The first is the default."""
        value = self.options.get(key, known[0])
        if value not in known:
            self.scope.at(key).fault(f"must be {' or '.join(known)}, not {value!r}")
            return known[0]
        return str(value)

    def source_of(self, key: str) -> ValueSource:
        """Return the source that an option describes; it gives nothing where there is no such option."""
        if key not in self.options:
            return NOTHING
        return compile_source(self.options[key], self.context, self.scope.at(key))

    def most_items(self) -> int | None:
        """Return how many items of a list are kept. With ``too_many = "reject"`` all are sent, for the rules to refuse."""
        return None if self.choice("too_many", "first", "reject") == "reject" else self.field.most

    def check_constants(self, fits: Callable[[object], bool], expected: str) -> None:
        """Add a fault for each constant of the feed's file that no row could be sent with.

        A lookup may turn any ``value`` into one that fits, so with a lookup only ``default`` is checked."""
        for key in ("default",) if "lookup" in self.options else ("value", "default"):
            at = self.scope.at(key)
            for value in constants(self.options.get(key, []), Scope(at.file)):
                if not fits(value):
                    at.fault(f"must be {expected}, not {value!r}")


@dataclass(frozen=True, slots=True)
class FieldCompiler:
    """The compiler of the fields of one kind.

    ``options`` are the keys that such a field takes beside those of a source. With one of ``alone`` a table has no
    source. ``field_default``: ``compile`` applies ``default`` itself. ``bare``: options without a source are enough.
    ``prepare`` returns the context in which the sources are compiled."""

    compile: Callable[[FieldExpression], FieldFunction]
    options: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    field_default: bool = False
    bare: bool = False
    prepare: Callable[[JobField, MappingContext], MappingContext] = lambda field, context: context

    def has_options(self, table: Mapping[str, Any]) -> bool:
        return any(option in table for option in self.options)


def compile_field(
    compiler: FieldCompiler, field: JobField, expression: object, context: MappingContext, scope: Scope
) -> FieldFunction:
    """Return the function of one right-hand side. A list whose tables use the field's own options is a list of alternatives for
    the whole field."""
    parts = expression if isinstance(expression, list) else []
    if any(isinstance(part, dict) and compiler.has_options(part) for part in parts):
        alternatives = [
            compile_field(compiler, field, part, context, scope.at(i)) for i, part in enumerate(parts, 1)
        ]
        return lambda node, log: next(
            (value for function in alternatives if (value := function(node, log)) is not None), None
        )
    context = compiler.prepare(field, context)
    if not isinstance(expression, dict):
        source = compile_source(expression, context, scope)
        return compiler.compile(FieldExpression(field, {}, source, context, scope))
    alone = any(option in expression for option in compiler.alone)
    scope.keys(expression, compiler.alone if alone else (*SOURCE_KEYS, *compiler.options))
    own_keys = (*compiler.options, "default") if compiler.field_default else compiler.options
    plain = {key: value for key, value in expression.items() if key not in own_keys}
    bare = compiler.bare and compiler.has_options(expression) and not plain
    source = NOTHING if alone or bare else compile_table(plain, context, scope)
    return compiler.compile(FieldExpression(field, expression, source, context, scope))


def first_few(items: list[Any], name: str, most: int | None, log: RowLog) -> list[Any]:
    """Return the first ``most`` items, with a warning if there are more."""
    if most is not None and len(items) > most:
        log.note(f"too_many_{name}", f"{len(items)} {name}; the first {most} count")
    return items[:most]
