"""The simulated processes: the daemon, and a command beside it. What they are made of is the product's own; this module is
the one that knows how it is put together."""

import shutil
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pytest

from syncd.domain import Catalogue, Employer, Policy, Threshold
from syncd.feeds.configuration import FeedConfig, FeedDefaults, parse_feed
from syncd.service.clock_check import ClockCheck
from syncd.service.housekeeping import Refresher
from syncd.store import Store, employers, feeds, postgres, sqlite
from syncd.store import store as store_module
from syncd.store import writer as writer_module
from syncd.store.postgres import connections
from syncd.store.sqlite import session as sqlite_session
from syncd.store.writer import Writer
from syncd.sync.arrival import ArrivalContext, Worker
from syncd.sync.run import Feed, Importer, RunContext, ending, planner, reading
from tests.clock import ZONE, Clock
from tests.stores import POSTGRES, copy_store, server, store_url
from tests.sync.board import FakeHost

CATALOGUE = Catalogue.default()
#: The employers: that of all feeds but one, and that of the feed ``foreign``, whose jobs have the same references.
EMPLOYER, OTHER_EMPLOYER = "Acme Ltd.", "Bolt Inc."
#: The feeds: name -> settings. Those of the property test of the law, one with markers, one whose guard has its usual limits,
#: one with grace, one that keeps edits, and one of the other employer.
FEEDS = {
    "north": "",
    "south": "",
    "delta": 'mode = "delta"',
    "other": 'expired = "ignore"\nrenew = false\ntake_over = true',
    "marked": 'marker = ".done"',
    "guarded": "",
    "patient": "grace = 2",
    "keeping": 'on_api_edit = "keep"',
    "foreign": "",
}
_NEVER = Threshold(100, 10**9)
_DATABASE = postgres if POSTGRES else sqlite
_STATEMENTS = _DATABASE.statements()


def employer_of(feed: str) -> str:
    return OTHER_EMPLOYER if feed == "foreign" else EMPLOYER


class _NoThread:
    """In place of the thread of the store's writer."""

    def __init__(self, **_options: Any) -> None: ...

    def start(self) -> None: ...

    def join(self) -> None: ...


class InlineWriter(Writer):
    """The store's writer without its thread: what is written is on disk, and answered, when ``put`` returns."""

    def put(self, fn: Any, loop: Any = None) -> Any:
        future = super().put(fn, loop)
        self._run(self._take())
        self._answer()
        return future


@contextmanager
def without_threads() -> Iterator[None]:
    """In the block a store has no threads and compiles no statement twice, and a few rows are several batches."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(writer_module, "threading", _Namespace(threading, Thread=_NoThread))
        patched.setattr(store_module, "Writer", InlineWriter)
        patched.setattr(_DATABASE, "statements", lambda: _STATEMENTS)
        patched.setattr(connections, "PAUSE", 0.0)  # in real seconds
        patched.setattr(sqlite_session, "ROWS", 10**9)
        for module, name in ((planner, "BATCH"), (ending, "REJECTED_BATCH"), (Store, "MAX_WRITE_ROWS")):
            patched.setattr(module, name, 2)
        patched.setattr(Store, "MAX_STEP_ROWS", 1)
        patched.setattr(reading, "EDGE", 3)
        patched.setattr(reading, "_PAGE", 2)
        yield


class _Namespace:
    """A module with some other names."""

    def __init__(self, module: Any, **names: Any) -> None:
        self._module = module
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class Engine:
    """The feeds ``names`` in ``folder``, and the processes that work on them. ``monotonic`` and ``sleep``
    are in seconds."""

    def __init__(
        self, folder: Path, names: Collection[str], clock: Clock, monotonic: Any, sleep: Any
    ) -> None:
        self.drop, self.scratch = folder / "drop", folder / "scratch"
        self.url = store_url(f"{folder}/store/syncd.db")
        self.clock, self.monotonic, self.sleep = clock, monotonic, sleep
        for name in names:
            (self.drop / name).mkdir(parents=True)
        self.scratch.mkdir()
        self.configs = {name: _config(name) for name in names}

    def open_store(self, *, exclusive: bool = False) -> Store:
        return Store.open(self.url, clock=self.clock, timezone=ZONE, exclusive=exclusive)

    def feeds(self, store: Store) -> dict[str, Feed]:
        found = {}
        for name, config in self.configs.items():
            employer: Employer = store.read(lambda tx, name=name: employers.find(tx, employer_of(name)))  # type: ignore[misc]
            number = store.write(partial(feeds.feed_id, name=name, employer_id=employer.id))
            found[name] = Feed(number, config, employer, self.drop / name)
        return found

    def importer(self, store: Store, stop: Any, **options: Any) -> Importer:
        return Importer(RunContext(store, CATALOGUE, host=FakeHost(self.scratch, stop=stop, **options)))

    def worker(self, store: Store, known: dict[str, Feed], stop: Any, **options: Any) -> Worker:
        importer = self.importer(store, stop, **options)
        host = FakeHost(self.scratch, monotonic=self.monotonic, sleep=self.sleep, stop=stop, **options)
        return Worker(ArrivalContext(store, importer, host), known, drop=self.drop)


class Daemon:
    """One life of the service: its store, worker and timers. ``since``: when it started, by the monotonic clock;
    ``stopping``: it was asked to stop."""

    def __init__(self, engine: Engine) -> None:
        self.since, self.stopping = engine.monotonic(), False
        self.store = engine.open_store(exclusive=True)
        try:
            known = engine.feeds(self.store)
            self.store.write(lambda tx: feeds.release_unconfigured(tx, known))
            self.clock = ClockCheck(self.store, engine.monotonic, lambda: False)
            self.worker = engine.worker(self.store, known, lambda: self.stopping, trusts=self.clock.trusts)
            self.refresher = Refresher(self.store, host=FakeHost(trusts=self.clock.trusts))
        except Exception:
            self.store.close()
            raise

    def look_at_the_calendar(self) -> bool:
        """Do what is due by the calendar. Return whether the time can be trusted; if not, nothing is due."""
        self.clock.remember()
        self.refresher.tick()
        return self.trusts()

    @property
    def has_other_threads(self) -> bool:
        """Whether another thread of the worker could work now: it does not wait for the one that chooses a feed."""
        return not self.worker._choosing.locked()

    def trusts(self) -> bool:
        return self.clock.trusts(self.store.now().instant)


@lru_cache
def _config(name: str) -> FeedConfig:
    """Return the feed's configuration, with a guard whose thresholds no file exceeds, but for ``guarded``."""
    config = parse_feed(name, f'employer = "{employer_of(name)}"\n{FEEDS[name]}', CATALOGUE, FeedDefaults())
    if name == "guarded":
        return config
    limits: dict[str, Any] = {
        f.name: _NEVER for f in fields(Policy) if isinstance(getattr(config.policy, f.name), Threshold)
    }
    return replace(config, policy=replace(config.policy, **limits))


def template(folder: Path) -> Path:
    place = folder / "template"
    place.mkdir()
    with Store.open(store_url(f"{place}/syncd.db"), clock=Clock(), timezone=ZONE) as store:
        for employer in (EMPLOYER, OTHER_EMPLOYER):
            number = store.write(partial(employers.add, name=employer)).id
            for name in [feed for feed in FEEDS if employer_of(feed) == employer]:
                store.write(partial(feeds.feed_id, name=name, employer_id=number))
    return place


def install(template_folder: Path, folder: Path) -> None:
    (folder / "store").mkdir(parents=True)
    copy_store(template_folder / "syncd.db", folder / "store" / "syncd.db")


def remove(folder: Path) -> None:
    shutil.rmtree(folder)
    if POSTGRES:
        server().drop(folder / "store" / "syncd.db")


def end_backends(backends: set[int]) -> None:
    """End these processes of the PostgreSQL server, and wait for their ends: their locks are free then."""
    numbers = ", ".join(map(str, backends))
    server().sql(f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE pid IN ({numbers})")
