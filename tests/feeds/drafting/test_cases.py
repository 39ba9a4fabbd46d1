"""Drafts of small files that once went wrong: each is one of a kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from syncd.domain import FeedLimits
from syncd.feeds.drafting.draft import Draft
from syncd.feeds.readers import open_reader
from tests.feeds.drafting.test_draft import checked, draft_of, drafted, sheet

CASES = Path(__file__).parents[1] / "cases"


def bodies(draft: Draft, path: Path) -> list[dict[str, Any]]:
    """The jobs that the records of a file become by its draft."""
    records = open_reader(path, draft.config.read, FeedLimits())
    return [dict(draft.config.mapping.row(record).body or {}) for record in records]


def jobs_in(path: Path) -> list[dict[str, Any]]:
    return bodies(drafted(path), path)


def in_xml(jobs: list[dict[str, Any]]) -> str:
    rows = ("".join(f"<{name}>{value}</{name}>" for name, value in job.items()) for job in jobs)
    return f"<root>{''.join(f'<row>{row}</row>' for row in rows)}</root>"


def in_csv(jobs: list[dict[str, Any]]) -> str:
    return sheet([*jobs[0]], *([str(value) for value in job.values()] for job in jobs))


def each_format(jobs: list[dict[str, Any]]) -> list[str]:
    return [json.dumps(jobs), in_xml(jobs), in_csv(jobs)]


def test_a_date_of_posting_alone_makes_no_schema_org() -> None:
    draft = drafted(CASES / "date-posted.json")
    assert draft.preset is None
    assert checked(draft.config, CASES / "date-posted.json").good == 4
    assert [job["referenceId"] for job in bodies(draft, CASES / "date-posted.json")] == [
        "100",
        "101",
        "102",
        "103",
    ]


@pytest.mark.parametrize("keys", [("@type", "jobLocation"), ("hiringOrganization", "jobLocation")])
def test_two_of_its_own_keys_make_a_schema_org(keys: tuple[str, str], tmp_path: Path) -> None:
    place = {"address": {"addressLocality": "Laval", "addressRegion": "QC"}}
    values = {"@type": "JobPosting", "jobLocation": place, "hiringOrganization": {"name": "Acme"}}
    jobs = [
        {"identifier": n, "title": "Cook", "description": "Cooks.", "url": f"https://acme.example/{n}"}
        | {key: values[key] for key in keys}
        for n in range(3)
    ]
    assert draft_of(tmp_path, json.dumps(jobs)).preset == "schemaorg"


def test_a_plain_guess_that_brings_more_rows_in_is_written_instead_of_a_preset(tmp_path: Path) -> None:
    own = {"@type": "JobPosting", "hiringOrganization": {"name": "Acme"}, "jobLocation": "Head office"}
    jobs = [
        own | {"identifier": n, "title": "Cook", "description": "Cooks.", "url": f"https://acme.example/{n}"}
        for n in range(4)
    ]
    path = tmp_path / "feed"
    path.write_text(json.dumps([job | {"city": "Laval", "state": "QC"} for job in jobs]))
    draft = drafted(path)
    assert (draft.preset, checked(draft.config, path).good) == (None, 4)
    assert "More records go in by these guesses than by the preset schemaorg" in " ".join(
        draft.text.split("\n# ")
    )
