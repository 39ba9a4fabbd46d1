"""First answers to requests with an Idempotency-Key, kept for each API key (docs/api.md "Methods and addresses")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from syncd.store.rows import micros, to_json
from syncd.store.tx import Tx

#: How long an answer is kept.
KEPT = timedelta(hours=24)

_headers = msgspec.json.Decoder(dict[str, str]).decode


@dataclass(frozen=True, slots=True)
class Reply:
    """``request_digest`` tells whether a repeat has the same body."""

    request_digest: bytes
    status: int
    headers: Mapping[str, str]
    body: bytes


def find(tx: Tx, key_id: int, idempotency_key: str, since: datetime) -> Reply | None:
    """The answer kept at or after ``since``."""
    row = tx.one(
        "SELECT request_digest, status, headers, body FROM reply"
        " WHERE key_id = ? AND idempotency_key = ? AND at >= ?",
        (key_id, idempotency_key, micros(since)),
    )
    return Reply(row[0], row[1], _headers(row[2]), row[3]) if row else None


def keep(tx: Tx, key_id: int, idempotency_key: str, reply: Reply) -> None:
    """Keep ``reply``, in the transaction of what it answers; an older one of the same key is replaced."""
    tx.run(
        "INSERT INTO reply (key_id, idempotency_key, request_digest, status, headers, body, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key_id, idempotency_key) DO UPDATE SET"
        " request_digest = excluded.request_digest, status = excluded.status, headers = excluded.headers,"
        " body = excluded.body, at = excluded.at",
        (
            key_id,
            idempotency_key,
            reply.request_digest,
            reply.status,
            to_json(dict(reply.headers)),
            reply.body,
            micros(tx.now.instant),
        ),
    )


def prune(tx: Tx, before: datetime) -> int:
    """Remove answers from before ``before``; how many went."""
    return tx.run("DELETE FROM reply WHERE at < ?", (micros(before),))
