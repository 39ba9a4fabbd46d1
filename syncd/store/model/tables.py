"""The schema of the store, as SQLModel tables. No queries, no validation.

An instant is an integer of microseconds since 1970 in UTC, a calendar date ISO text, a decimal its exact text: a row is the same
through SQLModel, Core and the driver, and on every database. Values that are only read back whole are JSON text.
"""

import re
from typing import Any

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, Text, text
from sqlalchemy.orm import declared_attr
from sqlmodel import Field, SQLModel

#: Migrations in batches can only drop things that have a name.
NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}
metadata = MetaData(naming_convention=NAMES)


def _where(condition: str) -> dict[str, Any]:
    """Return the arguments that make an index partial."""
    return {f"{database}_where": text(condition) for database in ("sqlite", "postgresql")}


class Table(SQLModel):
    """The base of all tables, with metadata of its own, so that no other user of SQLModel mixes in. Rows are never
    validated, so pydantic's validators are not built: that takes half of the time to import this module."""

    model_config = {"defer_build": True}
    metadata = metadata

    @declared_attr.directive
    def __tablename__(cls) -> str:  # noqa: N805
        """The name of the class in snake case, without ``Row``."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__.removesuffix("Row")).lower()


class FactRow(Table, table=True):
    """A fact of the store about itself: version of the place data, last proof that it can write, and others."""

    __tablename__ = "setting"

    name: str = Field(primary_key=True)
    value: str


class CounterRow(Table, table=True):
    """The last id given out. Counted here, so that ids are known before the insert, rise, and are never given out
    twice; a transaction that is rolled back uses none."""

    name: str = Field(primary_key=True)
    value: int = Field(sa_type=BigInteger)


class EmployerRow(Table, table=True):
    """An employer."""

    __table_args__ = {"sqlite_autoincrement": True}

    id: int = Field(primary_key=True)
    name: str = Field(max_length=128, unique=True)
    unlimited: bool = True


class KeyRow(Table, table=True):
    """An API key: never the key itself, only its SHA-256. ``successor_id``: the key that was made to take its place."""

    __tablename__ = "api_key"
    __table_args__ = {"sqlite_autoincrement": True}

    id: int = Field(primary_key=True)
    employer_id: int = Field(foreign_key="employer.id", index=True)
    digest: bytes = Field(sa_type=LargeBinary, unique=True)
    label: str
    created_at: int = Field(sa_type=BigInteger)
    last_used_at: int | None = Field(default=None, sa_type=BigInteger)
    expires_at: int | None = Field(default=None, sa_type=BigInteger)
    revoked_at: int | None = Field(default=None, sa_type=BigInteger)
    successor_id: int | None = None


class PlaceRow(Table, table=True):
    """A Canadian place: shipped (its GeoNames id, no employer) or added by an employer (from 1,000,000,000). ``key`` is the
    name as it is compared (``place_key``)."""

    __table_args__ = (Index(None, "key", "province"), Index(None, "employer_id"))

    id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    name: str = Field(max_length=256)
    province: str | None = Field(default=None, max_length=2)
    key: str
    population: int = 0
    employer_id: int | None = Field(default=None, foreign_key="employer.id")


class JobRow(Table, table=True):
    """A posting. ``search`` is the folded title, a line feed and the folded referenceId; the description comes last because
    lists never read it. Locations and categories are JSON: they are only read with their job, and a job keeps its own
    spelling of a place."""

    __table_args__ = (
        Index("uq_job_reference", "employer_id", "reference_id", unique=True),
        # serves the list without a status, and answers a search without touching the rows
        Index("ix_job_list", "employer_id", "published_at", "id", "status", "search").ddl_if("sqlite"),
        # the same for PostgreSQL, whose B-trees have no room for long texts
        Index("ix_job_order", "employer_id", "published_at", "id", "status").ddl_if("postgresql"),
        Index("ix_job_status", "employer_id", "status", "published_at", "id"),
        Index("ix_job_refresh", "published_at", **_where("auto_refresh AND status = 'active'")),
        Index("ix_job_close", "close_date", **_where("status = 'active'")),
    )

    id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    employer_id: int = Field(foreign_key="employer.id")
    reference_id: str | None = Field(default=None, max_length=50)
    title: str = Field(max_length=256)
    published_at: int = Field(sa_type=BigInteger)
    publish_date: str = Field(max_length=10)
    close_date: str = Field(max_length=10)
    close_origin: str = Field(max_length=10)
    confidential: bool
    auto_refresh: bool
    status: str = Field(max_length=10)
    locations: str = Field(sa_type=Text)
    categories: str = Field(sa_type=Text)
    position_type: int | None = None
    salary_amount: str | None = None
    salary_max: str | None = None
    salary_period: int | None = None
    salary_commission: bool | None = None  # None: no salary at all
    routing: int | None = None
    application_email: str | None = Field(default=None, max_length=50)
    application_url: str | None = Field(default=None, max_length=200)
    archived_by: str | None = Field(default=None, max_length=10)
    version: int
    search: str
    description: str | None = Field(default=None, sa_type=Text)


class JobTotal(Table, table=True):
    """How many jobs an employer has in a status, kept by the writer of jobs: a list never counts."""

    employer_id: int = Field(primary_key=True, foreign_key="employer.id")
    status: str = Field(primary_key=True, max_length=10)
    n: int


class JobDay(Table, table=True):
    """How many jobs all employers together had in a status at the end of a day; of today: so far."""

    day: str = Field(primary_key=True, max_length=10)
    status: str = Field(primary_key=True, max_length=10)
    n: int


class HistoryRow(Table, table=True):
    """One change of one job. Outlives the job and the run: neither is a foreign key. ``version`` is the job's after the
    change; ``before`` the old values of the fields that changed (none for a create); ``state``, now and then, those of all
    fields; ``request_id`` that of a request to the API."""

    __table_args__ = (
        Index(None, "job_id", "id"),
        Index("ix_history_run", "run_id", **_where("run_id IS NOT NULL")),
    )

    id: int = Field(sa_column=Column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True))
    job_id: int
    employer_id: int
    reference_id: str | None = None
    version: int
    at: int = Field(sa_type=BigInteger)
    actor: str = Field(max_length=10)
    actor_id: int | None = None
    run_id: int | None = None
    action: str = Field(max_length=12)
    before: str | None = Field(default=None, sa_type=Text)
    state: str | None = Field(default=None, sa_type=Text)
    request_id: str | None = Field(default=None, max_length=128)


class FeedRow(Table, table=True):
    """A configured source. One that moves to another employer is another feed. ``paused``: why its files are left lying (maybe
    ""), None if they are taken. The others are those of ``feeds.Memory``."""

    __table_args__ = (
        Index("uq_feed_name", "name", "employer_id", unique=True),
        {"sqlite_autoincrement": True},
    )

    id: int = Field(primary_key=True)
    name: str
    employer_id: int = Field(foreign_key="employer.id")
    settings_digest: str | None = None
    disturbed: bool = True
    paused: str | None = None
    own_digests: str | None = Field(default=None, sa_type=Text)
    names: str | None = Field(default=None, sa_type=Text)
    line_end: bool | None = None


class FeedJob(Table, table=True):
    """The last row of a feed for a job that it owns; a job has one owner. ``active`` and ``touched`` (changed by others
    since) follow the job, so that a re-sync never reads the jobs themselves."""

    __table_args__ = (Index(None, "feed_id", "digest"), Index(None, "feed_id", "job_id", "active"))

    job_id: int = Field(primary_key=True, foreign_key="job.id", ondelete="CASCADE")
    feed_id: int = Field(foreign_key="feed.id")
    reference_id: str
    digest: bytes = Field(sa_type=LargeBinary)
    fingerprint: bytes = Field(sa_type=LargeBinary)
    job_version: int
    active: bool
    touched: bool
    due: str | None = Field(default=None, max_length=10)
    own_values: int | None = None


class FeedDay(Table, table=True):
    """How many active jobs a feed owned when the service first looked on a day."""

    day: str = Field(primary_key=True, max_length=10)
    feed_id: int = Field(primary_key=True, foreign_key="feed.id")
    active: int


class FeedSent(Table, table=True):
    """Digests by field of the feed's last row (JSON), for three-way edits: kept with ``on_api_edit = "keep"``."""

    job_id: int = Field(primary_key=True, foreign_key="job.id", ondelete="CASCADE")
    sent: str = Field(sa_type=Text)


class FeedMiss(Table, table=True):
    """How many snapshots in a row lacked a job: only those that wait in ``grace``."""

    feed_id: int = Field(primary_key=True, foreign_key="feed.id")
    job_id: int = Field(primary_key=True, foreign_key="job.id", ondelete="CASCADE", index=True)
    n: int


class RunRow(Table, table=True):
    """One reconciliation. ``claimed_name``: the file's name under ``.claimed/``; ``checkpoint``: its place when it last wrote
    something; ``died_at`` and ``deaths``: where earlier attempts ended, and how often in a row."""

    __table_args__ = (
        Index(None, "feed_id", "id"),
        Index(None, "feed_id", "sha256"),
        Index(None, "state"),
        {"sqlite_autoincrement": True},
    )

    id: int = Field(primary_key=True)
    feed_id: int = Field(foreign_key="feed.id")
    employer_id: int = Field(foreign_key="employer.id")
    kind: str
    state: str
    file: str
    size: int = Field(sa_type=BigInteger)
    attempt: int = 1
    holds: str | None = None
    withheld: str | None = None
    reason: str | None = None
    sha256: str | None = None
    claimed_at: int | None = Field(default=None, sa_type=BigInteger)
    ended_at: int | None = Field(default=None, sa_type=BigInteger)
    counts: str
    planned: str | None = Field(default=None, sa_type=Text)
    shape: str | None = Field(default=None, sa_type=Text)
    phases: str
    filtered_by: str = Field(default="{}", sa_column_kwargs={"server_default": "{}"})
    claimed_name: str | None = None
    checkpoint: str | None = None
    died_at: str | None = None
    deaths: int = 0
    progress: str | None = Field(default=None, sa_type=Text)
    reverts: int | None = None
    repeats: int | None = None
    reverted_by: int | None = None
    superseded_by: int | None = None


class RunOwner(Table, table=True):
    """An owner that a run changed, of a job that there was before: ``feed_id`` owned it before the run (with
    ``job_version`` and ``sent`` as in FeedJob and FeedSent), ``left_id`` after it; None: no feed. Outlives the job."""

    run_id: int = Field(foreign_key="run.id", ondelete="CASCADE", primary_key=True)
    job_id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    feed_id: int | None = None
    left_id: int | None = None
    job_version: int | None = None
    sent: str | None = Field(default=None, sa_type=Text)


class RunPlan(Table, table=True):
    """The plan of a held run, as the importer packed it."""

    run_id: int = Field(foreign_key="run.id", ondelete="CASCADE", primary_key=True)
    payload: bytes = Field(sa_type=LargeBinary)


class RunUnknown(Table, table=True):
    """The values that no catalogue and no lookup had, as JSON, and as lines for the feed's file."""

    run_id: int = Field(foreign_key="run.id", ondelete="CASCADE", primary_key=True)
    found: str = Field(sa_type=Text)
    toml: str = Field(sa_type=Text)


class RunRejected(Table, table=True):
    """A row that was not taken. ``errors`` is a JSON list of problems."""

    id: int = Field(primary_key=True)
    run_id: int = Field(foreign_key="run.id", ondelete="CASCADE", index=True)
    record: int
    line: int | None = None
    reference_id: str | None = None
    errors: str = Field(sa_type=Text)
    member: str | None = None


class RunWarning(Table, table=True):
    """A warning of a run: something in its file that was cut, cleaned, guessed or left out."""

    id: int = Field(primary_key=True)
    run_id: int = Field(foreign_key="run.id", ondelete="CASCADE", index=True)
    code: str
    detail: str
    record: int | None = None
    reference_id: str | None = None
    member: str | None = None


class ReplyRow(Table, table=True):
    """The first answer to a request that carried an Idempotency-Key (kept 24 hours for each API key)."""

    key_id: int = Field(primary_key=True, foreign_key="api_key.id")
    idempotency_key: str = Field(primary_key=True, max_length=255)
    request_digest: bytes = Field(sa_type=LargeBinary)
    status: int
    headers: str = Field(sa_type=Text)
    body: bytes = Field(sa_type=LargeBinary)
    at: int = Field(sa_type=BigInteger, index=True)


class SourceRow(Table, table=True):
    """The source of the feed with this name, of any employer. ``state`` is JSON (``sources.SourceState``)."""

    feed: str = Field(primary_key=True)
    state: str = Field(sa_type=Text)


class NoticeRow(Table, table=True):
    """A notice to the operator, written in the transaction of its event, whether anybody is notified or not. ``key`` names it
    outside; ``counts`` are JSON; ``over``: of a recovered feed, the event that is over. Outlives the run and the feed."""

    __table_args__ = (Index(None, "feed", "id"), {"sqlite_autoincrement": True})

    id: int = Field(primary_key=True)
    key: str = Field(max_length=32, unique=True)
    event: str = Field(max_length=32)
    feed: str | None = None
    run_id: int | None = None
    state: str | None = None
    reason: str | None = Field(default=None, sa_type=Text)
    counts: str | None = Field(default=None, sa_type=Text)
    over: str | None = Field(default=None, max_length=32)
    holds: str | None = None
    at: int = Field(sa_type=BigInteger)


class OutboxRow(Table, table=True):
    """A notice that is to go to one receiver (``way``: ``webhook`` or ``email:ADDRESS``). ``message``: the key of the message
    that has it, from before the first try to send that; ``due``: not tried again before; ``error``: why the last try failed."""

    __table_args__ = (Index(None, "way", "sent_at", "feed", "id"), {"sqlite_autoincrement": True})

    id: int = Field(primary_key=True)
    way: str
    notice_id: int = Field(foreign_key="notice.id", ondelete="CASCADE", index=True)
    feed: str = ""
    message: str | None = Field(default=None, max_length=32)
    tries: int = 0
    due: int = Field(default=0, sa_type=BigInteger)
    error: str | None = Field(default=None, sa_type=Text)
    sent_at: int | None = Field(default=None, sa_type=BigInteger)
