"""Idempotency-Key on POST (docs/api.md "Methods and addresses"): a repeated request gets the first answer again. The answer is
stored in the transaction of the write. A request that failed has changed nothing and may be sent again."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b

from aiohttp import web

from syncd.api.requests import CONTEXT, PRINCIPAL
from syncd.store import Tx, replies
from syncd.web import Refusal

HEADER, REPLAYED = "Idempotency-Key", "Idempotent-Replayed"
MAX_KEY = 255
_PRINTABLE = re.compile(rf"[\x20-\x7e]{{1,{MAX_KEY}}}")
#: Keeps an answer: transaction, status, headers, body.
Keep = Callable[[Tx, int, dict[str, str], bytes], None]


def name_of(request: web.Request) -> str | None:
    """Return the Idempotency-Key, or None. Raises ``invalid_parameter`` unless it is sent once and is 1 to 255 printable
    ASCII characters."""
    sent = request.headers.getall(HEADER, ())
    if not sent:
        return None
    if len(sent) != 1 or not _PRINTABLE.fullmatch(sent[0]):
        detail = f"{HEADER} has to be 1 to {MAX_KEY} printable ASCII characters, once"
        raise Refusal("invalid_parameter", detail)
    return sent[0]


@contextmanager
def once(request: web.Request, name: str | None, digest: bytes) -> Iterator[tuple[Keep, web.Response | None]]:
    """Yield the function that keeps the answer to this request, whose body has this ``digest``, and the answer that is kept
    already. Raise ``idempotency_in_progress`` while the first request with this key is served, ``idempotency_key_reused``
    if it had another body. Without an Idempotency-Key (``name`` None) no answer is kept."""
    if name is None:
        yield lambda *_: None, None
        return
    context, key_id = request.app[CONTEXT], request[PRINCIPAL].key_id

    def keep(tx: Tx, status: int, headers: dict[str, str], answer: bytes) -> None:
        replies.keep(tx, key_id, name, replies.Reply(digest, status, headers, answer))

    if (key_id, name) in context.in_flight:
        raise Refusal("idempotency_in_progress", "the first request with this key is still being served")
    context.in_flight.add((key_id, name))
    try:
        kept = context.store.look_up(lambda tx: replies.find(tx, key_id, name, tx.now.instant - replies.KEPT))
        if kept is None:
            yield keep, None
        elif kept.request_digest != digest:
            raise Refusal("idempotency_key_reused", "this key came with another body before")
        else:
            headers = {**kept.headers, REPLAYED: "true"}
            yield keep, web.Response(body=kept.body, status=kept.status, headers=headers)
    finally:
        context.in_flight.discard((key_id, name))


def digest(body: object) -> bytes:
    """Return a digest of a body that is equal for equal JSON, also if it is written in another way."""
    text = json.dumps(body, sort_keys=True, default=lambda decimal: ["decimal", str(decimal)])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
