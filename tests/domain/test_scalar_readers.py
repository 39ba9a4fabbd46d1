"""Texts, flags, dates and amounts: every rule at its limit, below and above it."""

from datetime import date
from decimal import Decimal

import pytest

from tests.domain.bodies import GRIN, faults, sent


@pytest.mark.parametrize("nothing", [None, "", "   "])
@pytest.mark.parametrize("name", ["referenceId", "description", "applicationEmail", "applicationUrl"])
def test_an_empty_string_is_null(name, nothing):
    assert sent(**{name: nothing}) == {name: None}


@pytest.mark.parametrize(
    "name", ["title", "referenceId", "description", "applicationEmail", "applicationUrl"]
)
@pytest.mark.parametrize("value", [5, True, Decimal("1.5"), ["x"], {"x": 1}])
def test_what_is_not_a_string_has_the_wrong_type(name, value):
    assert faults({name: value}) == [(f"/{name}", "wrong_type")]


@pytest.mark.parametrize(
    "char", ["\x00", "\x07", "\x1b", "\x7f", "\x85", "\x9f", "\ufffe", "\uffff", "\ud800"]
)
@pytest.mark.parametrize(
    "name", ["title", "referenceId", "description", "applicationEmail", "applicationUrl"]
)
def test_control_characters_are_refused(name, char):
    assert faults({name: f"a{char}b"}) == [(f"/{name}", "invalid_characters")]


@pytest.mark.parametrize("char", ["\t", "\n", "\r"])
def test_line_breaks_and_tabs_are_allowed_in_descriptions_only(char):
    assert sent(description=f"a{char}b")["description"] == f"a{char}b"
    assert faults({"title": f"a{char}b"}) == [("/title", "invalid_characters")]


@pytest.mark.parametrize(
    "text", ["\u00a0x", "a\u200bb", "naïve – “x”", GRIN, "\U0010fffd", "\ufffd", " « é » "]
)
def test_any_other_character_passes_and_descriptions_are_kept_byte_for_byte(text):
    assert sent(description=f" {text} ")["description"] == f" {text} "


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2027-01-15", date(2027, 1, 15)),
        ("2027-01-15T23:30:00-05:00", date(2027, 1, 15)),
        ("2027-01-15T00:00:00Z", date(2027, 1, 15)),
        ("2027-01-15t23:59:60.123z", date(2027, 1, 15)),
        ("2027-01-15T23:30", date(2027, 1, 15)),
        ("2027-01-15T23:30:00,5+0530", date(2027, 1, 15)),
        ("2028-02-29", date(2028, 2, 29)),
        ("0001-01-01", date(1, 1, 1)),
        ("9999-12-31", date(9999, 12, 31)),
        (None, None),
        ("", None),
    ],
)
def test_close_dates_are_iso_8601_and_kept_as_written(written, day):
    assert sent(closeDate=written) == {"closeDate": day}


@pytest.mark.parametrize(
    "written",
    [
        *(
            "20260102 2026-W01-1 2026-001 2026-1-2 2027-02-29 2026-13-01 2026-00-10 0000-01-01 "
            "2026-01-02T24:00:00 2026-01-02T10:60:00 2026-01-02T10 2026-01-02T10:00:00+25:00 2026-01-02T "
            "2026-01-02Z 02/01/2026 tomorrow"
        ).split(),
        "2026-01-02 10:00:00",
        " 2026-01-02",
        "2026-01-02\n",
        "٢٠٢٦-٠١-٠٢",
        "2026-01-02" + "0" * 1000,
    ],
)
def test_other_dates_are_invalid(written):
    assert faults({"closeDate": written}) == [("/closeDate", "invalid_date")]


@pytest.mark.parametrize("value", [20270115, True, {"date": "2027-01-15"}, Decimal("1.5")])
def test_a_date_is_a_string(value):
    assert faults({"closeDate": value}) == [("/closeDate", "wrong_type")]


@pytest.mark.parametrize("name", ["confidential", "autoRefresh"])
def test_booleans_are_strict_and_null_is_the_default(name):
    assert sent(**{name: True}) == {name: True}
    assert sent(**{name: None}) == {name: False}
    others: list[object] = [1, 0, "true", "", [], Decimal(1)]
    for value in others:
        assert faults({name: value}) == [(f"/{name}", "wrong_type")]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (0, "0"),
        (Decimal("0"), "0"),
        (Decimal("-0.0"), "0"),
        (Decimal("0.1"), "0.1"),
        (Decimal("1234567890.12"), "1234567890.12"),
        (Decimal("999999999999.9999"), "999999999999.9999"),
        (10**12 - 1, "999999999999"),
        (Decimal("25.50"), "25.5"),
        (Decimal("1.50000000000000000000000000000000000000000000000"), "1.5"),
        (Decimal("1E+3"), "1000"),
        (Decimal("1000.00"), "1000"),
        (Decimal("0E-400"), "0"),
        (Decimal("0.0001"), "0.0001"),
    ],
)
@pytest.mark.parametrize("name", ["amount", "maxAmount"])
def test_amounts_are_exact(name, written, read):
    value = sent(salary={name: written})["salary"][name]
    assert isinstance(value, Decimal)
    assert str(value) == read


@pytest.mark.parametrize(
    "value",
    [
        -1,
        10**12,
        10**4000,
        Decimal("-0.01"),
        Decimal("1E+12"),
        Decimal("1E+999999"),
        Decimal("1E-999999"),
        Decimal("0.00001"),
        Decimal("1.00000000000000000000000000000000000000000000001"),
        Decimal("999999999999.99999"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        Decimal("-Infinity"),
    ],
)
@pytest.mark.parametrize("name", ["amount", "maxAmount"])
def test_other_amounts_are_out_of_range(name, value):
    assert faults({"salary": {name: value}}) == [(f"/salary/{name}", "out_of_range")]


@pytest.mark.parametrize("value", [True, False, "5", "", 1.5, 0.0, [], {}])
def test_an_amount_is_a_number_and_never_a_binary_float(value):
    assert faults({"salary": {"amount": value}}) == [("/salary/amount", "wrong_type")]


# -- addresses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    ["jobs@example.com", "a.b+c@sub.example.ca", "x@y.co", "hr@acme.test", "rené@example.ca", "é@exämple.ca"],
)
def test_email_addresses(address):
    assert sent(applicationEmail=address)["applicationEmail"] == address


@pytest.mark.parametrize(
    "address",
    [
        *(
            "jobs jobs@ @example.com a@b a@test a@@example.com a@example.com;b@example.com "
            "mailto:a@example.com a@[127.0.0.1] a@1.2.3.4 .a@example.com a.@example.com a@-example.com "
            "a@example..com a@example.com. a@localhost"
        ).split(),
        "a b@example.com",
        "a@example.com, b@example.com",
        "Jobs <a@example.com>",
        '"a b"@example.com',
    ],
)
def test_what_is_not_an_email_address(address):
    assert faults({"applicationEmail": address}) == [("/applicationEmail", "invalid_email")]


@pytest.mark.parametrize(
    "url",
    (
        "http://example.com HTTPS://Example.COM/Jobs?id=1&x=%20#top https://example.com:8443/ "
        "https://example.com. http://localhost/apply http://192.0.2.1/x http://[2001:db8::1]:8080/x "
        "https://exämple.ca/é https://example.com/a@b https://example.com?x=http://other.example "
        "https://my_host.example.com/~x/(1),2;3"
    ).split(),
)
def test_web_addresses(url):
    assert sent(applicationUrl=url)["applicationUrl"] == url


@pytest.mark.parametrize(
    "url",
    [
        *(
            "www.example.com example.com/jobs //example.com ftp://example.com javascript:alert(1) "
            "mailto:a@example.com http:/example.com http:example.com http:// https:///path https://?q "
            "https://#x https://:8080/ https://user@example.com/ https://user:pw@example.com/ "
            "https://@example.com/ https://example.com:99999/ https://example.com:0/ "
            "https://example.com:/ https://example.com:80a/ https://example.com\\@evil.example "
            'https://exam<ple.com https://example.com/"x" https://a..b.com/ https://-a.com/ https://.com/ '
            "https://[::1/ https://[zz]/ https://%65xample.com/ https://exa&mple.com/"
        ).split(),
        "https://exa mple.com/",
        "https://example.com/a b",
    ],
)
def test_what_is_not_a_web_address(url):
    assert faults({"applicationUrl": url}) == [("/applicationUrl", "invalid_url")]
