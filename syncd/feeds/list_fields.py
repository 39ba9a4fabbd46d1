"""The fields that are lists, and those whose value is an entry of a catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from syncd.domain.text import key as name_key
from syncd.errors import Problem
from syncd.feeds.catalogue_values import Finder, catalogue_id, finders
from syncd.feeds.faults import Scope
from syncd.feeds.fields import DROPPED, Compile, Context, Field, Kind, Log
from syncd.feeds.sources import Source, compile_source, compile_table, selector
from syncd.feeds.transforms.places import is_canada, tidy
from syncd.feeds.transforms.text import spelled

_MOST = 3


def _locations(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    """``country`` tells what lies outside Canada; beside ``each`` it is relative to each of its nodes.
    Places abroad are left out; a job that has no other is a problem."""
    values = _with_country(table, source, context, scope)

    def locations(node: Any, log: Log) -> object:
        found, abroad = values(node)
        texts = dict.fromkeys(tidy(spelled(value)) for value in found)
        items = [{"description": text} for text in texts if text]
        if not abroad:
            return _first_three(items, "locations", log) or None
        detail = f"the location is outside Canada (country {abroad[:60]})"
        if items:
            log.note("location_abroad", detail)
            return _first_three(items, "locations", log)
        log.problems.append(Problem("/locations/0/description", "unknown_value", detail, abroad))
        return DROPPED

    return locations


def _itself(node: Any) -> list[Any]:
    return [node]


def _with_country(
    table: Mapping[str, Any], source: Source, context: Context, scope: Scope
) -> Callable[[Any], tuple[list[object], str | None]]:
    """A function from a node to the places in Canada and the first foreign country, if there is one."""
    if "country" not in table:
        return lambda node: (source.every(node), None)
    countries = compile_source(table["country"], context.build, scope.at("country")).every
    places = source.every
    parts: Callable[[Any], list[Any]] = _itself
    if "each" in table:
        found = selector(table["each"], context.build, scope.at("each"))
        inner = {key: value for key, value in table.items() if key not in ("each", "country")}
        places = compile_table(
            {"from": ".", **inner} if not set(inner) - {"default"} else inner, context.build, scope
        ).every
        parts = found.nodes if found else parts

    def split(node: Any) -> tuple[list[object], str | None]:
        inside: list[object] = []
        abroad = None
        for part in parts(node):
            named = [spelled(value) for value in countries(part)]
            if not named or any(is_canada(name) for name in named):
                inside.extend(places(part))
            else:
                abroad = abroad or named[0]
        return inside, abroad

    return split


def _first_three(items: list[Any], name: str, log: Log) -> list[Any]:
    if len(items) > _MOST:
        log.note(f"too_many_{name}", f"{len(items)} {name}; the first {_MOST} count")
    return items[:_MOST]


def _catalogue(name: str, many: bool) -> Compile:
    """``categories`` (a list) or ``positionType`` (the first that is known)."""

    def compile_(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
        find = finders(context.catalog)[name]
        default = _defaults(table, find, scope.at("default")) if "default" in table else []
        if "value" in table:
            _defaults({"default": table["value"]}, find, scope.at("value"))
        _check_lookup(table, find, context, scope.at("lookup"))
        pick = _many if many else _one
        return lambda node, log: pick(source.every(node), default, find, log)

    return compile_


def _defaults(table: Mapping[str, Any], find: Finder, scope: Scope) -> list[int]:
    values = table["default"] if isinstance(table["default"], list) else [table["default"]]
    ids = [(value, catalogue_id(value, find)) for value in values]
    for value, id in ids:
        if id is None:
            scope.fault(f"{value!r} is no {find.what} of the catalogue{find.hint(value)}")
    return [id for _, id in ids if id is not None]


def _check_lookup(table: Mapping[str, Any], find: Finder, context: Context, scope: Scope) -> None:
    """A lookup that leads to what the catalogue does not have is a fault of the configuration, not of each
    row."""
    name = table.get("lookup")
    for values in context.build.lookups.get(name, {}).values() if isinstance(name, str) else ():
        for value in values:
            if catalogue_id(value, find) is None:
                scope.fault(
                    f"[lookup.{name}] has {value!r}, which is no {find.what} of the catalogue"
                    f"{find.hint(value)}"
                )


def _many(values: list[object], default: list[int], find: Finder, log: Log) -> object:
    ids = {id: {"id": id} for value in values if (id := catalogue_id(value, find)) is not None}
    unknown = [value for value in values if catalogue_id(value, find) is None]
    log.unknown += [(find.pointer[1:], spelled(value)) for value in unknown]
    if unknown and not default:
        return _unknown(unknown[0], find, log)
    if unknown:
        log.note(
            f"unknown_{find.what.replace(' ', '_')}",
            f"unknown {find.what}: {', '.join(map(spelled, unknown))[:200]}",
        )
    chosen = list(ids.values()) or [{"id": id} for id in default]
    return _first_three(chosen, find.pointer.strip("/"), log) or None


def _one(values: list[object], default: list[int], find: Finder, log: Log) -> object:
    for value in values:
        id = catalogue_id(value, find)
        if id is not None:
            return {"id": id}
    log.unknown += [(find.pointer[1:], spelled(value)) for value in values]
    if values and not default:
        return _unknown(values[0], find, log)
    if values:
        log.note(f"unknown_{find.what.replace(' ', '_')}", f"unknown {find.what}: {spelled(values[0])[:200]}")
    return {"id": default[0]} if default else None


def _unknown(value: object, find: Finder, log: Log) -> object:
    detail = f"{spelled(value)[:100]!r} is no {find.what} of the catalogue{find.hint(value)}"
    log.problems.append(Problem(find.pointer, "unknown_value", detail, value))
    return DROPPED


def _routing(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    """``prefer`` is worked out by the mapping, when it knows both addresses."""
    if "prefer" in table:
        return lambda node, log: None
    return _catalogue("applicantRoutingType", False)(table, source, context, scope)


def _keeping_names(field: str) -> Callable[[Context], Context]:
    """ "Construction/Skilled Trade" is one category if the catalogue or a lookup has it, whatever splits."""

    def prepare(context: Context) -> Context:
        find = finders(context.catalog)[field].by_name
        tables = tuple(context.build.lookups.values())

        def whole(text: str) -> bool:
            return len(text) <= 200 and (
                find(text) is not None or any(name_key(text) in table for table in tables)
            )

        return replace(context, build=replace(context.build, whole=whole))

    return prepare


LIST_KINDS: dict[str, Kind] = {
    "locations": Kind(_locations, ("country",)),
    "categories": Kind(
        _catalogue("categories", True), field_default=True, prepare=_keeping_names("categories")
    ),
    "positionType": Kind(
        _catalogue("positionType", False), field_default=True, prepare=_keeping_names("positionType")
    ),
    "applicantRoutingType": Kind(_routing, ("prefer",), sourced=False, field_default=True),
}
