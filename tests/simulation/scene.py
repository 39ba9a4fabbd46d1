"""What all who act in a schedule share: the folders, the clocks, the layer, the ledger."""

import sqlite3
import sys
from collections.abc import Collection, Iterator, MutableMapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import structlog

from syncd.errors import SyncdError
from syncd.store import Store
from syncd.sync.run import DISK
from tests.clock import Clock
from tests.simulation.engine import Engine, end_backends, install
from tests.simulation.layer import Died, Layer, Process
from tests.simulation.ledger import Ledger

REFERENCES = "abcdef"
#: The least jump of the clock that is doubted, and for how many seconds.
_HOUR, _DOUBT = timedelta(hours=1), 600.0
_LOOK_AT = ("feed.claimed", "feed.reconciled", "feed.superseded", "run.approved", "run.rejected")
_FAULTS = ("feed.fault", "service.fault", "row.failed", "archive.failed")


class Scene:
    """``folder`` must not exist yet, ``feeds`` are configured. ``clock`` is the clock on the
    wall, ``monotonic`` counts seconds and is never set.
    ``broken`` is the first thing that was found wrong."""

    def __init__(self, template: Path, folder: Path, feeds: Collection[str], seed: object) -> None:
        install(template, folder)
        self.clock, self.monotonic = Clock(), 1000.0
        self.engine = Engine(folder, feeds, self.clock, lambda: self.monotonic, self.pass_time)
        self.layer = Layer(seed, lambda: int(self.clock().timestamp() * 1e9))
        self.layer.end_backends = end_backends
        self.broken: AssertionError | None = None
        self._jumped_at = self._doubted_until = 0.0
        #: By how much the clock was set so far: in all, and as the service has seen it. When it was first set since the service
        #: looked.
        self._set_by = self._seen_by = timedelta()
        self._unseen_since: float | None = None

    def begin(self, inspector: Store) -> None:
        """Set up the ledger, which sees the store through ``inspector``."""
        self.ledger = Ledger(self.engine, inspector, self.clock, REFERENCES)

    # -- time ----------------------------------------------------------------------------------------------------

    def pass_time(self, seconds: float) -> None:
        """Move both clocks. A process that sleeps calls it."""
        self.monotonic += seconds
        self._set_clock(self.clock() + timedelta(seconds=seconds))

    def jump(self, seconds: float) -> None:
        """The clock on the wall is set."""
        jump = timedelta(seconds=seconds)
        self._set_by += jump
        if self._unseen_since is None:
            self._unseen_since = self.monotonic
        self._set_clock(self.clock() + jump)

    def clock_is_read(self) -> None:
        """The service compares the clock with the monotonic one. What was set and set back before, nobody has seen."""
        since, self._unseen_since = self._unseen_since, None
        if since is None:
            return
        before, self._seen_by = self._seen_by, self._set_by
        if abs(self._set_by - before) > _HOUR:
            self._jumped_at, self._doubted_until = since, since + _DOUBT

    def service_starts(self) -> None:
        """A process that starts takes the clock as it is."""
        self._seen_by = self._set_by
        self._doubted_until, self._unseen_since = 0.0, None

    def doubts(self, since: float) -> bool:
        """Return whether a process that runs since then must not close or remove anything now: for ten minutes after the
        clock was set by more than an hour. (A process that starts meanwhile cannot know.)"""
        if self._unseen_since is not None and abs(self._set_by - self._seen_by) > _HOUR:
            return since < self._unseen_since  # it was set while the service looked
        return since < self._jumped_at and self.monotonic < self._doubted_until

    def _set_clock(self, later: datetime) -> None:
        another_day = Clock(later).today != self.clock.today
        if another_day:
            self.look()
        self.clock.now = later
        if another_day:
            self.look()

    # -- what must not happen ------------------------------------------------------------------------------------

    def look(self) -> None:
        """Have the ledger look. What it finds wrong ends the present process, which must not go on with it."""
        process = self.layer.process
        try:
            with self.layer.running(None):
                self.ledger.look()
        except AssertionError as error:
            self.fail(error)
        if self.broken is not None:
            self._end(process)

    def fail(self, error: AssertionError) -> None:
        self.broken = self.broken or error

    def _end(self, process: Process | None) -> None:
        if process is None:
            assert self.broken is not None
            raise self.broken
        process.dead = True
        raise Died

    def expected(self, error: BaseException) -> None:
        """Raise AssertionError for an error that no fault of the simulation explains."""
        if not isinstance(error, (OSError, SyncdError, sqlite3.Error)):
            what = f"an unexpected error: {type(error).__name__}: {error}"
            raise AssertionError(what) from error  # noqa: TRY004

    # -- the log --------------------------------------------------------------------------------------------------

    @contextmanager
    def logging(self) -> Iterator[None]:
        """In the block the events of the log are seen here."""
        before = structlog.get_config()
        structlog.configure(processors=[self._logged], cache_logger_on_first_use=False)
        try:
            yield
        finally:
            structlog.configure(**before)

    def _logged(self, _logger: Any, _method: str, event: MutableMapping[str, Any]) -> str:
        name = str(event["event"])
        error = sys.exc_info()[1]
        if name in _FAULTS and error is not None:
            try:
                self.expected(error)
            except AssertionError as unexpected:
                self.fail(unexpected)
        if name == "feed.waiting" and isinstance(error, OSError) and error.errno not in DISK:
            self.ledger.waited(event["feed"])
        if name == "feed.file_lost":
            self.fail(AssertionError(f"a file is reported as lost: {event}"))
        if name in _LOOK_AT:
            self.ledger.noted(name, event)
            self.look()
        raise structlog.DropEvent
