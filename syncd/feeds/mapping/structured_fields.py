"""The fields whose value is a list of places or a salary (docs/feeds.md "Places", "Structured values")."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

from syncd.domain import SALARY_MEMBERS, province_code
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
from syncd.feeds.mapping.selectors import ValueSource
from syncd.feeds.mapping.sources import (
    SOURCE_KEYS,
    Values,
    compile_source,
    compile_table,
    constants,
    selector,
)
from syncd.feeds.mapping.transforms import TidyPlace, is_canada, money, read_place
from syncd.feeds.text import boolean, spelled

_ABROAD = "the location is outside Canada (country {})"
#: The options that are sources of their own.
_PARTS = ("text", *(member.name for member in SALARY_MEMBERS), "currency")
_OPTIONS = (*_PARTS, "infer_period", "locale", "default")
#: Without any of these a table gives no salary.
_NEEDED = {"text", "amount", "maxAmount", "plusCommission", *SOURCE_KEYS} - {"default", "split", "lookup"}
_CANADIAN = ("CAD", "CA$", "C$", "$", "CAN", "CDN", "CDN$")


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


def _with_country_and_province(given: FieldExpression) -> Callable[[Any], tuple[Values, str | None]]:
    """A function from a node to the places in Canada, each with its province, and the first foreign country, if any.

    ``country`` and ``province`` are relative to the nodes of ``each``, where there is one."""
    options, context, scope = given.options, given.context, given.scope
    every = given.source.every
    if "country" not in options and "province" not in options:
        return lambda node: (every(node), None)
    countries, province = given.source_of("country").every, options.get("province")
    if isinstance(province, list):  # all of them are looked at
        provinces = compile_source({"all": province}, context, scope.at("province")).every
    else:
        provinces = given.source_of("province").every
    parts = None
    if "each" in options:
        parts = selector(options["each"], context, scope.at("each")).nodes
        inner = {k: options[k] for k in SOURCE_KEYS if k in options and k not in ("each", "default")}
        every = compile_table(inner or {"from": "."}, context, scope).every

    def split(node: Any) -> tuple[Values, str | None]:
        inside: Values = []
        abroad = None
        for part in parts(node) if parts else (node,):
            named = [spelled(value) for value in countries(part)]
            if named and not any(is_canada(name) for name in named):
                abroad = abroad or named[0]
                continue
            places = every(part)
            inside += _in_province(places, provinces(part)) if any(map(_lacks_province, places)) else places
        return inside, abroad

    return split


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


def _salary(given: FieldExpression) -> FieldFunction:
    """``text`` counts where the parts give no amount. Without any option the source itself is the text."""
    parts = {name: given.source_of(name) for name in _PARTS}
    text = parts["text"] if "text" in given.options else given.source
    named = _NEEDED & set(given.options)
    if given.options and not named:
        given.scope.fault("needs text, or amount and period")
    if "text" in named and named & set(SOURCE_KEYS):
        given.scope.fault("text is the source already; the other one has no use")
    infer = _period_limits(given)
    locale = cast(money.Locale, given.choice("locale", "en", "fr")) if "locale" in given.options else None
    default = _default(given, infer, locale)
    find = given.context.finders["period"]

    def salary(node: Any, log: RowLog) -> object:
        pay = _paid_abroad(parts["currency"].first(node)) or _from_parts(node, parts, find, infer, locale)
        if pay is None or (not pay.usable and not pay.notes):
            value = text.first(node)
            pay = money.parse(spelled(value), infer, locale) if value is not None else pay
        for code, detail in pay.notes if pay else ():
            log.note(code, detail)
        chosen = pay if pay and pay.usable else default
        return _body(chosen) if chosen else None

    return salary


def _default(
    given: FieldExpression, infer: money.PeriodLimits | None, locale: money.Locale | None
) -> money.Pay | None:
    if "default" not in given.options:
        return None
    scope = given.scope.at("default")
    values = constants(given.options["default"], scope)
    pay = money.parse(spelled(values[0]), infer, locale) if values else None
    if pay is None or not pay.usable:
        scope.fault('must be a salary such as "$25 / hour"')
    return pay


def _period_limits(given: FieldExpression) -> money.PeriodLimits | None:
    """``{ hourly_below = 200, yearly_above = 10000 }``: the period of an amount that comes without one."""
    if "infer_period" not in given.options:
        return None
    value, scope = given.options["infer_period"], given.scope.at("infer_period")
    if not isinstance(value, dict):
        scope.fault("must be a table { hourly_below = 200, yearly_above = 10000 }")
        return None
    scope.keys(value, ("hourly_below", "yearly_above"))
    found = {"hourly_below": Decimal(0), "yearly_above": Decimal("Infinity")}
    for key, usual in tuple(found.items()):
        number = value.get(key, usual)
        if isinstance(number, bool) or not isinstance(number, int | float | Decimal) or number < 0:
            scope.at(key).fault(f"must be a number of dollars, not {number!r}")
        else:
            found[key] = Decimal(str(number))
    if found["hourly_below"] > found["yearly_above"]:
        scope.fault("hourly_below must not be above yearly_above")
    return money.PeriodLimits(**found)


def _paid_abroad(currency: object | None) -> money.Pay | None:
    if currency is None or spelled(currency).strip().upper() in _CANADIAN:
        return None
    detail = f"the salary is in {spelled(currency)[:20]}, not in Canadian dollars"
    return money.Pay(notes=(("salary_currency", detail),))


def _from_parts(
    node: Any,
    parts: Mapping[str, ValueSource],
    find: EntryFinder,
    infer: money.PeriodLimits | None,
    locale: money.Locale | None,
) -> money.Pay | None:
    """What amount, maxAmount, period and plusCommission say. None if there is neither an amount nor a commission."""
    commission = boolean(parts["plusCommission"].first(node)) is True
    amount, most = parts["amount"].first(node), parts["maxAmount"].first(node)
    if amount is None and most is None:
        return money.Pay(plus_commission=True) if commission else None
    period = parts["period"].first(node)
    shown = " - ".join(spelled(v) for v in (amount, most) if v is not None)
    shown += f" {spelled(period)}" if period else ""
    low, high = money.number(amount, locale), money.number(most, locale)
    if low is None and high is None:
        found = money.parse(shown, infer, locale)
        return replace(found, plus_commission=commission or found.plus_commission)
    if (low or 0) < 0 or (high or 0) < 0:
        notes = (("salary_out_of_range", f'a negative amount: "{shown}"'),)
        return money.Pay(plus_commission=commission, notes=notes)
    return money.settle(money.Pay(low, high, plus_commission=commission), _unit(period, find), infer, shown)


def _unit(period: object, find: EntryFinder) -> tuple[int, int] | None:
    """The period's id and the factor of the amount, from a name, a unit, an id or words such as "Bi-weekly"."""
    if period is None:
        return None
    id = find.id_of(period)
    return (id, 1) if id is not None else money.unit_of(spelled(period))


def _body(pay: money.Pay) -> dict[str, object]:
    return {
        "amount": pay.amount,
        "maxAmount": pay.max_amount,
        "period": None if pay.period is None else {"id": pay.period},
        "plusCommission": pay.plus_commission,
    }


PLACES = FieldCompiler(_places, ("country", "province", "too_many"), field_default=True)
SALARY = FieldCompiler(_salary, _OPTIONS, bare=True)
