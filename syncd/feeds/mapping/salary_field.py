"""The salary field: out of text, or out of parts of their own (docs/feeds.md "Structured values")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from syncd.feeds.catalogue_values import Finder, catalogue_id, finders
from syncd.feeds.faults import Scope
from syncd.feeds.mapping.field_compilers import Context, Field, Kind, choice
from syncd.feeds.mapping.sources import NOTHING, SOURCE_KEYS, Source, compile_source, constants
from syncd.feeds.mapping.transforms import Infer, Locale, Pay, money
from syncd.feeds.row_log import RowLog
from syncd.feeds.text import boolean, spelled

_PARTS = (
    *("text", "amount", "maxAmount", "period", "plusCommission", "currency"),
    *("infer_period", "locale", "default"),
)
_NEEDED = {"text", "amount", "maxAmount", "plusCommission", *SOURCE_KEYS} - {"default", "split", "lookup"}


def _salary(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    """``text`` counts where the parts give no amount. Without any of the keys the source itself is the
    text."""
    parts = {
        name: compile_source(table[name], context.build, scope.at(name)) if name in table else NOTHING
        for name in ("text", "amount", "maxAmount", "period", "plusCommission", "currency")
    }
    text = parts["text"] if "text" in table else source
    given = _NEEDED & set(table)
    if table and not given:
        scope.fault("needs text, or amount and period")
    if "text" in given and given & set(SOURCE_KEYS):
        scope.fault("text is the source already; the other one has no use")
    infer = _infer(table.get("infer_period"), scope.at("infer_period")) if "infer_period" in table else None
    locale = _locale(table, scope)
    default = _default(table, infer, locale, scope.at("default"))
    find = finders(context.catalogue)["period"]

    def salary(node: Any, log: RowLog) -> object:
        pay = _paid_abroad(parts["currency"].first(node)) or _structured(node, parts, find, infer, locale)
        if pay is None or (not pay.usable and not pay.notes):
            value = text.first(node)
            pay = money.parse(spelled(value), infer, locale) if value is not None else pay
        for code, detail in pay.notes if pay else ():
            log.note(code, detail)
        chosen = pay if pay and pay.usable else default
        return _body(chosen) if chosen else None

    return salary


def _locale(table: Mapping[str, Any], scope: Scope) -> Locale | None:
    """``locale = "fr"``: a comma is the decimal mark and a point parts thousands where nothing else tells."""
    if "locale" not in table:
        return None
    return "fr" if choice(table, "locale", ("en", "fr"), scope) == "fr" else "en"


def _default(
    table: Mapping[str, Any], infer: Infer | None, locale: Locale | None, scope: Scope
) -> Pay | None:
    if "default" not in table:
        return None
    values = constants(table["default"], scope)
    pay = money.parse(spelled(values[0]), infer, locale) if values else None
    if pay is None or not pay.usable:
        scope.fault('must be a salary such as "$25 / hour"')
    return pay


def _infer(value: object, scope: Scope) -> Infer | None:
    """``{ hourly_below = 200, yearly_above = 10000 }``: the period of an amount that comes without one."""
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
    return Infer(**found)


def _paid_abroad(currency: object | None) -> Pay | None:
    if currency is None or spelled(currency).strip().upper() in (
        "CAD",
        "CA$",
        "C$",
        "$",
        "CAN",
        "CDN",
        "CDN$",
    ):
        return None
    return Pay(
        notes=(("salary_currency", f"the salary is in {spelled(currency)[:20]}, not in Canadian dollars"),)
    )


def _structured(
    node: Any, parts: Mapping[str, Source], find: Finder, infer: Infer | None, locale: Locale | None
) -> Pay | None:
    """What amount, maxAmount, period and plusCommission say; None if there is neither an amount nor a
    commission."""
    commission = boolean(parts["plusCommission"].first(node)) is True
    amount, most = parts["amount"].first(node), parts["maxAmount"].first(node)
    if amount is None and most is None:
        return Pay(plus_commission=True) if commission else None
    period = parts["period"].first(node)
    shown = " - ".join(spelled(v) for v in (amount, most) if v is not None) + (
        f" {spelled(period)}" if period else ""
    )
    low, high = money.number(amount, locale), money.number(most, locale)
    if low is None and high is None:
        found = money.parse(shown, infer, locale)
        return replace(found, plus_commission=commission or found.plus_commission)
    if (low or 0) < 0 or (high or 0) < 0:
        return Pay(
            plus_commission=commission, notes=(("salary_out_of_range", f'a negative amount: "{shown}"'),)
        )
    return money.settle(Pay(low, high, plus_commission=commission), _unit(period, find), infer, shown)


def _unit(period: object, find: Finder) -> tuple[int, int] | None:
    """Period id and factor, from a name, a unit, an id or words such as "Bi-weekly"."""
    if period is None:
        return None
    id = catalogue_id(period, find)
    return (id, 1) if id is not None else money.unit_of(spelled(period))


def _body(pay: Pay) -> dict[str, object]:
    return {
        "amount": pay.amount,
        "maxAmount": pay.max_amount,
        "period": None if pay.period is None else {"id": pay.period},
        "plusCommission": pay.plus_commission,
    }


KIND = Kind(_salary, _PARTS, bare=True)
