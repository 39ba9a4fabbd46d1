"""Sends a notice to the webhook: a signed POST of JSON."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec

from syncd import __version__
from syncd.config import Notify
from syncd.domain import Notice
from syncd.notify.timing import retry_after
from syncd.notify.ways import NotSent, why_no_connection
from syncd.notify.words import link_of

#: Seconds that a receiver has for its answer.
ANSWER = 10.0
#: What a receiver answers that can take nothing now.
_BUSY = (429, 503)


class Webhook:
    """A way. A redirect is not followed, because a signed body is for the configured address alone. Of the answer only the
    head is read."""

    kind = name = "webhook"
    joins = False

    def __init__(
        self, settings: Notify, pages: Callable[[], str], now: Callable[[], datetime], answer: float = ANSWER
    ) -> None:
        """``pages`` returns the address of the operator's pages; ``answer``: seconds that the receiver has."""
        self._url, self._secret = settings.webhook, settings.webhook_secret
        self._pages, self._now, self._answer = pages, now, answer
        self.where = urlsplit(self._url).hostname or ""

    async def send(self, notices: Sequence[Notice]) -> str:
        """Send the notice, of which there is one; return the status of the answer. Raises NotSent."""
        (notice,) = notices
        body = body_of(notice, self._pages())
        try:
            async with asyncio.timeout(self._answer):
                status, asked = await self._post(body)
        except TimeoutError:
            raise NotSent(f"no answer within {self._answer:g} s", everything=True) from None
        except aiohttp.ClientConnectorError as error:
            raise NotSent(f"cannot connect: {why_no_connection(error.os_error)}", everything=True) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise NotSent(f"no answer: {type(error).__name__}") from None
        if 200 <= status < 300:
            return f"status {status}"
        hint = "; redirects are not followed" if 300 <= status < 400 else ""
        after = retry_after(asked, self._now())
        raise NotSent(f"answered with status {status}{hint}", after=after, everything=status in _BUSY)

    async def _post(self, body: bytes) -> tuple[int, str | None]:
        """Return the status of the answer and its Retry-After."""
        timestamp = int(self._now().timestamp())
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
            found = response.status, response.headers.get("Retry-After")
            response.close()  # its body may have any length
            return found


def body_of(notice: Notice, pages: str) -> bytes:
    """Return the JSON of a notice; it is the same for each try. ``pages``: the address of the operator's pages."""
    body: dict[str, Any] = {
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
    return msgspec.json.encode(body)


def signature_of(secret: str, timestamp: int, body: bytes) -> str:
    """Return the value of ``Syncd-Signature``. ``timestamp``: that of ``Syncd-Timestamp``, seconds since 1970."""
    signed = b"%d.%s" % (timestamp, body)
    return "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
