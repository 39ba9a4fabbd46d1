"""The report of a run as data, ``syncd.report/1`` (docs/operations.md "JSON output"), and the plan that a held run shows.

``whole_report`` is for the operator. ``partner_report`` lies beside the file and lacks the operator's members. Both have every
rejected row and every warning, as iterators: ``write_json`` writes them one by one, so that a bad file of a million rows needs
little memory. Changes and jobs that would be archived are the first ``MAX_LISTED``; ``changesTotal`` and
``wouldArchive.total`` are their numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import islice
from typing import Any

import msgspec

from syncd.domain import Run, RunCounts, RunState
from syncd.errors import FEED_ERROR_CODES
from syncd.store import Tx, history, jobs, run_results, runs
from syncd.sync.report.json_forms import (
    change_json,
    rejected_json,
    rekey_json,
    summary_json,
    unknown_json,
    warning_json,
    would_archive_json,
)


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """The plan that a person decides about. ``plan``: digest of the whole plan. ``archives``: digest of the jobs that would be
    archived. ``fingerprint`` and ``settings``: the feed's fingerprint and the digest of its settings at that time (all
    hex). ``reason``: why the run is held. ``missing`` and ``expired``: the ids of the jobs that would be archived, as
    missing and by their own rows. ``pairs``: (id, new referenceId) of the missing jobs that are in the file under another
    referenceId, if the run is held for that."""

    plan: str
    archives: str
    settings: str
    reason: str
    fingerprint: str = ""
    missing: Sequence[int] = ()
    expired: Sequence[int] = ()
    pairs: Sequence[tuple[int, str]] = ()

    @property
    def would_archive(self) -> bool:
        return bool(self.missing or self.expired)

    @classmethod
    def from_bytes(cls, payload: bytes) -> ShownPlan:
        return cls(**json.loads(payload))

    def to_bytes(self) -> bytes:
        return json.dumps({field.name: getattr(self, field.name) for field in fields(self)}).encode()

    def differs(self, now: ShownPlan, *, everything: bool) -> str | None:
        """Return the change between this plan and ``now`` in words, or None."""
        if now.fingerprint != self.fingerprint:
            return "the feed's rows are read another way"
        same = now.plan == self.plan if everything else now.archives == self.archives
        return None if same else "jobs moved"


#: Changes, and jobs that would be archived, in the partner's report.
MAX_LISTED = 10_000
_BATCH = 500
#: Members that are for the operator.
_OPERATORS = ("attempt", "phases", "lookupToml", "rekeys")
#: The part of a message about settings: in parentheses, or a clause of its own.
_NAMED = r"(?:\[(?:limits|read|rows|fields|lookup)|\btake_over|\brepeats)\b"
_SETTING = re.compile(rf" \([^()]*{_NAMED}[^()]*\)|; [^;]*{_NAMED}[^;]*")
_encode = msgspec.json.Encoder(decimal_format="number", enc_hook=str).encode


def whole_report(
    tx: Tx, run_id: int, *, most: int | None = None, would_archive: int | None = None
) -> dict[str, Any]:
    """Return all that is known of a run. Its rejected rows, warnings and changes are iterators, to be read to the end within
    the transaction. ``most`` changes and ``would_archive`` jobs are listed (None: all). Raises NotFound."""
    run = runs.get(tx, run_id)
    shown = plan_of(tx, run)
    return {
        **summary_json(run, would_archive_of(tx, shown, would_archive)),
        "rekeys": rekeys_of(tx, shown, would_archive),
        "rejectedRows": map(rejected_json, run_results.rejected_rows(tx, run_id)),
        **unknown_json(run_results.unknown(tx, run_id)),
        "warnings": map(warning_json, run_results.warnings(tx, run_id)),
        "changes": (
            change_json(c.action, c.reference_id, c.job_id, sorted(c.before or ()))
            for c in islice(history.of_run(tx, run_id), most)
        ),
    }


def partner_report(tx: Tx, run_id: int, rejected_file: str | None) -> dict[str, Any]:
    """Return the part of ``whole_report`` that the partner may know. ``rejected_file``: the name of the file of rejected
    records beside the report. Raises NotFound."""
    run = runs.get(tx, run_id)
    report = whole_report(tx, run_id, most=MAX_LISTED, would_archive=MAX_LISTED)
    for name in _OPERATORS:
        del report[name]
    # the reason of any other state has the limits of the feed, and lines to paste
    of_file = run.state is RunState.FAILED and (run.reason or "").partition(":")[0] in FEED_ERROR_CODES
    shape = run.shape.in_words(lines=False) if run.shape and run.shape.gone else None
    return report | {
        "reason": for_partner(run.reason or "") if of_file else shape,
        "withheld": for_partner(run.withheld) if run.withheld else None,
        "rejectedFile": rejected_file,
        "changesTotal": history.count_of_run(tx, run_id),
    }


@lru_cache(1000)
def for_partner(message: str) -> str:
    """Return a message without its part about settings, which only the operator can change."""
    return _SETTING.sub("", message)


def write_json(report: dict[str, Any], write: Callable[[bytes], object], *, lines: bool = False) -> None:
    """Write a report as one line of JSON, the entries of an iterator one by one. ``lines``: write each member and each
    entry on a line of its own."""
    new_line, deeper, colon = (b"\n ", b"\n  ", b": ") if lines else (b"", b"", b":")
    for number, (name, value) in enumerate(report.items()):
        write((b"," if number else b"{") + new_line + _encode(name) + colon)
        if isinstance(value, Iterator):
            before = b"["
            for entry in value:
                write(before + deeper + _encode(entry))
                before = b","
            write(b"[]" if before == b"[" else new_line + b"]")
        else:
            write(_encode(value))
    write(b"\n}\n" if lines else b"}\n")


def plan_of(tx: Tx, run: Run) -> ShownPlan | None:
    """Return the plan of a held run, None for any other run. It has all jobs that would go: read it once."""
    payload = run_results.plan(tx, run.id) if run.state is RunState.HELD else None
    return None if payload is None else ShownPlan.from_bytes(payload)


def would_archive_of(
    tx: Tx, shown: ShownPlan | None, most: int | None, start: int = 0
) -> dict[str, Any] | None:
    """Return the jobs that a held run with this plan waits to archive, ``most`` of them listed (None: all) from ``start`` on."""
    if shown is None:
        return None
    going = [*((job, "missing") for job in shown.missing), *((job, "row") for job in shown.expired)]
    return would_archive_json(len(going), _titled(tx, going[start:][:most]))


#: The effect of ``syncd runs rekey``, on its button.
REKEY = "Keep the postings, take the new ids"


def rekeyed_counts(planned: RunCounts, rekeys: int) -> RunCounts:
    """Return the effects of a run that waits, if that many of its jobs take new ids."""
    kept = dict.fromkeys(("created", "missing", "archived"), -rekeys)
    return planned.plus({**kept, "updated": rekeys})


def rekeys_of(tx: Tx, shown: ShownPlan | None, most: int | None, start: int = 0) -> dict[str, Any] | None:
    """Return the jobs of a run held as re-keyed that could take new ids, listed as ``would_archive_of`` does; None for any other
    run."""
    if shown is None or not shown.pairs:
        return None
    pairs = shown.pairs[start:][:most]
    listed = zip(_titled(tx, [(job_id, "") for job_id, _ in pairs]), pairs, strict=True)
    return {
        "total": len(shown.pairs),
        "jobs": [rekey_json(old, new, title, job_id) for (job_id, old, title, _), (_, new) in listed],
    }


def _titled(tx: Tx, going: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str | None, str | None, str]]:
    """Yield each job with its present referenceId and title; both are None for a job that was deleted meanwhile."""
    for start in range(0, len(going), _BATCH):
        batch = going[start : start + _BATCH]
        names = jobs.names(tx, [job_id for job_id, _ in batch])
        for job_id, why in batch:
            yield job_id, *names.get(job_id, (None, None)), why
