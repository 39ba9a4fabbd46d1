"""Statuses (docs/specification.md 3; docs/api.md "Statuses"): created, archived, brought back, closed, refreshed; addressed by
id or by referenceId."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from syncd.service.housekeeping import Refresher
from syncd.store import employers, keys
from tests.api.client import ApiClient
from tests.api.contract import Answer

BY_ID_AND_REFERENCE = pytest.mark.parametrize("way", ["id", "reference"])


async def put(api: ApiClient, way: str, job: Any, sent: dict[str, Any]) -> Answer:
    """Update ``job``, by its id in the path or by its referenceId in the body."""
    if way == "id":
        return await api.put(f"/jobs/{job['id']}", sent)
    return await api.put("/jobs", {"referenceId": job["referenceId"], **sent})


def tick(api: ApiClient) -> None:
    Refresher(api.store, every=timedelta(days=7), archive_closed=True).tick()


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize(
    ("sent", "status"), [(..., "draft"), ("draft", "draft"), ("active", "active"), ("archived", "archived")]
)
async def test_a_new_job_is_a_draft_by_default_and_is_published_today(api, method, sent, status):
    answer = await api(method, "/jobs", api.body(referenceId="A-1", status=sent))
    assert answer.status == 201, answer.raw
    dates = (answer.json["publishDate"], answer.json["closeDate"])
    assert (answer.json["status"], dates) == (status, ("2026-11-16", "2027-01-15"))


@BY_ID_AND_REFERENCE
async def test_a_job_is_archived_and_comes_back_and_nothing_else_changes(api, way):
    job = await api.create(referenceId="A-1", closeDate="2027-03-01", autoRefresh=True)
    for status in ("archived", "active"):
        api.clock.forward(days=2)
        answer = await put(api, way, job, {"status": status})
        assert (answer.status, answer.json) == (200, {**job, "status": status})
        assert (await api.get(f"/jobs/{job['id']}")).raw == answer.raw


@BY_ID_AND_REFERENCE
@pytest.mark.parametrize(
    ("made", "sent", "close"),
    [
        ({}, {}, "2027-01-18"),
        ({"closeDate": "2027-03-01"}, {}, "2027-03-01"),
        ({"closeDate": "2027-03-01"}, {"closeDate": None}, "2027-01-18"),
        ({}, {"closeDate": "2027-01-15"}, "2027-01-15"),
    ],
)
async def test_publishing_a_draft_moves_a_default_close_date(api, way, made, sent, close):
    job = await api.create(referenceId="A-1", status="draft", **made)
    api.clock.forward(days=3)
    published = (await put(api, way, job, {"status": "active", **sent})).json
    assert published == {**job, "status": "active", "publishDate": "2026-11-19", "closeDate": close}


async def test_archiving_a_draft_moves_no_date(api):
    job = await api.create(status="draft")
    api.clock.forward(days=3)
    path = f"/jobs/{job['id']}"
    assert (await api.put(path, {"status": "archived"})).json == {**job, "status": "archived"}
    assert (await api.put(path, {"status": "active"})).json == {**job, "status": "active"}


@BY_ID_AND_REFERENCE
async def test_a_closed_job_comes_back_with_a_new_close_date_only(api, way):
    job = await api.create(referenceId="A-1", closeDate="2026-11-20")
    api.clock.forward(days=100)
    tick(api)
    closed = (await api.get(f"/jobs/{job['id']}")).json
    assert closed == {**job, "status": "archived"}
    for sent in ({}, {"closeDate": "2026-11-20"}, {"closeDate": "2027-02-23"}, {"closeDate": None}):
        answer = await put(api, way, job, {"status": "active", **sent})
        assert answer.faults == [("/closeDate", "date_order")]
    assert (await api.get(f"/jobs/{job['id']}")).json == closed

    together = await put(api, way, job, {"status": "active", "closeDate": "2027-02-24"})
    assert together.json == {**job, "closeDate": "2027-02-24"}
    await put(api, way, job, {"status": "archived"})
    first = await put(api, way, job, {"closeDate": "2027-04-01"})
    assert first.json == {**job, "status": "archived", "closeDate": "2027-04-01"}
    assert (await put(api, way, job, {"status": "active"})).json == {**job, "closeDate": "2027-04-01"}


async def test_a_past_close_date_does_not_prevent_other_changes(api):
    """It is the day after the close date, and the service has not archived the job yet."""
    job = await api.create(closeDate="2026-11-20")
    api.clock.forward(days=10)
    path = f"/jobs/{job['id']}"
    assert (await api.put(path, {"title": "Other"})).json == {**job, "title": "Other"}
    assert (await api.put(path, {"closeDate": "2026-11-21"})).faults == [("/closeDate", "date_order")]
    assert (await api.put(path, {"status": "archived"})).status == 200
    assert (await api.put(path, {"closeDate": "2026-11-21"})).json["closeDate"] == "2026-11-21"


@BY_ID_AND_REFERENCE
async def test_what_a_job_past_its_close_date_has_can_be_sent_back(api, way):
    job = await api.create(referenceId="A-1", closeDate="2026-11-20")
    api.clock.forward(days=10)
    got = await api.get(f"/jobs/{job['id']}")
    body = json.loads(got.raw)
    for sent in (body, {"status": "active"}, {"closeDate": "2026-11-20"}):
        answer = await put(api, way, job, sent)
        assert (answer.status, answer.raw) == (200, got.raw)
        assert answer.headers["ETag"] == got.headers["ETag"]
    assert (await api.history(job["id"]))["historyPaging"]["total"] == 1
    other = await put(api, way, job, {**body, "title": "Other"})
    assert (other.status, other.json) == (200, {**job, "title": "Other"})


async def test_auto_refresh_is_stored_and_does_nothing_for_an_employer_on_another_plan(api):
    standard = api.store.write(lambda tx: employers.add(tx, "Standard Ltd.", unlimited=False))
    _, key = api.store.write(lambda tx: keys.create(tx, standard.id, "test", None))
    theirs, ours = {"API-Key": key}, await api.create(autoRefresh=True)
    job = (await api.post(api.body(autoRefresh=True), headers=theirs)).json
    assert job["autoRefresh"] is True
    api.clock.forward(days=8)
    tick(api)
    assert (await api.get(f"/jobs/{job['id']}", headers=theirs)).json == job
    refreshed = (await api.get(f"/jobs/{ours['id']}")).json
    assert refreshed == {**ours, "publishDate": "2026-11-24"}


async def test_auto_refresh_can_be_switched_on_and_off(api):
    job = await api.create()
    path = f"/jobs/{job['id']}"
    for switch, published in ((True, "2026-11-24"), (None, "2026-11-24"), (True, "2026-12-10")):
        assert (await api.put(path, {"autoRefresh": switch})).json["autoRefresh"] is bool(switch)
        api.clock.forward(days=8)
        tick(api)
        assert (await api.get(path)).json["publishDate"] == published


async def test_today_is_the_date_of_the_service_s_time_zone(api):
    """In Toronto it is half past eleven in the evening; in Greenwich, the next day."""
    api.clock.now = datetime(2026, 11, 17, 4, 30, tzinfo=UTC)
    job = await api.create()
    assert (job["publishDate"], job["closeDate"]) == ("2026-11-16", "2027-01-15")
    assert (await api.create(closeDate="2026-11-16"))["closeDate"] == "2026-11-16"
    gone = await api.post(api.body(closeDate="2026-11-15"))
    assert gone.faults == [("/closeDate", "date_order")]
    api.clock.forward(minutes=30)
    assert (await api.create())["publishDate"] == "2026-11-17"
    assert (await api.post(api.body(closeDate="2026-11-16"))).faults == [("/closeDate", "date_order")]
