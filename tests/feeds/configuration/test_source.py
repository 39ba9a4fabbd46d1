"""``[source]`` of a feed's file: what it takes, and each fault in one line."""

from datetime import time, timedelta

import pytest

from syncd.domain import Catalogue
from syncd.feeds.configuration import FeedDefaults, parse_feed
from syncd.feeds.source import Pages, Secret
from syncd.values import ValueFault

SECRET = "s3cret-of-the-test"


def config(text, above=""):
    return parse_feed(
        "acme", f'employer = "Acme"\n{above}\n[source]\n{text}', Catalogue.default(), FeedDefaults()
    )


def source(text, above=""):
    found = config(text, above)
    assert found.source_faults == ()
    return found.source


def test_a_source_has_its_address_and_its_turns():
    assert source('url = "https://h.example/jobs.xml"\nevery = "1h"').every == timedelta(hours=1)
    at = source('url = "https://h.example/jobs.xml"\nat = ["18:00", "06:00"]').at
    assert at == (time(6), time(18))


def test_a_source_shows_neither_login_nor_query():
    shown = source(f'url = "https://u:{SECRET}@h.example:8443/a.xml?token={SECRET}#x"')
    assert shown.shown == "https://h.example:8443/a.xml"
    assert SECRET not in repr(shown)
    request = shown.request(lambda _key, _secret: "")
    assert request.url == f"https://h.example:8443/a.xml?token={SECRET}"
    assert (request.username, request.password) == ("u", SECRET)
    assert SECRET not in repr(request)


def test_secrets_are_asked_for_when_a_request_is_made():
    text = """url = { env = "ADDRESS" }
headers = { Authorization = { credential = "acme.token" }, Accept = "application/json" }"""
    found = source(text)
    texts = {"ADDRESS": "https://h.example/x", "acme.token": "Bearer 1"}
    request = found.request(lambda _key, secret: texts[secret.name])
    assert request.url == "https://h.example/x"
    assert request.headers == {"Authorization": "Bearer 1", "Accept": "application/json"}
    assert dict(found.secrets) == {
        "url": Secret("env", "ADDRESS"),
        "headers.Authorization": Secret("credential", "acme.token"),
    }
    assert found.plain_secrets == ()


def test_secrets_in_the_file_are_known():
    text = """url = "https://u:p@h.example/"
headers = { X-Api-Key = "1", Accept = "x" }"""
    assert source(text).plain_secrets == ("url", "headers.X-Api-Key")


@pytest.mark.parametrize(
    ("pages", "wanted"),
    [
        ('{ next = "paging.next" }', Pages(next=("paging", "next"))),
        ("{ link = true }", Pages(link=True)),
        ('{ parameter = "page", from = 0, until = "empty" }', Pages(parameter="page", first=0)),
    ],
)
def test_pages_go_on_in_three_ways(pages, wanted):
    found = source(f'url = "https://h.example/"\npages = {pages}\n[read]\nrecords = "jobs"')
    assert (found.pages, found.records) == (wanted, "jobs")


def test_the_format_of_a_page_is_not_that_of_the_file():
    text = 'url = "https://h.example/"\npages = { link = true }\n[read]\nformat = "json"'
    assert config(text).read.format is None


def test_a_body_that_is_a_table_is_json():
    found = source('url = "https://h.example/"\nmethod = "POST"\nbody = { limit = 5 }')
    assert (found.body, found.media) == ('{"limit": 5}', "application/json")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('every = "1h"', "source.url: is missing: the address that the file is fetched from"),
        (
            'url = "ftp://h/x"',
            "source.url: must be an address that begins with"
            " https://, http://, sftp://, ftps://, s3://, gs://, az://, file://",
        ),
        ('url = "https://"', "source.url: must have a host, such as https://careers.acme.example/jobs.xml"),
        (
            'url = "https://h/a b"',
            "source.url: must not have spaces or control characters; write a space as %20",
        ),
        (
            'url = "https://[::1/"',
            "source.url: cannot be parsed as an address; write it as https://HOST/PATH",
        ),
        (
            'url = "https://h:0/"',
            "source.url: must have a host, such as https://careers.acme.example/jobs.xml",
        ),
        (
            'url = { credential = "../x" }',
            "source.url: must be { credential = NAME }, NAME without a folder, or { env = NAME }",
        ),
        ('url = "https://h/"\nevery = "10ms"', "source.every: must be at least 1s"),
        (
            'url = "https://h/"\nevery = "1h"\nat = ["06:00"]',
            "source.at: cannot be beside every: give one of them",
        ),
        ('url = "https://h/"\npassword = "x"', "source.password: needs username, too"),
        (
            'url = "https://h/"\nheaders = { Host = "x" }',
            "source.headers.Host: is a header that syncd itself sends",
        ),
        ('url = "https://h/"\nbody = "x"', 'source.body: needs method = "POST"'),
        ('url = "https://h/"\nurls = 1', "source.urls: unknown key; did you mean url?"),
    ],
)
def test_each_fault_is_one_line_and_degrades_nothing(text, fault):
    found = config(text)
    assert found.source is None
    assert found.source_faults == (f"acme.toml: {fault}",)


def test_a_marker_cannot_be_beside_a_source():
    faults = config('url = "https://h/"', 'marker = ".done"').source_faults
    assert faults == ("acme.toml: source: cannot be beside marker: a fetched file comes without one",)


def test_a_source_changes_nothing_that_a_run_depends_on():
    one, other = config('url = "https://h/"'), config('url = "https://g/"\nevery = "2h"')
    assert (one.settings_digest, one.fingerprint) == (other.settings_digest, other.fingerprint)


# -- files on servers ------------------------------------------------------------------------------------------

SFTP = (
    'url = "sftp://h.example/out/jobs-*.xml"\nusername = "acme"\nknown_hosts = "h.example ssh-ed25519 AAAA"\n'
)


def test_a_source_on_a_server_has_contents_of_files():
    found = source(SFTP + 'key = """line 1\nline 2\n"""\nafter = "delete"')
    assert (found.delete, found.plain_secrets) == (True, ("key",))
    request = found.request(lambda _key, _secret: "")
    assert (request.key, request.known_hosts) == ("line 1\nline 2\n", "h.example ssh-ed25519 AAAA")
    assert "line 1" not in repr(found) + repr(request)
    assert dict(source(SFTP + 'key = { credential = "acme.key" }').secrets) == {
        "key": Secret("credential", "acme.key")
    }


@pytest.mark.parametrize(
    "text",
    [
        SFTP + 'password = "x"',
        'url = "sftp://u:p@h/x"\nknown_hosts = "x"',
        'url = "ftps://h:990/a/%2A.xml"',
        'url = "s3://bucket/a.xml"\nusername = "id"\npassword = "x"\nendpoint = "http://h:9000"',
        'url = "gs://bucket/a.xml"\nkey = { env = "KEY" }',
        'url = "az://container/a.xml"\nusername = "account"',
        'url = "file:///srv/acme/jobs-[0-9].xml"\nafter = "keep"',
    ],
)
def test_each_protocol_has_keys_of_its_own(text):
    assert source(text) is not None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            'url = "sftp://h/x"\nkey = "x"',
            "source.username: is missing: the user of the server",
        ),
        (
            'url = "sftp://h/x"\nkey = "x"\nusername = "u"',
            "source.known_hosts: is missing: the lines of ssh-keyscan HOST, once its owner has said that they are right",
        ),
        (SFTP, "source.key: is missing: the contents of a private key, or password"),
        (
            SFTP + 'key = "\\u0000"',
            "source.key: must be the contents of a file, { credential = NAME } or { env = NAME }",
        ),
        ('url = "ftps://h/x"\nafter = "move"', 'source.after: must be keep or delete, not "move"'),
        (
            'url = "https://h/x"\nafter = "delete"',
            "source.after: is not a key of https, which has"
            " username, password, headers, pages, method, body, insecure_hosts",
        ),
        ('url = "file:///x"\nusername = "u"', "source.username: is not a key of file, which has after"),
        ('url = "az://c/x"', "source.username: is missing: the name of the storage account"),
        (
            'url = "s3://a/x"\nusername = "id"',
            "source.password: is missing: the secret of the key whose id is username",
        ),
        (
            'url = "s3://b/x"\nendpoint = "storage.example"',
            "source.endpoint: must be an address like https://storage.acme.example",
        ),
        (
            'url = "s3://b/x"\nendpoint = "https://u:p@h"',
            "source.endpoint: must be an address like https://storage.acme.example",
        ),
        (
            'url = "file://host/x"',
            "source.url: must have a path and no host, such as file:///srv/acme/jobs.xml",
        ),
        (
            'url = "ftps://h/out/"',
            "source.url: must name a file, or a pattern such as sftp://files.acme.example/out/jobs-*.xml",
        ),
        ('url = "ftps://h/*/x"', "source.url: must have its pattern in the last part of the path"),
        (
            f'url = "az://c/x?sig={SECRET}"\nusername = "u"',
            "source.url: must not have a query or a fragment: write ? as %3F and # as %23",
        ),
    ],
)
def test_faults_of_sources_on_servers(text, fault):
    found = config(text)
    assert found.source is None
    assert fault in [each.removeprefix("acme.toml: ") for each in found.source_faults]
    assert SECRET not in repr(found.source_faults)


def test_an_address_in_a_secret_is_checked_when_it_is_known():
    found = source('url = { env = "ADDRESS" }\nafter = "delete"')
    with pytest.raises(ValueFault, match="is an address of https, and after is not a key of https"):
        found.request(lambda _key, _secret: "https://h.example/x")
