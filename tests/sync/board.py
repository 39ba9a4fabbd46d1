"""A job board: a store with one employer, and an importer that runs the files of the employer's feeds."""

import io
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from syncd.domain import (
    Actor,
    ActorKind,
    Catalogue,
    Employer,
    FeedLimits,
    FeedWarning,
    Job,
    RejectedRow,
    Run,
    RunCounts,
    Threshold,
    check_body,
)
from syncd.feeds.configuration import FeedDefaults, parse_feed
from syncd.store import Store, Tx, employers, feeds, jobs, run_results, runs
from syncd.store.jobs import upsert
from syncd.sync.drop_file import DropFile
from syncd.sync.files import Content, filed_name
from syncd.sync.report import whole_report
from syncd.sync.run import Feed, Host, Importer, RejectsWriter, RunContext
from tests.clock import Clock

T = TypeVar("T")
Progress = Callable[[str, int, int], None]
Row = dict[str, Any]

#: A description that is long enough to lose half of its text.
LONG_TEXT = "<p>" + "We look for somebody who cooks well and likes to do so every day. " * 4 + "</p>"


class FakeHost(Host):
    """A host of which a test replaces some ``methods``."""

    def __init__(self, scratch: Path | None = None, **methods: Callable[..., Any]) -> None:
        super().__init__(scratch)
        self.__dict__.update(methods)


class Board:
    """One employer and its feeds. ``folder`` has the scratch files, the files that are run, and the drop folder."""

    def __init__(self, store: Store, clock: Clock, folder: Path, employer: Employer | None = None) -> None:
        """Add an employer to the store if none is given."""
        self.store, self.clock, self.folder = store, clock, folder
        self.catalogue = Catalogue.default()
        self.employer = employer or store.write(lambda tx: employers.add(tx, "Acme Ltd."))
        self.importer = self.make_importer()

    def make_importer(
        self, *, limits: FeedLimits | None = None, processes: int = 0, **methods: Callable[..., Any]
    ) -> Importer:
        """Return an importer in a FakeHost of these ``methods``."""
        host = FakeHost(self.folder, **methods)
        return Importer(RunContext(self.store, self.catalogue, limits or FeedLimits(), host, processes))

    def make_importer_that_stops(self, phase: str) -> Importer:
        """Return an importer that is stopped after its first batch of ``phase``."""
        reached: list[str] = []
        return self.make_importer(
            progress=lambda current, done, total: reached.append(current), stop=lambda: phase in reached
        )

    # -- files ---------------------------------------------------------------------------------------------

    @staticmethod
    def row(reference: str | None, **fields: Any) -> Row:
        """Return a row that makes an active job. ``fields`` are added or replaced; None is JSON null."""
        full: Row = {
            "referenceId": reference,
            "title": f"Cook {reference}",
            "locations": [{"description": "Montréal, QC"}],
            "categories": [{"id": 1}],
            "positionType": {"id": 1},
            "description": "<p>We look for somebody who cooks well and likes to do so every day.</p>",
            "applicantRoutingType": {"id": 1},
            "applicationEmail": "jobs@example.com",
        }
        return full | fields

    def rows(self, first: int, last: int, **fields: Any) -> list[Row]:
        return [self.row(f"r{n}", **fields) for n in range(first, last + 1)]

    def feed(self, toml: str = "", name: str = "acme") -> Feed:
        """Return a feed with the settings ``toml``. Without settings its files are native JSON."""
        config = parse_feed(
            name, f'employer = "{self.employer.name}"\n{toml}', self.catalogue, FeedDefaults()
        )
        feed_id = self.store.write(lambda tx: feeds.feed_id(tx, name, self.employer.id))
        folder = self.folder / "drop" / name
        (folder / "done").mkdir(parents=True, exist_ok=True)
        return Feed(feed_id, config, self.employer, folder)

    def feed_without_limits(self, toml: str, name: str) -> Feed:
        """Return a feed whose guard holds nothing because of a share."""
        feed, limits = (
            self.feed(toml, name),
            ("max_archive", "max_rejected", "max_rekeyed", "max_retitled", "max_shrunk"),
        )
        never: dict[str, Any] = dict.fromkeys(limits, Threshold(100, 10**9))
        return replace(feed, config=replace(feed.config, policy=replace(feed.config.policy, **never)))

    def file(self, content: object, name: str = "jobs.json") -> DropFile:
        """Write a file of these bytes, or of this value as JSON."""
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return DropFile.at(path)

    def begin(self, feed: Feed, source: DropFile) -> Run:
        return self.store.write(
            lambda tx: runs.begin(tx, feed.id, feed.employer.id, source.name, source.size, "x-" + source.name)
        )

    def deliver(
        self,
        feed: Feed,
        content: object,
        *,
        importer: Importer | None = None,
        rejects: RejectsWriter | None = None,
    ) -> Run:
        """Run one delivery as the worker does: begin, run, move the file to ``done/``."""
        source = self.file(content)
        run = (importer or self.importer).run(feed, source, self.begin(feed, source), rejects)
        source.path.rename(feed.folder / "done" / filed_name(run.id, source.name))
        return self.saved(run.id)

    def feed_with(self, content: object, toml: str = "", name: str = "acme") -> Feed:
        feed = self.feed(toml, name)
        self.deliver(feed, content)
        return feed

    # -- runs ----------------------------------------------------------------------------------------------

    def saved(self, run_id: int) -> Run:
        return self.store.read(lambda tx: runs.get(tx, run_id))

    def rejected(self, run: Run) -> list[RejectedRow]:
        return self.store.read(lambda tx: list(run_results.rejected_rows(tx, run.id)))

    def warnings(self, run: Run) -> list[FeedWarning]:
        return self.store.read(lambda tx: list(run_results.warnings(tx, run.id)))

    # -- jobs ----------------------------------------------------------------------------------------------

    def put(self, body: Row) -> Job:
        checked = check_body(body, self.catalogue)
        return self.store.write(
            lambda tx: upsert.put(tx, self.employer.id, checked, Actor(ActorKind.KEY, 1))
        )[0]

    def delete(self, reference: str) -> None:
        self.store.write(
            lambda tx: upsert.delete_reference(tx, self.employer.id, reference, Actor(ActorKind.KEY, 1))
        )

    def find_job(self, reference: str) -> Job | None:
        return self.store.read(lambda tx: jobs.by_reference(tx, self.employer.id, reference))

    def job(self, reference: str) -> Job:
        return not_none(self.find_job(reference))

    def jobs(self) -> list[Job]:
        return self.store.read(lambda tx: jobs.after(tx, self.employer.id, 0, 100_000))

    def statuses(self) -> dict[str, str]:
        return {job.reference_id or "": job.status.value for job in self.jobs()}

    def active(self) -> set[str]:
        return {reference for reference, status in self.statuses().items() if status == "active"}


def not_none(value: T | None) -> T:
    assert value is not None
    return value


def report(store: Store, run_id: int, most: int = 10_000, *, would_archive: int = 10_000) -> dict[str, Any]:
    """Return all that is known of a run: at most ``most`` entries of each list, and ``would_archive`` of the jobs that wait
    to be archived. Raises NotFound."""

    def listed(tx: Tx) -> dict[str, Any]:
        found = whole_report(tx, run_id, most=most, would_archive=would_archive)
        return {
            name: list(itertools.islice(value, most)) if isinstance(value, Iterator) else value
            for name, value in found.items()
        }

    return store.read(listed)


def content(write: Content) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def on_phase(phase: str, act: Callable[[], object], *, nth: int = 1) -> Progress:
    """Return a ``progress`` for an importer that calls ``act`` at the ``nth`` report of ``phase``."""
    numbers = itertools.count(1)

    def progress(current: str, done: int, total: int) -> None:
        if current == phase and next(numbers) == nth:
            act()

    return progress


def counted_rows(counts: RunCounts) -> int:
    """Return how many rows the counts have in all: each row counts once."""
    return (
        counts.created + counts.updated + counts.reactivated + counts.unchanged + counts.rejected
        + counts.suppressed + counts.expired + counts.filtered + counts.replaced
    )  # fmt: skip
