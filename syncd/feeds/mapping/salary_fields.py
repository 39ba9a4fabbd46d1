"""The fields whose value is a salary (docs/feeds.md "Structured values")."""

import re
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

from syncd.domain import SALARY_MEMBERS
from syncd.feeds.faults import RowLog
from syncd.feeds.mapping.field_compilers import FieldCompiler, FieldExpression
from syncd.feeds.mapping.sources import SOURCE_KEYS, constants, nothing
from syncd.feeds.mapping.transforms import money
from syncd.feeds.text import boolean, spelled

#: The options that are sources of their own.
_PARTS = ("text", *(member.name for member in SALARY_MEMBERS), "currency")
_OPTIONS = (*_PARTS, "infer_period", "locale", "default")
#: Without any of these a table gives no salary.
_NEEDED = {"text", "amount", "maxAmount", "plusCommission", *SOURCE_KEYS} - {"default", "split", "lookup"}
_CANADIAN = re.compile(r"(?:c|ca|cad|can|cdn)?\s?\$|.*\b(?:cad|can|cdn|canad[a-z]+)\b.*", re.IGNORECASE)
_DIGIT = re.compile(r"\d")


class _Salary:
    """The function of a salary. ``text`` counts where the parts give no amount; without options the source is the text."""

    def __init__(self, right: FieldExpression) -> None:
        self._parts = {name: right.source_of(name) for name in _PARTS if name in right.options}
        named = _NEEDED & right.options.keys()
        self._text = self._parts.get("text", nothing)
        if "text" not in named and (not right.options or not right.options.keys() <= {*_OPTIONS}):
            self._text = right.source()
        if right.options and not named:
            right.scope.fault("needs text, or amount and period")
        if "text" in named and named & set(SOURCE_KEYS):
            right.scope.fault("text is the source already; remove the other one")
        self._infer = _period_limits(right)
        self._locale: money.Locale | None = None
        if "locale" in right.options:
            self._locale = cast(money.Locale, right.choice("locale", "en", "fr"))
        self._find = right.context.finders["period"]
        self._default = self._default_of(right) if "default" in right.options else None

    def __call__(self, node: Any, log: RowLog) -> object:
        pay = self._from_parts(node)
        if pay is None and (values := self._text(node)):
            unit = self._unit(self._first("period", node))
            pay = self._paid_abroad(node, values[0])
            pay = pay or money.parse(spelled(values[0]), self._infer, self._locale, unit)
        for code, detail in pay.notes if pay else ():
            log.note(code, detail)
        chosen = pay if pay and pay.usable else self._default
        return _body(chosen) if chosen else None

    def _first(self, part: str, node: Any) -> object | None:
        source = self._parts.get(part)
        return values[0] if source and (values := source(node)) else None

    def _default_of(self, right: FieldExpression) -> money.Pay | None:
        scope = right.scope.at("default")
        values = constants(right.options["default"], scope)
        pay = money.parse(spelled(values[0]), self._infer, self._locale) if values else None
        if pay is None or not pay.usable:
            scope.fault('must be a salary such as "$25 / hour"')
        return pay

    def _paid_abroad(self, node: Any, *amounts: object) -> money.Pay | None:
        """Return no pay, with a note, where there is an amount in another currency. Feeds name one without amounts, too."""
        currency = self._first("currency", node)
        if currency is None or _CANADIAN.fullmatch(spelled(currency).strip()):
            return None
        if not _DIGIT.search("".join(spelled(amount) for amount in amounts if amount is not None)):
            return None
        detail = f"the salary is in {spelled(currency)[:20]}, not in Canadian dollars"
        return money.Pay(notes=(("salary_currency", detail),))

    def _from_parts(self, node: Any) -> money.Pay | None:
        """Return the pay of amount, maxAmount, period and plusCommission; None without an amount or a commission."""
        commission, locale = boolean(self._first("plusCommission", node)) is True, self._locale
        amount, most = self._first("amount", node), self._first("maxAmount", node)
        if amount is None and most is None:
            return money.Pay(plus_commission=True) if commission else None
        if abroad := self._paid_abroad(node, amount, most):
            return abroad
        period = self._first("period", node)
        unit = self._unit(period)
        texts = [spelled(value) for value in (amount, most) if value is not None]
        shown = " - ".join(texts) + (f" {spelled(period)}" if period else "")
        if locale is None and unit is not None and money.are_thousands(texts, unit):
            locale = "fr"
        low, high = money.number(amount, locale), money.number(most, locale)
        pay = money.parse(" - ".join(texts), None, locale) if unit is None and amount is not None else None
        if pay and pay.period is not None:  # the amounts have it beside them: "$20.00/hr"
            return replace(pay, plus_commission=commission or pay.plus_commission)
        if low is None and high is None:
            pay = money.parse(shown, self._infer, locale)
            return replace(pay, plus_commission=commission or pay.plus_commission)
        if (low or 0) < 0 or (high or 0) < 0:
            notes = (("salary_out_of_range", f'a negative amount: "{shown}"'),)
            return money.Pay(plus_commission=commission, notes=notes)
        unclear: tuple[tuple[str, str], ...] = ()
        if len(texts) != (low is not None) + (high is not None):
            unread = [
                spelled(text) for text, found in ((amount, low), (most, high)) if text and found is None
            ]
            unclear = tuple(
                ("salary_unclear", f'not an amount: "{text}"') for text in unread if _DIGIT.search(text)
            )
        return money.settle(money.Pay(low, high, None, commission, unclear), unit, self._infer, shown)

    def _unit(self, period: object) -> tuple[int, int] | None:
        """Return the period's id and the factor of the amount, from a name, a unit, an id or words such as "Bi-weekly"."""
        if period is None:
            return None
        id = self._find.id_of(period)
        return (id, 1) if id is not None else money.unit_of(spelled(period))


def _period_limits(right: FieldExpression) -> money.PeriodLimits | None:
    """Return the limits of ``{ hourly_below = 200, yearly_above = 10000 }``: the period of an amount that comes without one."""
    if "infer_period" not in right.options:
        return None
    value, scope = right.options["infer_period"], right.scope.at("infer_period")
    if not isinstance(value, dict):
        scope.fault("must be a table { hourly_below = 200, yearly_above = 10000 }")
        return None
    scope.keys(value, ("hourly_below", "yearly_above"))
    limits = {"hourly_below": Decimal(0), "yearly_above": Decimal("Infinity")}
    for key, usual in tuple(limits.items()):
        number = value.get(key, usual)
        if isinstance(number, bool) or not isinstance(number, int | float | Decimal) or number < 0:
            scope.at(key).fault(f"must be a number of dollars, not {number!r}")
        else:
            limits[key] = Decimal(str(number))
    if limits["hourly_below"] > limits["yearly_above"]:
        scope.fault("hourly_below must not be above yearly_above")
    return money.PeriodLimits(**limits)


def _body(pay: money.Pay) -> dict[str, object]:
    return {
        "amount": pay.amount,
        "maxAmount": pay.max_amount,
        "period": None if pay.period is None else {"id": pay.period},
        "plusCommission": pay.plus_commission,
    }


SALARY = FieldCompiler(_Salary, _OPTIONS)
