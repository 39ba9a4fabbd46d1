"""The parts that all feeds of one worker share, the wait for a fault that can pass, and the lock of a feed: one process at a time
changes its state."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import structlog
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from syncd.domain import Run
from syncd.errors import StoreBusy, StoreError, StoreOverloaded
from syncd.logs import Event
from syncd.store import Store, Tx, runs
from syncd.sync import folders
from syncd.sync.run import DISK, ClockDoubted, Feed, Host, Importer, scratch_fault

log = structlog.get_logger("syncd.sync")
T = TypeVar("T")
#: Tries before other feeds get their turn.
TRIES = 4
#: Seconds between two attempts to get the lock of a feed, and after which a person is to know that a command waits for it.
PAUSE, LONG_WAIT = 0.2, 1.0


@dataclass(frozen=True, slots=True)
class ArrivalContext:
    """The parts that all feeds of one worker share. ``given_up``: the runs whose attempts this process gave up and will
    continue: they did not die. ``changed``: the claimed names of the files that were written to while they were read."""

    store: Store
    importer: Importer
    host: Host = field(default_factory=Host)
    given_up: set[int] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)

    def retried(self, work: Callable[[], T]) -> T:
        """Return ``work()``, tried again after a short pause while it fails in a way that can pass. Raise the error of the
        last try."""
        retrying = Retrying(
            retry=retry_if_exception(_passes_soon),
            stop=stop_after_attempt(TRIES),
            wait=wait_exponential_jitter(multiplier=0.1, max=2.0, jitter=0.05),
            sleep=self.host.sleep,
            before_sleep=_log_retry,
            reraise=True,
        )
        return retrying(work)

    def write(self, work: Callable[[Tx], T]) -> T:
        """Write to the store, tried again while that fails in a way that can pass."""
        return self.retried(lambda: self.store.write(work))

    def resumed(self, number: int) -> tuple[Run, int]:
        """Return the next attempt of a run, and how many before it died at one place. An attempt that this process gave
        up goes on."""
        if number in self.given_up:
            run = self.store.read(lambda tx: runs.get(tx, number))
            self.given_up.discard(number)  # only now: the store may have failed again
            return run, 0
        return self.write(lambda tx: runs.resume(tx, number))

    def note_given_up(self, number: int) -> None:
        """Note in the store that an attempt was given up and did not die; in this process, if the store is at fault."""
        try:
            self.store.write(lambda tx: runs.stopped(tx, number))
        except StoreError:
            self.given_up.add(number)

    # -- the lock of a feed ---------------------------------------------------------------------------------------

    @contextmanager
    def feed_lock(self, feed: Feed) -> Iterator[bool]:
        """Yield whether this process alone may take, run and file files of the feed: False while another one does. The
        folders inside that of the feed have to be there. Raises OSError, StoreError, UnusableFolder.

        The lock lies beside the store, where no partner can hold or exchange it. A daemon with another store on the same
        drop folder is kept away by a lock on ``.claimed/``, the folder itself, which only syncd's user can open."""
        with self.store.feed_lock(feed.name) as mine:
            if not mine:
                yield False
                return
            with folders.open_subfolder(feed.folder, folders.CLAIMED) as claims:
                yield folders.try_lock(claims)

    @contextmanager
    def awaited_lock(self, feed: Feed | str) -> Iterator[None]:
        """Hold the lock of the feed, once no other process has it; for a name, the lock beside the store alone. Raises
        Stopped when the service stops."""
        slept = 0.0
        while True:
            lock = self.store.feed_lock(feed) if isinstance(feed, str) else self.feed_lock(feed)
            with lock as mine:
                if mine:
                    yield
                    return
            self.host.check_stop("stopped while another process was running the feed")
            self.host.sleep(PAUSE)
            if slept < LONG_WAIT <= slept + PAUSE:
                self.host.waits(feed if isinstance(feed, str) else feed.name)
            slept += PAUSE


def can_pass(error: BaseException) -> bool:
    """Return whether waiting may help: the store is locked or busy, a disk or a network has a fault, files are short, a file is
    gone while it moved, or the clock was set."""
    passes = isinstance(error, OSError | StoreBusy | StoreOverloaded | ClockDoubted)
    return passes or scratch_fault(error) is not None


def _passes_soon(error: BaseException) -> bool:
    """Return whether another try within seconds may help."""
    if isinstance(error, OSError):
        return error.errno in DISK or isinstance(error, FileNotFoundError)
    return isinstance(error, StoreBusy | StoreOverloaded)


def _log_retry(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    log.info(Event.SYNC_RETRY, reason=str(error), attempt=state.attempt_number)
