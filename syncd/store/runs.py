"""The run log: one row a reconciliation, what it refused and warned of, and what is needed to go on after a
crash."""

# ruff: noqa: S608 - SQL is put together from constants only; every value is a parameter

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from syncd.domain import FeedWarning, HoldScope, RejectedRow, Run, RunCounts, RunKind, RunState, UnknownValues
from syncd.errors import NotFound, Problem
from syncd.store import history
from syncd.store.rows import micros, optional_instant, to_json
from syncd.store.tx import Row, Tx, marks, padding

_SELECT = (
    "SELECT run.id, feed.name, run.employer_id, employer.name, kind, state, file, size, attempt, holds, "
    "withheld, reason,"
    " sha256, claimed_at, ended_at, counts, phases FROM run JOIN feed ON feed.id = "
    "run.feed_id"
    " JOIN employer ON employer.id = run.employer_id"
)
#: Runs whose rows went in, at least in part.
_APPLIED = "(state IN ('succeeded', 'partial') OR holds = 'archive')"
_STOPPED = "stopped"

_counts = msgspec.json.Decoder(RunCounts).decode
_phases = msgspec.json.Decoder(dict[str, float]).decode
_found = msgspec.json.Decoder(dict[str, list[tuple[str, int]]]).decode
_errors = msgspec.json.Decoder(list[tuple[str, str, str, Any]]).decode


# -- a run ---------------------------------------------------------------------------------------------------


def begin(  # noqa: PLR0917
    tx: Tx,
    feed_id: int,
    employer_id: int,
    file: str,
    size: int,
    claimed_name: str | None,
    *,
    kind: RunKind = RunKind.FILE,
) -> Run:
    """A new run, claimed now. ``size`` in bytes; ``claimed_name``: the file's name under ``.claimed/``."""
    run_id = tx.insert(
        "INSERT INTO run (feed_id, employer_id, kind, state, file, size, attempt, claimed_at, counts,"
        " phases, claimed_name, deaths) VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, '{}', ?, 0) RETURNING id",
        (
            feed_id,
            employer_id,
            kind.value,
            RunState.CLAIMED.value,
            clean(file),
            size,
            micros(tx.now.instant),
            to_json(RunCounts()),
            clean(claimed_name) if claimed_name is not None else None,
        ),
    )
    return get(tx, run_id)


def save(tx: Tx, run: Run) -> None:
    """Write what may change of a run: all but its identity, feed and file. Raises NotFound."""
    changed = tx.run(
        "UPDATE run SET state = ?, attempt = ?, holds = ?, withheld = ?, reason = ?, sha256 = ?,"
        " ended_at = ?, counts = ?, phases = ?, size = ? WHERE id = ?",
        (
            run.state.value,
            run.attempt,
            run.holds.value if run.holds else None,
            clean(run.withheld) if run.withheld is not None else None,
            clean(run.reason) if run.reason is not None else None,
            run.sha256,
            micros(run.ended_at) if run.ended_at else None,
            to_json(run.counts),
            to_json(run.phases),
            run.size,
            run.id,
        ),
    )
    if not changed:
        raise NotFound("run", run.id)


def get(tx: Tx, run_id: int) -> Run:
    """Raises NotFound."""
    row = tx.one(f"{_SELECT} WHERE run.id = ?", (run_id,))
    if row is None:
        raise NotFound("run", run_id)
    return _run(row)


def last(tx: Tx, feed_id: int, states: Collection[RunState]) -> Run | None:
    """The feed's newest run in one of ``states``."""
    if not states:
        return None
    wanted = [state.value for state in states]
    sql = f"{_SELECT} WHERE run.feed_id = ? AND state IN ({marks(len(wanted))}) ORDER BY run.id DESC LIMIT 1"
    row = tx.one(sql, [feed_id, *padding(wanted)])
    return _run(row) if row else None


def list(tx: Tx, feed: str | None = None, limit: int = 50) -> Sequence[Run]:
    """The newest runs first, of the feed with that name or of all."""
    where, values = ("", ()) if feed is None else (" WHERE feed.name = ?", (feed,))
    return [_run(row) for row in tx.all(f"{_SELECT}{where} ORDER BY run.id DESC LIMIT ?", (*values, limit))]


def unfinished(tx: Tx) -> Sequence[Run]:
    """Runs that have not ended: of a crash, or going on just now. Oldest first."""
    wanted = [state.value for state in RunState if not state.ended]
    sql = f"{_SELECT} WHERE state IN ({marks(len(wanted))}) ORDER BY run.id"
    return [_run(row) for row in tx.all(sql, padding(wanted))]


def by_claimed(tx: Tx, feed_id: int, claimed_name: str) -> Run | None:
    """The newest run of the file that lies under ``.claimed/`` with that name."""
    sql = f"{_SELECT} WHERE run.feed_id = ? AND claimed_name = ? ORDER BY run.id DESC LIMIT 1"
    row = tx.one(sql, (feed_id, clean(claimed_name)))
    return _run(row) if row else None


def claimed_name(tx: Tx, run_id: int) -> str | None:
    row = tx.one("SELECT claimed_name FROM run WHERE id = ?", (run_id,))
    return row[0] if row else None


def feed_of(tx: Tx, run_id: int) -> int:
    """The id of the run's feed. Raises NotFound."""
    row = tx.one("SELECT feed_id FROM run WHERE id = ?", (run_id,))
    if row is None:
        raise NotFound("run", run_id)
    return int(row[0])


def applied_before(tx: Tx, feed_id: int, sha256: str) -> bool:
    """Whether these bytes are those of an older applied file of the feed, and not of the newest one."""
    sql = f"SELECT sha256 FROM run WHERE feed_id = ? AND sha256 IS NOT NULL AND {_APPLIED}"
    newest = tx.one(f"{sql} ORDER BY id DESC LIMIT 1", (feed_id,))
    if newest is None or newest[0] == sha256:
        return False
    return tx.one(f"{sql} AND sha256 = ? LIMIT 1", (feed_id, sha256)) is not None


# -- crashes -------------------------------------------------------------------------------------------------


def set_checkpoint(tx: Tx, run_id: int, place: str) -> None:
    """Where the run is now: an attempt that dies before the next checkpoint died here."""
    tx.run("UPDATE run SET checkpoint = ? WHERE id = ?", (place, run_id))


def stopped(tx: Tx, run_id: int) -> None:
    """The attempt ends because the daemon stops: it did not die."""
    set_checkpoint(tx, run_id, _STOPPED)


def resume(tx: Tx, run_id: int) -> tuple[Run, int]:
    """Begin the next attempt of a run that was cut off: the run, its state ``claimed`` again, and how many
    attempts in a row have now died at the same place."""
    row = tx.one("SELECT checkpoint, died_at, deaths FROM run WHERE id = ?", (run_id,))
    if row is None:
        raise NotFound("run", run_id)
    place, before, deaths = row[0] or "", row[1], row[2]
    if place == _STOPPED:
        before, deaths = None, 0
    else:
        before, deaths = place, deaths + 1 if place == before else 1
    tx.run(
        "UPDATE run SET state = ?, attempt = attempt + 1, checkpoint = NULL, died_at = ?, deaths = ?"
        " WHERE id = ?",
        (RunState.CLAIMED.value, before, deaths, run_id),
    )
    return get(tx, run_id), deaths


# -- what it refused and warned of ---------------------------------------------------------------------------


def add_rejected(tx: Tx, run_id: int, rows: Iterable[RejectedRow]) -> None:
    tx.many(
        "INSERT INTO run_rejected (run_id, record, line, reference_id, errors, member)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [
            (
                run_id,
                row.record,
                row.line,
                _clean(row.reference_id),
                to_json([_problem(p) for p in row.errors]),
                _clean(row.member),
            )
            for row in rows
        ],
    )


def rejected_rows(tx: Tx, run_id: int) -> Iterator[RejectedRow]:
    """By record. Read it to the end within the transaction."""
    found = tx.execute(
        "SELECT record, line, reference_id, errors, member FROM run_rejected WHERE run_id = ?"
        " ORDER BY record, id",
        (run_id,),
    )
    for record, line, reference_id, errors, member in found:
        problems = tuple(Problem(*values) for values in _errors(errors))
        yield RejectedRow(record, line, reference_id, problems, member)


def add_warnings(tx: Tx, run_id: int, warnings: Iterable[FeedWarning]) -> None:
    tx.many(
        "INSERT INTO run_warning (run_id, code, detail, record, reference_id, member) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (run_id, w.code, clean(w.detail), w.record, _clean(w.reference_id), _clean(w.member))
            for w in warnings
        ],
    )


def warnings(tx: Tx, run_id: int) -> Iterator[FeedWarning]:
    """In the order in which they were added. Read it to the end within the transaction."""
    sql = "SELECT code, detail, record, reference_id, member FROM run_warning WHERE run_id = ? ORDER BY id"
    for row in tx.execute(sql, (run_id,)):
        yield FeedWarning(*row)


def set_unknown(tx: Tx, run_id: int, unknown: UnknownValues) -> None:
    """In place of what was there."""
    tx.run("DELETE FROM run_unknown WHERE run_id = ?", (run_id,))
    found = {
        clean(name): [(clean(value), rows) for value, rows in values]
        for name, values in unknown.found.items()
    }
    if found:
        tx.run(
            "INSERT INTO run_unknown (run_id, found, toml) VALUES (?, ?, ?)",
            (run_id, to_json(found), clean(unknown.toml)),
        )


def unknown(tx: Tx, run_id: int) -> UnknownValues:
    row = tx.one("SELECT found, toml FROM run_unknown WHERE run_id = ?", (run_id,))
    return UnknownValues({}, "") if row is None else UnknownValues(_found(row[0]), row[1])


def clear_findings(tx: Tx, run_id: int) -> None:
    """Forget refused rows, warnings and unknown values: the next attempt finds them again."""
    tx.run("DELETE FROM run_unknown WHERE run_id = ?", (run_id,))
    tx.run("DELETE FROM run_rejected WHERE run_id = ?", (run_id,))
    tx.run("DELETE FROM run_warning WHERE run_id = ?", (run_id,))


def changes(tx: Tx, run_id: int) -> Iterator[history.Entry]:
    """What the run changed, in order. Read it to the end within the transaction."""
    return history.of_run(tx, run_id)


# -- a held run's plan ---------------------------------------------------------------------------------------


def set_plan(tx: Tx, run_id: int, payload: bytes | None) -> None:
    """Keep what a held run would do, as the importer packed it; None: forget it."""
    if payload is None:
        tx.run("DELETE FROM run_plan WHERE run_id = ?", (run_id,))
        return
    tx.run(
        "INSERT INTO run_plan (run_id, payload) VALUES (?, ?) ON CONFLICT (run_id) DO UPDATE SET payload = "
        "excluded.payload",
        (run_id, payload),
    )


def plan(tx: Tx, run_id: int) -> bytes | None:
    row = tx.one("SELECT payload FROM run_plan WHERE run_id = ?", (run_id,))
    return row[0] if row else None


# -- retention -----------------------------------------------------------------------------------------------


def prune(tx: Tx, before: datetime, limit: int = 500) -> int:
    """Remove at most ``limit`` runs that ended before ``before``, oldest first; how many went. Held ones
    stay, and of each feed the newest that was applied, with which the next file is compared."""
    found = tx.all(
        "SELECT id FROM run WHERE ended_at < ? AND state <> 'held'"
        f" AND id NOT IN (SELECT max(id) FROM run WHERE {_APPLIED} GROUP BY feed_id) ORDER BY id LIMIT ?",
        (micros(before), limit),
    )
    tx.many("DELETE FROM run WHERE id = ?", found)
    return len(found)


# -- values --------------------------------------------------------------------------------------------------


def clean(text: str) -> str:
    """``text`` without lone surrogates, which no database takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _clean(text: str | None) -> str | None:
    return None if text is None else clean(text)


def _problem(problem: Problem) -> tuple[str, str, str, object]:
    return clean(problem.pointer), problem.code, clean(problem.detail), _plain(problem.value)


def _plain(value: object) -> object:
    """``value`` where JSON has it as it is, else its text."""
    if value is None or isinstance(value, (bool, float)) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    return clean(value if isinstance(value, str) else str(value))


def _run(row: Row) -> Run:
    return Run(
        id=row[0],
        feed=row[1],
        employer_id=row[2],
        employer=row[3],
        kind=RunKind(row[4]),
        state=RunState(row[5]),
        file=row[6],
        size=row[7],
        attempt=row[8],
        holds=HoldScope(row[9]) if row[9] else None,
        withheld=row[10],
        reason=row[11],
        sha256=row[12],
        claimed_at=optional_instant(row[13]),
        ended_at=optional_instant(row[14]),
        counts=_counts(row[15]),
        phases=_phases(row[16]),
    )
