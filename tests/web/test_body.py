"""Bodies: strict JSON objects, of the right media type, within their size; and no value that makes a 500."""

import asyncio
import gzip
import json
import time
import zlib
from collections.abc import Awaitable
from itertools import pairwise

import pytest

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
    "an overlong slash": b'{"title": "\xc0\xaf"}',
    "minus nothing": b'{"salary": {"amount": -}}',
    "gzip, unannounced": gzip.compress(b'{"title": "x"}'),
}


@pytest.mark.parametrize("what", MALFORMED)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_a_body_that_is_not_a_strict_json_object_is_malformed(api, method, what):
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
async def test_an_odd_body_that_is_json_is_checked_by_the_rules(api, what):
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
async def test_no_value_of_any_field_makes_a_500(api, name):
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


# --- media type, size -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/jobs"), ("PUT", "/jobs"), ("PUT", "/jobs/1"), ("DELETE", "/jobs")]
)
async def test_a_missing_body_is_malformed_with_any_content_type(api, method, path):
    for media_type in ("application/json", "text/plain", ""):
        answer = await api(method, path, headers={"Content-Type": media_type})
        assert (answer.status, answer.code) == (400, "malformed_json")


@pytest.mark.parametrize(("encoding", "packed"), [("gzip", True), ("X-GZIP", True), ("identity", False)])
async def test_a_body_may_be_compressed(api, encoding, packed):
    body = json.dumps(api.body(title="Packed")).encode()
    raw = gzip.compress(body) if packed else body
    answer = await api("POST", "/jobs", raw=raw, headers={"Content-Encoding": encoding})
    assert (answer.status, answer.json["title"]) == (201, "Packed")


@pytest.mark.parametrize(
    "encoding", ["deflate", "br", "zstd", "compress", "gzip, gzip", "gzip, identity", "aws-chunked", "é"]
)
async def test_an_unknown_encoding_is_refused_with_the_one_that_is_known(api, encoding):
    answer = await api("POST", "/jobs", raw=b"{}", headers={"Content-Encoding": encoding})
    assert (answer.status, answer.code) == (415, "unsupported_media_type")
    assert answer.headers["Accept-Encoding"] == "gzip"


GOOD = gzip.compress(b'{"title": "x"}', mtime=0)  # so that the names of tests are the same in every process


@pytest.mark.parametrize(
    "raw",
    [b"{}", b"\x1f\x8b", GOOD[:-1], GOOD[:10], GOOD + b"x", GOOD + GOOD, GOOD[:12] + b"\xff" + GOOD[13:],
     zlib.compress(b"{}")],
)  # fmt: skip
async def test_a_broken_stream_is_malformed(api, raw):
    answer = await api("POST", "/jobs", raw=raw, headers={"Content-Encoding": "gzip"})
    assert (answer.status, answer.code) == (400, "malformed_json")


@pytest.mark.parametrize(
    ("size", "status", "words"),
    [
        (60_000, 201, ""),  # more than a hundred times, but small
        (290_000, 413, "100 times"),
        (301_000, 413, "100 times"),
    ],
)
async def test_a_bomb_is_given_up_at_the_ratio(serve, size, status, words):
    async with serve(max_body=300_000) as api:
        body = json.dumps(api.body(description="<p>" + "y" * size + "</p>")).encode()
        answer = await api("POST", "/jobs", raw=gzip.compress(body), headers={"Content-Encoding": "gzip"})
        assert answer.status == status
        assert status == 201 or words in answer.json["detail"]


async def test_a_body_may_be_as_long_as_the_limit_when_it_is_expanded(serve):
    async with serve(max_body=50_000) as api:
        body = json.dumps(api.body()).encode()
        for size, status in ((50_000, 201), (50_001, 413)):
            raw = gzip.compress(body.ljust(size))
            answer = await api("POST", "/jobs", raw=raw, headers={"Content-Encoding": "gzip"})
            assert answer.status == status
        assert "50000 bytes" in answer.json["detail"]


# --- large bodies -----------------------------------------------------------------------------------------------


def costly(size: int) -> bytes:
    """Return a body that takes much longer to judge than to read. Its only fault is at its end."""
    link = "<a href='http://x.ca'>"
    return json.dumps({"referenceId": "A", "description": link * (size // len(link)) + "<u>"}).encode()


async def longest_pause(work: Awaitable[object]) -> float:
    """Return the share of the time of ``work`` in which the event loop did nothing else."""
    task = asyncio.ensure_future(work)
    beats = [time.perf_counter()]
    while not task.done():
        await asyncio.sleep(0)
        beats.append(time.perf_counter())
    await task
    return max(after - before for before, after in pairwise(beats)) / (beats[-1] - beats[0])


@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_the_event_loop_goes_on_while_a_large_body_is_judged(api, method):
    raw = costly(900_000)
    answer = await api(method, "/jobs", raw=raw)
    assert ("/description", "disallowed_html") in answer.faults
    assert min([await longest_pause(api(method, "/jobs", raw=raw)) for _ in range(3)]) < 0.5


async def test_large_bodies_of_one_key_do_not_hold_up_those_of_another(api):
    raw, other = costly(300_000), api.as_employer("Other")
    tasks = [asyncio.ensure_future(api("PUT", "/jobs", raw=raw)) for _ in range(12)]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    await other("PUT", "/jobs", raw=raw)
    assert sum(task.done() for task in tasks) <= 6
    await asyncio.gather(*tasks)
