"""First answers to requests with an Idempotency-Key, kept for each API key (docs/api.md "A POST that can be repeated")."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
import sqlalchemy as sa
from sqlmodel import col

from syncd.store.model import sql
from syncd.store.model.columns import Columns, kept_row, micros
from syncd.store.model.tables import ReplyRow
from syncd.store.transactions import Tx

#: How long an answer is kept.
KEPT = timedelta(hours=24)

_headers = msgspec.json.Decoder(dict[str, str]).decode


@dataclass(frozen=True, slots=True)
class Reply:
    """``request_digest`` shows whether a repeat has the same body."""

    request_digest: bytes
    status: int
    headers: dict[str, str]
    body: bytes


_REPLY = Columns(Reply, ReplyRow, headers=_headers)
_FIND = sql.Statement(
    _REPLY.select().where(
        *sql.matching(ReplyRow.key_id, ReplyRow.idempotency_key), col(ReplyRow.at) >= sa.bindparam("since")
    )
)
_KEEP = sql.replacing(ReplyRow)
_PRUNE = sql.Statement(sa.delete(ReplyRow).where(col(ReplyRow.at) < sa.bindparam("before")))


def find(tx: Tx, key_id: int, idempotency_key: str, since: datetime) -> Reply | None:
    """Return the answer kept at or after ``since``."""
    return tx.one(_FIND, key_id=key_id, idempotency_key=idempotency_key, since=micros(since))


def keep(tx: Tx, key_id: int, idempotency_key: str, reply: Reply) -> None:
    """Keep ``reply``, in the transaction of its request; an older one of the same key is replaced."""
    values = kept_row(reply, ("request_digest", "status", "headers", "body"))
    tx.many(_KEEP, [(key_id, idempotency_key, *values, micros(tx.now.instant))])


def prune(tx: Tx, before: datetime) -> int:
    """Remove answers from before ``before``; return how many went."""
    return tx.run(_PRUNE, before=micros(before))
