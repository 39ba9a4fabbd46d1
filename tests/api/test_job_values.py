"""The values of a body, one by one (docs/api.md "Dates", "Reading a body", "Description HTML" and
"Locations"), on the way to the store and back. The tables of each rule are in ``tests/domain``."""

from typing import Any

import pytest

from tests.api.client import ApiClient


async def stored(api: ApiClient, job: Any) -> Any:
    return (await api.get(f"/jobs/{job['id']}")).json


# --- dates and strings


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("2027-01-31", "2027-01-31"),
        ("2027-01-31T23:30:00-05:00", "2027-01-31"),
        ("9999-12-31", "9999-12-31"),
        (None, "2027-01-15"),
        ("", "2027-01-15"),
    ],
)
async def test_a_close_date_is_kept_as_written_and_shown_as_a_date(api, sent, shown):
    job = await api.create(closeDate=sent)
    assert job["closeDate"] == shown
    other = await api.create(closeDate="2027-03-01")
    assert (await api.put(f"/jobs/{other['id']}", {"closeDate": sent})).json["closeDate"] == shown
    assert (await stored(api, other))["closeDate"] == shown


async def test_surrounding_white_space_is_trimmed_and_what_is_inside_stays(api):
    plain = {
        "referenceId": "A  1",
        "title": "Line  Cook",
        "applicationEmail": "hr@example.com",
        "locations": [{"description": "Toronto, ON"}],
    }
    padded = {name: f" \t{value}\n" for name, value in plain.items() if isinstance(value, str)}
    job = await api.create(**padded, locations=[{"description": "\n Toronto , ON\t"}])
    assert {name: job[name] for name in padded} == {name: plain[name] for name in padded}
    assert job["locations"][0]["description"] == "Toronto, ON"
    assert (await api.put("/jobs", {"referenceId": " A  1 "})).json == job
    by_web = await api.create(applicantRoutingType={"id": 2}, applicationUrl=" https://x.example/ ")
    assert by_web["applicationUrl"] == "https://x.example/"


@pytest.mark.parametrize("sent", ["a-1", "A-1\u0301", "\u00c1-1", "A\u0301-1", "A-1 ", "A--1"])
async def test_references_compare_exactly(api, sent):
    first = await api.create(referenceId="A-1")
    answer = await api.put("/jobs", api.body(referenceId=sent))
    same = sent.strip() == "A-1"
    assert (answer.status, answer.json["id"] == first["id"]) == ((200, True) if same else (201, False))
    assert answer.json["referenceId"] == sent.strip()


# --- salaries and descriptions

SALARIES: list[tuple[object, object]] = [
    (
        {"amount": 50000, "period": {"id": 1}},
        {"amount": 50000, "maxAmount": None, "period": {"id": 1, "name": "Yearly", "unit": "Year"},
         "plusCommission": False},
    ),
    (
        {"amount": 0, "maxAmount": 0, "period": {"id": 4}, "plusCommission": True},
        {"amount": 0, "maxAmount": 0, "period": {"id": 4, "name": "Daily", "unit": "Day"}, "plusCommission": True},
    ),
    (
        {"plusCommission": True},
        {"amount": None, "maxAmount": None, "period": None, "plusCommission": True},
    ),
    (None, None),
    ({}, [("/salary/amount", "required")]),
    ({"amount": 5, "maxAmount": 4.9999, "period": {"id": 1}}, [("/salary/maxAmount", "out_of_range")]),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "expected"), SALARIES, ids=lambda v: str(v)[:60])
async def test_a_salary_is_whole_or_refused(api, sent, expected):
    bare = await api.create(salary=...)
    assert bare["salary"] is None
    created, updated = (
        await api.post(api.body(salary=sent)),
        await api.put(f"/jobs/{bare['id']}", {"salary": sent}),
    )
    for answer in (created, updated):
        if isinstance(expected, list):
            assert answer.faults == expected
        else:
            assert answer.json["salary"] == expected
            assert (await stored(api, answer.json))["salary"] == expected


@pytest.mark.parametrize(
    "text",
    [
        "plain text",
        "  <p>kept as it is</p>\r\n\t ",
        "<P>A &amp; B &nbsp;&eacute;&#233; é e\u0301 \U0001f680</P>",
        "<a target='_blank' href=\"https://x.example/?a=1&b=2\">x</a><br/><br>",
        "1 < 2, <3, a<-b & c > d",
        "unclosed <p><ul><li>",
        "\u00a0",
        "\\ \" ' / \u2028 \u2029 \ufeff",
    ],
)
async def test_a_description_comes_back_character_by_character(api, text):
    kept = None if not text.strip() else text
    job = await api.create(status="draft", description=text)
    assert job["description"] == kept
    assert (await stored(api, job))["description"] == kept


async def test_each_offence_of_a_description_is_named_with_its_offset(api):
    answer = await api.post(
        api.body(description='<p>ok</p><h1 id="x">\U0001f680<a onclick=x>y</a></p style=x>')
    )
    assert set(answer.faults) == {("/description", "disallowed_html")}
    details = [fault["detail"] for fault in answer.json["errors"]]
    assert [detail.partition(":")[0] for detail in details] == [
        "offset 9",
        "offset 21",
        "offset 24",
        "offset 43",
    ]
    for detail, word in zip(details, ("<h1>", "href", "onclick", "style"), strict=True):
        assert word in detail


# --- places and categories


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("montreal, qc", "Montréal, QC"),
        ("MONTRÉAL, Quebec", "Montréal, QC"),
        ("Victoria, colombie-britannique", "Victoria, BC"),
        ("Ile des Soeurs, qc", "Île-des-Sœurs, QC"),
        ("London", "London, ON"),
        ("cornwall", "Cornwall, ON"),
        ("  whitehorse ,yukon ", "Whitehorse, YT"),
        ("Petit Lac Perdu, ns", "Petit Lac Perdu, NS"),
        ("Petit Lac Perdu", "Petit Lac Perdu"),
        ("Saint-Louis-du-Ha! Ha!, QC", "Saint-Louis-du-Ha Ha, QC"),
        ("Oh! Oh!, ON", "Oh! Oh!, ON"),
        ("toronto ON", "Toronto, ON"),
    ],
)
async def test_a_place_is_understood_and_shown_in_the_catalogues_way_and_always_the_same(api, sent, shown):
    first, second = [(await api.create(locations=[{"description": sent}]))["locations"] for _ in range(2)]
    assert first == second
    (place,) = first
    assert (place["description"], place["name"], place["type"]) == (shown, shown.partition(",")[0], "city")
    assert (await api.get(f"/locations/{place['id']}")).json == place


async def test_what_is_sent_twice_counts_once_but_the_limit_counts_what_was_sent(api):
    twice = {
        "locations": [{"description": d} for d in ("montreal", "Lac Oz", "Montréal, QC")],
        "categories": [{"id": id} for id in (3, 1, 3)],
    }
    job = await api.create(**twice)
    assert [place["description"] for place in job["locations"]] == ["Montréal, QC", "Lac Oz"]
    assert [entry["id"] for entry in job["categories"]] == [3, 1]
    assert (await api.put(f"/jobs/{job['id']}", twice)).json == job
    four = await api.post(api.body(locations=[{"description": "Calgary"}] * 4, categories=[{"id": 1}] * 4))
    assert four.faults == [("/locations", "too_many"), ("/categories", "too_many")]
