"""The daemon: starts everything in order, keeps it running, reloads feeds, and stops in the reverse order.

The API and the timers run on its event loop, the worker and the watcher in threads. They meet in the store."""

import asyncio
import os
import signal
import threading
from collections.abc import Coroutine
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from syncd.api import add_open, make_app
from syncd.config import Settings
from syncd.console import Console, add_console, for_known_hosts
from syncd.domain import Catalogue
from syncd.errors import ConfigError, SyncdError
from syncd.logs import Event, flush
from syncd.notify import Notifier, Sending, ServiceNotices, pages_of, ways_of
from syncd.service import exposure, housekeeping, process, stores
from syncd.service.clock_check import ClockCheck
from syncd.service.configured_feeds import (
    FeedsInForce,
    make_importer,
    scratch_folder,
)
from syncd.service.housekeeping import DegradedFeeds, Housekeeping, Refresher, repeat
from syncd.service.listeners import Listeners, make_operator_app
from syncd.service.metrics import Metrics
from syncd.service.served import refuse_other, serving
from syncd.service.supervision import Readiness, SystemdNotifier, tell_status, watch_the_loop
from syncd.service.sync_thread import DaemonHost, Heartbeat, SyncThreads
from syncd.service.watcher import Watcher
from syncd.sources import Fetcher, Schedule
from syncd.store import Store
from syncd.sync import make_drop_folder
from syncd.sync.arrival import ArrivalContext, Worker
from syncd.web import RequestTimes, Server, controls_of, health_of

log = structlog.get_logger("syncd.service")

#: Seconds at the end: for requests that have begun, for those of the operator, and for the run to reach a batch edge.
REQUESTS, OPERATOR_REQUESTS, BATCH = 20.0, 1.0, 20.0
#: Files of different feeds that are run at once, one of them of up to 16 MiB: a large file does not delay a small one. With more
#: of them each takes longer, since one process writes to the store.
RUNS_AT_ONCE = 2
#: Seconds between two searches for jobs that are due: their dates are days, and a search takes a millisecond.
REFRESH = 600.0
#: Seconds at the start between two looks whether the watcher runs.
WATCHER = 0.5


def serve(settings: Settings) -> int:
    """Run until a signal ends it, and return the exit code. Raises ConfigError, StoreError, OSError while it starts."""
    if faults := list(exposure.store_faults(settings)):
        raise ConfigError(faults)
    refuse_other(settings)  # before a store is made
    with stores.open_store(settings, exclusive=True) as store, serving(settings):
        catalogue = stores.catalogue_of(store, settings, remember=True)
        feeds = FeedsInForce()
        feeds.load(store, settings, catalogue)
        process.tune_garbage_collector()
        process.tune_thread_switches()
        asyncio.run(Daemon(settings, store, catalogue, feeds).run())
    log.info(Event.SERVICE_STOPPED)
    return 0


class Daemon:
    """One life of the service. The caller closes ``store`` after ``run``."""

    def __init__(self, settings: Settings, store: Store, catalogue: Catalogue, feeds: FeedsInForce) -> None:
        drop, notify = settings.drop, settings.notify
        self._settings, self._store, self._catalogue = settings, store, catalogue
        self._asked_to_stop, self._stopping = asyncio.Event(), threading.Event()
        self._systemd, self._heartbeat, self._times = SystemdNotifier(), Heartbeat(), RequestTimes()
        self._clock = ClockCheck(store)
        self._feeds = feeds
        self._metrics = Metrics(store, self._feeds, self._times)
        host = self._host(self._clock, self._heartbeat)
        arrival = ArrivalContext(store, make_importer(store, settings, catalogue, host), host)
        self._worker = Worker(arrival, feeds.feeds, unusable=feeds.wrong, drop=drop.folder)
        feeds.waiting = lambda: self._worker.degraded
        self._sync = SyncThreads(self._worker, drop.rescan, self._heartbeat, self._stopping, RUNS_AT_ONCE)
        self._watcher = Watcher(drop.folder, self._sync.hint, poll=drop.poll)
        self._readiness = Readiness(
            store, self._watcher, self._sync, self._feeds, self._clock, settings=settings
        )
        self._listeners = Listeners()
        self._sending = Sending(
            store, notify, pages_of(settings), settings.timezone, self._clock.trusts, self._metrics.notified
        )
        self._notifications = Notifier(
            self._sending, ways_of(notify, settings.timezone), lambda: self._feeds.degraded
        )
        self._notifications.begin(settings)
        self._tasks: set[asyncio.Task[object]] = set()
        self._reloading = asyncio.Lock()

    def _host(self, clock: ClockCheck | None = None, heartbeat: Heartbeat | None = None) -> DaemonHost:
        scratch = scratch_folder(self._settings)
        return DaemonHost(scratch, self._stopping, self._metrics, clock, heartbeat)

    async def run(self) -> None:
        self._handle_signals()
        try:
            await self._start()
            await self._asked_to_stop.wait()
        finally:
            await self._stop()

    # -- starting ----------------------------------------------------------------------------------------

    async def _start(self) -> None:
        drop = self._settings.drop.folder
        _make_drop_folder(drop)
        addresses = await self._listen()
        self._sending.pages = pages_of(self._settings, addresses.get("operator", addresses["api"]))
        self._notifications.start()
        self._sync.start()
        self._watcher.start()
        if not await self._watching():
            return
        self._start_timers()
        feeds = sorted(self._feeds.feeds)
        log.info(Event.SERVICE_READY, **addresses, feeds=feeds, drop=str(drop))
        flush()  # a process that waits for the notification may read the addresses there next
        self._systemd.send("READY=1")
        if self._systemd.listens:
            self._spawn(tell_status(self._systemd, self._readiness))

    async def _listen(self) -> dict[str, str]:
        settings, operator = self._settings.api, self._settings.operator
        settings = replace(settings, max_connections=process.allow_connections(settings.max_connections))
        health = health_of(self._readiness)
        controls = controls_of(self._metrics.render, self._reload, operator.token, settings.trusted_proxies)
        app = make_app(self._store, settings, self._catalogue, self._times)
        add_open(app, health)
        if operator.listen is None:
            add_open(app, for_known_hosts(self._settings, controls))
            add_console(app, self._console("/operator"))
        server = Server(app, settings, REQUESTS)
        urls = {"api": await self._listeners.open("api", server, settings.listen)}
        if operator.listen is not None:
            app = make_operator_app(for_known_hosts(self._settings, {**health, **controls}))
            add_console(app, self._console(""))
            server = Server(app, settings, OPERATOR_REQUESTS)
            urls["operator"] = await self._listeners.open("operator", server, operator.listen)
        return urls

    def _console(self, prefix: str) -> Console:
        """Return the operator's pages. The runs that the operator starts stop with the service, may decide by any date, and
        are not a sign of life of the threads that take files."""
        importer = make_importer(self._store, self._settings, self._catalogue, self._host())
        arrival = ArrivalContext(self._store, importer, self._host(self._clock))
        return Console(
            self._store,
            self._settings,
            self._catalogue,
            configured=self._feeds,
            arrival=arrival,
            parts=self._readiness.recent_parts,
            prefix=prefix,
        )

    async def _watching(self) -> bool:
        """Wait until the watcher runs, so that a file is taken at once; False if the service is to stop first."""
        while not await asyncio.to_thread(self._watcher.running.wait, WATCHER):
            if self._asked_to_stop.is_set():
                return False
        return True

    def _start_timers(self) -> None:
        store, settings, stop = self._store, self._settings, self._stopping.is_set
        refresh, host = settings.refresh, self._host(self._clock)
        refresher = Refresher(store, refresh.every, refresh.archive_closed, host)
        house = Housekeeping(store, settings.store.keep_history, self._feeds, self._clock, settings.timezone)
        fetcher = Fetcher(store, settings, self._metrics.fetched)
        sources = Schedule(store, fetcher, lambda: self._feeds.feeds, settings.timezone)
        degraded, index = DegradedFeeds(store, self._feeds), partial(housekeeping.index_searches, store, stop)

        def look_at_feeds() -> None:
            self._feeds.find_employers(store)
            degraded.tick()

        self._spawn(
            repeat("refresh", lambda: self._metrics.refreshed(refresher.tick()[0]), REFRESH),
            repeat("house", house.tick, housekeeping.HOUSEKEEPING),
            repeat("search", index, housekeeping.INDEXING),
            repeat("degraded", look_at_feeds, housekeeping.DEGRADED),
            sources.run(),
            watch_the_loop(self._systemd, self._readiness),
        )
        if self._notifications.has_receivers:
            parts, shared = self._readiness.recent_parts, settings.store.path is None
            watch = ServiceNotices(self._notifications, parts, shared=shared)
            self._spawn(watch.run())

    def _spawn(self, *work: Coroutine[Any, Any, object]) -> None:
        for each in work:
            task = asyncio.create_task(each)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    # -- while running -----------------------------------------------------------------------------------

    def _handle_signals(self) -> None:
        loop = asyncio.get_running_loop()
        process.report_lack_of_files(loop)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_stop, number)
        loop.add_signal_handler(signal.SIGHUP, lambda: self._spawn(self._reload()))

    def _on_stop(self, number: int) -> None:
        if self._asked_to_stop.is_set():
            flush()
            os._exit(128 + number)  # at once: nothing was acknowledged that is not committed
        self._asked_to_stop.set()

    async def _reload(self) -> dict[str, Any]:
        """Read the files of feeds again, one reload after the other. A feed whose file is wrong now goes on as it was configured
        before. Return the names of the ``feeds``, the ``degraded`` ones with the reasons, those whose ``sources`` are wrong, and
        the ``faults`` for which all feeds stay as they were."""
        async with self._reloading:
            now, faults = self._feeds, list[str]()
            try:
                await asyncio.to_thread(now.load, self._store, self._settings, self._catalogue)
            except (SyncdError, OSError) as error:
                faults = list(getattr(error, "faults", ())) or [str(error)]
                kept = "the feeds as they were"
                log.error(Event.SERVICE_RELOADED, kept=kept, faults=faults)  # noqa: TRY400 - the faults say it all
            else:
                self._worker.change_feeds(now.feeds, now.wrong)
                self._sync.hint()
                log.info(Event.SERVICE_RELOADED, feeds=list(now.feeds), degraded=list(now.wrong))
            now.refused = "; ".join(faults) or None
            wrong = {name: "; ".join(feed.config.source_faults) for name, feed in now.feeds.items()}
            sources = {name: reason for name, reason in wrong.items() if reason}
            return {
                "feeds": sorted(now.feeds),
                "degraded": now.wrong,
                "sources": sources,
                "faults": faults,
            }

    # -- stopping ----------------------------------------------------------------------------------------

    async def _stop(self) -> None:
        self._readiness.stopping = True
        self._systemd.send("STOPPING=1", "STATUS=stopping")
        if self._asked_to_stop.is_set():
            log.info(Event.SERVICE_STOPPING)
        self._watcher.stop()
        self._sync.stop()
        await self._listeners.close()
        await self._notifications.stop()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self._sync.join, BATCH)


def _make_drop_folder(folder: Path) -> None:
    try:
        make_drop_folder(folder)
    except OSError as error:
        why = error.strerror if folder.parent.is_dir() and not folder.exists() else "it is not a folder"
        fault = f"drop.folder: {folder}: {why}; choose another place or see `syncd check`"
        raise ConfigError([fault]) from error
