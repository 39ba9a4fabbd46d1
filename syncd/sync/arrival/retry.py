"""Which faults can pass, and how they are waited for: a few tries at once, then longer and longer pauses."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TypeVar

import structlog
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from syncd.errors import StoreBusy, StoreOverloaded
from syncd.logs import Event

log = structlog.get_logger("syncd.sync")
T = TypeVar("T")

#: Tries before other feeds get their turn.
TRIES = 4
#: Seconds: the longest pause of a feed that waits.
LONGEST_PAUSE = 60.0
_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})


def can_pass(error: BaseException) -> bool:
    """Return whether waiting may help: the store is locked or busy, the disk is full or read-only, or a file is gone while
    it moved."""
    if isinstance(error, OSError):
        return error.errno in _DISK or isinstance(error, FileNotFoundError)
    return isinstance(error, StoreBusy | StoreOverloaded)


def retried(work: Callable[[], T], sleep: Callable[[float], None]) -> T:
    """Return ``work()``, tried again after a short pause while it fails in a way that can pass. Raises what the last try
    raised."""
    retrying = Retrying(
        retry=retry_if_exception(can_pass),
        stop=stop_after_attempt(TRIES),
        wait=wait_exponential_jitter(multiplier=0.1, max=2.0, jitter=0.05),
        sleep=sleep,
        before_sleep=_log_retry,
        reraise=True,
    )
    return retrying(work)


def pause(failures: int) -> float:
    """Return the seconds until the next turn of a feed whose last ``failures`` turns failed."""
    return min(2.0 ** (failures - 1), LONGEST_PAUSE)


def _log_retry(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    log.info(Event.SYNC_RETRY, reason=str(error), attempt=state.attempt_number)
