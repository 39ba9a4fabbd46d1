"""API keys: made, shown once, looked up by their hash, revoked. The plain key is never stored."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from syncd.errors import Conflict, NotFound
from syncd.store.rows import instant_of, micros, optional_instant
from syncd.store.tx import Row, Tx

PREFIX = "syncd_"
_SELECT = (
    "SELECT api_key.id, employer_id, employer.name, label, created_at, last_used_at, expires_at, revoked_at"
    " FROM api_key JOIN employer ON employer.id = employer_id"
)


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """A key without its secret. Instants are UTC; ``employer`` is the name."""

    id: int
    employer_id: int
    employer: str
    label: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None

    def live(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def state(self, now: datetime) -> str:
        """``live``, ``revoked`` or ``expired``."""
        if self.live(now):
            return "live"
        return "revoked" if self.revoked_at else "expired"


def create(
    tx: Tx, employer_id: int, label: str = "", expires_at: datetime | None = None
) -> tuple[KeyInfo, str]:
    """A new key and, for the only time, its plain text: ``syncd_`` and 43 url-safe characters (256 random
    bits). Raises NotFound for an unknown employer."""
    if tx.one("SELECT 1 FROM employer WHERE id = ?", (employer_id,)) is None:
        raise NotFound("employer", employer_id)
    plain = PREFIX + secrets.token_urlsafe(32)
    key_id = tx.insert(
        "INSERT INTO api_key (employer_id, digest, label, created_at, expires_at)"
        " VALUES (?, ?, ?, ?, ?) RETURNING id",
        (
            employer_id,
            _digest(plain),
            label,
            micros(tx.now.instant),
            micros(expires_at) if expires_at else None,
        ),
    )
    return get(tx, key_id), plain


def authenticate(tx: Tx, plain: str) -> KeyInfo | None:
    """The key that ``plain`` is; None if it is unknown, expired or revoked. The look-up is by hash, so its
    time tells nothing."""
    row = tx.one(f"{_SELECT} WHERE digest = ?", (_digest(plain),))
    info = _info(row) if row else None
    return info if info is not None and info.live(tx.now.instant) else None


def touch(tx: Tx, used: Mapping[int, datetime]) -> None:
    """Note when keys were last used; never moves back."""
    tx.many(
        "UPDATE api_key SET last_used_at = ? WHERE id = ? AND coalesce(last_used_at, 0) < ?",
        [(micros(at), key_id, micros(at)) for key_id, at in used.items()],
    )


def get(tx: Tx, key_id: int) -> KeyInfo:
    """Raises NotFound."""
    row = tx.one(f"{_SELECT} WHERE api_key.id = ?", (key_id,))
    if row is None:
        raise NotFound("key", key_id)
    return _info(row)


def all(tx: Tx) -> list[KeyInfo]:
    """Every key, revoked ones too, by id."""
    return [_info(row) for row in tx.all(f"{_SELECT} ORDER BY api_key.id")]


def revoke(tx: Tx, key_id: int) -> KeyInfo:
    """From now on the key authenticates nobody. Again: nothing changes. Raises NotFound."""
    tx.run(
        "UPDATE api_key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL",
        (micros(tx.now.instant), key_id),
    )
    return get(tx, key_id)


def rotate(tx: Tx, key_id: int, grace: timedelta, expires_at: datetime | None = None) -> tuple[KeyInfo, str]:
    """A successor with the employer and label of a live key, which itself ends after ``grace`` (never later
    than it would have). Without ``expires_at`` the successor lasts as long as its predecessor was made for.
    Raises NotFound, Conflict (the key is expired or revoked)."""
    old, now = get(tx, key_id), tx.now.instant
    if not old.live(now):
        raise Conflict(f"key {key_id} is {old.state(now)}; make a new one: syncd key create")
    if expires_at is None and old.expires_at is not None:
        expires_at = now + (old.expires_at - old.created_at)
    ends = min(now + grace, old.expires_at or now + grace)
    tx.run("UPDATE api_key SET expires_at = ? WHERE id = ?", (micros(ends), key_id))
    return create(tx, old.employer_id, old.label, expires_at)


def _digest(plain: str) -> bytes:
    return sha256(plain.encode("utf-8", "surrogatepass")).digest()


def _info(row: Row) -> KeyInfo:
    used, expires, revoked = (optional_instant(value) for value in row[5:])
    return KeyInfo(row[0], row[1], row[2], row[3], instant_of(row[4]), used, expires, revoked)
