"""Limits and settings of this process: open files, of which each connection is one, and the Python interpreter."""

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
    """Raise the limit on open files, which is often 1,024, so that ``connections`` can be open at once (0: as many as the
    system allows). Return how many can be; log a warning if these are fewer."""
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
    """Have ``loop`` log a lack of files at most once a minute, not thousands of tracebacks a second."""
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
    """Search less often for cycles, and not among the objects that exist now. It takes a tenth of the time of an import."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, OLDER, OLDEST)
    gc.enable()


def tune_thread_switches() -> None:
    """Let a waiting thread have the interpreter soon: event loop, writer and importer take turns. While an importer computes, a
    PUT waits for it a dozen times; with Python's 5 ms that takes tens of milliseconds."""
    sys.setswitchinterval(SWITCH)
