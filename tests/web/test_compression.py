"""gzip in answers, for clients that prefer it, and in requests, within limits."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient
from hypothesis import given
from hypothesis import strategies as st
from pytest_aiohttp.plugin import AiohttpClient

from syncd.api import make_app
from syncd.config import Api
from syncd.domain import Catalogue
from syncd.web import add_endpoint
from syncd.web.negotiation import prefers_gzip

if TYPE_CHECKING:
    from tests.api.client import ApiClient
    from tests.api.contract import Answer

GZIP = {"Accept-Encoding": "gzip"}
LONG = "<p>" + "Cook well, and be kind. " * 200 + "</p>"


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", False), ("gzip", True), ("GZip", True), ("x-gzip", True), ("gzip, deflate, br, zstd", True), ("*", True),
        ("deflate, br", False), ("identity", False), ("gzip;q=0", False), ("gzip;q=0.000", False), ("gzip;q=0.001", True),
        ("gzip; q=0.5, identity; q=1", False), ("gzip;q=0.5, identity;q=0.5", True), ("gzip, identity;q=0", True),
        ("*;q=0.1", True), ("*;q=0", False), ("gzip;q=0, *", False), ("*;q=0, gzip", True), ("gzip;q=2", False),
        ("gzip;q=x", False), ("gzip;q=", False), (",,gzip ,", True), ("gzip;Q=0", False), ("notgzip", False),
    ],
)  # fmt: skip
def test_who_prefers_gzip(accept: str, wanted: bool) -> None:
    assert prefers_gzip(accept) is wanted


@given(st.text())
def test_every_accept_encoding_can_be_read(accept: str) -> None:
    assert prefers_gzip(accept) in (True, False)


def vary(answer: Answer) -> set[str]:
    return {name.strip().lower() for name in answer.headers.get("Vary", "").split(",") if name.strip()}


async def fetch(api: ApiClient, path: str, **headers: str) -> Answer:
    """Send a request over a raw connection, because aiohttp's client decompresses answers."""
    wire = await api.wire()
    lines = [f"GET /api/v1.1{path} HTTP/1.1", "Host: x", f"API-Key: {api.key}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    await wire.send("\r\n".join([*lines, "", ""]).encode())
    status, found = await wire.head()
    raw = await wire.reader.readexactly(int(found.get("content-length", 0)))
    await wire.close()
    return type(await api.get("/jobs"))(status, {name.title(): value for name, value in found.items()}, raw)


async def test_a_long_answer_is_compressed_for_a_client_that_prefers_it(api: ApiClient) -> None:
    job = await api.create(description=LONG)
    path = f"/jobs/{job['id']}"
    plain, packed = await fetch(api, path), await fetch(api, path, Accept_Encoding="br, gzip;q=0.8")
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.raw) == plain.raw
    assert len(packed.raw) < len(plain.raw) / 5
    for answer in (plain, packed):
        assert "accept-encoding" in vary(answer)
        assert answer.headers["Content-Type"].startswith("application/json")
    assert (await fetch(api, path, Accept_Encoding="gzip")).raw == packed.raw


async def test_head_says_what_get_would(api: ApiClient) -> None:
    job = await api.create(description=LONG)
    got = await fetch(api, f"/jobs/{job['id']}", Accept_Encoding="gzip")
    head = await api("HEAD", f"/jobs/{job['id']}", headers=GZIP)
    assert head.raw == b""
    assert head.headers["Content-Encoding"] == "gzip"
    assert head.headers["Content-Length"] == str(len(got.raw))


async def test_small_answers_problems_and_empty_ones_are_left_alone(api: ApiClient) -> None:
    job = await api.create(description="<p>x</p>")
    for answer in (
        await fetch(api, f"/jobs/{job['id']}", Accept_Encoding="gzip"),
        await fetch(api, "/jobs/999", Accept_Encoding="gzip"),
        await api.delete(f"/jobs/{job['id']}", headers=GZIP),
    ):
        assert "Content-Encoding" not in answer.headers


@pytest.mark.parametrize(("settings", "packed"), [({"compress": False}, False), ({"compress_min": 10}, True)])
async def test_the_operator_decides(serve: Any, settings: dict[str, Any], packed: bool) -> None:
    async with serve(**settings) as api:
        job = await api.create(description="<p>x</p>")
        answer = await fetch(api, f"/jobs/{job['id']}", Accept_Encoding="gzip")
        assert ("Content-Encoding" in answer.headers) is packed


async def test_an_answer_beyond_all_usual_size_is_compressed_too(serve: Any) -> None:
    async with serve(max_body=4 * 1024**2) as api:
        job = await api.create(description="<p>" + "x" * 1_000_000 + "</p>")
        answer = await fetch(api, f"/jobs/{job['id']}", Accept_Encoding="gzip")
        assert len(json.loads(gzip.decompress(answer.raw))["description"]) == 1_000_007


# -- tags of variants ------------------------------------------------------------------------------------------


@pytest.fixture
async def tagged(store: Any, aiohttp_client: AiohttpClient) -> TestClient[Any, Any]:
    """An endpoint whose answer has the tag ``"v1"``, and another with a weak one."""

    def endpoint(tag: str) -> Any:
        async def serve(request: web.Request) -> web.Response:
            known = request.headers.get("If-None-Match", "").replace("-gzip", "")
            if tag in known:
                return web.Response(status=304, headers={"ETag": tag})
            return web.json_response({"text": "x" * 5_000}, headers={"ETag": tag, "Vary": "Accept"})

        return serve

    app = make_app(store, Api(), Catalogue.default())
    app.router._resources.pop()  # the one that takes every other address
    add_endpoint(app, "/strong", {"GET": endpoint('"v1"')})
    add_endpoint(app, "/weak", {"GET": endpoint('W/"v1"')})
    return await aiohttp_client(app)


@pytest.mark.parametrize(
    ("path", "accept", "tag"),
    [
        ("/strong", "gzip", '"v1-gzip"'),
        ("/strong", "identity", '"v1"'),
        ("/weak", "gzip", 'W/"v1"'),
        ("/weak", "identity", 'W/"v1"'),
    ],
)
async def test_the_compressed_variant_has_a_tag_of_its_own(
    tagged: TestClient[Any, Any], path: str, accept: str, tag: str
) -> None:
    answer = await tagged.get(path, headers={"Accept-Encoding": accept})
    assert answer.headers["ETag"] == tag
    assert answer.headers["Vary"] == "Accept, Accept-Encoding"


@pytest.mark.parametrize(
    ("known", "accept", "tag"),
    [
        ('"v1-gzip"', "gzip", '"v1-gzip"'),
        ('"v0", "v1-gzip"', "gzip", '"v1-gzip"'),
        ('"v1"', "gzip", '"v1"'),
        ('"v1"', "identity", '"v1"'),
        ('"v1-gzip"', "identity", '"v1"'),
    ],
)
async def test_not_modified_names_the_variant_that_the_client_has(
    tagged: TestClient[Any, Any], known: str, accept: str, tag: str
) -> None:
    answer = await tagged.get("/strong", headers={"Accept-Encoding": accept, "If-None-Match": known})
    assert (answer.status, answer.headers["ETag"]) == (304, tag)
    assert "Accept-Encoding" in answer.headers["Vary"]


async def test_the_tag_of_a_compressed_job_names_its_version_in_every_condition(api: ApiClient) -> None:
    """The variants have tags of their own (RFC 9110, section 8.8.3.3). A client sends back the one that it got."""
    job = await api.create(description=LONG)
    path = f"/jobs/{job['id']}"
    packed = (await fetch(api, path, Accept_Encoding="gzip")).headers["Etag"]
    plain = (await fetch(api, path)).headers["Etag"]
    assert packed != plain
    for known, accept, named in (
        (packed, "gzip", packed),
        (packed, "identity", plain),
        (plain, "gzip", plain),
    ):
        kept = await fetch(api, path, If_None_Match=known, Accept_Encoding=accept)
        assert (kept.status, kept.headers["Etag"], kept.raw) == (304, named, b"")
    changed = await api.put(path, {"title": "Changed"}, headers={"If-Match": packed, **GZIP})
    assert (changed.status, changed.json["title"]) == (200, "Changed")
    assert (await api.put(path, {"title": "Lost"}, headers={"If-Match": packed})).status == 412
    assert (await fetch(api, path, If_None_Match=packed, Accept_Encoding="gzip")).status == 200
    newest = (await fetch(api, path, Accept_Encoding="gzip")).headers["Etag"]
    assert (await api.delete(path, headers={"If-Match": newest})).status == 204


# -- requests --------------------------------------------------------------------------------------------------


def deflated(body: bytes, bits: int) -> bytes:
    stream = zlib.compressobj(9, zlib.DEFLATED, bits)
    return stream.compress(body) + stream.flush()


@pytest.mark.parametrize(
    ("encoding", "bits"), [("gzip", 31), ("x-gzip", 31), ("GZIP", 31), ("deflate", 15), ("deflate", -15)]
)
async def test_a_compressed_body_is_read(api: ApiClient, encoding: str, bits: int) -> None:
    raw = deflated(json.dumps(api.body(title="Packed")).encode(), bits)
    answer = await api("POST", "/jobs", raw=raw, headers={"Content-Encoding": encoding})
    assert (answer.status, answer.json["title"]) == (201, "Packed")


@pytest.mark.parametrize(
    "encoding", ["br", "zstd", "compress", "gzip, gzip", "gzip, identity", "aws-chunked", "é"]
)
async def test_an_unknown_encoding_is_refused_with_those_that_are_known(
    api: ApiClient, encoding: str
) -> None:
    answer = await api("POST", "/jobs", raw=b"{}", headers={"Content-Encoding": encoding})
    assert (answer.status, answer.code) == (415, "unsupported_media_type")
    assert answer.headers["Accept-Encoding"] == "gzip, deflate"


GOOD = gzip.compress(b'{"title": "x"}', mtime=0)  # so that the names of tests are the same in every process


@pytest.mark.parametrize(
    "raw",
    [b"{}", b"\x1f\x8b", GOOD[:-1], GOOD[:10], GOOD + b"x", GOOD + GOOD, GOOD[:12] + b"\xff" + GOOD[13:]],
)  # fmt: skip
async def test_a_broken_stream_is_malformed(api: ApiClient, raw: bytes) -> None:
    answer = await api("POST", "/jobs", raw=raw, headers={"Content-Encoding": "gzip"})
    assert (answer.status, answer.code) == (400, "malformed_json")


async def test_a_bomb_is_given_up_at_the_size_or_the_ratio_that_is_reached_first(serve: Any) -> None:
    async with serve(max_body=300_000, max_ratio=20) as api:

        async def send(size: int) -> Answer:
            body = json.dumps(api.body(description="<p>" + "y" * size + "</p>")).encode()
            answer: Answer = await api(
                "POST", "/jobs", raw=gzip.compress(body), headers={"Content-Encoding": "gzip"}
            )
            return answer

        assert (await send(60_000)).status == 201  # more than twenty times, but small
        dense = await send(70_000)
        assert (dense.status, dense.code) == (413, "body_too_large")
        assert "20 times" in dense.json["detail"]
    async with serve(max_body=300_000, max_ratio=10_000) as api:
        assert (await send(290_000)).status == 201
        large = await send(300_001)
        assert (large.status, large.code) == (413, "body_too_large")
        assert "300000 bytes" in large.json["detail"]
