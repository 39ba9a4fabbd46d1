"""Answers to requests that syncd itself makes, and connections that fail, in words that name no address."""

import os
import re
import ssl
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

#: A longer wait is cut to this one: no receiver means more.
MAX_RETRY_AFTER = timedelta(days=1)


def retry_after(value: str | None, now: datetime) -> timedelta | None:
    """Return how long a Retry-After header asks to wait, in seconds or until a date, at most ``MAX_RETRY_AFTER``; None: the
    header is missing or cannot be read."""
    if value is None:
        return None
    text = value.strip()
    if re.fullmatch("[0-9]+", text):
        return min(timedelta(seconds=int(text[:10])), MAX_RETRY_AFTER)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)  # -0000: UTC, in these headers
    return min(max(until - now, timedelta(0)), MAX_RETRY_AFTER)


def why_no_connection(error: OSError) -> str:
    """Return why a connection was not made, in the words of the system, which do not name the address."""
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or type(error).__name__})"
    if error.errno is not None and error.errno > 0:  # asyncio has its own words in their place
        return os.strerror(error.errno)
    return error.strerror or type(error).__name__
