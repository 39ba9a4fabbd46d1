"""What may be sent: every rule at its limit, below and above it."""

from copy import deepcopy
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.domain.catalog import Catalog
from syncd.domain.job import Moment, Place, Status
from syncd.domain.rules import MAX_PROBLEMS, check, check_reference
from syncd.errors import Invalid

CATALOG = Catalog.default()
NOW = Moment(datetime(2026, 11, 21, 15, 0, tzinfo=UTC), date(2026, 11, 21))
BODY = {
    "referenceId": "ACME-1",
    "title": "Welder",
    "closeDate": "2027-01-15",
    "confidential": False,
    "autoRefresh": True,
    "status": "active",
    "locations": [{"description": "Montréal, QC"}],
    "categories": [{"id": 28}],
    "positionType": {"id": 1},
    "salary": {"amount": Decimal("25.50"), "maxAmount": 30, "period": {"id": 5}, "plusCommission": False},
    "description": "<p>Weld.</p>",
    "applicantRoutingType": {"id": 1},
    "applicationEmail": "jobs@example.com",
    "applicationUrl": "https://example.com/jobs",
}
GRIN = "😀"


def faults(body, **options):
    """(pointer, code) of every problem."""
    with pytest.raises(Invalid) as caught:
        check(body, CATALOG, **options)
    return [(p.pointer, p.code) for p in caught.value.problems]


def sent(**fields):
    return check(fields, CATALOG).fields


def test_a_full_body_comes_back_typed_and_in_its_own_order():
    fields = check(BODY, CATALOG).fields
    assert list(fields) == list(BODY)
    assert fields == {
        "referenceId": "ACME-1",
        "title": "Welder",
        "closeDate": date(2027, 1, 15),
        "confidential": False,
        "autoRefresh": True,
        "status": Status.ACTIVE,
        "locations": (Place("Montréal", "QC"),),
        "categories": (28,),
        "positionType": 1,
        "salary": {"amount": Decimal("25.5"), "maxAmount": Decimal(30), "period": 5, "plusCommission": False},
        "description": "<p>Weld.</p>",
        "applicantRoutingType": 1,
        "applicationEmail": "jobs@example.com",
        "applicationUrl": "https://example.com/jobs",
    }


def test_an_empty_body_is_valid_input_and_sends_nothing():
    assert check({}, CATALOG).fields == {}


def test_a_get_result_is_a_valid_body():
    body = deepcopy(BODY) | {
        "id": 7,
        "employer": {"id": 1, "name": "Acme", "anything": "goes"},
        "publishDate": "2026-11-01",
        "locations": [
            {"id": 6077243, "name": "Montréal", "description": "Montréal, QC", "type": "city"},
        ],
        "categories": [{"id": 28, "name": "Skilled Trades"}],
        "positionType": {"id": 1, "name": "Full Time"},
        "salary": {
            "amount": 1,
            "maxAmount": None,
            "period": {"id": 5, "name": "Hourly", "unit": "Hour"},
            "plusCommission": False,
        },
        "applicantRoutingType": {"id": 1, "name": "Email"},
        "applicationUrl": None,
    }
    read = check(body, CATALOG)
    assert read.id == 7
    assert read.fields["locations"] == (Place("Montréal", "QC"),)
    assert "employer" not in read.fields
    assert "publishDate" not in read.fields


def test_a_get_result_of_a_bare_draft_is_a_valid_body():
    nulls = ("positionType", "salary", "description", "applicantRoutingType", "applicationEmail")
    read = check(BODY | dict.fromkeys((*nulls, "applicationUrl", "referenceId")), CATALOG)
    assert all(read.fields[name] is None for name in nulls)


@pytest.mark.parametrize("body", [None, [], "x", 5, True, [{"title": "x"}]])
def test_a_body_that_is_no_object_is_refused(body):
    assert faults(body) == [("", "wrong_type")]


@pytest.mark.parametrize(
    ("name", "limit"),
    [("title", 256), ("referenceId", 50), ("applicationEmail", 50), ("applicationUrl", 200)],
)
@pytest.mark.parametrize("letter", ["x", "é", GRIN])
def test_lengths_count_code_points(name, limit, letter):
    head = {"applicationEmail": "", "applicationUrl": "https://example.com/"}.get(name, "")
    tail = "@example.com" if name == "applicationEmail" else ""
    if name == "applicationEmail" and letter == GRIN:
        tail = "@e.ca"

    def text(length):
        return head + letter * (length - len(head) - len(tail)) + tail

    assert len(text(limit)) == limit
    assert sent(**{name: text(limit)})[name] == text(limit)
    assert sent(**{name: "  " + text(limit) + "\n"})[name] == text(limit)
    assert faults({name: text(limit + 1)}) == [(f"/{name}", "too_long")]


@pytest.mark.parametrize("name", ["title", "referenceId", "applicationEmail", "applicationUrl"])
def test_surrounding_white_space_is_trimmed(name):
    assert sent(**{name: f" \t{BODY[name]}\u00a0\n"})[name] == BODY[name]


@pytest.mark.parametrize("nothing", [None, "", "   ", "\n\t"])
def test_a_title_of_nothing_is_required(nothing):
    assert faults({"title": nothing}) == [("/title", "required")]


@pytest.mark.parametrize("nothing", [None, "", "   "])
@pytest.mark.parametrize("name", ["referenceId", "description", "applicationEmail", "applicationUrl"])
def test_an_empty_string_is_null(name, nothing):
    assert sent(**{name: nothing}) == {name: None}


@pytest.mark.parametrize(
    "name", ["title", "referenceId", "description", "applicationEmail", "applicationUrl"]
)
@pytest.mark.parametrize("value", [5, True, Decimal("1.5"), ["x"], {"x": 1}])
def test_what_is_no_string_is_a_wrong_type(name, value):
    assert faults({name: value}) == [(f"/{name}", "wrong_type")]


@pytest.mark.parametrize(
    "char", ["\x00", "\x07", "\x1b", "\x7f", "\x85", "\x9f", "\ufffe", "\uffff", "\ud800"]
)
@pytest.mark.parametrize("name", ["title", "referenceId", "description"])
def test_control_characters_are_refused(name, char):
    assert faults({name: f"a{char}b"}) == [(f"/{name}", "invalid_characters")]


@pytest.mark.parametrize("char", ["\t", "\n", "\r"])
def test_line_breaks_and_tabs_belong_into_descriptions_only(char):
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
        "20260102",
        "2026-W01-1",
        "2026-001",
        "2026-1-2",
        "2027-02-29",
        "2026-13-01",
        "2026-00-10",
        "0000-01-01",
        "2026-01-02T24:00:00",
        "2026-01-02T10:60:00",
        "2026-01-02T10",
        "2026-01-02 10:00:00",
        "2026-01-02T10:00:00+25:00",
        "2026-01-02T",
        "2026-01-02Z",
        " 2026-01-02",
        "2026-01-02\n",
        "٢٠٢٦-٠١-٠٢",
        "02/01/2026",
        "tomorrow",
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
    for value in (1, 0, "true", "", [], Decimal(1)):
        assert faults({name: value}) == [(f"/{name}", "wrong_type")]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("open", "unknown_value"),
        ("Active", "unknown_value"),
        (" active", "unknown_value"),
        ("x" * 5000, "unknown_value"),
        (None, "null_not_allowed"),
        ("", "null_not_allowed"),
        (1, "wrong_type"),
        (["active"], "wrong_type"),
    ],
)
def test_a_status_is_one_of_three(value, code):
    assert faults({"status": value}) == [("/status", code)]


@pytest.mark.parametrize("status", list(Status))
def test_each_status_is_read(status):
    assert sent(status=status.value)["status"] is status


@pytest.mark.parametrize("name", ["locations", "categories"])
def test_lists_have_one_to_three_items(name):
    items = {
        "locations": [{"description": city} for city in ("Laval", "Toronto", "Regina", "Calgary")],
        "categories": [{"id": id} for id in (1, 2, 3, 4)],
    }[name]
    assert faults({name: []}) == [(f"/{name}", "too_few")]
    assert len(sent(**{name: items[:1]})[name]) == 1
    assert len(sent(**{name: items[:3]})[name]) == 3
    assert faults({name: items}) == [(f"/{name}", "too_many")]
    assert faults({name: None}) == [(f"/{name}", "null_not_allowed")]
    for wrong in ("Laval", {}, 5, True, ""):
        assert faults({name: wrong}) == [(f"/{name}", "wrong_type")]


def test_the_same_item_twice_counts_once_but_the_limit_counts_what_was_sent():
    same = [
        {"description": "Montréal, QC"},
        {"description": "montreal , quebec"},
        {"description": "Montréal"},
    ]
    assert sent(locations=same)["locations"] == (Place("Montréal", "QC"), Place("Montréal"))
    assert faults({"locations": [{"description": "Laval"}] * 4}) == [("/locations", "too_many")]
    assert sent(categories=[{"id": 3}, {"id": 1}, {"id": 3}])["categories"] == (3, 1)
    assert faults({"categories": [{"id": 3}] * 4}) == [("/categories", "too_many")]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("Laval", [("/locations/0", "wrong_type")]),
        (None, [("/locations/0", "null_not_allowed")]),
        ({}, [("/locations/0/description", "required")]),
        ({"description": None}, [("/locations/0/description", "required")]),
        ({"description": " "}, [("/locations/0/description", "required")]),
        ({"description": 5}, [("/locations/0/description", "wrong_type")]),
        ({"description": "Laval", "city": "x"}, [("/locations/0/city", "unknown_field")]),
        ({"description": "Laval, XX"}, [("/locations/0/description", "unknown_province")]),
        ({"description": "Laval?"}, [("/locations/0/description", "invalid_characters")]),
        ({"description": "La\tval"}, [("/locations/0/description", "invalid_characters")]),
        ({"description": "x" * 301}, [("/locations/0/description", "too_long")]),
        (
            {"description": "L@val, XX"},
            [
                ("/locations/0/description", "invalid_characters"),
                ("/locations/0/description", "unknown_province"),
            ],
        ),
    ],
)
def test_a_location_is_an_object_with_a_description(item, expected):
    assert faults({"locations": [item]}) == expected
    # The same text again: what was remembered must not change the answer.
    assert faults({"locations": [item]}) == expected


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (0, "unknown_value"),
        (999, "unknown_value"),
        (-1, "unknown_value"),
        (2**31 - 1, "unknown_value"),
        (-(2**31), "unknown_value"),
        (2**31, "out_of_range"),
        (-(2**31) - 1, "out_of_range"),
        (10**4000, "out_of_range"),
        ("1", "wrong_type"),
        (True, "wrong_type"),
        (1.0, "wrong_type"),
        (Decimal("1.0"), "wrong_type"),
        (None, "null_not_allowed"),
    ],
)
@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (lambda v: {"categories": [{"id": 1}, {"id": v}]}, "/categories/1/id"),
        (lambda v: {"positionType": {"id": v}}, "/positionType/id"),
        (lambda v: {"applicantRoutingType": {"id": v}}, "/applicantRoutingType/id"),
        (lambda v: {"salary": {"amount": 1, "period": {"id": v}}}, "/salary/period/id"),
    ],
)
def test_ids_are_strict_int32_of_the_catalogue(body, pointer, value, code):
    assert faults(body(value)) == [(pointer, code)]


@pytest.mark.parametrize("name", ["positionType", "applicantRoutingType"])
def test_an_object_without_id_lacks_it(name):
    assert faults({name: {}}) == [(f"/{name}/id", "required")]
    assert faults({name: {"name": "x"}}) == [(f"/{name}/id", "required")]
    assert faults({name: {"id": 1, "title": 1}}) == [(f"/{name}/title", "unknown_field")]
    assert faults({name: 1}) == [(f"/{name}", "wrong_type")]
    assert sent(**{name: None}) == {name: None}


def test_a_retired_category_is_still_valid_input():
    catalog = CATALOG.extended(retired_categories=[28])
    assert check({"categories": [{"id": 28}]}, catalog).fields["categories"] == (28,)


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


@pytest.mark.parametrize(
    ("salary", "expected"),
    [
        (5, [("/salary", "wrong_type")]),
        ([], [("/salary", "wrong_type")]),
        ("", [("/salary", "wrong_type")]),
        ({"period": {}}, [("/salary/period/id", "required")]),
        ({"period": 0}, [("/salary/period", "wrong_type")]),
        ({"period": ""}, [("/salary/period", "wrong_type")]),
        ({"period": {"id": 6}}, [("/salary/period/id", "unknown_value")]),
        ({"period": {"id": 1, "per": 1}}, [("/salary/period/per", "unknown_field")]),
        ({"plusCommission": "yes"}, [("/salary/plusCommission", "wrong_type")]),
        ({"max_amount": 1}, [("/salary/max_amount", "unknown_field")]),
    ],
)
def test_salary_members_are_checked_in_place(salary, expected):
    assert faults({"salary": salary}) == expected


def test_salary_nulls_are_read_as_such():
    assert sent(salary=None) == {"salary": None}
    assert sent(salary={"amount": None, "maxAmount": None, "period": None, "plusCommission": None}) == {
        "salary": {"amount": None, "maxAmount": None, "period": None, "plusCommission": False}
    }


@pytest.mark.parametrize(
    "address",
    ["jobs@example.com", "a.b+c@sub.example.ca", "x@y.co", "hr@acme.test", "rené@example.ca", "é@exämple.ca"],
)
def test_email_addresses(address):
    assert sent(applicationEmail=address)["applicationEmail"] == address


@pytest.mark.parametrize(
    "address",
    [
        "jobs",
        "jobs@",
        "@example.com",
        "a@b",
        "a@test",
        "a@@example.com",
        "a b@example.com",
        "a@example.com, b@example.com",
        "a@example.com;b@example.com",
        "Jobs <a@example.com>",
        "mailto:a@example.com",
        '"a b"@example.com',
        "a@[127.0.0.1]",
        "a@1.2.3.4",
        ".a@example.com",
        "a.@example.com",
        "a@-example.com",
        "a@example..com",
        "a@example.com.",
        "a@localhost",
    ],
)
def test_what_is_no_email_address(address):
    assert faults({"applicationEmail": address}) == [("/applicationEmail", "invalid_email")]


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "HTTPS://Example.COM/Jobs?id=1&x=%20#top",
        "https://example.com:8443/",
        "https://example.com.",
        "http://localhost/apply",
        "http://192.0.2.1/x",
        "http://[2001:db8::1]:8080/x",
        "https://exämple.ca/é",
        "https://example.com/a@b",
        "https://example.com?x=http://other.example",
        "https://my_host.example.com/~x/(1),2;3",
    ],
)
def test_web_addresses(url):
    assert sent(applicationUrl=url)["applicationUrl"] == url


@pytest.mark.parametrize(
    "url",
    [
        "www.example.com",
        "example.com/jobs",
        "//example.com",
        "ftp://example.com",
        "javascript:alert(1)",
        "mailto:a@example.com",
        "http:/example.com",
        "http:example.com",
        "http://",
        "https:///path",
        "https://?q",
        "https://#x",
        "https://:8080/",
        "https://user@example.com/",
        "https://user:pw@example.com/",
        "https://@example.com/",
        "https://example.com:99999/",
        "https://example.com:0/",
        "https://example.com:/",
        "https://example.com:80a/",
        "https://exa mple.com/",
        "https://example.com/a b",
        "https://example.com\\@evil.example",
        "https://exam<ple.com",
        'https://example.com/"x"',
        "https://a..b.com/",
        "https://-a.com/",
        "https://.com/",
        "https://[::1/",
        "https://[zz]/",
        "https://%65xample.com/",
        "https://exa&mple.com/",
    ],
)
def test_what_is_no_web_address(url):
    assert faults({"applicationUrl": url}) == [("/applicationUrl", "invalid_url")]


def test_disallowed_html_names_each_offence_with_its_offset():
    with pytest.raises(Invalid) as caught:
        check({"description": '<p class="x">a</p><script>'}, CATALOG)
    first, second = caught.value.problems
    assert (first.pointer, first.code) == ("/description", "disallowed_html")
    assert first.detail.startswith("offset 3: ")
    assert "class" in first.detail
    assert second.detail.startswith("offset 18: ")
    assert "<script>" in second.detail


@pytest.mark.parametrize(
    ("name", "pointer", "hint"),
    [
        ("reference_id", "/reference_id", "referenceId"),
        ("Title", "/Title", "title"),
        ("close date", "/close date", "closeDate"),
        ("a/b~c", "/a~1b~0c", None),
        ("", "/", None),
        ("publishdate", "/publishdate", None),
    ],
)
def test_unknown_fields_are_told_with_an_escaped_pointer(name, pointer, hint):
    with pytest.raises(Invalid) as caught:
        check({name: 1}, CATALOG)
    (problem,) = caught.value.problems
    assert (problem.pointer, problem.code) == (pointer, "unknown_field")
    assert (hint is None) == ("is meant" not in problem.detail)
    assert hint is None or hint in problem.detail


def test_the_id_of_the_body_is_read_for_comparison():
    assert check({"id": 5}, CATALOG).id == 5
    assert check({"id": None}, CATALOG).id is None
    assert check({}, CATALOG).id is None
    assert faults({"id": "5"}) == [("/id", "wrong_type")]


def test_all_problems_come_at_once_in_the_order_of_the_body():
    body = {
        "status": "open",
        "zip/code": 1,
        "salary": {"amount": "a lot", "period": {"id": 9}},
        "title": "",
        "id": "x",
        "categories": [{"id": 1}, {"id": "x"}, {}],
        "locations": [{"description": "x, YY"}],
        "applicationUrl": "www.example.com",
    }
    assert faults(body) == [
        ("/status", "unknown_value"),
        ("/zip~1code", "unknown_field"),
        ("/salary/amount", "wrong_type"),
        ("/salary/period/id", "unknown_value"),
        ("/title", "required"),
        ("/id", "wrong_type"),
        ("/categories/1/id", "wrong_type"),
        ("/categories/2/id", "required"),
        ("/locations/0/description", "unknown_province"),
        ("/applicationUrl", "invalid_url"),
    ]


def test_a_body_for_a_new_job_is_told_what_it_lacks_too():
    body = {"title": 5, "status": "active", "salary": {"amount": 1}, "applicantRoutingType": {"id": 2}}
    assert faults(body) == [("/title", "wrong_type")]
    assert faults(body, creating=NOW) == [
        ("/title", "wrong_type"),
        ("/salary/period", "required"),
        ("/locations", "required"),
        ("/categories", "required"),
        ("/positionType", "required"),
        ("/description", "required"),
        ("/applicationUrl", "required"),
    ]


def test_a_faulty_field_of_a_new_job_is_not_called_missing_as_well():
    body = BODY | {"description": "<x>", "applicationEmail": "x", "locations": [], "closeDate": "2020-01-01"}
    assert faults(body, creating=NOW) == [
        ("/closeDate", "date_order"),
        ("/locations", "too_few"),
        ("/description", "disallowed_html"),
        ("/applicationEmail", "invalid_email"),
    ]


@pytest.mark.parametrize("body", [{}, {"referenceId": None}, {"referenceId": " "}])
def test_a_body_that_must_say_which_job_needs_a_reference(body):
    assert faults(body | {"title": ""}, reference_required=True)[-1 if not body else 0] == (
        "/referenceId",
        "required",
    )
    with pytest.raises(Invalid) as caught:
        check_reference(body)
    assert [(p.pointer, p.code) for p in caught.value.problems] == [("/referenceId", "required")]


def test_a_faulty_reference_is_not_called_missing():
    assert faults({"referenceId": 5}, reference_required=True) == [("/referenceId", "wrong_type")]


def test_check_reference_reads_the_body_of_a_delete():
    assert check_reference({"referenceId": " A-1 "}) == "A-1"
    assert check_reference(BODY | {"id": 1, "employer": {}, "publishDate": "x"}) == "ACME-1"
    with pytest.raises(Invalid) as caught:
        check_reference({"reference_id": "x", "referenceId": "y" * 51})
    assert [(p.pointer, p.code) for p in caught.value.problems] == [
        ("/reference_id", "unknown_field"),
        ("/referenceId", "too_long"),
    ]
    with pytest.raises(Invalid):
        check_reference(["A-1"])


@pytest.mark.parametrize(
    "body",
    [
        {f"x{n}": 1 for n in range(MAX_PROBLEMS + 41)},
        {"description": "<u>" * (MAX_PROBLEMS + 41)},
        {"a": 1, "description": "<u>" * MAX_PROBLEMS, "title": ""},
    ],
)
@pytest.mark.parametrize("creating", [None, NOW])
def test_a_flood_of_problems_is_cut(body, creating):
    with pytest.raises(Invalid) as caught:
        check(body, CATALOG, creating=creating)
    problems = caught.value.problems
    assert len(problems) == MAX_PROBLEMS + 1
    assert "and more" in problems[-1].detail
    assert "and more" not in problems[-2].detail


def test_as_many_problems_as_are_told_are_not_cut():
    assert len(faults({"description": "<u>" * MAX_PROBLEMS})) == MAX_PROBLEMS


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals() | st.text() | st.floats(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["id", "description"]), inner)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*BODY, "id", "employer", "other"]) | st.text(), json_values))
def test_whatever_is_sent_is_read_or_refused_with_problems_of_that_body(body):
    known = {"required", "null_not_allowed", "wrong_type", "too_long", "out_of_range", "too_few", "too_many"}
    known |= {"unknown_value", "unknown_province", "unknown_field", "invalid_date", "invalid_email"}
    known |= {"invalid_url", "disallowed_html", "invalid_characters"}
    try:
        read = check(body, CATALOG)
    except Invalid as error:
        problems = error.problems
        assert problems
    else:
        problems = ()
        assert list(read.fields) == [name for name in body if name in BODY]
    for problem in problems:
        assert problem.pointer.split("/")[1].replace("~1", "/").replace("~0", "~") in body
        assert problem.code in known
