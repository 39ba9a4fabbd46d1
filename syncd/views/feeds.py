"""The feeds as ``syncd feed list`` and the overview show them (docs/operations.md "JSON output")."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from syncd.domain import Run, RunState
from syncd.feeds.configuration import FeedConfig, FeedFile
from syncd.feeds.mapping.presets import MappingLine, mapping_in_force
from syncd.plain_files import parse_toml, read_settings
from syncd.store import Tx, feed_jobs, feeds, runs
from syncd.sync.report import instant_json, run_json
from syncd.values import span_in_words


def feeds_view(
    tx: Tx | None, files: Collection[FeedFile], drop: Path, zone: tzinfo | None = None
) -> list[dict[str, Any]]:
    """Return the configured feeds, in the order of ``files``. Their ``faults`` have all that is wrong with a feed: its file
    and its employer. ``tx`` None: there is no store yet. ``drop``: the drop folder; ``zone``: of times in sentences."""
    found = feed_states(tx, files, drop, zone)
    if tx is not None:
        count_active_jobs(tx, found)
    return found


def feed_states(
    tx: Tx | None, files: Collection[FeedFile], drop: Path, zone: tzinfo | None = None
) -> list[dict[str, Any]]:
    """Return the feeds as ``feeds_view`` does, with 0 as ``activeJobs``: to count these reads an index entry for each job."""
    if tx is None:
        return [_view(tx, file, drop, zone, paused={}, held=None, last=runs.NO_RUNS) for file in files]
    paused, last = feeds.paused(tx), runs.last_runs(tx, [file.name for file in files])
    held = {run.feed: run for run in runs.waiting(tx)}
    return [
        _view(tx, file, drop, zone, paused=paused, held=held.get(file.name), last=last[file.name])
        for file in files
    ]


def count_active_jobs(tx: Tx, found: Iterable[dict[str, Any]]) -> None:
    """Set the ``activeJobs`` of these feeds, as ``feed_states`` returns them."""
    views = {view["name"]: view for view in found}
    for name, number in feed_jobs.active_by_feed(tx, views).items():
        views[name]["activeJobs"] = number


def mapping_lines(name: str, folder: Path) -> list[MappingLine]:
    """Return the mapping in force of the feed whose file, which has no fault, is in ``folder``. Raises OSError."""
    source = read_settings(folder / f"{name}.toml")
    return mapping_in_force(name, parse_toml(source))


def mapping_view(name: str, lines: Iterable[MappingLine]) -> dict[str, Any]:
    """Return the mapping in force as ``syncd feed show --json`` prints it."""
    return {"feed": name, "lines": [line._asdict() for line in lines]}


def feed_view(tx: Tx | None, file: FeedFile, drop: Path, zone: tzinfo | None = None) -> dict[str, Any]:
    """Return one feed as ``feeds_view`` does."""
    (found,) = feeds_view(tx, [file], drop, zone)
    return found


def _view(
    tx: Tx | None,
    file: FeedFile,
    drop: Path,
    zone: tzinfo | None,
    *,
    paused: Mapping[str, str],
    held: Run | None,
    last: runs.LastRuns,
) -> dict[str, Any]:
    """``held``: the run of the feed that waits for a decision. Of several states of the feed the first one counts; ``reason``
    has why it is in each."""
    config = file.config
    newest, success, delivered = last
    expected = _expected_after(delivered, config) if config is not None else None
    found = [*_states(file, paused, held, newest)]
    if tx is not None and config is not None and expected is not None and tx.now.instant > expected:
        found.append(("overdue", _lateness(config, expected, zone)))
    return {
        "name": file.name,
        "employer": config.employer if config is not None else None,
        "preset": config.preset if config is not None else None,
        "mode": config.policy.mode if config is not None else None,
        "folder": str(drop / file.name),
        "lastRun": run_json(newest) if newest is not None else None,
        "lastSuccess": instant_json(success.ended_at) if success is not None else None,
        "nextExpected": instant_json(expected),
        "activeJobs": 0,
        "state": found[0][0] if found else "ok",
        "reason": "; ".join(reason for _state, reason in found) or None,
    }


def overdue_feeds(tx: Tx, configs: Iterable[FeedConfig]) -> set[str]:
    """Return the names of the feeds whose next file should have come."""
    expecting = {config.name: config for config in configs if config.expect_every}
    last = runs.last_runs(tx, expecting)
    expected = {name: _expected_after(last[name].file, config) for name, config in expecting.items()}
    return {name for name, until in expected.items() if until is not None and tx.now.instant > until}


def _expected_after(last: Run | None, config: FeedConfig) -> datetime | None:
    """Return until when a file of the feed is expected after ``last``, the newest run of one; None before the first one, and
    where the feed expects none."""
    if not config.expect_every:
        return None
    return last.claimed_at + config.expect_every if last is not None and last.claimed_at is not None else None


def _states(
    file: FeedFile, paused: Mapping[str, str], held: Run | None, newest: Run | None
) -> Iterator[tuple[str, str]]:
    """Yield each state that the feed is in and why, the one first that concerns the operator most."""
    if file.faults:
        yield "degraded", "; ".join(file.faults)
    if held is not None:
        yield "held", f"run {held.id} waits for a decision: {held.reason}"
    if file.name in paused:
        yield "paused", paused[file.name] or "paused; nobody said why"
    if newest is not None and newest.state is RunState.FAILED:
        yield "failed", f"run {newest.id} failed: {newest.reason}"


def _lateness(config: FeedConfig, expected: datetime, zone: tzinfo | None) -> str:
    """Return why a feed is overdue."""
    every = config.expect_every or timedelta(0)
    last = (expected - every).astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")
    return f"the last file came at {last}, one is expected every {span_in_words(every)}"
