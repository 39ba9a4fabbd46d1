"""The fields whose value is a list of places (docs/feeds.md "Places")."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from syncd.domain import province_code
from syncd.errors import Problem
from syncd.feeds.mapping.field_compilers import (
    DROPPED,
    FieldCompiler,
    FieldExpression,
    FieldFunction,
    first_few,
)
from syncd.feeds.mapping.lookups import Values, constants
from syncd.feeds.mapping.sources import (
    NOTHING,
    SOURCE_KEYS,
    ValueSource,
    compile_source,
    compile_table,
    selector,
)
from syncd.feeds.mapping.transforms import TidyPlace, is_canada, read_place
from syncd.feeds.row_log import RowLog
from syncd.feeds.text import spelled

_ABROAD = "the location is outside Canada (country {})"


def _places(given: FieldExpression) -> FieldFunction:
    """``country`` says which places lie outside Canada; ``province`` completes a place that does not name its own.

    Places abroad, and texts that name no place ("Remote"), are left out. A job without another place has a problem,
    or gets the ``default``."""
    name = given.field.name
    values = _with_country_and_province(given)
    default_values = constants(given.options.get("default", []), given.scope.at("default"))
    default = [read_place(spelled(value)) for value in default_values]
    most = given.most_items()

    def places(node: Any, log: RowLog) -> object:
        found, abroad = values(node)
        if len(found) == 1 and not abroad and _is_place(only := read_place(spelled(found[0]))):
            return [{"description": only.text}]  # the usual case
        read = [read_place(spelled(value)) for value in found]
        nowhere = next((place.text for place in read if place.nowhere), None)
        items = _distinct(filter(_is_place, read))
        if items and abroad:
            log.note("location_abroad", _ABROAD.format(abroad[:60]))
        elif abroad:
            detail = _ABROAD.format(abroad[:60])
            log.problems.append(Problem(f"/{name}/0/description", "unknown_value", detail, abroad))
            return DROPPED
        if nowhere is not None:
            log.note("location_nowhere", f"no place: {nowhere[:100]}")
        if not items and nowhere is not None and not default:
            detail = f"{nowhere[:100]!r} names no place; give [fields] {name} a default"
            log.problems.append(Problem(f"/{name}", "required", detail, nowhere))
            return DROPPED
        return first_few(items or _distinct(default), name, most, log) or None

    return places


def _is_place(place: TidyPlace) -> bool:
    return bool(place.text) and not place.nowhere


def _distinct(places: Iterable[TidyPlace]) -> list[dict[str, str]]:
    """One entry for each place; of several spellings the first."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for place in places:
        found.setdefault(place.identity, {"description": place.text})
    return list(found.values())


def _itself(node: Any) -> list[Any]:
    return [node]


def _with_country_and_province(given: FieldExpression) -> Callable[[Any], tuple[Values, str | None]]:
    """A function from a node to the places in Canada, each with its province, and the first foreign country, if any.

    ``country`` and ``province`` are relative to the nodes of ``each``, where there is one."""
    options, context, scope = given.options, given.context, given.scope
    every = given.source.every
    if "country" not in options and "province" not in options:
        return lambda node: (every(node), None)
    countries, provinces = _beside("country", given).every, _beside("province", given).every
    parts: Callable[[Any], list[Any]] = _itself
    if "each" in options:
        found = selector(options["each"], context, scope.at("each"))
        inner = {k: options[k] for k in SOURCE_KEYS if k in options and k not in ("each", "default")}
        every = compile_table(inner or {"from": "."}, context, scope).every
        parts = found.nodes if found else parts

    def split(node: Any) -> tuple[Values, str | None]:
        inside: Values = []
        abroad = None
        for part in parts(node):
            named = [spelled(value) for value in countries(part)]
            if named and not any(is_canada(name) for name in named):
                abroad = abroad or named[0]
                continue
            places = every(part)
            inside += _in_province(places, provinces(part)) if any(map(_lacks_province, places)) else places
        return inside, abroad

    return split


def _beside(key: str, given: FieldExpression) -> ValueSource:
    """The source of ``country`` or ``province``. Of several provinces all are looked at."""
    if key not in given.options:
        return NOTHING
    expression = given.options[key]
    if key == "province" and isinstance(expression, list):
        expression = {"all": expression}
    return compile_source(expression, given.context, given.scope.at(key))


def _in_province(places: Values, provinces: Values) -> Values:
    """A place without a province gets the first value that is one, else (a state abroad) the first value."""
    named = [spelled(value) for value in provinces]
    if not named:
        return places
    province = next((name for name in named if province_code(name)), named[0])
    return [
        f"{read_place(spelled(value)).text}, {province}" if _lacks_province(value) else value
        for value in places
    ]


def _lacks_province(value: object) -> bool:
    place = read_place(spelled(value))
    return not place.nowhere and "," not in place.text


PLACES = FieldCompiler(_places, ("country", "province", "too_many"), field_default=True)
