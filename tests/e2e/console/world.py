"""A daemon with a history worth looking at, and browsers that look: what the tests of the pages and the pictures share."""

import os
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from syncd.store import Store, employers, keys
from tests.e2e.conftest import BASE, EMPLOYER, Daemon, Installation, row, wait_until

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
TITLES = ("Welder", "Nurse", "Line cook", "Data analyst", "Bus driver", "Electrician")


def rows(name: str, count: int, title: str | None = None) -> list[list[str]]:
    """Return ``count`` valid rows of the feed ``name``; the first has ``title`` if it is given."""
    found = [row(f"{name}-{n}", TITLES[n % len(TITLES)]) for n in range(count)]
    if title is not None:
        found[0][1] = title
    return found


class Site:
    """A daemon whose pages ask for the token, with runs of every kind. Feeds: ``WAYS``, each with a held run; ``maple``, with
    rejected rows, hostile text and a long file name; ``broken``, which is degraded; ``idle``, whose only run failed."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._installation = Installation(folder, None)
        for name in (*WAYS, "maple", "idle"):
            self._installation.feed(name)
        (self._installation.feeds / "acme.toml").unlink()
        self._installation.feed("broken", "employer = 3\n")
        with Store.open(f"sqlite:///{folder}/var/syncd.db", timezone=ZoneInfo("America/Toronto")) as store:
            employer = store.write(lambda tx: employers.add(tx, EMPLOYER))
            self.key = store.write(lambda tx: keys.create(tx, employer.id, "tests"))[1]
            self.employer = employer.id
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
        self.failed = self.deliver("idle", "wrong.xml", [["a"]])
        for name in WAYS:
            self.deliver(name, "monday.csv", rows(name, 30))
            self.held[name] = self.deliver(name, "tuesday.csv", rows(name, 8, "Baker"))

    def deliver(self, feed: str, name: str, content: list[list[str]]) -> int:
        """Drop a file, wait for its run, and return the number of the run."""
        before = len(self._ended())
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
            "run-rejected-rows": f"/runs/{self.partial}",
            "run-failed": f"/runs/{self.failed}",
            "approve": f"/runs/{self.held[WAYS[1]]}/approve",
            "reject": f"/runs/{self.held[WAYS[1]]}/reject",
            "revert": f"/runs/{held - 1}/revert",
            "again": f"/runs/{held - 1}/again",
            "feed": "/feeds/maple",
            "feed-held": f"/feeds/{WAYS[1]}",
            "feed-degraded": "/feeds/broken",
            "jobs": "/jobs",
            "jobs-none": "/jobs?q=zebra",
            "job": f"/jobs/{self.job + 1}",
            "job-hostile": f"/jobs/{self.job}",
            "employers": "/employers",
            "employer": f"/employers/{self.employer}",
            "preview": "/preview",
            "service": "/service",
        }


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
        if message.type in {"error", "warning"}:
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
        assert self.complaints == []


def launched(playwright: Any, program: str) -> Any:
    """Return Chromium. It has its sandbox where it can: not as root."""
    sandbox = os.geteuid() != 0
    return playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS), chromium_sandbox=sandbox)
