"""One fetch: the file in the feed's folder, the state in the store, the notices."""

import base64
import os
import socket
from zoneinfo import ZoneInfo

import pytest
from aiohttp import web

from syncd.config import load_settings
from syncd.domain import Catalogue, NoticeEvent
from syncd.errors import Conflict
from syncd.feeds.configuration import FeedDefaults, parse_feed
from syncd.sources import Fetcher, connections, faults_before
from syncd.sources.fetcher import final_name
from syncd.store import Store, employers, feeds, notices, sources
from syncd.sync import folders
from syncd.sync.run import Feed
from tests.sources.conftest import NOW

XML = b"<jobs><job><id>1</id></job></jobs>"


@pytest.fixture
def store(tmp_path):
    with Store.open(f"sqlite:///{tmp_path}/syncd.db", timezone=ZoneInfo("UTC")) as store:
        yield store


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "syncd.toml").touch()
    return load_settings(tmp_path / "config" / "syncd.toml", {})


@pytest.fixture
def make(store, tmp_path):
    owner = store.write(lambda tx: employers.add(tx, "Acme"))

    def feed(url, more=""):
        hosts = "" if url.startswith("file:") else 'insecure_hosts = ["127.0.0.1"]'
        text = f'employer = "Acme"\n[source]\nurl = "{url}"\n{hosts}\n{more}'
        config = parse_feed("acme", text, Catalogue.default(), FeedDefaults())
        number = store.write(lambda tx: feeds.feed_id(tx, "acme", owner.id))
        return Feed(number, config, owner, tmp_path / "drop" / "acme")

    return feed


@pytest.fixture
def fetch(store, settings):
    async def fetch(feed, dry=False, **options):
        return await Fetcher(store, settings, **options).turn(feed, feed.config.source, dry=dry)

    return fetch


def state(store):
    return store.read(lambda tx: sources.state(tx, "acme"))


def taken(feed):
    return sorted(name for name in os.listdir(feed.folder) if not name.startswith("."))


async def test_a_file_comes_once(site, make, fetch, store):
    site["/jobs.xml"] = lambda request: (
        web.Response(status=304)
        if request.headers.get("If-None-Match") == '"1"'
        else web.Response(body=XML, headers={"ETag": '"1"'})
    )
    feed = make(site.url("/jobs.xml"), 'every = "1h"')
    first, second = await fetch(feed), await fetch(feed)
    assert (first.result, second.result) == ("fetched", "not_modified")
    (name,) = taken(feed)
    assert first.files == (name,)
    assert name.endswith("Z-jobs.xml")
    assert (feed.folder / name).read_bytes() == XML
    assert os.listdir(feed.folder / folders.INCOMING) == []
    assert (feed.folder / folders.INCOMING).stat().st_mode & 0o777 == 0o700
    assert state(store).next_at > state(store).succeeded_at


async def test_equal_bytes_are_dropped_without_an_etag(site, make, fetch):
    site["/jobs.xml"] = {"body": XML}
    feed = make(site.url("/jobs.xml"))
    assert [(await fetch(feed)).result for _ in range(2)] == ["fetched", "not_modified"]
    assert len(taken(feed)) == 1


async def test_another_address_is_not_asked_with_the_etag_of_the_first(site, make, fetch):
    site["/a"] = site["/b"] = {"body": XML, "headers": {"ETag": '"1"'}}
    await fetch(make(site.url("/a")))
    await fetch(make(site.url("/b")))
    assert "If-None-Match" not in site.asked[-1].headers


async def test_a_dry_turn_keeps_nothing(site, make, fetch, store):
    site["/jobs.xml"] = {"body": XML}
    feed = make(site.url("/jobs.xml"))
    assert (await fetch(feed, dry=True)).result == "fetched"
    assert taken(feed) == []
    assert state(store) == sources.SourceState()


async def test_killed_before_the_state_is_written_the_file_comes_again(site, make, fetch, store):
    site["/jobs.xml"] = {"body": XML}
    feed = make(site.url("/jobs.xml"))
    await fetch(feed)
    store.write(lambda tx: sources.remember(tx, "acme", sources.SourceState()))
    (feed.folder / folders.INCOMING / "half").write_bytes(b"<jo")
    assert (await fetch(feed)).result == "fetched"
    assert len(taken(feed)) == 2
    assert os.listdir(feed.folder / folders.INCOMING) == []


async def test_failures_are_counted_notified_once_and_over(site, make, fetch, store):
    site["/jobs.xml"] = {"status": 403}
    feed = make(site.url("/jobs.xml"), 'every = "1h"')
    for _ in range(4):
        assert (await fetch(feed)).status == 403
    assert (state(store).failures, state(store).reason.startswith("403 Forbidden")) == (4, True)
    site["/jobs.xml"] = {"body": XML}
    await fetch(feed)
    assert state(store).failures == 0
    events = [NoticeEvent.SOURCE_FAILED, NoticeEvent.SOURCE_RECOVERED]
    newest = store.read(lambda tx: notices.latest(tx, "acme", events))
    assert (newest.id, newest.event) == (2, NoticeEvent.SOURCE_RECOVERED)


async def test_a_fault_that_passes_is_tried_again(site, make, fetch):
    answers = [web.Response(status=503, headers={"Retry-After": "0"}), web.Response(body=XML)]
    site["/jobs.xml"] = lambda request: answers.pop(0)
    reasons: list[str] = []
    assert (await fetch(make(site.url("/jobs.xml")), retried=reasons.append)).result == "fetched"
    assert reasons == ["503 Service Unavailable"]


async def test_a_pause_that_is_longer_than_the_next_turn_ends_the_turn_and_is_kept(site, make, fetch, store):
    site["/jobs.xml"] = {"status": 429, "headers": {"Retry-After": "7200"}}
    outcome = await fetch(make(site.url("/jobs.xml"), 'every = "1h"'))
    assert (outcome.result, len(site.asked)) == ("failed", 1)
    assert (outcome.state.next_at - outcome.state.failing_since).total_seconds() == 7200


async def test_two_processes_do_not_fetch_at_once(site, make, fetch):
    feed = make(site.url("/jobs.xml"))
    folders.make_feed_folder(feed.folder)
    with folders.ensure_subfolder(feed.folder, folders.INCOMING) as held:
        assert folders.try_lock(held)
        with pytest.raises(Conflict, match="another process fetches"):
            await fetch(feed)


async def test_a_folder_that_is_a_link_is_a_failure_and_nothing_is_written_there(site, make, fetch, tmp_path):
    site["/jobs.xml"] = {"body": XML}
    feed = make(site.url("/jobs.xml"))
    folders.make_feed_folder(feed.folder)
    (tmp_path / "elsewhere").mkdir()
    (feed.folder / folders.INCOMING).symlink_to(tmp_path / "elsewhere")
    outcome = await fetch(feed)
    assert outcome.result == "failed"
    assert "is a symbolic link" in outcome.reason
    assert os.listdir(tmp_path / "elsewhere") == []


# -- secrets -----------------------------------------------------------------------------------------------------


async def test_a_credential_loses_its_last_line_end_and_is_shown_to_nobody(
    site, make, store, settings, capsys
):
    secret = "p%:ä t0ken"
    folder = settings.feeds.parent / "credentials"
    folder.mkdir()
    (folder / "acme.pw").write_text(f"{secret}\r\n")
    site["/jobs.xml"] = {"status": 401}
    more = 'username = "joe"\npassword = { credential = "acme.pw" }'
    feed = make(site.url("/jobs.xml?t=hidden"), more)
    outcome = await Fetcher(store, settings).turn(feed, feed.config.source)
    sent = base64.b64decode(site.asked[0].headers["Authorization"].removeprefix("Basic "))
    assert sent.decode() == f"joe:{secret}"
    shown = capsys.readouterr().out + repr(outcome) + repr(state(store))
    assert secret not in shown
    assert "hidden" not in shown


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ('{ env = "NOT_SET" }', "{ env = NOT_SET } is missing: set the environment variable NOT_SET"),
        ('{ credential = "gone" }', "{ credential = gone } is missing: write it to "),
    ],
)
async def test_a_secret_that_is_missing_fails_at_once(site, make, fetch, value, reason):
    feed = make(site.url("/"), f'username = "joe"\npassword = {value}')
    outcome = await fetch(feed)
    assert outcome.reason.startswith(reason)
    assert site.asked == []


async def test_the_folder_of_systemd_comes_first(fetch, make, site, tmp_path, monkeypatch):
    (tmp_path / "key").write_text("from-systemd")
    site["/"] = {"body": XML}
    feed = make(site.url("/"), 'headers = { X-Key = { credential = "key" } }')
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    await fetch(feed)
    assert site.asked[0].headers["X-Key"] == "from-systemd"


@pytest.mark.parametrize(
    ("name", "final"),
    [
        ("jobs.xml", "jobs.xml"),
        ("../a b\x00.xml", ".._a_b_.xml"),
        ("jobs.part", "jobs.part.feed"),
        ("é" * 200, "é" * 60),
        ("", "feed"),
    ],
)
def test_a_name_is_one_that_is_taken(name, final):
    assert final_name(name, NOW) == f"20261128T120000Z-{final}"


# -- files on servers ------------------------------------------------------------------------------------------


@pytest.fixture
def out(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    for number, name in enumerate(("b.xml", "a.xml", "c.xml")):
        (folder / name).write_bytes(XML if number < 2 else XML * 2)
        os.utime(folder / name, (number, number))
    return folder


async def test_files_of_a_folder_come_the_oldest_first_without_equal_neighbours(out, make, fetch, store):
    feed = make(f"file://{out}/*.xml")
    outcome = await fetch(feed)
    assert [name.partition("-")[2] for name in outcome.files] == ["b.xml", "c.xml"]
    assert outcome.size == 3 * len(XML)
    assert sorted(path.name for path in out.iterdir()) == ["a.xml", "b.xml", "c.xml"]
    again = await fetch(feed)
    assert (again.result, again.reason) == ("not_modified", "none of 3 files that match *.xml is new")
    (out / "b.xml").write_bytes(XML)
    assert [name.partition("-")[2] for name in (await fetch(feed)).files] == ["b.xml"]


async def test_files_are_deleted_after_the_rename(out, make, fetch, store):
    feed = make(f"file://{out}/*.xml", 'after = "delete"')
    assert (await fetch(feed, dry=True)).result == "fetched"
    assert len([*out.iterdir()]) == 3
    outcome = await fetch(feed)
    assert (len(outcome.files), outcome.warning, [*out.iterdir()]) == (2, None, [])
    assert (await fetch(feed)).reason == "nothing matches *.xml"


async def test_a_deletion_that_fails_is_a_warning(out, make, fetch, monkeypatch, capsys):
    async def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(connections.Folder, "remove", refuse)
    outcome = await fetch(make(f"file://{out}/*.xml", 'after = "delete"'))
    why = (
        "b.xml cannot be deleted: this machine does not let this login do that: ask its owner for the rights"
    )
    assert (outcome.result, len(outcome.files), outcome.warning) == ("fetched", 2, why)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("line 1\nline 2\n", "known_hosts has no key of 127.0.0.1"),
        ("nul\x00", "must be text"),
        ("", "must be text"),
    ],
)
async def test_contents_of_a_file_have_lines(text, reason, store, settings, make):
    pytest.importorskip("asyncssh", reason="the extra sources is not installed")
    folder = settings.feeds.parent / "credentials"
    folder.mkdir()
    (folder / "acme.hosts").write_text(text)
    with socket.create_server(("127.0.0.1", 0)) as server:
        more = 'username = "u"\npassword = "p"\nknown_hosts = { credential = "acme.hosts" }'
        feed = make(f"sftp://127.0.0.1:{server.getsockname()[1]}/x", more)
        outcome = await Fetcher(store, settings).turn(feed, feed.config.source)
    assert reason in (outcome.reason or "")


def test_check_finds_a_package_that_is_missing_and_an_address_that_is_not_public(make, settings, monkeypatch):
    for url, more, fault in [
        ("sftp://10.0.0.1/x", 'username = "u"\npassword = "p"\nknown_hosts = "x"', "url: 10.0.0.1 is not a public address"),
        ("s3://acme/x", 'endpoint = "http://10.0.0.1"', "endpoint: 10.0.0.1 is not a public address"),
        ("s3://acme/x", "", ""),
    ]:  # fmt: skip
        faults = [f"{key}: {text}" for key, text in faults_before(make(url, more).config.source, settings)]
        assert [
            text for text in faults if "not installed" not in text and not text.startswith(fault or "?")
        ] == []
        assert not fault or any(text.startswith(fault) for text in faults)
    monkeypatch.setattr(connections, "find_spec", lambda name: None)
    found = dict(faults_before(make("s3://acme/x").config.source, settings))
    assert found["url"] == "s3 needs the package s3fs, which is not installed: pip install 'syncd[sources]'"
