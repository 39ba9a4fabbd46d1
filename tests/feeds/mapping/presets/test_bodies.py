"""The presets and the shipped samples: from the file to bodies that pass the rules."""

import io
import json
import zipfile
from decimal import Decimal
from pathlib import Path

import pytest
from lxml import etree

from syncd.domain import Catalogue, FeedLimits, check_body
from syncd.feeds.configuration import FeedDefaults, parse_feed
from syncd.feeds.readers import Record, open_reader

ROOT = Path(__file__).parents[4]
CATALOGUE = Catalogue.default()


def sample(name, file):
    source = (ROOT / "config" / "feeds.d" / f"{name}.toml.example").read_text()
    feed = parse_feed(name, source, CATALOGUE, FeedDefaults())
    reader = open_reader(ROOT / "feeds" / "samples" / file, feed.read, FeedLimits())
    return {row.reference_id: row for row in (feed.mapping.row(record, reader.format) for record in reader)}


SAMPLES = [
    ("northern-csv", "northern.csv", 10),
    ("maple-indeed", "maple.xml", 10),
    ("harbour-jsonld", "harbour.json", 8),
]


@pytest.mark.parametrize(("name", "file", "count"), SAMPLES)
def test_a_sample_has_its_jobs_and_only_the_one_abroad_is_refused(name, file, count):
    rows = sample(name, file)
    assert len(rows) == count
    assert None not in rows
    refused = {reference for reference, row in rows.items() if row.problems}
    assert refused == ({"MC-1010"} if file == "maple.xml" else set())
    for reference in rows.keys() - refused:
        check_body(rows[reference].body, CATALOGUE)


def row_of(preset, item):
    feed = parse_feed("f", f'employer = "A"\npreset = "{preset}"', CATALOGUE, FeedDefaults())
    return feed.mapping.row(Record(1, 1, b"", item))


@pytest.mark.parametrize(
    ("item", "reference"),
    [
        ({"identifier": {"value": 7}}, "7"),
        ({"identifier": "A-7"}, "A-7"),
        ({"@id": "urn:7"}, "urn:7"),
        ({}, None),
    ],
)
def test_the_id_of_a_job_posting_is_found_where_it_may_be(item, reference):
    assert row_of("schemaorg", item).reference_id == reference
    row = row_of("schemaorg", {"url": "https://x.ca/jobs/1", "jobLocation": {"address": "Laval, QC, Canada"}})
    assert len(row.reference_id) == 40
    assert "derived_reference" in dict(row.warnings)
    assert row.body["locations"] == [{"description": "Laval, QC"}]


def test_an_indeed_feed_in_a_namespace_with_other_spellings_is_read():
    xml = '<job xmlns="urn:q"><referenceNumber>7</referenceNumber><expirationDate>2099-01-02</expirationDate></job>'
    body = row_of("indeed", etree.fromstring(xml)).body
    assert (body["referenceId"], body["closeDate"]) == ("7", "2099-01-02")
    assert body["categories"] == [{"id": 32}]


def rows_of(tmp_path, preset, name, data):
    """Return the rows of a delivery by a preset, as a run reads it."""
    feed = parse_feed("f", f'employer = "A"\npreset = "{preset}"', CATALOGUE, FeedDefaults())
    (tmp_path / name).write_bytes(data)
    reader = open_reader(tmp_path / name, feed.read, FeedLimits())
    return [feed.mapping.row(record, reader.format) for record in reader]


def test_a_jobatus_feed_has_no_ids_and_is_read_by_the_preset_of_trovit(tmp_path):
    xml = b"""<jobatus><ad><title>Cuisinier</title><url>https://x.example/1</url><content>On cuisine.</content>
      <city>Laval</city><region>Quebec</region><contract>Temps plein</contract></ad></jobatus>"""
    [row] = rows_of(tmp_path, "trovit", "ads.xml", xml)
    assert (row.problems, len(row.reference_id), row.body["title"]) == ((), 40, "Cuisinier")
    assert "derived_reference" in [code for code, _ in row.warnings]
    assert row.body["locations"] == [{"description": "Laval, Quebec"}]


@pytest.mark.parametrize("path", ["@graph", "items", None])
def test_job_postings_come_in_a_graph_an_array_or_at_a_path(tmp_path, path):
    postings = [{"@type": "JobPosting", "identifier": n, "title": "Cook"} for n in (7, 8)]
    document = {"@context": "https://schema.org", path: postings} if path else postings
    rows = rows_of(tmp_path, "schemaorg", "jobs.json", json.dumps(document).encode())
    assert [(row.reference_id, row.body["title"]) for row in rows] == [("7", "Cook"), ("8", "Cook")]
    rows = rows_of(tmp_path, "schemaorg", "job.json", json.dumps(postings[0]).encode())
    assert [row.reference_id for row in rows] == ["7"]  # one posting alone


def test_directemployers_may_send_one_job_a_file_in_an_archive(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for n in (1, 2):
            archive.writestr(f"{n}.xml", f"<job><hitkey>K{n}</hitkey><reqid/><title>Cook</title></job>")
    rows = rows_of(tmp_path, "directemployers", "jobs.zip", out.getvalue())
    assert [row.reference_id for row in rows] == ["K1", "K2"]


@pytest.mark.parametrize(
    ("text", "salary", "code"),
    [
        ("50K", None, "salary_no_period"),
        ("\u00a320,000 per annum", None, "salary_currency"),
        ("150 \u20ac per day", None, "salary_currency"),
        ("CA$50K per annum", 50000, None),
    ],
)
def test_adzuna_s_salaries_are_read_where_they_say_enough(tmp_path, text, salary, code):
    xml = f"<jobs><job><id>1</id><title>Cook</title><contract_time>full_time</contract_time><salary>{text}</salary></job></jobs>"
    [row] = rows_of(tmp_path, "adzuna", "jobs.xml", xml.encode())
    assert (row.body["salary"] or {}).get("amount") == salary
    assert code is None or code in [found for found, _ in row.warnings]


@pytest.mark.parametrize(
    ("columns", "cells", "position", "title"),
    [
        ("job title,job type,schedule", "Cook,Regular,Part-time", 2, "Cook"),
        ("job title,job type,schedule", "Cook,Permanent,", 1, "Cook"),
        ("titre,type d'emploi,horaire,statut", "Cuisinier,Régulier,Temps partiel,Permanent", 2, "Cuisinier"),
        ("job posting title,job family,time type", "Cook,Customer Service,Full time", 1, "Cook"),
        ("job opening,pay type,employment type", "Cook,Hourly,Contract", 3, "Cook"),
        ("job title,status,type", "Cook,Temporary,Temp", 4, "Cook"),
    ],
)
def test_a_table_that_says_how_long_work_lasts_and_how_much_it_is(tmp_path, columns, cells, position, title):
    """ "Permanent" says nothing about hours, and as a status nothing about whether the job is open."""
    text = f"job id,location,description,apply url,{columns}\n1,Laval QC,Cook well.,https://a.example/1,{cells}\n"
    [row] = rows_of(tmp_path, "csv", "jobs.csv", text.encode())
    assert row.problems == ()
    assert (row.body["positionType"], row.body["title"]) == ({"id": position}, title)
    assert "status" not in row.body


def test_a_permanent_job_of_trovit_has_its_hours(tmp_path):
    xml = (
        "<trovit><ad><id>1</id><title>Cook</title><content>Cook well.</content><city>Laval</city><region>QC</region>"
        "<contract>permanent</contract><working_hours>part time</working_hours><url>https://a.example/1</url></ad></trovit>"
    )
    [row] = rows_of(tmp_path, "trovit", "ads.xml", xml.encode())
    assert row.body["positionType"] == {"id": 2}


def test_the_office_is_the_place_where_a_way_of_working_has_the_name_of_one(tmp_path):
    text = 'id,title,description,apply url,job location,office location\n1,Cook,Cook.,https://a.example/1,hybrid,"Toronto, ON"\n'
    [row] = rows_of(tmp_path, "csv", "jobs.csv", text.encode())
    assert row.body["locations"] == [{"description": "Toronto, ON"}]


POSITION = """<PositionOpenings><PositionOpening{namespace}>
<PositionRecordInfo><Id idOwner="Harbour"><IdValue>HB-100</IdValue></Id>
<Status validTo="2099-01-31">active</Status></PositionRecordInfo>
<PositionProfile><PositionDetail>
<PhysicalLocation><PostalAddress><CountryCode>CA</CountryCode><Region>ON</Region><Municipality>Ottawa</Municipality></PostalAddress>
</PhysicalLocation><PhysicalLocation><Area type="municipality"><Value>Gatineau</Value></Area>
<Area type="x:state"><Value>QC</Value></Area>
</PhysicalLocation><JobCategory><CategoryDescription>Skilled Trades</CategoryDescription></JobCategory>
<PositionTitle>Welder</PositionTitle><PositionSchedule>Part Time</PositionSchedule><RemunerationPackage>
<BasePay currencyCode="CAD" baseInterval="Hourly"><BasePayAmountMin>31.50</BasePayAmountMin>
<BasePayAmountMax>36</BasePayAmountMax></BasePay>
</RemunerationPackage></PositionDetail>
<FormattedPositionDescription><Name>Mode</Name><Value>premium</Value></FormattedPositionDescription>
<FormattedPositionDescription><Name>Summary</Name><Value>&lt;p&gt;Weld hulls.&lt;/p&gt;</Value></FormattedPositionDescription>
<FormattedPositionDescription><Name>Needed</Name><Value>A CWB ticket.</Value></FormattedPositionDescription>
<HowToApply><ApplicationMethod><InternetEmailAddress>jobs@harbour.example</InternetEmailAddress></ApplicationMethod></HowToApply>
</PositionProfile></PositionOpening></PositionOpenings>"""


@pytest.mark.parametrize("namespace", ["", ' xmlns="http://ns.hr-xml.org/2006-02-28"'])
def test_hr_xml_2_goes_in_by_the_preset_of_hr_xml_3(tmp_path, namespace):
    file = tmp_path / "jobs.xml"
    file.write_text(POSITION.format(namespace=namespace))
    feed = parse_feed("f", 'employer = "A"\npreset = "hrxml"', CATALOGUE, FeedDefaults())
    (record,) = open_reader(file, feed.read, FeedLimits())
    row = feed.mapping.row(record)
    assert (row.problems, row.warnings) == ((), ())
    assert row.body == {
        "referenceId": "HB-100",
        "title": "Welder",
        "closeDate": "2099-01-31",
        "locations": [{"description": "Ottawa, ON"}, {"description": "Gatineau, QC"}],
        "categories": [{"id": 28}],
        "positionType": {"id": 2},
        "salary": {
            "amount": Decimal("31.50"),
            "maxAmount": Decimal(36),
            "period": {"id": 5},
            "plusCommission": False,
        },
        "description": "<p>Weld hulls.</p>\n<p>A CWB ticket.</p>",
        "applicantRoutingType": {"id": 1},
        "applicationEmail": "jobs@harbour.example",
    }
