"""Decisions as values: what one input, one feed row or one missing job results in. Nothing here decides or writes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from msgspec import Struct

from syncd.domain.job import Job
from syncd.errors import IllegalTransition, Problem


class Create(Struct, frozen=True):
    """Insert ``job`` (its id and version are 0)."""

    job: Job


class Update(Struct, frozen=True):
    """Replace ``before`` by ``job``. ``changed``: the wire names of what differs, ``publishDate`` too, in the order of fields."""

    before: Job
    job: Job
    changed: tuple[str, ...]


class Unchanged(Struct, frozen=True):
    """Write nothing."""

    job: Job


class Delete(Struct, frozen=True):
    """Remove the job."""

    before: Job


class Reject(Struct, frozen=True):
    """Write nothing. ``problems``: the merged job breaks rules (422); ``conflict``: its status does not allow the change
    (409). If there are both, the problems count."""

    problems: tuple[Problem, ...] = ()
    conflict: IllegalTransition | None = None


Decision = Create | Update | Unchanged | Reject
Change = Create | Update | Delete | Unchanged


class RowAction(StrEnum):
    """What a feed row counts as: each row counts once, by its strongest action (docs/reconciliation.md "Counting").

    ``suppressed``: the job stays archived because a person archived it. ``expired``: the row's own date has passed; the
    row archived the job, or there was no job."""

    CREATED = "created"
    UPDATED = "updated"
    REACTIVATED = "reactivated"
    UNCHANGED = "unchanged"
    REJECTED = "rejected"
    SUPPRESSED = "suppressed"
    EXPIRED = "expired"


class Ownership(Struct, frozen=True):
    """What the store knows about the feed and the current job.

    ``owner``: the id of the feed that owns the job, None if no feed does. ``sent``: wire name → digest of the value that
    this feed last sent (``field_digests``), kept only with ``on_api_edit = "keep"``. ``edited``: for a job that was last
    written before the feed had that setting, the wire names of the fields that people have changed since, instead of
    ``sent``. Both are empty unless this feed owns the job."""

    owner: int | None = None
    sent: dict[str, str] | None = None
    edited: frozenset[str] = frozenset()


class RowDecision(Struct, frozen=True):
    """What a feed row results in: it counts as ``action``, and ``decision`` is written, None for an expired row without a
    job. ``owns``: the feed owns the job from now on. ``archives``: the row archives an active job, by its own date or by a
    status that the mapping sends; the guard counts it."""

    action: RowAction
    decision: Decision | None
    owns: bool = True
    archives: bool = False


@dataclass(slots=True)
class PlanCounts:
    """What a plan would do, in counts of rows or jobs, as ``guard`` needs them.

    ``read``: rows, without those that the feed leaves out (``filtered``) · ``assumed``: valid rows without a place that
    anything in their record places in Canada ·
    ``active``: active jobs of the feed before the run · ``missing``: owned, active, not named (beyond ``grace``) ·
    ``expired_archives``: rows whose decision ``archives`` · ``recent_archives``: jobs that this feed archived as missing in
    the last 24 hours, without approval, and that are not active again · ``without_reference``: rejected rows that name no
    job · ``created``, ``changed``: rows that make a job, or change one without archiving it · ``rekeyed``: missing jobs
    that a new job is like · ``named_active``: active jobs that the file names · ``retitled``: of those, with another title
    · ``described``: of those, with a description before · ``shrunk``: of these, that lose half of it or more ·
    ``feed_changed``: the feed's own settings differ from those with which it may archive · ``older_bytes``: the file has
    the bytes of an older applied file of the feed."""

    read: int = 0
    filtered: int = 0
    rejected: int = 0
    assumed: int = 0
    without_reference: int = 0
    created: int = 0
    changed: int = 0
    active: int = 0
    missing: int = 0
    expired_archives: int = 0
    recent_archives: int = 0
    rekeyed: int = 0
    named_active: int = 0
    retitled: int = 0
    described: int = 0
    shrunk: int = 0
    feed_changed: bool = False
    older_bytes: bool = False


class Hold(Struct, frozen=True):
    """Why a run waits. ``all``: nothing was applied; otherwise only the archiving waits. ``code`` is stable; ``reason`` is
    one line with the numbers and the limits."""

    all: bool
    code: str
    reason: str
