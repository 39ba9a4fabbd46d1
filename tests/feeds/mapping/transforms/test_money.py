"""Salary text → amounts, period, commission (docs/feeds.md "Structured values"; the grammar's table of cases)."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from syncd.domain import Catalogue, check_body
from syncd.feeds.mapping.transforms import money
from syncd.feeds.mapping.transforms.money import Pay, PeriodLimits, number, parse, unit_of

CATALOGUE = Catalogue.default()
#: The machine that runs the tests may be busy.
UNHURRIED = settings(deadline=None)

READ = [
    ("$17-$19/hour", "17", "19", 5),
    ("$70,000-$85,000/year", "70000", "85000", 1),
    ("$25.50 - $30/hr", "25.50", "30", 5),
    ("$25.50 – $30 / hour", "25.50", "30", 5),
    ("$50K per year", "50000", None, 1),
    ("45-55k/yr", "45000", "55000", 1),
    ("De 45 à 55 k$ par an", "45000", "55000", 1),
    ("50 à 60 000 $ par an", "50000", "60000", 1),
    ("22,50 $ de l'heure", "22.50", None, 5),
    ("22,50 $ de l’heure", "22.50", None, 5),
    ("55\u00a0000 $ à 60\u202f000 $ par année", "55000", "60000", 1),
    ("Entre 18 $ et 22 $ l'heure", "18", "22", 5),
    ("$20/hr to $25/hr", "20", "25", 5),
    ("From $20 to $25 an hour", "20", "25", 5),
    ("Starting at $19.25 per hour", "19.25", None, 5),
    ("$25/hour, 37.5 hours per week", "25", None, 5),
    ("$17.40 (hourly), 40 hours weekly", "17.40", None, 5),
    ("$22 per hour + 4% vacation pay", "22", None, 5),
    ("CA$30 per hour", "30", None, 5),
    ("CAD 90,000 - 110,000 per annum", "90000", "110000", 1),
    ("90000 CAD/year", "90000", None, 1),
    ("hourly rate: $21.50", "21.50", None, 5),
    ("20.00 - 25.00 per hour", "20.00", "25.00", 5),
    ("$500/day", "500", None, 4),
    ("$900 a week", "900", None, 3),
    ("4 200 $ par mois", "4200", None, 2),
    ("$3.350/hour", "3.350", None, 5),
    ("1,234,567.89 per year", "1234567.89", None, 1),
    ("entre 20 $ et 25 $ de l'heure", "20", "25", 5),
    ("CAD 1 200,00 par semaine", "1200.00", None, 3),
    ("25,50 $ de l'heure", "25.50", None, 5),
    ("60k - 80k per year", "60000", "80000", 1),
    ("De 18 à 20 $ / h", "18", "20", 5),
    ("17,50$/h à 22,75$/h", "17.50", "22.75", 5),
    ("25,00$ de l'heure à 30,00$ de l'heure", "25.00", "30.00", 5),
    ("Taux horaire : 25,00 $ à 30,00 $", "25.00", "30.00", 5),
    ("Salaire annuel entre 60 000 et 70 000 $", "60000", "70000", 1),
    ("18,00$-22,00$ / heure (35 heures/semaine)", "18.00", "22.00", 5),
    ("80 000,00$ - 95 000,00$ par an", "80000.00", "95000.00", 1),
    ("À partir de 19,25 $ l'heure", "19.25", None, 5),
    ("1200 $/sem.", "1200", None, 3),
    ("300$ par jour", "300", None, 4),
    ("5 000 $/mois", "5000", None, 2),
    ("1.234,50 $ par mois", "1234.50", None, 2),
    ("$28.00HOUR hourly for 30 to 40 hours per week", "28.00", None, 5),
    ("$19.00 to $25.00 HOUR", "19.00", "25.00", 5),
    ("19.00 - 25.00 HOUR", "19.00", "25.00", 5),
    ("$22/hr, 8 hour shifts", "22", None, 5),
    ("30 hours/week at $20.00/hour", "20.00", None, 5),
    ("$500 signing bonus, $20/hour", "20", None, 5),
    ("$25/hour plus $2,000 sign-on bonus", "25", None, 5),
    ("$35 an hour for 12 months", "35", None, 5),
    ("CDN$ 50,000 / year", "50000", None, 1),
    ("C$60,000-70,000 p.a.", "60000", "70000", 1),
    ("$200 per diem", "200", None, 4),
    ("60k-80 per year", "60000", "80000", 1),
    ("$45-55k a year", "45000", "55000", 1),
    ("De $15 à $20 /hr", "15", "20", 5),
    ("$20.00 - $20.00 per hour", "20.00", None, 5),
    ("$52.000 / an", "52000", None, 1),
    ("45.000 - 55.000 $ par an", "45000", "55000", 1),
    ("4.200 $ par mois", "4200", None, 2),
    ("1.200 $ par semaine", "1200", None, 3),
    ("$850.500 / week", "850.500", None, 3),
    ("45.000 $ à 55 000 $ par an", "45000", "55000", 1),
    ("$45.000 - $55,000 per year", "45000", "55000", 1),
    ("Annual salary of $52.000", "52000", None, 1),
    ("Hourly rate $28.125, reviewed annually", "28.125", None, 5),
    ("Taux horaire : 28,50 $, révisé chaque année", "28.50", None, 5),
    ("Selon l'échelon 25,50 $ à 31,20 $ de l'heure", "25.50", "31.20", 5),
    ("selon échelon 45 000 $ à 60 000 $ par an", "45000", "60000", 1),
    ("Entry level 18.50 - 22.00 per hour", "18.50", "22.00", 5),
    ("Entry level 45,000 - 50,000 per year", "45000", "50000", 1),
    ("10-month: $45,000, annual", "45000", None, 1),
    ("Full year - $28.50 (per hour)", "28.50", None, 5),
    ("Weekly pay - $60,000 (annual salary)", "60000", None, 1),
    ("Step 1 $32.15 to Step 5 $38.90 hourly", "32.15", None, 5),
    ("Grade 7 - $32.15 hourly", "32.15", None, 5),
    ("Level 2 - $25.00/hr", "25.00", None, 5),
    ("Échelon 1 : 24,50 $ de l'heure", "24.50", None, 5),
    ("Hourly: $22-$26, Annual: $45,760-$54,080", "22", "26", 5),
    ("Taux horaire de 24,50 $ à 30,10 $; annuel 44 000 $ à 54 000 $", "24.50", "30.10", 5),
    # a word after the unit that does not name an allowance
    ("$2,500/week travel nurse", "2500", None, 3),
    ("$4,000/month housing provided", "4000", None, 2),
    ("52 000 $ par an véhicule fourni", "52000", None, 1),
    ("$45,000 - $55,000 per year travel required", "45000", "55000", 1),
    ("$60,000 a year for travel nurses, $5,000 sign-on bonus", "60000", None, 1),
    ("$40 - $50 per month phone allowance, $28 an hour", "28", None, 5),
    # another amount is not the pay, and does not get its unit
    ("$45,000/year plus $500/month car", "45000", None, 1),
    ("$45,000 a year plus $40 per month phone allowance", "45000", None, 1),
    ("$500/month car allowance, $28 an hour", "28", None, 5),
    ("500 $ par mois pour la voiture; 32 $ de l'heure", "32", None, 5),
    ("Prime de 5000$ à la signature, 32$/h", "32", None, 5),
    ("Prime à la signature de 5 000 $; 32,50 $ de l'heure", "32.50", None, 5),
    ("5000$ à la signature, 32$/h", "32", None, 5),
    ("Carte-cadeau de 100 $, 19 $/h", "19", None, 5),
    ("Annual bonus of $5,000; $28 hourly", "28", None, 5),
    ("Bonus of up to $1,000 - $5,000; $28 hourly", "28", None, 5),
    ("$5,000 annual bonus, $28/hour", "28", None, 5),
    ("$5,000 at signing, then $32/h", "32", None, 5),
    ("$100 gift card after 30 days; pay $19 per hour", "19", None, 5),
    ("$100 voucher after 30 days; pay $19 per hour", "19", None, 5),
    ("After 30 days $19 per hour", "19", None, 5),
    ("$5,000 when hired, $32/h", "32", None, 5),
    ("$90,000/year, paid bi-weekly", "90000", None, 1),
    ("paid weekly, $20/hour", "20", None, 5),
    ("60 000 $, payé aux deux semaines, par an", "60000", None, 1),
    # these keep the first amount
    ("$90,000 base salary per year; $30/hour overtime", "90000", None, 1),
    ("Min $20 Max $25 per hour", "20", None, 5),
    ("Salary plus bonus $60,000/year", "60000", None, 1),
    ("$60,000 plus annual bonus of $5,000", "60000", None, 1),
    ("$1,000/hour", "1000", None, 5),
]


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
    "text", ["22.150 $ à 30.450 $, poste d'un an", "$25 - $30 a year", "$24.50 bi-weekly", "$20/week"]
)
def test_pay_that_is_too_little_for_its_time_is_not_sent(text):
    pay = parse(text)
    assert not pay.usable
    assert [code for code, _ in pay.notes] == ["salary_unclear"]


@pytest.mark.parametrize(("text", "amount", "most", "period"), READ, ids=[row[0] for row in READ])
def test_a_salary_text_is_read_as_written(text, amount, most, period):
    assert parse(text) == Pay(Decimal(amount), Decimal(most) if most else None, period)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Competitive Salary", "salary_unclear"),
        ("PT/EPT + TLR 2B", "salary_unclear"),
        ("Thương lượng", "salary_unclear"),
        ("37.5 hours per week", "salary_unclear"),
        ("5 years experience, competitive", "salary_unclear"),
        ("0", "salary_unclear"),
        ("$0/hour", "salary_unclear"),
        ("$1.2 million per year", "salary_unclear"),
        ("$1e9/hour", "salary_unclear"),
        ("$2.5E+3 per month", "salary_unclear"),
        ("$100,000", "salary_no_period"),
        ("$23.00", "salary_no_period"),
        ("1059 - 1350 ", "salary_no_period"),
        ("De 500€ à 1700€ par mois", "salary_currency"),
        ("£25,714.00 to £41,604.00", "salary_currency"),
        ("US$95,000 a year", "salary_currency"),
        ("USD 50 / hour", "salary_currency"),
        ("$9999999999999 per year", "salary_out_of_range"),
        ("competitive", "salary_unclear"),
        ("Salaire compétitif", "salary_unclear"),
        ("À discuter", "salary_unclear"),
        ("Selon expérience", "salary_unclear"),
        ("DOE", "salary_unclear"),
        ("60k-80k", "salary_no_period"),
        ("entre 20 $ et 25 $", "salary_no_period"),
        ("50 k$", "salary_no_period"),
        ("$0.60/mile", "salary_no_period"),
        ("50 CHF per hour", "salary_currency"),
        ("20 USD/hr", "salary_currency"),
        ("R$ 5.000 - R$ 6.000 por mês", "salary_currency"),
        ("150 € per day", "salary_currency"),
        ("Bonus of $5,000", "salary_unclear"),
        ("Prime de 1,50 $ / h", "salary_unclear"),
        ("$90,000, paid bi-weekly", "salary_unclear"),
        ("$5,000 paid monthly", "salary_unclear"),
        ("$90,000 bi-weekly", "salary_unclear"),
        ("$45,000 semi-monthly", "salary_unclear"),
        ("$1,000.01/hour", "salary_unclear"),
        ("$20 - $1,200 / hour", "salary_unclear"),
    ],
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
