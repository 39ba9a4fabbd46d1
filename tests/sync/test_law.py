"""The law of a run (docs/reconciliation.md "The law"): after a run the store is as if each valid row had been sent as a PUT,
in file order, and then a PUT of ``archived`` for each active job of the feed that the file did not name. Of the valid rows of one
``referenceId`` the last one is sent.

The importer works on one store, in batches of two rows, and some of its runs are cut off. On a second store, a plain model
sends the requests of the law to a real HTTP API, one row after the other. Between the files, clients edit and delete jobs,
and days pass. Files come in another order, truncated, or with fewer rows, and feeds with other settings write to the jobs
of the same employer. Both stores must give the same answers to every GET, except for ids."""

import asyncio
import http.client
import itertools
import json
import threading
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from syncd.api import make_app
from syncd.config import Api
from syncd.domain import Catalogue, Employer, Run, check_body
from syncd.errors import Invalid
from syncd.service.housekeeping import Refresher
from syncd.store import Store, employers, keys, runs
from syncd.sync.drop_file import DropFile
from syncd.sync.files import filed_name
from syncd.sync.run import Feed, Stopped, ending, planner, reading
from syncd.web import Server
from tests.amounts import examples
from tests.clock import START, ZONE, Clock
from tests.stores import store_url
from tests.sync.board import Board, counted_rows

#: The settings of each feed: two feeds of snapshots, one whose files archive nothing, and one with other settings.
FEEDS = {
    "north": "",
    "south": "",
    "delta": 'mode = "delta"',
    "other": 'expired = "ignore"\nrenew = false\ntake_over = true',
}


class ServedStore:
    """A store and its API, which has its own port and thread."""

    def __init__(self, folder: Path, name: str, clock: Clock) -> None:
        self.store = Store.open(store_url(f"{folder}/{name}.db"), clock=clock, timezone=ZONE)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self.port = asyncio.run_coroutine_threadsafe(self._serve(), self._loop).result()

    async def _serve(self) -> int:
        settings = Api()
        app = make_app(self.store, settings, Catalogue.default())
        self._server = Server(app, settings)
        return int((await self._server.listen(("127.0.0.1", 0)))[1])

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._server.retire(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self.store.close()


class Client:
    """A client of a new employer."""

    def __init__(self, served: ServedStore, name: str) -> None:
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
        """Return the answer to the GET of each job by its ``referenceId``, without what may differ."""
        _, page = self("GET", "/jobs?pageSize=100")
        assert page["paging"]["pages"] <= 1
        found = [self("GET", f"/jobs/{header['id']}")[1] for header in page["data"]]
        return {job["referenceId"]: _without_ids(job) for job in found}

    def close(self) -> None:
        self._connection.close()


def _without_ids(job: dict[str, Any]) -> dict[str, Any]:
    places = [{k: v for k, v in place.items() if k != "id"} for place in job["locations"]]
    return {k: v for k, v in job.items() if k not in ("id", "employer")} | {"locations": places}


@dataclass
class ModelSide:
    """The law as plain as possible. By ``referenceId``: ``owner`` is the feed that owns the job, ``why`` the reason why the
    job is archived, ``origin`` the origin of its close date."""

    client: Client
    clock: Clock
    owner: dict[str, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    origin: dict[str, str] = field(default_factory=dict)

    def file(self, feed: str, rows: list[Any]) -> None:
        named = {reference for row in rows if (reference := _reference(row)) is not None}
        last = {_reference(row): number for number, row in enumerate(rows) if _is_valid(row)}
        for number, row in enumerate(rows):
            reference = _reference(row)
            if reference is not None and last.get(reference, number) == number:
                self._row(feed, reference, dict(row))
        if feed == "delta":
            return
        for reference, job in self.client.jobs().items():
            if job["status"] == "active" and self.owner.get(reference) == feed and reference not in named:
                self.put({"referenceId": reference, "status": "archived"}, why="missing")
                del self.owner[reference]

    def _row(self, feed: str, reference: str, row: dict[str, Any]) -> None:
        job = self.client.jobs().get(reference)
        other = feed == "other"  # takes jobs over, ignores close dates that have passed, does not renew
        if job is not None and self.owner.get(reference) not in (None, feed) and not other:
            return
        own, why, origin = _date(row.get("closeDate")), "person", "chosen"
        expired = own is not None and own < self.clock.today and row.get("status") != "draft"
        if expired and other:
            del row["closeDate"]
            own, expired = None, False
        if expired:
            if job is None:
                return
            row["status"], why = "archived", "expired"
        elif job is None:
            row.setdefault("status", "active")
        elif own is not None:
            if "status" not in row and self._is_archived_as(job, "missing", "closed", "expired"):
                row["status"] = "active"
        elif self._is_renewed(job, row, renews=not other):
            row["closeDate"], origin = str(self.clock.today + timedelta(60)), "renewed"
        if self.put(row, why=why, origin=origin) < 300:
            self.owner[reference] = feed

    def _is_renewed(self, job: dict[str, Any], row: dict[str, Any], *, renews: bool) -> bool:
        """Return whether a row without a close date renews the date of its job. Set the status of the row."""
        close, closed = date.fromisoformat(job["closeDate"]), self._is_archived_as(job, "closed")
        left = close - self.clock.today
        renewable = renews and self.origin[job["referenceId"]] != "chosen" and left < timedelta(30)
        # a row that makes its job active renews the date at once: else the same row would do it in the next run
        if "status" not in row and (self._is_archived_as(job, "missing") or (closed and renewable)):
            row["status"] = "active"
        if row.get("status", job["status"]) != "active":
            return False
        kept = (
            job["status"] == "draft" and self.origin[job["referenceId"]] != "chosen"
        )  # the default moves with it
        late = job["status"] != "active" and not kept and left < timedelta(0)
        return (renews and late) or (renewable and job["status"] != "draft")

    def _is_archived_as(self, job: dict[str, Any], *reasons: str) -> bool:
        return job["status"] == "archived" and self.why.get(job["referenceId"]) in reasons

    def put(self, body: dict[str, Any], *, why: str = "person", origin: str = "chosen") -> int:
        """Send a PUT and keep what later steps need to know of it. Return the status code of the answer."""
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
            for kept in (self.owner, self.why, self.origin):
                kept.pop(reference, None)

    def days(self) -> None:
        """Close jobs as the daemon does after some days."""
        before = self.client.jobs()
        Refresher(self.client.store).tick()
        for reference, job in self.client.jobs().items():
            if job["status"] != before[reference]["status"]:
                self.why[reference] = "closed"


def _is_valid(row: Any) -> bool:
    """Return whether the row is a valid body, whatever the job is."""
    row = json.loads(json.dumps(row), parse_float=Decimal)  # as a request has it
    try:
        check_body(row, Catalogue.default(), reference_required=True)
    except Invalid:
        return False
    return True


def _reference(row: Any) -> str | None:
    value = row.get("referenceId") if isinstance(row, dict) else None
    return value.strip() if isinstance(value, str) and 0 < len(value.strip()) <= 50 else None


def _date(value: Any) -> date | None:
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        return None


class ImporterSide:
    """The importer on its own store. No limit of its guard is ever exceeded; a run that is held all the same is approved."""

    def __init__(self, client: Client, clock: Clock, folder: Path) -> None:
        self.client = client
        self._board = Board(client.store, clock, folder, client.employer)
        self._feeds = {
            name: self._board.feed_without_limits(toml, f"{name}-{client.employer.id}")
            for name, toml in FEEDS.items()
        }
        self._numbers = itertools.count()

    def _begin(self, feed: Feed, content: object) -> tuple[DropFile, Run]:
        source = self._board.file(content, f"{next(self._numbers)}.json")
        return source, self._board.begin(feed, source)

    def truncated_file(self, name: str, rows: list[Any]) -> None:
        feed = self._feeds[name]
        source, run = self._begin(feed, json.dumps(rows)[:-1].encode())
        assert self._board.importer.run(feed, source, run).state == "failed"

    def _run(self, feed: Feed, source: DropFile, run: Run, cut: int | None) -> Run:
        """Run the file. With ``cut``, the first attempt ends when the importer asks for the ``cut``-th time (from 0) whether
        it has to stop."""
        if cut is None:
            return self._board.importer.run(feed, source, run)
        questions = itertools.count()
        importer = self._board.make_importer(stop=lambda: next(questions) == cut)
        try:
            return importer.run(feed, source, run)
        except Stopped:
            resumed, _checkpoint = self._board.store.write(lambda tx: runs.resume(tx, run.id))
            return self._board.importer.run(feed, source, resumed)

    def file(self, name: str, rows: list[Any], cut: int | None = None) -> None:
        feed = self._feeds[name]
        source, run = self._begin(feed, rows)
        run = self._run(feed, source, run, cut)
        assert run.state != "failed", run.reason
        source.path.rename(feed.folder / "done" / filed_name(run.id, source.name))
        if run.state == "held":
            run = self._board.importer.approve(run.id, feed)
            assert run.state in ("succeeded", "partial"), run.reason
        expected = 0 if run.state == "unchanged" else len(rows)
        assert run.counts.read == counted_rows(run.counts) == expected


REFERENCES = st.sampled_from("abcdef")
START_DAY = START.astimezone(ZONE).date()
DATES = st.integers(-3, 100).map(lambda days: str(START_DAY + timedelta(days)))
#: Valid and invalid values of each field; None is JSON null.
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
    "unknown": st.just(1),
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
#: Changes of a full body: mostly few.
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
#: Mostly the feeds with the default settings.
NAMES = st.sampled_from(["north", "north", "north", "south", "south", "delta", "other"])
STEPS = st.one_of(
    st.tuples(st.just("file"), NAMES, ROWS),
    st.tuples(st.just("again"), NAMES, st.permutations(range(9))),
    st.tuples(st.just("cut"), NAMES, ROWS, st.integers(0, 16)),
    st.tuples(st.just("truncated"), NAMES, ROWS),
    st.tuples(st.just("put"), bodies()),
    st.tuples(st.just("edit"), REFERENCES, CHANGES),
    st.tuples(st.just("delete"), REFERENCES),
    st.tuples(st.just("days"), st.sampled_from([1, 5, 31, 62])),
)


@pytest.fixture(scope="module")
def clock():
    """The clock of both stores."""
    return Clock()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("law")


@pytest.fixture(scope="module")
def stores(folder, clock):
    """Yield the store of the importer and the store of the model. Batches are so small that a few rows are several."""
    served = [ServedStore(folder, name, clock) for name in ("importer", "model")]
    with pytest.MonkeyPatch.context() as patched:
        for module, name in ((planner, "BATCH"), (ending, "REJECTED_BATCH"), (Store, "MAX_WRITE_ROWS")):
            patched.setattr(module, name, 2)
        patched.setattr(Store, "MAX_STEP_ROWS", 1)
        patched.setattr(reading, "EDGE", 3)
        patched.setattr(reading, "_PAGE", 2)
        yield served
    for one in served:
        one.close()


_examples = itertools.count(1)


def _row(reference: str, **fields: Any) -> dict[str, Any]:
    return {"referenceId": reference, **FULL, **fields}


@settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)
@given(steps=st.lists(STEPS, min_size=2, max_size=8))
@example(  # the last valid row counts, with an amount in it
    steps=[
        ("file", "north", [_row("a"), _row("b")]),
        (
            "file",
            "north",
            [_row("b"), {"referenceId": "a"}, _row("a", salary={"amount": 20.5, "period": {"id": 5}})],
        ),
    ]
)
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
        ("put", _row("a", status="active")),
        ("again", "north", list(range(9))),
    ]
)
@example(  # a feed neither writes nor archives the jobs that another feed owns
    steps=[
        ("file", "north", [_row("a"), _row("b")]),
        ("file", "south", [_row("a", title="Chef"), _row("c")]),
        ("file", "south", [_row("d")]),
        ("file", "north", [_row("c", title="Baker"), _row("b")]),
    ]
)
@example(  # active again after it was missing, later than its close date; then renewed in time
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
        ("file", "other", [_row("a", title="Chef", closeDate="2026-11-14")]),
        ("file", "north", [_row("a", title="Baker"), _row("b")]),
        ("file", "north", [_row("b")]),
        ("file", "other", []),
    ]
)
@example(  # a delta archives nothing; runs that are cut off between two batches of rows and of missing jobs
    steps=[
        ("file", "delta", [_row("a"), _row("b")]),
        ("cut", "delta", [_row("c"), _row("d"), _row("b", title="Chef"), _row("e")], 5),
        ("file", "north", [_row(ref) for ref in "f"]),
        ("cut", "north", [], 3),
    ]
)
def test_a_run_has_the_result_of_a_put_for_each_row(stores, clock, folder, steps):
    clock.now = START
    name = f"Employer {next(_examples)}"
    clients = [Client(served, name) for served in stores]
    tested, model = ImporterSide(clients[0], clock, folder / name), ModelSide(clients[1], clock)
    last: dict[str, list[Any]] = {}
    try:
        for step in steps:
            _carry_out(step, tested, model, clock, last)
            assert clients[0].jobs() == clients[1].jobs(), step
    finally:
        for client in clients:
            client.close()


def _carry_out(
    step: Any, tested: ImporterSide, model: ModelSide, clock: Clock, last: dict[str, list[Any]]
) -> None:
    """Do the step on both sides. ``last`` has the rows of the last file of each feed."""
    match step:
        case ("file", feed, rows):
            last[feed] = rows
            tested.file(feed, rows)
            model.file(feed, rows)
        case ("cut", feed, rows, question):
            last[feed] = rows
            tested.file(feed, rows, cut=question)
            model.file(feed, rows)
        case ("truncated", feed, rows):
            tested.truncated_file(feed, rows)
        case ("again", feed, order):  # the same rows, perhaps in another order or one row fewer
            rows = [last[feed][i] for i in order if i < len(last.get(feed, []))][: 9 - order[0] % 2]
            _carry_out(("file", feed, rows), tested, model, clock, last)
        case ("put", body):
            answer = tested.client("PUT", "/jobs", body)[0]
            assert model.put(body) == answer
        case ("edit", reference, changes):
            _carry_out(("put", {"referenceId": reference, **changes}), tested, model, clock, last)
        case ("delete", reference):
            tested.client("DELETE", "/jobs", {"referenceId": reference})
            model.delete(reference)
        case ("days", number):
            clock.now += timedelta(number)
            Refresher(tested.client.store).tick()
            model.days()
