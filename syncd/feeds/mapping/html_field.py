"""The fields whose value is HTML: the description."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from syncd.domain import JobField
from syncd.feeds.mapping.field_compilers import FieldCompiler, FieldExpression, FieldFunction
from syncd.feeds.mapping.sources import MappingContext
from syncd.feeds.mapping.transforms import clean, paragraphs
from syncd.feeds.row_log import RowLog
from syncd.feeds.text import spelled


def _html(given: FieldExpression) -> FieldFunction:
    """The values of all sources, one after the other; each is cleaned by itself."""
    every = given.source.every
    if given.choice("html", "reject", "clean") == "reject":
        return lambda node, log: "\n".join(map(spelled, every(node))) or None

    def html(node: Any, log: RowLog) -> object:
        values = every(node)
        if len(values) == 1:
            return _cleaned(spelled(values[0]), log) or None
        parts = [_cleaned(spelled(value), log) for value in values]
        return "\n".join(part if "<" in part else paragraphs(part) for part in parts if part) or None

    return html


def _cleaned(text: str, log: RowLog) -> str:
    result, done = clean(text)
    if done:
        log.note("html_cleaned", "; ".join(done))
    return result


def _with_markup(field: JobField, context: MappingContext) -> MappingContext:
    return replace(context, markup=True)


HTML = FieldCompiler(_html, ("html",), prepare=_with_markup)
