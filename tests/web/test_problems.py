"""Every error: what brings it about, its status, its code; and that nothing that is sent makes a 500."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import zlib
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from aiohttp import web

from syncd.errors import (
    ConfigError,
    DuplicateReference,
    IllegalTransition,
    Invalid,
    NotFound,
    PreconditionFailed,
    Problem,
    StoreBusy,
    StoreClosed,
    StoreInUse,
    StoreOverloaded,
)
from syncd.web import problems

if TYPE_CHECKING:
    from tests.api.client import ApiClient

#: Exception → status, code, and the members that this error alone has.
TABLE: list[tuple[BaseException, int, str, dict[str, Any]]] = [
    (
        Invalid([Problem("/a", "required", "is needed", 5)]),
        422,
        "validation_failed",
        {"errors": [{"pointer": "/a", "code": "required", "detail": "is needed"}]},
    ),
    (NotFound("job", 5), 404, "not_found", {}),
    (DuplicateReference("A-1", 7), 409, "duplicate_reference", {"id": 7}),
    (
        IllegalTransition("active", "draft", ("archived",)),
        409,
        "illegal_transition",
        {"from": "active", "to": "draft", "allowed": ["archived"]},
    ),
    (PreconditionFailed("version 3 it is"), 412, "precondition_failed", {}),
    (StoreOverloaded(3), 503, "overloaded", {}),
    (StoreBusy("locked by /secret/path"), 503, "overloaded", {}),
    (StoreInUse("/secret/path"), 503, "overloaded", {}),
    (StoreClosed("closed"), 503, "shutting_down", {}),
    (ConfigError(["secret"]), 500, "internal_error", {}),
    (KeyError("secret"), 500, "internal_error", {}),
    (web.HTTPNotFound(), 404, "not_found", {}),
    (web.RequestPayloadError("secret"), 400, "malformed_request", {}),
]


@pytest.mark.parametrize(("error", "status", "code", "members"), TABLE, ids=lambda v: str(v)[:40])
def test_an_exception_has_one_status_one_code_and_tells_no_secret(
    error: BaseException, status: int, code: str, members: dict[str, Any]
) -> None:
    answer = problems.render(error, "id-1")
    told = json.loads(answer.body)  # type: ignore[arg-type]
    assert (answer.status, told["status"], told["code"]) == (status, status, code)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert told["requestId"] == "id-1"
    assert {name: told[name] for name in members} == members
    assert set(told) == {"type", "title", "status", "detail", "code", "requestId", *members}
    assert "secret" not in answer.body.decode()  # type: ignore[union-attr]
    assert ("Retry-After" in answer.headers) is (status == 503)


def test_a_client_is_told_when_to_come_back() -> None:
    assert problems.render(StoreOverloaded(3), "x").headers["Retry-After"] == "3"


# --- bodies -------------------------------------------------------------------------------------------------

NESTED = b'{"title":' + b"[" * 63 + b"]" * 63 + b"}"
MALFORMED: dict[str, bytes] = {
    "nothing": b"",
    "white space": b" \n",
    "no JSON": b"hello",
    "half": b'{"title": "x"',
    "text after it": b'{"title": "x"} {}',
    "a trailing comma": b'{"title": "x",}',
    "single quotes": b"{'title': 'x'}",
    "a comment": b'{"title": "x"} // so',
    "an array": b"[]",
    "a string": b'"title"',
    "null": b"null",
    "a number": b"5",
    "a member twice": b'{"title": "x", "title": "y"}',
    "a member twice inside": b'{"salary": {"amount": 1, "amount": 2}}',
    "a member twice by escape": b'{"title": "x", "t\\u0069tle": "y"}',
    "NaN": b'{"salary": {"amount": NaN}}',
    "Infinity": b'{"salary": {"amount": Infinity}}',
    "-Infinity": b'{"salary": {"amount": -Infinity}}',
    "65 levels": b'{"title":' + b"[" * 64 + b"]" * 64 + b"}",
    "65 levels of objects": b'{"a":' * 65 + b"1" + b"}" * 65,
    "100,000 levels": b"[" * 100_000,
    "100,000 levels of objects": b'{"a":' * 100_000,
    "100,000 levels, closed": b'{"title":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "broken UTF-8": b'{"title": "\xff"}',
    "cut UTF-8": b'{"title": "\xe2\x82"}',
    "a surrogate as UTF-8": b'{"title": "\xed\xa0\x80"}',
    "UTF-16": '{"title": "x"}'.encode("utf-16"),
    "UTF-32": '{"title": "x"}'.encode("utf-32-le"),
    "a byte order mark": b'\xef\xbb\xbf{"title": "x"}',
    "a lone high surrogate": b'{"title": "\\ud83d"}',
    "a lone low surrogate": b'{"title": "\\uDE00x"}',
    "a lone surrogate in a name": b'{"\\ud800": 1}',
    "a lone surrogate deep inside": b'{"locations": [{"description": "a\\udfffb"}]}',
    "a lone surrogate twice as a name": b'{"\\ud800": 1, "\\ud800": 2}',
    "5,000 digits": b'{"salary": {"amount": ' + b"9" * 5_000 + b"}}",
    "an exponent beyond all": b'{"salary": {"amount": 1e99999999999999999999}}',
    "a raw control character": b'{"title": "a\nb"}',
    "a leading zero": b'{"salary": {"amount": 01}}',
    "a NUL": b'{"title": "x"}\x00',
    "a bad escape": b'{"title": "\\x41"}',
    "gzip, unannounced": gzip.compress(b'{"title": "x"}'),
}


@pytest.mark.parametrize("what", MALFORMED)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_a_body_that_is_no_strict_json_object_is_malformed(
    api: ApiClient, method: str, what: str
) -> None:
    answer = await api(method, "/jobs", raw=MALFORMED[what])
    assert (answer.status, answer.code) == (400, "malformed_json")


ACCEPTED: dict[str, tuple[bytes, list[tuple[str, str]] | None]] = {
    "64 levels": (NESTED, [("/title", "wrong_type")]),
    "brackets in text": (b'{"title": "' + b"[{" * 60 + b'"}', None),
    "a surrogate pair": (b'{"title": "\\ud83d\\ude00"}', None),
    "an escaped backslash before u": (b'{"title": "\\\\ud83d"}', None),
    "4,000 digits": (
        b'{"salary": {"amount": ' + b"9" * 4_000 + b', "period": {"id": 1}}}',
        [("/salary/amount", "out_of_range")],
    ),
    "a huge exponent": (
        b'{"salary": {"amount": 1e999999, "period": {"id": 1}}}',
        [("/salary/amount", "out_of_range")],
    ),
    "a tiny exponent": (
        b'{"salary": {"amount": 1e-999999, "period": {"id": 1}}}',
        [("/salary/amount", "out_of_range")],
    ),
    "a fraction for an Int32": (b'{"positionType": {"id": 1.5}}', [("/positionType/id", "wrong_type")]),
    "white space round it": (b' \r\n\t{"title": "x"} \n', None),
    "an empty object": (b"{}", None),
}


@pytest.mark.parametrize("what", ACCEPTED)
async def test_a_body_that_is_odd_but_json_is_judged_by_the_rules(api: ApiClient, what: str) -> None:
    raw, faults = ACCEPTED[what]
    job = await api.create()
    answer = await api("PUT", f"/jobs/{job['id']}", raw=raw)
    if faults is None:
        assert answer.status == 200, answer.raw
    else:
        assert answer.faults == faults


HOSTILE_VALUES: list[object] = [
    None, True, 0, -1, 2**31, 10**40, 1.5, "", " ", "\x00", "x" * 100_000, [], {}, [[]], [None], {"id": None},
    {"id": {}}, {"id": []}, [{"id": None}], [{"description": None}], [{"description": 5}], {"": ""},
    "\U0010ffff", "\ufffe", "<", "&#0;", "javascript:x", "9999-99-99", "0000-01-01", "2026-02-30", "1/2",
]  # fmt: skip
FIELDS = (
    "id", "referenceId", "employer", "title", "publishDate", "closeDate", "confidential", "autoRefresh",
    "status", "locations", "categories", "positionType", "salary", "description", "applicantRoutingType",
    "applicationEmail", "applicationUrl", "unknown",
)  # fmt: skip


@pytest.mark.parametrize("name", FIELDS)
async def test_no_value_of_any_field_makes_a_500(api: ApiClient, name: str) -> None:
    job = await api.create(referenceId="A-1")
    for value in HOSTILE_VALUES:
        for method, path in (("POST", "/jobs"), ("PUT", f"/jobs/{job['id']}"), ("PUT", "/jobs")):
            body = {"referenceId": "A-1", name: value} if method == "PUT" else api.body(**{name: value})
            answer = await api(method, path, body)
            assert answer.status in (200, 201, 422, 409), (method, name, value, answer.raw)
            if answer.status >= 400:
                assert answer.code
        if (await api.get(f"/jobs/{job['id']}")).json["referenceId"] != "A-1":
            await api.put(f"/jobs/{job['id']}", {"referenceId": "A-1"})


SALARIES: list[object] = [
    {"amount": value, "maxAmount": value, "period": {"id": 1}}
    for value in (None, "", "5", [], {}, True, 10**40)
] + [{"period": value} for value in (None, 1, "1", [], {"id": None}, {"id": 6}, {"id": 2**40}, {"name": 5})]


@pytest.mark.parametrize("salary", SALARIES, ids=str)
async def test_no_salary_makes_a_500(api: ApiClient, salary: object) -> None:
    answer = await api.post(api.body(salary=salary))
    assert answer.status in (201, 422), answer.raw


# --- media type, size -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=UTF-8", 200),
        ("APPLICATION/JSON", 200),
        ("application/json-patch+json", 200),  # it does start so
        ("text/json", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("", 415),
    ],
)
async def test_a_content_type_has_to_start_with_application_json(
    api: ApiClient, type: str, status: int
) -> None:
    job = await api.create()
    answer = await api("PUT", f"/jobs/{job['id']}", {"title": "x"}, headers={"Content-Type": type})
    assert answer.status == status, answer.raw
    if status == 415:
        assert answer.code == "unsupported_media_type"


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/jobs"), ("PUT", "/jobs"), ("PUT", "/jobs/1"), ("DELETE", "/jobs")]
)
async def test_a_missing_body_is_malformed_whatever_the_content_type(
    api: ApiClient, method: str, path: str
) -> None:
    for type in ("application/json", "text/plain", ""):
        answer = await api(method, path, headers={"Content-Type": type})
        assert (answer.status, answer.code) == (400, "malformed_json")


async def test_a_body_may_be_compressed(api: ApiClient) -> None:
    body = json.dumps(api.body()).encode()
    for encoding, raw in (
        ("gzip", gzip.compress(body)),
        ("X-GZIP", gzip.compress(body)),
        ("deflate", zlib.compress(body)),
        ("deflate", zlib.compress(body)[2:-4]),
        ("identity", body),
    ):
        answer = await api("POST", "/jobs", raw=raw, headers={"Content-Encoding": encoding})
        assert answer.status == 201, (encoding, answer.raw)


@pytest.mark.parametrize(
    ("encoding", "raw", "status", "code"),
    [
        ("gzip", b"this is no gzip", 400, "malformed_json"),
        ("gzip", gzip.compress(b'{"title": "x"}', mtime=0)[:-9], 400, "malformed_json"),
        ("gzip", gzip.compress(b'{"title": "x"}', mtime=0) + b"more", 400, "malformed_json"),
        ("deflate", b"\x07\x01\x02", 400, "malformed_json"),
        ("deflate", b"", 400, "malformed_json"),
        ("gzip", gzip.compress(b"[" * 20_000_000, mtime=0), 413, "body_too_large"),
        ("br", b"x", 415, "unsupported_media_type"),
        ("zstd", b"x", 415, "unsupported_media_type"),
        ("rot13", b"x", 415, "unsupported_media_type"),
    ],
)
async def test_a_badly_compressed_body_is_refused_in_json(
    api: ApiClient, encoding: str, raw: bytes, status: int, code: str
) -> None:
    answer = await api("POST", "/jobs", raw=raw, headers={"Content-Encoding": encoding})
    assert (answer.status, answer.code) == (status, code)


async def test_a_body_may_be_as_long_as_the_limit_and_no_longer(serve: Any) -> None:
    async with serve(max_body=2_000) as api:
        short = json.dumps(api.body()).encode()
        fits = await api("POST", "/jobs", raw=short.ljust(2_000))
        assert fits.status == 201, fits.raw
        longer = await api("POST", "/jobs", raw=short.ljust(2_001))
        assert (longer.status, longer.code) == (413, "body_too_large")


# --- the order of checks --------------------------------------------------------------------------------


async def test_checks_come_in_the_documented_order(serve: Any) -> None:
    async with serve(max_body=100) as api:
        wrong: dict[str, Any] = {"headers": {"Content-Type": "text/plain"}, "raw": b"{" * 200}
        no_key = {**wrong, "headers": {**wrong["headers"], "API-Key": "x"}}
        assert (await api("PATCH", "/nowhere", **no_key)).code == "unauthenticated"
        assert (await api("PATCH", "/nowhere", **wrong)).code == "not_found"
        assert (await api("PATCH", "/jobs", **wrong)).code == "method_not_allowed"
        assert (await api("POST", "/jobs", **wrong)).code == "unsupported_media_type"
        assert (await api("POST", "/jobs", raw=b"{" * 200)).code == "body_too_large"
        assert (await api("POST", "/jobs", raw=b"{" * 50)).code == "malformed_json"
        assert (await api("PUT", "/jobs/999", raw=b'{"titel": "x"}')).code == "validation_failed"
        assert (await api("PUT", "/jobs/999", raw=b'{"title": "x"}')).code == "not_found"


async def test_the_merged_job_is_judged_before_conflicts(api: ApiClient) -> None:
    await api.create(referenceId="A-1")
    job = await api.create(status="draft", description=None)
    path = f"/jobs/{job['id']}"
    both = {"status": "active", "referenceId": "A-1"}
    assert (await api.put(path, both)).faults == [("/description", "required")]
    taken = await api.put(path, {"referenceId": "A-1"})
    assert taken.code == "duplicate_reference"
    live = await api.create(referenceId="A-2", salary=None)
    back = {"status": "draft", "salary": {"maxAmount": 5}}
    for path, sent in ((f"/jobs/{live['id']}", back), ("/jobs", {"referenceId": "A-2", **back})):
        assert (await api.put(path, sent)).faults == [("/salary/amount", "required")]
        assert (await api.put(path, {**sent, "salary": None})).code == "illegal_transition"


async def test_the_wrong_id_in_a_body_is_told_with_all_else_that_is_wrong_with_it(api: ApiClient) -> None:
    job = await api.create()
    for path in (f"/jobs/{job['id']}", "/jobs/999"):
        answer = await api.put(path, {"title": 5, "id": 998, "titel": "x"})
        wrong = [("/title", "wrong_type"), ("/id", "read_only_mismatch"), ("/titel", "unknown_field")]
        assert answer.faults == wrong


# --- conflicts, overload, failure -------------------------------------------------------------------------


async def test_a_second_post_with_a_reference_is_told_which_job_has_it(api: ApiClient) -> None:
    job = await api.create(referenceId="A-1")
    answer = await api.post(api.body(referenceId=" A-1 "))
    assert (answer.status, answer.code) == (409, "duplicate_reference")
    assert answer.json["id"] == job["id"]


async def test_a_full_writer_answers_503_and_when_to_come_back(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api.store._writer, "_limit", 0)
    answer = await api.post(api.body())
    assert (answer.status, answer.code) == (503, "overloaded")
    assert int(answer.headers["Retry-After"]) >= 1
    assert (await api.get("/jobs")).status == 200


async def test_a_closed_store_answers_503(api: ApiClient) -> None:
    assert (await api.get("/jobs")).status == 200  # the key is known from here on
    api.store.close()
    for answer in (await api.get("/jobs"), await api.get("/jobs/1"), await api.post(api.body())):
        assert (answer.status, answer.code) == (503, "shutting_down")
        assert "Retry-After" in answer.headers


async def test_what_nobody_foresaw_is_a_500_in_json_that_tells_nothing(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await api.get("/jobs")

    def broken(*_: object) -> None:
        raise RuntimeError("the secret")

    monkeypatch.setattr(api.store, "look_up", broken)
    with structlog.testing.capture_logs() as lines:
        answer = await api.get("/jobs/1")
    assert (answer.status, answer.code) == (500, "internal_error")
    assert b"secret" not in answer.raw
    assert [line["event"] for line in lines] == ["api.failed", "api.request"]
    assert {line["request_id"] for line in lines} == {answer.json["requestId"]}
    assert lines[0]["exc_info"].args == ("the secret",)


async def test_64_clients_that_put_one_new_reference_make_one_job(api: ApiClient) -> None:
    body = api.body(referenceId="A-1")
    answers = await asyncio.gather(*(api.put("/jobs", body) for _ in range(64)))
    assert sorted(answer.status for answer in answers) == [200] * 63 + [201]
    assert len({answer.raw for answer in answers}) == 1
    assert (await api.get("/jobs")).json["paging"]["total"] == 1


async def test_64_clients_that_post_one_new_reference_make_one_job(api: ApiClient) -> None:
    body = api.body(referenceId="A-1")
    answers = await asyncio.gather(*(api.post(body) for _ in range(64)))
    assert sorted(answer.status for answer in answers) == [201] + [409] * 63
    assert (await api.get("/jobs")).json["paging"]["total"] == 1


async def test_of_64_clients_that_want_one_reference_for_their_jobs_exactly_one_gets_it(
    api: ApiClient,
) -> None:
    made = [await api.create(title=f"Job {number}") for number in range(64)]
    answers = await asyncio.gather(*(api.put(f"/jobs/{job['id']}", {"referenceId": "A-1"}) for job in made))
    assert sorted(answer.status for answer in answers) == [200] + [409] * 63
    (winner,) = [answer.json["id"] for answer in answers if answer.status == 200]
    assert {answer.json["id"] for answer in answers} == {winner}  # a 409 tells who has it
    assert [job["id"] for job in (await api.get("/jobs?q=A-1")).json["data"]] == [winner]


async def test_64_clients_that_make_change_and_delete_one_reference_leave_at_most_one_job(
    api: ApiClient,
) -> None:
    body, reference = api.body(referenceId="A-1"), {"referenceId": "A-1"}
    asked = [
        request
        for number in range(16)
        for request in (
            api.put("/jobs", {**body, "title": f"Job {number}"}),
            api.delete("/jobs", reference),
            api.post(body),
            api.put("/jobs", body, headers={"If-None-Match": "*"}),
        )
    ]
    statuses = [answer.status for answer in await asyncio.gather(*asked)]
    assert set(statuses) <= {200, 201, 204, 404, 409, 412}
    left = statuses.count(201) - statuses.count(204)
    assert left in (0, 1)
    listed = (await api.get("/jobs?q=a-1")).json
    assert (listed["paging"]["total"], len(listed["data"])) == (left, left)
    assert (await api.delete("/jobs", reference)).status == (204 if left else 404)


async def test_a_write_goes_through_although_its_client_has_left(api: ApiClient) -> None:
    await api.get("/jobs")
    held, let_go = threading.Event(), threading.Event()

    def hold(_tx: object) -> None:
        held.set()
        let_go.wait(10)

    blocker = asyncio.ensure_future(api.store.write_async(hold))
    await asyncio.to_thread(held.wait, 10)
    request = asyncio.ensure_future(api.put("/jobs", api.body(referenceId="A-1")))
    while not api.store.waiting_writes:
        await asyncio.sleep(0.01)
    request.cancel()
    await asyncio.gather(request, return_exceptions=True)
    let_go.set()
    await blocker
    assert (await api.put("/jobs", {"referenceId": "A-1"})).status == 200
