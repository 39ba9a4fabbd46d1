"""What the store may hold, by the law (docs/reconciliation.md "The law").

Each job is a set of *worlds*: the states that it may be in by now. A request to the API, and the close of a day, happen at a
known moment and change each world. A run happens between its claim and its end: while it goes on, it may or may not have
applied its row. So the worlds are what any order of single steps allows. When the run has ended, only those worlds are left
that agree with its outcome; no run, no death and no fault can make a world of its own. A store that is in none of the worlds
breaks the law.

What a row and a request result in is decided by the model of the property test of the law."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msgspec.structs import replace

from syncd.domain import (
    Catalogue,
    Job,
    JobInput,
    Location,
    Moment,
    Reject,
    RunState,
    Status,
    check_body,
    decide,
    field_digests,
)
from syncd.errors import Invalid
from tests.clock import Clock
from tests.sync.board import Row
from tests.sync.test_law import ModelSide

_CATALOGUE = Catalogue.default()
_PLACE = (Location(1, "Montréal", "Montréal, QC"),)
#: What a world says of a run: it has done all that it has to do with the job; the job went from active to archived by that;
#: or it has done all but what archives the job.
APPLIED, ARCHIVED, WITHOUT_ARCHIVING = "applied", "archived", "without archiving"


#: The feeds that archive a job only when the second file in a row lacks it. They may spare it for longer: files that were
#: held or not read count as the documents say, which the model does not follow.
PATIENT = ("patient",)
#: The feeds that leave what a person changed until their own value changes, and the fields that a person can change here.
KEEPING = ("keeping",)
EDITED = {"title": "title", "description": "description", "closeDate": "close_date", "status": "status"}
#: Digests by field of what a feed last sent for a job.
Sent = frozenset[tuple[str, str]]


#: Gets what the run has done in a world, and returns whether its outcome is possible there.
Agreement = Callable[[frozenset[str]], bool]


class World(NamedTuple):
    """One state of one job. ``owner``: the feed's name; ``why``, ``origin`` as in the model of the law; ``runs``: what the runs
    that go on have done to it. ``lacked``: the runs of a feed with grace whose files lacked the job since one had it. ``sent``:
    what its owner last sent, if that feed keeps edits."""

    job: Job | None = None
    owner: str | None = None
    why: str | None = None
    origin: str | None = None
    runs: frozenset[tuple[int, str]] = frozenset()
    lacked: frozenset[int] = frozenset()
    sent: Sent = frozenset()

    @property
    def state(self) -> tuple[object, ...]:
        """What can be compared with a store."""
        job = self.job
        if job is None:
            return (None,)
        why = self.why if job.status is Status.ARCHIVED else None
        return job.status.value, job.title, job.description, str(job.close_date), why, self.origin, self.owner


def state_of(job: Job | None, owner: str | None) -> tuple[object, ...]:
    """Return the state of a job of the store as ``World.state`` gives it."""
    if job is None:
        return (None,)
    why = job.archived_by.value if job.archived_by else None
    return (
        job.status.value,
        job.title,
        job.description,
        str(job.close_date),
        why,
        job.close_origin.value,
        owner,
    )


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """What a run does by the law: ``rows`` of the feed, and the missing jobs if ``archives``. ``rest``: an approved run whose
    rows were applied before; only what archives a job is left."""

    run: int
    feed: str
    rows: tuple[Row, ...]
    archives: bool
    rest: bool = False

    def of(self, reference: str) -> list[Row]:
        return [row for row in self.rows if row["referenceId"] == reference]


class _OneJob:
    """An API with at most one job, for the model of the law."""

    def __init__(self, clock: Clock, job: Job | None) -> None:
        self._clock, self.job = clock, job

    def __call__(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if method == "DELETE":
            status, self.job = (204 if self.job is not None else 404), None
            return status, None
        try:
            sent = check_body(body, _CATALOGUE)
        except Invalid:
            return 422, None
        fields = {**sent.fields, "locations": _PLACE} if "locations" in sent.fields else sent.fields
        now = Moment(self._clock(), self._clock.today)
        decision = decide(self.job, JobInput(fields), now, employer_id=1)
        if isinstance(decision, Reject):
            return 409, None
        status, self.job = (200 if self.job is not None else 201), decision.job
        return status, self._shown(decision.job)

    def jobs(self) -> dict[str, dict[str, Any]]:
        return {} if self.job is None else {self.job.reference_id or "": self._shown(self.job)}

    @staticmethod
    def _shown(job: Job) -> dict[str, Any]:
        return {"referenceId": job.reference_id, "status": job.status.value, "closeDate": str(job.close_date)}


class _Side(ModelSide):
    """The model of the law for one job in one world."""

    def __init__(self, reference: str, world: World, clock: Clock) -> None:
        self.reference, self.one, self._lacked = reference, _OneJob(clock, world.job), world.lacked
        self._sent, self._accepted = world.sent, False
        kept = ((reference, value) for value in (world.owner, world.why, world.origin))
        owner, why, origin = ({name: value} if value is not None else {} for name, value in kept)
        super().__init__(self.one, clock, owner, why, origin)  # type: ignore[arg-type]

    def row(self, feed: str, row: Row) -> None:
        keeps = feed in KEEPING and self.owner.get(self.reference) == feed
        self._accepted = False
        self._row(feed, self.reference, self._without_edited(row) if keeps else dict(row))
        if self._accepted and feed in KEEPING:
            self._sent = sent_of(row)

    def put(self, body: Row, *, why: str = "person", origin: str = "chosen") -> int:
        answer = super().put(body, why=why, origin=origin)
        self._accepted = answer < 300
        return answer

    def _without_edited(self, row: Row) -> Row:
        """Return the row without the fields that the feed sends as last time and that have another value by now."""
        job, left = self.one.job, dict(row)
        try:
            sent = sent_of(row)
        except Invalid:
            return left
        by_service = self.why.get(self.reference) not in (None, "person")
        for name, digest in sent & self._sent:
            if job is None or digest == field_digests({name: getattr(job, EDITED[name])})[name]:
                continue
            if not (name == "status" and job.status is Status.ARCHIVED and by_service):
                del left[name]
        return left

    def has_it(self) -> None:
        """The file of a feed with grace has the job."""
        self._lacked = frozenset()

    def erase(self) -> int:
        """Send a DELETE; return the status of the answer."""
        answer = 204 if self.one.job is not None else 404
        self.delete(self.reference)
        return answer

    def world(self, runs: frozenset[tuple[int, str]]) -> World:
        owner, why, origin = (found.get(self.reference) for found in (self.owner, self.why, self.origin))
        sent = self._sent if owner in KEEPING else frozenset()
        return World(self.one.job, owner, why, origin, runs, self._lacked, sent)


def sent_of(row: Row) -> Sent:
    """Return what a row sends for the fields that a person can change. Raises Invalid."""
    fields = check_body(row, _CATALOGUE).fields
    return frozenset(field_digests({name: fields[name] for name in EDITED.keys() & fields.keys()}).items())


@dataclass
class Model:
    """The worlds of all jobs of one employer, by ``referenceId``. ``going_on``: the runs that may change jobs now, by number.
    ``history`` has what happened to a job, in words, for the message of a failure. ``loose``: the reverts that go on, which the
    model does not follow: what they leave is taken from the store when they have ended."""

    clock: Clock
    references: Iterable[str]
    going_on: dict[int, Reconciliation] = field(default_factory=dict)
    worlds: dict[str, dict[object, World]] = field(default_factory=dict)
    history: dict[str, list[str]] = field(default_factory=dict)
    loose: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        for reference in self.references:
            self.worlds[reference], self.history[reference] = {}, []
            self._add(reference, World())

    # -- what happens ------------------------------------------------------------------------------------------

    def request(self, reference: str, send: Callable[[_Side], int], answered: bool | None, what: str) -> None:
        """A request to the API. ``answered``: whether it was accepted; None if it had no answer, so that it may or may not have
        been done."""
        self.settle()
        after: list[World] = []
        for world in self.worlds[reference].values():
            side = _Side(reference, world, self.clock)
            accepted = send(side) < 300
            if answered is None:
                after += [world, side.world(world.runs)]
            elif self.loose or accepted is answered:
                after.append(side.world(world.runs) if accepted else world)
        self._keep(reference, after, f"{what}: {'no answer' if answered is None else answered}")
        self.settle()

    def day_closed(self, *, done: bool) -> None:
        """The service archived the jobs whose date has passed. ``done`` is False if it may have failed."""
        self.settle()
        for reference, worlds in self.worlds.items():
            after = [self._closed(world) for world in worlds.values()]
            if after != list(worlds.values()):
                self._keep(reference, after if done else [*worlds.values(), *after], f"jobs closed, {done=}")

    def began(self, run: Reconciliation) -> None:
        """From now on the run may change jobs."""
        self.settle()
        self.going_on[run.run] = run
        self.settle()

    def ended(
        self, run_id: int, agrees: Agreement | None, *, still: bool = False, shown: set[str] | None = None
    ) -> None:
        """The run ended. ``agrees``: see Agreement; None: any world agrees. ``still``: the file was not read, since it would
        change nothing; the law then says that its rows change nothing. ``shown``: the references of the jobs that a person
        agreed to archive, for an approved run."""
        self.settle()
        run = self.going_on.pop(run_id)
        for reference, worlds in self.worlds.items():
            after = []
            for world in worlds.values():
                mine = frozenset(what for number, what in world.runs if number == run_id)
                if not self.loose and still and self._applied(run, reference, world).state != world.state:
                    continue
                if not self.loose and shown is not None and ARCHIVED in mine and reference not in shown:
                    continue
                if self.loose or agrees is None or agrees(mine):
                    after.append(world._replace(runs=frozenset(r for r in world.runs if r[0] != run_id)))
            self._keep(
                reference, after, f"run {run_id} of {run.feed} ended: {run.of(reference) or 'not named'}"
            )

    def archived_by(self, run: Reconciliation) -> set[str]:
        """Return the references of the jobs that the run may archive as things are now."""
        return {
            reference
            for reference, worlds in self.worlds.items()
            for world in worlds.values()
            if (run.run, ARCHIVED) in self._applied(run, reference, world).runs
        }

    def settle(self) -> None:
        """Add the worlds in which runs that go on have done their work by now, in any order."""
        for run in [*self.going_on.values(), *list(self.going_on.values())[-2::-1]]:
            for reference, worlds in self.worlds.items():
                for world in list(worlds.values()):
                    after = self._applied(run, reference, world)
                    self._add(reference, after)
                    if (spared := self._spared(run, reference, world)) is not None:
                        self._add(reference, spared)
                    if (run.run, ARCHIVED) in after.runs and not run.rest:
                        self._add(reference, self._applied(run, reference, world, archiving=False))

    def reverted(self, run_id: int, jobs: dict[str, World], changed: Collection[str]) -> None:
        """The revert has ended. ``jobs`` are those of the store now, ``changed`` the references of those that it changed."""
        self.loose.discard(run_id)
        for reference, worlds in self.worlds.items():
            now = jobs.get(reference, World())
            after = []
            for world in worlds.values():
                sent = now.sent if reference in changed or world.owner != now.owner else world.sent
                after.append(now._replace(runs=world.runs, lacked=world.lacked, sent=sent))
            self._keep(reference, after, f"reverted by run {run_id}")
        self.settle()

    def must_be(self, reference: str, state: tuple[object, ...]) -> None:
        """Raise AssertionError if the job is in no world in which nothing goes on."""
        after = [world for world in self.worlds[reference].values() if world.state == state]
        if not after:
            allowed = sorted({str(world.state) for world in self.worlds[reference].values()})
            raise AssertionError(
                self._message(reference, f"the store has {state},\nthe law allows {allowed}")
            )
        self.worlds[reference] = {}
        for world in after:
            self._add(reference, world)

    # -- worlds ---------------------------------------------------------------------------------------------------

    def _add(self, reference: str, world: World) -> None:
        published = world.job.publish_date if world.job else None
        key = (world.state, published, world.runs, world.lacked, world.sent)
        self.worlds[reference].setdefault(key, world)

    def _keep(self, reference: str, after: list[World], what: str) -> None:
        self.history[reference].append(f"{self.clock():%d %H:%M:%S} {what}")
        if not after:
            before = sorted(
                {str((world.state, set(world.runs))) for world in self.worlds[reference].values()}
            )
            raise AssertionError(self._message(reference, f"the last step is possible in none of {before}"))
        self.worlds[reference] = {}
        for world in after:
            self._add(reference, world)

    def _message(self, reference: str, why: str) -> str:
        return "\n".join([f"the job {reference} breaks the law: {why}", *self.history[reference]])

    def _applied(self, run: Reconciliation, reference: str, world: World, *, archiving: bool = True) -> World:
        """Return the world after the run's work on the job; without ``archiving``, without what archives the job."""
        rows, side, done = run.of(reference), _Side(reference, world, self.clock), set()
        for row in rows:
            before = side.world(world.runs)
            side.row(run.feed, row)
            archives = _archived(before, side.world(world.runs))
            if archives:
                done.add(ARCHIVED)
            if (run.rest and not archives) or (archives and not archiving):
                side = _Side(reference, before, self.clock)
        if run.feed in PATIENT and rows:
            side.has_it()
        if self._is_missing(run, rows, world):
            if run.feed in PATIENT and not world.lacked - {run.run}:
                return self._spared(run, reference, world) or world
            done.add(ARCHIVED)
            if archiving:
                side.file(run.feed, [])
        done.add(APPLIED if archiving else WITHOUT_ARCHIVING)
        if not archiving:
            done.discard(ARCHIVED)
        return side.world(world.runs | {(run.run, what) for what in done})

    @staticmethod
    def _is_missing(run: Reconciliation, rows: list[Row], world: World) -> bool:
        return not rows and run.archives and _active(world) and world.owner == run.feed

    def _spared(self, run: Reconciliation, reference: str, world: World) -> World | None:
        """Return the world in which the run leaves the missing job to the grace of its feed; None if it has none."""
        if run.feed not in PATIENT or not self._is_missing(run, run.of(reference), world):
            return None
        done = world.runs | {(run.run, APPLIED)}
        return world._replace(runs=done, lacked=world.lacked | {run.run})

    def _closed(self, world: World) -> World:
        job, today = world.job, self.clock.today
        if job is None or not _active(world) or job.close_date >= today:
            return world
        return world._replace(job=replace(job, status=Status.ARCHIVED), why="closed")


def _active(world: World) -> bool:
    return world.job is not None and world.job.status is Status.ACTIVE


def _archived(before: World, after: World) -> bool:
    return _active(before) and after.job is not None and after.job.status is Status.ARCHIVED


def agreement(state: RunState, *, archive_waits: bool) -> Agreement:
    """Return which worlds agree with the outcome of a run."""
    match state:
        case RunState.SUCCEEDED | RunState.PARTIAL:
            return lambda done: APPLIED in done
        case RunState.HELD if archive_waits:
            return lambda done: ARCHIVED not in done and bool(done)
        case _:
            return lambda done: not done
