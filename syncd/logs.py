"""The log: one event a line, with stable names; coloured text on a terminal, JSON otherwise.

Modules log with ``structlog.get_logger()`` and a name of ``Event``; this module only sets up how it is
written. What other libraries log through ``logging`` comes out in the same form.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from functools import lru_cache
from time import gmtime, strftime, time_ns
from typing import Any, TextIO

import msgspec
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

_encode_utf8 = msgspec.json.Encoder(enc_hook=str).encode
#: Methods of a logger whose level has another name.
_LEVELS = {"exception": "error", "warn": "warning"}
bind_context = structlog.contextvars.bound_contextvars


class Event(StrEnum):
    """All that syncd logs: the names that a reader of the log may rely on. ``docs/operations.md`` has their fields;
    ``tests/test_operations.py`` holds code and document to this table."""

    FEED_CLAIMED = "feed.claimed"
    FEED_RECONCILED = "feed.reconciled"
    FEED_HELD = "feed.held"
    FEED_FAILED = "feed.failed"
    FEED_SUPERSEDED = "feed.superseded"
    FEED_OVERDUE = "feed.overdue"
    FEED_RELEASED = "feed.released"
    FEED_STRAY = "feed.stray"
    FEED_FILE_LOST = "feed.file_lost"
    FEED_WAITING = "feed.waiting"
    FEED_RESUMED = "feed.resumed"
    FEED_FAULT = "feed.fault"
    RUN_APPROVED = "run.approved"
    RUN_REJECTED = "run.rejected"
    ROW_REJECTED = "row.rejected"
    ROW_FAILED = "row.failed"
    ARCHIVE_FAILED = "archive.failed"
    SYNC_HELPER_LOST = "sync.helper_lost"
    SYNC_RETRY = "sync.retry"
    REFRESH_DONE = "refresh.done"
    API_REQUEST = "api.request"
    API_FAILED = "api.failed"
    API_STORE_FAILED = "api.store_failed"
    API_TOUCH_FAILED = "api.touch_failed"
    SEARCH_DAMAGED = "search.damaged"
    SERVICE_READY = "service.ready"
    SERVICE_RELOADED = "service.reloaded"
    SERVICE_FAULT = "service.fault"
    SERVICE_FEW_FILES = "service.few_files"
    SERVICE_STOPPING = "service.stopping"
    SERVICE_STOPPED = "service.stopped"


def set_up(form: str = "auto", level: str = "info", stream: TextIO | None = None) -> None:
    """``form``: auto, console or json; ``level``: debug, info, warning or error. Writes to ``stream``
    (standard error)."""
    stream = stream or sys.stderr
    lines = Lines(stream)
    if form == "auto":
        form = "console" if stream.isatty() else "json"
    structlog.configure(
        processors=_processors(form, stream),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_names: lines,
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers[:] = [_Forward()]
    root.setLevel(logging.WARNING if level != "debug" else logging.INFO)
    atexit.unregister(flush)
    atexit.register(flush)


def frequent(event: Event) -> Callable[..., None]:
    """A function that logs ``event``, level info, with the fields that it is given by name: ``request_id`` among them,
    so that nothing bound has to be looked up. For what is logged thousands of times a second: what structlog does for
    each call costs more than the line. Ask for it after ``set_up``."""
    usual, config = structlog.get_logger().bind(), structlog.get_config()
    processors, lines, name = config["processors"], config["logger_factory"](), event.value
    if not usual.is_enabled_for(logging.INFO):
        return lambda **_fields: None

    def write(**fields: Any) -> None:
        if processors[0] is _json_line:
            lines.later((time_ns(), name, fields))
        else:
            usual.info(event, **fields)

    return write


def flush() -> None:
    """Write the lines that wait for the end of a turn: for whoever ends the process without Python's leave."""
    lines = structlog.get_config()["logger_factory"]()
    if isinstance(lines, Lines):
        lines.flush()


#: A line that is yet to be made: nanoseconds since the epoch, name of the event, its fields (level info).
Unmade = tuple[int, str, dict[str, Any]]


class Lines:
    """Writes lines to ``stream``: what structlog calls a logger, with a method for each level.

    One write costs more than the making of a line, and a busy service makes many lines in one turn of its event
    loop. So lines up to ``info`` that come from a loop wait for the end of its turn, and are made and written together;
    a warning or an error is written at once, with all that waited before it. Whatever still waits when the
    process ends is written then (but for a SIGKILL, which costs the lines of one turn).

    A stream that cannot be written to (a full disk) loses its lines and stops nobody.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._waiting: deque[str | Unmade] = deque()
        self._writing = threading.Lock()
        self._due: asyncio.AbstractEventLoop | None = None

    def later(self, line: str | Unmade) -> None:
        """Write at the end of the turn; at once outside of an event loop."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.now(line)
            return
        self._waiting.append(line)
        if self._due is not loop:
            self._due = loop
            loop.call_soon(self._end_of_turn)

    def now(self, line: str | Unmade) -> None:
        self._waiting.append(line)
        self.flush()

    def flush(self) -> None:
        """Write all that waits."""
        with self._writing, suppress(OSError, ValueError):
            lines = [self._waiting.popleft() for _ in range(len(self._waiting))]
            if lines:
                self._stream.write("\n".join([*map(_made, lines), ""]))
                self._stream.flush()

    def _end_of_turn(self) -> None:
        self._due = None
        self.flush()

    debug = info = later
    warning = warn = error = exception = critical = fatal = now


def _processors(form: str, stream: TextIO) -> list[Processor]:
    if form == "console":
        return [
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer(colors=stream.isatty()),
        ]
    return [_json_line]


def _json_line(logger: WrappedLogger, method: str, event: EventDict) -> str:
    """One line, the three fields that everyone looks for in front. All in one step: every request writes a
    line, and a chain of small processors costs more than what they do."""
    line: EventDict = {
        "timestamp": _instant(time_ns()),
        "level": _LEVELS.get(method, method),
        "event": event.pop("event", None),
    }
    if "exc_info" in event:
        event = structlog.processors.format_exc_info(logger, method, event)
    line.update(event)
    if "request_id" not in line:  # whoever names the request has told all that is bound for it
        structlog.contextvars.merge_contextvars(logger, method, line)
    return _encode(line)


def _made(line: str | Unmade) -> str:
    if isinstance(line, str):
        return line
    nanos, event, fields = line
    return _encode({"timestamp": _instant(nanos), "level": "info", "event": event, **fields})


def _encode(line: EventDict) -> str:
    """JSON. What is no Unicode, such as half of a surrogate pair in the name of a file, is escaped: a line that could not
    be made would cost those that are written with it, or whoever logs it."""
    try:
        return _encode_utf8(line).decode()
    except UnicodeEncodeError:
        return json.dumps(line, default=str, separators=(",", ":"))


def _instant(nanos: int) -> str:
    """In UTC and to the microsecond."""
    seconds, micros = divmod(nanos // 1000, 1_000_000)
    return f"{_second(seconds)}.{micros:06d}Z"


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    return strftime("%Y-%m-%dT%H:%M:%S", gmtime(seconds))


class _Forward(logging.Handler):
    """Hands records of ``logging`` (aiohttp, watchfiles, alembic) to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, Any] = {"logger": record.name}
        if record.exc_info and record.exc_info[0] is not None:
            fields["exc_info"] = record.exc_info
        structlog.get_logger().log(record.levelno, record.getMessage(), **fields)
