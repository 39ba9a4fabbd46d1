"""Salary text → amounts, period, commission (docs/feeds.md "Structured values"; the grammar's table of cases)."""

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from syncd.domain import Catalogue, check_body
from syncd.feeds.mapping.transforms import money
from syncd.feeds.mapping.transforms.money import Pay, PeriodLimits, number, parse, unit_of

CATALOGUE = Catalogue.default()
CASES = tomllib.loads(Path(__file__).with_name("cases.toml").read_text(encoding="utf-8"))
#: The machine that runs the tests may be busy.
UNHURRIED = settings(deadline=None)


@pytest.mark.parametrize(
    "text",
    [
        "Competitive base + $500/month car allowance",
        "Commission plus $500/month car",
        "Salaire concurrentiel, allocation de 500 $ par mois pour la voiture",
        "Salaire à discuter + 500 $/mois auto",
        "$60/day travel allowance",
    ],
)
def test_an_allowance_alone_is_not_the_pay(text):
    assert parse(text).amount is None


@pytest.mark.parametrize(
    "text",
    [
        "$1500 per 2 weeks",
        "$1,500/2 weeks",
        "1 500 $ / 2 semaines",
        "1500$ par deux semaines",
        "$1500 every two weeks",
    ],
)
def test_pay_for_two_weeks_is_made_yearly(text):
    pay = parse(text)
    assert (pay.amount, pay.period, [code for code, _ in pay.notes]) == (
        Decimal(39000),
        1,
        ["salary_made_yearly"],
    )


@pytest.mark.parametrize(
    "text", ["22.150 $ à 30.450 $, poste d'un an", "$25 - $30 a year", "$24.50 bi-weekly", "$20/week"]
)
def test_pay_that_is_too_little_for_its_time_is_not_sent(text):
    pay = parse(text)
    assert not pay.usable
    assert [code for code, _ in pay.notes] == ["salary_unclear"]


@pytest.mark.parametrize(("text", "amount", "most", "period"), CASES["salaries"], ids=str)
def test_a_salary_text_is_read_as_written(text, amount, most, period):
    assert parse(text) == Pay(Decimal(amount), Decimal(most) if most else None, period)


@pytest.mark.parametrize(
    ("text", "code"),
    CASES["no_salaries"],
)
def test_a_text_that_says_nothing_usable_gives_no_salary_and_the_reason(text, code):
    pay = parse(text)
    assert not pay.usable
    assert [found for found, _ in pay.notes] == [code]


@pytest.mark.parametrize(
    ("text", "expected", "code"),
    [
        ("Up to $75,000/year", Pay(Decimal(75000), None, 1), "salary_up_to"),
        ("$30 - $20 / hour", Pay(Decimal(20), Decimal(30), 5), "salary_swapped"),
        ("$1,200 bi-weekly", Pay(Decimal(31200), None, 1), "salary_made_yearly"),
        ("2.400 $ aux deux semaines", Pay(Decimal(62400), None, 1), "salary_made_yearly"),
        ("$850.500 bi-weekly", Pay(Decimal("22113.000"), None, 1), "salary_made_yearly"),
        ("1 000 $ aux deux semaines", Pay(Decimal(26000), None, 1), "salary_made_yearly"),
    ],
)
def test_what_was_guessed_is_said(text, expected, code):
    pay = parse(text)
    assert (pay.amount, pay.max_amount, pay.period) == (expected.amount, expected.max_amount, expected.period)
    assert [found for found, _ in pay.notes] == [code]


def test_when_pay_is_handed_out_does_not_stop_the_inference():
    pay = parse("$90,000, paid bi-weekly", PeriodLimits(Decimal(200), Decimal(10000)))
    assert (pay.amount, pay.period) == (Decimal(90000), 1)


@pytest.mark.parametrize(
    ("text", "amount", "most", "period"),
    [
        ("60000-80000", "60000", "80000", 1),
        ("$2,000 paid weekly", "2000", None, 1),
        ("$25/hour", "25", None, 5),
    ],
)
def test_a_unit_that_is_given_counts_where_the_text_has_none(text, amount, most, period):
    assert parse(text, unit=(1, 1)) == Pay(Decimal(amount), Decimal(most) if most else None, period)


@pytest.mark.parametrize("text", ["Commission only", "100% commission", "à commission"])
def test_commission_alone_is_a_salary_without_amount(text):
    assert parse(text) == Pay(plus_commission=True)


def test_commission_beside_an_amount_is_kept():
    assert parse("$60,000 annually plus commission") == Pay(Decimal(60000), None, 1, True)


@pytest.mark.parametrize(
    ("text", "period"), [("$23.00", 5), ("$65,000.00 - $80,000.00", 1), ("$1,500", None)]
)
def test_a_period_is_inferred_only_where_the_mapping_allows_it_and_the_amount_is_clear(text, period):
    pay = parse(text, PeriodLimits(Decimal(200), Decimal(10000)))
    assert pay.period == period
    assert pay.usable is (period is not None)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("HOUR", (5, 1)),
        ("per year", (1, 1)),
        ("par mois", (2, 1)),
        ("Bi-weekly", (1, 26)),
        ("semi_monthly", (1, 24)),
        ("SEMAINE", (3, 1)),
        ("moon", None),
        ("1 YEAR", (1, 1)),
        ("1 HOUR", (5, 1)),
        ("par quinzaine", (1, 26)),
        ("biweekly", (1, 26)),
        ("2 YEAR", None),
    ],
)
def test_a_unit_by_itself_names_a_period(text, unit):
    assert unit_of(text) == unit


@pytest.mark.parametrize(
    ("value", "amount"),
    [
        ("10,000.00", "10000.00"),
        ("45k", "45000"),
        ("$ 22,50", "22.50"),
        (12, "12"),
        (Decimal("12.5"), "12.5"),
    ],
)
def test_one_amount_is_read_from_a_number_or_from_text(value, amount):
    assert number(value) == Decimal(amount)


@pytest.mark.parametrize("value", ["abc", "20-25", "", True, "NaN"])
def test_what_is_not_one_amount_is_none(value):
    assert number(value) is None


_MONEY = st.lists(
    st.sampled_from(
        "$|€|CAD|20|25,50|1 200,00|60k|- |to |à |/|per |hour|an|week|bi-weekly|up to |commission|%|.|,|0|k|("
        "|experience|9999999999".split("|")
    ),
    max_size=10,
).map("".join)


@UNHURRIED
@given(
    _MONEY | st.text(alphabet="0123456789 ,.'$k€-–/hourperanyàto%", max_size=60) | st.text(max_size=60),
    st.sampled_from([None, "en", "fr"]),
    st.none() | st.just(PeriodLimits(Decimal(200), Decimal(10000))),
)
def test_a_salary_that_is_read_passes_the_rules_and_reads_the_same_again(text, locale, infer):
    pay = parse(text, infer, locale)
    assert pay == parse(text, infer, locale)
    if not pay.usable:
        assert pay.notes
        return
    body = {
        "amount": pay.amount,
        "maxAmount": pay.max_amount,
        "period": {"id": pay.period} if pay.period else None,
    }
    sent = check_body({"salary": {**body, "plusCommission": pay.plus_commission}}, CATALOGUE)
    assert sent.fields["salary"] is not None
    if pay.amount is None:
        assert (pay.max_amount, pay.period) == (None, None)
    else:
        assert 0 < pay.amount < 10**12
        assert pay.max_amount is None or pay.amount < pay.max_amount < 10**12
        assert pay.period is not None
        unit = CATALOGUE.periods[pay.period].unit
        most = f" - ${pay.max_amount}" if pay.max_amount else ""
        again = parse(f"${pay.amount}{most} per {unit}")
        assert (again.amount, again.max_amount, again.period) == (pay.amount, pay.max_amount, pay.period)


AMOUNTS = st.from_regex(r"[0-9]{1,12}(,[0-9]{3}){0,2}(\.[0-9]{1,3})?", fullmatch=True)


def salary(first: str, second: str | None, blank: str, rest: str) -> str:
    upper = "" if second is None else f"{blank}-{blank}${second}"
    return f"${first}{upper}{blank}{rest}"


TEXTS = st.builds(
    salary,
    AMOUNTS,
    st.none() | AMOUNTS,
    st.sampled_from(["", " ", "  ", "\u00a0"]),
    st.builds(
        str.__add__,
        st.sampled_from(["per ", "/", "/ ", "a ", "an ", "PER ", "each ", ""]),
        st.sampled_from(["hour", "Day", "WEEK", "month", "year", "hours", "ye\u0430r", "\u212aweek"]),
    ),
)


@example("$1,234 per hour", "fr")
@example("$0 - $0 /year", None)
@example("$30 - $25.50 a Week", "en")
@example("$1234,567-$012,345/ month", "fr")
@given(TEXTS, st.sampled_from([None, "en", "fr"]))
def test_the_short_way_for_usual_texts_says_what_the_grammar_says(text: str, locale: Any) -> None:
    assert parse(text, None, locale) == money._by_grammar(text, None, locale)
