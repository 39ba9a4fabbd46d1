"""When a notice may be sent, and when it is tried again."""

from __future__ import annotations

from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

#: The time after an e-mail of which all that happens is in one e-mail: a bad night is a dozen of them, not hundreds.
BURST = timedelta(minutes=5)
#: The time before the first of several e-mails of which all that happens is in it, if a burst is not shorter.
GATHERING = timedelta(seconds=10)
#: The pause after a message failed once; it doubles up to the longest, which is also the longest that is waited on request.
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=15), timedelta(minutes=30)
#: What could not be sent is given up after this.
KEPT = timedelta(days=3)


def email_may_go(first: datetime, last_sent: datetime | None, now: datetime, burst: timedelta) -> bool:
    """Return whether an e-mail may be sent ``now``. ``first``: when the oldest of its notices was written; ``last_sent``: when
    the receiver was last sent one; ``burst``: the time that belongs to one e-mail. A clock that was set
    back does not delay it."""
    gathered = not first <= now < first + min(GATHERING, burst)
    return gathered and (last_sent is None or not last_sent <= now < last_sent + burst)


def pause_after(tries: int, share: float) -> timedelta:
    """Return how long to wait after this number of failed tries: doubled for each, less up to a quarter of it by ``share``
    (0 to 1, at random), so that receivers are not all tried at once."""
    whole = min(FIRST_PAUSE * float(2 ** min(tries - 1, 20)), LONGEST_PAUSE)
    return whole * (1 - share / 4)


def retry_after(value: str | None, now: datetime) -> timedelta | None:
    """Return how long a Retry-After header asks to wait, at most the longest pause; None for none that can be read."""
    if not value:
        return None
    if value.strip().isdecimal() and value.isascii():
        seconds = float(value.strip()[:10])
    else:
        try:
            at = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return None
        seconds = (at.replace(tzinfo=at.tzinfo or now.tzinfo) - now).total_seconds()
    return min(timedelta(seconds=max(seconds, 0.0)), LONGEST_PAUSE)
