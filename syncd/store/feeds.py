"""Feeds: their identity, what they own, and what they last wrote to it (docs/reconciliation.md "What a run does").

``feed_job`` follows the jobs by itself: ``apply`` marks a row touched when anybody changes its job
(auto-refresh is no touch), and ``own`` takes the mark off. So the questions of a re-sync are answered without
reading a job.
"""

# ruff: noqa: S608 - SQL is put together from constants only; every value is a parameter

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import NamedTuple, cast

import msgspec
from msgspec import Struct

from syncd.domain import Ownership
from syncd.errors import NotFound
from syncd.store.rows import micros, to_json
from syncd.store.tx import Tx, marks, padding

_decode = msgspec.json.Decoder(dict[str, str]).decode
_decode_any = msgspec.json.Decoder(dict[str, object]).decode


class KnownRow(NamedTuple):
    """The job that a known record stands for."""

    job_id: int
    reference_id: str


class FeedRow(Struct, frozen=True):
    """What a feed last wrote to a job. ``digest`` and ``fingerprint``: 16 bytes each, of the record and of
    all else that decides what it comes to. ``job_version``: the job's after that. ``sent``: digests by wire
    name (see Ownership), None where nobody will ask. ``due``: the first date on which the
    same record would change the job, None: never."""

    job_id: int
    reference_id: str
    digest: bytes
    fingerprint: bytes
    job_version: int
    sent: Mapping[str, str] | None
    due: date | None


# -- identity ------------------------------------------------------------------------------------------------


def feed_id(tx: Tx, name: str, employer_id: int) -> int:
    """The id of the feed, made if it is new. A feed that was another employer's starts afresh: its old jobs
    are released."""
    row = tx.one("SELECT id FROM feed WHERE name = ? AND employer_id = ?", (name, employer_id))
    for (other,) in tx.all("SELECT id FROM feed WHERE name = ? AND employer_id <> ?", (name, employer_id)):
        _release_all(tx, other)
    if row:
        return int(row[0])
    sql = "INSERT INTO feed (name, employer_id, disturbed) VALUES (?, ?, ?) RETURNING id"
    return tx.insert(sql, (name, employer_id, True))


def find(tx: Tx, name: str, employer_id: int) -> int | None:
    """The id of a feed that has been seen before, for who must not write (a dry run)."""
    row = tx.one("SELECT id FROM feed WHERE name = ? AND employer_id = ?", (name, employer_id))
    return row[0] if row else None


def settings_digest(tx: Tx, feed_id: int) -> str | None:
    """The digest of the feed's own settings at its last run that could archive; None before the first."""
    row = tx.one("SELECT settings_digest FROM feed WHERE id = ?", (feed_id,))
    return row[0] if row else None


def set_settings_digest(tx: Tx, feed_id: int, digest: str) -> None:
    tx.run("UPDATE feed SET settings_digest = ? WHERE id = ?", (digest, feed_id))


# -- what is known -------------------------------------------------------------------------------------------


def known_digests(
    tx: Tx, feed_id: int, fingerprint: bytes, digests: Sequence[bytes], today: date
) -> dict[bytes, KnownRow]:
    """Those of ``digests`` whose record would change nothing: what the feed last wrote under the same
    fingerprint, to a job that exists, is active, was not touched since, does not wait in ``grace``, and is
    not due on ``today``."""
    if not digests:
        return {}
    unchanged, values = _unchanged(tx, feed_id, fingerprint, today)
    sql = (
        "SELECT digest, job_id, reference_id FROM feed_job"
        f" WHERE feed_id = ? AND digest IN ({marks(len(digests))}) AND {unchanged}"
    )
    return {row[0]: KnownRow(row[1], row[2]) for row in tx.all(sql, [feed_id, *padding(digests), *values])}


def next_known(
    tx: Tx, feed_id: int, fingerprint: bytes, today: date, *, after_job_id: int, limit: int
) -> list[tuple[int, bytes, str, bool]]:
    """(job id, digest, referenceId, whether ``known_digests`` would have it) of the next ``limit`` jobs with ids
    above ``after_job_id`` that the feed owns, by id."""
    unchanged, values = _unchanged(tx, feed_id, fingerprint, today)
    sql = (
        f"SELECT job_id, digest, reference_id, {unchanged} FROM feed_job"
        " WHERE feed_id = ? AND job_id > ? ORDER BY job_id LIMIT ?"
    )
    return cast("list[tuple[int, bytes, str, bool]]", tx.all(sql, [*values, feed_id, after_job_id, limit]))


def _unchanged(tx: Tx, feed_id: int, fingerprint: bytes, today: date) -> tuple[str, list[object]]:
    """The condition, and its values, under which a row of ``feed_job`` says that its record would change
    nothing."""
    sql = "(fingerprint = ? AND active AND NOT touched AND (due IS NULL OR due > ?)"
    values: list[object] = [fingerprint, today.isoformat()]
    if _has_misses(tx, feed_id):
        return f"{sql} AND job_id NOT IN (SELECT job_id FROM feed_miss WHERE feed_id = ?))", [
            *values,
            feed_id,
        ]
    return f"{sql})", values


def undisturbed(tx: Tx, feed_id: int, fingerprint: bytes, today: date) -> bool:
    """Whether the bytes of the last succeeded run would change nothing again: since ``settle`` no job of the
    feed was touched, deleted or taken, none waits in ``grace``, none is due, and all were written under
    ``fingerprint``."""
    row = tx.one("SELECT disturbed FROM feed WHERE id = ?", (feed_id,))
    if row is None or row[0] or _has_misses(tx, feed_id):
        return False
    sql = "SELECT 1 FROM feed_job WHERE feed_id = ? AND (touched OR fingerprint <> ? OR due <= ?) LIMIT 1"
    return tx.one(sql, (feed_id, fingerprint, today.isoformat())) is None


def settle(tx: Tx, feed_id: int) -> None:
    """A run of the feed succeeded: from now on count what disturbs it."""
    tx.run("UPDATE feed SET disturbed = ? WHERE id = ?", (False, feed_id))


def _has_misses(tx: Tx, feed_id: int) -> bool:
    return tx.one("SELECT 1 FROM feed_miss WHERE feed_id = ? LIMIT 1", (feed_id,)) is not None


# -- ownership -----------------------------------------------------------------------------------------------


def ownership(tx: Tx, feed_id: int, job_ids: Sequence[int], *, edits: bool = False) -> dict[int, Ownership]:
    """For each of ``job_ids`` that a feed owns: which one, and, if it is this one and ``edits`` are asked for,
    what it last sent."""
    if not job_ids:
        return {}
    sql = f"SELECT job_id, feed_id FROM feed_job WHERE job_id IN ({marks(len(job_ids))})"
    owners: dict[int, int] = {row[0]: row[1] for row in tx.all(sql, padding(job_ids))}
    if not edits:
        return {job_id: Ownership(owner) for job_id, owner in owners.items()}
    own = [job_id for job_id, owner in owners.items() if owner == feed_id]
    sent = _sent(tx, own)
    edited = _edited(tx, [job_id for job_id in own if job_id not in sent])
    return {
        job_id: Ownership(owner, sent.get(job_id), frozenset(edited.get(job_id, ())))
        for job_id, owner in owners.items()
    }


def _sent(tx: Tx, job_ids: Sequence[int]) -> dict[int, dict[str, str]]:
    if not job_ids:
        return {}
    sql = f"SELECT job_id, sent FROM feed_sent WHERE job_id IN ({marks(len(job_ids))})"
    return {job_id: _decode(sent) for job_id, sent in tx.all(sql, padding(job_ids))}


def _edited(tx: Tx, job_ids: Sequence[int]) -> dict[int, set[str]]:
    """The names of the fields that the history tells were changed since their feed last wrote the jobs."""
    found: dict[int, set[str]] = {}
    if not job_ids:
        return found
    sql = (
        "SELECT history.job_id, before FROM history JOIN feed_job ON feed_job.job_id = history.job_id"
        f" WHERE history.job_id IN ({marks(len(job_ids))}) AND version > job_version AND before IS NOT NULL"
    )
    for job_id, before in tx.all(sql, padding(job_ids)):
        found.setdefault(job_id, set()).update(_decode_any(before))
    return found


_MEMBERS = ("feed_id", "reference_id", "digest", "fingerprint", "job_version", "active", "touched", "due")
_OWN_NEW = f"INSERT INTO feed_job ({', '.join(_MEMBERS)}, job_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_OWN_AGAIN = f"UPDATE feed_job SET {', '.join(f'{name} = ?' for name in _MEMBERS)} WHERE job_id = ?"
_SENT = "INSERT INTO feed_sent (job_id, sent) VALUES (?, ?) ON CONFLICT (job_id) DO UPDATE SET sent = excluded.sent"


def own(tx: Tx, feed_id: int, rows: Sequence[FeedRow]) -> None:
    """The feed owns these jobs from now on (a job has one owner) and last wrote this to them. A job that
    changed since ``job_version`` counts as touched, one that is gone is left out. Ends the waiting in
    ``grace``."""
    if not rows:
        return
    ids = [row.job_id for row in rows]
    sql = (
        "SELECT id, version, status = 'active', feed_id FROM job LEFT JOIN feed_job ON job_id = id"
        f" WHERE id IN ({marks(len(ids))})"
    )
    now = {row[0]: row[1:] for row in tx.all(sql, padding(ids))}
    former = {owner for _, _, owner in now.values() if owner not in (None, feed_id)}
    tx.many("UPDATE feed SET disturbed = ? WHERE id = ?", [(True, owner) for owner in former])
    there = [row for row in rows if row.job_id in now]
    # an upsert would do for both, at four times the price of the insert
    for sql, owned in ((_OWN_NEW, False), (_OWN_AGAIN, True)):
        chosen = (row for row in there if (now[row.job_id][2] is not None) is owned)
        tx.many(sql, [_values(feed_id, row, *now[row.job_id][:2]) for row in chosen])
    tx.many(_SENT, [(row.job_id, to_json(row.sent)) for row in there if row.sent])
    unsaid = [row.job_id for row in there if not row.sent]
    if unsaid:
        tx.run(f"DELETE FROM feed_sent WHERE job_id IN ({marks(len(unsaid))})", padding(unsaid))
    confirm(tx, feed_id, ids)


def own_new(tx: Tx, feed_id: int, rows: Sequence[tuple[FeedRow, bool]]) -> None:
    """``own`` for jobs, active or not, that this very transaction has inserted: nobody else can have had
    them."""
    if rows:
        tx.many(_OWN_NEW, [_values(feed_id, row, row.job_version, active) for row, active in rows])


def _values(feed_id: int, row: FeedRow, version: int, active: bool) -> tuple[object, ...]:
    touched = version != row.job_version
    due = row.due.isoformat() if row.due else None
    return (
        feed_id,
        row.reference_id,
        row.digest,
        row.fingerprint,
        row.job_version,
        bool(active),
        touched,
        due,
        row.job_id,
    )


def owned_active(
    tx: Tx, feed_id: int, after_job_id: int, limit: int, employer_wide: bool = False
) -> list[tuple[int, int]]:
    """(job id, snapshots in a row that lacked it) of the next ``limit`` active jobs with ids above
    ``after_job_id`` that the feed owns, or (``employer_wide``) that its employer has, by id."""
    if employer_wide:
        source = (
            "job JOIN feed ON feed.employer_id = job.employer_id WHERE feed.id = ? AND job.status = 'active'"
        )
        key = "job.id"
    else:
        source, key = "feed_job WHERE feed_job.feed_id = ? AND feed_job.active", "feed_job.job_id"
    sql = f"SELECT {key} FROM {source} AND {key} > ? ORDER BY {key} LIMIT ?"
    ids = [row[0] for row in tx.all(sql, (feed_id, after_job_id, limit))]
    sql = "SELECT job_id, n FROM feed_miss WHERE feed_id = ? AND job_id > ? AND job_id <= ?"
    waiting = tx.all(sql, (feed_id, after_job_id, ids[-1])) if ids else []
    misses = {row[0]: row[1] for row in waiting}
    return [(job_id, misses.get(job_id, 0)) for job_id in ids]


def release(tx: Tx, job_ids: Sequence[int]) -> None:
    """No feed owns these jobs any more."""
    gone = [(job_id,) for job_id in job_ids]
    for table in ("feed_job", "feed_sent", "feed_miss"):
        tx.many(f"DELETE FROM {table} WHERE job_id = ?", gone)


def release_unconfigured(tx: Tx, configured_names: Collection[str]) -> int:
    """Feeds that are no longer configured own nothing; how many jobs that concerned."""
    gone = [row[0] for row in tx.all("SELECT id, name FROM feed") if row[1] not in configured_names]
    return sum(_release_all(tx, feed) for feed in gone)


def _release_all(tx: Tx, feed_id: int) -> int:
    tx.run(
        "DELETE FROM feed_sent WHERE job_id IN (SELECT job_id FROM feed_job WHERE feed_id = ?)", (feed_id,)
    )
    tx.run("DELETE FROM feed_miss WHERE feed_id = ?", (feed_id,))
    count = tx.run("DELETE FROM feed_job WHERE feed_id = ?", (feed_id,))
    if count:
        tx.run("UPDATE feed SET disturbed = ? WHERE id = ?", (True, feed_id))
    return count


# -- grace ---------------------------------------------------------------------------------------------------


def missed(tx: Tx, feed_id: int, job_ids: Sequence[int]) -> None:
    """One more snapshot lacked these jobs."""
    tx.many(
        "INSERT INTO feed_miss (feed_id, job_id, n) VALUES (?, ?, 1)"
        " ON CONFLICT (feed_id, job_id) DO UPDATE SET n = feed_miss.n + 1",
        [(feed_id, job_id) for job_id in job_ids],
    )


def confirm(tx: Tx, feed_id: int, job_ids: Sequence[int]) -> None:
    """These jobs were named: they no longer wait."""
    if job_ids and _has_misses(tx, feed_id):
        tx.many(
            "DELETE FROM feed_miss WHERE feed_id = ? AND job_id = ?",
            [(feed_id, job_id) for job_id in job_ids],
        )


# -- the guard's memory --------------------------------------------------------------------------------------


def recent_archives(tx: Tx, feed_id: int, since: datetime) -> int:
    """How many jobs the feed's runs archived at or after ``since`` that are not active again. What a person
    approved does not count: such changes have the actor ``operator``."""
    row = tx.one(
        "SELECT count(DISTINCT history.job_id) FROM history JOIN run ON run.id = history.run_id"
        " LEFT JOIN job ON job.id = history.job_id"
        " WHERE run.feed_id = ? AND history.at >= ? AND history.actor = 'run'"
        " AND history.action = 'archived' AND (job.id IS NULL OR job.status <> 'active')",
        (feed_id, micros(since)),
    )
    return int(row[0]) if row else 0


def employer_of(tx: Tx, feed_id: int) -> int:
    """Raises NotFound."""
    row = tx.one("SELECT employer_id FROM feed WHERE id = ?", (feed_id,))
    if row is None:
        raise NotFound("feed", feed_id)
    return int(row[0])
