"""From the right-hand side of a line in ``[fields]`` to a function of the record.

The function takes a node and a RowLog. It returns the value that a client would send for the field, None for no value, or
DROPPED when it has logged a problem instead. It does not validate: the rules refuse odd values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from syncd.domain import JobField
from syncd.feeds.faults import RowLog, Scope
from syncd.feeds.mapping.selectors import Source
from syncd.feeds.mapping.sources import (
    SOURCE_KEYS,
    MappingContext,
    compile_source,
    compile_table,
    constants,
    nothing,
)

#: Instead of a value: the field is not sent, because the row has a problem.
DROPPED = object()
FieldFunction = Callable[[Any, RowLog], object]


@dataclass(frozen=True, slots=True)
class FieldExpression:
    """A right-hand side of ``field``, whose faults belong to ``scope``. ``own_keys`` are not those of its source."""

    field: JobField
    expression: object
    own_keys: tuple[str, ...]
    context: MappingContext
    scope: Scope

    @property
    def options(self) -> Mapping[str, Any]:
        return self.expression if isinstance(self.expression, dict) else {}

    def source(self, **context: Any) -> Source:
        """Return the source of the field's values, compiled with these changes of the context."""
        changed = replace(self.context, **context)
        if not isinstance(self.expression, dict):
            return compile_source(self.expression, changed, self.scope)
        table = {key: value for key, value in self.expression.items() if key not in self.own_keys}
        return compile_table(table, changed, self.scope)

    def choice(self, key: str, *known: str) -> str:
        """Return the value of an option that is one of a few words. The first is the default."""
        value = self.options.get(key, known[0])
        if value not in known:
            self.scope.at(key).fault(f"must be {' or '.join(known)}, not {value!r}")
            return known[0]
        return str(value)

    def source_of(self, key: str) -> Source:
        """Return the source that an option describes; it gives nothing where there is no such option."""
        if key not in self.options:
            return nothing
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


class FieldCompiler(NamedTuple):
    """The compiler of the fields of one kind. ``options`` are the keys that such a field takes beside those of a source; with
    ``default`` among them it is not the source's."""

    compile: Callable[[FieldExpression], FieldFunction]
    options: tuple[str, ...] = ()


def compile_field(
    compiler: FieldCompiler, field: JobField, expression: object, context: MappingContext, scope: Scope
) -> FieldFunction:
    """Return the function of one right-hand side. A list whose tables use the field's own options is a list of alternatives for
    the whole field."""
    parts = expression if isinstance(expression, list) else []
    own = {*compiler.options} - {"default"}
    if any(isinstance(part, dict) and own & part.keys() for part in parts):
        alternatives = [
            compile_field(compiler, field, part, context, scope.at(i)) for i, part in enumerate(parts, 1)
        ]
        return lambda node, log: next(
            (value for function in alternatives if (value := function(node, log)) is not None), None
        )
    if isinstance(expression, dict):
        scope.keys(expression, (*SOURCE_KEYS, *compiler.options))
    return compiler.compile(FieldExpression(field, expression, compiler.options, context, scope))


def first_few(items: list[Any], name: str, most: int | None, log: RowLog) -> list[Any]:
    """Return the first ``most`` items, with a warning if there are more."""
    if most is not None and len(items) > most:
        log.note(f"too_many_{name}", f"{len(items)} {name}; the first {most} count")
    return items[:most]
