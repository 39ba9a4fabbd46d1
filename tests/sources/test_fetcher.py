"""One fetch: the file in the feed's folder, the state in the store, the notices."""

import base64
import os
from zoneinfo import ZoneInfo

import pytest
from aiohttp import web

from syncd.config import load_settings
from syncd.domain import Catalogue, NoticeEvent
from syncd.errors import Conflict
from syncd.feeds.configuration import FeedDefaults, parse_feed
from syncd.sources import Fetcher
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
        text = f'employer = "Acme"\n[source]\nurl = "{url}"\ninsecure_hosts = ["127.0.0.1"]\n{more}'
        config = parse_feed("acme", text, Catalogue.default(), FeedDefaults())
        number = store.write(lambda tx: feeds.feed_id(tx, "acme", owner.id))
        return Feed(number, config, owner, tmp_path / "drop" / "acme")

    return feed


@pytest.fixture
def fetch(store, settings):
    async def fetch(feed, **options):
        return await Fetcher(store, settings).turn(feed, feed.config.source, **options)

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


async def test_the_folder_of_systemd_comes_first(store, settings, make, site, tmp_path):
    (tmp_path / "key").write_text("from-systemd")
    site["/"] = {"body": XML}
    feed = make(site.url("/"), 'headers = { X-Key = { credential = "key" } }')
    fetcher = Fetcher(store, settings, environ={"CREDENTIALS_DIRECTORY": str(tmp_path)})
    await fetcher.turn(feed, feed.config.source)
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
