"""The log: one event a line, with stable names; coloured text on a terminal, JSON otherwise.

Modules log with ``structlog.get_logger()`` and a name of ``Event``; this module sets up how the lines are written.
Records of the standard ``logging`` module, which libraries use, get the same form."""

import asyncio
import atexit
import json
import logging
import os
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
#: Level → how a line of the journal begins for it to have that priority; a line without this mark has that of "info".
_MARKS = {"debug": "<7>", "warning": "<4>", "error": "<3>", "critical": "<2>"}
#: Sign in a line of the console → the counts of a run that it stands for.
_SIGNS = {
    "+": ("created", "reactivated"),
    "~": ("updated",),
    "−": ("archived",),
    "=": ("unchanged",),
    "✗": ("rejected",),
}
bind_context = structlog.contextvars.bound_contextvars


class Event(StrEnum):
    """The names of all events; they are stable. Their fields are in docs/operations.md "Events"; a test compares the
    code and that document with this table."""

    FEED_CLAIMED = "feed.claimed"
    FEED_RECONCILED = "feed.reconciled"
    FEED_PROGRESS = "feed.progress"
    FEED_HELD = "feed.held"
    FEED_FAILED = "feed.failed"
    FEED_SUPERSEDED = "feed.superseded"
    FEED_OVERDUE = "feed.overdue"
    FEED_DEGRADED = "feed.degraded"
    FEED_RELEASED = "feed.released"
    FEED_STRAY = "feed.stray"
    FEED_FILE_LOST = "feed.file_lost"
    FEED_WAITING = "feed.waiting"
    FEED_RESUMED = "feed.resumed"
    FEED_FAULT = "feed.fault"
    SOURCE_FETCHED = "source.fetched"
    SOURCE_NOT_MODIFIED = "source.not_modified"
    SOURCE_FAILED = "source.failed"
    SOURCE_RECOVERED = "source.recovered"
    SOURCE_NOT_DELETED = "source.not_deleted"
    RUN_APPROVED = "run.approved"
    RUN_REJECTED = "run.rejected"
    RUN_REVERTED = "run.reverted"
    ROW_REJECTED = "row.rejected"
    ROW_FAILED = "row.failed"
    ARCHIVE_FAILED = "archive.failed"
    SYNC_HELPER_LOST = "sync.helper_lost"
    SYNC_RETRY = "sync.retry"
    REFRESH_DONE = "refresh.done"
    CLOCK_GAP = "clock.gap"
    CLOCK_JUMPED = "clock.jumped"
    CLOCK_TRUSTED = "clock.trusted"
    API_REQUEST = "api.request"
    API_FAILED = "api.failed"
    API_STORE_FAILED = "api.store_failed"
    API_TOUCH_FAILED = "api.touch_failed"
    OPERATOR_LOGIN = "operator.login"
    OPERATOR_ACTED = "operator.acted"
    OPERATOR_CHANGED = "operator.changed"
    OPERATOR_FAILED = "operator.failed"
    NOTIFY_SENT = "notify.sent"
    NOTIFY_FAILED = "notify.failed"
    NOTIFY_DROPPED = "notify.dropped"
    SERVICE_READY = "service.ready"
    SERVICE_RELOADED = "service.reloaded"
    SERVICE_FAULT = "service.fault"
    SERVICE_FEW_FILES = "service.few_files"
    SERVICE_STOPPING = "service.stopping"
    SERVICE_STOPPED = "service.stopped"


#: The events that have the figures of a run.
_OF_RUNS = frozenset({Event.FEED_RECONCILED, Event.RUN_APPROVED, Event.RUN_REJECTED, Event.RUN_REVERTED})


def set_up(form: str = "auto", level: str = "info", stream: TextIO | None = None) -> None:
    """Have the log written to ``stream`` (default: standard error).
    ``form``: auto, console or json; ``level``: debug, info, warning, error or critical."""
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
    """Return a function that logs ``event`` at level info with the fields that it is given by name. ``request_id`` must
    be among them, so that no bound context has to be looked up. It is for events that are logged thousands of times a
    second: structlog's own work for a call costs more than the line. Call ``set_up`` first."""
    usual, config = structlog.get_logger().bind(), structlog.get_config()
    processors, lines, name = config["processors"], config["logger_factory"](), event.value
    if not usual.is_enabled_for(logging.INFO):
        return lambda **_fields: None

    def write(**fields: Any) -> None:
        if processors[0] is _json_line:
            lines.later(_encode({"timestamp": _instant(time_ns()), "level": "info", "event": name, **fields}))
        else:
            usual.info(event, **fields)

    return write


def journal_mark(level: str, stream: TextIO) -> str:
    """Return the beginning of a line of this level, which the journal takes as its priority; "" where ``stream`` does not lead
    to the journal of systemd (JOURNAL_STREAM has its device and inode)."""
    journal = os.environ.get("JOURNAL_STREAM", "")
    if journal:
        with suppress(OSError, ValueError, AttributeError):  # a stream in memory has no descriptor
            file = os.fstat(stream.fileno())
            return _MARKS.get(level, "") if journal == f"{file.st_dev}:{file.st_ino}" else ""
    return ""


def flush() -> None:
    """Write the lines that wait for the end of a turn. Needed before the process ends without Python's own exit."""
    lines = structlog.get_config()["logger_factory"]()
    if isinstance(lines, Lines):
        lines.flush()


class Lines:
    """Writes lines to ``stream``. For structlog it is the logger, with a method for each level.

    A write costs more than the encoding of a line. So lines up to ``info`` from an event loop wait for the end of its turn, and
    are written together. A warning or an error is written at once, after the lines that wait. Lines that still
    wait when the process ends are written then; only a SIGKILL loses the lines of one turn.

    If the stream cannot be written to (the disk is full), lines are lost, and the next one begins with a line feed: half of one
    may be there."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._waiting: deque[str] = deque()
        self._writing = threading.Lock()
        self._before: list[str] = []  # an empty line after a write that failed
        self._due: asyncio.AbstractEventLoop | None = None

    def later(self, line: str) -> None:
        """Write ``line`` at the end of the turn; outside an event loop at once."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.now(line)
            return
        self._waiting.append(line)
        if self._due is not loop:
            self._due = loop
            loop.call_soon(self._end_of_turn)

    def now(self, line: str) -> None:
        self._waiting.append(line)
        self.flush()

    def flush(self) -> None:
        """Write all lines that wait."""
        with self._writing:
            lines = [self._waiting.popleft() for _ in range(len(self._waiting))]
            if not lines:
                return
            try:
                self._stream.write("\n".join([*self._before, *lines, ""]))
                self._stream.flush()
                self._before = []
            except (OSError, ValueError):
                self._before = [""]

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
            _ConsoleLine(structlog.dev.ConsoleRenderer(colors=stream.isatty())),
        ]
    return [_json_line, _marked] if journal_mark("error", stream) else [_json_line]


class _ConsoleLine:
    """Writes the figures of a run as a line that a person reads, without zeros and empty fields; all else as ``renderer``."""

    def __init__(self, renderer: structlog.dev.ConsoleRenderer) -> None:
        self._renderer = renderer

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> str:
        if event["event"] not in _OF_RUNS:
            return str(self._renderer(logger, method, event))
        what = event["state"] if event["event"] == Event.FEED_RECONCILED else event["event"]
        counts = [(sign, sum(event[name] for name in names)) for sign, names in _SIGNS.items()]
        words = [
            event["timestamp"],
            what,
            event["feed"],
            event["file"] if event["kind"] == "file" else f"{event['kind']} (run {event['run']})",
            " ".join(f"{sign}{number}" for sign, number in counts if number),
            f"{event['seconds']:.1f} s",
            "; ".join(filter(None, (event["reason"], event["withheld"]))),
        ]
        line = "  ".join(filter(None, words))
        return "".join(each if each.isprintable() else " " for each in line)


def _marked(_logger: WrappedLogger, method: str, line: Any) -> str:
    """Return a line with its priority for the journal. (Lines that ``frequent`` writes have the level info, without a mark.)"""
    return _MARKS.get(_LEVELS.get(method, method), "") + str(line)


def _json_line(logger: WrappedLogger, method: str, event: EventDict) -> str:
    """Return one line; time, level and event come first. One step costs less than structlog's chain of small processors."""
    line: EventDict = {
        "timestamp": _instant(time_ns()),
        "level": _LEVELS.get(method, method),
        "event": event.pop("event", None),
    }
    if "exc_info" in event:
        event = structlog.processors.format_exc_info(logger, method, event)
    line.update(event)
    if "request_id" not in line:  # else the call names all that is bound
        structlog.contextvars.merge_contextvars(logger, method, line)
    return _encode(line)


def _encode(line: EventDict) -> str:
    """Return ``line`` as JSON. Text that is not valid Unicode, such as half of a surrogate pair in the name of a file, is
    escaped."""
    try:
        return _encode_utf8(line).decode()
    except UnicodeEncodeError:
        return json.dumps(line, default=str, separators=(",", ":"))


def _instant(nanos: int) -> str:
    """Return the time in UTC, to the microsecond."""
    seconds, micros = divmod(nanos // 1000, 1_000_000)
    return f"{_second(seconds)}.{micros:06d}Z"


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    return strftime("%Y-%m-%dT%H:%M:%S", gmtime(seconds))


class _Forward(logging.Handler):
    """Passes records of ``logging`` (aiohttp, watchfiles, alembic) to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, Any] = {"logger": record.name}
        if record.exc_info and record.exc_info[0] is not None:
            fields["exc_info"] = record.exc_info
        structlog.get_logger().log(record.levelno, record.getMessage(), **fields)
