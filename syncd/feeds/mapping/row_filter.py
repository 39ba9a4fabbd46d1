"""The filter of ``[rows]`` in a feed's file: the records that the feed leaves out (docs/feeds.md "Rows to leave out")."""

from collections.abc import Callable
from collections.abc import Mapping as Map
from typing import Any

from syncd.domain import fold
from syncd.feeds.faults import Scope
from syncd.feeds.mapping.selectors import Node
from syncd.feeds.mapping.sources import MappingContext, selector
from syncd.feeds.text import spelled

_TEXTS = 'must be a text or a list of texts such as "closed" or ["internal*", "unposted"]'
_TABLES = 'must be a table such as { status = "closed" }, or a list of such tables'
#: The most characters of a rule's name.
_MAX_RULE = 200

_Test = Callable[[Node], bool]
#: A function from a record to the name of the rule by which it is left out, None if it is not.
RowFilter = Callable[[Node], str | None]


def compile_rows(table: object, context: MappingContext, scope: Scope) -> RowFilter | None:
    """Return the filter that the table ``[rows]`` describes. Faults go to ``scope``."""
    if not isinstance(table, dict) or not table:
        scope.fault("must be a table with only, skip or both")
        return None
    scope.keys(table, ("only", "skip"))
    only = _tables(table["only"], context, scope.at("only")) if "only" in table else None
    skip = _tables(table["skip"], context, scope.at("skip")) if "skip" in table else []

    def left_out_by(node: Node) -> str | None:
        if only is not None and not any(fits(node) for _, fits in only):
            return f"only {' or '.join(name for name, _ in only)}"[:_MAX_RULE]
        rule = next((name for name, fits in skip if fits(node)), None)
        return f"skip {rule}"[:_MAX_RULE] if rule is not None else None

    return left_out_by


def _tables(value: object, context: MappingContext, scope: Scope) -> list[tuple[str, _Test]]:
    """Return the name and the test of each table of conditions."""
    listed = isinstance(value, list)
    tables = value if isinstance(value, list) else [value]
    if not tables:
        scope.fault(_TABLES)
    rules = []
    for i, table in enumerate(tables, 1):
        place = scope.at(i) if listed else scope
        if not isinstance(table, dict) or not table:
            place.fault(_TABLES)
            continue
        shown = {key: value if isinstance(value, list) else [value] for key, value in table.items()}
        name = ", ".join(f"{key} = {' | '.join(map(str, values))}" for key, values in shown.items())
        rules.append((name, _all_fit(table, context, place)))
    return rules


def _all_fit(table: Map[str, Any], context: MappingContext, scope: Scope) -> _Test:
    """Return the test of all conditions of a table: each a selector and the texts of which one of its values has to be one;
    ``{name}`` stands for the values of another selector."""
    conditions = []
    for key, value in table.items():
        texts = value if isinstance(value, list) else [value]
        if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
            scope.at(key).fault(_TEXTS)
            continue
        names = [text[1:-1] for text in texts if text[0] == "{" and text[-1] == "}"]
        others = [selector(name, context, scope.at(key)).values for name in names]
        keys = [_key(text) for text in texts if text[1:-1] not in names]
        whole = frozenset(key for key in keys if not key.endswith("*"))
        starts = tuple(key[:-1] for key in keys if key.endswith("*"))
        conditions.append((selector(key, context, scope.at(key)).values, whole, starts, others))

    def fits(node: Node) -> bool:
        return all(
            any(
                (text := _key(spelled(value))) in whole
                or text.startswith(starts)
                or any(text == _key(spelled(other)) for values in others for other in values(node))
                for value in source(node)
            )
            for source, whole, starts, others in conditions
        )

    return fits


def _key(text: str) -> str:
    return " ".join(fold(text).split())
