"""Lists that come in pages, in each of the three ways."""

import json

import pytest
from aiohttp import web

from syncd.feeds.source import Pages
from syncd.sources import http
from syncd.sources.pages import read_page
from syncd.sources.results import SourceError
from tests.sources.test_http import secrets_of

NEXT, LINK = Pages(next=("paging", "next")), Pages(link=True)


def lines(file):
    return [json.loads(line) for line in file.path.read_bytes().splitlines()]


def jobs(*ids, **more):
    return {"text": json.dumps({"jobs": [{"id": id} for id in ids], **more}, indent=1)}


async def test_an_answer_names_the_next(site, incoming):
    site["/jobs"] = jobs(1, 2, paging={"next": "/jobs/2?x=1#top"})
    site["/jobs/2"] = jobs(paging={"next": site.url("/jobs/3")})
    site["/jobs/3"] = jobs(3, paging={"next": None})
    file = await incoming.fetch(site.url("/jobs"), pages=NEXT, records="jobs")
    assert (file.name, [job["id"] for job in lines(file)]) == ("jobs.jsonl", [1, 2, 3])
    assert (file.seen.etag, file.seen.sha256) == (None, file.sha256)


@pytest.mark.parametrize(
    "last", [{}, {"paging": {}}, {"paging": {"next": ""}}, {"paging": {"next": False}}, {"paging": []}]
)
async def test_a_page_that_names_none_is_the_last(last, site, incoming):
    site["/jobs"] = jobs(1, **last)
    assert lines(await incoming.fetch(site.url("/jobs"), pages=NEXT)) == [{"id": 1}]


async def test_a_header_names_the_next(site, incoming):
    site["/jobs"] = jobs(1) | {"headers": {"Link": '</jobs?page=9>; rel="last", <jobs/2>; rel="next"'}}
    site["/jobs/2"] = {
        "text": '[{"id": 2}]',
        "headers": {"Link": f"<{site.url('/3')}>; title=x; rel='next nofollow'"},
    }
    site["/3"] = {"text": '[{"id": 3}]', "headers": {"Link": '</jobs>; rel="first prev"'}}
    assert lines(await incoming.fetch(site.url("/jobs"), pages=LINK)) == [{"id": 1}, {"id": 2}, {"id": 3}]


async def test_a_number_counts_until_a_page_is_empty(site, incoming):
    site["/jobs"] = lambda request: web.json_response({"data": {"jobs": [int(request.query["page"])]
                                                                if request.query["page"] != "3" else []}})  # fmt: skip
    pages = Pages(parameter="page", first=0)
    file = await incoming.fetch(site.url("/jobs?q=a%26b&page=7"), pages=pages, records="data.jobs")
    assert lines(file) == [0, 1, 2]
    assert [asked.raw_path for asked in site.asked] == [f"/jobs?q=a%26b&page={n}" for n in range(4)]


async def test_credentials_and_a_body_go_along(site, other, incoming):
    values = {"username": "u", "headers": {"X-Api-Key": "k"}}
    site["/jobs"] = jobs(1, paging={"next": other.url("/jobs")})
    other["/jobs"] = jobs(2, paging={"next": site.url("/2")})
    site["/2"] = jobs(3)
    assert len(lines(await incoming.fetch(site.url("/jobs"), pages=NEXT, **values))) == 3
    assert [secrets_of(asked)["X-Api-Key"] for asked in site.asked + other.asked] == ["k", "k", None]
    incoming.path.joinpath(*incoming.names()).unlink()
    error = await incoming.refusal(site.url("/jobs"), pages=NEXT, method="POST", body="{}")
    assert (
        str(error)
        == f"page 2: a request with a body goes to the host of url alone, not to 127.0.0.2:{other.port}"
    )


@pytest.mark.parametrize(
    ("second", "text"),
    [
        ({"status": 503}, "page 2: 503 Service Unavailable"),
        ({"text": "{"}, "page 2: it is not JSON (Input data was truncated)"),
        (
            {"text": "<html>", "content_type": "text/html"},
            "page 2: the answer is an HTML page, not a feed: see the url and the",
        ),
        (jobs(2, paging={"next": "/jobs"}), "page 2: its next address was asked before: the list has no end"),
        (jobs(2, paging={"next": "/2"}), "page 2: its next address was asked before: the list has no end"),
        (jobs(2, paging={"next": 3}), "page 2: paging.next is not an address: see pages"),
        (jobs(2, paging={"next": "ftp://h/"}), "page 2: it leads to an address of ftp, not of https"),
        (
            jobs(2, paging={"next": "http://[x/"}),
            "page 2: an address cannot be understood; write it like https://host/path",
        ),
        (
            {"text": '{"error": "x", "code": 7}'},
            "page 2: there is no jobs; it has error, code: see [read] records",
        ),
        ({"text": '{"jobs": {}}'}, "page 2: there is no list at jobs: see [read] records"),
        ({"text": "[]"}, "page 2: there is no jobs: see [read] records"),
        ({"status": 304}, "page 2: 304 Not Modified"),
    ],
)
async def test_a_page_that_fails_fails_the_fetch(second, text, site, incoming):
    site["/jobs"], site["/2"] = jobs(1, paging={"next": "/2"}), second
    error = await incoming.refusal(site.url("/jobs"), pages=NEXT, records="jobs")
    assert str(error).startswith(text)
    assert (error.status, error.temporary) == (second.get("status"), second.get("status") == 503)


async def test_a_parameter_without_effect(site, incoming):
    site["/jobs"] = jobs(1)
    error = await incoming.refusal(site.url("/jobs"), pages=Pages(parameter="page"))
    assert str(error) == "page 2: it is the page before once more: page has no effect"


async def test_a_list_without_a_record_is_not_a_file(site, incoming):
    site["/jobs"] = jobs()
    for pages in (NEXT, LINK, Pages(parameter="page")):
        assert str(await incoming.refusal(site.url("/jobs"), pages=pages)) == "no page has a record"


async def test_pages_have_a_limit_each_and_together(site, incoming, monkeypatch):
    site["/jobs"] = lambda request: web.json_response(["x" * 1000, request.query["page"]])
    error = await incoming.refusal(site.url("/jobs"), pages=Pages(parameter="page"), max_bytes=5000)
    assert str(error) == "page 5: the file is larger than 5000 bytes ([limits] file)"
    monkeypatch.setattr(http, "MAX_PAGE_BYTES", 500)
    error = await incoming.refusal(site.url("/jobs"), pages=Pages(parameter="page"))
    assert str(error) == "page 1: a page is larger than 0 MiB: ask for smaller pages"


@pytest.mark.parametrize(
    ("body", "records", "expected"),
    [
        (b'[{"a": 1},\r\n {"b": [1,\n 2.10]}]', None, [b'{"a": 1}\n', b'{"b": [1,  2.10]}\n']),
        (b"\xef\xbb\xbf[1]", "$", [b"1\n"]),
        (b'{"meta": 1, "items": [1e400]}', None, [b"1e400\n"]),
        (b'{"items": {}, "results": ["\\u00e9"]}', None, [b'"\\u00e9"\n']),
        (b'{"data": {"jobs": [1]}}', "$.data.jobs[*]", [b"1\n"]),
        (b'{"jobs": {"a": {"id": 1}, "b": {"id": 2}}}', "jobs.*", [b'{"id": 1}\n', b'{"id": 2}\n']),
        (b'{"jobs": []}', "jobs.*", []),
        (
            b'{"d": [{"jobs": [1, 2]}, {"name": "x"}, {"jobs": []}, {"jobs": [3]}]}',
            "d[*].jobs",
            [b"1\n", b"2\n", b"3\n"],
        ),
    ],
)
def test_the_records_of_a_page(body, records, expected):
    assert read_page(body, records, None).lines == expected


@pytest.mark.parametrize(
    ("body", "records"),
    [
        (b"", None), (b"{}", None), (b"1", None), (b'{"jobs": 1}', None), (b'{"jobs": null}', "jobs"), (b"[1]", "jobs"),
        (b"[1] x", None), (b'{"jobs": 3}', "jobs.*"), (b'{"d": 1}', "d[*].jobs"), (b"[" * 100_000, None),
    ],
)  # fmt: skip
def test_a_page_without_its_list(body, records):
    with pytest.raises(SourceError):
        read_page(body, records, None)
