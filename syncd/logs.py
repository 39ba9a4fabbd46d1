"""The log: one event a line, with stable names; coloured text on a terminal, JSON otherwise.

Modules log with ``structlog.get_logger()`` and a name of ``Event``; this module only sets up how it is
written. What other libraries log through ``logging`` comes out in the same form.
"""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TextIO

import msgspec
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

_encode = msgspec.json.Encoder(enc_hook=str).encode
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
    SYNC_RETRY = "sync.retry"
    REFRESH_DONE = "refresh.done"
    API_REQUEST = "api.request"
    API_FAILED = "api.failed"
    API_STORE_FAILED = "api.store_failed"
    API_TOUCH_FAILED = "api.touch_failed"
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
    if form == "auto":
        form = "console" if stream.isatty() else "json"
    structlog.configure(
        processors=_processors(form, stream),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers[:] = [_Forward()]
    root.setLevel(logging.WARNING if level != "debug" else logging.INFO)


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
        "timestamp": datetime.now(UTC).isoformat(timespec="microseconds")[:-6] + "Z",
        "level": _LEVELS.get(method, method),
        "event": event.pop("event", None),
    }
    if "exc_info" in event:
        event = structlog.processors.format_exc_info(logger, method, event)
    line.update(event)
    return _encode(structlog.contextvars.merge_contextvars(logger, method, line)).decode()


class _Forward(logging.Handler):
    """Hands records of ``logging`` (aiohttp, watchfiles, alembic) to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, Any] = {"logger": record.name}
        if record.exc_info and record.exc_info[0] is not None:
            fields["exc_info"] = record.exc_info
        structlog.get_logger().log(record.levelno, record.getMessage(), **fields)
