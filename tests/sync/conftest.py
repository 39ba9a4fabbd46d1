"""A board: a store with a clock that the test turns, one employer, and feeds of native job bodies run through the importer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from syncd.domain import Actor, ActorKind, Catalogue, Employer, FeedWarning, Job, RejectedRow, Run, check_body
from syncd.feeds.configuration.feed_files import FeedDefaults, parse_feed
from syncd.store import Store, employers, feeds, jobs, runs, upsert
from syncd.sync.files.names import filed_name
from syncd.sync.run.feed import Feed
from syncd.sync.run.importer import Importer
from syncd.sync.run.rejects import RejectsWriter
from syncd.sync.run.source import SourceFile

ZONE = ZoneInfo("America/Toronto")
#: Noon in Toronto on 16 November 2026.
START = datetime(2026, 11, 16, 17, 0, tzinfo=UTC)


@dataclass
class Clock:
    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **delta: float) -> None:
        self.now += timedelta(**delta)

    @property
    def today(self) -> date:
        return self.now.astimezone(ZONE).date()


def body(reference: str | None, **fields: Any) -> dict[str, Any]:
    """A body that may be active; ``fields`` replace or (None: null) clear."""
    full: dict[str, Any] = {
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


@dataclass
class Board:
    store: Store
    clock: Clock
    folder: Path
    catalogue: Catalogue = field(default_factory=Catalogue.default)
    employer: Employer = field(init=False)
    row = staticmethod(body)

    def __post_init__(self) -> None:
        self.employer = self.store.write(lambda tx: employers.add(tx, "Acme Ltd."))
        self.importer = self.make_importer()

    def make_importer(self, **options: Any) -> Importer:
        return Importer(self.store, catalogue=self.catalogue, scratch=self.folder, **options)

    def feed(self, toml: str = "", name: str = "acme") -> Feed:
        """A feed of native JSON with these settings."""
        config = parse_feed(name, f'employer = "Acme Ltd."\n{toml}', self.catalogue, FeedDefaults())
        feed_id = self.store.write(lambda tx: feeds.feed_id(tx, name, self.employer.id))
        folder = self.folder / "drop" / name
        (folder / "done").mkdir(parents=True, exist_ok=True)
        return Feed(feed_id, config, self.employer, folder)

    def file(self, content: Any, name: str = "jobs.json") -> SourceFile:
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return SourceFile.of(path)

    def begin(self, feed: Feed, source: SourceFile) -> Run:
        return self.store.write(
            lambda tx: runs.begin(tx, feed.id, feed.employer.id, source.name, source.size, "x-" + source.name)
        )

    def drop(
        self,
        feed: Feed,
        content: Any,
        *,
        importer: Importer | None = None,
        rejects: RejectsWriter | None = None,
    ) -> Run:
        """One delivery, as the worker does it: claim, run, file to done/."""
        source = self.file(content)
        run = (importer or self.importer).run(feed, source, self.begin(feed, source), rejects)
        source.path.rename(feed.folder / "done" / filed_name(run.id, source.name))
        return self.saved(run.id)

    def saved(self, run_id: int) -> Run:
        return self.store.read(lambda tx: runs.get(tx, run_id))

    def rejected(self, run: Run) -> list[RejectedRow]:
        return self.store.read(lambda tx: list(runs.rejected_rows(tx, run.id)))

    def warnings(self, run: Run) -> list[FeedWarning]:
        return self.store.read(lambda tx: list(runs.warnings(tx, run.id)))

    def put(self, sent: dict[str, Any]) -> Job:
        """What a person sends through the API."""
        checked = check_body(sent, self.catalogue)
        return self.store.write(
            lambda tx: upsert.put(tx, self.employer.id, checked, Actor(ActorKind.KEY, 1))
        )[0]

    def delete(self, reference: str) -> None:
        self.store.write(
            lambda tx: upsert.delete_reference(tx, self.employer.id, reference, Actor(ActorKind.KEY, 1))
        )

    def job(self, reference: str) -> Job | None:
        return self.store.read(lambda tx: jobs.by_reference(tx, self.employer.id, reference))

    def jobs(self) -> list[Job]:
        return self.store.read(lambda tx: jobs.after(tx, self.employer.id, 0, 100_000))

    def statuses(self) -> dict[str, str]:
        """referenceId → status of every job."""
        return {job.reference_id or "": job.status.value for job in self.jobs()}

    def named(self, feed: Feed, **policy: Any) -> Feed:
        """The feed with another policy."""
        return replace(feed, config=replace(feed.config, policy=replace(feed.config.policy, **policy)))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def board(tmp_path: Path, clock: Clock) -> Iterator[Board]:
    with Store.open(f"sqlite:///{tmp_path}/syncd.db", clock=clock, timezone=ZONE) as store:
        yield Board(store, clock, tmp_path)
