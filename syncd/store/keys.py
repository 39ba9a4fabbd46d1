"""API keys: made, shown once, looked up by their hash, revoked. The plain key is never stored."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

import sqlalchemy as sa
from sqlmodel import col

from syncd.domain import check_line
from syncd.errors import Conflict
from syncd.store import employers
from syncd.store.model import sql
from syncd.store.model.columns import Columns, instant_of, micros, optional_instant
from syncd.store.model.tables import EmployerRow, KeyRow
from syncd.store.transactions import Tx, existing

PREFIX = "syncd_"
MAX_LABEL = 128


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """A key without its secret. ``employer`` is the name; ``successor_id`` is the key of its last rotation."""

    id: int
    employer_id: int
    employer: str
    label: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None
    successor_id: int | None

    def live(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def state(self, now: datetime) -> str:
        """Return ``live``, ``revoked`` or ``expired``."""
        if self.live(now):
            return "live"
        return "revoked" if self.revoked_at else "expired"


_INFO = Columns(
    KeyInfo,
    KeyRow,
    employer=EmployerRow.name,
    created_at=instant_of,
    last_used_at=optional_instant,
    expires_at=optional_instant,
    revoked_at=optional_instant,
)
_SELECT = _INFO.select().join(EmployerRow, col(EmployerRow.id) == KeyRow.employer_id)
_GET = sql.Statement(_SELECT.where(*sql.matching(KeyRow.id)))
_BY_DIGEST = sql.Statement(_SELECT.where(*sql.matching(KeyRow.digest)))
_ALL = sql.Statement(_SELECT.order_by(col(KeyRow.id)))
_USED = sql.Statement(
    sa.update(KeyRow)
    .where(
        *sql.matching(KeyRow.id), sa.func.coalesce(col(KeyRow.last_used_at), 0) < sa.bindparam("last_used_at")
    )
    .values(sql.given(KeyRow.last_used_at)),
    order=("last_used_at", "id"),
)
_REVOKE = sql.Statement(
    sa.update(KeyRow)
    .where(*sql.matching(KeyRow.id), col(KeyRow.revoked_at).is_(None))
    .values(sql.given(KeyRow.revoked_at))
)
_REPLACE = sql.updating(KeyRow.expires_at, KeyRow.successor_id, where=[KeyRow.id])


def create(
    tx: Tx, employer_id: int, label: str = "", expires_at: datetime | None = None
) -> tuple[KeyInfo, str]:
    """Return a new key and, for the only time, its plain text: ``syncd_`` and 43 url-safe characters (256 random bits). Raises
    NotFound for an unknown employer, Invalid for a label that is longer than 128 characters or has control characters."""
    employers.get(tx, employer_id)
    plain = PREFIX + secrets.token_urlsafe(32)
    key_id = tx.insert(
        {
            KeyRow.employer_id: employer_id,
            KeyRow.digest: _digest(plain),
            KeyRow.label: check_line("label", label, MAX_LABEL),
            KeyRow.created_at: tx.now.instant,
            KeyRow.expires_at: expires_at,
        }
    )
    return get(tx, key_id), plain


def authenticate(tx: Tx, plain: str) -> KeyInfo | None:
    """Return the key with this plain text if it is live. The look-up is by hash, so its time reveals nothing."""
    info = tx.one(_BY_DIGEST, digest=_digest(plain))
    return info if info is not None and info.live(tx.now.instant) else None


def touch(tx: Tx, used: Mapping[int, datetime]) -> None:
    """Note when keys were last used; never moves back."""
    tx.many(_USED, [(micros(at), key_id) for key_id, at in used.items()])


def get(tx: Tx, key_id: int) -> KeyInfo:
    """Raises NotFound."""
    return existing(tx.one(_GET, id=key_id), "key", key_id)


def all(tx: Tx) -> list[KeyInfo]:
    """Return every key, revoked ones too, by id."""
    return tx.all(_ALL)


def revoke(tx: Tx, key_id: int) -> KeyInfo:
    """Revoke the key, unless it is revoked already; return it. Raises NotFound."""
    tx.run(_REVOKE, id=key_id, revoked_at=micros(tx.now.instant))
    return get(tx, key_id)


def rotate(tx: Tx, key_id: int, grace: timedelta, expires_at: datetime | None = None) -> tuple[KeyInfo, str]:
    """Return a successor with the employer and label of a live key, which itself ends after ``grace`` or earlier. Without
    ``expires_at`` the successor lasts as long as its predecessor was made for. Raises as ``rotatable`` does."""
    old, now = rotatable(tx, key_id), tx.now.instant
    if expires_at is None and old.expires_at is not None:
        expires_at = now + (old.expires_at - old.created_at)
    new, plain = create(tx, old.employer_id, old.label[:MAX_LABEL], expires_at)
    ends = min(now + grace, old.expires_at or now + grace)
    tx.run(_REPLACE, id=key_id, expires_at=micros(ends), successor_id=new.id)
    return new, plain


def rotatable(tx: Tx, key_id: int) -> KeyInfo:
    """Return the key if it can be rotated. Raises NotFound, Conflict: it is expired or revoked, or it has a successor that is
    live, as after a second rotation at the same moment."""
    old, now = get(tx, key_id), tx.now.instant
    if not old.live(now):
        raise Conflict(f"key {key_id} is {old.state(now)}; make a new one: syncd key create")
    if old.successor_id is not None and get(tx, old.successor_id).live(now):
        detail = f"key {key_id} was rotated before: key {old.successor_id} is its successor"
        raise Conflict(f"{detail}; rotate or revoke that one")
    return old


def _digest(plain: str) -> bytes:
    return sha256(plain.encode("utf-8", "surrogatepass")).digest()
