"""Idempotency-Key on POST (docs/api.md "Methods and addresses"): a repeat gets the first answer again.

The answer is kept in the transaction of what it answers, so there is never one without the other. Only answers
2xx are kept: a request that failed has changed nothing and may be tried again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from hashlib import blake2b

from aiohttp import web

from syncd.api.context import CONTEXT, PRINCIPAL
from syncd.store import Tx, replies
from syncd.web import Refusal

HEADER, REPLAYED = "Idempotency-Key", "Idempotent-Replayed"
MAX_KEY = 255
_PRINTABLE = re.compile(rf"[\x20-\x7e]{{1,{MAX_KEY}}}")


@dataclass(frozen=True, slots=True)
class Once:
    """A request that is to take effect once: the API key's id, its idempotency key, and what it sends."""

    key_id: int
    name: str
    digest: bytes

    def keep(self, tx: Tx, status: int, headers: dict[str, str], body: bytes) -> None:
        replies.keep(tx, self.key_id, self.name, replies.Reply(self.digest, status, headers, body))


def name_of(request: web.Request) -> str | None:
    """The Idempotency-Key; None if there is none. ``invalid_parameter`` unless it is 1 to 255 printable ASCII
    characters, once."""
    sent = request.headers.getall(HEADER, ())
    if not sent:
        return None
    if len(sent) != 1 or not _PRINTABLE.fullmatch(sent[0]):
        detail = f"{HEADER} has to be 1 to {MAX_KEY} printable ASCII characters, once"
        raise Refusal("invalid_parameter", detail)
    return sent[0]


@contextmanager
def once(request: web.Request, name: str, body: object) -> Iterator[tuple[Once, web.Response | None]]:
    """The request, and the answer that it got before. Raises ``idempotency_in_progress`` while the first one is
    being served, ``idempotency_key_reused`` if that had another body."""
    context = request.app[CONTEXT]
    this = Once(request[PRINCIPAL].key_id, name, _digest(body))
    place = (this.key_id, name)
    if place in context.in_flight:
        raise Refusal("idempotency_in_progress", "the first request with this key is still being served")
    context.in_flight.add(place)
    try:
        yield this, _replay(request, this)
    finally:
        context.in_flight.discard(place)


def _replay(request: web.Request, this: Once) -> web.Response | None:
    store = request.app[CONTEXT].store
    kept = store.look_up(lambda tx: replies.find(tx, this.key_id, this.name, tx.now.instant - replies.KEPT))
    if kept is None:
        return None
    if kept.request_digest != this.digest:
        raise Refusal("idempotency_key_reused", "this key came with another body before")
    return web.Response(body=kept.body, status=kept.status, headers={**kept.headers, REPLAYED: "true"})


def _digest(body: object) -> bytes:
    """Equal for equal JSON, however it was written down."""
    text = json.dumps(body, sort_keys=True, default=_exact)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _exact(value: object) -> list[str]:
    assert isinstance(value, Decimal)
    return ["decimal", str(value)]
