"""Make the stores of ``pages.py``: 10,000 runs of 200 feeds that own all jobs, written by the store's own functions.

The jobs are those of ``scale_stores.py``; what the feeds own, runs, rejected rows, warnings, changes and the jobs of each day
come on top. Only the entry "created" of each job in the history is written in bulk.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

from msgspec import structs

from bench import scale_stores
from syncd.domain import (
    Actor,
    ActorKind,
    FeedWarning,
    HoldScope,
    Job,
    RejectedRow,
    Run,
    RunCounts,
    RunState,
    Status,
    UnknownValues,
    Update,
)
from syncd.errors import Problem
from syncd.store import Store, Tx, employers, feed_jobs, feeds, jobs, run_results, runs
from syncd.sync.report import ShownPlan

FEEDS, RUNS = 200, 10_000
#: Of the large run, if the employer has that many jobs; of a held run; the rows of the large run that were refused, and its
#: warnings; and the rows of a file of which few were taken.
CHANGES, MISSING, REJECTED, WARNINGS, ALL_REJECTED = 100_000, 100_000, 10_000, 5_000, 100_000
#: Runs that wait for a decision.
HELD = 25
_BATCH = 500
_DAYS = 90
_ZONE = ZoneInfo("America/Toronto")
#: The states of ten runs of a feed; those that are held come last of all.
_STATES = (*(RunState.SUCCEEDED,) * 6, *(RunState.UNCHANGED,) * 2, RunState.PARTIAL, RunState.FAILED)


@dataclass(frozen=True, slots=True)
class Numbers:
    """The runs that the pages are asked for: one that changed and refused much, one that refused all; one that is held; and the
    job with most changes."""

    large: int
    refused: int
    held: int
    job: int


class _Clock:
    """The time of a store that is made: it goes from ``_DAYS`` ago to now."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC) - timedelta(days=_DAYS)

    def __call__(self) -> datetime:
        return self.now


def name_of(feed: int) -> str:
    return f"feed-{feed:03}"


def make(folder: Path, job_count: int, employer_count: int, run_count: int) -> Numbers:
    """Make an installation in ``folder``, with ``FEEDS`` feeds. With one employer the first feed owns all jobs, with
    ``FEEDS`` employers each owns those of its own."""
    scale_stores.make(folder, job_count, employer_count)
    clock = _Clock()
    with Store.open(f"sqlite:///{folder}/var/syncd.db", clock=clock, timezone=_ZONE) as store:
        owners = sorted(employer.id for employer in store.read(employers.all))
        names = {employer.id: employer.name for employer in store.read(employers.all)}
        ids = []
        for number in range(FEEDS):
            owner = owners[number % len(owners)]
            _write_file(folder, number, names[owner])
            ids.append((store.write(partial(feeds.feed_id, name=name_of(number), employer_id=owner)), owner))
        for feed_id, owner in ids[: len(owners)]:
            _own(store, feed_id, owner)
        found = _add_runs(store, clock, ids, run_count)
        store.write(lambda tx: _note_creation(tx, found[0].id, single=len(owners) == 1))
        large, refused, held = found[-FEEDS], found[-FEEDS + 1], found[-HELD]
        store.write(lambda tx: run_results.add_rejected(tx, refused.id, _rejected(ALL_REJECTED)))
        _fill_large(store, large)
        _fill_held(store, held)
        while store.index_some():
            pass
        first = store.read(lambda tx: jobs.after(tx, large.employer_id, 0, 1))[0].id
        _change_often(store, first)
        return Numbers(large.id, refused.id, held.id, first)


def _write_file(folder: Path, number: int, employer: str) -> None:
    expect = 'expect_every = "1d"\n' if number % 2 else ""
    text = f'employer = "{employer}"\npreset = "indeed"\n{expect}'
    (folder / "config" / "feeds.d" / f"{name_of(number)}.toml").write_text(text)


def _own(store: Store, feed_id: int, employer_id: int) -> None:
    last = 0
    while some := store.read(lambda tx: jobs.after(tx, employer_id, last, 10 * _BATCH)):  # noqa: B023
        rows = [_created(job) for job in some]
        store.write(partial(feed_jobs.own, feed_id=feed_id, rows=rows))
        last = some[-1].id


def _created(job: Job) -> feed_jobs.Written:
    return feed_jobs.Written(
        job.id,
        job.reference_id or "",
        digest=job.id.to_bytes(16, "big"),
        fingerprint=b"f" * 16,
        job_version=1,
        sent=None,
        due=None,
        created=True,
        active=job.status is Status.ACTIVE,
    )


def _add_runs(store: Store, clock: _Clock, ids: list[tuple[int, int]], count: int) -> list[Run]:
    """Add the runs, the feeds in turns; the last ``HELD`` are held. Each day's jobs are noted on the way."""
    found: list[Run] = []
    step = timedelta(days=_DAYS) / count
    for number in range(count):
        feed_id, owner = ids[number % FEEDS]
        state = (
            RunState.HELD if number >= count - HELD else _STATES[(number // FEEDS + number) % len(_STATES)]
        )
        found.append(store.write(partial(_add_run, feed_id=feed_id, owner=owner, number=number, state=state)))
        clock.now += step
        if number % max(1, count // _DAYS) == 0:
            store.write(jobs.note_day)
            store.write(feeds.note_day)
    return found


def _add_run(tx: Tx, feed_id: int, owner: int, number: int, state: RunState) -> Run:
    run = runs.begin(tx, feed_id, owner, f"jobs-{number:05}.xml", 3_400_000, None)
    counts = RunCounts(
        read=1_000, created=20, updated=30, unchanged=940, rejected=10, missing=10, archived=10, warnings=5
    )
    reason = {
        RunState.HELD: "100,000 of 850,000 active jobs are missing, more than 25 %",
        RunState.FAILED: "truncated: the file ends within record 817",
    }.get(state)
    run = replace(
        run,
        state=state,
        holds=HoldScope.ALL if state is RunState.HELD else None,
        reason=reason,
        sha256=f"{number:064x}",
        ended_at=tx.now.instant,
        counts=RunCounts() if state is RunState.UNCHANGED else counts,
        phases={"hash": 0.1, "read": 3.2, "plan": 0.4, "apply": 5.1, "archive": 0.2},
    )
    runs.save(tx, run)
    run_results.add_rejected(tx, run.id, _rejected(10))
    return run


def _rejected(count: int) -> list[RejectedRow]:
    """Return refused rows of some kinds: values that no catalogue has, and addresses that are all different."""
    problems = (
        lambda n: Problem(
            "/positionType", "unknown_value", "no position type has this name", f"Type {n % 40}"
        ),
        lambda n: Problem("/locations/0/description", "unknown_place", "no place has this name", f"Town {n}"),
        lambda n: Problem("/applicationUrl", "invalid_format", "not an http or https address", f"htp:/x/{n}"),
        lambda n: Problem("/title", "required", "title is missing"),
    )
    return [
        RejectedRow(n, 30 * n, f"R-{n:07d}", (problems[n % 4](n), *((problems[1](n),) if n % 5 == 0 else ())))
        for n in range(count)
    ]


def _note_creation(tx: Tx, first_run: int, *, single: bool) -> None:
    """Write the first entry of the history of each job: made by the first run of the feed that owns it."""
    run = str(first_run) if single else f"{first_run - 1} + employer_id"
    tx.execute(
        "INSERT INTO history (job_id, employer_id, reference_id, version, at, actor, actor_id, run_id, action)"
        f" SELECT id, employer_id, reference_id, 1, published_at, 'run', {run}, {run}, 'created' FROM job"
    )


def _fill_large(store: Store, run: Run) -> None:
    """Have the run change and refuse much."""
    actor, last, changed = Actor(ActorKind.RUN, run.id), 0, 0
    while changed < CHANGES:
        some = store.read(lambda tx: jobs.after(tx, run.employer_id, last, _BATCH))  # noqa: B023
        if not some:
            break
        changes = [_change(job) for job in some]
        store.write(partial(jobs.apply, changes=changes, actor=actor, run_id=run.id))
        changed, last = changed + len(some), some[-1].id
    counts = RunCounts(
        read=changed + REJECTED, updated=changed, rejected=REJECTED, archived=changed // 10, warnings=WARNINGS
    )
    warnings = [
        FeedWarning("cut", f"title cut to {n % 90} characters", n, f"R-{n:07d}") for n in range(WARNINGS)
    ]
    unknown = {"positionType": [(f"Type {n}", 250) for n in range(40)]}

    def fill(tx: Tx) -> None:
        run_results.clear(tx, run.id)
        run_results.add_rejected(tx, run.id, _rejected(REJECTED))
        run_results.add_warnings(tx, run.id, warnings)
        lines = "".join(f'"Type {n}" = ""\n' for n in range(40))
        run_results.set_unknown(tx, run.id, UnknownValues(unknown, f"[lookup.positionType]\n{lines}"))
        runs.save(tx, replace(run, state=RunState.PARTIAL, reason=None, holds=None, counts=counts))

    store.write(fill)


def _change(job: Job) -> Update:
    """Return a change of the title and the position type; of every tenth job of the status."""
    after = structs.replace(job, title=f"{job.title} (evenings)", position_type=1 + job.id % 5)
    changed: tuple[str, ...] = ("title", "positionType")
    if job.id % 10 == 0 and job.status is Status.ACTIVE:
        after, changed = structs.replace(after, status=Status.ARCHIVED), (*changed, "status")
    return Update(job, after, changed)


def _fill_held(store: Store, run: Run) -> None:
    """Give the held run its plan: up to ``MISSING`` jobs would be archived."""

    def fill(tx: Tx) -> None:
        missing, _ = feed_jobs.owned_active(tx, _feed_of(tx, run), 0, MISSING)
        plan = ShownPlan("p" * 64, "a" * 64, "s" * 64, run.reason or "", "f" * 64, missing)
        run_results.set_plan(tx, run.id, plan.to_bytes())

    store.write(fill)


def _feed_of(tx: Tx, run: Run) -> int:
    """Return the feed whose jobs the run would archive: the one that owns all, or its own."""
    own = feeds.find(tx, run.feed, run.employer_id) or 0
    first = feeds.find(tx, name_of(0), run.employer_id) or own
    return first if any(feed_jobs.owned_active(tx, first, 0, 1)) else own


def _change_often(store: Store, job_id: int) -> None:
    """Have a key change one job a thousand times."""
    actor = Actor(ActorKind.OPERATOR)
    for number in range(1_000):
        (job,) = store.read(lambda tx: jobs.by_ids(tx, [job_id])).values()
        change = Update(job, structs.replace(job, title=f"Line Cook {number}"), ("title",))
        store.write(partial(jobs.apply, changes=[change], actor=actor))
