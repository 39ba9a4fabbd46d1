"""The least that an importer of this feed can do. It is a floor to compare with, not an example to follow.

It cuts records at their end tag, hashes the slices, skips known hashes, cuts fields at their CDATA marks, checks them
with a few regular expressions, and upserts through sqlite3 in batches of 1,000 (synchronous=FULL, pages of 16 KB, 64 MB
of cache, a checkpoint every 80 MB). It writes no report, merges nothing, keeps no history, and reads only feeds that
``feedgen`` wrote.
"""

import hashlib
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

_PAY = re.compile(r"\$([\d.,]+)(?: - \$([\d.]+))? per (\w+)")
_BAD_TAG = re.compile(
    r"<(?!/?(?:li|p|b|br|i|em|ul|ol|div|strong)\s*/?>|/a\s*>|a(?:\s+(?:href|target)=\"[^\"<>]*\")+\s*>)"
)
_URL = re.compile(r"https?://[^\s/]+\S*")
_TYPES = {"fulltime": 1, "parttime": 2, "contract": 3, "temporary": 4}
_PERIODS = {"year": 1, "month": 2, "week": 3, "day": 4, "hour": 5}
_COLUMNS = (
    "employer, reference, title, published, closes, confidential, refresh, status, locations, category, kind, amount, "
    "most, period, commission, routing, email, url, digest, version, description"
)
_SCHEMA = f"""
PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 5000;
CREATE TABLE IF NOT EXISTS job (id INTEGER PRIMARY KEY, {_COLUMNS});
CREATE UNIQUE INDEX IF NOT EXISTS job_reference ON job (employer, reference);
CREATE INDEX IF NOT EXISTS job_list ON job (employer, published, id);
CREATE INDEX IF NOT EXISTS job_status ON job (employer, status, published, id);
"""
_UPSERT = (
    f"INSERT INTO job ({_COLUMNS}) VALUES ({', '.join('?' * 21)}) ON CONFLICT (employer, reference) DO UPDATE SET "
    + ", ".join(f"{c.strip()} = excluded.{c.strip()}" for c in _COLUMNS.split(",")[2:])
)


def run(feed: Path, folder: Path) -> None:
    """Import one delivery into ``folder/reference.db``."""
    db = sqlite3.connect(folder / "reference.db", isolation_level=None)
    db.executescript(_SCHEMA)
    seen = dict.fromkeys((d for (d,) in db.execute("SELECT digest FROM job WHERE status = 'active'")), False)
    batch: list[tuple[object, ...]] = []
    for raw in _slices(feed):
        digest = hashlib.sha256(raw).digest()
        if digest in seen:
            seen[digest] = True
        elif (row := _row(raw, digest)) is not None:
            batch.append(row)
        if len(batch) == 1000:
            _write(db, batch)
    _write(db, batch)
    gone = [(digest,) for digest, named in seen.items() if not named]
    db.execute("BEGIN IMMEDIATE")
    db.execute("CREATE TEMP TABLE gone (digest BLOB PRIMARY KEY)")
    db.executemany("INSERT INTO gone VALUES (?)", gone)
    db.execute("UPDATE job SET status = 'archived' WHERE digest IN (SELECT digest FROM gone)")
    db.execute("COMMIT")
    db.close()


def _slices(feed: Path) -> Iterator[bytes]:
    rest = b""
    with feed.open("rb", buffering=0) as file:
        while block := file.read(1 << 20):
            pieces = (rest + block).split(b"</job>")
            rest = pieces.pop()
            for piece in pieces:
                yield piece[piece.find(b"<job>") :]


def _row(raw: bytes, digest: bytes) -> tuple[object, ...] | None:
    """Return the row, or None if a check rejects it."""
    field = {}
    for piece in raw.decode().split("]]></")[:-1]:
        name, _, value = piece.partition("><![CDATA[")
        field[name[name.rfind("<") + 1 :]] = value
    title, number, url, email = field["title"], field["referencenumber"], field["url"], field["email"]
    text, closes = field["description"], field["expirationdate"]
    if not (0 < len(title) <= 256 and 0 < len(number) <= 50 and len(url) <= 200 and len(email) <= 50):
        return None
    if _BAD_TAG.search(text) or not _URL.fullmatch(url) or len(closes) != 10:
        return None
    pay = _PAY.match(field["salary"])
    amount, most, period = (pay[1], pay[2], _PERIODS[pay[3]]) if pay else (None, None, None)
    place = f'[{{"description": "{field["city"]}, {field["state"]}"}}]'
    return (
        1, number, title, "2026-10-15T12:00:00Z", closes, 0, 0, "active", place, field["category"],
        _TYPES.get(field["jobtype"], 1), amount, most, period, 0, 2, email or None, url, digest, 1, text,
    )  # fmt: skip


def _write(db: sqlite3.Connection, batch: list[tuple[object, ...]]) -> None:
    if batch:
        db.execute("BEGIN IMMEDIATE")
        db.executemany(_UPSERT, batch)
        db.execute("COMMIT")
        batch.clear()
