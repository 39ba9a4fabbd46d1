"""``syncd runs revert``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from syncd.cli.imports import file_of_run, print_plan, say_that_it_waits
from syncd.cli.output import DONE, HELD, agreed, clean, print_json, print_result, remark
from syncd.cli.report_text import counts_of, summary
from syncd.cli.store_access import opened_store, quiet_settings
from syncd.domain import Catalogue
from syncd.service import configured_feeds, stores
from syncd.store import feeds
from syncd.sync.arrival import ArrivalContext, revert
from syncd.sync.report import run_json
from syncd.sync.report.views import plan_view, revert_view
from syncd.sync.run import PlannedChange, RevertPlan, plan_revert


def revert_run(config: Path | None, as_json: bool, number: int, *, plan: bool, yes: bool, pause: bool) -> int:
    """Revert the run and print the run that did it. Raises NotFound, Conflict (the run goes on), NothingToRevert."""
    settings = quiet_settings(config)
    with opened_store(settings) as store:
        catalogue = stores.catalogue_of(store, settings, remember=not plan)
        file = file_of_run(store, settings, catalogue, number)
        policy = file.config.policy if file is not None and file.config is not None else settings.sync
        if plan:
            changes: list[PlannedChange] = []
            planned = plan_revert(store, number, policy, on_change=changes.append)
            _print(planned, changes, catalogue if as_json else None)
            return DONE
        importer = configured_feeds.make_importer(store, settings, catalogue)
        ctx = ArrivalContext(store, importer, waits=say_that_it_waits)
        why, digest, drop = f"run {number} was reverted" if pause else None, None, settings.drop.folder
        while isinstance(
            run := revert(ctx, drop, number, policy, agreed=digest, yes=yes, pause=why), RevertPlan
        ):
            if not _agreed(run):
                return HELD
            digest = run.digest
        paused = run.feed in store.read(feeds.paused)
    print_result(as_json, run_json(run), summary(run))
    if run.counts.warnings:
        remark(f"syncd: {run.counts.warnings} jobs are not as before: see `syncd runs show {run.id}`")
    remark(f"syncd: {_what_next(run.feed, paused)}")
    return DONE


def _what_next(feed: str, paused: bool) -> str:
    if paused:
        return f"feed {feed} is paused: its files are left lying until `syncd feed resume {feed}`"
    return f"the next file of {feed} brings the same back, unless it is another; `syncd feed pause {feed}` stops it"


def _agreed(planned: RevertPlan) -> bool:
    """Ask whether to revert over the limits of the guard."""
    assert planned.hold is not None
    number, reason = planned.run.id, clean(planned.hold.reason)
    return agreed(
        "Revert it?",
        f": {reason}; to revert run {number} all the same: --yes",
        f"This revert of run {number} ({clean(planned.run.feed)}) is over a limit: {reason}",
        counts_of(planned.counts),
    )


def _print(planned: RevertPlan, changes: list[PlannedChange], catalogue: Catalogue | None) -> None:
    """Print the plan as text, or with a catalogue as JSON."""
    shown = revert_view(planned, changes)
    if catalogue is not None:
        print_json(plan_view(shown, catalogue))
        return
    print_plan(replace(shown, run=replace(shown.run, holds=None, reason=None)))
    if planned.hold is not None:
        print(f"this revert would ask first, because it is over a limit: {clean(planned.hold.reason)}")
