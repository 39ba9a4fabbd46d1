"""Sources in Google Cloud Storage and Azure, at small servers that speak what their packages ask for."""

import asyncio
import json
import socket
import subprocess
from contextlib import closing
from typing import Any
from urllib.parse import unquote

import pytest
from aiohttp import web

from syncd.feeds.source import Request
from syncd.sources import buckets, servers
from syncd.sources.results import NotModified, Times
from tests.sources.conftest import Site

pytest.importorskip("gcsfs", reason="gcsfs is not installed")
pytest.importorskip("azure.storage.blob", reason="azure-storage-blob is not installed")

DATE, AZURE_DATE = "2026-11-28T12:00:00.000Z", "Sat, 28 Nov 2026 12:00:00 GMT"
LOST = 599  # in place of a status: the connection ends


class Bucket(Site):
    """A server with the files of a bucket or container named acme. ``files``: name → bytes."""

    def __init__(self):
        super().__init__()
        self.files = {"out/jobs-1.json": b"[1]", "out/jobs-2.json": b"[2, 2]", "out/x.txt": b"x"}
        self.deleted, self.status = [], 200

    async def __aenter__(self):
        await super().__aenter__()
        self.answers = Answers(self.checked)
        return self

    def checked(self, request):
        if self.status == LOST:
            request.transport.abort()
        return web.Response(status=self.status) if self.status != 200 else self.answer(request)

    def answer(self, request):
        raise NotImplementedError


class Answers(dict[str, Any]):
    """One function that answers for all paths."""

    def __init__(self, answer):
        super().__init__()
        self._answer = answer

    def __getitem__(self, _path):
        return self._answer


class Google(Bucket):
    """Speaks the JSON API of Cloud Storage."""

    def answer(self, request):
        path = request.path
        if path == "/token":
            return web.json_response({"access_token": "t0ken", "expires_in": 3600, "token_type": "Bearer"})
        if path == "/storage/v1/b/acme/o":
            prefix = request.query.get("prefix", "")
            found = [self.about(name) for name in self.files if name.startswith(prefix)]
            return web.json_response({"kind": "storage#objects", "items": found})
        name = unquote(request.raw_path.partition("?")[0].rpartition("/o/")[2])
        if name not in self.files:
            return web.json_response({"error": {"code": 404, "message": "No such object"}}, status=404)
        if request.method == "DELETE":
            self.deleted.append(name)
            return web.Response(status=204)
        if request.query.get("alt") == "media" or path.startswith("/download/"):
            return piece(self.files[name], request.headers.get("Range"))
        return web.json_response(self.about(name))

    def about(self, name):
        own = {"name": name, "bucket": "acme", "size": str(len(self.files[name])), "updated": DATE}
        return {**own, "kind": "storage#object", "timeCreated": DATE, "etag": str(hash(self.files[name]))}


class Azure(Bucket):
    """Speaks the REST API of Blob Storage."""

    def answer(self, request):
        if request.query.get("comp") == "list":
            prefix = request.query.get("prefix", "")
            found = "".join(self.about(name) for name in self.files if name.startswith(prefix))
            head = '<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="acme">'
            body = f"{head}<Blobs>{found}</Blobs><NextMarker/></EnumerationResults>"
            return web.Response(text=body, content_type="application/xml")
        name = unquote(request.path.partition("/acme/")[2])
        if name not in self.files:
            return web.Response(status=404, headers={"x-ms-error-code": "BlobNotFound"})
        if request.method == "DELETE":
            self.deleted.append(name)
            return web.Response(status=202)
        content = self.files[name]
        headers = {"ETag": f'"{hash(content)}"', "Last-Modified": AZURE_DATE, "x-ms-blob-type": "BlockBlob"}
        if request.method == "HEAD":
            return web.Response(headers=headers | {"Content-Length": str(len(content))})
        return piece(content, request.headers.get("x-ms-range") or request.headers.get("Range"), headers)

    def about(self, name):
        content = self.files[name]
        properties = (
            f"<Last-Modified>{AZURE_DATE}</Last-Modified><Etag>{hash(content)}</Etag>"
            f"<Content-Length>{len(content)}</Content-Length><BlobType>BlockBlob</BlobType>"
        )
        return f"<Blob><Name>{name}</Name><Properties>{properties}</Properties></Blob>"


def piece(content, wanted, headers=None):
    if not wanted:
        return web.Response(body=content, headers=headers)
    start, _, end = wanted.removeprefix("bytes=").partition("-")
    last = min(int(end or len(content)), len(content) - 1)
    here = {"Content-Range": f"bytes {start}-{last}/{len(content)}"}
    return web.Response(status=206, body=content[int(start) : last + 1], headers={**(headers or {}), **here})


@pytest.fixture
async def google(monkeypatch, public):
    async with Google() as site:
        monkeypatch.setattr(buckets, "GOOGLE", site.url("").rstrip("/"))
        yield site


@pytest.fixture
async def azure(monkeypatch, public):
    async with Azure() as site:
        monkeypatch.setattr(buckets, "AZURE", site.url("/{account}"))
        yield site


def ask(scheme, name="jobs-*.json", **values):
    own = {"username": "acmestorage"} if scheme == "az" else {}
    return Request(f"{scheme}://acme/out/{name}", **own | values)


@pytest.mark.parametrize("scheme", ["gs", "az"])
async def test_a_file_and_a_pattern(scheme, google, azure, incoming):
    site = google if scheme == "gs" else azure
    (file,) = await incoming.take(ask(scheme, "jobs-1.json"))
    assert (file.name, file.size) == ("jobs-1.json", 3)
    unchanged = await incoming.take(ask(scheme, "jobs-1.json"), file.seen)
    assert unchanged == NotModified("the file has not changed")
    both = await incoming.take(ask(scheme))
    assert [(file.name, file.size) for file in both] == [("jobs-1.json", 3), ("jobs-2.json", 6)]
    site.files["out/jobs-1.json"] = b"[1, 1]"
    (changed,) = await incoming.take(ask(scheme), both[-1].seen)
    assert (changed.name, changed.size) == ("jobs-1.json", 6)
    await servers.delete(ask(scheme), changed.seen)
    assert site.deleted == ["out/jobs-1.json", "out/jobs-2.json"]


@pytest.mark.parametrize("scheme", ["gs", "az"])
async def test_a_file_that_is_not_there(scheme, google, azure, incoming):
    text, temporary = await incoming.refused(ask(scheme, "gone.json"))
    assert (text.partition(" ")[0], temporary) in {("404", False), ("there", False)}
    assert text.endswith(": see the address of [source]")


REFUSED = {
    401: ("401 Unauthorized: see the credentials of [source]", False),
    403: ("403 Forbidden: see the credentials of [source], or ask whether this machine may fetch it", False),
    429: ("429 Too Many Requests", True),
    502: ("502 Bad Gateway", True),
    503: ("503 Service Unavailable", True),
    LOST: ("the connection to {} was lost", True),
}


@pytest.mark.parametrize("status", REFUSED)
@pytest.mark.parametrize("scheme", ["gs", "az"])
async def test_a_refusal_is_final_without_more_tries(scheme, status, google, azure, incoming):
    site = google if scheme == "gs" else azure
    site.status = status
    text, temporary = REFUSED[status]
    assert await incoming.refused(ask(scheme)) == (text.format(f"{scheme}://acme"), temporary)
    assert len(site.asked) <= (2 if status == LOST else 1)  # aiohttp asks a second time if a connection ends


@pytest.mark.parametrize("scheme", ["gs", "az"])
async def test_a_certificate_that_nobody_knows(scheme, public, self_signed, incoming, monkeypatch):
    monkeypatch.setattr(buckets, {"gs": "GOOGLE", "az": "AZURE"}[scheme], f"https://{self_signed}")
    text, temporary = await incoming.refused(ask(scheme))
    assert text.startswith(
        f"the certificate of {scheme}://acme is wrong: self-signed certificate; ask its owner"
    )
    assert not temporary


HOSTS = {"gs": "storage.googleapis.com", "az": "acmestorage.blob.core.windows.net"}


@pytest.mark.parametrize("scheme", HOSTS)
@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1"])
async def test_a_name_that_leads_to_a_private_address_is_refused(scheme, address, names, incoming):
    names[HOSTS[scheme]] = [[address]]
    text, temporary = await incoming.refused(ask(scheme))
    assert text.startswith(f"{HOSTS[scheme]} has the address {address}, not a public address")
    assert not temporary


@pytest.mark.parametrize("scheme", HOSTS)
async def test_variables_of_the_environment_lead_to_no_other_server(scheme, names, incoming, monkeypatch):
    names[HOSTS[scheme]] = [["127.0.0.1"]]
    async with Google() as site:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", site.url(""))
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", f"BlobEndpoint={site.url('/acmestorage')}")
        monkeypatch.setenv("HTTPS_PROXY", site.url(""))
        text, _ = await incoming.refused(ask(scheme))
        assert text.startswith(f"{HOSTS[scheme]} has the address 127.0.0.1, not a public address")
        assert site.asked == []


@pytest.mark.parametrize("account", ["h.example/", "169.254.169.254#", "acme.evil", "", "Acme"])
async def test_a_storage_account_is_no_part_of_an_address(account, incoming):
    text, _ = await incoming.refused(ask("az", username=account))
    assert text.startswith("username is not the name of a storage account")


async def test_a_password_that_is_not_the_key_of_a_storage_account(azure, incoming):
    refused = await incoming.refused(ask("az", password="not base64!"))
    assert refused == ("password is not a key of a storage account", False)


@pytest.mark.parametrize(
    "key",
    [
        "x",
        json.dumps("/etc/syncd/other.json"),
        json.dumps({"type": "external_account", "credential_source": {"file": "/etc/passwd"}}),
        json.dumps({"type": "authorized_user", "token_uri": "http://169.254.169.254/"}),
        json.dumps({"type": "service_account", "client_email": "x", "private_key": "x"}),
        json.dumps({"type": "service_account", "client_id": "x", "client_secret": "x", "refresh_token": "x"}),
    ],
)
async def test_a_key_that_is_not_of_a_service_account(key, incoming):
    text, _ = await incoming.refused(ask("gs", key=key))
    assert text == "key is not the JSON of a service account"


@pytest.fixture(scope="module")
def private_key():
    made = subprocess.run(["openssl", "genpkey", "-algorithm", "RSA"], check=True, capture_output=True)
    return made.stdout.decode()


def service_account(private_key, leads_to):
    """Return the JSON of a key with addresses of another server."""
    account = {"type": "service_account", "client_email": "s@acme.example", "private_key": private_key}
    other = {"token_uri": leads_to, "universe_domain": "127.0.0.2", "auth_uri": leads_to}
    return json.dumps(account | other)


async def test_a_service_account_gets_its_token(google, other, incoming, private_key, monkeypatch):
    monkeypatch.setattr(buckets, "GOOGLE_TOKENS", google.url("/token"))
    key = service_account(private_key, other.url("/token"))
    (file,) = await incoming.take(ask("gs", "jobs-1.json", key=key))
    assert file.size == 3
    token, *others = google.asked
    assert token.path == "/token"
    assert {request.headers.get("Authorization") for request in others} == {"Bearer t0ken"}
    assert other.asked == []


async def test_the_addresses_of_a_service_account_lead_to_no_other_server(
    google, other, names, incoming, private_key
):
    names["oauth2.googleapis.com"] = [["127.0.0.1"]]
    await incoming.refused(ask("gs", key=service_account(private_key, other.url("/token"))))
    assert set(names.asked) == {"oauth2.googleapis.com"}
    assert google.asked == other.asked == []


async def test_a_token_that_does_not_come_delays_no_other_source(
    google, azure, incoming, private_key, monkeypatch
):
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        monkeypatch.setattr(buckets, "GOOGLE_TOKENS", f"http://127.0.0.1:{silent.getsockname()[1]}/")
        request = ask("gs", key=service_account(private_key, ""))
        waiting = asyncio.create_task(incoming.refused(request, times=Times(silence=1)))
        await asyncio.sleep(0.3)
        (file,) = await asyncio.wait_for(incoming.take(ask("az", "jobs-1.json")), 5)
        assert (file.size, waiting.done()) == (3, False)
        assert await waiting == ("the server sent nothing for 1 s", True)
