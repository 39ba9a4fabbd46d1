"""The limits row by row, and the codes of faulty fields, through HTTP (docs/specification.md 8;
docs/api.md "Faults of a body")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.api.client import ApiClient

EMAIL_50 = "a" * 38 + "@example.com"
URL_200 = "https://x.example/" + "p" * 182
PLACE = {"description": "Calgary, AB"}
PLACES = [{"description": d} for d in ("Calgary, AB", "Ottawa, ON", "Halifax, NS", "Toronto, ON")]
CATEGORIES = [{"id": n} for n in (1, 2, 3, 4)]

#: (fields that are sent, (pointer, code) of each fault); no fault: accepted.
LIMITS: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    ({"locations": []}, [("/locations", "too_few")]),
    ({"locations": PLACES[:1]}, []),
    ({"locations": PLACES[:3]}, []),
    ({"locations": PLACES}, [("/locations", "too_many")]),
    ({"categories": []}, [("/categories", "too_few")]),
    ({"categories": CATEGORIES[:1]}, []),
    ({"categories": CATEGORIES[:3]}, []),
    ({"categories": CATEGORIES}, [("/categories", "too_many")]),
    ({"referenceId": "r" * 50}, []),
    ({"referenceId": "r" * 51}, [("/referenceId", "too_long")]),
    ({"referenceId": "😀" * 50}, []),
    ({"title": "t" * 256}, []),
    ({"title": "t" * 257}, [("/title", "too_long")]),
    ({"applicationEmail": EMAIL_50}, []),
    ({"applicationEmail": "a" + EMAIL_50}, [("/applicationEmail", "too_long")]),
    ({"applicantRoutingType": {"id": 2}, "applicationUrl": URL_200}, []),
    ({"applicantRoutingType": {"id": 2}, "applicationUrl": URL_200 + "p"}, [("/applicationUrl", "too_long")]),
    ({"status": "published"}, [("/status", "unknown_value")]),
    ({"locations": [{"description": "x" * 297 + ", AB"}]}, [("/locations/0/description", "too_long")]),
]


@pytest.mark.parametrize(("fields", "faults"), LIMITS, ids=lambda v: str(v)[:60])
async def test_every_limit_holds_at_its_edge(
    api: ApiClient, fields: dict[str, Any], faults: list[tuple[str, str]]
) -> None:
    answer = await api.post(api.body(**fields))
    if faults:
        assert answer.faults == faults
        assert (await api.get("/jobs")).json["paging"]["total"] == 0
    else:
        assert answer.status == 201, answer.raw
        for name in fields.keys() & {"referenceId", "title", "applicationUrl"}:
            assert answer.json[name] == fields[name]


async def test_a_page_has_10_by_default_and_100_at_most(api: ApiClient) -> None:
    for n in range(101):
        await api.create(status="draft", title=f"Job {n}", referenceId=f"R-{n}")
    sizes = {
        query: len((await api.get(f"/jobs{query}")).json["data"])
        for query in ("", "?pageSize=100", "?pageSize=500", "?page=11", "?pageSize=")
    }
    assert sizes == {"": 10, "?pageSize=100": 100, "?pageSize=500": 100, "?page=11": 1, "?pageSize=": 10}
    paging = (await api.get("/jobs?pageSize=500")).json["paging"]
    assert (paging["pageSize"], paging["pages"]) == (100, 2)


async def test_a_job_is_live_for_60_days_by_default(api: ApiClient) -> None:
    assert (await api.create(closeDate=...))["closeDate"] == "2027-01-15"


#: Body changes → faults: every field code that a job's body can bring about.
FAULTS: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    ({"title": ...}, [("/title", "required")]),
    ({"title": "  "}, [("/title", "required")]),
    ({"title": 5}, [("/title", "wrong_type")]),
    ({"status": None}, [("/status", "null_not_allowed")]),
    ({"confidential": 1}, [("/confidential", "wrong_type")]),
    ({"categories": [{"id": "1"}]}, [("/categories/0/id", "wrong_type")]),
    ({"categories": [{"id": True}]}, [("/categories/0/id", "wrong_type")]),
    ({"categories": [{"id": 2**31}]}, [("/categories/0/id", "out_of_range")]),
    ({"categories": [{"id": 987654}]}, [("/categories/0/id", "unknown_value")]),
    ({"locations": [{"description": "Calgary, Texas"}]}, [("/locations/0/description", "unknown_province")]),
    ({"salery": {}}, [("/salery", "unknown_field")]),
    ({"locations": [{**PLACE, "town": 1}]}, [("/locations/0/town", "unknown_field")]),
    ({"closeDate": "next week"}, [("/closeDate", "invalid_date")]),
    ({"closeDate": "2026-11-15"}, [("/closeDate", "date_order")]),
    ({"applicationEmail": "jobs at example.com"}, [("/applicationEmail", "invalid_email")]),
    ({"applicationUrl": "www.x.ca"}, [("/applicationUrl", "invalid_url")]),
    ({"description": "<script>x</script>"}, [("/description", "disallowed_html")]),
    ({"title": "a\x00b"}, [("/title", "invalid_characters")]),
    ({"salary": {"amount": -1, "period": {"id": 1}}}, [("/salary/amount", "out_of_range")]),
    ({"salary": {"amount": 0}}, [("/salary/period", "required")]),
    ({"salary": {"amount": 0, "period": None}}, [("/salary/period", "required")]),
    ({"salary": {"amount": 1, "period": {}}}, [("/salary/period/id", "required")]),
    ({"salary": {"amount": 1, "period": {"name": "Hourly"}}}, [("/salary/period/id", "required")]),
    ({"salary": {"amount": 1, "period": {"id": None}}}, [("/salary/period/id", "null_not_allowed")]),
    ({"pay/hour~": 1}, [("/pay~1hour~0", "unknown_field")]),
    ({"": 1}, [("/", "unknown_field")]),
    ({"locations": [PLACE, {"description": "!"}]}, [("/locations/1/description", "invalid_characters")]),
    ({"salary": {"period": {"id": 1}}}, [("/salary/amount", "required")]),
    ({"applicationEmail": ...}, [("/applicationEmail", "required")]),
    ({"applicantRoutingType": {"id": 2}}, [("/applicationUrl", "required")]),
    ({"description": ...}, [("/description", "required")]),
]


@pytest.mark.parametrize(("fields", "faults"), FAULTS, ids=lambda v: str(v)[:60])
async def test_a_fault_is_named_by_pointer_and_code(
    api: ApiClient, fields: dict[str, Any], faults: list[tuple[str, str]]
) -> None:
    answer = await api.post(api.body(**fields))
    named = {(pointer, code) for pointer, code in answer.faults}
    assert set(faults) <= named, answer.raw
    assert {pointer.split("/")[1] for pointer, _ in named} == {p.split("/")[1] for p, _ in faults}


async def test_one_answer_lists_all_faults(api: ApiClient) -> None:
    answer = await api.post(api.body(title="t" * 300, status="gone", categories=[], extra=1, closeDate="x"))
    pointers = {pointer for pointer, _ in answer.faults}
    assert pointers == {"/title", "/status", "/categories", "/extra", "/closeDate"}


async def test_the_fields_that_a_new_job_lacks_are_listed_with_its_other_faults(
    api: ApiClient,
) -> None:
    sent = {"titel": "x", "title": 5, "status": "active", "salary": {"amount": 1}}
    wrong = [
        ("/titel", "unknown_field"),
        ("/title", "wrong_type"),
        ("/salary/period", "required"),
        ("/locations", "required"),
        ("/categories", "required"),
        ("/positionType", "required"),
        ("/description", "required"),
        ("/applicantRoutingType", "required"),
    ]
    assert (await api.post(sent)).faults == wrong
    named = await api.post(sent, headers={"Idempotency-Key": "k"})
    assert named.faults == wrong


async def test_a_body_is_checked_before_the_job_is_looked_up(api: ApiClient) -> None:
    assert (await api.put("/jobs/999", {"title": 5})).status == 422
    assert (await api.put("/jobs/999", {"title": "x"})).status == 404
