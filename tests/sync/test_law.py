"""The law of a run: after it the store is what it would be had every valid row been sent as a PUT, one after the other in file
order, and then a PUT of ``archived`` for every active job of the feed that the file did not name.

The importer works on one store, in batches of two rows, and is cut off now and then. On a second one a plain model does as the
law says, over real HTTP, row by row. In between people edit, delete, and days pass; files come in another order, broken, or
with fewer rows; and feeds of other habits write to the same employer's jobs. Both must answer every GET alike, ids aside.
"""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from aiohttp import web
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from syncd.api import make_app, server_limits
from syncd.config import Api
from syncd.domain import Catalogue, Employer, Run, Threshold
from syncd.feeds.configuration.feed_files import FeedDefaults, parse_feed
from syncd.store import Store, employers, feeds, keys, runs
from syncd.sync.calendar.refresher import Refresher
from syncd.sync.files.names import filed_name
from syncd.sync.run import applier, ending, known_records, planner, reading
from syncd.sync.run.feed import Feed, Stopped
from syncd.sync.run.importer import Importer
from syncd.sync.run.source import SourceFile
from syncd.web import make_runner

ZONE = ZoneInfo("America/Toronto")
START = datetime(2026, 11, 16, 17, 0, tzinfo=UTC)
NEVER = Threshold(100, 10**9)
CATALOGUE = Catalogue.default()
#: Feed → its settings: two plain ones, one whose files are no snapshots, and one of other habits.
FEEDS = {
    "north": "",
    "south": "",
    "drip": 'mode = "delta"',
    "loose": 'expired = "ignore"\nrenew = false\ntake_over = true',
}


class Served:
    """A store and its API on a port of its own, in a thread of its own."""

    def __init__(self, folder: Path, name: str, clock: Any, zone: Any) -> None:
        self.store = Store.open(f"sqlite:///{folder}/{name}.db", clock=clock, timezone=zone)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self.port = asyncio.run_coroutine_threadsafe(self._serve(), self._loop).result()

    async def _serve(self) -> int:
        settings = Api()
        self._runner = make_runner(make_app(self.store, settings, CATALOGUE), server_limits(settings))
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        return int(self._runner.addresses[0][1])

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self.store.close()


class Client:
    """One employer's client of one served store."""

    def __init__(self, served: Served, name: str) -> None:
        self.store = served.store
        self.employer: Employer = self.store.write(lambda tx: employers.add(tx, name))
        _, self.key = self.store.write(lambda tx: keys.create(tx, self.employer.id))
        self._connection = http.client.HTTPConnection("127.0.0.1", served.port)

    def __call__(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body)
        headers = {"API-Key": self.key, "Content-Type": "application/json"}
        self._connection.request(method, f"/api/v1.1{path}", data, headers)
        answer = self._connection.getresponse()
        content = answer.read()
        return answer.status, json.loads(content) if content else None

    def jobs(self) -> dict[str, dict[str, Any]]:
        """Every job as GET answers it, by referenceId, without what may differ."""
        _, page = self("GET", "/jobs?pageSize=100")
        assert page["paging"]["pages"] <= 1
        found = [self("GET", f"/jobs/{header['id']}")[1] for header in page["data"]]
        return {job["referenceId"]: _plain(job) for job in found}

    def close(self) -> None:
        self._connection.close()


def _plain(job: dict[str, Any]) -> dict[str, Any]:
    places = [{k: v for k, v in place.items() if k != "id"} for place in job["locations"]]
    return {k: v for k, v in job.items() if k not in ("id", "employer")} | {"locations": places}


@dataclass
class Law:
    """What the law says, as naively as it can be said. ``why`` an archived job is so, ``origin`` of each close date."""

    client: Client
    clock: Any
    owner: dict[str, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    origin: dict[str, str] = field(default_factory=dict)

    def file(self, feed: str, rows: list[Any]) -> None:
        named = set()
        for row in rows:
            reference = _reference(row)
            if reference is not None:
                named.add(reference)
                self._row(feed, reference, dict(row))
        if feed == "drip":
            return
        for reference, job in self.client.jobs().items():
            if job["status"] == "active" and self.owner.get(reference) == feed and reference not in named:
                self.put({"referenceId": reference, "status": "archived"}, why="missing")
                del self.owner[reference]

    def _row(self, feed: str, reference: str, row: dict[str, Any]) -> None:
        job = self.client.jobs().get(reference)
        loose = feed == "loose"
        if job is not None and self.owner.get(reference) not in (None, feed) and not loose:
            return
        own, why, origin = _date(row.get("closeDate")), "person", "chosen"
        expired = own is not None and own < self.clock.today and row.get("status") != "draft"
        if expired and loose:
            del row["closeDate"]
            own, expired = None, False
        if expired:
            if job is None:
                return
            row["status"], why = "archived", "expired"
        elif job is None:
            row.setdefault("status", "active")
        elif own is not None:
            if "status" not in row and self._because(job, "missing", "closed", "expired"):
                row["status"] = "active"
        elif self._undated(job, row, renew=not loose):
            row["closeDate"], origin = str(self.clock.today + timedelta(60)), "renewed"
        if self.put(row, why=why, origin=origin) < 300:
            self.owner[reference] = feed

    def _undated(self, job: dict[str, Any], row: dict[str, Any], *, renew: bool) -> bool:
        """A row without a date of its own: its status; whether it renews the date."""
        close, closed = date.fromisoformat(job["closeDate"]), self._because(job, "closed")
        left = close - self.clock.today
        renewable = renew and self.origin[job["referenceId"]] != "chosen" and left < timedelta(30)
        # whatever makes it active: the same row at the next run would renew it then
        if "status" not in row and (self._because(job, "missing") or (closed and renewable)):
            row["status"] = "active"
        if row.get("status", job["status"]) != "active":
            return False
        back = job["status"] == "archived" and left < timedelta(0)
        return (renew and back) or (renewable and job["status"] != "draft")

    def _because(self, job: dict[str, Any], *reasons: str) -> bool:
        return job["status"] == "archived" and self.why.get(job["referenceId"]) in reasons

    def put(self, body: dict[str, Any], *, why: str = "person", origin: str = "chosen") -> int:
        """One PUT, and what it means for the next ones."""
        reference = _reference(body)
        before = self.client.jobs().get(reference or "")
        status, job = self.client("PUT", "/jobs", body)
        if status >= 300 or reference is None:
            return status
        if job["status"] == "archived" and (before is None or before["status"] != "archived"):
            self.why[reference] = why
        published = before is not None and before["status"] == "draft" and job["status"] == "active"
        if before is None:
            self.origin[reference] = origin if body.get("closeDate") else "default"
        elif body.get("closeDate") and (published or job["closeDate"] != before["closeDate"]):
            self.origin[reference] = origin
        return status

    def delete(self, reference: str) -> None:
        status, _ = self.client("DELETE", "/jobs", {"referenceId": reference})
        if status == 204:
            for known in (self.owner, self.why, self.origin):
                known.pop(reference, None)

    def days(self, number: int) -> None:
        before = self.client.jobs()
        Refresher(self.client.store).tick()
        for reference, job in self.client.jobs().items():
            if job["status"] != before[reference]["status"]:
                self.why[reference] = "closed"


def _reference(row: Any) -> str | None:
    value = row.get("referenceId") if isinstance(row, dict) else None
    return value.strip() if isinstance(value, str) and 0 < len(value.strip()) <= 50 else None


def _date(value: Any) -> date | None:
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        return None


@dataclass
class Fast:
    """The importer on its own store, with guards that never hold but for what no threshold turns off: that is approved."""

    client: Client
    folder: Path
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        store, employer = self.client.store, self.client.employer
        self.importer = Importer(store, catalogue=CATALOGUE, scratch=self.folder)
        self.feeds = {}
        for name, toml in FEEDS.items():
            name_ = f"{name}-{employer.id}"
            config = parse_feed(name_, f'employer = "{employer.name}"\n{toml}', CATALOGUE, FeedDefaults())
            limits = dict.fromkeys(
                ("max_archive", "max_rejected", "max_rekeyed", "max_retitled", "max_shrunk"), NEVER
            )
            config = replace(config, policy=replace(config.policy, **limits))
            feed_id = store.write(lambda tx, name=name_: feeds.feed_id(tx, name, employer.id))
            folder = self.folder / name_
            (folder / "done").mkdir(parents=True)
            self.feeds[name] = Feed(feed_id, config, employer, folder)

    def _begin(self, feed: Feed, content: str) -> tuple[SourceFile, Run]:
        path = feed.folder / f"{next(self.numbers)}.json"
        path.write_text(content)
        source = SourceFile.of(path)
        return source, self.client.store.write(
            lambda tx: runs.begin(tx, feed.id, feed.employer.id, source.name, source.size, source.name)
        )

    def broken(self, name: str, rows: list[Any]) -> None:
        """A file that breaks off before its end."""
        source, run = self._begin(self.feeds[name], json.dumps(rows)[:-1])
        assert self.importer.run(self.feeds[name], source, run).state == "failed"

    def _run(self, feed: Feed, source: SourceFile, run: Run, cut: int | None) -> Run:
        """``cut``: the first attempt is given up at that edge."""
        if cut is None:
            return self.importer.run(feed, source, run)
        store, edges = self.client.store, itertools.count()
        dying = Importer(store, catalogue=CATALOGUE, scratch=self.folder, stop=lambda: next(edges) == cut)
        try:
            return dying.run(feed, source, run)
        except Stopped:
            return self.importer.run(feed, source, store.write(lambda tx: runs.resume(tx, run.id))[0])

    def file(self, name: str, rows: list[Any], cut: int | None = None) -> None:
        feed = self.feeds[name]
        source, run = self._begin(feed, json.dumps(rows))
        path = source.path
        run = self._run(feed, source, run, cut)
        assert run.state != "failed", run.reason
        path.rename(feed.folder / "done" / filed_name(run.id, source.name))
        if run.state == "held":
            run = self.importer.approve(run.id, feed)
            assert run.state in ("succeeded", "partial"), run.reason
        counts = run.counts
        rows_counted = (
            counts.created + counts.updated + counts.reactivated + counts.unchanged + counts.rejected
            + counts.suppressed + counts.expired
        )  # fmt: skip
        assert counts.read == rows_counted == (0 if run.state == "unchanged" else len(rows))


REFERENCES = st.sampled_from("abcdef")
START_DAY = date(2026, 11, 16)
DATES = st.integers(-3, 100).map(lambda days: str(START_DAY + timedelta(days)))
#: Field → good and bad values of it; None is JSON null.
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "title": st.sampled_from(["Cook", "Chef", "  Chef ", "", None, 5, "x" * 257]),
    "description": st.sampled_from(["<p>One</p>", "<p>Two &amp; <b>three</b></p>", "<h1>no</h1>", None]),
    "locations": st.sampled_from(
        [
            [{"description": "Calgary, AB"}],
            [{"description": "calgary, ab"}, {"description": "Nowhereville, ON"}],
            [{"description": "St. John's"}],
            [],
            [{"description": "Paris, XX"}],
        ]
    ),
    "categories": st.sampled_from([[{"id": 2}], [{"id": 1}, {"id": 3}], [{"id": 9999}], []]),
    "positionType": st.sampled_from([{"id": 2}, None, {"id": 77}]),
    "salary": st.sampled_from(
        [
            None,
            {"amount": 20.5, "period": {"id": 5}},
            {"amount": 30, "maxAmount": 40.25, "period": {"id": 1}},
            {"maxAmount": 35},
            {"plusCommission": True},
            {"amount": 9},
        ]
    ),
    "closeDate": DATES,
    "confidential": st.sampled_from([True, False, None, "yes"]),
    "autoRefresh": st.booleans(),
    "status": st.sampled_from(["active", "archived", "draft", "gone"]),
    "applicantRoutingType": st.sampled_from([{"id": 1}, {"id": 2}, None]),
    "applicationEmail": st.sampled_from(["a@example.com", None, "no"]),
    "applicationUrl": st.sampled_from(["https://example.com/apply", None, "ftp://x"]),
    "unheard": st.just(1),
}
FULL: dict[str, Any] = {
    "title": "Cook",
    "description": "<p>Come and cook.</p>",
    "locations": [{"description": "Montréal, QC"}],
    "categories": [{"id": 1}],
    "positionType": {"id": 1},
    "applicantRoutingType": {"id": 1},
    "applicationEmail": "jobs@example.com",
}
#: What is changed of a full body: mostly little, as in life.
CHANGES = st.dictionaries(st.sampled_from(sorted(VALUES)), st.none(), max_size=3).flatmap(
    lambda names: st.fixed_dictionaries({name: VALUES[name] for name in names})
)


@st.composite
def bodies(draw: st.DrawFn) -> dict[str, Any]:
    base = FULL if draw(st.integers(0, 5)) else {}
    return {"referenceId": draw(REFERENCES), **base, **draw(CHANGES)}


STRANGE = st.sampled_from(
    [5, "text", [], {}, {"title": "x"}, {"referenceId": None}, {"referenceId": "y" * 51}]
)
ROWS = st.lists(st.one_of(bodies(), bodies(), bodies(), bodies(), bodies(), STRANGE), max_size=9)
#: Mostly the plain feeds: what they do is the law.
NAMES = st.sampled_from(["north", "north", "north", "south", "south", "drip", "loose"])
STEPS = st.one_of(
    st.tuples(st.just("file"), NAMES, ROWS),
    st.tuples(st.just("again"), NAMES, st.permutations(range(9))),
    st.tuples(st.just("cut"), NAMES, ROWS, st.integers(0, 16)),
    st.tuples(st.just("broken"), NAMES, ROWS),
    st.tuples(st.just("edit"), bodies()),
    st.tuples(st.just("touch"), REFERENCES, CHANGES),
    st.tuples(st.just("delete"), REFERENCES),
    st.tuples(st.just("days"), st.sampled_from([1, 5, 31, 62])),
)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Served, Any, Path]]:
    folder = tmp_path_factory.mktemp("law")
    clock = LawClock()
    served = [Served(folder, name, clock, ZONE) for name in ("fast", "law")]
    with pytest.MonkeyPatch.context() as patched:  # so small that a handful of rows is several batches
        for module, name in ((planner, "BATCH"), (ending, "_BATCH"), (applier, "ALONE")):
            patched.setattr(module, name, 2)
        patched.setattr(applier, "AMONG_OTHERS", 1)
        patched.setattr(reading, "EDGE", 3)
        patched.setattr(known_records, "_PAGE", 2)
        yield served[0], served[1], clock, folder
    for one in served:
        one.close()


class LawClock:
    """The time of both stores."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    @property
    def today(self) -> date:
        return self.now.astimezone(ZONE).date()


_examples = itertools.count(1)


def _row(reference: str, **fields: Any) -> dict[str, Any]:
    return {"referenceId": reference, **FULL, **fields}


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)
@given(steps=st.lists(STEPS, min_size=2, max_size=8))
@example(  # a known record behind another row of its reference
    steps=[
        ("file", "north", [_row("a")]),
        ("file", "north", [_row("a", title="Chef", salary={"plusCommission": True}), _row("a")]),
    ]
)
@example(  # an expired row whose archiving waits for an approval, with another change in it
    steps=[
        ("file", "north", [_row("a"), _row("b")]),
        ("file", "north", [_row("a", title="Chef", closeDate="2026-11-14"), {}]),
    ]
)
@example(  # a rejected row names its job
    steps=[("file", "north", [_row("a"), _row("b")]), ("file", "north", [_row("a", title=""), _row("b")])]
)
@example(  # the same bytes, but now there is a job for the row that had expired
    steps=[
        ("file", "north", [_row("a", closeDate="2026-11-14"), _row("b")]),
        ("edit", _row("a", status="active")),
        ("again", "north", list(range(9))),
    ]
)
@example(  # what one feed owns is not the other's to write or to archive
    steps=[
        ("file", "north", [_row("a"), _row("b")]),
        ("file", "south", [_row("a", title="Chef"), _row("c")]),
        ("file", "south", [_row("d")]),
        ("file", "north", [_row("c", title="Baker"), _row("b")]),
    ]
)
@example(  # back after it was missing, past its date; then renewed in time
    steps=[
        ("file", "north", [_row("a"), _row("b")]),
        ("file", "north", [_row("b")]),
        ("days", 62),
        ("file", "north", [_row("a"), _row("b")]),
        ("days", 31),
        ("again", "north", list(range(9))),
    ]
)
@example(  # another feed takes a job over; its former owner neither writes to it nor archives it
    steps=[
        ("file", "north", [_row("a"), _row("b")]),
        ("file", "loose", [_row("a", title="Chef", closeDate="2026-11-14")]),
        ("file", "north", [_row("a", title="Baker"), _row("b")]),
        ("file", "north", [_row("b")]),
        ("file", "loose", []),
    ]
)
@example(  # what a delta lacks stays; cut off between two batches of writing and of archiving
    steps=[
        ("file", "drip", [_row("a"), _row("b")]),
        ("cut", "drip", [_row("c"), _row("d"), _row("b", title="Chef"), _row("e")], 5),
        ("file", "north", [_row(ref) for ref in "f"]),
        ("cut", "north", [], 3),
    ]
)
def test_a_run_comes_to_what_row_by_row_puts_come_to(pair: Any, steps: list[Any]) -> None:
    fast_store, law_store, clock, folder = pair
    clock.now = START
    name = f"Employer {next(_examples)}"
    clients = [Client(fast_store, name), Client(law_store, name)]
    fast, law = Fast(clients[0], folder / name), Law(clients[1], clock)
    last: dict[str, list[Any]] = {}
    try:
        for step in steps:
            _do(step, fast, law, clock, last)
            assert clients[0].jobs() == clients[1].jobs(), step
    finally:
        for client in clients:
            client.close()


def _unique(rows: list[Any]) -> list[Any]:
    """The last row of each reference: the next attempt of a run begins again with the first row, which a later row of its
    reference may have made acceptable (a maximum salary before there was a minimum)."""
    last = {_reference(row): at for at, row in enumerate(rows)}
    return [row for at, row in enumerate(rows) if _reference(row) is None or last[_reference(row)] == at]


def _do(step: Any, fast: Fast, law: Law, clock: Any, last: dict[str, list[Any]]) -> None:
    match step:
        case ("file", feed, rows):
            last[feed] = rows
            fast.file(feed, rows)
            law.file(feed, rows)
        case ("cut", feed, rows, edge):  # of rows that do not meet each other: see ``_unique``
            last[feed] = rows = _unique(rows)
            fast.file(feed, rows, cut=edge)
            law.file(feed, rows)
        case ("broken", feed, rows):
            fast.broken(feed, rows)
        case ("again", feed, order):  # the same rows, perhaps in another order or with one fewer
            rows = [last[feed][i] for i in order if i < len(last.get(feed, []))][: 9 - order[0] % 2]
            _do(("file", feed, rows), fast, law, clock, last)
        case ("edit", body):
            answer = fast.client("PUT", "/jobs", body)[0]
            assert law.put(body) == answer
        case ("touch", reference, changes):
            body = {"referenceId": reference, **changes}
            answer = fast.client("PUT", "/jobs", body)[0]
            assert law.put(body) == answer
        case ("delete", reference):
            fast.client("DELETE", "/jobs", {"referenceId": reference})
            law.delete(reference)
        case ("days", number):
            clock.now += timedelta(number)
            Refresher(fast.client.store).tick()
            law.days(number)
