"""A field that is added to the table of fields appears in native feeds, mappings and exports without further change.

The test adds a text field and an integer field to a copy of the package, and runs a program with that copy."""

import subprocess
import sys

import pytest

from tests.added_fields import copy_with_fields

START = """
from datetime import UTC, date, datetime
from lxml import etree
from syncd.domain import Catalogue, CloseOrigin, Employer, Job, Location, Status
from syncd.feeds.export import EXPORTS
from syncd.feeds.mapping import Mapping
from syncd.feeds.readers import Record

CATALOGUE = Catalogue.default()
JOB = Job(
    id=1, employer_id=1, reference_id="R-1", title="Cook", published_at=datetime(2026, 11, 1, tzinfo=UTC),
    publish_date=date(2026, 11, 1), close_date=date(2026, 12, 31), close_origin=CloseOrigin.CHOSEN, confidential=False,
    auto_refresh=False, status=Status.ACTIVE, locations=(Location(1, "Laval", "Laval, QC"),), categories=(12,),
    position_type=1, salary=None, description="<p>Soup</p>", routing=1, application_email="a@b.ca",
    application_url=None, workplace="on site", openings=3,
)

def row(item, mapping=Mapping(CATALOGUE), form=None):
    return mapping.row(Record(1, 1, b"", item), form or ("json" if isinstance(item, dict) else "xml"))

def export(name, job=JOB):
    return "".join(EXPORTS[name].write([job], Employer(1, "Acme"), CATALOGUE))

def new(found):
    assert not found.problems, found.problems
    return [found.body.get(name, "absent") for name in ("workplace", "openings")]
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Run Python text with a copy of the package that has both fields, and return what it prints."""
    home = tmp_path_factory.mktemp("package")
    environ = copy_with_fields(home)

    def run(text):
        done = subprocess.run(
            [sys.executable, "-c", START + text],
            cwd=home,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


def test_native_feeds_of_every_format_have_the_fields(program):
    assert (
        program("""
print(new(row({"workplace": "remote", "openings": 4})))
print(new(row(etree.fromstring("<job><workplace>remote</workplace><openings>4</openings></job>"))))
print(new(row({"workplace": "remote", "openings": "4"}, form="csv")))
""")
        == ["['remote', 4]"] * 3
    )


def test_an_empty_cell_or_element_is_null_and_an_absent_one_is_not_sent(program):
    assert program("""
print(new(row({"workplace": "", "openings": ""}, form="csv")))
print(new(row(etree.fromstring("<job><workplace/><openings/></job>"))))
print(new(row({"title": "Cook"}, form="csv")))
""") == ["[None, None]", "[None, None]", "['absent', 'absent']"]


def test_a_mapping_has_the_fields(program):
    assert program("""
mapping = Mapping(CATALOGUE, {"locations": "place", "workplace": {"from": "how", "too_long": "truncate"}, "openings": "count"})
print(new(row({"place": "Laval, QC", "how": "remote", "count": "4"}, mapping, "csv")))
print(new(row({"place": "Laval, QC", "how": "on\\nsite " * 9, "count": "a few"}, mapping, "csv")))
print(new(row({"place": "Laval, QC", "how": "", "count": ""}, mapping, "csv")))
""") == ["['remote', 4]", "['on site on site on…', 'a few']", "[None, None]"]


def test_exports_have_the_fields_and_are_read_back(program):
    found = program("""
import csv, io, json
written = {name: export(name) for name in ("json", "xml", "csv")}
print(new(row(json.loads(written["json"])[0])))
print(new(row(etree.fromstring(written["xml"].encode())[0])))
header, cells = csv.reader(io.StringIO(written["csv"].removeprefix("\\ufeff")))
print(header[-2:], cells[-2:])
print(new(row({name.casefold(): cell for name, cell in zip(header, cells)}, form="csv")))
""")
    read = "['on site', 3]"
    assert found == [read, read, "['workplace', 'openings'] ['on site', '3']", read]
