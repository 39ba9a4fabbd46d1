"""ETag, If-Match and If-None-Match (RFC 9110, sections 8.8.3 and 13): on reads, on writes, and in a race."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from tests.api.client import ApiClient
from tests.api.contract import Answer

OTHER = '"0123456789abcdef01234567"'


async def tagged(api: ApiClient, **fields: object) -> tuple[str, str]:
    """Return the path of a new job and its tag."""
    answer = await api.post(api.body(**fields))
    assert answer.status == 201, answer.raw
    return f"/jobs/{answer.json['id']}", answer.headers["ETag"]


async def test_every_answer_with_a_job_has_its_tag(api):
    path, tag = await tagged(api, referenceId="R")
    assert tag.startswith('"')
    same = [
        await api.get(path),
        await api.put(path, {"title": "Line Cook"}),
        await api.put("/jobs", {"referenceId": "R"}),
    ]
    assert [answer.headers["ETag"] for answer in same] == [tag] * 3
    changed = await api.put(path, {"title": "Sous-chef"})
    assert changed.headers["ETag"] != tag
    assert (await api.get(path)).headers["ETag"] == changed.headers["ETag"]


async def test_a_tag_changes_back_with_the_job(api):
    path, tag = await tagged(api)
    await api.put(path, {"confidential": True})
    assert (await api.put(path, {"confidential": False})).headers["ETag"] == tag


async def test_a_tag_stays_while_nothing_that_is_shown_changes(api):
    path, tag = await tagged(api)
    unseen = await api.put(path, {"applicationUrl": "https://x.example/apply"})
    assert unseen.headers["ETag"] == tag
    assert (await api.history(int(path.rpartition("/")[2])))["historyPaging"]["total"] == 2
    shown = await api.put(path, {"applicantRoutingType": {"id": 2}}, headers={"If-Match": tag})
    assert (shown.status, shown.json["applicationUrl"]) == (200, "https://x.example/apply")
    assert shown.headers["ETag"] != tag


@pytest.mark.parametrize(
    ("named", "status"),
    [
        ("{tag}", 304),
        ("W/{tag}", 304),
        ("*", 304),
        (OTHER, 200),
        (OTHER + ", {tag}", 304),
        (', ,{tag} , "x"', 304),
        ('"a,b", {tag}', 304),
        ("{gzip}", 304),
    ],
)
async def test_a_read_answers_304_to_a_client_that_has_it(api, named, status):
    path, tag = await tagged(api)
    header = named.format(tag=tag, gzip=tag[:-1] + '-gzip"')
    for method in ("GET", "HEAD"):
        answer = await api(method, path, headers={"If-None-Match": header})
        assert answer.status == status
        assert answer.headers["ETag"] == tag
        assert not (status == 304 and answer.raw)


@pytest.mark.parametrize(
    ("named", "allowed"),
    [
        ("{tag}", True),
        ("*", True),
        (OTHER + ",{tag}", True),
        ("{gzip}", True),
        (OTHER, False),
        ("W/{tag}", False),
        ('""', False),
    ],
)
@pytest.mark.parametrize("what", ["update", "put", "delete", "delete by reference"])
async def test_if_match_lets_only_the_version_through_that_it_names(api, named, allowed, what):
    path, tag = await tagged(api, referenceId="R")
    headers = {"If-Match": named.format(tag=tag, gzip=tag[:-1] + '-gzip"')}
    ask: Mapping[str, Callable[[], Awaitable[Answer]]] = {
        "update": lambda: api.put(path, {"title": "New"}, headers=headers),
        "put": lambda: api.put("/jobs", {"referenceId": "R", "title": "New"}, headers=headers),
        "delete": lambda: api.delete(path, headers=headers),
        "delete by reference": lambda: api.delete("/jobs", {"referenceId": "R"}, headers=headers),
    }
    found = await ask[what]()
    assert (found.status < 300) == allowed, found.raw
    if not allowed:
        assert found.code == "precondition_failed"
        assert (await api.get(path)).headers["ETag"] == tag


async def test_if_none_match_any_makes_a_put_create_only(api):
    create_only = {"If-None-Match": "*"}
    first = await api.put("/jobs", api.body(referenceId="R"), headers=create_only)
    assert first.status == 201
    second = await api.put("/jobs", api.body(referenceId="R", title="Other"), headers=create_only)
    assert (second.status, second.code) == (412, "precondition_failed")
    path = f"/jobs/{first.json['id']}"
    assert (await api.put(path, {"title": "Other"}, headers=create_only)).status == 412
    assert (await api.delete(path, headers=create_only)).status == 412
    assert (await api.get(path)).json["title"] == "Line Cook"
    assert (await api.post(api.body(), headers=create_only)).status == 201


async def test_if_none_match_refuses_the_write_of_a_client_that_has_the_version(api):
    path, tag = await tagged(api)
    assert (await api.put(path, {"title": "New"}, headers={"If-None-Match": f"W/{tag}"})).status == 412
    assert (await api.put(path, {"title": "New"}, headers={"If-None-Match": OTHER})).status == 200


@pytest.mark.parametrize("named", ["*", OTHER])
async def test_if_match_never_creates(api, named):
    headers = {"If-Match": named}
    assert (await api.put("/jobs", api.body(referenceId="R"), headers=headers)).code == "precondition_failed"
    assert (await api.post(api.body(), headers=headers)).code == "precondition_failed"
    assert (await api.get("/jobs")).json["paging"]["total"] == 0
    assert (await api.put("/jobs/7", {"title": "x"}, headers=headers)).code == "not_found"


@pytest.mark.parametrize("header", ["If-Match", "If-None-Match"])
@pytest.mark.parametrize("sent", ["abc", '"abc', '"a" "b"', "W/", 'w/"a"', '*, "a"', "", ",", '"a b"'])
async def test_an_invalid_precondition_is_not_ignored(api, header, sent):
    path, tag = await tagged(api)
    answer = await api.client.session.put(
        api.client.make_url("/api/v1.1" + path),
        json={"title": "New"},
        headers={"API-Key": api.key, header: sent},
    )
    assert (answer.status, (await answer.json(content_type=None))["code"]) == (400, "invalid_parameter")
    assert (await api.get(path)).headers["ETag"] == tag


async def test_preconditions_may_be_on_several_lines(api):
    path, tag = await tagged(api)
    headers = [("API-Key", api.key), ("If-Match", OTHER), ("If-Match", tag)]
    answer = await api.client.session.put(
        api.client.make_url("/api/v1.1" + path), json={"title": "New"}, headers=headers
    )
    assert answer.status == 200


async def test_faults_of_the_body_come_before_the_precondition_and_that_before_the_merged_job(api):
    path, tag = await tagged(api)
    stale = {"If-Match": OTHER}
    assert (await api.put(path, {"title": ""}, headers=stale)).code == "validation_failed"
    assert (await api.put(path, {"positionType": None}, headers=stale)).code == "precondition_failed"
    assert (
        await api.put(path, {"positionType": None}, headers={"If-Match": tag})
    ).code == "validation_failed"


async def test_a_read_has_no_other_precondition_and_a_catalogue_no_tag(api):
    path, tag = await tagged(api)
    assert (await api.get(path, headers={"If-Match": OTHER})).headers["ETag"] == tag
    for other in ("/positiontypes", "/categories/1", "/locations", "/openapi.json"):
        answer = await api.get(other, headers={"If-None-Match": "*"})
        assert (answer.status, "ETag" in answer.headers) == (200, False)


async def test_of_64_clients_that_race_with_one_version_exactly_one_wins_each_round(api):
    path, tag = await tagged(api)
    for turn in range(4):
        tries = [
            api.put(path, {"title": f"Round {turn}, client {n}"}, headers={"If-Match": tag})
            for n in range(64)
        ]
        answers = await asyncio.gather(*tries)
        won: list[Any] = [answer for answer in answers if answer.status == 200]
        assert len(won) == 1
        assert {answer.status for answer in answers} == {200, 412}
        tag = won[0].headers["ETag"]
        now = await api.get(path)
        assert (now.raw, now.headers["ETag"]) == (won[0].raw, tag)
    assert (await api.history(int(path.rpartition("/")[2])))["historyPaging"]["total"] == 5
