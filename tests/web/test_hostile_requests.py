"""Requests that are made to be misread: two servers could read them in two ways, or they are endless or absurd.

Each is followed by a normal request on the same connection. Either that one is answered too, and nothing in between was
taken for a request, or the connection is closed.
"""

import asyncio

import pytest

from tests.web.raw_requests import BASE, CHUNKED, CHUNKS, JSON, LENGTH, SMUGGLED, ask, exchange

REFUSED: list[int | str] = [400, "closed"]

#: Requests whose end two servers could see in two places (RFC 9112, sections 2.2, 5.2, 6 and 7.1).
FRAMING: dict[str, tuple[bytes, list[int | str]]] = {
    "length and chunks": (ask("POST", JSON, "Content-Length: 5", CHUNKED) + b"0\r\n\r\n" + SMUGGLED, REFUSED),
    "chunks and length": (ask("POST", JSON, CHUNKED, "Content-Length: 5") + b"0\r\n\r\n" + SMUGGLED, REFUSED),
    "the same length twice": (ask("POST", JSON, "Content-Length: 2", "Content-Length: 2") + b"{}", REFUSED),
    "two lengths": (ask("POST", JSON, "Content-Length: 2", f"Content-Length: {len(SMUGGLED)}") + SMUGGLED, REFUSED),
    "a list of lengths": (ask("POST", JSON, "Content-Length: 2, 2") + b"{}", REFUSED),
    "a length with a sign": (ask("POST", JSON, "Content-Length: +2") + b"{}", REFUSED),
    "a length below zero": (ask("POST", JSON, "Content-Length: -2") + b"{}", REFUSED),
    "a length in hex": (ask("POST", JSON, "Content-Length: 0x2") + b"{}", REFUSED),
    "a length with a separator": (ask("POST", JSON, "Content-Length: 1_0") + b"{}", REFUSED),
    "a length with a fraction": (ask("POST", JSON, "Content-Length: 2.0") + b"{}", REFUSED),
    "an empty length": (ask("POST", JSON, "Content-Length: ") + b"{}", REFUSED),
    "a length of 60 digits": (ask("POST", JSON, "Content-Length: " + "9" * 60), REFUSED),
    "a space before the colon": (ask("POST", JSON, "Content-Length : 2") + b"{}", REFUSED),
    "a coding with a space before the colon": (ask("POST", JSON, "Transfer-Encoding : chunked") + CHUNKS, REFUSED),
    "another coding": (ask("POST", JSON, "Transfer-Encoding: cow") + CHUNKS, REFUSED),
    "no coding": (ask("POST", JSON, "Transfer-Encoding:") + CHUNKS, REFUSED),
    "identity": (ask("POST", JSON, "Transfer-Encoding: identity") + CHUNKS, REFUSED),
    "a coding before chunked": (ask("POST", JSON, "Transfer-Encoding: gzip, chunked") + CHUNKS, REFUSED),
    "identity before chunked": (ask("POST", JSON, "Transfer-Encoding: identity, chunked") + CHUNKS, REFUSED),
    "a coding after chunked": (ask("POST", JSON, "Transfer-Encoding: chunked, gzip") + CHUNKS, REFUSED),
    "chunked twice": (ask("POST", JSON, "Transfer-Encoding: chunked, chunked") + CHUNKS, REFUSED),
    "two coding lines": (ask("POST", JSON, CHUNKED, CHUNKED) + CHUNKS, REFUSED),
    "two coding lines that differ": (ask("POST", JSON, CHUNKED, "Transfer-Encoding: cow") + CHUNKS, REFUSED),
    "xchunked": (ask("POST", JSON, "Transfer-Encoding: xchunked") + CHUNKS, REFUSED),
    "chunked with a parameter": (ask("POST", JSON, "Transfer-Encoding: chunked;q=1") + CHUNKS, REFUSED),
    "chunked behind a control": (ask("POST", JSON, b"Transfer-Encoding: \x0bchunked") + CHUNKS, REFUSED),
    "chunked in quotes": (ask("POST", JSON, 'Transfer-Encoding: "chunked"') + CHUNKS, REFUSED),
    "chunked on a line of its own": (ask("POST", JSON, "Transfer-Encoding:\r\n chunked") + CHUNKS, REFUSED),
    "chunked with an underscore": (ask("POST", JSON, "Transfer_Encoding: chunked") + CHUNKS, REFUSED),
    "a folded header": (ask("GET", "X-A: b\r\n c"), REFUSED),
    "a line that begins with a space": (b"GET /healthz HTTP/1.1\r\n Host: x\r\n\r\n", REFUSED),
    "lines that end in LF": (b"GET /healthz HTTP/1.1\nHost: x\n\n", REFUSED),
    "one line that ends in LF": (b"GET /healthz HTTP/1.1\r\nHost: x\nX-A: b\r\n\r\n", REFUSED),
    "an end in LF": (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\n", REFUSED),
    "lines that end in CR": (b"GET /healthz HTTP/1.1\rHost: x\r\r", REFUSED),
    "a CR within a value": (ask("GET", b"X-A: b\rX-B: c"), REFUSED),
    "a NUL within a value": (ask("GET", b"X-A: b\0c"), REFUSED),
    "a NUL within a name": (ask("GET", b"X\0A: b"), REFUSED),
    "a header without a name": (ask("GET", ": b"), REFUSED),
    "two Hosts": (ask("GET", "Host: y"), REFUSED),
    "two media types": (ask("POST", JSON, JSON, "Content-Length: 2") + b"{}", REFUSED),
    "a size that is not a number": (ask("POST", JSON, CHUNKED) + b"zz\r\n{}\r\n0\r\n\r\n", REFUSED),
    "a size in 0x": (ask("POST", JSON, CHUNKED) + b"0x2\r\n{}\r\n0\r\n\r\n", REFUSED),
    "a size with a space": (ask("POST", JSON, CHUNKED) + b"2 \r\n{}\r\n0\r\n\r\n", REFUSED),
    "a size below zero": (ask("POST", JSON, CHUNKED) + b"-2\r\n{}\r\n0\r\n\r\n", REFUSED),
    "a size beyond 64 bits": (ask("POST", JSON, CHUNKED) + b"1" + b"0" * 16 + b"2\r\n{}\r\n0\r\n\r\n", REFUSED),
    "a size that ends in LF": (ask("POST", JSON, CHUNKED) + b"2\n{}\n0\n\n", REFUSED),
    "a chunk that is longer than its size": (ask("POST", JSON, CHUNKED) + b"1\r\n{}\r\n0\r\n\r\n", REFUSED),
    "an extension with LF": (ask("POST", JSON, CHUNKED) + b"2;a\nb\r\n{}\r\n0\r\n\r\n", REFUSED),
    "an extension with CR": (ask("POST", JSON, CHUNKED) + b"2;a\rb\r\n{}\r\n0\r\n\r\n", REFUSED),
    "a length in the trailer": (ask("POST", JSON, CHUNKED) + b"2\r\n{}\r\n0\r\nContent-Length: 55\r\n\r\n", REFUSED),
    "trailers without end": (ask("POST", JSON, CHUNKED) + b"2\r\n{}\r\n0\r\n" + b"X: y\r\n" * 500, [431, "closed"]),
    "garbage behind a request": (ask("GET") + b"garbage\r\n\r\n", REFUSED),
    # Odd requests that can be read in one way only.
    "a body of GET": (ask("GET", LENGTH) + SMUGGLED, [200, "end"]),
    "chunks of GET": (ask("GET", CHUNKED) + CHUNKS, [200, "end"]),
    "a body of HEAD": (ask("HEAD", LENGTH) + SMUGGLED, [200, "end"]),
    "a body of OPTIONS": (ask("OPTIONS", LENGTH) + SMUGGLED, [204, "end"]),
    "a body of DELETE": (ask("DELETE", LENGTH, path="/jobs/999") + SMUGGLED, [404, "end"]),
    "a body that is not JSON": (ask("POST", JSON, LENGTH) + SMUGGLED, [400, "end"]),
    "chunks that are not JSON": (ask("POST", JSON, CHUNKED) + CHUNKS, [400, "end"]),
    "a body without a key": (ask("POST", JSON, LENGTH).replace(b"KEY", b"x") + SMUGGLED, [401, "end"]),
    "a body of the wrong type": (ask("POST", LENGTH) + SMUGGLED, [415, "end"]),
    "an overridden body": (ask("POST", JSON, LENGTH, "X-HTTP-Method-Override: DELETE") + SMUGGLED, [400, "end"]),
    "chunked in capitals": (ask("POST", JSON, "TRANSFER-ENCODING: CHUNKED") + CHUNKS, [400, "end"]),
    "an extension": (ask("POST", JSON, CHUNKED) + b"2;a=b\r\n{}\r\n0\r\n\r\n", [422, "end"]),
    "a trailer": (ask("POST", JSON, CHUNKED) + b"2\r\n{}\r\n0\r\nX-A: b\r\n\r\n", [422, "end"]),
    "empty lines before a request": (b"\r\n\r\n" + ask("GET"), [200, "end"]),
    "spaces round a length": (ask("POST", JSON, "Content-Length:   2  ") + b"{}", [422, "end"]),
    "chunks in HTTP/1.0": (ask("POST", JSON, CHUNKED, version="HTTP/1.0") + b"2\r\n{}\r\n0\r\n\r\n", REFUSED),
    "an upgrade with a body": (ask("POST", JSON, LENGTH, "Connection: Upgrade", "Upgrade: websocket") + SMUGGLED, REFUSED),
    "an upgrade to h2c": (ask("POST", JSON, LENGTH, "Connection: Upgrade", "Upgrade: h2c") + SMUGGLED, REFUSED),
    "an upgrade": (ask("GET", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x"), [200, "closed"]),
    "an upgrade, and more": (ask("GET", "Connection: Upgrade", "Upgrade: h2c") + SMUGGLED, [200, "closed"]),
    "an unknown expectation": (ask("GET", "Expect: miracles"), [200, "end"]),
    "an expectation without a body": (ask("GET", "Expect: 100-continue"), [200, "end"]),
    "the options of all": (b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", [404, "end"]),
    "more behind a request of HTTP/1.0": (ask("GET", version="HTTP/1.0"), REFUSED),
    "more behind the last request": (ask("GET", "Connection: close"), REFUSED),
}  # fmt: skip


@pytest.mark.parametrize("what", FRAMING)
async def test_no_request_is_smuggled_in_the_body_of_another(api, what):
    data, expected = FRAMING[what]
    assert await exchange(api, data) == expected


@pytest.mark.parametrize(
    "first",
    [
        b"GET /healthz\r\n\r\n",
        b"GET /healthz HTTP/0.9\r\n\r\n",
        b"GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n",
        b"POST /healthz HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
        b"GET /healthz HTTP/1.2\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/01.1\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/1.1x\r\nHost: x\r\n\r\n",
        b"GET /healthz http/1.1\r\nHost: x\r\n\r\n",
        b"get /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET\t/healthz\tHTTP/1.1\r\nHost: x\r\n\r\n",
        b"A" * 100 + b" /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 50,
        b"SSH-2.0-x\r\n",
        b"\0" * 2_000,
    ],
)
async def test_another_protocol_or_version_is_a_400(api, first):
    assert await exchange(api, first) == REFUSED


#: Request target → status with a good key, and without one.
TARGETS: list[tuple[bytes, int, int]] = [
    (b"//", 404, 404), (b"//healthz", 404, 404), (b"/..", 404, 404), (b"/../../etc/passwd", 404, 404),
    (b"/%2e%2e/%2e%2e/etc/passwd", 404, 404), (b"/api/v1.1/../../healthz", 404, 401),
    (b"/api/v1.1/%2e%2e/jobs", 404, 401), (b"/api/v1.1//jobs", 404, 401), (b"//api/v1.1/jobs", 404, 404),
    (b"/healthz/../api/v1.1/jobs", 404, 404), (b"/healthz%2f..%2fapi/v1.1/jobs", 404, 404),
    (b"/api/v1.1/jobs/%00", 404, 401), (b"/api/v1.1/jobs/1%00", 404, 401), (b"/api/v1.1/jobs%2f1", 404, 401),
    (b"/api%2fv1.1/jobs", 404, 401), (b"/%61pi/v1.1/jobs", 200, 401), (b"/api/v1.1/jobs;x=1", 404, 401),
    (b"/api/v1.1/jobs/%ff", 404, 401), (b"/api/v1.1/jobs/%c0%ae", 404, 401), (b"/api/v1.1/jobs\\1", 404, 401),
    (b"/api/v1.1/jobs/" + b"9" * 5_000, 404, 401), (b"/api/v1.1/jobs/" + b"1/" * 2_000, 404, 401),
    (b"/api/v1.1/jobs?q=%ff", 400, 401), (b"/api/v1.1/jobs?q=%ed%a0%80", 400, 401), (b"/api/v1.1/jobs?q=%00", 200, 401),
    (b"/api/v1.1/jobs?q=%zz", 200, 401), (b"/api/v1.1/jobs?" + b"q=a&" * 1_900, 400, 401),
    (b"/api/v1.1/jobs?page=" + b"9" * 5_000, 400, 401), (b"/api/v1.1/jobs?pageSize=1e9", 400, 401),
    (b"/api/v1.1/jobs?" + b"&" * 5_000, 200, 401), (b"/api/v1.1/jobs?" + b"=" * 5_000, 200, 401),
    (b"http://x/api/v1.1/jobs", 200, 401), (b"http://other.example/api/v1.1/jobs", 200, 401),
    (b"http://user:secret@x/api/v1.1/jobs", 200, 401), (b"ftp://x/y", 404, 404), (b"http://[::1]/x", 404, 404),
    (b"/api/v1.1/jobs?q=\xff", 400, 400), (b"/\xc3\xa9", 400, 400), (b"*", 400, 400), (b"x:443", 400, 400),
    (b"api/v1.1/jobs", 400, 400), (b"?q", 400, 400), (b"http://", 400, 400), (b"http:///x", 400, 400),
    (b"http://x:99999/", 400, 400), (b"\\api", 400, 400), (b"/a b", 400, 400),
]  # fmt: skip


@pytest.mark.parametrize(("target", "status", "keyless"), TARGETS, ids=lambda v: repr(v)[:60])
async def test_no_form_of_an_address_avoids_the_key(api, target, status, keyless):
    head = b"GET " + target + b" HTTP/1.1\r\nHost: x\r\n"
    for key, expected in ((b"API-Key: KEY\r\n", status), (b"", keyless)):
        seen = await exchange(api, head + key + b"\r\n")
        assert seen[0] == expected
        assert seen[1] in ("end", "closed")


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "PROPFIND", "PURGE"])
async def test_unknown_methods_are_refused(api, method):
    target = "x:443" if method == "CONNECT" else f"{BASE}/jobs"
    seen = await exchange(api, f"{method} {target} HTTP/1.1\r\nHost: x\r\nAPI-Key: KEY\r\n\r\n".encode())
    assert seen == ([404, "closed"] if method == "CONNECT" else [405, "end"])


@pytest.mark.parametrize(
    "line",
    [
        b"X-A: \xff\xfe", b"X-Request-Id: \xff", b"X-HTTP-Method-Override: \xff", b"Accept: \xff", b"Origin: \xff",
        b"Accept-Encoding: \xff, gzip", b"Content-Type: \xff", b"Content-Encoding: \xff", b"Range: bytes=0-1",
        b"Cookie: " + b"a=b;" * 1_900, b"Authorization: " + b"x" * 8_000, b"If-Modified-Since: never",
        b"X-Forwarded-For: \xff", b"X-Forwarded-For: " + b"1," * 4_000, b"Forwarded: for=\xff", b"X-A:", b"TE: \xff",
    ],
)  # fmt: skip
async def test_a_broken_header_that_is_not_used_is_ignored(api, line):
    assert await exchange(api, ask("GET", line)) == [200, "end"]


DEEP = b"[" * 200_000 + b"]" * 200_000

#: Bodies → status of a POST.
BODIES: dict[str, tuple[bytes, int]] = {
    "arrays in arrays": (DEEP, 400),
    "arrays that do not end": (b"[" * 500_000, 400),
    "arrays within a member": (b'{"title":' + DEEP + b"}", 400),
    "objects in objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 400),
    "a number of 500,000 digits": (b'{"title":' + b"9" * 500_000 + b"}", 400),
    "a fraction of 900,000 digits": (b'{"salary":{"amount":0.' + b"1" * 900_000 + b"}}", 422),
    "an exponent beyond all": (b'{"salary":{"amount":1e999999999999}}', 422),
    "an exponent below all": (b'{"salary":{"amount":1e-999999999999}}', 422),
    "an exponent of 500,000 digits": (b'{"salary":{"amount":1e' + b"9" * 500_000 + b"}}", 400),
    "a NUL, escaped": (b'{"title":"a\\u0000b"}', 422),
    "a NUL in a name": (b'{"a\\u0000":1}', 422),
    "nothing but spaces": (b" " * 900_000, 400),
    "80,000 unknown members": (b"{" + b",".join(b'"m%d":1' % n for n in range(80_000)) + b"}", 422),
    "an unknown member with a long name": (b'{"' + b"a" * 900_000 + b'":1}', 422),
    "300,000 locations": (b'{"locations":[' + b",".join([b"{}"] * 300_000) + b"]}", 422),
    "400,000 categories": (b'{"categories":[' + b",".join([b"1"] * 400_000) + b"]}", 422),
    "a title of spaces": (b'{"title":"' + b" " * 900_000 + b'"}', 422),
    "tags without end": (b'{"description":"' + b"<b" * 400_000 + b'"}', 422),
    "nested paragraphs": (b'{"description":"' + b"<p>" * 300_000 + b'"}', 422),
    "300,000 wrong tags": (b'{"description":"' + b"<x>" * 300_000 + b'"}', 422),
    "an address of entities": (b'{"description":"<a href=\\"' + b"&#x6a;" * 140_000 + b'\\">x</a>"}', 422),
    "an e-mail address of signs": (b'{"applicationEmail":"' + b"a@" * 400_000 + b'"}', 422),
    "a web address of dots": (b'{"applicationUrl":"http://' + b"a." * 400_000 + b'"}', 422),
    "a place of commas": (b'{"locations":[{"description":"' + b"a," * 400_000 + b'"}]}', 422),
    "a date of digits": (b'{"closeDate":"' + b"9" * 900_000 + b'"}', 422),
}  # fmt: skip


@pytest.mark.parametrize("what", BODIES)
async def test_an_absurd_body_is_refused_quickly_and_the_connection_goes_on(api, what):
    body, status = BODIES[what]
    started = asyncio.get_running_loop().time()
    assert await exchange(api, ask("POST", JSON, f"Content-Length: {len(body)}") + body) == [status, "end"]
    assert asyncio.get_running_loop().time() - started < 5
    assert (await api.get("/jobs")).json["paging"]["total"] == 0


@pytest.mark.parametrize("media_type", [JSON, "Content-Type: text/plain", "X-A: none"])
async def test_a_missing_body_in_chunks_is_a_400_whatever_its_media_type(api, media_type):
    assert await exchange(api, ask("POST", media_type, CHUNKED) + b"0\r\n\r\n") == [400, "end"]


async def test_a_body_in_chunks_of_another_media_type_is_a_415(api):
    first, *_ = await exchange(api, ask("POST", "Content-Type: text/plain", CHUNKED) + CHUNKS)
    assert first == 415
