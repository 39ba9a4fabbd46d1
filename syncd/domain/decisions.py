"""Decisions as values: what one input, one feed row or one missing job comes to. Nothing here decides or
writes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from msgspec import Struct

from syncd.domain.job import ArchivedBy, Job
from syncd.errors import IllegalTransition, Problem


class Create(Struct, frozen=True):
    """Insert ``job`` (its id and version are 0)."""

    job: Job


class Update(Struct, frozen=True):
    """Replace ``before`` by ``job``. ``changed``: wire names of the fields that differ (``publishDate`` too),
    in the order of docs/specification.md 2.1."""

    before: Job
    job: Job
    changed: tuple[str, ...]


class Unchanged(Struct, frozen=True):
    """Write nothing."""

    job: Job


class Archive(Struct, frozen=True):
    """Set ``before`` to archived because ``by``; ``job`` is the result."""

    before: Job
    job: Job
    by: ArchivedBy


class Delete(Struct, frozen=True):
    """Remove the job."""

    before: Job


class Reject(Struct, frozen=True):
    """Nothing is written. ``problems``: the merged job breaks the rules (422); ``conflict``: the status cannot
    change so (409). Where there are both, the problems come first."""

    problems: tuple[Problem, ...] = ()
    conflict: IllegalTransition | None = None


Decision = Create | Update | Unchanged | Reject
Change = Create | Update | Archive | Delete | Unchanged


class RowAction(StrEnum):
    """What a feed row counts as: a row counts once, by its strongest action (docs/reconciliation.md "Counting").

    ``suppressed``: a person archived the job, so it stays archived. ``expired``: the row's own date has
    passed; it archived the job, or there was none to archive."""

    CREATED = "created"
    UPDATED = "updated"
    REACTIVATED = "reactivated"
    UNCHANGED = "unchanged"
    REJECTED = "rejected"
    SUPPRESSED = "suppressed"
    EXPIRED = "expired"


class Ownership(Struct, frozen=True):
    """What the store knows of the feed's relation to the current job.

    ``owner``: id of the feed that owns the job, None if no feed does. ``sent``: digest by wire name of the
    value that this feed last sent for it (``edits.field_digests``), kept under ``on_api_edit = "keep"`` only;
    ``edited``: in its place, for a job that was last written before that, the wire names of what people have
    changed since. Both empty unless this feed owns the job."""

    owner: int | None = None
    sent: dict[str, str] | None = None
    edited: frozenset[str] = frozenset()


class RowDecision(Struct, frozen=True):
    """``action`` is what the row counts as, ``decision`` what is written, None where there is nothing to
    write to (an expired row without a job). ``owns``: the feed owns the job from now on. ``archives``: the
    row takes an active job off the board (its own date, or a status that the mapping sends): it counts for
    the guard."""

    action: RowAction
    decision: Decision | None
    owns: bool = True
    archives: bool = False


@dataclass(slots=True)
class Tally:
    """What a plan has seen, for ``guard``. Counts of rows or jobs.

    ``active``: active jobs of the feed before the run · ``missing``: owned, active, not named (beyond
    ``grace``) · ``expired_archives``: rows whose decision ``archives`` · ``recent_archives``: archived as
    missing by this feed in the last 24 hours without approval and not back · ``rekeyed``: missing jobs found
    again as new with equal title and location · ``named_active``: jobs both named and active · ``retitled``:
    of those, with another title · ``described``: of those, with a description before · ``shrunk``: of these,
    that lose half of it or more · ``feed_changed``: the feed's own settings differ from those of the last run
    that could archive · ``older_bytes``: the file has the bytes of an older applied file of the feed."""

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


class Hold(Struct, frozen=True):
    """Why a run waits. ``all``: nothing was applied; else only the archiving waits. ``code`` is stable;
    ``reason`` one line with the numbers and the limits."""

    all: bool
    code: str
    reason: str
