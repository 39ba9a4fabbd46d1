"""The endpoints one by one, and the statuses as a client sees them (docs/specification.md 4 and 3)."""

from decimal import Decimal
from typing import Any

import pytest


async def test_a_created_job_is_answered_whole_with_its_address(api):
    answer = await api.post(api.body(referenceId="A-1", closeDate="2026-12-24"))

    assert answer.status == 201
    assert answer.headers["Content-Type"] == "application/json"
    job = answer.json
    assert answer.headers["Location"] == str(api.client.make_url(f"/api/v1.1/jobs/{job['id']}"))
    assert job == {
        "id": job["id"],
        "referenceId": "A-1",
        "employer": {"id": api.employer.id, "name": "Maple Kitchens"},
        "title": "Line Cook",
        "publishDate": "2026-11-16",
        "closeDate": "2026-12-24",
        "confidential": False,
        "autoRefresh": False,
        "status": "active",
        "locations": [
            {"id": job["locations"][0]["id"], "name": "Calgary", "description": "Calgary, AB", "type": "city"}
        ],
        "categories": [{"id": 1, "name": job["categories"][0]["name"]}],
        "positionType": {"id": 1, "name": "Full Time"},
        "salary": {
            "amount": Decimal("20.5"),
            "maxAmount": 25,
            "period": {"id": 5, "name": "Hourly", "unit": "Hour"},
            "plusCommission": False,
        },
        "description": "<p>Cook <strong>well</strong>.</p>",
        "applicantRoutingType": {"id": 1, "name": "Email"},
        "applicationEmail": "jobs@example.com",
        "applicationUrl": None,
    }
    assert job["categories"][0]["name"]
    assert (await api.get(f"/jobs/{job['id']}")).json == job


async def test_what_is_omitted_on_create_has_the_documented_default(api):
    answer = await api.post(
        {"title": "Baker", "locations": [{"description": "Ottawa, ON"}], "categories": [{"id": 2}]}
    )
    job = answer.json
    assert answer.status == 201
    assert job["status"] == "draft"
    assert job["publishDate"] == "2026-11-16"
    assert job["closeDate"] == "2027-01-15"
    assert (job["confidential"], job["autoRefresh"]) == (False, False)
    addresses = ("applicationEmail", "applicationUrl")
    for name in ("referenceId", "positionType", "salary", "description", "applicantRoutingType", *addresses):
        assert job[name] is None


async def test_a_deleted_job_is_gone(api):
    job = await api.create()
    answer = await api.delete(f"/jobs/{job['id']}")
    assert (answer.status, answer.raw) == (204, b"")
    assert "Content-Type" not in answer.headers
    assert (await api.get(f"/jobs/{job['id']}")).status == 404
    assert (await api.delete(f"/jobs/{job['id']}")).status == 404


async def test_delete_by_reference_takes_the_reference_from_the_body(api):
    job = await api.create(referenceId="A-1")
    other = await api.create(referenceId="a-1")
    assert (await api.delete("/jobs", {"referenceId": "A-1"})).status == 204
    assert (await api.get(f"/jobs/{job['id']}")).status == 404
    assert (await api.get(f"/jobs/{other['id']}")).status == 200
    assert (await api.delete("/jobs", {"referenceId": "A-1"})).code == "not_found"


async def test_a_reference_can_be_changed_and_the_old_one_is_free_again(api):
    job = await api.create(referenceId="A-1")
    other = await api.create(referenceId="B-1")
    path = f"/jobs/{job['id']}"
    taken = await api.put(path, {"referenceId": "B-1"})
    assert (taken.status, taken.code, taken.json["id"]) == (409, "duplicate_reference", other["id"])
    assert (await api.get(path)).json == job
    assert (await api.put(path, {"referenceId": "A-2"})).json == {**job, "referenceId": "A-2"}
    assert (await api.put("/jobs", {"referenceId": "A-2"})).json["id"] == job["id"]
    assert (await api.create(referenceId="A-1"))["id"] != job["id"]


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({}, "required"),
        ({"title": "x"}, "required"),
        ({"referenceId": " \n"}, "required"),
        ({"referenceId": 5}, "wrong_type"),
        ({"referenceId": ["A-1"]}, "wrong_type"),
        ({"referenceId": "A" * 51}, "too_long"),
        ({"referenceId": "A\u0000"}, "invalid_characters"),
    ],
)
async def test_without_a_usable_reference_no_job_is_named(api, body, fault):
    job = await api.create(referenceId="A-1")
    for method in ("PUT", "DELETE"):
        assert (await api(method, "/jobs", body)).faults == [("/referenceId", fault)]
    assert (await api.get("/jobs")).json["paging"]["total"] == 1
    assert (await api.get(f"/jobs/{job['id']}")).json == job


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        ("active", "archived", 200),
        ("archived", "active", 200),
        ("draft", "active", 200),
        ("draft", "archived", 200),
        ("active", "active", 200),
        ("archived", "archived", 200),
        ("draft", "draft", 200),
        ("active", "draft", 409),
        ("archived", "draft", 409),
    ],
)
async def test_a_status_changes_only_as_the_specification_allows(api, before, after, status):
    job = await api.create(status=before)
    answer = await api.put(f"/jobs/{job['id']}", {"status": after})
    assert answer.status == status, answer.raw
    if status == 200:
        assert answer.json == {**job, "status": after}
    else:
        assert answer.code == "illegal_transition"
        members = {name: answer.json[name] for name in ("from", "to", "allowed")}
        assert members == {"from": before, "to": after, "allowed": [allowed_from(before)]}


def allowed_from(status: str) -> str:
    return {"active": "archived", "archived": "active"}[status]


@pytest.mark.parametrize(
    ("override", "method", "path", "status"),
    [
        ("PUT", "POST", "/jobs/{id}", 200),
        ("put", "POST", "/jobs/{id}", 200),
        ("DELETE", "POST", "/jobs/{id}", 204),
        ("delete", "POST", "/jobs", 204),
        ("PUT", "POST", "/jobs", 200),
        ("PATCH", "POST", "/jobs/{id}", 405),
        ("GET", "POST", "/jobs/{id}", 405),
        ("PATCH", "POST", "/jobs", 409),  # it is a POST, and the referenceId is in use
        ("DELETE", "GET", "/jobs/{id}", 200),
        ("DELETE", "PUT", "/jobs/{id}", 200),
        ("PUT", "DELETE", "/jobs/{id}", 204),
        ("DELETE", "HEAD", "/jobs/{id}", 200),
        ("DELETE", "OPTIONS", "/jobs/{id}", 204),
        ("PUT", "PATCH", "/jobs/{id}", 405),
    ],
)
async def test_the_method_override_counts_on_post_for_put_and_delete_only(
    api, override, method, path, status
):
    job = await api.create(referenceId="A-1")
    answer = await api(
        method, path.format(**job), api.body(referenceId="A-1"), headers={"X-HTTP-Method-Override": override}
    )
    assert answer.status == status, answer.raw
    exists = (await api.get(f"/jobs/{job['id']}")).status == 200
    assert exists is (status != 204 or method == "OPTIONS")


@pytest.mark.parametrize(
    "id", "007 +7 1.0 -0 1e0 %D9%A3 2147483648 -2147483649 99999999999999999999 x %31%2F 1%20".split()
)
async def test_an_id_that_is_not_a_plain_int32_names_no_job(api, id):
    await api.create()
    for method in ("GET", "PUT", "DELETE"):
        answer = await api(method, f"/jobs/{id}", {"title": "x"} if method == "PUT" else None)
        assert (answer.status, answer.code) == (404, "not_found"), (method, answer.raw)


async def test_another_employers_job_is_not_there(api):
    job = await api.create(referenceId="A-1")
    stranger = api.as_employer("Birch Bakery")
    path = f"/jobs/{job['id']}"
    answers = [
        await stranger.get(path),
        await stranger.put(path, {"title": "Mine now"}),
        await stranger.delete(path),
        await stranger.delete("/jobs", {"referenceId": "A-1"}),
    ]
    assert [answer.code for answer in answers] == ["not_found"] * 4
    assert (await stranger.get("/jobs")).json["data"] == []
    mine = await stranger.put("/jobs", api.body(referenceId="A-1"))
    assert mine.status == 201
    assert mine.json["id"] != job["id"]
    assert (await api.get(path)).json == job


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"status": "draft", "positionType": None, "description": None, "salary": None},
        {"status": "archived", "closeDate": "2020-01-01"},
        {"locations": [{"description": "Nowhereville-sur-Mer, NT"}]},
        {"locations": [{"description": "montreal"}, {"description": "St. John's, NL"}]},
        {"salary": {"plusCommission": True}},
        {"applicantRoutingType": {"id": 2}, "applicationUrl": "HTTPS://x.example/apply"},
    ],
)
async def test_a_get_result_without_id_and_reference_is_a_valid_body(api, changed):
    job = await api.create(referenceId="A-1", **changed)
    job = (await api.get(f"/jobs/{job['id']}")).json
    again = {name: value for name, value in job.items() if name not in ("id", "referenceId")}
    copy = await api.post(jsonable(again))
    assert copy.status == 201, copy.raw
    for name in set(job) - {"id", "referenceId"}:
        assert copy.json[name] == job[name], name


def jsonable(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {name: jsonable(member) for name, member in value.items()}
    return [jsonable(item) for item in value] if isinstance(value, list) else value


async def test_a_get_result_sent_back_whole_changes_nothing(api):
    job = await api.create(referenceId="A-1")
    api.clock.forward(days=1)
    answer = await api.put(f"/jobs/{job['id']}", jsonable(job))
    assert (answer.status, answer.json) == (200, job)


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("1234567890.12", "1234567890.12"),
        ("0.1", "0.1"),
        ("0.0001", "0.0001"),
        ("1E+3", "1000"),
        ("20.50", "20.5"),
        ("1e-4", "0.0001"),
        ("999999999999.9999", "999999999999.9999"),
        ("0", "0"),
        ("0.0", "0"),
        ("1e11", "100000000000"),
    ],
)
async def test_amounts_come_back_digit_for_digit(api, sent, shown):
    job = await api.create()
    raw = f'{{"salary": {{"amount": {sent}, "maxAmount": null}}}}'.encode()
    answer = await api("PUT", f"/jobs/{job['id']}", raw=raw)
    assert answer.status == 200, answer.raw
    assert f'"amount":{shown},'.encode() in answer.raw
    assert (await api.get(f"/jobs/{job['id']}")).raw == answer.raw
