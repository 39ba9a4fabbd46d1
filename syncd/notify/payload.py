"""The body of a webhook, and its signature."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import msgspec

from syncd.domain import Notice
from syncd.notify.words import link_of

_encode = msgspec.json.Encoder().encode


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
    return _encode(body)


def signature_of(secret: str, timestamp: int, body: bytes) -> str:
    """Return the value of ``Syncd-Signature``. ``timestamp``: that of ``Syncd-Timestamp``, seconds since 1970."""
    signed = b"%d.%s" % (timestamp, body)
    return "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
