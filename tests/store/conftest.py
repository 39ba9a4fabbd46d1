"""Real stores in real files. The migrated one is made once and copied: opening a copy takes milliseconds."""

import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from syncd.domain import (
    ATTRIBUTES,
    Actor,
    ActorKind,
    Archive,
    Change,
    CloseOrigin,
    Create,
    Delete,
    Employer,
    Job,
    Location,
    Status,
    Update,
)
from syncd.store import Store, employers, job_writer
from tests.clock import Clock

TORONTO = ZoneInfo("America/Toronto")
START = datetime(2026, 3, 2, 15, 0, tzinfo=UTC)
ACTOR = Actor(ActorKind.KEY, 1)
WIRE = {attribute: name for name, attribute in ATTRIBUTES.items()}
MONTREAL = Location(6077243, "Montréal", "Montréal, QC")


def a_job(employer_id: int, **fields: object) -> Job:
    """A whole active job as a decision to create it would hold it."""
    job = Job(
        id=0,
        employer_id=employer_id,
        reference_id=None,
        title="Baker",
        published_at=START,
        publish_date=date(2026, 3, 2),
        close_date=date(2026, 5, 1),
        close_origin=CloseOrigin.DEFAULT,
        confidential=False,
        auto_refresh=False,
        status=Status.ACTIVE,
        locations=(MONTREAL,),
        categories=(1,),
        position_type=1,
        salary=None,
        description="<p>Bread.</p>",
        routing=1,
        application_email="jobs@example.com",
        application_url=None,
    )
    return replace(job, **fields)


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "store.db"
    Store.open(f"sqlite:///{path}", timezone=TORONTO).close()
    return path


@pytest.fixture
def path(tmp_path: Path, template: Path) -> Path:
    return Path(shutil.copy(template, tmp_path / "store.db"))


@pytest.fixture
def open_store(path: Path, clock: Clock) -> Iterator[Callable[..., Store]]:
    opened: list[Store] = []

    def open_one(**options: object) -> Store:
        opened.append(Store.open(f"sqlite:///{path}", clock=clock, timezone=TORONTO, **options))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Callable[..., Store]) -> Store:
    return open_store()


@pytest.fixture
def employer(store: Store) -> Employer:
    return store.write(lambda tx: employers.add(tx, "Acme Ltd."))


class Board:
    """Changes jobs of one employer through ``apply``, one change a call or many."""

    def __init__(self, store: Store, employer: Employer) -> None:
        self.store, self.employer = store, employer

    def apply(self, *decided: Change, actor: Actor = ACTOR, run_id: int | None = None) -> list[Job]:
        return self.store.write(lambda tx: job_writer.apply(tx, decided, actor, run_id=run_id))

    def job(self, **fields: object) -> Job:
        """Not stored yet. ``employer_id`` may be another's."""
        return a_job(fields.pop("employer_id", self.employer.id), **fields)

    def create(self, **fields: object) -> Job:
        return self.apply(Create(self.job(**fields)))[0]

    def update(self, before: Job, actor: Actor = ACTOR, **fields: object) -> Job:
        return self.apply(
            Update(before, replace(before, **fields), tuple(WIRE[name] for name in fields if name in WIRE)),
            actor=actor,
        )[0]

    def archive(self, before: Job, by: object, actor: Actor = ACTOR, run_id: int | None = None) -> Job:
        after = replace(before, status=Status.ARCHIVED, archived_by=by)
        return self.apply(Archive(before, after, by), actor=actor, run_id=run_id)[0]

    def delete(self, job: Job) -> None:
        self.apply(Delete(job))


@pytest.fixture
def board(store: Store, employer: Employer) -> Board:
    return Board(store, employer)
