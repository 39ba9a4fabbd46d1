"""For tests of the store: jobs that are changed through ``apply``, the file of a store, and its search index."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from syncd.domain import (
    ATTRIBUTES,
    Actor,
    ActorKind,
    ArchivedBy,
    Change,
    CloseOrigin,
    Create,
    Delete,
    Employer,
    Job,
    Location,
    Status,
    Update,
    fold,
)
from syncd.store import Store, history, jobs
from syncd.store.sqlite import SqliteDatabase

TORONTO = ZoneInfo("America/Toronto")
START = datetime(2026, 3, 2, 15, 0, tzinfo=UTC)
ACTOR = Actor(ActorKind.KEY, 1)
WIRE = {attribute: name for name, attribute in ATTRIBUTES.items()}
MONTREAL = Location(6077243, "Montréal", "Montréal, QC")


def a_job(employer_id: int, **fields: Any) -> Job:
    """Return a whole active job that is not stored yet, as a decision to create it has it."""
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


OpenStore = Callable[..., Store]


def index_all(store: Store) -> None:
    """Bring the search index up to date."""
    while store.index_some():
        pass


def plainly(model: list[Job], q: str, status: Status | None) -> list[int]:
    """Return the ids that a look at every job finds."""
    term = fold(q)
    found = [
        job
        for job in model
        if (status is None or job.status is status)
        and (term in fold(job.title) or term in fold(job.reference_id or ""))
    ]
    return [job.id for job in sorted(found, key=lambda job: (job.published_at, job.id), reverse=True)]


def ask(
    store: Store, employer: Employer, q: str, status: Status | None = None, page: int = 1, *, size: int = 3
) -> tuple[int, list[int]]:
    total, headers = store.read(
        lambda tx: jobs.page(tx, employer.id, q=q, status=status, page=page, page_size=size)
    )
    return total, [header.id for header in headers]


def changes_of(store: Store, employer_id: int, job_id: int) -> list[history.HistoryEntry]:
    _, steps = store.read(lambda tx: history.page(tx, employer_id, job_id, page=1, page_size=1_000))
    return [step.entry for step in steps]


def file_of(store: Store) -> Path:
    assert isinstance(store.database, SqliteDatabase)
    return store.database.path


class Board:
    """Changes jobs of one employer through ``apply``, one change a call or many."""

    def __init__(self, store: Store, employer: Employer) -> None:
        self.store, self.employer = store, employer

    def apply(self, *decided: Change, actor: Actor = ACTOR, run_id: int | None = None) -> list[Job]:
        return self.store.write(lambda tx: jobs.apply(tx, decided, actor, run_id=run_id))

    def job(self, **fields: Any) -> Job:
        """Return a job that is not stored yet. ``employer_id`` may be that of another employer."""
        return a_job(fields.pop("employer_id", self.employer.id), **fields)

    def create(self, **fields: Any) -> Job:
        return self.apply(Create(self.job(**fields)))[0]

    def update(self, before: Job, actor: Actor = ACTOR, **fields: Any) -> Job:
        return self.apply(
            Update(before, replace(before, **fields), tuple(WIRE[name] for name in fields if name in WIRE)),
            actor=actor,
        )[0]

    def archive(self, before: Job, by: ArchivedBy, actor: Actor = ACTOR, run_id: int | None = None) -> Job:
        after = replace(before, status=Status.ARCHIVED, archived_by=by)
        return self.apply(Update(before, after, ("status",)), actor=actor, run_id=run_id)[0]

    def delete(self, job: Job) -> None:
        self.apply(Delete(job))
