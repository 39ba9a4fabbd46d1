"""The feeds as ``syncd feed list`` and the overview show them (docs/operations.md "JSON output")."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

from syncd.domain import Run
from syncd.feeds.configuration import FeedConfig, FeedFile, MappingLine, mapping_in_force
from syncd.store import Tx, feed_jobs, feeds, run_strips
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
        return [_view(tx, file, drop, zone, paused={}, last=run_strips.NONE) for file in files]
    paused, last = feeds.paused(tx), run_strips.last_runs(tx, [file.name for file in files])
    return [_view(tx, file, drop, zone, paused=paused, last=last[file.name]) for file in files]


def count_active_jobs(tx: Tx, found: Iterable[dict[str, Any]]) -> None:
    """Set the ``activeJobs`` of these feeds, as ``feed_states`` returns them."""
    views = {view["name"]: view for view in found}
    for name, number in feed_jobs.active_by_feed(tx, views).items():
        views[name]["activeJobs"] = number


def mapping_lines(name: str, folder: Path) -> list[MappingLine]:
    """Return the mapping in force of the feed whose file, which has no fault, is in ``folder``. Raises OSError."""
    source = (folder / f"{name}.toml").read_text(encoding="utf-8-sig")
    return mapping_in_force(name, tomllib.loads(source))


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
    last: run_strips.LastRuns,
) -> dict[str, Any]:
    """``reason``: why the state of the feed is not ``ok``, None if it is."""
    config = file.config
    newest, success, delivered = last
    expected = _expected_after(delivered, config) if config is not None else None
    state, reason = _state(tx, file, paused, expected, zone)
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
        "state": state,
        "reason": reason,
    }


def next_expected(tx: Tx, config: FeedConfig) -> datetime | None:
    """Return until when a file of the feed is expected; None before the first one, and where the feed expects none."""
    return _expected_after(run_strips.last_file(tx, config.name), config) if config.expect_every else None


def _expected_after(last: Run | None, config: FeedConfig) -> datetime | None:
    """Return ``next_expected`` where ``last`` is the newest run of a file of the feed."""
    if not config.expect_every:
        return None
    return last.claimed_at + config.expect_every if last is not None and last.claimed_at is not None else None


def _state(
    tx: Tx | None,
    file: FeedFile,
    paused: Mapping[str, str],
    expected: datetime | None,
    zone: tzinfo | None,
) -> tuple[str, str | None]:
    """Return the state of a feed, and why it is not ``ok``. Of several states the first counts: degraded, paused,
    overdue."""
    if file.faults:
        return "degraded", "; ".join(file.faults)
    if file.name in paused:
        return "paused", paused[file.name] or "paused; nobody said why"
    every = file.config.expect_every if file.config is not None else None
    if tx is not None and every and expected is not None and tx.now.instant > expected:
        last = (expected - every).astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")
        return "overdue", f"the last file came at {last}, one is expected every {span_in_words(every)}"
    return "ok", None
