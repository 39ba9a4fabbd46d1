"""Sources at moto's S3 server."""

from dataclasses import replace

import pytest

from syncd.feeds.source import Request
from syncd.sources import servers
from syncd.sources.results import NotModified, SourceError
from tests.sources.conftest import LOOPBACK, example
from tests.sources.memory import MOST, memory

pytest.importorskip("s3fs", reason="the extra sources is not installed")
moto = pytest.importorskip("moto.server", reason="moto is not installed")
boto3 = pytest.importorskip("boto3")
LARGE = 1 << 26  # moto reads all of it for each piece that is asked for


@pytest.fixture(scope="module")
def endpoint():
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


@pytest.fixture
def bucket(endpoint):
    """A bucket with one file. The value puts another one into it."""
    session = boto3.session.Session("id", "secret", region_name="us-east-1")
    client = session.client("s3", endpoint_url=endpoint)
    client.create_bucket(Bucket="acme")

    def put(name, body, **options):
        client.put_object(Bucket="acme", Key=name, Body=body, **options)

    put("out/jobs.xml", b"<jobs/>")
    yield put
    for entry in client.list_objects_v2(Bucket="acme").get("Contents", ()):
        client.delete_object(Bucket="acme", Key=entry["Key"])
    client.delete_bucket(Bucket="acme")
    client.close()


@pytest.fixture
def ask(endpoint):
    def ask(path, **values):
        usual = {"username": "id", "password": "secret", "endpoint": endpoint, "insecure_hosts": LOOPBACK}
        return Request(f"s3://{path}", **usual | values)

    return ask


async def test_a_file(bucket, ask, incoming):
    (file,) = await incoming.take(ask("acme/out/jobs.xml"))
    assert (file.name, file.size) == ("jobs.xml", 7)
    assert await incoming.take(ask("acme/out/jobs.xml"), file.seen) == NotModified("the file has not changed")
    bucket("out/jobs.xml", b"<more/>")
    (file,) = await incoming.take(ask("acme/out/jobs.xml"), file.seen)
    assert file.size == 7


async def test_without_a_login_only_what_is_public_is_read(bucket, ask, incoming):
    bucket("out/public.xml", b"<all/>", ACL="public-read")
    nobody = {"username": None, "password": ""}
    (file,) = await incoming.take(ask("acme/out/public.xml", **nobody))
    assert file.size == 6
    refused = "403 Forbidden: see the credentials of [source], or ask whether this machine may fetch it"
    assert await incoming.refused(ask("acme/out/jobs.xml", **nobody)) == (refused, False)


async def test_a_pattern_and_a_deletion(bucket, ask, incoming):
    bucket("out/k.xml", b"x" * 9_000_000)
    bucket("out/deep/b.xml", b"<b/>")
    files = await incoming.take(ask("acme/out/*.xml"))
    assert [(file.name, file.size) for file in files] == [("jobs.xml", 7), ("k.xml", 9_000_000)]
    assert await incoming.take(ask("acme/*.xml")) == NotModified("nothing matches *.xml")
    assert await incoming.take(ask("acme/none/*.xml")) == NotModified("nothing matches *.xml")
    await servers.delete(ask("acme/out/*.xml"), files[-1].seen)
    assert await incoming.take(ask("acme/out/*.xml")) == NotModified("nothing matches *.xml")


async def test_what_is_refused_says_why(bucket, ask, incoming):
    missing = "there is no such file at 127.0.0.1: see the address of [source]"
    no_bucket = "404 Not Found: see the address of [source]"
    guarded = '127.0.0.1 is not a public address: if that is meant, say insecure_hosts = ["127.0.0.1"]'
    assert await incoming.refused(ask("acme/none.xml")) == (missing, False)
    for path in ("nobody/jobs.xml", "nobody/*.xml"):
        assert await incoming.refused(ask(path)) == (no_bucket, False)
    assert await incoming.refused(ask("acme/out/jobs.xml", insecure_hosts=())) == (guarded, False)
    text, temporary = await incoming.refused(ask("acme/jobs.xml", endpoint="http://127.0.0.1:1"))
    assert (text, temporary) == ("the connection to 127.0.0.1 was lost", True)


async def test_a_certificate_that_nobody_knows(ask, self_signed, incoming):
    text, temporary = await incoming.refused(ask("acme/jobs.xml", endpoint=f"https://{self_signed}"))
    assert text.startswith("the certificate of 127.0.0.1 is wrong: self-signed certificate; ask its owner")
    assert not temporary


async def test_the_endpoint_of_the_environment_is_guarded_too(bucket, ask, incoming, monkeypatch, names):
    monkeypatch.setenv("AWS_ENDPOINT_URL", ask("acme/x").endpoint)
    (file,) = await incoming.take(ask("acme/out/jobs.xml", endpoint=None))
    assert file.size == 7
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://storage.example:9000")
    names["storage.example"] = [["127.0.0.1"]]
    text, temporary = await incoming.refused(ask("acme/out/jobs.xml", endpoint=None))
    assert "storage.example has the address 127.0.0.1, not a public address" in text
    assert not temporary


async def test_aws_itself_is_reached_by_public_addresses_alone(ask, incoming, names):
    for host in ("acme.s3.amazonaws.com", "acme.s3.us-east-1.amazonaws.com"):
        names[host] = [["169.254.169.254"]]
    with pytest.raises(SourceError, match=r"169.254.169.254, not a public address"):
        await incoming.take(ask("acme/jobs.xml", endpoint=None))


async def test_the_example_of_the_guide(bucket, ask, incoming):
    bucket("export/jobs-1.json", b"[{}]")
    texts = {"acme.key-id": "id", "acme.key-secret": "secret"}
    request = example("s3", "https://storage.acme.example", ask("acme/x").endpoint, texts)
    (file,) = await incoming.take(replace(request, url=request.url.replace("acme-jobs", "acme")))
    assert file.name == "jobs-1.json"


def test_a_large_file_takes_little_memory(bucket, ask, tmp_path):
    bucket("out/large.xml", b"<job/>xx" * (LARGE >> 3))
    size, more = memory(tmp_path, ask("acme/out/jobs.xml"), ask("acme/out/large.xml"))
    assert size == LARGE
    assert more < MOST
