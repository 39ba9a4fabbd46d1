"""The service in a schedule: it starts, works when something is due, dies, and is started again."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from syncd.errors import Conflict, Invalid, NotFound, StoreError, SyncdError
from syncd.store import Store
from tests.simulation.engine import Daemon
from tests.simulation.layer import Died, Process
from tests.simulation.scene import Scene

#: Seconds: between two scans without a hint, from a drop to its hint, between two looks at the calendar, from an end to the
#: next start, and after a fault of a whole tick.
RESCAN, HINT, CALENDAR, RESTART, AFTER_FAULT = 60.0, 0.1, 60.0, 2.0, 5.0
#: Seconds of a wait in which the service does all that is due.
FULL = 65.0


class Service:
    """``daemon`` is None while it does not run; ``process`` is its process. ``deaf_until``: no hint of the watcher comes
    before that time."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.daemon: Daemon | None = None
        self.process: Process | None = None
        self.deaf_until = 0.0
        self._start_at = self._tick_at = self.calendar_at = 0.0

    # -- time ----------------------------------------------------------------------------------------------------

    def wait(self, seconds: float) -> None:
        """Let the service work for that time: only its first minute in full, and its end."""
        rest = max(0.0, seconds - FULL)
        self._live(self._scene.monotonic + min(seconds, FULL))
        if rest:
            self._scene.pass_time(rest)
            self._live(self._scene.monotonic + CALENDAR)

    def hint(self) -> None:
        if self._scene.monotonic >= self.deaf_until:
            self._tick_at = min(self._tick_at, self._scene.monotonic + HINT)

    def deaf(self, seconds: float) -> None:
        """The hints of the watcher are lost for a time."""
        self.deaf_until = self._scene.monotonic + seconds

    def _live(self, end: float) -> None:
        scene = self._scene
        while True:
            due = self._start_at if self.daemon is None else min(self._tick_at, self.calendar_at)
            scene.pass_time(max(0.0, min(due, end) - scene.monotonic))
            if due > end:
                return
            if self.daemon is None:
                self._start()
            elif self.calendar_at <= scene.monotonic:
                self._look_at_the_calendar()
            else:
                self.tick()

    # -- one life ---------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        process = Process("daemon")
        try:
            with self.inside(process):
                self.daemon = Daemon(self._scene.engine)
            self._scene.service_starts()
        except (SyncdError, OSError, sqlite3.Error) as error:  # a supervisor tries again
            self._scene.expected(error)
            self.bury(process)
        if process.dead:
            self.daemon, self._start_at = None, self._scene.monotonic + RESTART
            return
        self.process = process
        self._tick_at = self.calendar_at = self._scene.monotonic

    def tick(self) -> None:
        daemon, process = self._running
        pause: float | None = AFTER_FAULT
        paused, seen = self._scene.ledger.paused(), len(self._scene.ledger.runs)
        doubted = self._scene.doubts(daemon.since)
        try:
            with self.inside(process):
                daemon.worker.tick()
                pause = daemon.worker.due()
        except Exception as error:
            raise AssertionError(
                f"the turn of all feeds ended with {type(error).__name__}: {error}"
            ) from error
        self._scene.ledger.check_paused(paused, seen)
        if doubted and self._scene.doubts(daemon.since):
            self._scene.ledger.check_no_file_was_run(seen)
        self._tick_at = self._scene.monotonic + (RESCAN if pause is None else min(max(pause, 0.05), RESCAN))
        self._after_work(process)

    def _look_at_the_calendar(self) -> None:
        daemon, process = self._running
        scene = self._scene
        scene.look()
        scene.clock_is_read()
        done, trusted = False, True
        with self._faults_pass(), self.inside(process):
            trusted = daemon.look_at_the_calendar()
            done = True
        if trusted and not scene.doubts(daemon.since):
            scene.ledger.calendar(done=done)
        self.calendar_at = scene.monotonic + CALENDAR
        self._after_work(process)

    def stop(self, *, at_once: bool) -> None:
        """SIGTERM. Not ``at_once``: it works just now, and stops when it comes to that."""
        if self.daemon is not None:
            self.daemon.stopping = True
            if at_once:
                self._end()

    def end_if_stopping(self) -> None:
        if self.daemon is not None and self.daemon.stopping:
            self._end()

    def _end(self) -> None:
        daemon, process = self._running
        with suppress(StoreError, OSError, sqlite3.Error), self.inside(process):
            daemon.store.close()
        self.bury(process)
        self.daemon, self._start_at = None, self._scene.monotonic + RESTART

    def throw_away(self) -> None:
        """End its process without a word."""
        if self.process is not None:
            self._scene.layer.bury(self.process)

    def _after_work(self, process: Process) -> None:
        self._scene.look()
        if process.dead:
            self.daemon, self._start_at = None, self._scene.monotonic + RESTART
        else:
            self.end_if_stopping()

    def trusts_time(self) -> bool:
        trusts = False
        if self.daemon is not None:
            with self.inside(self._running[1]):
                trusts = self.daemon.trusts()
        return trusts

    # -- requests ------------------------------------------------------------------------------------------------------

    @property
    def answers(self) -> bool:
        return self.daemon is not None and self.process is not None and not self.process.dead

    def serve(self, work: Callable[[Store], None]) -> bool | None:
        """Do the work of a request. Return whether it was accepted; None: the client had no answer."""
        daemon, process = self._running
        try:
            with self._scene.layer.running(process):
                work(daemon.store)
        except (Invalid, Conflict, NotFound):
            return False
        except (StoreError, OSError) as error:
            self._scene.expected(error)
            return None
        except Died:
            process.dead = True
            return None
        return True

    def after_request(self) -> None:
        """A request may have met the end of the process."""
        if self.process is not None and self.process.dead and self.daemon is not None:
            self._died(self.process)
            self._after_work(self.process)

    # -- processes -----------------------------------------------------------------------------------------------------

    @contextmanager
    def inside(self, process: Process) -> Iterator[None]:
        """What happens in the block is done by the process. Its death ends the block."""
        try:
            with self._scene.layer.running(process):
                yield
        except Died:
            process.dead = True
        finally:
            if process.dead:
                self._died(process)

    def bury(self, process: Process) -> None:
        """The process has ended by itself."""
        if not process.dead:
            self._scene.layer.bury(process)
            self._scene.ledger.ends += 1

    def _died(self, process: Process) -> None:
        self._scene.layer.bury(process)
        self._scene.ledger.ends += 1
        self._scene.ledger.deaths += 1

    @contextmanager
    def _faults_pass(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._scene.expected(error)

    @property
    def _running(self) -> tuple[Daemon, Process]:
        assert self.daemon is not None
        assert self.process is not None
        return self.daemon, self.process
