"""The fields whose value is a list of places (docs/feeds.md "Places").

A feed's place needs a word that it is in Canada. A bare city without one may be another country's city of that name, and
"Amsterdam, NL" another country's with its code."""

from collections.abc import Callable, Iterable
from typing import Any

from syncd.domain import province_code
from syncd.errors import Problem
from syncd.feeds.faults import RowLog
from syncd.feeds.mapping.field_compilers import (
    DROPPED,
    FieldCompiler,
    FieldExpression,
    FieldFunction,
    first_few,
)
from syncd.feeds.mapping.sources import (
    SOURCE_KEYS,
    compile_source,
    compile_table,
    constants,
    each_node,
)
from syncd.feeds.mapping.transforms import (
    TidyPlace,
    each_city,
    each_known,
    each_place,
    has_postal_code,
    is_canada,
    is_country,
    other_province,
    read_place,
    without_region,
)
from syncd.feeds.text import spelled

#: The warning for a place that may as well be abroad: nothing in the record places it in Canada.
PLACE_ASSUMED = "place_assumed"
#: The end of the message for a place abroad that concerns the operator, not the partner.
ROWS_HINT = "; [rows] only in the feed's file leaves such rows out"
_ABROAD = "the location is outside Canada (country {})"
_CANADA_ONLY = ": the service takes Canadian places only"
#: A message proposes no place that may not exist.
_ADVICE = 'write the city and its province, such as "Vancouver, BC"'
_OPTIONS = ("country", "province", "postal", "too_many", "default")

_Finder = Callable[[Any], tuple[list[TidyPlace], str | None]]


def _places(right: FieldExpression) -> FieldFunction:
    """Return the function of places. ``country`` names the country of a place; ``province`` completes a place that does not name
    its own; ``postal`` may have a Canadian postal code.

    Places abroad, and texts that name no place ("Remote"), are left out. A job without another place has a problem,
    or gets the ``default``."""
    name, strict = right.field.name, right.context.places == "strict"
    find, default, most = _finder(right), _default(right), right.most_items()

    def places(node: Any, log: RowLog) -> object:
        places, abroad = find(node)
        if len(places) == 1 and abroad is None and places[0].certain and places[0].in_canada:
            return [{"description": places[0].text}]  # the usual case
        nowhere = next((place.text for place in places if place.nowhere), None)
        items = _distinct(place for place in places if place.named)
        if any(place.certain and place.in_canada for place in items):
            for place in items:
                if place.abroad:
                    log.note("location_abroad", f"the location is outside Canada: {place.text[:100]}")
            items = [place for place in items if not place.abroad]
        elsewhere = all(place.abroad for place in items)
        if items and abroad is not None and not elsewhere:
            log.note("location_abroad", _ABROAD.format(abroad[:60]))
        elif abroad is not None or (items and elsewhere):
            reason = _ABROAD.format(abroad[:60]) if abroad else f"{items[0].text[:100]!r} is outside Canada"
            detail, value = reason + _CANADA_ONLY + ROWS_HINT, abroad or items[0].text
            log.problems.append(Problem(f"/{name}/0/description", "outside_canada", detail, value))
            return DROPPED
        if nowhere is not None:
            log.note("location_nowhere", f"no place: {nowhere[:100]}")
        if not items and nowhere is not None and not default:
            detail = f"{nowhere[:100]!r} names no place; give [fields] {name} a default"
            log.problems.append(Problem(f"/{name}", "required", detail, nowhere))
            return DROPPED
        return _checked(first_few(items or default, name, most, log), name, strict, log)

    return places


def _checked(items: list[TidyPlace], name: str, strict: bool, log: RowLog) -> object:
    """Return the value to send for the places. A place that may as well be abroad is a warning, or with ``strict`` a problem; a
    bare name that is not that of a known place is always a problem."""
    problems = []
    for i, place in enumerate(items):
        shown, code = place.text[:100], "unknown_value"
        if place.abroad:
            code, detail = "outside_canada", f"{shown!r} is outside Canada{_CANADA_ONLY}{ROWS_HINT}"
        elif place.bare and place.known is None:
            kind = "a province, not a place" if province_code(place.text) else "not a known Canadian place"
            detail = f"{shown!r} is {kind}; {_ADVICE}"
        elif not place.doubted:
            continue
        elif strict:
            could = f"be {place.known}" if place.bare else f"be in {place.country}"
            detail = f"nothing in the record says that {shown!r} is in Canada (it could {could})"
        else:
            taken = place.known if place.bare else f"a place in Canada and not in {place.country}"
            detail = f"{shown!r} is taken for {taken}; nothing in the record says that it is in Canada"
            log.note(PLACE_ASSUMED, detail)
            continue
        problems.append(Problem(f"/{name}/{i}/description", code, detail, place.text))
    log.problems += problems
    return DROPPED if problems else [{"description": place.text} for place in items] or None


def _distinct(places: Iterable[TidyPlace]) -> list[TidyPlace]:
    distinct: dict[tuple[str, str], TidyPlace] = {}
    for place in places:
        distinct.setdefault(place.identity, place)
    return list(distinct.values())


def _default(right: FieldExpression) -> list[TidyPlace]:
    scope = right.scope.at("default")
    places = [read_place(spelled(value)) for value in constants(right.options.get("default", []), scope)]
    for place in places:
        if place.bare and not place.nowhere and place.known is None:
            scope.fault(f"{place.text!r} is not a known Canadian place; {_ADVICE}")
    return _distinct(place._replace(in_canada=True) for place in places)


def _finder(right: FieldExpression) -> _Finder:
    """Return a function from a node to the places that are not abroad, with their provinces, and the first foreign country.

    ``country``, ``province`` and ``postal`` are relative to the nodes of ``each``, where there is one. If the record is one
    of these nodes, another without a country has that of the record, unless this is Canada: "London" beside an office in
    Boston is not in Ontario. A place whose text places it in Canada stays."""
    options, context, scope = right.options, right.context, right.scope
    source, vouched = right.source(), context.places == "canada"
    if not any(option in options for option in ("country", "province", "postal")):
        city = without_region if vouched else str
        return lambda node: (
            [place for text in _texts(source(node)) for place in _read(city(text), vouched)],
            None,
        )
    countries, postal = right.source_of("country"), right.source_of("postal")
    if isinstance(options.get("province"), list):  # all of them count
        provinces = compile_source({"all": options["province"]}, context, scope.at("province"))
    else:
        provinces = right.source_of("province")
    parts, inherits = None, False
    if "each" in options:
        inherits = isinstance(options["each"], list) and "." in options["each"]
        parts = each_node(options["each"], context, scope.at("each"))
        inner = {k: options[k] for k in SOURCE_KEYS if k in options and k not in ("each", "default")}
        source = compile_table(inner or {"from": "."}, context, scope)

    def foreign(node: Any) -> str | None:
        named = [spelled(value) for value in countries(node)]
        return None if any(map(is_canada, named)) else next(filter(is_country, named), None)

    def find(node: Any) -> tuple[list[TidyPlace], str | None]:
        places: list[TidyPlace] = []
        abroad = None
        for part in parts(node) if parts else (node,):
            named = [spelled(value) for value in countries(part)]
            texts = _texts(source(part))
            canadian = any(map(is_canada, named))
            elsewhere = None if canadian else next(filter(is_country, named), None)
            if elsewhere is not None:
                abroad = abroad or elsewhere
                continue
            if inherits and not canadian and (elsewhere := foreign(node)):
                kept = [text for text in texts if read_place(text).in_canada]
                abroad = abroad or (elsewhere if len(kept) < len(texts) else None)
                texts = kept
            if not all(map(_is_placed, texts)):
                beside = [spelled(value) for value in provinces(part)]
                codes = [spelled(code) for code in postal(part)]
                placed = canadian or vouched or any(map(has_postal_code, codes))
                texts = [name for text in texts for name in (each_known(text) if placed else (text,))]
                city = without_region if placed or any(map(province_code, beside)) else str
                province = next(
                    filter(province_code, beside), beside[0] if beside else None
                )  # or a state abroad
                for i, text in enumerate(map(city, texts)):
                    place = read_place(text)
                    lacks = place.bare and not place.nowhere
                    of = province or (other_province(place.text, " ".join(codes)) if lacks else None)
                    texts[i] = city(f"{place.text}, {of}" if lacks and of else text)
                if any(read_place(text).doubted for text in texts):
                    canadian = placed
            for text in texts:
                places += _read(text, canadian)
        return places, abroad

    return find


def _is_placed(text: str) -> bool:
    place = read_place(text)
    return place.in_canada and not place.bare


def _texts(values: Iterable[object]) -> list[str]:
    return [text for value in values for text in each_place(spelled(value))]


def _read(text: str, in_canada: bool) -> list[TidyPlace]:
    """Return the places of one text; ``in_canada``: the record places them there."""
    places = map(read_place, each_city(text))
    return [
        place._replace(in_canada=True) if in_canada and not place.in_canada else place for place in places
    ]


PLACES = FieldCompiler(_places, _OPTIONS)
