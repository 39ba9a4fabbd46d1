"""A daemon that is killed at any instant has the same result: no acknowledged write is lost, nothing hangs, no run is doubled."""

import contextlib
import http.client
import json
import os
import random
import shutil
import sqlite3
import threading
import time
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from syncd.domain import RunState
from syncd.store import Store, employers, jobs, runs
from syncd.sync.files import DRAFT
from tests.amounts import nightly
from tests.e2e.conftest import JOB

pytestmark = pytest.mark.slow

#: ``.ci/nightly kills`` kills it 200 times.
ROWS, KILLS, SEED = 20_000, int(os.environ.get("TESTS_KILLS", "20")), 20261121
#: Seconds after ready. Two kills in a row never come from one band, and each second waits until the run has moved, so that no
#: three of them hit the same batch by chance (which would make a poison file of an honest one).
BANDS = ((0.02, 0.25), (0.6, 1.4), (2.0, 5.0))
FEED = "acme"


def reference(number):
    return f"F-{number:05}"


def day(number, make_row):
    """The feed on one day: all new on the first; later a tenth has changed, and on every second day a twentieth is missing."""
    rows = [make_row(reference(n), f"Job {n}", f"<p>Number {n}.</p>") for n in range(ROWS)]
    for row in rows[number % 10 :: 10] if number else ():
        row[5] = f"<p>Changed on day {number}.</p>"
    return [row for n, row in enumerate(rows) if number % 2 == 0 or n % 20 != number % 20]


class Client(threading.Thread):
    """Sends PUTs one after the other, whatever happens to the daemon, and remembers what was acknowledged."""

    def __init__(self, key):
        super().__init__(daemon=True)
        self.key, self.address = key, None
        self.halt = threading.Event()
        self.titles, self.sent, self.confidential = {}, {}, set()

    def run(self):
        chance = random.Random(SEED)
        count = 0
        while not self.halt.is_set():
            count += 1
            if count % 2:
                self.own(f"API-{chance.randrange(50)}", count)
            else:
                self.feeds(reference(chance.randrange(ROWS)))

    def own(self, ref, count):
        """A job that no feed knows."""
        body = {"referenceId": ref, "title": f"Title {count}"}
        if ref not in self.titles:
            body = JOB | body
        self.sent.setdefault(ref, []).append(body["title"])
        if self.put(body) in (200, 201):
            self.titles[ref] = body["title"]
            self.sent[ref] = [body["title"]]

    def feeds(self, ref):
        """A job of the feed, and a field that the feed does not send."""
        if self.put({"referenceId": ref, "confidential": True}) == 200:
            self.confidential.add(ref)

    def put(self, body):
        if self.address is None:
            time.sleep(0.01)
            return None
        try:
            connection = http.client.HTTPConnection(self.address, timeout=10)
            with contextlib.closing(connection):
                headers = {"API-Key": self.key, "Content-Type": "application/json"}
                connection.request("PUT", "/api/v1.1/jobs", json.dumps(body), headers)
                answer = connection.getresponse()
                answer.read()
                return answer.status
        except (OSError, http.client.HTTPException):
            return None


@contextlib.contextmanager
def opened(base):
    with Store.open(f"sqlite:///{base}/var/syncd.db", timezone=ZoneInfo("America/Toronto")) as store:
        yield store


def end_state(store):
    """The employer's jobs by reference, without what time and order decide."""
    owner = store.read(lambda tx: employers.find(tx, "Acme Ltd."))
    found, after = {}, 0
    while page := store.read(lambda tx, a=after: jobs.after(tx, owner.id, a, 2000)):
        after = page[-1].id
        for job in page:
            plain = replace(job, id=0, version=0, published_at=None, publish_date=None, close_date=None)
            assert job.reference_id not in found
            found[job.reference_id] = plain
    return found


@nightly
def test_killed_again_and_again_it_has_the_same_result(
    installation, start, make_row, until, tmp_path_factory
):
    key = installation.employer_with_key()
    chance = random.Random(SEED)
    client = Client(key)
    client.start()
    days: dict[str, list[list[str]]] = {}

    def next_day():
        name = f"day{len(days)}.csv"
        days[name] = day(len(days), make_row)
        installation.drop(name, days[name])

    for kill in range(KILLS):
        before = place(installation)
        daemon = start()
        client.address = daemon.address()
        end = time.monotonic() + chance.uniform(*BANDS[kill % len(BANDS)])
        until((installation.drop_folder / FEED / ".claimed").is_dir, "the feed's folder")
        while time.monotonic() < end:
            if filed(installation, days):
                next_day()
            time.sleep(0.01)
        if kill % 2:  # the third death at one place would make the file a poison file
            until(lambda: filed(installation, days) or place(installation) != before, "a step of the run")  # noqa: B023
        client.address = None
        daemon.close()  # SIGKILL
    daemon = start()
    client.address = daemon.address()
    until(lambda: filed(installation, days), "the end of the last run")
    client.halt.set()
    client.join()
    assert daemon.stop() == 0
    check(installation, client, days)
    with opened(installation.base) as store:
        found = end_state(store)
    of_feed = {ref: replace(job, confidential=False) for ref, job in found.items() if ref.startswith("F-")}
    assert of_feed == uninterrupted(installation, days, tmp_path_factory.mktemp("reference"))


def filed(installation, names):
    done = {path.name.partition("-")[2] for path in (installation.drop_folder / FEED / "done").glob("*.csv")}
    return done >= set(names)


def place(installation):
    """Return the newest run and the place that it has reached."""
    address = f"file:{installation.base}/var/syncd.db?mode=ro"
    with contextlib.closing(sqlite3.connect(address, uri=True)) as store:
        return store.execute("SELECT id, checkpoint FROM run ORDER BY id DESC LIMIT 1").fetchone()


def uninterrupted(installation, days, folder):
    """Return the result of the same files, run one after the other in another installation."""
    base = folder / "plain"
    shutil.copytree(installation.base / "config", base / "config")
    for name, rows in days.items():
        path = folder / name
        path.write_text(installation.csv_text(rows))
    config = base / "config" / "syncd.toml"
    assert installation.cli("--config", config, "employer", "add", "Acme Ltd.").code == 0
    for name in days:
        assert installation.cli("--config", config, "import", folder / name, "--feed", FEED).code == 0
    with opened(base) as store:
        return end_state(store)


def check(installation, client, days):
    with opened(installation.base) as store:
        found = end_state(store)
        ended = store.read(lambda tx: runs.newest(tx, None, 1000))
        assert not store.read(runs.unfinished)
    assert client.titles, "no PUT was acknowledged"
    assert client.confidential, "no PUT to the feed's own jobs was acknowledged"
    for ref in client.titles:  # the last that was acknowledged, or one after it whose answer did not arrive
        assert found[ref].title in client.sent[ref], ref
    assert not [ref for ref in client.confidential if not found[ref].confidential]
    assert {run.file: run.state for run in ended} == dict.fromkeys(days, RunState.SUCCEEDED)
    assert len(ended) == len(days)
    assert sum(run.attempt - 1 for run in ended) >= KILLS // 2, "most kills were to hit a run"
    folder = installation.drop_folder / FEED
    assert sorted(p.name.partition("-")[2] for p in folder.rglob("*.csv")) == sorted(days)
    assert [p.name for p in folder.iterdir() if p.is_file()] == []
    left = [p.name for p in (folder / ".claimed").iterdir() if p.name != ".lock"]
    assert [name for name in left if not name.startswith(DRAFT)] == [], (
        "but for drafts, removed after a minute"
    )
