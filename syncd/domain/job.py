"""What a job posting is: the values that every other package passes round (docs/specification.md 2).

Two shapes: ``Job`` is a whole posting as stored; ``JobInput`` holds only the fields that somebody sent,
checked and typed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct


class Status(StrEnum):
    ACTIVE = "active"
    ARCHIVED = "archived"
    DRAFT = "draft"


class CloseOrigin(StrEnum):
    """Who chose the close date: nobody (60-day default), the renewal of a feed, or a person or feed that sent
    one."""

    DEFAULT = "default"
    RENEWED = "renewed"
    CHOSEN = "chosen"


class ArchivedBy(StrEnum):
    """Why a job is archived; decides whether a feed that lists it again may bring it back
    (docs/reconciliation.md "What a row sends")."""

    PERSON = "person"  # through the API or the command line: it stays archived
    MISSING = "missing"  # its feed no longer had it
    CLOSED = "closed"  # its close date passed
    EXPIRED = "expired"  # its own row carried a date that had passed


class Place(Struct, frozen=True):
    """A location as somebody wrote it: a city and, where known, one of the 13 province codes."""

    city: str
    province: str | None = None

    @property
    def description(self) -> str:
        return f"{self.city}, {self.province}" if self.province else self.city


class Location(Struct, frozen=True):
    """A catalogue location (docs/specification.md 2.2). ``id`` is 0 for a place that the store has yet to add."""

    id: int
    name: str
    description: str
    type: str = "city"


class Salary(Struct, frozen=True):
    """The salary of a job (docs/specification.md 2.5). ``amount`` None means commission only. ``period`` is
    the id 1 to 5."""

    amount: Decimal | None = None
    max_amount: Decimal | None = None
    period: int | None = None
    plus_commission: bool = False


class Employer(Struct, frozen=True):
    """``unlimited``: on the plan for which auto-refresh takes effect (docs/specification.md 2.1)."""

    id: int
    name: str
    unlimited: bool = True


class Job(Struct, frozen=True):
    """A stored posting. ``published_at`` is the exact UTC instant behind ``publish_date``, a date in the
    service's time zone. Both application addresses are kept; a response shows only the one in force.
    ``version`` rises by one with every change. ``id`` is 0 and ``version`` 0 until the store has inserted
    it."""

    id: int
    employer_id: int
    reference_id: str | None
    title: str
    published_at: datetime
    publish_date: date
    close_date: date
    close_origin: CloseOrigin
    confidential: bool
    auto_refresh: bool
    status: Status
    locations: tuple[Location, ...]
    categories: tuple[int, ...]
    position_type: int | None
    salary: Salary | None
    description: str | None
    routing: int | None
    application_email: str | None
    application_url: str | None
    archived_by: ArchivedBy | None = None
    version: int = 0


class JobInput(Struct, frozen=True):
    """The fields that were sent, by wire name, already checked and typed:

    referenceId ``str | None`` · title ``str`` · closeDate ``date | None`` (None: the default) · confidential,
    autoRefresh ``bool`` · status ``Status`` · locations ``tuple[Place | Location, ...]`` (Places until the
    store has located them) · categories ``tuple[int, ...]`` · positionType, applicantRoutingType ``int |
    None`` · description, applicationEmail, applicationUrl ``str | None`` · salary ``None`` or a dict with any
    of amount, maxAmount (``Decimal | None``), period (``int | None``), plusCommission (``bool``): its members
    merge like the top level does.

    ``id`` is the read-only ``id`` of the body where one was sent: an update compares it with the job
    addressed."""

    fields: Mapping[str, object]
    id: int | None = None

    @property
    def reference_id(self) -> str | None:
        value = self.fields.get("referenceId")
        return value if isinstance(value, str) else None


class Moment(Struct, frozen=True):
    """Now, twice: the UTC instant and the calendar date in the service's time zone."""

    instant: datetime
    today: date


class ActorKind(StrEnum):
    KEY = "key"
    RUN = "run"
    REFRESH = "refresh"
    CLOSE = "close"
    OPERATOR = "operator"


class Actor(Struct, frozen=True):
    """Who makes a change, for the history: an API key or feed run by id, or the service or operator
    itself."""

    kind: ActorKind
    id: int | None = None
