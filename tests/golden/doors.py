"""The only module of ``tests/golden`` that imports from ``syncd``.

When a module of ``syncd`` moves, only this file has to be adapted."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import io
import json
import logging
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import structlog

from syncd import logs
from syncd.api import add_open, make_app
from syncd.cli.entry import run as run_command
from syncd.config import load_settings
from syncd.domain import (
    Catalogue,
    Employer,
    FeedLimits,
    Location,
    Place,
    Salary,
    Status,
    field_digests,
)
from syncd.domain.feed_rows import value_digest as digest
from syncd.feeds.configuration import FeedDefaults, parse_feed
from syncd.feeds.readers import ReadSpec, open_reader
from syncd.service.housekeeping import Refresher, index_searches
from syncd.service.stores import catalogue_of
from syncd.store import Store
from syncd.sync.run import Feed
from syncd.web import Server, health_of
from tests.clock import Clock

__all__ = [
    "Clock",
    "Installation",
    "RealClock",
    "digest",
    "digest_values",
    "feed_digests",
    "field_digests",
    "record_digests",
]

_OPEN, _SET_UP_LOG = Store.open, logs.set_up


class RealClock(Clock):
    """The real time, for tests that run a daemon."""

    def __call__(self) -> datetime:
        return datetime.now(UTC)


# -- digests ---------------------------------------------------------------------------------------------


def digest_values() -> dict[str, object]:
    """Return a named example of every kind of value that a feed sends."""
    return {
        "null": None,
        "text": "Line Cook",
        "text, long": "Préposé(e) aux bénéficiaires, de nuit",
        "text, empty": "",
        "text, half a surrogate pair": "half a pair, \ud800, and more",
        "html": "<p>Cook <strong>well</strong>.</p>",
        "flag, true": True,
        "flag, false": False,
        "id": 1,
        "number, large": 1234567890123456,
        "amount": Decimal("20.50"),
        "amount, whole": Decimal("78000.00"),
        "amount, zero": Decimal("0.0"),
        "date": date(2099, 12, 31),
        "status": Status.ACTIVE,
        "place": Place("Calgary", "AB"),
        "place, no province": Place("Hull"),
        "location": Location(5913490, "Calgary", "Calgary, AB"),
        "locations": (Location(5913490, "Calgary", "Calgary, AB"), Place("Montréal", "QC")),
        "locations, none": (),
        "categories": (12, 16),
        "salary, sent": {
            "amount": Decimal("20.5"),
            "maxAmount": None,
            "period": 5,
            "plusCommission": False,
        },
        "salary, sent in part": {"maxAmount": Decimal("25")},
        "salary, stored": Salary(Decimal("20.5"), Decimal("25"), 5, True),
        "salary, stored, commission": Salary(None, None, None, True),
    }


def feed_digests(name: str, toml: str) -> dict[str, str]:
    """Return, in hex, the digests that say whether a feed file still reads its records in the same way."""
    config = parse_feed(name, toml, Catalogue.default(), FeedDefaults())
    feed = Feed(7, config, Employer(3, "Maple Kitchens"), Path("drop") / name)
    return {
        "FeedConfig.fingerprint": config.fingerprint.hex(),
        "FeedConfig.settings_digest": config.settings_digest,
        "Feed.fingerprint": feed.fingerprint.hex(),
    }


def record_digests(path: Path, **read: Any) -> list[list[Any]]:
    """Return the number, line and digest (hex) of each record of a file."""
    spec = ReadSpec(**read)
    return [
        [record.number, record.line, record.digest.hex()] for record in open_reader(path, spec, FeedLimits())
    ]


# -- an installation -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shown:
    """The output of a command and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Answer:
    """An answer of the API."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Installation:
    """Settings, feeds, drop folder and store under ``base``. Commands and the API run in this process, with ``clock``."""

    def __init__(self, base: Path, clock: Clock) -> None:
        self.base, self.clock = base, clock
        self.config = base / "config" / "syncd.toml"
        self.database = base / "var" / "syncd.db"
        self.drop_folder = base / "feeds" / "drop"
        self._log = io.StringIO()

    def run(self, *arguments: object) -> Shown:
        """Run one command. The clock moves forward by a minute first."""
        self.clock.forward(minutes=1)
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
        with self._own_process(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_command(["--config", str(self.config), *map(str, arguments)])
            for stream in (out, err):
                stream.flush()
        return Shown(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))

    @contextlib.contextmanager
    def _own_process(self) -> Iterator[None]:
        """Give the stores that are opened this clock, collect the log, and restore what a command changes in the process."""
        handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
        on_reload = signal.getsignal(signal.SIGHUP)
        try:
            with pytest.MonkeyPatch.context() as changed:
                for name in [name for name in os.environ if name.startswith("SYNCD_")]:
                    changed.delenv(name)
                changed.setattr(Store, "open", self._open)
                changed.setattr(logs, "set_up", lambda *_: _SET_UP_LOG("json", "debug", self._log))
                yield
                logs.flush()
        finally:
            signal.signal(signal.SIGHUP, on_reload)
            structlog.reset_defaults()
            logging.getLogger().handlers[:] = handlers
            logging.getLogger().setLevel(level)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.getvalue().splitlines()]

    def _open(self, url: str, **options: Any) -> Store:
        return _OPEN(url, **{**options, "clock": self.clock})

    @contextlib.contextmanager
    def store(self) -> Iterator[Store]:
        settings = load_settings(self.config, {})
        with self._open(settings.store.url, timezone=settings.timezone) as store:
            yield store

    def refresh(self) -> tuple[int, int]:
        """Do what the daemon does from time to time. Return how many jobs were refreshed and how many closed."""
        with self._own_process(), self.store() as store:
            logs.set_up()
            return Refresher(store).tick()

    def index(self) -> None:
        with self.store() as store:
            index_searches(store, lambda: False)

    @contextlib.contextmanager
    def api(self) -> Iterator[Api]:
        """Serve the API on a free port until the end of the block."""
        settings = load_settings(self.config, {})
        with self._own_process(), self.store() as store:
            logs.set_up()
            app = make_app(store, settings.api, catalogue_of(store, settings, remember=True))

            async def readiness() -> dict[str, Any]:
                return {"ready": True}

            add_open(app, health_of(readiness))
            with _served(Server(app, settings.api, 1.0)) as port:
                yield Api(port, self.clock)


@dataclass
class Api:
    """Sends requests. The clock moves forward by a minute before each one."""

    port: int
    clock: Clock

    def __call__(self, method: str, path: str, key: str = "", body: object = None, **headers: str) -> Answer:
        self.clock.forward(minutes=1)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if key:
            sent["API-Key"] = key
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if raw is not None:
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, path, raw, sent)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read().decode())


@contextlib.contextmanager
def _served(server: Server) -> Iterator[int]:
    """Have the server listen in another thread and yield the port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def wait(coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(60)

    try:
        yield wait(server.listen(("127.0.0.1", 0)))[1]
    finally:
        wait(server.retire())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
