"""A feed that is fetched: by the example of docs/sources.md, by the daemon and by ``syncd feed fetch``; what is seen of it."""

import re
import socket
import tempfile
import threading
import time
import tomllib
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.e2e.conftest import csv_text, row, wait_until
from tests.notify.receivers import SECRET as HOOK_SECRET
from tests.notify.receivers import Hook

GUIDE = (Path(__file__).parents[2] / "docs" / "sources.md").read_text()
TOKEN = "Bearer t0ken-of-the-test"


class Site(ThreadingHTTPServer):
    """A server whose file may be read with the token alone; it knows the ETag of its file."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.body, self.status, self.asked = csv_text([row("A-1"), row("A-2")]).encode(), 200, []
        self.path = "/export/jobs.csv"
        self.url = f"http://127.0.0.1:{self.server_port}{self.path}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    """Answers for a Site."""

    server: Site
    token: str | None = TOKEN

    def send_error(self, status, *_):
        self.server.asked.append(f"{self.command} {self.path}")
        self.send_response(status)
        self.end_headers()

    def do_GET(self):
        site, etag = self.server, f'"{hash(self.server.body)}"'
        site.asked.append(f"GET {self.path}")
        status = site.status if self.headers["Authorization"] == self.token else 401
        if status == 200 and self.headers["If-None-Match"] == etag:
            status = 304
        self.send_response(status)
        self.send_header("ETag", etag)
        self.send_header("Content-Length", str(len(site.body) if status == 200 else 0))
        self.end_headers()
        if status == 200:
            self.wfile.write(site.body)

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    with Site() as site:
        yield site
        site.shutdown()


@pytest.fixture
def silent():
    """The address of a server that never answers."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


def example(url, every):
    found = re.search(r"<!-- example: source -->\n```toml\n(.*?)```", GUIDE, re.S)
    assert found
    text = found[1].replace("https://careers.acme.example/export/jobs.json", url)
    return text.replace('every = "1h"', f'every = "{every}"\ninsecure_hosts = ["127.0.0.1"]')


def credential(installation, text=TOKEN):
    folder = installation.base / "config" / "credentials"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "acme.token").write_text(text + "\n")
    (folder / "acme.token").chmod(0o600)


def secret_of(url, more=""):
    return f'employer = "Acme Ltd."\n[source]\nurl = "{url}"\ninsecure_hosts = ["127.0.0.1"]\n{more}'


# -- commands --------------------------------------------------------------------------------------------------


def test_the_example_of_the_guide_fetches(acme, site):
    acme.feed("acme", example(site.url, "1h"))
    missing = acme.run("check")
    path = acme.base / "config" / "credentials" / "acme.token"
    assert missing.code == 1
    assert f"{{ credential = acme.token }} is missing: write it to {path}" in missing.err
    credential(acme)
    assert acme.run("check").code == 0
    dry = acme.run("feed", "fetch", "acme", "--dry-run", "--json").json
    assert (dry["result"], dry["dryRun"], dry["size"]) == ("fetched", True, len(site.body))
    assert acme.run("feed", "list", "--json").json[0]["source"]["state"] == "new"
    assert [*(acme.drop_folder / "acme").glob("*.csv")] == []
    fetched = acme.run("feed", "fetch", "acme")
    (file,) = (acme.drop_folder / "acme").glob("*Z-jobs.csv")
    assert (fetched.code, fetched.out) == (0, f"{file} is fetched ({len(site.body)} bytes)\n")
    assert acme.run("feed", "fetch", "acme").out == "nothing new: 304 Not Modified\n"
    (feed,) = acme.run("feed", "list", "--json").json
    source = feed["source"]
    assert (source["url"], source["state"], source["failures"], source["reason"]) == (site.url, "ok", 0, None)
    assert source["lastFetch"] < source["nextFetch"]
    assert feed["state"] == "ok"


def test_a_failure_is_one_line_and_exit_code_1(acme, site):
    acme.feed("acme", example(site.url, "1h"))
    credential(acme, "Bearer wrong")
    failed = acme.run("feed", "fetch", "acme")
    assert (failed.code, failed.out) == (1, "")
    assert failed.err == "syncd: feed acme: 401 Unauthorized: see the credentials of [source]\n"
    (feed,) = acme.run("feed", "list", "--json").json
    assert (feed["state"], feed["source"]["state"], feed["source"]["failures"]) == ("ok", "failing", 1)
    assert "acme: failing since " in acme.run("feed", "list").err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('employer = "Acme Ltd."\n', "feed acme has no [source]: its files are dropped into "),
        (
            secret_of("ftp://h/"),
            "acme.toml: source.url: must be an address that begins with https://, ",
        ),
    ],
)
def test_a_feed_that_cannot_be_fetched_says_why(acme, text, words):
    acme.feed("acme", text)
    refused = acme.run("feed", "fetch", "acme")
    assert refused.code == 1
    assert words in refused.err


def test_a_paused_feed_is_not_fetched(acme, site):
    acme.feed("acme", secret_of(site.url))
    acme.run("feed", "pause", "acme")
    refused = acme.run("feed", "fetch", "acme")
    assert (refused.code, site.asked) == (1, [])
    assert refused.err == "syncd: feed acme is paused; `syncd feed resume acme` ends that\n"


def test_check_finds_a_wrong_source_and_a_secret_that_others_can_read(acme):
    acme.feed("acme", secret_of("https://h.example/", 'username = "a"\npassword = "b"'))
    path = acme.feeds / "acme.toml"
    path.chmod(0o644)
    found = acme.run("check")
    assert found.code == 1
    assert (
        f"acme.toml: source.password: is a secret in a file that others can read: chmod 600 {path}"
        in found.err
    )
    path.chmod(0o600)
    assert acme.run("check").code == 0
    acme.feed("acme", secret_of("https://h.example/", 'every = "10ms"'))
    assert "acme.toml: source.every: must be at least 1s" in acme.run("check").err
    acme.feed("acme", 'employer = "Acme Ltd."\n[source]\nurl = "http://10.0.0.1/"\n')
    assert "acme.toml: source.url: 10.0.0.1 is not a public address: " in acme.run("check").err


def test_a_feed_is_drafted_from_an_address_and_planned(acme, site, tmp_path):
    missing = acme.run("feed", "new", "web", "--from", site.url)
    assert missing.code == 1
    assert missing.err.startswith(f"syncd: {site.url}: 127.0.0.1 is not a public address")
    assert missing.err.endswith("; here that is --insecure-host HOST\n")
    host = ("--insecure-host", "127.0.0.1")
    refused = acme.run("feed", "new", "web", "--from", site.url, *host)
    assert (refused.code, refused.err) == (
        1,
        f"syncd: {site.url}: 401 Unauthorized: see the credentials of [source]\n",
    )
    with Site() as public:
        Handler.token = None
        try:
            made = acme.run("feed", "new", "web", "--from", f"{public.url}?t=1#x", *host, "--json").json
            planned = acme.run("plan", public.url, "--feed", "web", "--json").json
            again = acme.run("plan", "web", public.url.replace("jobs.csv", "other.csv"))
        finally:
            Handler.token = TOKEN
            public.shutdown()
    assert (made["fileFormat"], made["counts"]["good"]) == ("csv", 2)
    draft = acme.base / "config" / "feeds.d" / "web.toml"
    source = tomllib.loads(draft.read_text())["source"]
    assert source == {"url": f"{public.url}?t=1#x", "every": "1h", "insecure_hosts": ["127.0.0.1"]}
    assert 'from "jobs.csv"' in draft.read_text()
    assert (planned["state"], planned["counts"]["created"]) == ("planned", 2)
    assert again.code == 0
    assert [*Path(tempfile.gettempdir()).glob("syncd-*/*jobs.csv")] == []


def test_a_password_in_the_address_is_kept_from_others(acme, site):
    Handler.token = "Basic dTpw"
    try:
        url = site.url.replace("http://", "http://u:p@")
        made = acme.run("feed", "new", "web", "--from", url, "--insecure-host", "127.0.0.1")
    finally:
        Handler.token = TOKEN
    assert made.code == 0
    assert (acme.base / "config" / "feeds.d" / "web.toml").stat().st_mode & 0o777 == 0o600
    assert "u:p" not in made.out + made.err
    assert acme.run("check").code == 0


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://h/jobs.xml", "the address: url: must be an address that begins with"),
        ("https://[::1/", "the address: url: cannot be parsed as an address"),
        ("https://", "the address: url: must have a host"),
        ("http://169.254.169.254/x", "169.254.169.254 is not a public address"),
        ("http://0x7f000001/x", "not a public address"),
    ],
)
def test_an_address_that_cannot_be_asked(acme, url, words):
    for command in (("feed", "new", "web", "--from", url), ("plan", url, "--feed", "acme")):
        done = acme.run(*command)
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert words in done.err
    assert not (acme.base / "config" / "feeds.d" / "web.toml").exists()


def test_check_asks_each_address_once(acme, site):
    credential(acme)
    acme.feed("acme", example(site.url, "1h"))
    assert acme.run("check", "--sources").code == 0
    assert site.asked == [f"HEAD {site.path}", f"GET {site.path}"]  # it refuses HEAD with 501
    acme.feed("gone", secret_of(site.url.replace("jobs.csv", "gone.csv")))
    acme.feed("private", f'employer = "Acme Ltd."\n[source]\nurl = "{site.url}"\n')
    site.asked.clear()
    checked = acme.run("check", "--sources")
    assert checked.code == 1
    gone = site.url.replace("jobs.csv", "gone.csv")
    assert f"gone.toml: source: {gone}: 401 Unauthorized: see the credentials" in checked.err
    assert checked.err.count("private.toml") == 1
    assert len(site.asked) == 4


# -- the daemon ------------------------------------------------------------------------------------------------


def test_the_daemon_fetches_at_its_turns_and_a_source_that_hangs_delays_neither_others_nor_the_stop(
    acme, site, silent, start
):
    acme.feed("acme", example(site.url, "1s"))
    acme.feed("hangs", secret_of(silent, 'every = "1s"'))
    acme.feed("wrong", secret_of("ftp://h/"))
    credential(acme)
    daemon = start()
    (fetched,) = daemon.wait_for_event("source.fetched")
    assert (fetched["feed"], fetched["bytes"]) == ("acme", len(site.body))
    (run,) = daemon.wait_for_event("feed.reconciled")
    assert (run["feed"], run["state"], run["created"], run["file"]) == (
        "acme",
        "succeeded",
        2,
        fetched["files"][0],
    )
    daemon.wait_for_event("source.not_modified", 2)
    site.status = 403
    failed = daemon.wait_for_event("source.failed", 4)  # the first is that of the wrong one
    assert [event["feed"] for event in failed] == ["wrong", "acme", "acme", "acme"]
    assert (failed[3]["status"], failed[3]["failures"]) == (403, 3)
    page = daemon.text("/feeds/acme", {"Accept": "text/html"}, which="operator")
    assert "failing since" in page
    assert "403 Forbidden" in page
    site.status = 200
    (recovered,) = daemon.wait_for_event("source.recovered")
    assert recovered["feed"] == "acme"
    metrics = daemon.text("/metrics", which="operator")
    assert 'syncd_source_fetches_total{feed="acme",result="fetched"} 1.0' in metrics
    assert 'syncd_source_last_success_timestamp{feed="acme"}' in metrics
    status, ready = daemon.request("GET", "/readyz")
    assert (status, ready["feeds"].partition(": ")[0]) == (200, "wrong")
    began = time.monotonic()
    assert daemon.stop() == 0
    assert time.monotonic() - began < 10
    assert [*(acme.drop_folder / "hangs" / ".incoming").iterdir()] == []
    text = daemon.log.read_text() + page + metrics + acme.run("feed", "list", "--json").out
    assert TOKEN.split()[1] not in text
    assert TOKEN.split()[1].encode() not in (acme.base / "var" / "syncd.db").read_bytes()


SECRET = "pl4nted"  # the word of each secret


def everything_seen(acme, start, tables, kept, good=()):
    """Return all texts of a daemon with sources, of which only ``good`` ones succeed, in their place; each other one fails until
    it has a notice. ``kept``: where the backup goes."""
    for name, table in tables.items():
        acme.feed(name, f'employer = "Acme Ltd."\n[source]\n{table}')
        (acme.feeds / f"{name}.toml").chmod(0o600)
    with Hook() as hook:
        acme.settings(f'[notify]\nwebhook = "{hook.url}"\nwebhook_secret = "{HOOK_SECRET}"\n')
        daemon = start({"PLANTED": SECRET})
        wait_until(lambda: {each["feed"] for each in hook.accepted} >= tables.keys() - {*good}, "notices")
        for name in good:
            wait_until(lambda name=name: daemon.events("feed.reconciled"), f"a run of {name}")
        seen = {path: daemon.text(path, which="operator") for path in ("/metrics", "/readyz?verbose")}
        paths = ["/", "/feeds", "/runs", *(f"/feeds/{name}" for name in tables)]
        paths += [f"/runs/{number + 1}" for number in range(len(good))]
        seen |= {path: daemon.text(path, {"Accept": "text/html"}, which="operator") for path in paths}
        commands = [["feed", each, name] for name in tables for each in ("fetch", "show")]
        commands += [
            ["feed", "list"],
            ["check"],
            ["check", "--sources"],
            ["status"],
            ["runs"],
            ["runs", "show", "1"],
        ]
        commands += [["feed", "fetch", name, "--dry-run"] for name in tables]
        for command in [*commands, *([*each, "--json"] for each in commands)]:
            done = acme.run(*command)
            seen[" ".join(command)] = done.out + done.err
        acme.run("backup", str(kept))
        assert daemon.stop() == 0
        seen["notices"] = repr(hook.accepted)
    files = [daemon.log, kept, *(acme.base / "var").rglob("*"), *acme.drop_folder.rglob("*")]
    seen |= {str(path): path.read_bytes().decode("latin-1") for path in files if path.is_file()}
    return seen


def leaks(seen):
    return {
        place: text[max(0, text.find(SECRET) - 200) :][:400] for place, text in seen.items() if SECRET in text
    }


def test_no_secret_of_a_server_is_seen_anywhere(acme, start, tmp_path):
    """No source succeeds: the errors are those of packages and of the system."""
    hosts = 'insecure_hosts = ["127.0.0.1"]\nevery = "1s"\n'
    login = f'username = "u"\npassword = "{SECRET}"\n'
    by_env = 'username = { env = "PLANTED" }\npassword = { env = "PLANTED" }\n'
    account = f'{{"type": "service_account", "private_key": "{SECRET}", "client_email": "{SECRET}"}}'
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=refuse, args=(server,), daemon=True).start()
        place = f"127.0.0.1:{server.getsockname()[1]}"
        tables = {
            "sftp": f'url = "sftp://{place}/x"\n{login}known_hosts = "{SECRET}"\n{hosts}',
            "sftp-key": f'url = "sftp://{place}/x"\nusername = "u"\nkey = "{SECRET}"\nknown_hosts = "x"\n{hosts}',
            "sftp-env": f'url = "sftp://{place}/x"\n{by_env}known_hosts = {{ env = "PLANTED" }}\n{hosts}',
            "ftps": f'url = "ftps://u:{SECRET}@{place}/*.xml"\n{hosts}',
            "ftps-env": f'url = "ftps://{place}/x"\n{by_env}{hosts}',
            "s3": f'url = "s3://a/x"\nusername = "{SECRET}"\npassword = "{SECRET}"\nendpoint = "http://{place}"\n{hosts}',
            "s3-env": f'url = "s3://a/x"\n{by_env}endpoint = "http://{place}"\n{hosts}',
            "gs": f'url = "gs://a/x"\nkey = "{SECRET}"\nevery = "1s"\n',
            "gs-account": f'url = "gs://a/x"\nkey = \'{account}\'\nevery = "1s"\n',
            "az": f'url = "az://a/x"\n{login}every = "1s"\n',
            "az-env": f'url = "az://a/x"\n{by_env}every = "1s"\n',
        }
        assert leaks(everything_seen(acme, start, tables, tmp_path / "backup")) == {}


def refuse(server):
    """Answer each connection with a line that is of no protocol, and end it."""
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            connection.sendall(b"500 no\r\n")


def test_no_secret_of_http_is_seen_anywhere(acme, start, tmp_path, site):
    """Headers, logins, queries, a credential that is an address, a body; one of them succeeds, and has a run with a report."""
    hosts = 'insecure_hosts = ["127.0.0.1"]\nevery = "1s"\n'
    place = site.url.removeprefix("http://").partition("/")[0]
    (acme.base / "config" / "credentials").mkdir(mode=0o700)
    kept = acme.base / "config" / "credentials" / "address"
    kept.write_text(f"http://{place}/x/{SECRET}?t={SECRET}\n")
    kept.chmod(0o600)
    own = f'url = "{site.url}?t={SECRET}"\nheaders = {{ Authorization = "{TOKEN}", X-Key = "{SECRET}" }}\n{hosts}'
    tables = {
        "good": own,
        "headers": f'url = "{site.url}"\nheaders = {{ X-Api-Key = "{SECRET}", Authorization = "Bearer {SECRET}" }}\n{hosts}',
        "env": f'url = {{ env = "PLANTED" }}\nheaders = {{ X-Token = {{ env = "PLANTED" }} }}\n{hosts}',
        "login": f'url = "http://u:{SECRET}@{place}/jobs.csv"\n{hosts}',
        "login-env": f'url = "{site.url}"\nusername = "u"\npassword = {{ env = "PLANTED" }}\n{hosts}',
        "query": f'url = "{site.url}?token={SECRET}#{SECRET}"\n{hosts}',
        "address": f'url = {{ credential = "address" }}\n{hosts}',
        "body": f'url = "{site.url}"\nmethod = "POST"\nbody = {{ key = "{SECRET}" }}\n{hosts}',
        "closed": f'url = "http://127.0.0.1:1/x?sig={SECRET}"\nusername = "u"\npassword = "{SECRET}"\n{hosts}',
        "no-tls": f'url = "https://{place}/jobs.csv?t={SECRET}"\n{hosts}',
        "private": f'url = "http://{place}/jobs.csv?t={SECRET}"\nevery = "1s"\n',
        "paged": f'url = "{site.url}?t={SECRET}"\npages = {{ next = "a" }}\n{hosts}',
    }
    seen = everything_seen(acme, start, tables, tmp_path / "backup", good=["good"])
    assert leaks(seen) == {}
    assert "jobs.csv" in seen["runs show 1 --json"]


def test_files_of_a_folder_are_fetched_by_the_daemon_and_deleted(acme, start, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "jobs-1.csv").write_text(csv_text([row("A-1")]))
    table = f'url = "file://{out}/jobs-*.csv"\nevery = "1s"\nafter = "delete"\n'
    acme.feed("acme", f'employer = "Acme Ltd."\n[source]\n{table}')
    assert acme.run("check").code == 0
    daemon = start()
    daemon.wait_for_event("feed.reconciled")
    (out / "jobs-2.csv").write_text(csv_text([row("A-1"), row("A-2")]))
    second = daemon.wait_for_event("feed.reconciled", 2)[1]
    assert (second["state"], second["created"]) == ("succeeded", 1)
    assert [*out.iterdir()] == []
