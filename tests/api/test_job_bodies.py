"""Reading a body (docs/api.md "Reading a body"): the changes of an update, read-only and unknown members, media
types, faults."""

from typing import Any

import pytest

from tests.api.client import ApiClient

URL = {"applicantRoutingType": {"id": 2}, "applicationUrl": "https://x.example/apply"}


async def stored(api: ApiClient, job: Any) -> Any:
    return (await api.get(f"/jobs/{job['id']}")).json


# --- updates

#: Members that are sent alone → the members of the answer that differ from before.
ALONE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"title": "Head Cook"}, {}),
    ({"closeDate": "2026-12-24"}, {}),
    ({"confidential": True}, {}),
    ({"autoRefresh": True}, {}),
    ({"status": "archived"}, {}),
    ({"description": "<p>Bake.</p>"}, {}),
    ({"applicationEmail": "hr@example.com"}, {}),
    ({"applicationUrl": "https://x.example/apply"}, {"applicationUrl": None}),
    (
        {"locations": [{"description": "toronto, on"}]},
        {"locations": [{"id": 6167865, "name": "Toronto", "description": "Toronto, ON", "type": "city"}]},
    ),
    (
        {"categories": [{"id": 3}, {"id": 2}]},
        {
            "categories": [
                {"id": 3, "name": "Agriculture & Environment"},
                {"id": 2, "name": "Administration & Office"},
            ]
        },
    ),
    ({"positionType": {"id": 2}}, {"positionType": {"id": 2, "name": "Part Time"}}),
    ({"salary": None}, {}),
    ({**URL, "applicationEmail": None}, {"applicantRoutingType": {"id": 2, "name": "URL"}}),
]


@pytest.mark.parametrize("way", ["id", "reference"])
@pytest.mark.parametrize(("sent", "shown"), ALONE, ids=lambda v: str(v)[:50])
async def test_each_field_can_be_changed_alone(api, way, sent, shown):
    job = await api.create(referenceId="A-1")
    path, key = (f"/jobs/{job['id']}", {}) if way == "id" else ("/jobs", {"referenceId": "A-1"})
    answer = await api.put(path, {**key, **sent})
    assert answer.status == 200, answer.raw
    assert "Location" not in answer.headers
    expected = {**job, **sent, **shown}
    assert answer.json == expected
    assert await stored(api, job) == expected


#: A null that is sent to an active job → its new value, or the fault.
NULLS: dict[str, object] = {
    "referenceId": None,
    "salary": None,
    "confidential": False,
    "autoRefresh": False,
    "closeDate": "2027-01-15",
    "applicationUrl": None,
    "title": "required",
    "description": "required",
    "positionType": "required",
    "applicantRoutingType": "required",
    "applicationEmail": "required",
    "status": "null_not_allowed",
    "locations": "null_not_allowed",
    "categories": "null_not_allowed",
}
CODES = ("required", "null_not_allowed")


@pytest.mark.parametrize("name", NULLS)
async def test_null_clears_what_can_be_empty_and_is_the_default_or_a_fault_elsewhere(api, name):
    job = await api.create(referenceId="A-1", confidential=True, autoRefresh=True, closeDate="2027-03-01")
    answer = await api.put(f"/jobs/{job['id']}", {name: None})
    if NULLS[name] in CODES:
        assert answer.faults == [(f"/{name}", NULLS[name])]
        assert await stored(api, job) == job
    else:
        assert answer.json == {**job, name: NULLS[name]}
        assert await stored(api, job) == answer.json


@pytest.mark.parametrize("name", ["positionType", "description", "applicantRoutingType", "applicationEmail"])
async def test_a_draft_may_be_cleared_of_what_only_an_active_job_needs(api, name):
    job = await api.create(status="draft")
    answer = await api.put(f"/jobs/{job['id']}", {name: None})
    if name == "applicationEmail":  # needed by the routing type, in any status
        assert answer.faults == [("/applicationEmail", "required")]
        answer = await api.put(f"/jobs/{job['id']}", {name: None, "applicantRoutingType": None})
    assert answer.json[name] is None
    faults = (await api.put(f"/jobs/{job['id']}", {"status": "active"})).faults
    assert faults == [("/applicantRoutingType" if name == "applicationEmail" else f"/{name}", "required")]


@pytest.mark.parametrize("nothing", ["", "  ", None])
@pytest.mark.parametrize("name", ["title", "description", "applicationEmail", "location"])
@pytest.mark.parametrize("update", [False, True])
async def test_a_string_of_nothing_is_required_in_an_update_too(api, name, nothing, update):
    sent = {"locations": [{"description": nothing}]} if name == "location" else {name: nothing}
    job = await api.create()
    answer = await (api.put(f"/jobs/{job['id']}", sent) if update else api.post(api.body(**sent)))
    assert answer.faults == [("/locations/0/description" if name == "location" else f"/{name}", "required")]


async def test_the_address_of_no_routing_type_is_kept_unseen(api):
    sent = {"applicationEmail": "hr@example.com", "applicationUrl": "https://x.example/apply"}
    job = await api.create(status="draft", applicantRoutingType=None, **sent)
    assert (job["applicationEmail"], job["applicationUrl"]) == (None, None)
    path = f"/jobs/{job['id']}"
    assert (await api.put(path, {"applicationEmail": None, "applicationUrl": None})).json == job
    by_mail = (await api.put(path, {"applicantRoutingType": {"id": 1}})).json
    assert (by_mail["applicationEmail"], by_mail["applicationUrl"]) == ("hr@example.com", None)
    by_web = (await api.put(path, {"applicantRoutingType": {"id": 2}})).json
    assert (by_web["applicationEmail"], by_web["applicationUrl"]) == (None, "https://x.example/apply")


@pytest.mark.parametrize("status", ["draft", "active", "archived"])
@pytest.mark.parametrize(("routing", "name"), [(1, "applicationEmail"), (2, "applicationUrl")])
async def test_a_routing_type_needs_its_address_in_any_status(api, status, routing, name):
    answer = await api.post(
        api.body(status=status, applicantRoutingType={"id": routing}, applicationEmail=...)
    )
    assert answer.faults == [(f"/{name}", "required")]


# --- members that only the service sets


def with_read_only(body: dict[str, Any]) -> dict[str, Any]:
    """``body`` with every read-only member in it, each of them wrong."""
    named = {"name": "No such name"}
    return {
        **body,
        "employer": {"id": 4711, "name": "Somebody else", "more": [{}]},
        "publishDate": "1999-12-31",
        "locations": [{"id": 5, "name": "Oz", "type": "planet", "description": "Calgary, AB"}],
        "categories": [{"id": 1, **named}],
        "positionType": {"id": 1, **named},
        "applicantRoutingType": {"id": 1, **named},
        "salary": {"amount": 20.5, "maxAmount": 25, "period": {"id": 5, **named, "unit": "Eon"}},
    }


async def test_read_only_members_are_accepted_and_ignored(api):
    plain = await api.create(referenceId="A-1")
    api.clock.forward(days=1)
    for path in (f"/jobs/{plain['id']}", "/jobs"):
        answer = await api.put(path, with_read_only(api.body(referenceId="A-1", id=plain["id"])))
        assert (answer.status, answer.json) == (200, plain)
    made = await api.post(with_read_only(api.body(id=plain["id"])))
    assert made.status == 201, made.raw
    own = {"id": made.json["id"], "referenceId": None, "publishDate": "2026-11-17", "closeDate": "2027-01-16"}
    assert made.json == {**plain, **own}
    assert made.json["id"] != plain["id"]


@pytest.mark.parametrize("sent", [{"referenceId": "A-1"}, {"referenceId": "new"}])
async def test_the_id_of_another_job_is_refused_by_reference_too(api, sent):
    await api.create(referenceId="A-1")
    other = await api.create(referenceId="B-1")
    answer = await api.put("/jobs", {**api.body(**sent), "id": other["id"]})
    assert answer.faults == [("/id", "read_only_mismatch")]
    assert (await api.get("/jobs")).json["paging"]["total"] == 2


UNKNOWN: list[tuple[dict[str, Any], str]] = [
    ({"Title": "x"}, "/Title"),
    ({"locations": [{"description": "Calgary, AB", "province": "AB"}]}, "/locations/0/province"),
    ({"categories": [{"id": 1}, {"id": 2, "label": "x"}]}, "/categories/1/label"),
    ({"positionType": {"id": 1, "unit": "x"}}, "/positionType/unit"),
    ({"applicantRoutingType": {"id": 1, "email": "x"}}, "/applicantRoutingType/email"),
    ({"salary": {"amount": 1, "period": {"id": 1}, "currency": "CAD"}}, "/salary/currency"),
    ({"salary": {"amount": 1, "period": {"id": 1, "per": "year"}}}, "/salary/period/per"),
]


@pytest.mark.parametrize(("sent", "pointer"), UNKNOWN)
async def test_an_unknown_field_is_refused_at_every_depth(api, sent, pointer):
    job = await api.create(referenceId="A-1")
    answers = [
        await api.post(api.body(**sent)),
        await api.put(f"/jobs/{job['id']}", sent),
        await api.put("/jobs", {"referenceId": "A-1", **sent}),
    ]
    assert [answer.faults for answer in answers] == [[(pointer, "unknown_field")]] * 3
    assert await stored(api, job) == job


# --- the media type


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/jobs"), ("PUT", "/jobs"), ("PUT", "/jobs/{id}"), ("DELETE", "/jobs")]
)
@pytest.mark.parametrize(
    ("media_type", "good"),
    [
        ("Application/JSON; charset=utf-8", True),
        ("application/json-patch+json", True),
        ("text/json", False),
        ("multipart/form-data; boundary=x", False),
        (" ", False),
    ],
)
async def test_every_body_has_a_media_type_that_begins_with_application_json(
    api, method, path, media_type, good
):
    job = await api.create(referenceId="A-1")
    sent = {"referenceId": "A-1"} if method != "POST" else api.body()
    answer = await api(method, path.format(**job), sent, headers={"Content-Type": media_type})
    if good:
        assert answer.status in (200, 201, 204), answer.raw
    else:
        assert answer.code == "unsupported_media_type"
        assert await stored(api, job) == job


# --- faults

PLACE = {"description": "Calgary, AB"}


async def test_a_page_has_10_by_default_and_100_at_most(api):
    for n in range(101):
        await api.create(status="draft", title=f"Job {n}", referenceId=f"R-{n}")
    sizes = {
        query: len((await api.get(f"/jobs{query}")).json["data"])
        for query in ("", "?pageSize=100", "?pageSize=101", "?page=11", "?pageSize=")
    }
    assert sizes == {"": 10, "?pageSize=100": 100, "?pageSize=101": 100, "?page=11": 1, "?pageSize=": 10}
    paging = (await api.get("/jobs?pageSize=500")).json["paging"]
    assert (paging["pageSize"], paging["pages"]) == (100, 2)


#: Body changes → faults: every field code that a job's body can bring about.
FAULTS: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    ({"title": ...}, [("/title", "required")]),
    ({"title": 5}, [("/title", "wrong_type")]),
    ({"status": None}, [("/status", "null_not_allowed")]),
    ({"categories": [{"id": 2**31}]}, [("/categories/0/id", "out_of_range")]),
    ({"categories": [{"id": 987654}]}, [("/categories/0/id", "unknown_value")]),
    ({"locations": [{"description": "Calgary, Texas"}]}, [("/locations/0/description", "unknown_province")]),
    ({"closeDate": "next week"}, [("/closeDate", "invalid_date")]),
    ({"closeDate": "2026-11-15"}, [("/closeDate", "date_order")]),
    ({"applicationEmail": "jobs at example.com"}, [("/applicationEmail", "invalid_email")]),
    ({"applicationUrl": "www.x.ca"}, [("/applicationUrl", "invalid_url")]),
    ({"description": "<script>x</script>"}, [("/description", "disallowed_html")]),
    ({"title": "a\x00b"}, [("/title", "invalid_characters")]),
    ({"salary": {"amount": -1, "period": {"id": 1}}}, [("/salary/amount", "out_of_range")]),
    ({"salary": {"amount": 1, "period": {"id": None}}}, [("/salary/period/id", "null_not_allowed")]),
    ({"pay/hour~": 1}, [("/pay~1hour~0", "unknown_field")]),
    ({"locations": [PLACE, {"description": "!"}]}, [("/locations/1/description", "invalid_characters")]),
    ({"applicantRoutingType": {"id": 2}}, [("/applicationUrl", "required")]),
    ({"description": ...}, [("/description", "required")]),
]


@pytest.mark.parametrize(("fields", "faults"), FAULTS, ids=lambda v: str(v)[:60])
async def test_a_fault_is_named_by_pointer_and_code(api, fields, faults):
    answer = await api.post(api.body(**fields))
    named = {(pointer, code) for pointer, code in answer.faults}
    assert set(faults) <= named, answer.raw
    assert {pointer.split("/")[1] for pointer, _ in named} == {p.split("/")[1] for p, _ in faults}


async def test_the_fields_that_a_new_job_lacks_are_listed_with_its_other_faults(api):
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
