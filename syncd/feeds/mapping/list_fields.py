"""The fields that are lists, and those whose value is an entry of a catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from syncd.domain import name_key, province_code
from syncd.errors import Problem
from syncd.feeds.catalogue_values import Finder, catalogue_id, finders
from syncd.feeds.faults import Scope
from syncd.feeds.mapping.field_compilers import DROPPED, Compile, Context, Field, Kind, choice
from syncd.feeds.mapping.sources import (
    NOTHING,
    SOURCE_KEYS,
    Source,
    compile_source,
    compile_table,
    constants,
    selector,
)
from syncd.feeds.mapping.transforms import Read, is_canada, position_of, read_place
from syncd.feeds.row_log import RowLog
from syncd.feeds.text import spelled

_MOST = 3


def _locations(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    """``country`` tells what lies outside Canada, ``province`` where a place is that does not say it itself.
    Places abroad, and texts that name no place ("Remote"), are left out; a job that has no other has a
    problem, or the ``default``."""
    values = _with_surroundings(table, source, context, scope)
    default = [
        read_place(spelled(value)) for value in constants(table.get("default", []), scope.at("default"))
    ]
    most = _limit(table, scope)

    def locations(node: Any, log: RowLog) -> object:
        found, abroad = values(node)
        if len(found) == 1 and not abroad and _is_place(only := read_place(spelled(found[0]))):
            return [{"description": only.text}]  # as nearly always
        places = [read_place(spelled(value)) for value in found]
        nowhere = next((place.text for place in places if place.nowhere), None)
        items = _distinct(filter(_is_place, places))
        if items and abroad:
            log.note("location_abroad", _ABROAD.format(abroad[:60]))
        elif abroad:
            problem = Problem(
                "/locations/0/description", "unknown_value", _ABROAD.format(abroad[:60]), abroad
            )
            log.problems.append(problem)
            return DROPPED
        if nowhere is not None:
            log.note("location_nowhere", f"no place: {nowhere[:100]}")
        if not items and nowhere is not None and not default:
            detail = f"{nowhere[:100]!r} is no place; give [fields] locations a default"
            log.problems.append(Problem("/locations", "required", detail, nowhere))
            return DROPPED
        return _first_few(items or _distinct(default), "locations", most, log) or None

    return locations


def _is_place(place: Read) -> bool:
    return bool(place.text) and not place.nowhere


_ABROAD = "the location is outside Canada (country {})"


def _distinct(places: Iterable[Read]) -> list[dict[str, str]]:
    """One entry for each place; of several spellings the first."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for place in places:
        found.setdefault(place.identity, {"description": place.text})
    return list(found.values())


def _limit(table: Mapping[str, Any], scope: Scope) -> int | None:
    """``too_many = "reject"``: all are sent, for the API's rules to refuse."""
    return None if choice(table, "too_many", ("first", "reject"), scope) == "reject" else _MOST


def _itself(node: Any) -> list[Any]:
    return [node]


def _with_surroundings(
    table: Mapping[str, Any], source: Source, context: Context, scope: Scope
) -> Callable[[Any], tuple[list[object], str | None]]:
    """A function from a node to the places in Canada, each with its province, and the first foreign
    country, if there is one. ``country`` and ``province`` are relative to the nodes of ``each``, where there is one."""
    if "country" not in table and "province" not in table:
        return lambda node: (source.every(node), None)
    countries = _beside("country", table, context, scope).every
    provinces = _beside("province", table, context, scope).every
    places = source.every
    parts: Callable[[Any], list[Any]] = _itself
    if "each" in table:
        found = selector(table["each"], context.build, scope.at("each"))
        inner = {key: table[key] for key in SOURCE_KEYS if key in table and key not in ("each", "default")}
        places = compile_table(inner or {"from": "."}, context.build, scope).every
        parts = found.nodes if found else parts

    def split(node: Any) -> tuple[list[object], str | None]:
        inside: list[object] = []
        abroad = None
        for part in parts(node):
            named = [spelled(value) for value in countries(part)]
            if not named or any(is_canada(name) for name in named):
                found = places(part)
                inside.extend(
                    _in_province(found, provinces(part)) if any(map(_no_province, found)) else found
                )
            else:
                abroad = abroad or named[0]
        return inside, abroad

    return split


def _beside(key: str, table: Mapping[str, Any], context: Context, scope: Scope) -> Source:
    """The source of ``country`` or ``province``; of several provinces all are looked at."""
    if key not in table:
        return NOTHING
    expression = table[key]
    if key == "province" and isinstance(expression, list):
        expression = {"all": expression}
    return compile_source(expression, context.build, scope.at(key))


def _in_province(places: list[object], provinces: list[object]) -> list[object]:
    """A place without a province of its own gets the first that is one, else (a state abroad) the first."""
    named = [spelled(value) for value in provinces]
    if not named:
        return places
    province = next((name for name in named if province_code(name)), named[0])
    return [
        f"{read_place(spelled(value)).text}, {province}" if _no_province(value) else value for value in places
    ]


def _no_province(value: object) -> bool:
    place = read_place(spelled(value))
    return not place.nowhere and "," not in place.text


def _first_few(items: list[Any], name: str, most: int | None, log: RowLog) -> list[Any]:
    if most is not None and len(items) > most:
        log.note(f"too_many_{name}", f"{len(items)} {name}; the first {most} count")
    return items[:most]


def _catalogue(name: str, many: bool) -> Compile:
    """``categories`` (a list) or ``positionType`` (the first that is known)."""

    def compile_(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
        find = _finder(name, context)
        default = _defaults(table, find, scope.at("default")) if "default" in table else []
        if "value" in table:
            _defaults({"default": table["value"]}, find, scope.at("value"))
        _check_lookup(table, find, context, scope.at("lookup"))
        if not many:
            return lambda node, log: _one(source.every(node), default, find, log)
        most = _limit(table, scope)
        return lambda node, log: _many(source.every(node), default, find, most, log)

    return compile_


def _finder(name: str, context: Context) -> Finder:
    """A position type may also be described in several words."""
    find = finders(context.catalogue)[name]
    if name != "positionType":
        return find
    live = {id for id, entry in context.catalogue.position_types.items() if not entry.retired}

    def by_name(text: str) -> int | None:
        found = find.by_name(text)
        if found is None:
            described = position_of(text)
            found = described if described in live else None
        return found

    return replace(find, by_name=by_name)


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


def _many(values: list[object], default: list[int], find: Finder, most: int | None, log: RowLog) -> object:
    if len(values) == 1 and (only := catalogue_id(values[0], find)) is not None:
        return [{"id": only}]  # as nearly always
    named = [(value, catalogue_id(value, find)) for value in values]
    unknown = [value for value, id in named if id is None]
    if unknown:
        _count_unknown(unknown, find, log)
        if not default:
            return _unknown(unknown[0], find, log)
        _note_unknown(unknown, find, log)
    ids = dict.fromkeys(id for _, id in named if id is not None) or default
    chosen = [{"id": id} for id in ids]
    return _first_few(chosen, find.pointer.strip("/"), most, log) or None


def _one(values: list[object], default: list[int], find: Finder, log: RowLog) -> object:
    for value in values:
        id = catalogue_id(value, find)
        if id is not None:
            return {"id": id}
    _count_unknown(values, find, log)
    if values and not default:
        return _unknown(values[0], find, log)
    if values:
        _note_unknown(values[:1], find, log)
    return {"id": default[0]} if default else None


def _count_unknown(values: list[object], find: Finder, log: RowLog) -> None:
    log.unknown.extend((find.pointer.strip("/"), spelled(value)[:200]) for value in values)


def _note_unknown(values: list[object], find: Finder, log: RowLog) -> None:
    code = f"unknown_{find.what.replace(' ', '_')}"
    log.note(code, f"unknown {find.what}: {', '.join(map(spelled, values))[:200]}")


def _unknown(value: object, find: Finder, log: RowLog) -> object:
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
        find = finders(context.catalogue)[field].by_name
        tables = tuple(context.build.lookups.values())

        def whole(text: str) -> bool:
            return len(text) <= 200 and (
                find(text) is not None or any(name_key(text) in table for table in tables)
            )

        return replace(context, build=replace(context.build, whole=whole))

    return prepare


LIST_KINDS: dict[str, Kind] = {
    "locations": Kind(_locations, ("country", "province", "too_many"), field_default=True),
    "categories": Kind(
        _catalogue("categories", True),
        ("too_many",),
        field_default=True,
        prepare=_keeping_names("categories"),
    ),
    "positionType": Kind(
        _catalogue("positionType", False), field_default=True, prepare=_keeping_names("positionType")
    ),
    "applicantRoutingType": Kind(_routing, ("prefer",), alone=("prefer",), field_default=True),
}
