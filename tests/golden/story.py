"""A small installation with everything in it, made through commands, requests and files, by a clock that the story turns.

Two employers; keys that work, were rotated and revoked; five feeds in the four formats; runs that ended succeeded,
partial, unchanged, failed, superseded, rejected, approved, and one that is still held; jobs whose every field was
changed by a person and by a feed, refreshed, closed, archived and deleted; an answer kept for an Idempotency-Key."""

from __future__ import annotations

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
class Story:
    installation: Installation
    keys: dict[str, str] = field(default_factory=dict)
    #: What the commands and requests on the way gave, by what they were.
    shown: dict[str, Shown] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    #: The rejected and reported files as they were when a run had just ended: name → bytes.
    filed: dict[str, bytes] = field(default_factory=dict)

    #: All that was logged on the way.
    events: list[dict[str, Any]] = field(default_factory=list)
    #: What each held run waited with.
    plans: dict[str, Any] = field(default_factory=dict)

    @property
    def base(self) -> Path:
        return self.installation.base

    @property
    def clock(self) -> Clock:
        return self.installation.clock

    def tell(self, name: str, *arguments: object, code: int = 0) -> Shown:
        """Run a command and keep what it printed."""
        shown = self.shown[name] = self.installation.run(*arguments)
        assert shown.code == code, (name, shown)
        return shown

    def take(self, file: Path, feed: str, name: str, *, code: int = 0) -> Any:
        """Import a file, and keep its reports as they are now."""
        run = self.tell(name, "import", file, "--feed", feed, "--json", code=code).json
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
    """Settings and feeds, and nothing yet in the store."""
    feeds = base / "config" / "feeds.d"
    feeds.mkdir(parents=True)
    (base / "config" / "syncd.toml").write_text(SETTINGS)
    for name in FEEDS:
        shutil.copy(INPUTS / f"{name}.toml", feeds)
    return Installation(base, clock)


def tell_story(base: Path) -> Story:
    story = Story(prepare(base, Clock()))
    _people(story)
    _first_files(story)
    _second_files(story)
    _by_hand(story)
    _by_the_clock(story)
    _held(story)
    story.installation.index()
    story.events = story.installation.events
    return story


def _people(story: Story) -> None:
    story.tell("employer add", "employer", "add", "Maple Kitchens", "--json")
    story.tell("employer add standard", "employer", "add", "Birch Works", "--plan", "standard", "--json")
    for name, employer in (("maple", "1"), ("birch", "2"), ("old", "1"), ("gone", "2")):
        made = story.tell(f"key create {name}", "key", "create", employer, "--label", name, "--json")
        story.keys[name] = made.json["key"]
    rotated = story.tell("key rotate", "key", "rotate", "3", "--grace", "2h", "--expires", "90d", "--json")
    story.keys["new"] = rotated.json["key"]
    story.tell("key revoke", "key", "revoke", "4", "--json")


def _first_files(story: Story) -> None:
    """Every format once: rows that go in, rows that are rejected, values that nothing knows."""
    counter = INPUTS / "counter-1.csv"
    story.tell("feed check", "feed", "check", "counter", counter, "--json", code=1)
    story.tell("plan", "plan", counter, "--feed", "counter", "--json")
    assert story.take(counter, "counter", "import partial")["state"] == "partial"
    again = story.take(counter, "counter", "import partial again")
    assert (again["state"], again["counts"]["created"], again["counts"]["updated"]) == (
        "partial",
        0,
        2,
    )  # C-01 is in it twice
    for feed, name in (("boards", "xml"), ("desk", "json"), ("plain", "xml"), ("lines", "jsonl")):
        story.take(INPUTS / f"{feed}-1.{name}", feed, f"import {feed}")
    assert story.take(INPUTS / "page.csv", "counter", "import failed", code=1)["state"] == "failed"


def _second_files(story: Story) -> None:
    """The feed changes every field of a job."""
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
    file = _file(story, "counter-2.csv", csv_of(rows))
    run = story.take(file, "counter", "import succeeded")
    assert (run["state"], run["counts"]["updated"]) == ("succeeded", 1)
    assert story.take(file, "counter", "import unchanged")["state"] == "unchanged"


def _by_hand(story: Story) -> None:
    """What people do through the API."""
    key = story.keys["maple"]
    with story.installation.api() as api:
        made = story.ask(api, "POST", "POST", f"{BASE}/jobs", key, WHOLE, status=201)
        path = f"{BASE}/jobs/{made.json['id']}"
        for number, change in enumerate(CHANGES, 1):
            story.ask(api, f"PUT {number:02} {'/'.join(change)}", "PUT", path, key, change)
        story.ask(api, "PUT nothing new", "PUT", path, key, CHANGES[-1])
        story.ask(api, "PUT reference, created", "PUT", f"{BASE}/jobs?referenceId=H-2", key,
                  {**WHOLE, "referenceId": "H-2", "status": "active"}, status=201)  # fmt: skip
        story.ask(api, "PUT reference, updated", "PUT", f"{BASE}/jobs?referenceId=H-2", key,
                  {"referenceId": "H-2", "autoRefresh": True})  # fmt: skip
        nameless = {"title": "Nameless", "locations": [{"description": "Hull"}], "categories": [{"id": 1}]}
        story.ask(api, "POST without reference", "POST", f"{BASE}/jobs", key, nameless, status=201)
        gone = story.ask(api, "POST to delete", "POST", f"{BASE}/jobs", key,
                         {**WHOLE, "referenceId": "H-3", "closeDate": None, "salary": None}, status=201)  # fmt: skip
        story.ask(api, "DELETE", "DELETE", f"{BASE}/jobs/{gone.json['id']}", key, status=204)
        # a person edits, archives and deletes jobs of a feed
        story.ask(api, "PUT job of a feed", "PUT", f"{BASE}/jobs?referenceId=C-02", key,
                  {"referenceId": "C-02", "title": "Dispatcher"})  # fmt: skip
        story.ask(api, "PUT job of a feed, archived", "PUT", f"{BASE}/jobs?referenceId=C-03", key,
                  {"referenceId": "C-03", "status": "archived"})  # fmt: skip
        story.ask(api, "PUT kept edit", "PUT", f"{BASE}/jobs?referenceId=D-1", story.keys["birch"],
                  {"referenceId": "D-1", "title": "Registered Nurse (RN)"})  # fmt: skip
        story.ask(
            api, "DELETE by reference", "DELETE", f"{BASE}/jobs", key, {"referenceId": "C-08"}, status=204
        )


def _by_the_clock(story: Story) -> None:
    story.clock.forward(days=8)
    assert story.installation.refresh() != (0, 0)


def _held(story: Story) -> None:
    """Files that wait for a decision, and what is decided."""
    rows = rows_of("counter-1.csv")[:12]
    for row in rows:
        row["closeDate"] = ""
    few, other = rows[:2], [{**row, "title": f"Shifted {n}"} for n, row in enumerate(rows)]
    story.take(_file(story, "counter-3.csv", csv_of(rows)), "counter", "import back")
    story.take(_file(story, "few-1.csv", csv_of(few)), "counter", "import held, archive", code=3)
    held = story.take(_file(story, "other.csv", csv_of(other)), "counter", "import held, all", code=3)
    story.tell("runs show held", "runs", "show", held["id"], "--json")
    story.tell("runs reject", "runs", "reject", held["id"], "--json")
    again = story.take(_file(story, "few-2.csv", csv_of(few[:1])), "counter", "import held again", code=3)
    story.tell("runs approve", "runs", "approve", again["id"], "--json")
    rows[6]["title"] = "Welder 7, again"
    story.take(_file(story, "counter-4.csv", csv_of(rows)), "counter", "import reactivated")
    # a catalogue that grew since, and the kept edit of a person
    desk = json.loads((INPUTS / "desk-1.json").read_text("utf-8"))
    desk["data"]["jobs"][0]["pay"]["from"] = 39
    desk["data"]["jobs"][1]["position"]["title"] = "Préposé"
    story.take(
        _file(story, "desk-2.json", json.dumps(desk, indent=1, ensure_ascii=False)), "desk", "import kept"
    )
    # a file without a fault, the last of its feed
    plain = (INPUTS / "plain-1.xml").read_text("utf-8")
    whole = plain.partition(' <job lang="fr">')[0] + "</jobs>\n"
    assert story.take(_file(story, "plain-2.xml", whole), "plain", "import whole")["state"] == "succeeded"
    with story.installation.api() as api:
        story.ask(api, "POST once", "POST", f"{BASE}/jobs", story.keys["maple"], {**WHOLE, "referenceId": "H-9"},
                  status=201, Idempotency_Key="5f0c2b7e")  # fmt: skip
    last = [*rows[:2], {**rows[4], "title": "Safety Lead"}]
    last = story.take(_file(story, "few-3.csv", csv_of(last)), "counter", "import held at the end", code=3)
    assert (last["state"], last["holds"]) == ("held", "archive")


def _file(story: Story, name: str, text: str) -> Path:
    folder = story.base / "inputs"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder / name
