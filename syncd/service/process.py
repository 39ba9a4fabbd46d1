"""Limits and settings of this process: open files, of which each connection is one, and the Python interpreter."""

from __future__ import annotations

import asyncio
import errno
import gc
import resource
import sys
from typing import Any

import structlog

from syncd.logs import Event

log = structlog.get_logger("syncd.service")

#: Files that the daemon itself may have open (store, feeds, scratch), and connections that are accepted only to be
#: refused.
OWN_FILES = 500
#: Seconds between two log lines about a lack of files.
QUIET = 60.0
_OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
#: New objects between two searches for cycles in the youngest generation; searches there between two in the older ones.
YOUNG, OLDER, OLDEST = 20_000, 10, 10
#: Seconds that a thread may compute while another one waits for the interpreter.
SWITCH = 0.0001


def allow_connections(connections: int) -> int:
    """Raise the limit on open files so that ``connections`` can be open at once (0: as many as the system allows), and
    return how many can be. Many shells start programs with a limit of 1,024 files. Where the system does not allow
    enough, a warning is logged."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + OWN_FILES if connections else _size(hard)
    allowed = max(_size(soft), min(wanted, _size(hard)))
    if allowed > _size(soft):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        except (OSError, ValueError):
            allowed = _size(soft)
    fit = allowed - min(OWN_FILES, allowed // 2)
    if connections > fit:
        log.warning(
            Event.SERVICE_FEW_FILES, files=allowed, connections=fit, hint="raise the limit on open files"
        )
    return min(connections, fit) if connections else fit


def _size(limit: int) -> int:
    return 2**20 if limit == resource.RLIM_INFINITY else limit


def report_lack_of_files(loop: asyncio.AbstractEventLoop) -> None:
    """Have ``loop`` log a lack of files at most once a minute. By default asyncio logs each connection that it cannot
    accept, with a traceback: thousands a second."""
    last = -QUIET

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal last
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _OUT_OF_FILES or "socket" not in context:
            loop.default_exception_handler(context)
        elif loop.time() - last >= QUIET:
            last = loop.time()
            log.error(Event.SERVICE_FEW_FILES, error=error.strerror, hint="raise the limit on open files")

    loop.set_exception_handler(handle)


def tune_garbage_collector() -> None:
    """Search less often for cycles, and not among the objects that exist now: call it once everything is imported and
    built. The collector is on afterwards.

    Rows are freed by counting references, and few cycles are ever made. By default the collector searches after every
    700 new objects, through everything that was imported too: a tenth of the time of an import."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, OLDER, OLDEST)
    gc.enable()


def tune_thread_switches() -> None:
    """Let a waiting thread have the interpreter soon. Event loop, writer and importer take turns: a thread gives the
    interpreter up at every system call and every step of SQLite, and while an importer computes it gets it back only
    after the switch interval. With Python's 5 ms a PUT, which waits a dozen times, would take tens of milliseconds."""
    sys.setswitchinterval(SWITCH)
