"""The fields whose value is one entry of a catalogue, or a list of entries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from syncd.domain import JobField, name_key
from syncd.errors import Problem
from syncd.feeds.catalogue_values import EntryFinder
from syncd.feeds.faults import RowLog
from syncd.feeds.mapping.field_compilers import (
    DROPPED,
    FieldCompiler,
    FieldExpression,
    FieldFunction,
    first_few,
)
from syncd.feeds.mapping.sources import MappingContext
from syncd.feeds.mapping.transforms import position_of
from syncd.feeds.text import spelled


def _choice(given: FieldExpression) -> FieldFunction:
    """The first value that the catalogue knows."""
    find = _finder(given.field, given.context)
    default = _constant_ids(given, find)

    def choice(node: Any, log: RowLog) -> object:
        values = given.source.every(node)
        for value in values:
            id = find.id_of(value)
            if id is not None:
                return {"id": id}
        if values and _dropped(values, values[:1], find, default, log):
            return DROPPED
        return {"id": default[0]} if default else None

    return choice


def _choices(given: FieldExpression) -> FieldFunction:
    """All values that the catalogue knows, each once."""
    find = _finder(given.field, given.context)
    default, most = _constant_ids(given, find), given.most_items()

    def choices(node: Any, log: RowLog) -> object:
        values = given.source.every(node)
        if len(values) == 1 and (only := find.id_of(values[0])) is not None:
            return [{"id": only}]  # the usual case
        named = [(value, find.id_of(value)) for value in values]
        unknown = [value for value, id in named if id is None]
        if unknown and _dropped(unknown, unknown, find, default, log):
            return DROPPED
        ids = dict.fromkeys(id for _, id in named if id is not None) or default
        return first_few([{"id": id} for id in ids], given.field.name, most, log) or None

    return choices


def _routing(given: FieldExpression) -> FieldFunction:
    """``prefer`` is decided by the mapping, once both addresses are known."""
    return (lambda node, log: None) if "prefer" in given.options else _choice(given)


def _finder(field: JobField, context: MappingContext) -> EntryFinder:
    """A position type may also be described in several words."""
    find = context.finders[field.name]
    if field.catalogue != "position_types":
        return find
    live = {id for id, entry in find.entries.items() if not entry.retired}

    def by_name(text: str) -> int | None:
        found = find.by_name(text)
        if found is None:
            described = position_of(text)
            found = described if described in live else None
        return found

    return replace(find, by_name=by_name)


def _constant_ids(given: FieldExpression, find: EntryFinder) -> list[int]:
    """The ids of ``default``. A constant, or a value of the field's lookup, that the catalogue lacks is a fault of the
    configuration, not of each row."""
    default = []
    for key in ("default", "value"):
        constant = given.options.get(key, [])
        for value in constant if isinstance(constant, list) else [constant]:
            id = find.id_of(value)
            if id is None:
                given.scope.at(key).fault(find.unknown(value))
            elif key == "default":
                default.append(id)
    name = given.options.get("lookup")
    for values in given.context.lookups.get(name, {}).values() if isinstance(name, str) else ():
        for value in values:
            if find.id_of(value) is None:
                given.scope.at("lookup").fault(f"[lookup.{name}]: {find.unknown(value)}")
    return default


def _dropped(
    unknown: list[object], noted: list[object], find: EntryFinder, default: list[int], log: RowLog
) -> bool:
    """Count the values that the catalogue lacks. With a default, log a warning that names those to be ``noted``; without
    one, log a problem, and return True."""
    log.unknown.extend((find.pointer.strip("/"), spelled(value)[:200]) for value in unknown)
    if default:
        code = f"unknown_{find.what.replace(' ', '_')}"
        log.note(code, f"unknown {find.what}: {', '.join(map(spelled, noted))[:200]}")
    else:
        value = unknown[0]
        log.problems.append(Problem(find.pointer, "unknown_value", find.unknown(value), value))
    return not default


def _keeping_names(field: JobField, context: MappingContext) -> MappingContext:
    """ "Construction/Skilled Trade" is one category if the catalogue or a lookup has it, whatever ``split`` says."""
    by_name = context.finders[field.name].by_name
    tables = tuple(context.lookups.values())

    def whole(text: str) -> bool:
        return len(text) <= 200 and (
            by_name(text) is not None or any(name_key(text) in table for table in tables)
        )

    return replace(context, whole=whole)


CHOICE = FieldCompiler(_choice, field_default=True, prepare=_keeping_names)
CHOICES = FieldCompiler(_choices, ("too_many",), field_default=True, prepare=_keeping_names)
ROUTING = FieldCompiler(_routing, ("prefer",), alone=("prefer",), field_default=True)
