"""A run: the reconciliation of one delivery, as a value (docs/reconciliation.md "What a run does")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from syncd.errors import MAX_MESSAGE_CHARACTERS, Problem, shortened


class RunState(StrEnum):
    """The state of a run: a step on its way, or its end."""

    CLAIMED = "claimed"
    READING = "reading"
    APPLYING = "applying"
    ARCHIVING = "archiving"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    HELD = "held"
    FAILED = "failed"
    UNCHANGED = "unchanged"
    SUPERSEDED = "superseded"
    REJECTED = "rejected"

    @property
    def ended(self) -> bool:
        """Return whether nothing more happens without a person. A held run has ended in this sense."""
        return self not in (RunState.CLAIMED, RunState.READING, RunState.APPLYING, RunState.ARCHIVING)


class HoldScope(StrEnum):
    """The part of a held run that waits for a decision."""

    ARCHIVE = "archive"  # only the archiving waits: the rows are applied
    ALL = "all"  # nothing was applied


class RunKind(StrEnum):
    """The kinds of runs: one reconciles a file, takes back an earlier run, or archives the jobs of a feed that leaves, or those
    that an employer that leaves has besides."""

    FILE = "file"
    REVERT = "revert"
    CLOSE = "close"


#: The feed of the runs that close an employer: no file of a feed can have this name.
API_FEED = "(API)"


@dataclass(frozen=True, slots=True)
class RunCounts:
    """Rows by their strongest action, and jobs that were archived. ``replaced``: rows that do not count, because a later valid
    one has their referenceId. ``missing``: owned, active, not named. ``filtered``: rows that the feed's file leaves out."""

    read: int = 0
    created: int = 0
    updated: int = 0
    reactivated: int = 0
    unchanged: int = 0
    replaced: int = 0
    rejected: int = 0
    suppressed: int = 0
    expired: int = 0
    filtered: int = 0
    missing: int = 0
    archived: int = 0
    warnings: int = 0

    @property
    def went_in(self) -> int:
        """The rows that were neither replaced nor rejected, nor left out by the feed's file."""
        acted = self.created + self.updated + self.reactivated + self.unchanged
        return acted + self.suppressed + self.expired

    def plus(self, more: Mapping[str, int]) -> RunCounts:
        """Return these counts with ``more`` (name → number) added."""
        return replace(self, **{name: getattr(self, name) + number for name, number in more.items()})


@dataclass(frozen=True, slots=True)
class UnknownValues:
    """Values that no catalogue and no lookup has. ``found``: field → (value, number of rows), the most frequent first;
    ``toml``: the same as lines for the feed's file."""

    found: dict[str, list[tuple[str, int]]]
    toml: str


#: The most names that a sentence about the shape of a file lists.
MAX_LISTED_NAMES = 5


@dataclass(frozen=True, slots=True)
class Shape:
    """The change of a file's shape: the names that the feed's file uses and that are ``gone``, and the ``new`` ones; if none is
    gone, those that it does not use and that may speak of jobs that are not live, or abroad. ``noun``: a
    ``column``, an ``element`` or a ``member``; ``lines``: those of the feed's file with the new names, where they are likely."""

    gone: tuple[str, ...]
    new: tuple[str, ...]
    noun: str
    lines: tuple[str, ...] = ()

    def in_words(self, *, lines: bool) -> str:
        """Return a sentence; with the ``lines`` to paste it is for the operator."""
        noun = self.noun if len(self.gone or self.new) == 1 else f"{self.noun}s"
        if not self.gone:
            new = f"the file has the new {noun} {_listed(self.new)}, which the feed's file does not use"
            return (
                f"{new}, and which may say that jobs are closed, not public, abroad, or paid in other money"
            )
        more = f"; new in it: {_listed(self.new)}" if self.new else ""
        paste = f"; [fields] with the new names: {' and '.join(self.lines)}" if lines and self.lines else ""
        return f"the file has no {noun} {_listed(self.gone)} any more{more}{paste}"


def _listed(names: tuple[str, ...]) -> str:
    listed = ", ".join(f"`{name}`" for name in names[:MAX_LISTED_NAMES])
    more = len(names) - MAX_LISTED_NAMES
    return f"{listed} and {more} more" if more > 0 else listed


@dataclass(frozen=True, slots=True)
class RunProgress:
    """The progress of a run: the records or jobs that are done in ``phase``, and their share (0 to 1); while hashing and
    reading the share of the bytes."""

    phase: str
    records: int
    share: float


@dataclass(frozen=True, slots=True)
class Run:
    """One run as the run log has it. Instants are UTC; ``phases`` are seconds by name; ``sha256`` is of the file, in hex.
    ``reverts``: the run that this one reverts; ``reverted_by``: the revert after which this run does not stand any more;
    ``superseded_by``: the run of the later file that took its place, or its revert; ``repeats``: the run whose kept file is run
    again. ``filtered_by``: the rows that the feed's file leaves out, by rule. ``counts``: the effects of the run so far;
    ``planned``: of a run that waits, the further ones that it would have. ``shape``: None if no name that the feed's file uses is
    gone, and none that is new may speak of jobs that are not live."""

    id: int
    feed: str
    employer_id: int
    employer: str
    kind: RunKind
    state: RunState
    file: str
    size: int
    attempt: int = 1
    holds: HoldScope | None = None
    withheld: str | None = None
    reason: str | None = None
    sha256: str | None = None
    claimed_at: datetime | None = None
    ended_at: datetime | None = None
    counts: RunCounts = field(default_factory=RunCounts)
    planned: RunCounts | None = None
    phases: dict[str, float] = field(default_factory=dict)
    reverts: int | None = None
    reverted_by: int | None = None
    superseded_by: int | None = None
    repeats: int | None = None
    filtered_by: dict[str, int] = field(default_factory=dict)
    progress: RunProgress | None = None
    shape: Shape | None = None

    @property
    def subject(self) -> str:
        """The name of the file; of a run without one its effect."""
        if self.kind is RunKind.CLOSE:
            return f"closing of the {'employer' if self.feed == API_FEED else 'feed'}"
        return self.file if self.reverts is None else f"revert of run {self.reverts}"

    @property
    def is_success(self) -> bool:
        """Return whether the file was taken: one of its rows went in, or it had none, or it has the bytes of the last file."""
        taken = self.state in (RunState.SUCCEEDED, RunState.PARTIAL, RunState.UNCHANGED)
        return self.kind is RunKind.FILE and taken and (not self.counts.read or self.counts.went_in > 0)

    @property
    def proved_usable(self) -> bool | None:
        """Return whether something of the file was applied, or had been before. None: the run has not ended, or a person has to
        decide."""
        match self.state:
            case RunState.SUCCEEDED | RunState.UNCHANGED:
                return True
            case RunState.PARTIAL:
                return bool(self.counts.went_in or self.counts.archived)
            case RunState.HELD | RunState.REJECTED | RunState.SUPERSEDED:
                if self.holds is HoldScope.ARCHIVE and self.counts.went_in:
                    return True
        return False if self.state.ended and self.state is not RunState.HELD else None


def takes_place(run: Run, *, whole: bool) -> bool:
    """Return whether a run that has ended supersedes older runs that are held. ``whole``: its file carries the whole feed."""
    return whole and run.state is not RunState.FAILED and run.counts.read > 0


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A rejected record: its place in the file and all its problems. ``member``: the file of an archive that the record is
    in; ``line`` counts in that file."""

    record: int
    line: int | None
    reference_id: str | None
    errors: tuple[Problem, ...]
    member: str | None = None


@dataclass(frozen=True, slots=True)
class FeedWarning:
    """Something that a run did and the owner of the feed should know. ``record`` is None if it concerns the whole file;
    ``member``: the file of an archive that the record is in."""

    code: str
    detail: str
    record: int | None = None
    reference_id: str | None = None
    member: str | None = None

    def __post_init__(self) -> None:
        if len(self.detail) > MAX_MESSAGE_CHARACTERS:
            object.__setattr__(self, "detail", shortened(self.detail))


class NoticeEvent(StrEnum):
    """The events of notices. Those of the service itself, ``service.…``, concern no feed. What has ``recovered`` works again."""

    HELD = "feed.held"
    FAILED = "feed.failed"
    OVERDUE = "feed.overdue"
    DEGRADED = "feed.degraded"
    POISON = "feed.poison"
    RECOVERED = "feed.recovered"
    SOURCE_FAILED = "source.failed"
    SOURCE_RECOVERED = "source.recovered"
    CLOCK = "service.clock"
    DISK = "service.disk"
    STORE = "service.store"
    SERVICE_RECOVERED = "service.recovered"
    DIGEST = "service.digest"
    TEST = "service.test"

    @property
    def short(self) -> str:
        """The name in the settings: ``held``, ``source.failed``, ``clock``. ``recovered`` is that of feeds and of the service."""
        return self.value.removeprefix("feed.").removeprefix("service.")


# -- notices: messages to the operator -------------------------------------------------------------------------


#: The troubles of a feed that need somebody, until a file of it is taken.
TROUBLES_OF_FILES = frozenset({NoticeEvent.HELD, NoticeEvent.FAILED, NoticeEvent.POISON, NoticeEvent.OVERDUE})


@dataclass(frozen=True, slots=True)
class Notice:
    """``key`` names it in every message, and is never used again. ``feed`` is None if it concerns the service, ``run`` if no
    run is the reason; ``state`` is that of the run, else ``overdue``, ``degraded``, ``usable`` or ``removed``, of a source or of
    the service ``failing``, ``fault`` or ``ok``. ``counts``: those of the
    run, or of the event. ``over``: of a recovered feed, the event that is over; ``holds``: as in Run. ``employer`` and ``file``
    are read with the notice: they are those of the run, or of the feed."""

    event: NoticeEvent
    feed: str | None
    reason: str | None
    run: int | None = None
    state: str | None = None
    counts: Mapping[str, int] | None = None
    over: NoticeEvent | None = None
    holds: HoldScope | None = None
    id: int = 0
    key: str = ""
    at: datetime | None = None
    employer: str | None = None
    file: str | None = None


def notice_of(run: Run, before: NoticeEvent | None, *, poison: bool = False) -> Notice | None:
    """Return the notice of a run that has ended, None if nobody needs to know. ``before``: the latest notice of the feed that
    is about its files. ``poison``: the run failed because its attempts died."""
    if run.state is RunState.HELD:
        event = NoticeEvent.HELD
    elif run.state is RunState.FAILED:
        event = NoticeEvent.POISON if poison else NoticeEvent.FAILED
    elif run.is_success and before in TROUBLES_OF_FILES:
        event = NoticeEvent.RECOVERED
    else:
        return None
    over = before if event is NoticeEvent.RECOVERED else None
    return Notice(event, run.feed, run.reason, run.id, run.state.value, asdict(run.counts), over, run.holds)
