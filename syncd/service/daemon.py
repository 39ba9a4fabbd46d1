"""The daemon: starts everything in order, keeps it running, reloads feeds, and stops in the reverse order.

Owns its event loop. The API and the timers live on the loop, the worker and the watcher in threads; they meet
in the store.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Coroutine
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import structlog
from aiohttp import web

from syncd.api import ApiSettings, RequestTimes, add_health, add_metrics, make_app, make_runner, retire
from syncd.config import Settings
from syncd.domain.catalog import Catalog
from syncd.errors import ConfigError, SyncdError
from syncd.logs import Event, flush
from syncd.service import stores, wiring
from syncd.service.file_limits import allow_connections, report_lack_of_files
from syncd.service.housekeeping import HOUSEKEEPING, INDEXING, Housekeeping, SearchIndexing
from syncd.service.memory import settle_memory
from syncd.service.metrics import Metrics
from syncd.service.operator import make_operator_app
from syncd.service.readiness import Readiness
from syncd.service.sockets import inherited, listen
from syncd.service.sync_thread import Heartbeat, SyncThread
from syncd.service.systemd import SystemdNotifier
from syncd.service.timers import repeat, watch_the_loop
from syncd.service.watcher import Watcher
from syncd.store import Store
from syncd.store import feeds as stored_feeds
from syncd.sync.calendar import Refresher
from syncd.sync.run import Feed

log = structlog.get_logger("syncd.service")

#: Seconds for requests in flight, and for the run at hand to come to a batch edge.
REQUESTS, BATCH = 20.0, 20.0
#: Seconds for which a thread may compute while another waits for the interpreter.
SWITCH = 0.0001


def serve(settings: Settings) -> int:
    """Run until told to stop; the exit code. Raises ConfigError, StoreError, OSError while starting."""
    store = stores.open_store(settings, exclusive=True)
    try:
        catalog = stores.catalog_of(store, settings, remember=True)
        feeds = load_feeds(store, settings, catalog)
        settle_memory()
        _share_the_interpreter()
        asyncio.run(Daemon(settings, store, catalog, feeds).run())
    finally:
        store.close()
    log.info(Event.SERVICE_STOPPED)
    return 0


def _share_the_interpreter() -> None:
    """The loop, the writer and the importer take turns at one interpreter. A thread gives it up at every
    system call and every step of SQLite, and while an importer computes gets it back only after the switch
    interval: at Python's 5 ms a PUT, which waits a dozen times, would take tens of milliseconds."""
    sys.setswitchinterval(SWITCH)


def load_feeds(store: Store, settings: Settings, catalog: Catalog) -> dict[str, Feed]:
    """The feeds as configured; feeds that no longer are own nothing any more. Raises ConfigError, StoreError."""
    feeds = wiring.load_all(store, settings, catalog)
    released = store.write(lambda tx: stored_feeds.release_unconfigured(tx, feeds))
    if released:
        log.warning(Event.FEED_RELEASED, jobs=released, reason="their feed is no longer configured")
    return feeds


def api_settings(settings: Settings) -> ApiSettings:
    """``[api]`` as the application wants it."""
    return ApiSettings(**{field.name: getattr(settings.api, field.name) for field in fields(ApiSettings)})


def _make_drop(folder: Path) -> None:
    """Raises ConfigError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = error.strerror if folder.parent.is_dir() and not folder.exists() else "it is no folder"
        raise ConfigError(
            [f"drop.folder: {folder}: {what}; choose another place or see `syncd check`"]
        ) from error


class Daemon:
    """One life of the service. ``store`` stays the caller's to close, after ``run``."""

    def __init__(self, settings: Settings, store: Store, catalog: Catalog, feeds: dict[str, Feed]) -> None:
        self._settings, self._store, self._catalog = settings, store, catalog
        self._notifier = SystemdNotifier()
        self._told_to_stop = asyncio.Event()
        self._halt = threading.Event()
        self._heartbeat = Heartbeat()
        self._times = RequestTimes()
        self._metrics = Metrics(store, lambda: self._worker.feeds, self._times)
        self._worker = wiring.make_worker(
            store, settings, catalog, feeds, stop=self._must_stop, ended=self._metrics.ran
        )
        self._sync_thread = SyncThread(self._worker, settings.drop.rescan, self._heartbeat, self._halt)
        self._watcher = Watcher(settings.drop.folder, self._sync_thread.hint, poll=settings.drop.poll)
        self._readiness = Readiness(store, self._watcher, self._sync_thread, self._heartbeat)
        self._runners: list[web.AppRunner] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def _must_stop(self) -> bool:
        """What the worker asks at every batch edge."""
        self._heartbeat.beat()
        return self._halt.is_set()

    async def run(self) -> None:
        self._listen_to_signals()
        try:
            await self._start()
            await self._told_to_stop.wait()
        finally:
            await self._stop()

    # -- starting ----------------------------------------------------------------------------------------

    async def _start(self) -> None:
        _make_drop(self._settings.drop.folder)
        addresses = await self._serve()
        self._sync_thread.start()
        self._watcher.start()
        await asyncio.to_thread(self._watcher.running.wait, 10.0)
        self._keep_timers()
        log.info(
            Event.SERVICE_READY,
            **addresses,
            feeds=sorted(self._worker.feeds),
            drop=str(self._settings.drop.folder),
        )
        flush()  # whoever is told of it next may look there for the addresses
        self._notifier.ready(f"serving {addresses['api']}")

    def _keep_timers(self) -> None:
        refresh = self._settings.refresh
        refresher = Refresher(
            self._store, every=refresh.every, archive_closed=refresh.archive_closed, stop=self._halt.is_set
        )
        housekeeping = Housekeeping(
            self._store, self._settings.store.keep_history, lambda: self._worker.feeds
        )

        def refresh_jobs() -> None:
            self._metrics.refreshed(refresher.tick())

        self._keep(repeat("refresh", refresh_jobs, refresh.check))
        self._keep(repeat("house", housekeeping.tick, HOUSEKEEPING))
        self._keep(repeat("search", SearchIndexing(self._store, self._halt.is_set).tick, INDEXING))
        self._keep(watch_the_loop(self._notifier, self._readiness))

    async def _serve(self) -> dict[str, str]:
        """Bind both addresses; the addresses as bound."""
        sockets = inherited()
        settings = api_settings(self._settings)
        settings = replace(settings, max_connections=allow_connections(settings.max_connections))
        app = make_app(self._store, settings, self._catalog, self._times)
        add_health(app, self._readiness)
        operator, render = self._settings.operator, self._metrics.render
        if operator.listen is None:
            add_metrics(app, render, operator.token)
        runner = make_runner(app, settings, shutdown_timeout=REQUESTS)
        bound = {"api": await self._bind(runner, "api.listen", self._settings.api.listen, sockets.get("api"))}
        if operator.listen is not None:
            own = make_operator_app(self._readiness, render, operator.token)
            runner, given = make_runner(own, settings, shutdown_timeout=1.0), sockets.get("operator")
            bound["operator"] = await self._bind(runner, "operator.listen", operator.listen, given)
        return bound

    async def _bind(self, runner: web.AppRunner, key: str, address: Any, given: Any) -> str:
        self._runners.append(runner)
        await runner.setup()
        return await listen(runner, key, address, given)

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- while running -----------------------------------------------------------------------------------

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        report_lack_of_files(loop)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_stop, number)
        loop.add_signal_handler(signal.SIGHUP, lambda: self._keep(self._reload()))

    def _on_stop(self, number: int) -> None:
        if self._told_to_stop.is_set():
            flush()
            os._exit(128 + number)  # asked twice: now. Whatever is not committed was never acknowledged
        self._told_to_stop.set()

    async def _reload(self) -> None:
        """Feeds anew: all of them, or none if any is wrong."""
        try:
            feeds = await asyncio.to_thread(load_feeds, self._store, self._settings, self._catalog)
        except (SyncdError, OSError) as error:
            faults = list(getattr(error, "faults", ())) or [str(error)]
            log.error(Event.SERVICE_RELOADED, kept="the feeds as they were", faults=faults)
            self._notifier.status("reload refused: " + faults[0])
            return
        self._sync_thread.change_feeds(feeds)
        log.info(Event.SERVICE_RELOADED, feeds=sorted(feeds))

    # -- stopping ----------------------------------------------------------------------------------------

    async def _stop(self) -> None:
        self._readiness.note_stopping()
        self._notifier.stopping()
        if self._told_to_stop.is_set():
            log.info(Event.SERVICE_STOPPING)
        self._watcher.stop()
        self._sync_thread.stop()
        for runner in self._runners:
            await retire(runner)
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._sync_thread.is_alive():
            await asyncio.to_thread(self._sync_thread.join, BATCH)
