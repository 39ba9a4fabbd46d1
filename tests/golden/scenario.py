"""A small installation that uses everything, made through commands, requests and files, with a clock of its own.

It has two employers; valid, rotated and revoked keys; five feeds in four formats; runs in every state that a run can end
in, one of them still held; jobs of which every field was changed by a person and by a feed, and jobs that were refreshed,
closed, archived and deleted; and an answer that is kept for an Idempotency-Key."""

import csv
import io
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.golden.doors import Answer, Api, Clock, Installation, Shown
from tests.golden.golden import INPUTS
from tests.golden.rows import rows

BASE = "/api/v1.1"
SETTINGS = """\
[api]
listen = "127.0.0.1:0"
public_url = "https://jobs.example.ca"
[operator]
listen = "127.0.0.1:0"
[catalogues]
categories = { 33 = "Film & Television" }
position_types = { 6 = "Seasonal" }
retired_position_types = [6]
[sync]
helpers = 0
"""
FEEDS = ("boards", "counter", "desk", "lines", "plain")
#: Every field of a job, as a person would send it.
WHOLE: dict[str, Any] = {
    "referenceId": "H-1",
    "title": "Night Baker",
    "closeDate": "2027-02-28",
    "confidential": False,
    "autoRefresh": False,
    "status": "draft",
    "locations": [{"description": "Calgary, AB"}],
    "categories": [{"id": 12}],
    "positionType": {"id": 1},
    "salary": {"amount": 20.5, "maxAmount": 25, "period": {"id": 5}, "plusCommission": False},
    "description": "<p>Bake <em>bread</em>.</p>",
    "applicantRoutingType": {"id": 1},
    "applicationEmail": "bread@maple.example",
    "applicationUrl": "https://maple.example/apply/h1",
}
#: One change of each field, in this order.
CHANGES: tuple[dict[str, Any], ...] = (
    {"referenceId": "H-1b"},
    {"title": "Night Baker, Senior"},
    {"closeDate": "2027-03-01"},
    {"closeDate": None},
    {"confidential": True},
    {"autoRefresh": True},
    {"status": "active"},
    {"locations": [{"description": "Laval, QC"}, {"description": "Nowhere Flats, ON"}]},
    {"categories": [{"id": 33}, {"id": 1}]},
    {"positionType": {"id": 2}},
    {"salary": {"amount": 20.75}},
    {"salary": {"maxAmount": None, "plusCommission": True}},
    {"salary": {"amount": 900, "period": {"id": 3}}},
    {"salary": None},
    {"description": '<p>Bake "more" &amp; better: <a href="https://x.ca/">here</a>.</p>'},
    {"applicationEmail": "dough@maple.example"},
    {"applicationUrl": "https://maple.example/apply/h1b"},
    {"applicantRoutingType": {"id": 2}},
    {"status": "archived"},
    {"status": "active"},
)


@dataclass
class Scenario:
    """An installation, and what commands and requests have answered while it was made."""

    installation: Installation
    keys: dict[str, str] = field(default_factory=dict)
    #: Name → output of a command; name → answer to a request.
    shown: dict[str, Shown] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    #: Name → content of each file in done/ and failed/, as it was when its run ended.
    filed: dict[str, bytes] = field(default_factory=dict)

    #: All events of the log.
    events: list[dict[str, Any]] = field(default_factory=list)
    #: Name → the stored plan of a held run.
    plans: dict[str, Any] = field(default_factory=dict)

    @property
    def base(self) -> Path:
        return self.installation.base

    @property
    def end(self) -> Path:
        """A copy of the store at the end of the scenario, before any test reads from it."""
        return self.base / "end.db"

    @property
    def clock(self) -> Clock:
        return self.installation.clock

    def command(self, name: str, *arguments: object, code: int = 0) -> Shown:
        """Run a command and keep what it printed."""
        shown = self.shown[name] = self.installation.run(*arguments)
        assert shown.code == code, (name, shown)
        return shown

    def take(self, file: Path, feed: str, name: str, *, code: int = 0) -> Any:
        """Import a file and keep its reports as they are now."""
        run = self.command(name, "import", file, "--feed", feed, "--json", code=code).json
        for sub in ("done", "failed"):
            for path in sorted((self.installation.drop_folder / feed / sub).glob(f"{run['id']}-*")):
                self.filed[path.name] = path.read_bytes()
        if run["state"] == "held":
            self.plans[name] = rows(self.installation.database, "run_plan", where=f"run_id = {run['id']}")
        return run

    def ask(self, api: Api, name: str, *arguments: Any, status: int = 200, **headers: str) -> Answer:
        answer = self.answers[name] = api(*arguments, **headers)
        assert answer.status == status, (name, answer)
        return answer


def rows_of(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((INPUTS / name).read_text("utf-8"), newline="")))


def csv_of(rows: list[dict[str, str]]) -> str:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def prepare(base: Path, clock: Clock) -> Installation:
    feeds = base / "config" / "feeds.d"
    feeds.mkdir(parents=True)
    (base / "config" / "syncd.toml").write_text(SETTINGS)
    for name in FEEDS:
        shutil.copy(INPUTS / f"{name}.toml", feeds)
    return Installation(base, clock)


def make_scenario(base: Path) -> Scenario:
    scenario = Scenario(prepare(base, Clock()))
    _people(scenario)
    _first_files(scenario)
    _second_files(scenario)
    _through_the_api(scenario)
    _as_time_passes(scenario)
    _held(scenario)
    scenario.installation.index()
    scenario.events = scenario.installation.events
    shutil.copy(scenario.installation.database, scenario.end)
    return scenario


def _people(scenario: Scenario) -> None:
    scenario.command("employer add", "employer", "add", "Maple Kitchens", "--json")
    scenario.command(
        "employer add standard", "employer", "add", "Birch Works", "--plan", "standard", "--json"
    )
    for name, employer in (("maple", "1"), ("birch", "2"), ("old", "1"), ("gone", "2")):
        made = scenario.command(f"key create {name}", "key", "create", employer, "--label", name, "--json")
        scenario.keys[name] = made.json["key"]
    rotated = scenario.command(
        "key rotate", "key", "rotate", "3", "--grace", "2h", "--expires", "90d", "--json"
    )
    scenario.keys["new"] = rotated.json["key"]
    scenario.command("key revoke", "key", "revoke", "4", "--json")


def _first_files(scenario: Scenario) -> None:
    """Import each format once, with accepted rows, rejected rows and unknown values."""
    counter = INPUTS / "counter-1.csv"
    scenario.command("feed check", "feed", "check", "counter", counter, "--json", code=1)
    scenario.command("plan", "plan", counter, "--feed", "counter", "--json")
    assert scenario.take(counter, "counter", "import partial")["state"] == "partial"
    again = scenario.take(counter, "counter", "import partial again")
    assert (again["state"], again["counts"]["created"], again["counts"]["updated"]) == (
        "partial",
        0,
        0,
    )
    for feed, name in (("boards", "xml"), ("desk", "json"), ("plain", "xml"), ("lines", "jsonl")):
        scenario.take(INPUTS / f"{feed}-1.{name}", feed, f"import {feed}")
    assert scenario.take(INPUTS / "page.csv", "counter", "import failed", code=1)["state"] == "failed"


def _second_files(scenario: Scenario) -> None:
    """Change every field of a job through its feed."""
    rows = rows_of("counter-1.csv")[:11]
    rows[0] |= {
        "title": "Line Cook, Days",
        "closeDate": "2027-04-30",
        "confidential": "true",
        "autoRefresh": "false",
        "locations": "Laval, QC",
        "categories": "1|33",
        "positionType": "2",
        "salaryAmount": "21",
        "salaryMaxAmount": "",
        "salaryPlusCommission": "true",
        "description": "<p>Cook well, by day, and again.</p>",
        "applicantRoutingType": "2",
        "applicationEmail": "",
        "applicationUrl": "https://maple.example/apply/01",
    }
    file = _file(scenario, "counter-2.csv", csv_of(rows))
    run = scenario.take(file, "counter", "import succeeded")
    assert (run["state"], run["counts"]["updated"]) == ("succeeded", 1)
    assert scenario.take(file, "counter", "import unchanged")["state"] == "unchanged"


def _through_the_api(scenario: Scenario) -> None:
    key = scenario.keys["maple"]
    with scenario.installation.api() as api:
        made = scenario.ask(api, "POST", "POST", f"{BASE}/jobs", key, WHOLE, status=201)
        path = f"{BASE}/jobs/{made.json['id']}"
        for number, change in enumerate(CHANGES, 1):
            scenario.ask(api, f"PUT {number:02} {'/'.join(change)}", "PUT", path, key, change)
        scenario.ask(api, "PUT nothing new", "PUT", path, key, CHANGES[-1])
        scenario.ask(api, "PUT reference, created", "PUT", f"{BASE}/jobs?referenceId=H-2", key,
                  {**WHOLE, "referenceId": "H-2", "status": "active"}, status=201)  # fmt: skip
        scenario.ask(api, "PUT reference, updated", "PUT", f"{BASE}/jobs?referenceId=H-2", key,
                  {"referenceId": "H-2", "autoRefresh": True})  # fmt: skip
        nameless = {"title": "Nameless", "locations": [{"description": "Hull"}], "categories": [{"id": 1}]}
        scenario.ask(api, "POST without reference", "POST", f"{BASE}/jobs", key, nameless, status=201)
        gone = scenario.ask(api, "POST to delete", "POST", f"{BASE}/jobs", key,
                         {**WHOLE, "referenceId": "H-3", "closeDate": None, "salary": None}, status=201)  # fmt: skip
        scenario.ask(api, "DELETE", "DELETE", f"{BASE}/jobs/{gone.json['id']}", key, status=204)
        # a person edits, archives and deletes jobs of a feed
        scenario.ask(api, "PUT job of a feed", "PUT", f"{BASE}/jobs?referenceId=C-02", key,
                  {"referenceId": "C-02", "title": "Dispatcher"})  # fmt: skip
        scenario.ask(api, "PUT job of a feed, archived", "PUT", f"{BASE}/jobs?referenceId=C-03", key,
                  {"referenceId": "C-03", "status": "archived"})  # fmt: skip
        scenario.ask(api, "PUT kept edit", "PUT", f"{BASE}/jobs?referenceId=D-1", scenario.keys["birch"],
                  {"referenceId": "D-1", "title": "Registered Nurse (RN)"})  # fmt: skip
        scenario.ask(
            api, "DELETE by reference", "DELETE", f"{BASE}/jobs", key, {"referenceId": "C-08"}, status=204
        )


def _as_time_passes(scenario: Scenario) -> None:
    scenario.clock.forward(days=8)
    assert scenario.installation.refresh() != (0, 0)


def _held(scenario: Scenario) -> None:
    rows = rows_of("counter-1.csv")[:12]
    for row in rows:
        row["closeDate"] = ""
    few, other = rows[:2], [{**row, "title": f"Shifted {n}"} for n, row in enumerate(rows)]
    scenario.take(_file(scenario, "counter-3.csv", csv_of(rows)), "counter", "import back")
    scenario.take(_file(scenario, "few-1.csv", csv_of(few)), "counter", "import held, archive", code=3)
    held = scenario.take(_file(scenario, "other.csv", csv_of(other)), "counter", "import held, all", code=3)
    scenario.command("runs show held", "runs", "show", held["id"], "--json")
    scenario.command("runs reject", "runs", "reject", held["id"], "--json")
    again = scenario.take(
        _file(scenario, "few-2.csv", csv_of(few[:1])), "counter", "import held again", code=3
    )
    scenario.command("runs approve", "runs", "approve", again["id"], "--json")
    rows[6]["title"] = "Welder 7, again"
    scenario.take(_file(scenario, "counter-4.csv", csv_of(rows)), "counter", "import reactivated")
    # the feed changes one field of a job; another field was edited by a person and is kept
    desk = json.loads((INPUTS / "desk-1.json").read_text("utf-8"))
    desk["data"]["jobs"][0]["pay"]["from"] = 39
    desk["data"]["jobs"][1]["position"]["title"] = "Préposé"
    scenario.take(
        _file(scenario, "desk-2.json", json.dumps(desk, indent=1, ensure_ascii=False)), "desk", "import kept"
    )
    # the last file of this feed has no fault
    plain = (INPUTS / "plain-1.xml").read_text("utf-8")
    whole = plain.partition(' <job lang="fr">')[0] + "</jobs>\n"
    assert (
        scenario.take(_file(scenario, "plain-2.xml", whole), "plain", "import whole")["state"] == "succeeded"
    )
    with scenario.installation.api() as api:
        scenario.ask(api, "POST once", "POST", f"{BASE}/jobs", scenario.keys["maple"], {**WHOLE, "referenceId": "H-9"},
                  status=201, Idempotency_Key="5f0c2b7e")  # fmt: skip
    last = [*rows[:2], {**rows[4], "title": "Safety Lead"}]
    last = scenario.take(
        _file(scenario, "few-3.csv", csv_of(last)), "counter", "import held at the end", code=3
    )
    assert (last["state"], last["holds"]) == ("held", "archive")


def _file(scenario: Scenario, name: str, text: str) -> Path:
    folder = scenario.base / "inputs"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder / name
