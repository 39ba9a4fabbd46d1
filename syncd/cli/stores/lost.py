"""What is lost by a restore, and what to do about it, as text and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from syncd.cli.output import clean
from syncd.store.backups import KeySummary, Losses, RunSummary

T = TypeVar("T")
#: Runs and keys that the text lists; JSON has them all.
SHOWN = 50
#: Actor → whose changes these are.
ACTORS = {
    "key": "through the API: their clients have to send them again",
    "run": "by runs: drop the files again",
    "refresh": "by auto-refresh: it makes them again",
    "close": "by the close date: the daemon makes them again",
    "operator": "by the operator",
}


def lost_json(lost: Losses | None) -> dict[str, Any] | None:
    if lost is None:
        return None
    return {
        "changes": lost.changes,
        "runs": [_run_json(run) for run in lost.runs],
        "reopenedRuns": [_run_json(run) for run in lost.reopened],
        "keys": [_key_json(key) for key in lost.keys],
        "validAgainKeys": [_key_json(key) for key in lost.revoked],
    }


def lost_lines(lost: Losses | None, why: str, drop: Path) -> list[str]:
    """Return the lines of the text. ``why``: why nothing is known; ``drop``: the drop folder."""
    if lost is None:
        return [f"{why[0].upper()}{why[1:]}"]
    if lost.none:
        return ["The present store has no run, no change of a job and no key that the backup does not have."]
    lines = ["The present store has what the backup does not have, and what is lost:"]
    for actor, count in lost.changes.items():
        lines.append(f"  {count:,} changes of jobs {ACTORS.get(actor, f'by {actor}')}")
    lines += _listed(lost.runs, lambda run: f"run {_run(run)}: {_file_of(run, drop)}")
    lines += _listed(lost.reopened, lambda run: f"run {_run(run)} {_again(run, drop)}")
    lines += _listed(lost.keys, lambda key: f"key {_key(key)}: make a new one")
    lines += _listed(
        lost.revoked,
        lambda key: f"key {_key(key)}, which was revoked, is valid again: syncd key revoke {key.id}",
    )
    return lines


def _listed(things: Sequence[T], line: Callable[[T], str]) -> list[str]:
    lines = [f"  {line(thing)}" for thing in things[:SHOWN]]
    return lines + ([f"  … and {len(things) - SHOWN:,} more: --json has them"] if len(things) > SHOWN else [])


def _run(run: RunSummary) -> str:
    return clean(f"{run.id} ({run.feed}, {run.file})")


def _file_of(run: RunSummary, drop: Path) -> str:
    """Return what to do with the file of a run that the backup does not know."""
    if not run.is_of_file:
        return "a revert; revert again"
    name = f"{run.id}-{run.file}"
    found = [path for sub in ("done", "failed") if (path := drop / run.feed / sub / name).is_file()]
    where = f"drop a copy of {clean(str(found[0]))} again" if found else "its file is not there any more"
    return where if found or run.state != "claimed" else "its file is run again"


def _again(run: RunSummary, drop: Path) -> str:
    """Return what becomes of a run that has ended since the backup, where it had not."""
    if run.state == "held":
        return "is held again: decide it again"
    return f"goes on again, without its file, and fails: {_file_of(run, drop)}"


def _key(key: KeySummary) -> str:
    return clean(f"{key.id} ({key.employer}{', ' if key.label else ''}{key.label})")


def _run_json(run: RunSummary) -> dict[str, Any]:
    return {"id": run.id, "feed": run.feed, "kind": run.kind, "state": run.state, "file": run.file}


def _key_json(key: KeySummary) -> dict[str, Any]:
    return {"id": key.id, "employer": key.employer, "label": key.label}
