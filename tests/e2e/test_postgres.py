"""Daemons on one PostgreSQL and one drop folder: killed, and with a server that crashes, they have the result of one."""

import contextlib
import http.client
import json
import os
import random
import signal
import threading
import time

import pytest

from syncd.store import Store, employers, jobs, keys, runs
from syncd.sync.files import DRAFT
from tests.clock import ZONE
from tests.e2e.conftest import Daemon, Installation, csv_text, row, wait_until
from tests.stores import POSTGRES, server
from tests.test_bench import run as bench

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not POSTGRES, reason="needs TESTS_STORE=postgres"),
]
FEEDS, FILES, KILLS, SEED = 6, 8, 8, 20261122
EMPLOYER = "Acme Ltd."


@pytest.fixture
def database():
    """The address of a database of its own."""
    name = server().new_database()
    yield server().url(name)
    server().sql(f"DROP DATABASE {name} WITH (FORCE)")


class Host:
    """A daemon on a machine of its own, as far as it knows: settings and log are its own, store and drop folder shared."""

    def __init__(self, base, cli, url):
        base.joinpath("a").mkdir(parents=True)
        self.installation = Installation(base / "a", cli)
        self.installation.settings(f'folder = "{base.parent / "drop"}"\n[store]\nurl = "{url}"\n')
        (self.installation.feeds / "acme.toml").unlink()
        for number in range(FEEDS):
            self.installation.feed(f"feed{number}")
        self.daemon: Daemon | None = None

    def start(self):
        self.daemon = Daemon(self.installation)
        self.daemon.wait_for("READY=1")

    def kill(self):
        assert self.daemon is not None
        self.daemon.close()


@pytest.fixture
def hosts(tmp_path, cli, database):
    """Two hosts with an employer. Their daemons are ended after the test."""
    (tmp_path / "drop").mkdir()
    found = [Host(tmp_path / name, cli, database) for name in ("one", "two")]
    with Store.open(database, timezone=ZONE) as store:
        store.write(lambda tx: employers.add(tx, EMPLOYER))
    yield found
    for host in found:
        if host.daemon is not None:
            host.kill()


@pytest.fixture
def key(hosts, database):
    with Store.open(database, timezone=ZONE) as store:
        employer = store.read(lambda tx: employers.find(tx, EMPLOYER))
        return store.write(lambda tx: keys.create(tx, employer.id))


BODY = {
    "locations": [{"description": "Halifax, NS"}],
    "categories": [{"id": 1}],
    "description": "<p>x</p>",
    "applicantRoutingType": {"id": 1},
    "applicationEmail": "a@example.ca",
    "positionType": {"id": 1},
}


def ask(host, method, path, key, body=None, **headers):
    """Return (status, headers, JSON) of an answer; the status is 0 if there is none."""
    try:
        connection = http.client.HTTPConnection(host.daemon.address(), timeout=20)
        with contextlib.closing(connection):
            sent = {"API-Key": key, "Content-Type": "application/json", **headers}
            connection.request(method, f"/api/v1.1{path}", json.dumps(body) if body else None, sent)
            answer = connection.getresponse()
            content = answer.read()
            return answer.status, answer.headers, json.loads(content) if content else None
    except (OSError, http.client.HTTPException, IndexError):
        return 0, {}, None


class Client(threading.Thread):
    """Puts jobs that no feed knows, to one host and the other, and remembers what was acknowledged."""

    def __init__(self, hosts, key, number):
        super().__init__(daemon=True)
        self.hosts, self.key, self.number = hosts, key, number
        self.halt, self.acknowledged, self.statuses = threading.Event(), {}, set()
        self.pending = {}

    def run(self):
        chance, count = random.Random(self.number), 0
        while not self.halt.is_set():
            count += 1
            reference = f"api-{self.number}-{chance.randrange(20)}"
            title = f"Title {count}"
            self.pending.setdefault(reference, []).append(title)
            host = chance.choice(self.hosts)
            body = {"referenceId": reference, "title": title, **BODY}
            status, _, _ = ask(host, "PUT", "/jobs", self.key, body)
            self.statuses.add(status)
            if status in (200, 201):
                self.acknowledged[reference] = title
                self.pending[reference] = [title]


def content(feed, number):
    """The file of a feed: some rows are new, changed or missing in each."""
    return csv_text(
        [row(f"F{feed}-{n}", f"Job {n} of {number if n % 3 == 0 else 0}") for n in range(number, number + 30)]
    )


class Partner(threading.Thread):
    """Drops the files of a feed, each once the one before is filed."""

    def __init__(self, drop, feed):
        super().__init__(daemon=True)
        self.folder, self.feed = drop / f"feed{feed}", feed

    def run(self):
        self.folder.mkdir(exist_ok=True)
        for number in range(FILES):
            name = f"day{number}.csv"
            (self.folder / f".{name}.tmp").write_text(content(self.feed, number))
            (self.folder / f".{name}.tmp").rename(self.folder / name)
            done = self.folder / "done"
            wait_until(lambda done=done, name=name: any(done.glob(f"*-{name}")), f"{self.folder}/{name}")


def test_killed_and_with_a_server_that_crashes_two_daemons_have_the_result_of_one(
    hosts, key, database, tmp_path
):
    chance = random.Random(SEED)
    for host in hosts:
        host.start()
    partners = [Partner(tmp_path / "drop", feed) for feed in range(FEEDS)]
    clients = [Client(hosts, key[1], number) for number in range(2)]
    for thread in (*partners, *clients):
        thread.start()
    for turn in range(KILLS):
        time.sleep(chance.uniform(0.3, 1.5))
        host = chance.choice(hosts)
        host.kill()
        if turn in (2, 5):
            server().stop(signal.SIGQUIT if turn == 2 else signal.SIGINT)
            server().start()
        host.start()
    for partner in partners:
        partner.join(90)
        assert not partner.is_alive(), f"files of feed {partner.feed} are not done"
    for client in clients:
        client.halt.set()
        client.join(30)
        assert client.statuses <= {0, 200, 201, 503}, client.statuses
    with Store.open(database, timezone=ZONE) as store:
        check(store, clients, tmp_path / "drop")


def check(store, clients, drop):
    employer = store.read(lambda tx: employers.find(tx, EMPLOYER))
    found = store.read(lambda tx: runs.list(tx, limit=10_000))
    ended = sorted((run.feed, run.file) for run in found if run.state in ("succeeded", "partial"))
    assert ended == sorted((f"feed{feed}", f"day{day}.csv") for feed in range(FEEDS) for day in range(FILES))
    assert len(found) == len(ended)
    state = {job.reference_id: job for job in store.read(lambda tx: jobs.after(tx, employer.id, 0, 10_000))}
    for feed in range(FEEDS):
        active = {ref for ref, job in state.items() if ref.startswith(f"F{feed}-") and job.status == "active"}
        assert active == {f"F{feed}-{n}" for n in range(FILES - 1, FILES + 29)}
        left = [path.name for path in (drop / f"feed{feed}" / ".claimed").iterdir()]
        assert [
            name for name in left if not name.startswith(DRAFT)
        ] == []  # drafts are removed after a minute
    for client in clients:
        assert client.acknowledged
        for reference, title in client.acknowledged.items():
            assert state[reference].title in client.pending[reference], (reference, title)
    counted: dict[tuple[int, str], int] = {}
    for job in state.values():
        counted[job.employer_id, job.status.value] = counted.get((job.employer_id, job.status.value), 0) + 1
    assert {k: n for k, n in store.read(jobs.totals).items() if n} == counted


def test_what_one_daemon_answers_the_other_knows_at_once(hosts, key, database, until):
    for host in hosts:
        host.start()
    one, two = hosts
    info, plain = key
    again = {"Idempotency-Key": "order-1"}
    status, first, job = ask(one, "POST", "/jobs", plain, {"title": "Welder", **BODY}, **again)
    assert status == 201
    status, _, same = ask(two, "POST", "/jobs", plain, {"title": "Welder", **BODY}, **again)
    assert (status, same) == (201, job)
    path = f"/jobs/{job['id']}"
    status, headers, _ = ask(two, "GET", path, plain)
    assert (status, headers["ETag"]) == (200, first["ETag"])
    change = {"title": "Chief welder", "id": job["id"]}
    assert ask(two, "PUT", path, plain, change, **{"If-Match": first["ETag"]})[0] == 200
    assert ask(one, "PUT", path, plain, change, **{"If-Match": first["ETag"]})[0] == 412
    assert [ask(host, "GET", path, plain)[0] for host in hosts] == [200, 200]
    with Store.open(database, timezone=ZONE) as store:
        store.write(lambda tx: keys.revoke(tx, info.id))
    time.sleep(1)
    assert [ask(host, "GET", path, plain)[0] for host in hosts] == [401, 401]


def test_while_the_server_is_away_a_daemon_answers_503_and_goes_on_afterwards(hosts, key, until):
    host, _ = hosts
    host.start()
    body = {"referenceId": "a", "title": "Welder", **BODY}
    assert ask(host, "PUT", "/jobs", key[1], body)[0] == 201
    server().stop()
    try:
        for method, path in (("GET", "/jobs"), ("PUT", "/jobs")):
            status, headers, problem = ask(host, method, path, key[1], body if method == "PUT" else None)
            assert (status, problem["code"], headers["Retry-After"]) == (503, "overloaded", "1")
        status, health = host.daemon.request("GET", "/readyz")
        assert status == 503
        assert "cannot be reached" in health["store"]
    finally:
        server().start()
    until(lambda: ask(host, "PUT", "/jobs", key[1], body)[0] == 200)
    until(lambda: host.daemon.request("GET", "/readyz")[0] == 200)


def test_a_store_is_copied_to_the_server_and_served_from_there(installation, start, database):
    key = installation.employer_with_key()
    source = f"sqlite:///{installation.base}/var/syncd.db"
    copied = installation.cli("store", "copy", source, database, "--json")
    assert copied.code == 0, copied.err
    found = copied.json
    assert {entry["table"]: entry["rows"] for entry in found}["api_key"] == 1
    again = installation.cli("store", "copy", source, database)
    assert (again.code, again.err) == (
        1,
        "syncd: the target is not empty: it has rows in the table employer\n",
    )
    installation.settings(f'[store]\nurl = "{database}"\n')
    os.chmod(installation.config, 0o600)
    assert start().request("GET", "/api/v1.1/jobs", key)[0] == 200


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("sqlite:///", "sqlite:///b"), "FROM: must be sqlite:///PATH"),
        (("postgresql://u:s3cret@h:x/d", "sqlite:///b"), "FROM: has a port that is not a number"),
        (("sqlite:////nowhere/a.db", "postgresql://u:s3cret@h"), "TO: must name one database"),
        (("sqlite:////nowhere/a.db", "postgresql://u:s3cret@127.0.0.1:1/d"), "there is no store to copy"),
        (("postgresql://u:s3cret@127.0.0.1:1/d", "sqlite:///b"), "the server cannot be reached"),
    ],
)
def test_a_copy_that_cannot_be_made_is_one_line_without_a_password(cli, arguments, words):
    result = cli("store", "copy", *arguments)
    assert (result.code, result.out) == (1, "")
    assert words in result.err
    assert "s3cret" not in result.err
    assert result.err.count("\n") == 1


def test_the_benches_measure_the_server_beside_sqlite(database, tmp_path):
    more = ("--store", database, "--folder", str(tmp_path))
    found = bench("http", "--jobs", "100", "--seconds", "1", "--rounds", "1", "--no-peer", *more)
    rows = [line.split("|") for line in found.splitlines() if line.startswith("| ")][1:]
    assert {row[3].strip() for row in rows} == {"syncd", "syncd, PostgreSQL", "bare aiohttp"}
    assert {row[9].strip() for row in rows} == {"0"}
    found = bench("import", "--rows", "300", "--reps", "1", *more)
    assert "| step | syncd s | PostgreSQL s |" in found
    assert len([line for line in found.splitlines() if line.startswith("| 2 % changed")]) == 2


def test_check_names_a_fault_of_the_address_without_the_password(installation, database):
    installation.settings(f'[store]\nurl = "{database}"\n')
    os.chmod(installation.config, 0o600)
    result = installation.run("check")
    assert result.code == 1  # the employer is missing
    assert not Store.exists(database)  # it is not made by a look
    assert installation.run("employer", "add", EMPLOYER).code == 0
    assert installation.run("check").out == f"all good: {installation.config}\n"
    installation.settings('[store]\nurl = "postgresql://u:s3cret@127.0.0.1:1/d"\n')
    os.chmod(installation.config, 0o600)
    result = installation.run("check")
    assert result.code == 1
    assert "store.url: the store cannot be used now: the server cannot be reached" in result.err
    assert "s3cret" not in result.err
