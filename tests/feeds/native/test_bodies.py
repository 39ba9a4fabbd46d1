"""The service's own shape in JSON, XML and CSV, without any mapping."""

from decimal import Decimal

import pytest
from lxml import etree

from syncd.domain import Catalogue, check_body
from syncd.errors import Invalid
from syncd.feeds.mapping.mapping import Mapping
from syncd.feeds.native import COLUMNS
from syncd.feeds.readers import Record

CATALOGUE = Catalogue.default()
NATIVE = Mapping(CATALOGUE)


class Cells(dict[str, str]):
    """A row of a CSV."""


def row(item):
    if isinstance(item, str):
        return NATIVE.row(Record(1, 1, b"", etree.fromstring(item)), "xml")
    return NATIVE.row(Record(1, 1, b"", item), "csv" if isinstance(item, Cells) else "json")


def cells(**named):
    return Cells({name.casefold(): cell for name, cell in named.items()})


BODY = {
    "referenceId": "R-1",
    "title": "Cook",
    "status": "active",
    "closeDate": "2099-12-31",
    "confidential": False,
    "autoRefresh": True,
    "locations": [{"description": "Laval, QC"}, {"description": "Hull"}],
    "categories": [{"id": 12}, {"id": 16}],
    "positionType": {"id": 1},
    "salary": {
        "amount": Decimal("20.50"),
        "maxAmount": Decimal("22"),
        "period": {"id": 5},
        "plusCommission": False,
    },
    "description": "<p>Soup &amp; bread</p>",
    "applicantRoutingType": {"id": 2},
    "applicationEmail": None,
    "applicationUrl": "https://x.ca/?a=1&b=2",
}
XML = """<job><referenceId>R-1</referenceId><title>Cook</title><status>active</status><closeDate>2099-12-31</closeDate>
<confidential>false</confidential><autoRefresh>true</autoRefresh>
<locations><location><description>Laval, QC</description></location>
<location><description>Hull</description></location></locations>
<categories><category><id>12</id></category><category><name>hospitality &amp; tourism</name></category></categories>
<positionType><name>Full Time</name></positionType>
<salary><amount>20.50</amount><maxAmount>22</maxAmount><period><id>5</id></period><plusCommission>false</plusCommission></salary>
<description>&lt;p&gt;Soup &amp;amp; bread&lt;/p&gt;</description><applicantRoutingType><id>2</id></applicantRoutingType>
<applicationEmail/><applicationUrl>https://x.ca/?a=1&amp;b=2</applicationUrl></job>"""
CSV = cells(
    referenceId="R-1",
    title="Cook",
    status="active",
    closeDate="2099-12-31",
    confidential="FALSE",
    autoRefresh="true",
    locations="Laval, QC|Hull",
    categories="12|Hospitality & Tourism",
    positionType="Temps plein",
    salaryAmount="20.50",
    salaryMaxAmount="22",
    salaryPeriod="Hourly",
    salaryPlusCommission="false",
    description="<p>Soup &amp; bread</p>",
    applicantRoutingType="URL",
    applicationEmail="",
    applicationUrl="https://x.ca/?a=1&b=2",
)


@pytest.mark.parametrize("item", [BODY, XML, CSV], ids=["json", "xml", "csv"])
def test_the_same_job_gives_the_same_body_in_every_format(item):
    mapped = row(item)
    assert mapped.body == BODY
    assert mapped.reference_id == "R-1"
    assert (mapped.problems, mapped.warnings) == ((), ())
    assert set(check_body(mapped.body, CATALOGUE).fields) == set(BODY)


def test_a_json_record_is_the_body_as_it_is():
    body = {"title": None, "locations": "Laval", "confidential": "true", "odd": 1, "status": ""}
    assert row(body).body == body


def test_catalogue_values_may_be_named_in_json():
    named = {
        "categories": [{"name": "Sales"}, "retail", {"id": 3, "name": "whatever"}],
        "positionType": "Temps plein",
        "applicantRoutingType": {"name": "Email"},
        "salary": {"period": {"name": "Hourly"}},
    }
    assert row(named).body == {
        "categories": [{"id": 25}, {"id": 24}, {"id": 3, "name": "whatever"}],
        "positionType": {"id": 1},
        "applicantRoutingType": {"id": 1},
        "salary": {"period": {"id": 5}},
    }


def test_an_unknown_name_is_a_problem_at_its_place():
    mapped = row({"categories": ["Sales", "Alchemy"], "salary": {"period": {"name": "Moonly"}}})
    assert [(p.pointer, p.code) for p in mapped.problems] == [
        ("/categories/1", "unknown_value"),
        ("/salary/period", "unknown_value"),
    ]


@pytest.mark.parametrize(
    "item", [{"referenceId": "R", "title": "NA"}, "<j><referenceId>R</referenceId><title>NA</title></j>"]
)
def test_na_is_text_in_a_native_feed(item):
    assert row(item).body["title"] == "NA"


def test_an_empty_cell_is_null_but_not_sent_for_status_and_close_date():
    empty = row(cells(**dict.fromkeys(COLUMNS, "")))
    assert empty.body == {name: None for name in BODY if name not in ("status", "closeDate")}
    assert empty.reference_id is None


def test_an_unknown_column_is_a_problem_but_the_column_of_reasons_is_none():
    mapped = row(cells(referenceId="R", titel="Cook", syncd_errors="x"))
    assert [(p.pointer, p.code) for p in mapped.problems] == [("/titel", "unknown_field")]
    assert "did you mean title?" in mapped.problems[0].detail
    assert row({"title": "x", "N": 1, "syncd_errors": []}).body == {"title": "x", "N": 1}
    assert row("<job><title>x</title><syncd_errors>x</syncd_errors></job>").body == {"title": "x"}


def test_a_commission_alone_and_no_salary_at_all_differ_in_csv():
    commission, nothing = (cells(salaryAmount="", salaryPlusCommission=cell) for cell in ("true", "false"))
    assert row(commission).body == {"salary": {"amount": None, "plusCommission": True}}
    assert row(nothing).body == {"salary": None}  # an absent column is not sent


@pytest.mark.parametrize(
    ("item", "pointer", "code"),
    [
        (cells(referenceId="R", confidential="maybe"), "/confidential", "wrong_type"),
        (cells(referenceId="R", salaryAmount="lots", salaryPeriod="5"), "/salary/amount", "wrong_type"),
        (cells(referenceId="R", categories="99"), "/categories/0/id", "unknown_value"),
        (cells(referenceId="R", closeDate="31/12/2099"), "/closeDate", "invalid_date"),
        ("<confidential>x</confidential>", "/confidential", "wrong_type"),
        ("<salary><amount>1e5</amount></salary>", "/salary/amount", "wrong_type"),
        ("<titel>x</titel>", "/titel", "unknown_field"),
        ("<salary><sum>1</sum></salary>", "/salary/sum", "unknown_field"),
        ("<status/>", "/status", "null_not_allowed"),
        ({"referenceId": "R", "positionType": 1}, "/positionType", "wrong_type"),
    ],
)
def test_what_cannot_be_typed_is_refused_in_the_words_of_the_api(item, pointer, code):
    mapped = row(f"<job><referenceId>R</referenceId>{item}</job>" if isinstance(item, str) else item)
    assert mapped.problems == ()
    with pytest.raises(Invalid) as raised:
        check_body(mapped.body, CATALOGUE)
    assert (pointer, code) in [(p.pointer, p.code) for p in raised.value.problems]


SHAPES = {
    "one location without its own element": "<locations><description>Laval</description></locations>",
    "a location as text": "<locations><location>Laval</location></locations>",
    "locations as text": "<locations>Laval</locations>",
    "with a namespace": '<q:locations xmlns:q="q"><q:location><q:description>Laval</q:description></q:location></q:locations>',
    "with a comment": "<locations><!-- x --><location><description>Laval</description></location></locations>",
}


@pytest.mark.parametrize("xml", SHAPES.values(), ids=SHAPES.keys())
def test_an_xml_list_is_taken_however_it_comes(xml):
    assert row(f"<job>{xml}</job>").body == {"locations": [{"description": "Laval"}]}
    repeated = "<job><categories><id>3</id></categories><categories>Sales</categories></job>"
    assert row(repeated).body == {"categories": [{"id": 3}, {"id": 25}]}


def test_an_empty_element_is_null_at_every_depth():
    xml = "<job><locations/><salary/><positionType/><description></description><title/><autoRefresh/></job>"
    names = "locations salary positionType description title autoRefresh"
    assert row(xml).body == dict.fromkeys(names.split())
    salary = row("<job><salary><amount>1</amount><maxAmount/></salary></job>").body["salary"]
    assert salary == {"amount": Decimal(1), "maxAmount": None}


def test_read_only_members_of_a_get_answer_pass():
    xml = (
        "<job><id>7</id><employer><id>1</id><name>A</name></employer><publishDate>2026-01-01</publishDate>"
        "<locations><location><id>6077243</id><name>Laval</name><description>Laval, QC</description><type>city</type>"
        "</location></locations><positionType><id>1</id><name>Full Time</name></positionType></job>"
    )
    body = row(xml).body
    assert body["id"] == 7
    assert body["employer"] == {"id": 1, "name": "A"}
    assert body["locations"][0]["id"] == 6077243
    check_body(body, CATALOGUE)
