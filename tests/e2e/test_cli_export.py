"""``syncd export``: to a file or to standard output, complete or not at all, with the number of jobs left out."""

import csv
import io
from functools import partial

import pytest

from syncd.domain import Actor, ActorKind, Catalogue, check_body
from syncd.store.jobs import upsert
from syncd.values import plural
from tests.e2e.conftest import JOB, store_at


@pytest.fixture
def acme(acme):
    """An employer with an active job, a draft, and a job without a referenceId."""
    add_jobs(acme, {"referenceId": "A", "status": "active"}, {"referenceId": "B"}, {})
    return acme


def add_jobs(installation, *extras):
    with store_at(installation.base) as store:
        for extra in extras:
            sent = check_body({**JOB, **extra}, Catalogue.default())
            store.write(partial(upsert.create, employer_id=1, sent=sent, actor=Actor(ActorKind.KEY, 1)))


@pytest.mark.parametrize(
    ("form", "start"),
    [("json", "[\n{"), ("xml", "<?xml"), ("csv", "\ufeffreferenceId,"), ("jsonld", "{")],
)
def test_an_export_goes_to_standard_output_and_what_was_left_out_to_standard_error(acme, form, start):
    result = acme.run("export", "--employer", "Acme Ltd.", "--format", form)
    assert result.code == 0
    assert result.out.startswith(start)
    public = form == "jsonld"
    left = "1 without a referenceId" + (", 1 not active" if public else "")
    number = 1 if public else 2
    assert result.err == f"syncd: {plural(number, 'job')} of Acme Ltd.; left out: {left}\n"


@pytest.mark.parametrize(
    ("field", "text"),
    [
        *[("title", f'{start}HYPERLINK("https://x.example","Welder, Nights")') for start in "=+-@"],
        *[("description", f"{start}=1+1") for start in "\t\r"],
    ],
)
def test_a_cell_that_a_spreadsheet_would_run_is_as_it_came_unless_the_file_is_for_spreadsheets(
    acme, field, text
):
    add_jobs(acme, {"referenceId": "C", "status": "draft", field: text})
    line = ["export", "--employer", "1", "--format", "csv", "--status", "draft"]
    before, after = cells(acme.run(*line).out, field)
    assert (before, after) == (JOB[field], text)
    assert cells(acme.run(*line, "--spreadsheet").out, field) == [before, "'" + text]


def cells(text, column):
    return [row[column] for row in csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""))]


def test_a_dash_is_standard_output(acme, monkeypatch):
    monkeypatch.chdir(acme.base)
    plain = acme.run("export", "--employer", "1", "--format", "csv")
    dashed = acme.run("export", "--employer", "1", "--format", "csv", "-o", "-")
    assert (dashed.code, dashed.out) == (0, plain.out)
    assert not (acme.base / "-").exists()


def test_a_failing_export_leaves_the_old_file(acme, monkeypatch):
    target = acme.base / "out.xml"
    target.write_text("old")
    monkeypatch.setattr("syncd.cli.employers.PAGE", 1)
    monkeypatch.setattr("syncd.store.jobs.after", _failing_after_the_first)
    result = acme.run("export", "--employer", "1", "--format", "xml", "-o", str(target))
    assert result.code == 1
    assert target.read_text() == "old"
    assert [path.name for path in acme.base.glob(".out*")] == []


def _failing_after_the_first(tx, employer_id, job_id, limit, *, status=None):
    raise OSError(28, "No space left on device")
