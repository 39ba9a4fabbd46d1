"""What is known of files and runs while a schedule goes on, and what must be true of them
(docs/reconciliation.md "Crash, fault and race")."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from syncd.domain import HoldScope, Job, Run, RunKind, RunState, Status
from syncd.store import Store, Tx, employers, feed_jobs, feeds, history, jobs, runs
from tests.clock import Clock
from tests.simulation.contents import IMPORTED, Content
from tests.simulation.engine import EMPLOYER, Engine
from tests.simulation.model import EDITED, KEEPING, Model, Reconciliation, Sent, World, agreement, state_of

#: The least number of deaths after which a file is not tried again.
DEATHS = 3
_APPLIED = (RunState.SUCCEEDED, RunState.PARTIAL, RunState.HELD)
_UNFINISHED_NAMES = (".part", ".done")


@dataclass
class Delivery:
    """A file that a partner put into a feed's folder. ``since``: the number of looks when it was last changed. ``gone``: the
    partner replaced or removed it before it was claimed, or it was kept long enough."""

    feed: str
    since: int = 0
    gone: bool = False


@dataclass
class SeenRun:
    """A run as it was seen last. ``age``: the time and name of its file. ``since``: the number of looks when the file was
    delivered (None: by a command), ``claimed``: when it was claimed. ``ends``, ``deaths``: those of the processes by then.
    ``began``: its file was read, so that it could change jobs; ``ended``: the number of its last outcome among those of all
    runs."""

    run: Run
    content: Content | None
    age: tuple[int, str]
    inode: int
    since: int | None
    claimed: int
    ends: int
    deaths: int
    errors: int
    began: bool = False
    ended: int = 0

    @property
    def takes_place(self) -> bool:
        """Whether the run read a file that carries the whole feed and has records."""
        whole = (
            self.content is not None
            and self.content.whole
            and self.content.usable
            and self.run.feed != "delta"
        )
        return whole and self.run.state is not RunState.FAILED and self.run.counts.read > 0

    @property
    def law(self) -> Reconciliation:
        content, run = self.content, self.run
        rows = content.counting if content is not None and content.usable else ()
        whole = content is not None and content.usable and content.whole
        rest = run.state is RunState.HELD and run.holds is HoldScope.ARCHIVE
        return Reconciliation(run.id, run.feed, rows, whole and run.feed != "delta", rest)


class Ledger:
    """``inspector`` is a store that only looks. ``ends``: how often a process has ended so far; ``deaths``: by dying."""

    def __init__(self, engine: Engine, inspector: Store, clock: Clock, references: str) -> None:
        self._engine, self._inspector, self._clock = engine, inspector, clock
        known = engine.feeds(inspector)
        self.employer = inspector.read(lambda tx: employers.find(tx, EMPLOYER)).id
        self._employers = {name: feed.employer.id for name, feed in known.items()}
        #: The law for the jobs of each employer, by its number.
        self._models = {n: Model(clock, references) for n in {self.employer, *self._employers.values()}}
        self._pictures: dict[int, dict[str, Job]] = {}
        self._names = {feed.id: name for name, feed in known.items()}
        self._contents: dict[str, Content] = {}
        self._deliveries: dict[int, Delivery] = {}
        #: The files that a person has imported so far.
        self._imports = 0
        self._applied: dict[str, list[SeenRun]] = {name: [] for name in engine.configs}
        self._claimed_at: dict[int, int] = {}
        self._shown: dict[int, set[str]] = {}
        self._reconciled: Counter[int] = Counter()
        self._looking = False
        #: The runs whose files need not be kept any more, by what the clock said at any time.
        self._old: set[int] = set()
        self._looks = self._outcomes = 0
        self.runs: dict[int, SeenRun] = {}
        self.ends = self.deaths = 0
        #: How often the service ended an attempt of each feed because of an error that its file may have caused.
        self.errors: Counter[str] = Counter()
        #: The commands that run now.
        self.commands = 0

    # -- what happens -----------------------------------------------------------------------------------------

    def know(self, content: Content) -> None:
        self._contents[content.sha256] = content

    def delivered(self, feed: str, path: Path) -> None:
        self._deliveries[path.stat().st_ino] = Delivery(feed, self._looks)

    def gone(self, path: Path) -> None:
        if path.exists():
            self._deliveries[path.stat().st_ino].gone = True

    def imported(self) -> None:
        self._imports += 1

    def noted(self, event: str, fields: Mapping[str, Any]) -> None:
        if event == "feed.reconciled":
            self._reconciled[fields["run"]] += 1

    def waited(self, feed: str) -> None:
        """Note that the service met an error in the turn of a feed that its file may have caused."""
        self.errors[feed] += 1

    def request(self, reference: str, send: Callable[[Any], int], answered: bool | None, what: str) -> None:
        self._models[self.employer].request(reference, send, answered, what)

    def paused(self) -> set[str]:
        return set(self._inspector.read(feeds.paused))

    def check_paused(self, paused: set[str], seen: int) -> None:
        """Raise AssertionError if a run of one of these feeds, which are paused all the time, began since ``seen`` runs."""
        paused &= self.paused()
        began = [run.id for run in self._begun_by_the_service(seen) if run.feed in paused]
        assert not began, f"the runs {began} began though their feeds are paused"

    def check_no_file_was_run(self, seen: int) -> None:
        """Raise AssertionError if the run of a file began since ``seen`` runs: the clock cannot be trusted."""
        began = [run.id for run in self._begun_by_the_service(seen)]
        assert not began, f"the runs {began} began though the clock had just been set"

    def _begun_by_the_service(self, seen: int) -> list[Run]:
        """Return the runs of files since ``seen`` runs, but for those that a person has asked for, perhaps while the service
        worked."""
        new = [seen.run for seen in list(self.runs.values())[seen:] if seen.run.kind is RunKind.FILE]
        return [run for run in new if run.repeats is None and not run.file.startswith(IMPORTED)]

    def ended_run(self, feed: str, back: int) -> int | None:
        """Return the number of the feed's run that ended ``back`` runs before the last one, None if there is none."""
        found = [seen.run.id for seen in self.runs.values() if seen.run.feed == feed and seen.run.state.ended]
        return found[-1 - back] if back < len(found) else None

    def calendar(self, *, done: bool) -> None:
        for model in self._models.values():
            model.day_closed(done=done)

    def held(self, feed: str) -> SeenRun | None:
        found = [
            seen for seen in self.runs.values() if seen.run.feed == feed and seen.run.state is RunState.HELD
        ]
        return found[-1] if found else None

    @contextmanager
    def decision(self, held: SeenRun, *, approves: bool) -> Iterator[None]:
        """In the block a person decides on a held run. Another one may approve it just now."""
        alone = held.run.id not in self._model(held.run).going_on
        if approves and alone:
            self._model(held.run).began(held.law)
        reason = held.run.reason
        yield
        self.look()
        model, number = self._model(held.run), held.run.id
        if alone and number in model.going_on:
            # shown again: nothing was done; held as before: what was cut off may be done
            shown_again = held.run.state is RunState.HELD and held.run.reason != reason
            model.ended(number, (lambda done: not done) if shown_again else None)

    # -- looking ----------------------------------------------------------------------------------------------

    def look(self) -> None:
        if self._looking:
            return
        self._looking = True
        try:
            self._looks += 1
            for feed in self._engine.configs:
                for name in self._claimed(feed):
                    inode = (self._engine.drop / feed / ".claimed" / name).stat().st_ino
                    self._claimed_at.setdefault(inode, self._looks)
            for run in sorted(
                self._inspector.read(lambda tx: runs.newest(tx, None, 10_000)), key=lambda run: run.id
            ):
                seen = self.runs.get(run.id)
                if seen is None:
                    seen = self.runs[run.id] = self._first_seen(run)
                    self._take_picture(run)
                    self._begin(seen)
                    if run.state.ended:
                        self._ended(seen)
                elif run != seen.run:
                    before, seen.run = seen.run, run
                    self._begin(seen)
                    if before.state is not run.state and run.state.ended:
                        self._ended(seen)
                    elif run.state is RunState.HELD and before.reason != run.reason:  # it is shown again
                        self._shown[run.id] = self._model(run).archived_by(seen.law)
            self._old.update(number for number, seen in self.runs.items() if self._is_old(seen.run))
            for model in self._models.values():
                model.settle()
        finally:
            self._looking = False

    def _model(self, run: Run) -> Model:
        return self._models[run.employer_id]

    def _take_picture(self, run: Run) -> None:
        if run.kind is RunKind.REVERT:
            self._model(run).loose.add(run.id)
        else:
            self._pictures[run.id] = self._jobs_of(run.employer_id)

    def _begin(self, seen: SeenRun) -> None:
        """From the moment at which its file is read a run may change jobs. Many may be claimed, and wait."""
        run = seen.run
        if run.kind is RunKind.FILE and run.state is not RunState.CLAIMED and not seen.began:
            seen.began = True
            self._model(run).began(replace(seen.law, rest=False))

    def _first_seen(self, run: Run) -> SeenRun:
        if run.kind is RunKind.REVERT:
            return SeenRun(
                run, None, (0, ""), 0, None, self._looks, self.ends, self.deaths, self.errors[run.feed]
            )
        path = self._path(run)
        assert path is not None, f"the file of run {run.id} of {run.feed} is nowhere"
        found, content = path.stat(), Content(path.read_bytes())
        known = self._contents.get(content.sha256)
        assert known is not None, f"run {run.id} has a file that no partner has sent: {content.data[:60]!r}"
        delivery = self._deliveries.get(found.st_ino)
        since = delivery.since if delivery is not None else None
        claimed = self._claimed_at.get(found.st_ino, self._looks)
        age = (found.st_mtime_ns, run.file)
        counted = (self.ends, self.deaths, self.errors[run.feed])
        return SeenRun(run, known, age, found.st_ino, since, claimed, *counted)

    def _path(self, run: Run) -> Path | None:
        """Return where the file of the run is."""
        folder = self._engine.drop / run.feed
        query = f"SELECT claimed_name FROM run WHERE id = {run.id}"
        (name,) = self._inspector.read(lambda tx: tx.execute(query).fetchone())
        places = [
            folder / ".claimed" / (name or "-"),
            *(folder / p / f"{run.id}-{run.file}" for p in ("done", "failed")),
        ]
        return next((path for path in places if path.exists()), None)

    def _ended(self, seen: SeenRun) -> None:
        run, content = seen.run, seen.content
        self._outcomes += 1
        seen.ended = self._outcomes
        if run.kind is RunKind.REVERT:
            self._reverted(run)
            return
        model = self._model(run)
        died = self._check_outcome(seen)
        if run.id in model.going_on:
            waits = run.holds is HoldScope.ARCHIVE
            agrees = None if died else agreement(run.state, archive_waits=waits)
            still = run.state is RunState.UNCHANGED
            model.ended(run.id, agrees, still=still, shown=self._shown.pop(run.id, None))
        if run.state is RunState.HELD:
            self._shown[run.id] = model.archived_by(seen.law)
        whole = content is not None and content.whole
        changed = run.state in _APPLIED and run.holds is not HoldScope.ALL and run.proved_usable
        if run.feed != "delta" and whole and changed and run.repeats is None:
            for other in self._applied[run.feed]:
                assert not _comes_too_late(seen, other), (
                    f"run {run.id} of {run.feed} applied an older file after run {other.run.id} applied a newer one"
                )
            self._applied[run.feed].append(seen)

    def _reverted(self, run: Run) -> None:
        """Take over what the revert left, and check it where nobody else changed a job since the run that was reverted."""
        after, undone = self._jobs_of(run.employer_id), run.reverts or 0
        owners = self._owners_of(after)
        changed = self._inspector.read(
            lambda tx: {entry.job_id: set(entry.old or ()) for entry in history.of_run(tx, run.id)}
        )
        worlds = {}
        for reference, job in after.items():
            world = _world_of(job, owners.get(job.id))
            worlds[reference] = world._replace(sent=self._sent_before(job, world, changed.get(job.id, ())))
        self._model(run).reverted(run.id, worlds, {ref for ref, job in after.items() if job.id in changed})
        died = run.state is RunState.FAILED and "attempts in a row died" in (run.reason or "")
        assert died or run.state in (RunState.SUCCEEDED, RunState.PARTIAL), f"revert {run.id} is {run.state}"
        picture = self._pictures.get(undone)
        if died or picture is None:
            return

        def entries(tx: Tx) -> dict[int, list[history.HistoryEntry]]:
            first = history.first_of_run(tx, undone)
            return history.since(tx, history.jobs_of_run(tx, undone), first) if first else {}

        changes = self._inspector.read(entries)
        for reference, job in after.items():
            made = changes.get(job.id, [])
            before = picture.get(reference)
            same = before is None or before.id == job.id
            alone = all(entry.run_id in (undone, run.id) for entry in made)
            if not made or not alone or not same or made[0].version != (before.version if before else 0) + 1:
                continue
            if before is None:
                assert job.status is Status.ARCHIVED, f"{reference} is {job.status} after revert {run.id}"
                continue
            was, now = state_of(before, None), state_of(job, None)
            assert was == now, f"{reference} was {was} before run {undone}; after revert {run.id} it is {now}"

    def _sent_before(self, job: Job, world: World, changed: Collection[str]) -> Sent:
        """Return what the owner of the job last sent, without the fields that a revert ``changed``: its next row decides on
        them."""
        if world.owner not in KEEPING:
            return frozenset()
        feed = next(number for number, name in self._names.items() if name == world.owner)
        known = self._inspector.read(lambda tx: feed_jobs.ownership(tx, feed, [job.id], edits=True))
        sent = known[job.id].sent or {}
        return frozenset((name, sent[name]) for name in EDITED.keys() & sent.keys() - set(changed))

    def _jobs_of(self, employer: int) -> dict[str, Job]:
        found = self._inspector.read(lambda tx: jobs.after(tx, employer, 0, 1000))
        return {job.reference_id or "": job for job in found}

    def _owners_of(self, found: Mapping[str, Job]) -> dict[int, str | None]:
        ids = [job.id for job in found.values()]
        owners = self._inspector.read(lambda tx: feed_jobs.ownership(tx, 0, ids))
        return {number: self._names.get(owner.owner or 0) for number, owner in owners.items()}

    def _check_outcome(self, seen: SeenRun) -> bool:
        """Check the state of a run that ended. Return whether it was given up because its attempts died."""
        run, content, where = seen.run, seen.content, f"run {seen.run.id} of {seen.run.feed}"
        died = run.state is RunState.FAILED and "attempts in a row died" in (run.reason or "")
        tried = run.state is RunState.FAILED and "while other files beside it" in (run.reason or "")
        ends, deaths = self.ends - seen.ends, self.deaths - seen.deaths
        errors = self.errors[run.feed] - seen.errors
        # a command may go on with what the daemon gave up; an error that no other file meets is one of its file
        assert run.attempt <= 1 + ends + self.commands + errors, (
            f"{where} is at attempt {run.attempt} after {ends} processes ended and {errors} errors"
        )
        enough = deaths > 0 and deaths + errors >= DEATHS
        assert not died or enough, f"{where} was given up after {deaths} deaths"
        assert not tried or ends + errors >= DEATHS - 1, f"{where} was given up after {errors} errors"
        if died or tried:
            return True
        if content is not None and content.usable:
            assert run.state is not RunState.FAILED, f"{where} failed with a good file: {run.reason}"
        else:
            usable = run.state in (RunState.FAILED, RunState.SUPERSEDED)
            assert usable, f"{where} is {run.state} with a file that cannot be used"
        if run.state is RunState.HELD:
            assert "write" not in (run.reason or ""), f"{where} is held: {run.reason}"
        return False

    # -- when all has settled -----------------------------------------------------------------------------------

    def is_done(self) -> bool:
        unfinished = any(not seen.run.state.ended for seen in self.runs.values())
        return not unfinished and not any(
            self._waiting(name) or self._claimed(name) for name in self._engine.configs
        )

    def _waiting(self, feed: str) -> list[str]:
        """Return the names of the files that lie in the feed's folder."""
        names = (path.name for path in (self._engine.drop / feed).iterdir() if path.is_file())
        return [name for name in names if not name.endswith(_UNFINISHED_NAMES)]

    def _claimed(self, feed: str) -> list[str]:
        folder = self._engine.drop / feed / ".claimed"
        return sorted(os.listdir(folder)) if folder.exists() else []

    def check_all(self) -> None:
        self.look()
        for seen in self.runs.values():
            assert seen.run.state.ended, f"run {seen.run.id} of {seen.run.feed} is still {seen.run.state}"
            events = self._reconciled[seen.run.id]
            assert events <= 1, f"run {seen.run.id} has {events} events feed.reconciled"
        for feed in self._engine.configs:
            self._check_files(feed)
        self._check_held()
        self.check_jobs()

    def check_jobs(self) -> None:
        for employer, model in self._models.items():
            found = self._jobs_of(employer)
            owners = self._owners_of(found)
            states = {reference: state_of(job, owners.get(job.id)) for reference, job in found.items()}
            for reference in model.worlds:
                model.must_be(reference, states.get(reference, (None,)))

    def _check_files(self, feed: str) -> None:
        assert not self._waiting(feed), f"left in the folder of {feed}: {self._waiting(feed)}"
        assert not self._claimed(feed), f"left in .claimed/ of {feed}: {self._claimed(feed)}"
        filed: dict[int, Path] = {}
        for place in ("done", "failed"):
            folder = self._engine.drop / feed / place
            names = set(os.listdir(folder)) if folder.exists() else set()
            for name in names:
                number, _, file = name.partition("-")
                if ".report." in name or ".rejected." in name:
                    continue
                seen = self.runs.get(int(number.partition(".")[0])) if number[:1].isdigit() else None
                assert seen is not None, f"unexpected file {place}/{name} of {feed}"
                assert seen.run.feed == feed, f"{place}/{name} of {feed} is that of another feed"
                assert seen.run.id not in filed, f"run {number} of {feed} has two files: {file}"
                assert (place == "failed") is (seen.run.state is RunState.FAILED), (
                    f"{place}/{name}: {seen.run.state}"
                )
                data = Content((folder / name).read_bytes())
                assert seen.run.sha256 in (None, data.sha256), f"{place}/{name} is not the file of its run"
                for suffix in (".report.json", ".report.html"):
                    assert f"{name}{suffix}" in names, f"{place}/{name} has no {suffix} of {feed}"
                filed[seen.run.id] = folder / name
        files = (seen for seen in self.runs.values() if seen.run.kind is RunKind.FILE)
        mine = [seen for seen in files if seen.run.feed == feed]
        for seen in mine:
            if seen.run.id not in filed and seen.run.id in self._old:
                self._deliveries.get(seen.inode, Delivery(feed)).gone = True
                continue
            assert seen.run.id in filed, f"the file of run {seen.run.id} of {feed} is nowhere: {seen.run}"
        self._check_deliveries(feed, filed)

    def _is_old(self, run: Run) -> bool:
        """Return whether the run's file need not be kept any more."""
        keep = self._engine.configs[run.feed].keep_files
        return run.ended_at is not None and self._clock() - run.ended_at >= keep

    def _check_deliveries(self, feed: str, filed: dict[int, Path]) -> None:
        found = Counter(path.stat().st_ino for path in filed.values())
        for inode, delivery in self._deliveries.items():
            if delivery.feed == feed and not delivery.gone:
                assert found.pop(inode, 0) == 1, f"a file of {feed} is not in exactly one place"
        assert len(found) <= self._imports, f"{feed} has {len(found)} files that nobody sent"

    def _check_held(self) -> None:
        """A held run waits until a later file of its feed takes its place, and is superseded by nothing else. A revert may take
        it back, too."""
        for number, seen in self.runs.items():
            later = [n for n, other in self.runs.items() if n > number and other.run.feed == seen.run.feed]
            takers = [n for n in later if self.runs[n].takes_place]
            where = f"run {number} of {seen.run.feed}"
            if seen.run.state is RunState.HELD:
                over = [n for n in takers if self.runs[n].ended > seen.ended]
                assert not over, f"{where} is held, though run {over} came later"
            if seen.run.state is RunState.SUPERSEDED:
                reverted = any(self.runs[n].run.reverts == number for n in later)
                assert takers or reverted, f"{where} was superseded by no later file of the whole feed"


def _world_of(job: Job, owner: str | None) -> World:
    why = job.archived_by.value if job.archived_by else None
    return World(job, owner, why, job.close_origin.value)


def _comes_too_late(seen: SeenRun, other: SeenRun) -> bool:
    """Return whether a run that was applied after another one has an older file that should have come before it: it was
    claimed earlier, or it was delivered earlier into the same folder."""
    if seen.run.id == other.run.id or seen.age > other.age:
        return False
    delivered = seen.since is not None and other.since is not None and seen.since < other.since
    return seen.claimed < other.claimed or (delivered and seen.run.feed != "marked")
