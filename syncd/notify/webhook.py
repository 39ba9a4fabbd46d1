"""The webhook: a notice is sent as a signed POST of JSON."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import aiohttp
import msgspec

from syncd import __version__
from syncd.config import Notify
from syncd.domain import Notice
from syncd.notify.delivery import MAX_PAUSE, NotSent, why_no_connection
from syncd.notify.words import link_of

#: Seconds that a receiver has for its answer.
ANSWER = 10.0
#: Statuses of a receiver that can take nothing now.
_BUSY = (429, 503)


class Webhook:
    """A way. A redirect is not followed, because a signed body is for the configured address alone. Of the answer only the
    head is read."""

    kind = name = "webhook"
    joins = False

    def __init__(self, settings: Notify, answer: float = ANSWER) -> None:
        """``answer``: seconds that the receiver has."""
        self._url, self._secret, self._answer = settings.webhook, settings.webhook_secret, answer
        self.where = urlsplit(self._url).hostname or ""

    async def send(self, notices: Sequence[Notice], pages: str, now: datetime) -> str:
        """Send the notice, of which there is one; return the status of the answer. Raises NotSent."""
        (notice,) = notices
        body = body_of(notice, pages)
        try:
            async with asyncio.timeout(self._answer):
                status, retry = await self._post(body, int(now.timestamp()))
        except TimeoutError:
            raise NotSent(f"no answer within {self._answer:g} s", everything=True) from None
        except aiohttp.ClientConnectorError as error:
            raise NotSent(f"cannot connect: {why_no_connection(error.os_error)}", everything=True) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise NotSent(f"no answer: {type(error).__name__}") from None
        if 200 <= status < 300:
            return f"status {status}"
        hint = "; redirects are not followed" if 300 <= status < 400 else ""
        after = retry_after(retry, now)
        raise NotSent(f"answered with status {status}{hint}", after=after, everything=status in _BUSY)

    async def _post(self, body: bytes, timestamp: int) -> tuple[int, str | None]:
        """Return the status of the answer and its Retry-After."""
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"syncd/{__version__}",
            "Syncd-Timestamp": str(timestamp),
            "Syncd-Signature": signature_of(self._secret, timestamp, body),
        }
        jar = aiohttp.DummyCookieJar()
        async with (
            aiohttp.ClientSession(cookie_jar=jar, auto_decompress=False) as session,
            session.post(self._url, data=body, headers=headers, allow_redirects=False) as response,
        ):
            head = response.status, response.headers.get("Retry-After")
            response.close()  # its body may have any length
            return head


def body_of(notice: Notice, pages: str) -> bytes:
    """Return the JSON of a notice; it is the same for each try. ``pages``: the address of the operator's pages."""
    return msgspec.json.encode(
        {
            "id": notice.key,
            "event": notice.event.value,
            "feed": notice.feed,
            "run": notice.run,
            "state": notice.state,
            "reason": notice.reason,
            "counts": notice.counts,
            "at": notice.at,
            "url": link_of(notice, pages),
        }
    )


def signature_of(secret: str, timestamp: int, body: bytes) -> str:
    """Return the value of ``Syncd-Signature``. ``timestamp``: that of ``Syncd-Timestamp``, seconds since 1970."""
    signed = b"%d.%s" % (timestamp, body)
    return "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def retry_after(value: str | None, now: datetime) -> timedelta | None:
    """Return how long a Retry-After header asks to wait, at most ``MAX_PAUSE``; None if there is none that can be read."""
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
    return min(timedelta(seconds=max(seconds, 0.0)), MAX_PAUSE)
