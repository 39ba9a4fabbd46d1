"""One schedule, carried out: partners, people and the system act on the service, step by step, and the law is checked."""

from __future__ import annotations

import os
import random
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import structlog

from syncd.domain import Actor, ActorKind, check_body
from syncd.errors import Conflict, FeedError, Invalid, NotFound, StoreError, SyncdError, UnusableFolder
from syncd.store import Store, upsert
from syncd.sync.run import Stopped
from tests.clock import Clock
from tests.simulation.contents import body_of, content_of
from tests.simulation.engine import CATALOGUE, Daemon, Engine, install, without_threads
from tests.simulation.faults import Fault
from tests.simulation.layer import Call, Died, Layer, Process, installed
from tests.simulation.ledger import Ledger

Step = tuple[Any, ...]
REFERENCES = "abcdef"
#: Seconds: between two scans without a hint, from a drop to its hint, between two looks at the calendar, from a death to the
#: next start, and after a fault of a whole tick.
RESCAN, HINT, CALENDAR, RESTART, AFTER_FAULT = 60.0, 0.1, 3600.0, 2.0, 5.0
#: The least jump of the clock that is doubted, and for how many seconds.
HOUR, DOUBT = timedelta(hours=1), 600.0
#: Seconds of a wait in which the service does all that is due.
FULL = 65.0
#: Seconds within which all is done once the faults are over.
SETTLED = 900.0


class Broken(AssertionError):
    """The service broke the law or an invariant."""


class Simulation:
    """``folder`` must not exist yet. ``seed`` decides what the steps leave open."""

    def __init__(self, template: Path, folder: Path, seed: object) -> None:
        install(template, folder)
        self.clock, self.monotonic = Clock(), 1000.0
        self.engine = Engine(folder, self.clock, lambda: self.monotonic, self.pass_time)
        self.layer = Layer(seed, lambda: int(self.clock().timestamp() * 1e9))
        self.layer.before = self._before_call
        self.random = random.Random(f"steps {seed}")
        self.faults: list[Fault] = []
        self.armed: list[tuple[int, Step]] = []
        self.process: Process | None = None
        self.daemon: Daemon | None = None
        self.next_start = self.next_tick = self.next_calendar = 0.0
        self.deaf_until = self.doubted_until = self.jumped_at = 0.0
        self._set_by = self._trusted_by = timedelta()
        self.log: Counter[str] = Counter()
        self.broken: AssertionError | None = None
        self._acting = False
        self._struck: Process | None = None
        self._writers: dict[tuple[str, str], tuple[int, bytes]] = {}

    # -- a schedule --------------------------------------------------------------------------------------------

    def run(self, steps: list[Step]) -> None:
        """Carry out the steps, let everything settle, and check. Raises Broken."""
        random.seed(f"pauses {self.random.random()}")
        with ExitStack() as stack:
            stack.enter_context(without_threads())
            stack.enter_context(_logging_to(self._logged))
            stack.enter_context(installed(self.layer))
            inspector = stack.enter_context(self.engine.open_store())
            self.ledger = Ledger(self.engine, inspector, self.clock, REFERENCES)
            stack.callback(self._throw_away)
            try:
                for step in steps:
                    self.do(step)
                    self._look()
                self.settle()
                self.ledger.check_all()
            except AssertionError as error:
                raise Broken(str(error)) from error
            if self.broken is not None:
                raise Broken(str(self.broken)) from self.broken

    def do(self, step: Step) -> None:
        """Carry out one step."""
        name, *args = step
        getattr(self, f"_{name}")(*args)

    def settle(self) -> None:
        """End all faults and everything that partners began, and wait until the service has done all."""
        self.faults.clear()
        self.armed.clear()
        self.deaf_until = 0.0
        if self.daemon is not None and self.daemon.stopping:
            self._end_daemon()
        for feed, name in list(self._writers):
            self._finish(feed, name)
        for path in (self.engine.drop / "marked").iterdir():
            if path.is_file() and not path.name.endswith((".done", ".part")):
                self._marker("marked", path.name)
        end = self.monotonic + SETTLED
        while self.monotonic < end:
            self._wait(65.0)
            if self.ledger.is_done():
                break
        for _ in range(2):  # the second time after the longest time for which the clock is not trusted
            self.next_calendar = 0.0
            self._wait(CALENDAR + FULL)

    def _throw_away(self) -> None:
        """End the present process without a word, and close what partners have open."""
        for descriptor, _rest in self._writers.values():
            os.close(descriptor)
        if self.process is not None:
            self.layer.bury(self.process)

    # -- time ---------------------------------------------------------------------------------------------------

    def pass_time(self, seconds: float) -> None:
        """Move both clocks. It is also what a process calls to sleep."""
        later = self.clock() + timedelta(seconds=seconds)
        self.monotonic += seconds
        self._set_clock(later)

    def _set_clock(self, later: Any) -> None:
        changes = Clock(later).today != self.clock.today
        if changes:
            self._look()
        self.clock.now = later
        if changes:
            self._look()

    def _look(self) -> None:
        """Have the ledger look. What it finds wrong ends the present process, which must not go on with it."""
        process = self.layer.process
        try:
            with self.layer.running(None):
                self.ledger.look()
        except AssertionError as error:
            self._break(error)
        if self.broken is not None:
            if process is None:
                raise self.broken
            raise Died

    def _break(self, error: AssertionError) -> None:
        self.broken = self.broken or error

    def _wait(self, seconds: float) -> None:
        """Let the service work for that time: only its first minute in full, and its end."""
        rest = max(0.0, seconds - FULL)
        self._live(self.monotonic + min(seconds, FULL))
        if rest:
            self.pass_time(rest)
            self._live(self.monotonic + 1.0)

    def _live(self, end: float) -> None:
        while True:
            due = self.next_start if self.daemon is None else min(self.next_tick, self.next_calendar)
            if due > end:
                self.pass_time(max(0.0, end - self.monotonic))
                return
            if due > self.monotonic:
                self.pass_time(due - self.monotonic)
            self._work()

    def _work(self) -> None:
        """What is due now in the service."""
        if self.daemon is None:
            self._start()
        elif self.next_calendar <= self.monotonic:
            self._calendar()
        else:
            self._tick()

    # -- the service ----------------------------------------------------------------------------------------------

    @contextmanager
    def _inside(self, process: Process) -> Iterator[None]:
        """What happens in the block is done by the process. Its death ends the block."""
        try:
            with self.layer.running(process):
                yield
        except Died:
            process.dead = True
        finally:
            if process.dead:
                self._died(process)

    def _died(self, process: Process) -> None:
        self.layer.bury(process)
        self.ledger.ends += 1
        self.ledger.deaths += 1

    def _start(self) -> None:
        process = Process("daemon")
        try:
            with self._inside(process):
                self.daemon = Daemon(self.engine)
        except (SyncdError, OSError, sqlite3.Error) as error:  # as a supervisor does, try again
            self._expected(error)
            process.dead = True
            self.layer.bury(process)
        if process.dead:
            self.daemon = None
            self.next_start = self.monotonic + RESTART
            return
        self.process = process
        self.next_tick = self.monotonic
        self.next_calendar = self.monotonic

    def _tick(self) -> None:
        daemon, process = self.daemon, self.process
        assert daemon is not None
        assert process is not None
        pause: float | None = AFTER_FAULT
        try:
            with self._inside(process):
                daemon.worker.tick()
                pause = daemon.worker.due
        except Stopped:
            pass
        except Exception as error:
            self._expected(error)
        self.next_tick = self.monotonic + (RESCAN if pause is None else min(max(pause, 0.05), RESCAN))
        self._after_work(process)

    def _calendar(self) -> None:
        daemon, process = self.daemon, self.process
        assert daemon is not None
        assert process is not None
        self._look()
        done, trusted = False, True
        try:
            with self._inside(process):
                trusted = daemon.look_at_the_calendar()
                done = True
        except Exception as error:
            self._expected(error)
        if trusted and not (daemon.since < self.jumped_at and self.monotonic < self.doubted_until):
            self.ledger.calendar(done=done)
        self.next_calendar = self.monotonic + (CALENDAR if done else 60.0)
        self._after_work(process)

    def _after_work(self, process: Process) -> None:
        self._look()
        if process.dead:
            self.daemon, self.next_start = None, self.monotonic + RESTART
        elif self.daemon is not None and self.daemon.stopping:
            self._end_daemon()

    def _end_daemon(self) -> None:
        """The service stops as it was asked to."""
        assert self.daemon is not None
        assert self.process is not None
        with self._inside(self.process), suppress(StoreError, OSError, sqlite3.Error):
            self.daemon.store.close()
        if not self.process.dead:
            self.layer.bury(self.process)
            self.ledger.ends += 1
        self.daemon, self.next_start = None, self.monotonic + RESTART

    def _hint(self) -> None:
        if self.monotonic >= self.deaf_until:
            self.next_tick = min(self.next_tick, self.monotonic + HINT)

    # -- what happens at a call of a process ---------------------------------------------------------------------

    def _before_call(self, call: Call) -> None:
        process = self.layer.process
        assert process is not None
        while (step := self._next_armed(process)) is not None:
            self._strike(step, process)
        if self.faults:
            self.faults = [fault for fault in self.faults if not fault.over]
            for fault in self.faults:
                fault.strike(call)

    def _next_armed(self, process: Process) -> Step | None:
        """Take the next step that is due. Only a death comes in the middle of a transaction or of another such step."""
        for at, (calls, step) in enumerate(self.armed):
            if calls > self.layer.calls:
                return None
            if step[0] == "die" or not (process.writing or self._acting):
                del self.armed[at]
                return step
        return None

    def _strike(self, step: Step, process: Process) -> None:
        """Carry out a step in the middle of the work of a process."""
        if step[0] == "die":
            process.dead = True
            raise Died
        self._acting, self._struck = True, process
        try:
            with self.layer.running(None):
                self._look()
                self.do(step)
                self._look()
        except AssertionError as error:
            self._break(error)
            process.dead = True
        finally:
            self._acting, self._struck = False, None

    def _at(self, calls: int, step: Step) -> None:
        """Carry out the step before one of the next calls of a process."""
        self.armed.append((self.layer.calls + calls, tuple(step)))
        self.armed.sort(key=lambda armed: armed[0])

    def _fault(self, name: str, seconds: float, share: float, feed: str | None) -> None:
        folder = None if feed is None else self.engine.drop / feed
        source = random.Random(self.random.random())
        self.faults.append(
            Fault(name, self.monotonic + seconds, share, folder, source, lambda: self.monotonic)
        )

    def _stop(self) -> None:
        """SIGTERM."""
        if self.daemon is not None:
            self.daemon.stopping = True
            if not self._acting:
                self._end_daemon()

    def _deaf(self, seconds: float) -> None:
        """The hints of the watcher are lost for a time."""
        self.deaf_until = self.monotonic + seconds

    def _jump(self, seconds: float) -> None:
        """The clock on the wall is set. For ten minutes nothing is closed on its word, if it has jumped by more than an hour and
        not back again. (A service that starts meanwhile cannot know.)"""
        if self.monotonic >= self.doubted_until:
            self._trusted_by = self._set_by
        self._set_by += timedelta(seconds=seconds)
        if abs(self._set_by - self._trusted_by) <= HOUR:
            self.doubted_until = 0.0
        elif abs(timedelta(seconds=seconds)) > HOUR:
            self.jumped_at, self.doubted_until = self.monotonic, self.monotonic + DOUBT
        self._set_clock(self.clock() + timedelta(seconds=seconds))

    def _turn(self) -> None:
        """The service works while a command does."""
        if self.daemon is not None and self._struck is not self.process:
            self._tick()

    def _probe(self, feed: str, other: str, row: Any) -> None:
        """While no file of another feed can be read or written, a file of this one is run within a minute."""
        self.faults.clear()
        self.armed.clear()
        self._wait(70.0)
        if feed != other:
            self._fault("EIO", 300.0, 1.0, other)
            self._fault("EACCES", 300.0, 1.0, other)
        self._drop(feed, "a.json", ("json", [row], 1.0), "rename")
        inode = (self.engine.drop / feed / "a.json").stat().st_ino
        if feed == "marked":
            self._marker(feed, "a.json")
        self._wait(FULL)
        found = [seen.run.state.ended for seen in self.ledger.runs.values() if seen.inode == inode]
        assert found == [True], (
            f"a file of {feed} waits for {other}: {self.daemon and self.daemon.worker.degraded}"
        )

    # -- partners ---------------------------------------------------------------------------------------------------

    def _drop(self, feed: str, name: str, short: Any, way: str) -> None:
        """Put a file into the feed's folder: ``write`` it, ``rename`` it into place, or begin to write it (``slow``)."""
        content = content_of(short, self.clock.today)
        self.ledger.know(content)
        path = self.engine.drop / feed / name
        if (feed, name) in self._writers:
            self._finish(feed, name)
        if way == "slow" and path.with_name(name + ".done").exists():
            way = "write"  # the marker says that it is complete
        if way == "rename":
            written = path.with_name(name + ".part")
            written.write_bytes(content.data)
            self._date(written)
            self.ledger.gone(path)
            written.rename(path)
        elif way == "slow":
            self.ledger.gone(path)
            path.unlink(missing_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
            half = len(content.data) // 2
            os.write(descriptor, content.data[:half])
            self._writers[feed, name] = descriptor, content.data[half:]
        else:
            self.ledger.gone(path)
            path.write_bytes(content.data)
            self._date(path)
        self.ledger.delivered(feed, path)
        self._hint()

    def _finish(self, feed: str, name: str) -> None:
        """Write the rest of a file that was begun."""
        descriptor, rest = self._writers.pop((feed, name), (None, b""))
        if descriptor is not None:
            os.write(descriptor, rest)
            os.close(descriptor)
            path = self.engine.drop / feed / name
            if path.exists():
                self._date(path)
                self.ledger.delivered(feed, path)
            self._hint()

    def _remove(self, feed: str, name: str) -> None:
        path = self.engine.drop / feed / name
        self.ledger.gone(path)
        path.unlink(missing_ok=True)
        self._hint()

    def _marker(self, feed: str, name: str) -> None:
        if (feed, name) in self._writers:
            return
        (self.engine.drop / feed / f"{name}.done").touch()
        self._hint()

    def _date(self, path: Path) -> None:
        """Give the file the time of the simulated clock."""
        now = self.layer.time()
        os.utime(path, ns=(now, now))

    # -- clients of the API -------------------------------------------------------------------------------------------

    def _put(self, row: Any) -> None:
        body = body_of(row, self.clock.today)
        self._request(row[0], body)

    def _edit(self, reference: str, changes: dict[str, Any]) -> None:
        body = {"referenceId": reference, **changes}
        if isinstance(body.get("closeDate"), int):
            body["closeDate"] = str(self.clock.today + timedelta(body["closeDate"]))
        self._request(reference, body)

    def _request(self, reference: str, body: dict[str, Any]) -> None:
        def put(store: Store, employer: int) -> None:
            sent = check_body(body, CATALOGUE)
            store.write(lambda tx: upsert.put(tx, employer, sent, Actor(ActorKind.KEY, 1)))

        if self._serving:
            answered = self._serve(put)
            self.ledger.request(reference, lambda side: side.put(dict(body)), answered, f"PUT {body}")
            self._after_request()

    def _delete(self, reference: str) -> None:
        def delete(store: Store, employer: int) -> None:
            actor = Actor(ActorKind.KEY, 1)
            store.write(lambda tx: upsert.delete_reference(tx, employer, reference, actor))

        if self._serving:
            answered = self._serve(delete)
            self.ledger.request(reference, lambda side: side.erase(), answered, "DELETE")
            self._after_request()

    @property
    def _serving(self) -> bool:
        return self.daemon is not None and self.process is not None and not self.process.dead

    def _serve(self, work: Callable[[Store, int], None]) -> bool | None:
        """Do the work of a request in the daemon. Return whether it was accepted; None: the client had no answer."""
        self._look()
        daemon, process = self.daemon, self.process
        assert daemon is not None
        assert process is not None
        answered: bool | None = None
        try:
            with self.layer.running(process):
                work(daemon.store, self.ledger.employer)
                answered = True
        except (Invalid, Conflict, NotFound):
            answered = False
        except (StoreError, OSError) as error:
            self._expected(error)
        except Died:
            process.dead = True
        return answered

    def _after_request(self) -> None:
        """A request may have met its end of the daemon. In the middle of other work, that ends by itself."""
        if self.process is not None and self.process.dead and self._struck is not self.process:
            self._died(self.process)
            self._after_work(self.process)

    # -- people ------------------------------------------------------------------------------------------------------

    def _approve(self, feed: str) -> None:
        self._decide(feed, approves=True)

    def _reject(self, feed: str) -> None:
        self._decide(feed, approves=False)

    def _decide(self, feed: str, *, approves: bool) -> None:
        """``syncd runs approve`` or ``reject``, for the newest held run of the feed."""
        self._look()
        held = self.ledger.held(feed)
        if held is None:
            return

        def decide(store: Store, process: Process) -> None:
            known = self.engine.feeds(store)
            importer = self.engine.importer(store, known, lambda: False)
            if approves:
                importer.approve(held.run.id, known[feed])
            else:
                importer.reject(held.run.id)

        with self.ledger.decision(held, approves=approves):
            self._command("approve" if approves else "reject", decide)

    def _import(self, feed: str, short: Any) -> None:
        """``syncd import``."""
        content = content_of(short, self.clock.today)
        self.ledger.know(content)
        path = self.engine.drop.parent / f"import-{self.layer.calls}.dat"
        path.write_bytes(content.data)
        self._date(path)
        waits = 0

        def interrupted() -> bool:  # a person does not wait for ever
            nonlocal waits
            waits += 1
            return self._acting and waits > 40

        def bring(store: Store, process: Process) -> None:
            known = self.engine.feeds(store)
            self.engine.worker(store, known, interrupted).import_file(known[feed], path)

        self.ledger.imported(done=self._command("import", bring))

    def _command(self, name: str, work: Callable[[Store, Process], None]) -> bool:
        """Run a command beside the daemon. Return whether it did its work."""
        process, done = Process(name), False
        try:
            with self._inside(process), self.engine.open_store() as store:
                work(store, process)
                done = True
        except (
            Stopped,
            Conflict,
            NotFound,
            UnusableFolder,
            FeedError,
            StoreError,
            OSError,
            sqlite3.Error,
        ) as error:
            self._expected(error)
        if not process.dead:
            self.layer.bury(process)
            self.ledger.ends += not done
        return done

    # -- what must not happen ---------------------------------------------------------------------------------------

    def _expected(self, error: BaseException) -> None:
        """Raise AssertionError for an error that no fault of the simulation explains."""
        if not isinstance(error, (OSError, SyncdError, sqlite3.Error)):
            raise AssertionError(  # noqa: TRY004 - not the type is wrong, but that it is raised
                f"an unexpected error: {type(error).__name__}: {error}"
            ) from error

    def _logged(self, _logger: Any, _method: str, event: dict[str, Any]) -> dict[str, Any]:
        name = str(event["event"])
        self.log[name] += 1
        if name in ("feed.fault", "service.fault", "row.failed", "archive.failed"):
            error = sys.exc_info()[1]
            if error is not None:
                try:
                    self._expected(error)
                except AssertionError as unexpected:
                    self._break(unexpected)
        if name == "feed.file_lost":
            self._break(AssertionError(f"a file is reported as lost: {event}"))
        if name in ("feed.claimed", "feed.reconciled", "feed.superseded", "run.approved", "run.rejected"):
            self.ledger.noted(name, event)
            self._look()
        raise structlog.DropEvent


@contextmanager
def _logging_to(processor: Any) -> Iterator[None]:
    before = structlog.get_config()
    structlog.configure(processors=[processor], cache_logger_on_first_use=False)
    try:
        yield
    finally:
        structlog.configure(**before)
