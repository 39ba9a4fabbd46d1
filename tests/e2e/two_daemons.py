"""Two daemons on one PostgreSQL and one drop folder: one of them is killed every few seconds, the server crashes once and is
restarted once, and clients write through the API of both. Then each file must have run exactly once to its end, no write that
was acknowledged may be lost, and what the feeds own must be as one daemon makes it that nobody disturbs."""

import contextlib
import http.client
import json
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from syncd.store import Store, employers, jobs, keys, runs
from syncd.sync.files import DRAFT
from tests.clock import ZONE
from tests.e2e.conftest import JOB, Daemon, Installation, csv_text, row
from tests.stores import server

EMPLOYER = "Acme Ltd."
SEED = 20261122
#: Members of a job that depend on the moment and on the order of the feeds. Its version does not: it counts the changes.
_OWN = {"id", "published_at"}


#: The file of each feed. Nothing is held, though the files of half a year come within minutes.
_FEED = f'employer = "{EMPLOYER}"\nmax_archive = {{ percent = 100, jobs = 1000000 }}\n'


@dataclass(frozen=True)
class Load:
    """What the daemons get: ``files`` for each of ``feeds``. ``pause``: seconds between two kills, at least and at most.
    ``limit``: seconds that a file may take."""

    feeds: int
    files: int
    pause: tuple[float, float]
    limit: float = 90


class Host:
    """A daemon on a machine of its own, as far as it knows: settings and log are its own, store and drop folder shared."""

    def __init__(self, base: Path, url: str, feeds: int, cli: Any = None) -> None:
        base.joinpath("a").mkdir(parents=True)
        self.installation = Installation(base / "a", cli)
        self.installation.settings(f'folder = "{base.parent / "drop"}"\n[store]\nurl = "{url}"\n')
        (self.installation.feeds / "acme.toml").unlink()
        for number in range(feeds):
            self.installation.feed(f"feed{number}", _FEED)
        self.daemon: Daemon | None = None

    def start(self) -> None:
        self.daemon = Daemon(self.installation)
        self.daemon.wait_for("READY=1")

    def kill(self) -> None:
        if self.daemon is not None:
            self.daemon.close()


def ask(
    host: Host, method: str, path: str, key: str, body: dict[str, Any] | None = None, **headers: str
) -> tuple[int, Any, Any]:
    """Return (status, headers, JSON) of an answer; the status is 0 if there is none."""
    assert host.daemon is not None
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

    def __init__(self, hosts: Sequence[Host], key: str, number: int) -> None:
        super().__init__(daemon=True)
        self.hosts, self.key, self.number = hosts, key, number
        self.halt, self.statuses = threading.Event(), Counter[int]()
        #: References whose job was acknowledged; reference → the title that was acknowledged last and those sent since.
        self.acknowledged: set[str] = set()
        self.possible: dict[str, list[str]] = {}

    def run(self) -> None:
        chance, count = random.Random(self.number), 0
        while not self.halt.is_set():
            count += 1
            reference = f"api-{self.number}-{chance.randrange(20)}"
            title = f"Title {count}"
            self.possible.setdefault(reference, []).append(title)
            body = {**JOB, "referenceId": reference, "title": title}
            status, _, _ = ask(chance.choice(self.hosts), "PUT", "/jobs", self.key, body)
            self.statuses[status] += 1
            if status in (200, 201):
                self.acknowledged.add(reference)
                self.possible[reference] = [title]


def content(feed: int, number: int) -> str:
    """Return the file of a feed: some rows are new, changed or missing in each."""
    numbers = range(number, number + 30)
    return str(csv_text([row(f"F{feed}-{n}", f"Job {n} of {number if n % 3 == 0 else 0}") for n in numbers]))


class Partner(threading.Thread):
    """Drops the files of a feed, each once the one before is filed. ``filed``: how many are. ``fault``: the file that was
    not."""

    def __init__(
        self, drop: Path, feed: int, load: Load, may_drop: Callable[[int], bool] = lambda number: True
    ) -> None:
        super().__init__(daemon=True)
        self.folder, self.feed, self.load, self.may_drop = drop / f"feed{feed}", feed, load, may_drop
        self.filed, self.fault = 0, ""

    def run(self) -> None:
        self.folder.mkdir(exist_ok=True)
        for number in range(self.load.files):
            while not self.may_drop(number):
                time.sleep(0.05)
            name = f"day{number}.csv"
            (self.folder / f".{name}.tmp").write_text(content(self.feed, number))
            (self.folder / f".{name}.tmp").rename(self.folder / name)
            end = time.monotonic() + self.load.limit
            while not any((self.folder / "done").glob(f"*-{name}")):
                if time.monotonic() > end:
                    self.fault = f"{self.folder}/{name} is not done"
                    return
                time.sleep(0.05)
            self.filed += 1


def disturbed(hosts: Sequence[Host], key: str, drop: Path, load: Load) -> tuple[int, list[Client]]:
    """Start the daemons, drop the files, write and kill, until all files are filed. Return how often the server was restarted,
    and the clients."""
    chance, restarts = random.Random(SEED), 0
    for host in hosts:
        host.start()

    def may_drop(number: int) -> bool:
        """The second half of the files waits for the first restart of the server, the last file for the second."""
        return restarts >= (2 * number >= load.files) + (number == load.files - 1)

    partners = [Partner(drop, feed, load, may_drop) for feed in range(load.feeds)]
    clients = [Client(hosts, key, number) for number in range(2)]
    for thread in (*partners, *clients):
        thread.start()
    while any(partner.is_alive() for partner in partners):
        time.sleep(chance.uniform(*load.pause))
        host = chance.choice(hosts)
        host.kill()
        filed = sum(partner.filed for partner in partners) / (load.feeds * load.files)
        if filed > (restarts + 1) / 3 and restarts < 2:
            server().stop((signal.SIGQUIT, signal.SIGINT)[restarts])  # it crashes, then it is stopped cleanly
            server().start()
            restarts += 1
        host.start()
    for client in clients:
        client.halt.set()
        client.join(60)
        assert not client.is_alive()
        assert client.statuses.keys() <= {0, 200, 201, 503}, client.statuses
    assert not (faults := [partner.fault for partner in partners if partner.fault]), faults
    return restarts, clients


def undisturbed(base: Path, url: str, load: Load) -> None:
    """Give the same files to one daemon alone."""
    (base / "drop").mkdir(parents=True)
    with Store.open(url, timezone=ZONE) as store:
        store.write(lambda tx: employers.add(tx, EMPLOYER))
    host = Host(base / "alone", url, load.feeds)
    host.start()
    try:
        partners = [Partner(base / "drop", feed, load) for feed in range(load.feeds)]
        for partner in partners:
            partner.start()
        for partner in partners:
            partner.join()
        assert not (faults := [partner.fault for partner in partners if partner.fault]), faults
    finally:
        host.kill()


def check(store: Store, clients: Sequence[Client], drop: Path, load: Load) -> None:
    """Check all that is the same for any order of events. Raises AssertionError."""
    employer = store.read(lambda tx: employers.find(tx, EMPLOYER))
    found = store.read(lambda tx: runs.newest(tx, limit=100_000))
    ended = sorted((run.feed, run.file) for run in found if run.state in ("succeeded", "partial"))
    assert ended == sorted(
        (f"feed{feed}", f"day{day}.csv") for feed in range(load.feeds) for day in range(load.files)
    )
    assert len(found) == len(ended)
    state = {
        job.reference_id: job for job in store.read(lambda tx: jobs.after(tx, employer.id, 0, 1_000_000))
    }
    for feed in range(load.feeds):
        active = {
            ref
            for ref, job in state.items()
            if (ref or "").startswith(f"F{feed}-") and job.status == "active"
        }
        assert active == {f"F{feed}-{n}" for n in range(load.files - 1, load.files + 29)}
        left = [path.name for path in (drop / f"feed{feed}" / ".claimed").iterdir()]
        assert [
            name for name in left if not name.startswith(DRAFT)
        ] == []  # drafts are removed after a minute
    for client in clients:
        assert client.acknowledged
        for reference in client.acknowledged:
            assert state[reference].title in client.possible[reference], reference
    counted = Counter((job.employer_id, job.status.value) for job in state.values())
    assert {k: n for k, n in store.read(jobs.totals).items() if n} == counted


def of_feeds(url: str) -> dict[str, dict[str, Any]]:
    """Return the jobs of the feeds by referenceId, without what depends on the moment."""
    with Store.open(url, timezone=ZONE) as store:
        employer = store.read(lambda tx: employers.find(tx, EMPLOYER))
        found = store.read(lambda tx: jobs.after(tx, employer.id, 0, 1_000_000))
    return {
        str(job.reference_id): {
            name: value for name, value in msgspec.to_builtins(job).items() if name not in _OWN
        }
        for job in found
        if (job.reference_id or "").startswith("F")
    }


def try_out(base: Path, load: Load) -> int:
    """Run two daemons that are disturbed, and one that is not, and compare. Return how often the server was restarted. Raises
    AssertionError."""
    urls = [server().url(server().new_database()) for _ in range(2)]
    (base / "two" / "drop").mkdir(parents=True)
    with Store.open(urls[0], timezone=ZONE) as store:
        employer = store.write(lambda tx: employers.add(tx, EMPLOYER))
        _, key = store.write(lambda tx: keys.create(tx, employer.id))
    hosts = [Host(base / "two" / name, urls[0], load.feeds) for name in ("one", "other")]
    try:
        restarts, clients = disturbed(hosts, key, base / "two" / "drop", load)
    finally:
        for host in hosts:
            host.kill()
    with Store.open(urls[0], timezone=ZONE) as store:
        check(store, clients, base / "two" / "drop", load)
    undisturbed(base / "one", urls[1], load)
    assert of_feeds(urls[0]) == of_feeds(urls[1])
    return restarts
