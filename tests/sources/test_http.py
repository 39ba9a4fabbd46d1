"""One fetch by HTTP: conditions, redirects, credentials, answers that are not feeds, and those that are cut."""

import asyncio
import gzip
import ssl
import sys
import traceback
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest
from aiohttp import compression_utils, web
from yarl import URL

from syncd.feeds.source import Request
from syncd.sources.http import file_name, look
from syncd.sources.results import NotModified, Seen, Terms, Times
from tests.certificates import make_certificate
from tests.sources.conftest import LOOPBACK, NOW

FEED = b"<jobs><job><id>1</id></job></jobs>"


def quick(**times):
    return Times(**{"connect": 2, "silence": 0.3, "whole": 5} | times)


async def test_a_file_is_fetched_as_it_is(site, incoming):
    site["/out/jobs.xml"] = {
        "body": FEED, "content_type": "application/xml",
        "headers": {"ETag": '"a1"', "Last-Modified": "Sat, 28 Nov 2026 06:00:00 GMT"},
    }  # fmt: skip
    file = await incoming.fetch(site.url("/out/jobs.xml?token=x"))
    assert (file.path.read_bytes(), file.name, file.size) == (FEED, "jobs.xml", len(FEED))
    assert file.sha256 == sha256(FEED).hexdigest()
    assert file.seen == Seen('"a1"', "Sat, 28 Nov 2026 06:00:00 GMT", file.sha256, file.size)
    assert file.path.stat().st_mode & 0o777 == 0o640
    (asked,) = site.asked
    assert (asked.method, asked.query_string) == ("GET", "token=x")
    assert asked.headers["User-Agent"] == "syncd/test"
    assert "gzip" in asked.headers["Accept-Encoding"]
    assert not {"If-None-Match", "If-Modified-Since", "Authorization", "Cookie"} & {*asked.headers}


@pytest.mark.parametrize(
    ("seen", "header", "value"),
    [
        (Seen(etag='W/"x"', last_modified="Sat, 28 Nov 2026 06:00:00 GMT"), "If-None-Match", 'W/"x"'),
        (Seen(last_modified="Sat, 28 Nov 2026 06:00:00 GMT"), "If-Modified-Since", "Sat, 28 Nov 2026 06:00:00 GMT"),
    ],
)  # fmt: skip
async def test_a_file_that_was_seen_is_asked_for_with_a_condition(seen, header, value, site, incoming):
    site["/jobs.xml"] = {"status": 304}
    assert await incoming.fetch(site.url("/jobs.xml"), seen) == NotModified("304 Not Modified")
    conditions = {"If-None-Match", "If-Modified-Since"} & {*site.asked[0].headers}
    assert (conditions, site.asked[0].headers[header]) == ({header}, value)


async def test_a_304_that_was_not_asked_for_is_a_failure(site, incoming):
    site["/jobs.xml"] = {"status": 304}
    assert str(await incoming.refusal(site.url("/jobs.xml"))) == "304 Not Modified"
    post = {"method": "POST", "body": "{}"}
    assert (
        str(await incoming.refusal(site.url("/jobs.xml"), seen=Seen(etag='"x"'), **post))
        == "304 Not Modified"
    )


@pytest.mark.parametrize(
    ("status", "temporary", "text"),
    [
        (401, False, "401 Unauthorized: see the credentials of [source]"),
        (403, False, "403 Forbidden: see the credentials of [source], or ask whether this machine may fetch it"),
        (404, False, "404 Not Found: see the address of [source]"), (410, False, "410 Gone: see the address of [source]"),
        (400, False, "400 Bad Request"), (408, True, "408 Request Timeout"), (425, True, "425 Too Early"),
        (429, True, "429 Too Many Requests"), (500, True, "500 Internal Server Error"), (503, True, "503 Service Unavailable"),
        (599, True, "599"), (204, False, "204 No Content"), (206, False, "206 Partial Content"),
        (300, False, "300 Multiple Choices"), (302, False, "302 Found"),
    ],
)  # fmt: skip
async def test_a_status_that_is_not_200(status, temporary, text, site, incoming):
    site["/jobs.xml"] = {"status": status, "headers": {"Retry-After": "90"}}
    error = await incoming.refusal(site.url("/jobs.xml"))
    pause = timedelta(seconds=90) if temporary else None
    assert (str(error), error.status, error.temporary, error.retry_after) == (text, status, temporary, pause)


async def test_a_date_to_try_again(site, incoming):
    site["/jobs.xml"] = {"status": 503, "headers": {"Retry-After": "Sat, 28 Nov 2026 12:02:00 GMT"}}
    assert (await incoming.refusal(site.url("/jobs.xml"))).retry_after == timedelta(minutes=2)


# -- redirects and credentials ---------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed(status, site, incoming):
    site["/jobs.xml"] = {"status": status, "headers": {"Location": "export/7?sig=a%2Fb%3D"}}
    site["/export/7"] = {"status": status, "headers": {"Location": site.url("/last.xml#part")}}
    site["/last.xml"] = {"body": FEED}
    file = await incoming.fetch(site.url("/jobs.xml"))
    assert (file.name, file.size) == ("jobs.xml", len(FEED))
    assert site.asked[1].raw_path == "/export/7?sig=a%2Fb%3D"


async def test_redirects_are_at_most_five(site, incoming):
    for number in range(6):
        site[f"/{number}"] = {"status": 302, "headers": {"Location": f"/{number + 1}"}}
    site["/6"] = {"body": FEED}
    await incoming.fetch(site.url("/1"))
    incoming.path.joinpath(*incoming.names()).unlink()
    assert str(await incoming.refusal(site.url("/0"))) == "more than 5 redirects"
    site["/loop"] = {"status": 302, "headers": {"Location": "/loop"}}
    assert str(await incoming.refusal(site.url("/loop"))) == "more than 5 redirects"


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("ftp://127.0.0.1/x", "an address of ftp"), ("file:///etc/passwd", "an address of file"),
        ("javascript:x", "an address of"),
        ("http://a b/", "cannot be understood"),
        ("http://127.0.0.1:99999/", "cannot be understood"),
        ("http://[::1/", "cannot be understood"),
    ],
)  # fmt: skip
async def test_a_redirect_that_leads_nowhere(location, words, site, incoming):
    site["/jobs.xml"] = {"status": 302, "headers": {"Location": location}}
    error = await incoming.refusal(site.url("/jobs.xml"))
    assert str(error).startswith(f"the redirect of 127.0.0.1:{site.port} is refused: ")
    assert words in str(error)


def secrets_of(request):
    return {name: request.headers.get(name) for name in ("Authorization", "X-Api-Key", "Cookie")}


async def test_headers_go_to_the_own_host_and_port_alone(site, other, incoming):
    values = {
        "username": "acme",
        "password": "s3cr:et",
        "headers": {"x-api-key": "k1", "cookie": "session=1"},
    }
    site["/jobs.xml"] = {"status": 302, "headers": {"Location": "/more"}}
    site["/more"] = {"status": 302, "headers": {"Location": other.url("/x").replace("//", "//eve:pw@")}}
    other["/x"] = {"status": 302, "headers": {"Location": site.url("/last")}}
    site["/last"] = {"body": FEED}
    await incoming.fetch(site.url("/jobs.xml"), **values)
    own = {"Authorization": "Basic YWNtZTpzM2NyOmV0", "X-Api-Key": "k1", "Cookie": "session=1"}
    assert [secrets_of(asked) for asked in site.asked] == [own, own, own]
    assert secrets_of(other.asked[0]) == dict.fromkeys(own)
    assert "eve" not in str(other.asked[0].headers)


async def test_another_port_is_another_host(site, incoming):
    other = type(site)()
    async with other:
        site["/jobs.xml"] = {"status": 302, "headers": {"Location": other.url("/x")}}
        other["/x"] = {"status": 401}
        error = await incoming.refusal(site.url("/jobs.xml"), headers={"Authorization": "Bearer t"})
    assert secrets_of(other.asked[0])["Authorization"] is None
    assert str(error) == (
        f"401 Unauthorized from 127.0.0.1:{other.port}, to which it was redirected: credentials go to the host and port of url"
        " alone, so name that address there"
    )


async def test_a_body_goes_to_the_own_host_alone(site, other, incoming):
    values = {"method": "POST", "body": '{"key": "s"}', "media": "application/json"}

    async def echo(request):
        return web.Response(
            body=await request.read() + request.content_type.encode() + request.method.encode()
        )

    site["/search"], site["/found"], other["/x"] = echo, echo, echo
    assert (
        await incoming.fetch(site.url("/search"), **values)
    ).path.read_bytes() == b'{"key": "s"}application/jsonPOST'
    for status, content in (
        (307, b'{"key": "s"}application/jsonPOST'),
        (302, b"application/octet-streamGET"),
        (303, b"application/octet-streamGET"),
    ):
        incoming.path.joinpath(*incoming.names()).unlink()
        site["/moved"] = {"status": status, "headers": {"Location": "/found"}}
        assert (await incoming.fetch(site.url("/moved"), **values)).path.read_bytes() == content
    incoming.path.joinpath(*incoming.names()).unlink()
    site["/moved"] = {"status": 308, "headers": {"Location": other.url("/x")}}
    error = await incoming.refusal(site.url("/moved"), **values)
    assert str(error) == f"a request with a body goes to the host of url alone, not to 127.0.0.2:{other.port}"
    assert other.asked == []


@pytest.mark.parametrize("value", ["a\nX: y", "a\r\nX: y", "a\0"])
async def test_a_header_cannot_have_a_line_end(value, site, incoming):
    error = await incoming.refusal(site.url("/jobs.xml"), headers={"Authorization": value})
    assert str(error) == "the header Authorization has a line end or another control character"
    error = await incoming.refusal(site.url("/jobs.xml"), username="a:b")
    assert str(error) == "username has a colon, which Basic authentication does not allow"


async def test_no_secret_is_in_an_error(site, raw_site, names, incoming):
    """In its text, in its traceback, and in what ``repr`` shows."""
    names["gone.test"] = [[]]
    secrets: Any = {
        "username": "user-hush",
        "password": "pass-hush",
        "headers": {"Authorization": "Bearer key-hush"},
    }
    for status in (400, 403, 500):
        site[f"/{status}"] = {"status": status, "reason": "hush", "text": "hush key-hush"}
    site["/away"] = {"status": 302, "headers": {"Location": "http://gone.test/hush?hush"}}
    site["/html"] = {"text": "<html>hush", "content_type": "text/html"}
    site["/gzip"] = {"body": b"hush", "headers": {"Content-Encoding": "gzip"}}
    raw_site.pieces = [b"hush hush hush\r\n\r\n"]
    urls = [site.url(f"{path}?token=url-hush") for path in site.answers]
    urls += [
        f"{raw_site.url}?url-hush",
        "http://gone.test/?url-hush",
        "https://127.0.0.1:1/?url-hush",
        "http://h ost/?url-hush",
    ]
    for url in urls:
        error = await incoming.refusal(url, **secrets)
        shown = "".join(traceback.format_exception(error))
        assert "hush" not in str(error) + shown, f"{url}: {shown}"
        assert "\n" not in str(error)
    assert "hush" not in repr(Request("http://h/?hush", **secrets))


# -- answers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("<!DOCTYPE html><p>", "text/html"), ("<html lang=en>", "application/xml"), ("\n<!-- x --><!doctype HTML>", "text/plain"),
        ('<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "x">', "application/xhtml+xml"), ("<p>Please log in", "text/html"),
        ("An error", "text/html; charset=utf-8"), ("id,title\n1,Cook\n", "text/html"),
    ],
)  # fmt: skip
async def test_a_page_for_people_is_not_a_feed(content, kind, site, incoming):
    site["/jobs.xml"] = {"body": content.encode(), "headers": {"Content-Type": kind}}
    error = await incoming.refusal(site.url("/jobs.xml"))
    assert str(error) == "the answer is an HTML page, not a feed: see the url and the credentials of [source]"
    assert not error.temporary


@pytest.mark.parametrize("content", ['<?xml version="1.0"?>\n<jobs/>', '{"jobs": []}', " [1]"])
async def test_a_feed_that_is_only_named_as_html(content, site, incoming):
    site["/jobs.php"] = {"text": content, "content_type": "text/html"}
    assert (await incoming.fetch(site.url("/jobs.php"))).path.read_text() == content


async def test_an_empty_answer_is_not_a_file(site, incoming):
    site["/jobs.xml"] = {"body": b""}
    assert str(await incoming.refusal(site.url("/jobs.xml"))) == "the file is empty"


async def test_a_file_has_a_limit_while_it_comes(site, incoming):
    async def endless(request):
        answer = web.StreamResponse()
        await answer.prepare(request)
        while True:
            await answer.write(b"x" * 65536)

    site["/jobs.xml"], site["/ten"] = endless, {"body": b"x" * 10}
    error = await incoming.refusal(site.url("/jobs.xml"), max_bytes=3 << 20)
    assert str(error) == f"the file is larger than {3 << 20} bytes ([limits] file)"
    assert (await incoming.fetch(site.url("/ten"), max_bytes=10)).size == 10


def gzipped(content):
    return {"body": gzip.compress(content), "headers": {"Content-Encoding": "gzip"}}


async def test_a_packed_answer(site, incoming):
    content = FEED * 100_000
    site["/jobs.xml"] = gzipped(content)
    file = await incoming.fetch(site.url("/jobs.xml"))
    assert file.path.read_bytes() == content
    file.path.unlink()
    site["/jobs.xml.gz"] = {"body": gzip.compress(FEED), "content_type": "application/gzip"}
    file = await incoming.fetch(site.url("/jobs.xml.gz"))
    assert gzip.decompress(file.path.read_bytes()) == FEED


async def test_a_packed_answer_that_expands_without_end(site, incoming):
    site["/jobs.xml"] = gzipped(bytes(64 << 20))
    error = await incoming.refusal(site.url("/jobs.xml"), max_bytes=1 << 20)
    assert str(error) == f"the file is larger than {1 << 20} bytes ([limits] file)"


HEAD = b"HTTP/1.1 200 OK\r\n"
CUT = "the answer is cut off or damaged"


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([HEAD + b"Content-Length: 99\r\n\r\n<jobs>"], CUT),
        ([HEAD + b"Transfer-Encoding: chunked\r\n\r\n6\r\n<jobs>\r\n"], CUT),
        ([HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n<jobs>\r\n"], "the answer is not HTTP"),
        ([HEAD + b"Content-Encoding: gzip\r\nContent-Length: 6\r\n\r\n<jobs>"], CUT),
        ([HEAD + b"Content-Encoding: gzip\r\nContent-Length: 99\r\n\r\n" + gzip.compress(FEED)[:20]], CUT),
        ([], "the connection was lost before the answer"),
        ([HEAD[:9]], "the connection was lost before the answer"),
        ([b"SSH-2.0-OpenSSH\r\n\r\n"], "the answer is not HTTP"),
        ([HEAD + b"Content-Length: 6\r\n\r\n", 1], "the server sent nothing for 0.3 s"),
        ([1], "the server sent nothing for 0.3 s"),
        ([HEAD + b"Content-Length: 99\r\n\r\n"] + [b"x", 0.1] * 20, "the fetch took longer than 1 s"),
    ],
)
async def test_an_answer_that_is_cut_or_slow(pieces, text, raw_site, incoming):
    raw_site.pieces = pieces
    error = await incoming.refusal(raw_site.url, times=quick(whole=1 if "longer" in text else 5))
    assert (str(error), error.temporary) == (text, True)


async def test_a_host_that_refuses_connections(raw_site, incoming):
    url = raw_site.url
    raw_site._server.close()
    await raw_site._server.wait_closed()
    error = await incoming.refusal(url, times=quick())
    assert str(error) == f"cannot connect to 127.0.0.1:{raw_site.port}: Connection refused"
    assert error.temporary


async def test_a_fetch_that_is_ended_leaves_nothing(raw_site, incoming):
    raw_site.pieces = [HEAD + b"Content-Length: 99\r\n\r\n<jobs>", 5]
    fetch = asyncio.create_task(incoming.fetch(raw_site.url))
    while not incoming.names():
        await asyncio.sleep(0.01)
    fetch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fetch
    assert incoming.names() == []


async def test_a_full_disk_is_said(site, incoming, monkeypatch):
    site["/jobs.xml"] = {"body": FEED}
    incoming.path.rmdir()
    incoming.path = incoming.path.parent
    (incoming.path / "x").mkdir()
    monkeypatch.setattr("os.fsync", lambda fd: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    (incoming.path / "x").rmdir()
    error = await incoming.refusal(site.url("/jobs.xml"))
    assert (str(error), error.temporary) == ("the file cannot be written: No space left on device", True)


# -- certificates ----------------------------------------------------------------------------------------------


@pytest.fixture
def certificate(tmp_path):
    return make_certificate(tmp_path, "DNS:localhost")


@pytest.fixture
async def safe_site(certificate):
    """A site with TLS, whose certificate nobody trusts. It redirects ``/down`` to HTTP."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)

    async def handle(request):
        if request.path == "/down":
            return web.Response(status=302, headers={"Location": "http://localhost/x"})
        return web.Response(body=FEED)

    runner = web.ServerRunner(web.Server(handle), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    yield f"https://localhost:{runner.addresses[0][1]}"
    await runner.cleanup()


async def test_a_certificate_that_is_wrong(safe_site, site, incoming):
    error = await incoming.refusal(f"{safe_site}/jobs.xml")
    advice = "ask its owner, or name its authority in SSL_CERT_FILE"
    assert str(error) == f"the certificate of localhost is wrong: self-signed certificate; {advice}"
    assert not error.temporary


async def test_a_server_without_tls(site, incoming):
    error = await incoming.refusal(site.url("/jobs.xml").replace("http:", "https:"))
    assert str(error).startswith("127.0.0.1: TLS failed (")
    assert str(error).endswith(
        "): the server does not speak TLS there: see the scheme and the port of the address"
    )
    assert not error.temporary


async def test_a_server_whose_tls_is_too_old(incoming):
    async def refuse(reader, writer):
        await reader.read(1 << 14)
        writer.write(bytes.fromhex("15 0301 0002 02 46"))  # the alert protocol_version
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1")
    error = await incoming.refusal(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/jobs.xml")
    server.close()
    assert str(error) == "127.0.0.1: TLS failed (TLSV1_ALERT_PROTOCOL_VERSION)"
    assert not error.temporary


async def test_a_handshake_that_is_cut_is_tried_again(incoming):
    async def hang_up(reader, writer):
        await reader.read(1)
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1")
    error = await incoming.refusal(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/jobs.xml")
    server.close()
    assert error.temporary


async def test_only_encodings_that_can_be_read_are_offered(site, incoming):
    """``br`` and ``zstd`` need packages that a machine may lack; an answer that has them all the same is not a file."""
    site["/jobs.xml"] = {"body": b"\x8b\x0d\x80packed", "headers": {"Content-Encoding": "br"}}
    error = await incoming.refusal(site.url("/jobs.xml"))
    offered = {name.strip() for name in site.asked[0].headers["Accept-Encoding"].split(",")}
    assert offered == {"gzip", "deflate"} | {
        *(["br"] if compression_utils.HAS_BROTLI else []),
        *(["zstd"] if compression_utils.HAS_ZSTD else []),
    }
    assert str(error) in (CUT, "the answer is not HTTP")


FETCH = """
import asyncio, sys
from pathlib import Path
from syncd.feeds.source import Request
from syncd.sources import http
from syncd.sources.results import Seen, Terms
from tests.sources.conftest import LOOPBACK, NOW
for url in sys.argv[2:]:
    request = Request(url, insecure_hosts=LOOPBACK)
    try:
        files = asyncio.run(http.fetch(request, Seen(), Path(sys.argv[1]), Terms("x", NOW, 99)))
        print(files[0].size)
    except http.SourceError as error:
        print(error)
"""


async def test_the_certificates_of_the_system_count(safe_site, certificate, incoming):
    """SSL_CERT_FILE names others. No redirect leads from https to http."""
    command = [sys.executable, "-c", FETCH, str(incoming.path), f"{safe_site}/jobs.xml", f"{safe_site}/down"]
    environ, pipe = {"SSL_CERT_FILE": str(certificate[0]), "PYTHONPATH": "."}, asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, env=environ, stdout=pipe, stderr=pipe)
    said = b"".join(await process.communicate()).decode().splitlines()
    host = safe_site.removeprefix("https://")
    assert said == [
        str(len(FEED)), f"the redirect of {host} is refused: it leads from https to http, at localhost",
    ]  # fmt: skip


# -- names, and looking ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("", "feed"), ("/", "feed"), ("/jobs/", "feed"), ("/jobs.xml", "jobs.xml"), ("/a/export.php?format=xml", "export.php"),
        ("/a%2Fb%5Cc%0A.xml", "a_b_c_.xml"), ("/offres%20d%E2%80%99emploi.csv", "offres d’emploi.csv"), ("/%FF.xml", "%FF.xml"),
        (f"/{'x' * 300}.xml", f"{'x' * 96}.xml"), ("/..", "feed"),
    ],
)  # fmt: skip
def test_the_name_of_a_file(path, name):
    assert file_name(URL(f"http://h{path}"), paged=False) == name


def test_the_name_of_a_list_in_pages():
    names = [file_name(URL(f"http://h{path}"), paged=True) for path in ("/", "/jobs", "/v1/jobs.json?page=1")]
    assert names == ["feed.jsonl", "jobs.jsonl", "jobs.jsonl"]


async def test_an_address_is_looked_at_without_its_content(site):
    def looked(path, **values):
        request = Request(site.url(path), insecure_hosts=LOOPBACK, **values)
        return look(request, Terms("x", NOW, 0))

    site["/jobs.xml"] = {"body": FEED}
    await looked("/jobs.xml")
    site["/get"] = lambda request: web.Response(status=405 if request.method == "HEAD" else 200, body=FEED)
    await looked("/get")
    await looked("/jobs.xml", method="POST", body="x")
    assert [asked.method for asked in site.asked] == ["HEAD", "HEAD", "GET", "POST"]
    site["/none"] = {"status": 404}
    with pytest.raises(Exception, match="404 Not Found"):
        await looked("/none")
