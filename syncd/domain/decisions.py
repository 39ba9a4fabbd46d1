"""Decisions as values: the result of one input, one feed row or one missing job."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from syncd.domain.job import Job
from syncd.errors import IllegalTransition, Problem


class Create(Struct, frozen=True):
    """Insert ``job`` (its id and version are 0)."""

    job: Job


class Update(Struct, frozen=True):
    """Replace ``before`` by ``job``. ``changed``: wire names of the fields that differ, ``publishDate`` too, in their order."""

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
    """The strongest action of a feed row, by which it counts (docs/reconciliation.md "Counting").

    ``suppressed``: the job stays archived because a person archived it. ``expired``: the row's own date has passed, and
    it archived the job, or named none."""

    CREATED = "created"
    UPDATED = "updated"
    REACTIVATED = "reactivated"
    UNCHANGED = "unchanged"
    REJECTED = "rejected"
    SUPPRESSED = "suppressed"
    EXPIRED = "expired"


class Ownership(Struct, frozen=True):
    """The store's knowledge of the feed and the current job.

    ``owner``: the id of the feed that owns the job. ``own_values``: the set of own values (``OWN_BITS``) of the row that this
    feed last wrote to it; None: not known. ``sent``: wire name → digest of the value that this feed last sent
    (``field_digests``), with ``on_api_edit = "keep"``. ``edited``, instead of ``sent`` for a job last written before the feed had
    that setting: wire names of the fields that people have changed since. Both are empty unless this feed owns the job."""

    owner: int | None = None
    own_values: int | None = None
    sent: dict[str, str] | None = None
    edited: frozenset[str] = frozenset()


class RowDecision(Struct, frozen=True):
    """The result of a feed row: it counts as ``action``, and ``decision`` is written (None: an expired row without a job).
    ``owns``: the feed owns the job from now on. ``archives``: the row archives an active job, by its date or status."""

    action: RowAction
    decision: Decision | None
    owns: bool = True
    archives: bool = False


@dataclass(slots=True)
class PlanCounts:
    """The effects of a plan in counts of rows or jobs, for ``guard``.

    ``read``: rows, without those that the feed leaves out (``filtered``) · ``assumed``: valid rows whose record places
    none of their places in Canada · ``without_reference``: rejected rows that name no job · ``created``, ``changed``: rows
    that make a job, or change one without archiving it · ``active``: active jobs of the feed before the run ·
    ``missing``: owned, active, not named (beyond ``grace``) · ``waiting``: the same within ``grace`` ·
    ``expired_archives``: rows whose decision ``archives`` ·
    ``recent_archives``: jobs that this feed archived as missing in the last 24 hours, without approval, and that are not
    active again · ``rekeyed``: missing or waiting jobs that a new job is like ·
    ``named_active``: active jobs that the file names ·
    ``retitled``: of those, with another title · ``described``: of those, with a description before · ``shrunk``: of
    these, that lose half of it or more, or its end · ``accented``: of the named ones, with an accent in title or description;
    ``bared``: of these, that lose them · ``emptied``: by name in OWN_VALUES, how many more rows lost that value
    than gained it, of the ``compared`` rows whose jobs an earlier file named · ``unfiltered``: rows that the feed left out of the
    last file, if it leaves none out of this one, and as many are new · ``unsaid``: by name in OWN_VALUES, the rows without that
    value that make a job live, where nearly all jobs of the feed have one · ``uniform``, ``swapped``: by name in
    OWN_VALUES, how many active jobs would get one and the same value in place of many, or the values of other jobs ·
    ``relabelled``: by name in OWN_VALUES, how many would get another of a few values · ``displaced``: active jobs that would
    get a place that nobody knows · ``revealed``: those that would be confidential no longer · ``repaid``: those that would keep
    the digits of their pay, in another unit or with another decimal point; ``halved``: that would have one amount in place of
    two; ``leaps``: that would have far less or far more of the same unit · ``misdated``:
    active jobs that would close a day earlier, in another year, or at a date with day and month swapped ·
    ``written``: by field in DAMAGE_BITS, the texts that are new or change · ``damaged``: of these, the damaged ones ·
    ``feed_changed``: the feed may not archive with its present settings yet · ``older_bytes``: the file has the bytes of an
    older applied file of the feed."""

    read: int = 0
    filtered: int = 0
    rejected: int = 0
    assumed: int = 0
    without_reference: int = 0
    created: int = 0
    changed: int = 0
    active: int = 0
    missing: int = 0
    waiting: int = 0
    expired_archives: int = 0
    recent_archives: int = 0
    rekeyed: int = 0
    named_active: int = 0
    retitled: int = 0
    described: int = 0
    shrunk: int = 0
    accented: int = 0
    bared: int = 0
    compared: int = 0
    emptied: Mapping[str, int] = field(default_factory=dict)
    unfiltered: int = 0
    unsaid: dict[str, int] = field(default_factory=dict)
    uniform: Mapping[str, int] = field(default_factory=dict)
    swapped: Mapping[str, int] = field(default_factory=dict)
    relabelled: Mapping[str, int] = field(default_factory=dict)
    displaced: int = 0
    revealed: int = 0
    halved: int = 0
    leaps: int = 0
    misdated: int = 0
    repaid: int = 0
    written: Counter[str] = field(default_factory=Counter)
    damaged: Counter[str] = field(default_factory=Counter)
    feed_changed: bool = False
    older_bytes: bool = False


class Hold(Struct, frozen=True):
    """The reason why a run waits, in one line with numbers and limits, and its stable code. ``all``: nothing was applied;
    otherwise only the archiving waits. ``rekeyed``: the jobs could take the new ids instead."""

    all: bool
    code: str
    reason: str
    rekeyed: bool = False
