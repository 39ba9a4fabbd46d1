"""Boards: for each preset that knows them the example of docs/sources.md, at a server that answers as that system's does."""

import json
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from syncd.domain import Catalogue, FeedLimits
from syncd.feeds.configuration import FeedDefaults, parse_feed
from syncd.feeds.mapping.presets import boards
from syncd.feeds.readers import open_reader
from syncd.sources.http import look
from syncd.sources.results import Terms
from tests.sources.conftest import LOOPBACK, NOTHING, NOW

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "sources.md").read_text()
ADDRESSES = {
    "ashby": "https://api.ashbyhq.com/posting-api/job-board/acme?includeCompensation=true",
    "greenhouse": "https://boards-api.greenhouse.io/v1/boards/acme/jobs?content=true",
    "lever": "https://api.lever.co/v0/postings/acme?mode=json",
    "personio": "https://acme.jobs.personio.de/xml",
    "recruitee": "https://acme.recruitee.com/api/offers/",
    "smartrecruiters": "https://api.smartrecruiters.com/v1/companies/acme/postings?limit=100",
    "teamtailor": "https://acme.teamtailor.com/jobs.json",
    "workable": "https://apply.workable.com/api/v1/widget/accounts/acme?details=true",
}


def sample(preset):
    (path,) = (ROOT / "feeds" / "samples").glob(f"{preset}.*")
    return path


def records(preset):
    whole = json.loads(sample(preset).read_text())
    return whole, whole if isinstance(whole, list) else next(v for v in whole.values() if isinstance(v, list))


def example(preset):
    found = re.search(rf"<!-- example: board {preset} -->\n```toml\n(.*?)```", GUIDE, re.S)
    assert found
    return feed(found[1])


def feed(text):
    return parse_feed("acme", text, Catalogue.default(), FeedDefaults())


# -- the systems -----------------------------------------------------------------------------------------------


def one_answer(preset, parameter=None, value=None, without=()):
    """An answer with everything. Without ``parameter=value`` its records lack the members ``without``."""

    def answer(request):
        if preset == "personio":
            return web.Response(body=sample(preset).read_bytes(), content_type="text/xml")
        whole, own = records(preset)
        if parameter and request.query.get(parameter) != value:
            for record in own:
                for name in without:
                    record.pop(name, None)
        return web.json_response(whole)

    return answer


def lever(request):
    if request.query.get("mode") != "json":
        return web.Response(text="<!doctype html><html><body>Jobs</body></html>", content_type="text/html")
    return web.json_response(records("lever")[1])


def smartrecruiters(request):
    """A list of at most 2 postings without their texts, or the posting of an id."""
    _, postings = records("smartrecruiters")
    own = request.path.rpartition("/")[2]
    if own != "postings":
        return web.json_response(next(posting for posting in postings if posting["id"] == own))
    offset, limit = int(request.query.get("offset", 0)), min(2, int(request.query.get("limit", 10)))
    page = postings[offset : offset + limit]
    for posting in page:
        posting.pop("jobAd", None)
        posting["ref"] = str(request.url.with_query(None) / posting["id"])
    return web.json_response({"offset": offset, "limit": limit, "totalFound": len(postings), "content": page})


def teamtailor(request):
    """The JSON Feed, a posting on each page."""
    whole, items = records("teamtailor")
    page = int(request.query.get("page", 1))
    more = {"next_url": str(request.url.with_query(page=page + 1))} if page < len(items) else {}
    return web.json_response({**whole, "items": items[page - 1 : page], **more})


SYSTEMS = {
    "ashby": one_answer("ashby", "includeCompensation", "true", ["compensation"]),
    "greenhouse": one_answer("greenhouse", "content", "true", ["content", "departments", "offices"]),
    "lever": lever,
    "personio": one_answer("personio"),
    "recruitee": one_answer("recruitee"),
    "smartrecruiters": smartrecruiters,
    "teamtailor": teamtailor,
    "workable": one_answer("workable", "details", "true", ["description", "requirements", "benefits"]),
}


def at(site, source):
    parts = urlsplit(source.url)
    own = site.url(parts.path + (f"?{parts.query}" if parts.query else ""))
    return replace(source, url=own, insecure_hosts=LOOPBACK)


def request_of(source):
    return source.request(lambda *_: "")


async def fetched(source, incoming):
    request = request_of(source)
    return await incoming.fetch(
        request.url, pages=request.pages, records=request.records, insecure_hosts=LOOPBACK
    )


def bodies(config, path):
    reader = open_reader(path, config.read, FeedLimits())
    return [config.mapping.row(record, reader.format).body for record in reader]


# -- tests -----------------------------------------------------------------------------------------------------


def test_each_board_has_an_address_a_system_and_an_example():
    assert boards().keys() == ADDRESSES.keys() == SYSTEMS.keys()
    assert re.findall(r"<!-- example: board (\w+) -->", GUIDE) == list(ADDRESSES)


@pytest.mark.parametrize("preset", ADDRESSES)
async def test_a_board_has_all_postings_as_the_preset_reads_them(preset, site, incoming):
    config = example(preset)
    assert config.source_faults == ()
    assert (config.source.url, config.preset) == (ADDRESSES[preset], preset)
    source = at(site, config.source)
    path = urlsplit(source.url).path
    site[path] = SYSTEMS[preset]
    if preset == "smartrecruiters":
        for posting in records(preset)[1]:
            site[f"{path}/{posting['id']}"] = smartrecruiters
    file = await fetched(source, incoming)
    own = bodies(config, file.path)
    assert own == bodies(config, sample(preset))
    assert sum(bool(body and body.get("description") and body.get("applicationUrl")) for body in own) >= 2
    await look(request_of(source), Terms("syncd/test", NOW, 0))


async def test_a_posting_that_goes_while_the_list_is_read_has_the_list_read_again(site, incoming):
    source = at(site, example("smartrecruiters").source)
    path = urlsplit(source.url).path
    site[path] = smartrecruiters
    for posting in records("smartrecruiters")[1]:
        site[f"{path}/{posting['id']}"] = {"status": 404}
    request = request_of(source)
    error = await incoming.refusal(request.url, pages=request.pages, insecure_hosts=LOOPBACK, seen=NOTHING)
    assert (str(error), error.temporary) == ("page 1: a posting of the list has gone meanwhile", True)


async def test_a_board_that_is_not_there(site, incoming):
    source = at(site, example("greenhouse").source)
    site[urlsplit(source.url).path] = {"status": 404, "text": '{"status":404,"error":"Job not found"}'}
    assert str(await incoming.refusal(source.url)) == "404 Not Found: see the address of [source]"
    source = at(site, example("smartrecruiters").source)
    empty = {"offset": 0, "limit": 100, "totalFound": 0, "content": []}
    site[urlsplit(source.url).path] = {"text": json.dumps(empty)}
    request = request_of(source)
    assert str(await incoming.refusal(request.url, pages=request.pages)) == "no page has a record"


# -- faults ----------------------------------------------------------------------------------------------------

KNOWN, NAME_IN = ", ".join(boards()), "must be the NAME in"


@pytest.mark.parametrize(
    ("above", "text", "fault"),
    [
        ('preset = "lever"', 'board = "acme"\nurl = "https://h.example/"', "cannot be beside url: give one of them"),
        ('preset = "lever"', 'board = "acme"\npages = { link = true }', "cannot be beside pages: the preset knows it"),
        ("", 'board = "acme"', f'needs a preset that knows boards, such as preset = "ashby": {KNOWN}'),
        ('preset = "indeed"', 'board = "acme"', f'needs a preset that knows boards, such as preset = "ashby": {KNOWN}'),
        *(
            ('preset = "lever"', f"board = {name}", f"{NAME_IN} https://api.lever.co/v0/postings/NAME?mode=json, not {name}")
            for name in ('"https://jobs.lever.co/acme"', '"acme/x"', '""', '".."', '"a?b"', "7", '"acmé"', '" acme"', '"a%2Fb"')
        ),
        *(
            ('preset = "recruitee"', f"board = {name}", f"{NAME_IN} https://NAME.recruitee.com/api/offers/, not {name}")
            for name in ('"acme.recruitee.com"', '"acme.example/"', '"acme@h"', '"-acme"', '"a b"', '"a:80"', "['acme']")
        ),
    ],
)  # fmt: skip
def test_a_wrong_board_is_a_fault_of_the_source(above, text, fault):
    config = feed(f'employer = "Acme"\n{above}\n[source]\n{text}')
    assert config.source is None
    assert config.source_faults == (f"acme.toml: source.board: {fault}",)


def test_a_board_may_have_a_name_of_several_words():
    source = feed('employer = "A"\npreset = "ashby"\n[source]\nboard = "The Acme Co."\nevery = "1h"').source
    assert source.shown == "https://api.ashbyhq.com/posting-api/job-board/The%20Acme%20Co."
