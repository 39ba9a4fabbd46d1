"""Connections to the server: how they are opened."""

from __future__ import annotations

import time
from array import array
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.array import ListDumper
from psycopg.types.numeric import Int8BinaryDumper

from syncd.errors import StoreBusy

Connection = psycopg.Connection[tuple[Any, ...]]

#: Where the URL says nothing else. A server that is gone without a word is noticed within seconds: an event loop waits for
#: reads.
_DEFAULTS: dict[str, str | int] = {
    "application_name": "syncd",
    "client_encoding": "UTF8",
    "connect_timeout": 3,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
#: Seconds after a failed attempt in which no other is made.
PAUSE = 1.0
#: Statements that one connection has prepared at most, and how often a statement is run before it is prepared.
_PREPARED, _THRESHOLD = 500, 2


class Connector:
    """Opens connections to one server. After an attempt that failed it fails at once for a moment."""

    def __init__(self, url: str, *, prepare: bool) -> None:
        self._options = {**_DEFAULTS, **conninfo_to_dict(url)}
        self._prepare = prepare
        self._failed: tuple[float, str] | None = None

    def connect(self) -> Connection:
        """Return a connection outside of a transaction. Raises StoreBusy, psycopg.Error."""
        failed = self._failed
        if failed is not None and time.monotonic() < failed[0]:
            raise StoreBusy(f"the store cannot be used now: the server cannot be reached ({failed[1]})")
        try:
            driver = psycopg.connect(**self._options, autocommit=True, cursor_factory=psycopg.RawCursor)  # type: ignore[arg-type]
        except psycopg.Error as error:
            self._failed = time.monotonic() + PAUSE, str(error).strip().partition("\n")[0]
            raise
        self._failed = None
        driver.prepare_threshold = _THRESHOLD if self._prepare else None
        driver.prepared_max = _PREPARED
        # the type of a number must not depend on its size: a statement would be prepared once for each
        driver.adapters.register_dumper(int, Int8BinaryDumper)
        for kind in (tuple, range, array):
            driver.adapters.register_dumper(kind, ListDumper)
        return driver
