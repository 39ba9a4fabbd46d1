"""The report of a run as data, ``syncd.report/1`` (docs/operations.md "JSON output"), and the plan that a held run shows.

A report lists at most ``MOST`` rejected rows, warnings, changes and jobs that would be archived, each, so that a bad file
of a million rows needs neither much memory nor a patient browser. The counts and ``wouldArchive.total`` have them all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any

from syncd.domain import Run, RunState
from syncd.store import Store, Tx, history, jobs, results, runs
from syncd.sync.report.run_json import (
    change_json,
    filtered_json,
    rejected_json,
    run_json,
    unknown_json,
    warning_json,
    would_archive_json,
)


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """What a person decides about. ``plan``: digest of the whole plan. ``archives``: digest of the jobs that would be
    archived. ``fingerprint`` and ``settings``: the feed's fingerprint and the digest of its settings at that time (all
    hex). ``reason``: why the run is held. ``missing`` and ``expired``: the ids of the jobs that would be archived, as
    missing and by their own rows."""

    plan: str
    archives: str
    settings: str
    reason: str
    fingerprint: str = ""
    missing: Sequence[int] = ()
    expired: Sequence[int] = ()

    @property
    def would_archive(self) -> bool:
        return bool(self.missing or self.expired)

    @classmethod
    def from_bytes(cls, payload: bytes) -> ShownPlan:
        return cls(**json.loads(payload))

    def to_bytes(self) -> bytes:
        return json.dumps({field.name: getattr(self, field.name) for field in fields(self)}).encode()

    def differs(self, now: ShownPlan, *, everything: bool) -> str | None:
        """Return what has changed between this plan and ``now``, in words, or None."""
        if now.fingerprint != self.fingerprint:
            return "the feed's rows are read another way"
        same = now.plan == self.plan if everything else now.archives == self.archives
        return None if same else "jobs moved"


FORMAT = "syncd.report/1"
#: The most entries of each list.
MOST = 10_000
_BATCH = 500


def report(
    store: Store, run_id: int, most: int = MOST, *, would_archive: int | None = MOST
) -> dict[str, Any]:
    """Return all that is known of a run: at most ``most`` entries of each list, and ``would_archive`` (None: all) of the
    jobs that wait to be archived. Raises NotFound."""
    return store.read(lambda tx: _report(tx, run_id, most, would_archive))


def _report(tx: Tx, run_id: int, most: int, would_archive: int | None) -> dict[str, Any]:
    run = runs.get(tx, run_id)
    return {
        "format": FORMAT,
        **run_json(run),
        "phases": {name: round(seconds, 3) for name, seconds in run.phases.items()},
        **filtered_json(run),
        "wouldArchive": _would_archive(tx, run, would_archive),
        "rejectedRows": [rejected_json(row) for row in islice(results.rejected_rows(tx, run_id), most)],
        **unknown_json(results.unknown(tx, run_id)),
        "warnings": [warning_json(warning) for warning in islice(results.warnings(tx, run_id), most)],
        "changes": [
            change_json(c.action, c.reference_id, c.job_id, c.before or ())
            for c in islice(history.of_run(tx, run_id), most)
        ],
    }


def _would_archive(tx: Tx, run: Run, most: int | None) -> dict[str, Any] | None:
    """Return what a held run waits to archive, None for any other run."""
    payload = results.plan(tx, run.id) if run.state is RunState.HELD else None
    if payload is None:
        return None
    shown = ShownPlan.from_bytes(payload)
    going = [*((job, "missing") for job in shown.missing), *((job, "row") for job in shown.expired)]
    return would_archive_json(len(going), _titled(tx, going[:most]))


def _titled(tx: Tx, going: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str | None, str | None, str]]:
    """Yield each job with its present referenceId and title; both are None for a job that was deleted meanwhile."""
    for start in range(0, len(going), _BATCH):
        batch = going[start : start + _BATCH]
        found = jobs.by_ids(tx, [job_id for job_id, _ in batch])
        for job_id, why in batch:
            job = found.get(job_id)
            yield job_id, job.reference_id if job else None, job.title if job else None, why
