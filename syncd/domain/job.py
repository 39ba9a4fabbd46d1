"""A job posting as the values that every other package uses (docs/specification.md 2)."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache

from msgspec import Struct


class Status(StrEnum):
    """The status of a job. Only an active job is published."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    DRAFT = "draft"


class CloseOrigin(StrEnum):
    """The origin of the close date: the default of 60 days, the renewal of a feed, or a person or feed that sent it."""

    DEFAULT = "default"
    RENEWED = "renewed"
    CHOSEN = "chosen"


class ArchivedBy(StrEnum):
    """The reason why a job is archived, or a draft of its feed. It decides whether the job becomes active when its feed lists it
    again (docs/reconciliation.md "What a row sends")."""

    PERSON = "person"  # through the API or the command line: it stays archived
    MISSING = "missing"  # its feed no longer lists it, or says that it is closed or a draft
    CLOSED = "closed"  # its close date passed
    EXPIRED = "expired"  # the date of its own row had passed


class Place(Struct, frozen=True):
    """A location as it is written: a city and, if it is given, one of the 13 province codes."""

    city: str
    province: str | None = None

    @property
    def description(self) -> str:
        return f"{self.city}, {self.province}" if self.province else self.city


class Location(Struct, frozen=True):
    """A catalogue location (docs/specification.md 2.2). ``id`` is 0 until the store has added the place."""

    id: int
    name: str
    description: str
    type: str = "city"


class Salary(Struct, frozen=True):
    """The salary of a job (docs/specification.md 2.5). ``amount`` None means commission only."""

    amount: Decimal | None = None
    max_amount: Decimal | None = None
    period: int | None = None
    plus_commission: bool = False


class Employer(Struct, frozen=True):
    """An employer. ``unlimited``: on the plan for which auto-refresh takes effect (docs/specification.md 2.1)."""

    id: int
    name: str
    unlimited: bool = True


class Job(Struct, frozen=True):
    """A stored posting. ``published_at`` is the exact UTC instant of ``publish_date``, a date in the service's time zone.
    Both application addresses are kept; a response shows only the one in force. ``version`` rises by one with every
    change. ``id`` and ``version`` are 0 until the store has inserted the job."""

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
    """The fields that were sent, checked: wire name → value of the type that ``FieldKind`` gives for its kind.

    None asks for the default where a Job cannot lack the value (``closeDate``). Locations are Places until the store has
    located them. The members of a salary merge like the fields do. ``id`` is the read-only ``id`` of the body, if it has
    one: an update compares it with that of the job addressed."""

    fields: Mapping[str, object]
    id: int | None = None

    @property
    def reference_id(self) -> str | None:
        value = self.fields.get("referenceId")
        return value if isinstance(value, str) else None


@lru_cache(maxsize=4096)
def exact(value: Decimal | None) -> Decimal | int | None:
    """Return the same number without trailing zeros, in a form that is never written with an exponent."""
    if value is None:
        return None
    whole = int(value)
    return whole if value == whole else value.normalize()


class Moment(Struct, frozen=True):
    """The present: the UTC instant, the calendar date in the service's time zone, and that zone."""

    instant: datetime
    today: date
    zone: tzinfo = UTC


class ActorKind(StrEnum):
    """The kinds of authors of a change."""

    KEY = "key"
    RUN = "run"
    REFRESH = "refresh"
    CLOSE = "close"
    OPERATOR = "operator"


class Actor(Struct, frozen=True):
    """The author of a change, for the history: an API key or a feed run by its id, the service, or the operator, whose
    ``id`` is the session's number in the operator's pages, None for a command. ``request_id``: of the request to the API."""

    kind: ActorKind
    id: int | None = None
    request_id: str | None = None
