"""The files that a run writes: the report as JSON and as HTML, and the file of rejected records."""

import json
from typing import Any

import pytest

from tests.golden.golden import MASK, masked, page_masked, rejects_masked, same, same_json

#: How a run ended → its number in the scenario.
RUNS = {
    "partial, csv": 1,
    "partial, xml preset": 3,
    "partial, json": 4,
    "partial, xml": 5,
    "partial, jsonl": 6,
    "failed": 7,
    "succeeded": 8,
    "unchanged": 9,
    "reactivated": 10,
    "held, archive": 11,
    "held, all": 12,
    "held, again": 13,
    "edits kept": 15,
    "held at the end": 17,
}
#: Decision → the held run that it was about; its reports were written again.
DECIDED = {"superseded": 11, "rejected": 12, "approved": 13}


def report_of(data: bytes) -> Any:
    return masked(json.loads(data))


def same_page(name: str, data: bytes) -> None:
    head, body = page_masked(data.decode())
    same("reports/head.html.txt", head)
    same(f"reports/{name}.html.txt", body)


def slug(name: str) -> str:
    return name.replace(", ", "-").replace(" ", "-")


@pytest.fixture(params=RUNS)
def ended(scenario, request):
    """The name of a run in ``RUNS`` and its files as they were when it ended."""
    number = RUNS[request.param]
    files = {name: data for name, data in scenario.filed.items() if name.startswith(f"{number}-")}
    assert files
    return slug(request.param), files


def test_the_files_of_every_run(scenario):
    drop = scenario.installation.drop_folder
    same_json(
        "reports/files.json",
        sorted(str(path.relative_to(drop)) for path in drop.rglob("*") if path.is_file()),
    )


def test_the_report_as_json(ended):
    name, files = ended
    (data,) = [data for file, data in files.items() if file.endswith(".report.json")]
    same_json(f"reports/{name}.json", report_of(data))


def test_the_report_as_a_page(ended):
    name, files = ended
    (data,) = [data for file, data in files.items() if file.endswith(".report.html")]
    same_page(name, data)


@pytest.mark.parametrize("name", DECIDED)
def test_the_reports_of_a_decided_run(scenario, name):
    (path,) = scenario.installation.drop_folder.glob(f"*/done/{DECIDED[name]}-*.report.json")
    same_json(f"reports/{name}.json", report_of(path.read_bytes()))
    same_page(name, path.with_suffix(".html").read_bytes())


def test_the_files_of_rejected_records(scenario):
    found = sorted(path for path in scenario.installation.drop_folder.rglob("*rejected*") if path.is_file())
    assert {path.suffix for path in found} == {".csv", ".xml", ".json", ".jsonl"}
    for path in found:
        text = rejects_masked(path)
        assert MASK in text
        same(f"rejected/{path.name}.txt", text)
