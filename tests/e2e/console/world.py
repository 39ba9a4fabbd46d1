"""A daemon with a history worth looking at, and browsers that look: what the tests of the pages and the pictures share."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from syncd.store import Store, employers, feeds, keys
from tests.e2e.conftest import BASE, EMPLOYER, Daemon, Installation, csv_text, row, wait_until
from tests.sync.board import Board

TOKEN = "hush-hush"
#: Arguments of Chromium with which it stays on this machine.
ARGUMENTS: tuple[str, ...] = (
    "--disable-gpu",
    "--disable-lcd-text",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
)
ARGUMENTS += ("--disable-component-update", "--disable-sync")
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
LONG = "jobs_of_all_our_branches_in_every_province_and_territory_" * 3 + "final.csv"
#: A feed for each way to work: each has a run that waits.
WAYS = ("harbour", "lakeside", "northern")
#: Events of runs that have ended, or wait for a decision.
ENDED = ("feed.reconciled", "feed.failed")
ZONE = ZoneInfo("America/Toronto")
TITLES = ("Welder", "Nurse", "Line cook", "Data analyst", "Bus driver", "Electrician")


def rows(name: str, count: int, title: str | None = None) -> list[list[str]]:
    """Return ``count`` valid rows of the feed ``name``; the first has ``title`` if it is given."""
    found = [row(f"{name}-{n}", TITLES[n % len(TITLES)]) for n in range(count)]
    if title is not None:
        found[0][1] = title
    return found


def wrong_rows() -> list[list[str]]:
    """Return four rows that cannot be taken: three without an address, one without a title."""
    found = [row(f"summit-9{n}", TITLES[n]) for n in range(4)]
    for cells in found[:3]:
        cells[7] = "jobs at summit.example"
    found[3][1] = ""
    return found


class Site:
    """A daemon whose pages ask for the token, with runs of every kind. Feeds: ``WAYS``, each with a held run; ``maple``, with
    rejected rows, hostile text and a long file name; ``summit``, whose file of Tuesday has rows that were rejected; ``broken``,
    which is degraded; ``idle``, whose only run failed; ``late``, which is overdue; ``quiet``, which is paused; ``prairie``,
    whose files change nothing that somebody has to look at."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._installation = Installation(folder, None)
        for name in (*WAYS, "maple", "summit", "idle", "quiet", "prairie"):
            self._installation.feed(name)
        self._installation.feed("late", f'employer = "{EMPLOYER}"\nexpect_every = "2s"\n')
        (self._installation.feeds / "acme.toml").unlink()
        self._installation.feed("broken", "employer = 3\n")
        database = folder / "var" / "syncd.db"
        with Store.open(f"sqlite:///{database}", timezone=ZONE) as store:
            employer = store.write(lambda tx: employers.add(tx, EMPLOYER))
            store.write(lambda tx: employers.add(tx, "Bäcker & Söhne", unlimited=False))
            self.key = store.write(lambda tx: keys.create(tx, employer.id, "tests"))[1]
            self.old_key = store.write(lambda tx: keys.create(tx, employer.id, "the board of last year"))[
                0
            ].id
            store.write(lambda tx: keys.revoke(tx, self.old_key))
            self.employer = employer.id
        remember_jobs(database)
        self._daemon = Daemon(self._installation, {"SYNCD_OPERATOR__TOKEN": TOKEN})
        stack.callback(self._daemon.close)
        self._daemon.wait_for("READY=1")
        self.url = f"http://{self._daemon.address('operator')}"
        self.api = f"http://{self._daemon.address()}"
        self.held: dict[str, int] = {}
        self._play()

    def _play(self) -> None:
        bad = [[*cells[:7], "no address"] for cells in rows("bad", 3)] + [row("long", "W" * 300)]
        self.deliver("maple", "monday.csv", rows("maple", 40))
        self.partial = self.deliver("maple", LONG, rows("maple", 40, f"Cook {HOSTILE}"[:90]) + bad)
        self.job = min(job["id"] for job in self._jobs("maple"))
        self.deliver("summit", "monday.csv", rows("summit", 24))
        self.tuesday = self.deliver("summit", "tuesday.csv", [*rows("summit", 26, "Baker"), *wrong_rows()])
        self.failed = self.deliver("idle", "wrong.xml", "<jobs><job>")
        self.deliver("late", "monday.csv", rows("late", 4))
        self.pause("quiet", "they change their system until Friday")
        for day in range(6):
            self.deliver("prairie", f"day-{day}.csv", rows("prairie", 9 + day))
        for name in WAYS:
            self.deliver(name, "monday.csv", rows(name, 30))
            self.held[name] = self.deliver(name, "tuesday.csv", rows(name, 8, "Baker"))
        remember_feeds(self._folder / "var" / "syncd.db")

    def pause(self, feed: str, why: str) -> None:
        """Pause a feed, as a command does beside the daemon."""
        with Store.open(f"sqlite:///{self._folder}/var/syncd.db", timezone=ZONE) as store:
            store.write(lambda tx: feeds.pause(tx, feed, why))

    def file(self, name: str, content: list[list[str]]) -> Path:
        path = self._folder / name
        path.write_text(csv_text(content))
        return path

    def put_job(self, key: str, reference: str) -> int:
        body = {**Board.row(reference), "title": "Baker"}
        return int(self._daemon.request("PUT", f"{BASE}/jobs", key, body)[0])

    def deliver(self, feed: str, name: str, content: list[list[str]] | str) -> int:
        """Drop a file of these rows, or of this text, wait for its run, and return the number of the run."""
        before = len(self._ended())
        if isinstance(content, str):
            (self._folder / name).write_text(content)
            (self._folder / name).rename(self._installation.drop_folder / feed / name)
        else:
            self._installation.drop(name, content, feed)
        return int(wait_until(lambda: self._ended()[before:], f"the run of {name}")[0]["run"])

    def _ended(self) -> list[dict[str, Any]]:
        return [event for event in self._daemon.events() if event["event"] in ENDED]

    def active(self, feed: str) -> dict[str, str]:
        """Return reference → title of the active jobs of a feed, as the API has them."""
        return {job["referenceId"]: job["title"] for job in self._jobs(feed)}

    def _jobs(self, feed: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for page in (1, 2):
            path = f"{BASE}/jobs?status=active&pageSize=100&page={page}"
            found += self._daemon.request("GET", path, self.key)[1]["data"]
        return [job for job in found if job["referenceId"].startswith(f"{feed}-")]

    def pages(self) -> dict[str, str]:
        """Return name → address of each page that a browser can open. A further page is a line here."""
        held = self.held[WAYS[0]]
        return {
            "login": "/login",
            "overview": "/",
            "runs": "/runs",
            "runs-none": "/runs?state=superseded",
            "run-held": f"/runs/{self.held[WAYS[1]]}",
            "run-rejected-rows": f"/runs/{self.tuesday}",
            "run-hostile": f"/runs/{self.partial}",
            "run-failed": f"/runs/{self.failed}",
            "approve": f"/runs/{self.held[WAYS[1]]}/approve",
            "reject": f"/runs/{self.held[WAYS[1]]}/reject",
            "revert": f"/runs/{held - 1}/revert",
            "again": f"/runs/{held - 1}/again",
            "feed": "/feeds/maple",
            **{f"feed-{tab}": f"/feeds/maple?tab={tab}" for tab in ("jobs", "rejects", "mapping", "folder")},
            "feeds": "/feeds",
            "feed-held": f"/feeds/{WAYS[1]}",
            "feed-degraded": "/feeds/broken",
            "sheet": "/feeds/maple/sheet",
            "jobs": "/jobs",
            "jobs-none": "/jobs?q=zebra",
            "jobs-found": "/jobs?q=nurse",
            "job": f"/jobs/{self.job + 1}",
            "job-hostile": f"/jobs/{self.job}",
            "employers": "/employers",
            "employer": f"/employers/{self.employer}",
            "employer-none": "/employers/2",
            "key-rotate": f"/employers/{self.employer}/keys/1/rotate",
            "key-revoke": f"/employers/{self.employer}/keys/1/revoke",
            "preview": "/preview",
            "service": "/service",
        }

    def forms(self) -> dict[str, Callable[[Any], None]]:
        """Return name → what leads a browser, which has logged in, to a page that answers a form."""
        return {
            "previewed": lambda page: self._preview(page, "maple", [*rows("maple", 30), row("bad", "")]),
            "drafted": lambda page: self._preview(page, "", rows("new", 3)),
            "key-made": self._make_key,
            "refused": self._refused,
        }

    def _preview(self, page: Any, feed: str, content: list[list[str]]) -> None:
        page.goto(f"{self.url}/preview")
        page.get_by_label("Feed").select_option(feed)
        page.get_by_label("File").set_input_files(self.file("wednesday.csv", content))
        page.get_by_role("button", name="Preview").click()
        page.get_by_role("heading", name="wednesday.csv").wait_for()

    def _make_key(self, page: Any) -> None:
        page.goto(f"{self.url}/employers/2")
        page.get_by_label("What it is for").fill("the job board")
        page.get_by_role("button", name="Create key").click()
        page.locator("pre.secret").wait_for()

    def _refused(self, page: Any) -> None:
        page.goto(f"{self.url}/employers")
        page.get_by_label("Name").fill(EMPLOYER)
        page.get_by_role("button", name="Add employer").click()
        page.get_by_role("alert").wait_for()


def remember_jobs(database: Path) -> None:
    """Have the store know the numbers of jobs of the last 90 days, as if the daemon had run so long."""
    today = datetime.now(ZONE).date()
    found = [
        ((today - timedelta(days=ago)).isoformat(), status, number)
        for ago in range(1, 90)
        for status, number in (("active", 140 - ago + 9 * (ago % 7 < 2)), ("draft", 0), ("archived", 0))
    ]
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.executemany("INSERT INTO job_day (day, status, n) VALUES (?, ?, ?)", found)


def remember_feeds(database: Path) -> None:
    """Have the store know the active jobs of each feed over the last 30 days."""
    today = datetime.now(ZONE).date()
    with closing(sqlite3.connect(database)) as connection, connection:
        for feed, active in connection.execute(
            "SELECT feed_id, count(*) FROM feed_job WHERE active GROUP BY feed_id"
        ).fetchall():
            days = [(today - timedelta(days=ago)).isoformat() for ago in range(1, 30)]
            counted = [
                (day, feed, max(0, active - (ago * feed) % 7 - ago // 6)) for ago, day in enumerate(days)
            ]
            connection.executemany("INSERT INTO feed_day (day, feed_id, active) VALUES (?, ?, ?)", counted)


@contextmanager
def site(folder: Path):
    """Yield a daemon that has played its story."""
    with ExitStack() as stack:
        yield Site(folder, stack)


class Looked:
    """Opens pages, and notes what must not happen there: an error on the console, a violation of the content security
    policy, a request that leaves the machine."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(20_000)
        self.complaints: list[str] = []
        self.page = self.context.new_page()
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._asked)

    def _said(self, message: Any) -> None:
        refused = "status of 409 (Conflict)" in message.text  # a form that is shown again with what is wrong
        if message.type in {"error", "warning"} and not refused:
            self.complaints.append(f"{self.page.url}: {message.text}")

    def _asked(self, request: Any) -> None:
        asked = urlsplit(request.url)
        if asked.scheme != "file" and asked.hostname != "127.0.0.1":
            self.complaints.append(f"{self.page.url} asks {request.url}")

    def log_in(self, url: str) -> None:
        self.page.goto(f"{url}/login")
        self.page.get_by_label("Token of the operator").fill(TOKEN)
        self.page.get_by_role("button", name="Log in").click()
        self.page.wait_for_url(f"{url}/")

    def close(self) -> None:
        """Raise if anything happened that must not."""
        self.context.close()
        assert self.complaints == [], self.complaints


def launched(playwright: Any, program: str) -> Any:
    sandbox = os.geteuid() != 0
    return playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS), chromium_sandbox=sandbox)
