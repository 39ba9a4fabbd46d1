"""JobPosting in JSON-LD by content negotiation, for search engines and for the preset that reads it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from syncd.domain import Catalogue, FeedLimits
from syncd.feeds.configuration.feed_files import FeedDefaults, parse_feed
from syncd.feeds.readers import open_reader

if TYPE_CHECKING:
    from tests.api.client import ApiClient

LD = {"Accept": "application/ld+json"}


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", "json"),
        ("*/*", "json"),
        ("application/ld+json", "ld+json"),
        ("APPLICATION/LD+JSON", "ld+json"),
        ('application/ld+json;profile="a,b;q=0"', "ld+json"),
        ("application/ld+json, application/json", "json"),
        ("application/ld+json;q=0.9, application/json;q=0.8", "ld+json"),
        ("application/ld+json;q=0.8, application/json;q=0.9", "json"),
        ("application/ld+json, */*;q=0.1", "ld+json"),
        ("application/ld+json;q=0.5, */*;q=0.1, application/*;q=0.7", "json"),
        ("application/ld+json;q=0", "json"),
        ("application/json;q=0, */*", "ld+json"),
        ("application/ld+json;q=2", "json"),
        ("application/ld+json;q=high", "json"),
        ("text/html", "json"),
        (",;,q=1,", "json"),
    ],
)
async def test_the_accept_header_decides_and_nothing_is_a_406(api: ApiClient, accept: str, form: str) -> None:
    job = await api.create()
    answer = await api.get(f"/jobs/{job['id']}", headers={"Accept": accept})
    assert (answer.status, answer.headers["Content-Type"]) == (200, f"application/{form}")
    assert answer.headers["Vary"] == "Accept"


async def test_a_posting_has_what_search_engines_ask_for(api: ApiClient) -> None:
    job = await api.create(
        referenceId="R-1",
        closeDate="2026-12-24",
        locations=[{"description": "Calgary, AB"}, {"description": "Nowhereville"}],
        salary={"amount": 20.5, "maxAmount": 25, "period": {"id": 5}, "plusCommission": True},
    )
    assert (await api.get(f"/jobs/{job['id']}", headers=LD)).json == {
        "@context": "https://schema.org",
        "@type": "JobPosting",
        "title": "Line Cook",
        "description": "<p>Cook <strong>well</strong>.</p>",
        "identifier": {"@type": "PropertyValue", "name": "Maple Kitchens", "value": "R-1"},
        "datePosted": "2026-11-16",
        "validThrough": "2026-12-24T23:59:59",
        "employmentType": "FULL_TIME",
        "hiringOrganization": {"@type": "Organization", "name": "Maple Kitchens"},
        "jobLocation": [
            {
                "@type": "Place",
                "address": {
                    "@type": "PostalAddress",
                    "addressLocality": "Calgary",
                    "addressRegion": "AB",
                    "addressCountry": "CA",
                },
            },
            {
                "@type": "Place",
                "address": {
                    "@type": "PostalAddress",
                    "addressLocality": "Nowhereville",
                    "addressCountry": "CA",
                },
            },
        ],
        "occupationalCategory": ["Accounting & Finance"],
        "baseSalary": {
            "@type": "MonetaryAmount",
            "currency": "CAD",
            "value": {
                "@type": "QuantitativeValue",
                "minValue": job["salary"]["amount"],
                "maxValue": 25,
                "unitText": "HOUR",
            },
        },
        "incentiveCompensation": "Commission",
        "applicationContact": {
            "@type": "ContactPoint",
            "contactType": "applications",
            "email": "jobs@example.com",
        },
    }


async def test_no_text_of_a_posting_ends_the_script_element_of_a_page(api: ApiClient) -> None:
    title = "Cook </script><script>alert(1)//<!--"
    answer = await api.get(f"/jobs/{(await api.create(title=title))['id']}", headers=LD)
    assert b"<" not in answer.raw
    assert (answer.json["title"], answer.json["description"]) == (title, "<p>Cook <strong>well</strong>.</p>")


async def test_a_confidential_posting_does_not_name_the_employer(api: ApiClient) -> None:
    job = await api.create(confidential=True)
    answer = await api.get(f"/jobs/{job['id']}", headers=LD)
    assert answer.json["hiringOrganization"] == "confidential"
    assert b"Maple" not in answer.raw
    assert b"example.com" not in answer.raw


async def test_a_draft_says_what_it_has(api: ApiClient) -> None:
    job = await api.create(
        status="draft",
        positionType=...,
        description=...,
        applicantRoutingType=...,
        applicationEmail=...,
        salary=None,
    )
    posting = (await api.get(f"/jobs/{job['id']}", headers=LD)).json
    assert not {"description", "employmentType", "baseSalary", "applicationContact"} & set(posting)
    assert None not in posting.values()
    assert posting["identifier"]["value"] == str(job["id"])


async def test_each_representation_has_a_tag_of_its_own(api: ApiClient) -> None:
    path = f"/jobs/{(await api.create())['id']}"
    plain, posting = await api.get(path), await api.get(path, headers=LD)
    assert plain.headers["ETag"] != posting.headers["ETag"]
    again = await api.get(path, headers={**LD, "If-None-Match": posting.headers["ETag"]})
    assert again.status == 304
    other = await api.get(path, headers={**LD, "If-None-Match": plain.headers["ETag"]})
    assert other.status == 200


async def test_an_error_is_a_problem_for_any_accept_header(api: ApiClient) -> None:
    assert (await api.get("/jobs/1", headers=LD)).code == "not_found"


async def test_the_schemaorg_preset_reads_it_back(api: ApiClient, tmp_path: Path) -> None:
    """The preset reads the JSON-LD that the API writes."""
    sent: dict[str, Any] = {
        "referenceId": "R-1",
        "closeDate": "2026-12-24",
        "applicantRoutingType": {"id": 2},
        "applicationEmail": ...,
        "applicationUrl": "https://x.example/apply?job=1",
        "positionType": {"id": 3},
    }
    job = await api.create(**sent)
    feed = parse_feed("web", 'employer = "X"\npreset = "schemaorg"\n', Catalogue.default(), FeedDefaults())
    path = tmp_path / "posting.json"
    path.write_bytes((await api.get(f"/jobs/{job['id']}", headers=LD)).raw)
    (row,) = map(feed.mapping.row, open_reader(path, feed.read, FeedLimits()))
    assert not row.problems
    read: Any = row.body
    for name in (
        "title",
        "referenceId",
        "closeDate",
        "positionType",
        "applicantRoutingType",
        "applicationUrl",
    ):
        assert stripped(read[name]) == stripped(job[name]), name
    assert stripped(read["categories"]) == stripped(job["categories"])
    assert read["salary"]["amount"] == job["salary"]["amount"]
    assert read["salary"]["period"] == {"id": 5}
    assert read["description"] == job["description"]


def stripped(value: Any) -> Any:
    """Return catalogue objects as a body has them: by id."""
    if isinstance(value, list):
        return [stripped(item) for item in value]
    return {"id": value["id"]} if isinstance(value, dict) else value
