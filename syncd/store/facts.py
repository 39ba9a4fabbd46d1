"""What the store knows about itself, by name."""

from __future__ import annotations

from datetime import datetime

from sqlmodel import col, select

from syncd.store.statements import Statement, instant_of, matching, micros, replacing
from syncd.store.tables import Setting
from syncd.store.transactions import Tx

_GET = Statement(select(col(Setting.value)).where(*matching(Setting.name)))
_PUT = replacing(Setting)


def get(tx: Tx, name: str) -> str | None:
    return tx.scalar(_GET, name=name)


def put(tx: Tx, name: str, value: str) -> None:
    tx.run(_PUT, name=name, value=value)


def prove_writable(tx: Tx) -> None:
    """Write something: to run it proves that the store takes writes."""
    put(tx, "health", str(micros(tx.now.instant)))


def last_seen(tx: Tx) -> datetime | None:
    """Return the last time that ``note_seen`` stored; None for a store that has none."""
    value = get(tx, "clock")
    return instant_of(int(value)) if value else None


def note_seen(tx: Tx) -> None:
    """Store the time as seen."""
    put(tx, "clock", str(micros(tx.now.instant)))
