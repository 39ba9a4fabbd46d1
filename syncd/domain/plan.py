"""Decisions as values: what one input, one feed row, one missing job comes to. Nothing here writes.

``decide`` serves POST, both PUTs and the importer alike; ``decide_row`` wraps it with what only a feed knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from syncd.domain.job import ArchivedBy, Job, JobInput, Moment
from syncd.domain.policy import Policy
from syncd.errors import IllegalTransition, Problem


@dataclass(frozen=True, slots=True)
class Create:
    """Insert ``job`` (its id and version are 0)."""

    job: Job


@dataclass(frozen=True, slots=True)
class Update:
    """Replace ``before`` by ``job``. ``changed``: wire names of the fields that differ (``publishDate`` too)."""

    before: Job
    job: Job
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Write nothing."""

    job: Job


@dataclass(frozen=True, slots=True)
class Archive:
    """Set ``before`` to archived because ``by``; ``job`` is the result."""

    before: Job
    job: Job
    by: ArchivedBy


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove the job."""

    before: Job


@dataclass(frozen=True, slots=True)
class Reject:
    """Nothing is written. Either ``problems`` (the merged job breaks the rules, 422) or ``conflict`` (409)."""

    problems: tuple[Problem, ...] = ()
    conflict: IllegalTransition | None = None


Decision = Create | Update | Unchanged | Reject
Change = Create | Update | Archive | Delete | Unchanged


def decide(
    current: Job | None, sent: JobInput, now: Moment, *, employer_id: int, by: ArchivedBy = ArchivedBy.PERSON
) -> Decision:
    """What ``sent`` makes of ``current`` (None: a job that does not exist yet): merge, transition, merged rules.

    ``sent.fields["locations"]`` must hold Locations (already located). ``by`` is noted when the update archives.
    """
    raise NotImplementedError


class RowAction(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    REACTIVATED = "reactivated"
    UNCHANGED = "unchanged"
    REJECTED = "rejected"
    SUPPRESSED = "suppressed"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Ownership:
    """What the store knows of the feed's relation to the current job.

    ``owner``: id of the feed that owns the job, None if no feed does. ``sent``: digest by wire name of the value that this
    feed last sent for it; ``wrote``: digest by wire name of what the job then had (both empty unless this feed owns it).
    """

    owner: int | None = None
    sent: dict[str, str] | None = None
    wrote: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class RowDecision:
    """``action`` is what the row counts as, ``decision`` what is written (an Archive through an expired row is an Update whose
    job is archived by EXPIRED; ``archives`` is True then, for the guard). ``owns``: the feed owns the job from now on."""

    action: RowAction
    decision: Decision
    owns: bool = True
    archives: bool = False


def decide_row(
    current: Job | None,
    sent: JobInput,
    now: Moment,
    *,
    employer_id: int,
    feed_id: int,
    ownership: Ownership,
    policy: Policy,
) -> RowDecision:
    """One valid feed row (sync contract, "The law"): the status that is implied, expiry, renewal, ownership, on_api_edit."""
    raise NotImplementedError


def decide_missing(current: Job, now: Moment) -> Archive | Unchanged:
    """A job that its feed no longer has: archived as MISSING if it is active."""
    raise NotImplementedError


@dataclass(slots=True)
class Tally:
    """What a plan has seen, for ``guard``. Counts of rows or jobs.

    ``active``: active jobs of the feed before the run · ``missing``: owned, active, not named (beyond ``grace``) ·
    ``expired_archives``: archived by their own row's date · ``recent_archives``: archived as missing by this feed in the last
    24 hours without approval and not back · ``rekeyed``: missing jobs found again as new with equal title and location ·
    ``named_active``: jobs both named and active · ``retitled``, ``described``, ``shrunk`` among them.
    """

    read: int = 0
    rejected: int = 0
    without_reference: int = 0
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


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a run waits. ``code`` is stable; ``reason`` one line with the numbers and the limits."""

    all: bool
    code: str
    reason: str


def guard(tally: Tally, policy: Policy, *, archives: bool) -> Hold | None:
    """The table "When a run stops short". ``archives``: whether this run may archive at all (snapshot, whole file).
    A hold on everything wins over a hold on the archiving."""
    raise NotImplementedError


def renewed_close_date(now: Moment) -> date:
    """Today + 60 days: what a renewal sends."""
    raise NotImplementedError
