"""Feeds, runs, plans, jobs, and how things are, as commands, the operator's pages and ``--json`` show them (docs/operations.md
"JSON output")."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from syncd import domain
from syncd.errors import NotFound
from syncd.feeds.configuration import FeedConfig, FeedFile
from syncd.feeds.mapping.presets import MappingLine, mapping_in_force
from syncd.feeds.native import members_of
from syncd.plain_files import parse_toml, read_settings
from syncd.store import Tx, employers, feed_jobs, feeds, history, jobs, runs, sources
from syncd.store.sources import SourceState
from syncd.sync import report
from syncd.sync.report.files import Sheet, sheet_of
from syncd.sync.run import Planned, PlannedChange, RevertPlan
from syncd.values import local_time, plural, span_in_words
from syncd.views.standing import PART_WORDS, how_things_are, urgency

#: Changes in a page, and characters of a value.
CHANGES_PAGE, MAX_SHOWN = 1000, 200


# -- feeds -----------------------------------------------------------------------------------------------------


def feeds_view(
    tx: Tx | None, files: Collection[FeedFile], drop: Path, zone: tzinfo | None = None
) -> list[dict[str, Any]]:
    """Return the configured feeds, in the order of ``files``, whose ``faults`` have all that is wrong with a feed and its
    employer. ``tx`` is None before there is a store. ``drop``: the drop folder; ``zone``: of times in sentences."""
    views = feed_states(tx, files, drop, zone)
    if tx is not None:
        count_active_jobs(tx, views)
    return views


def feed_states(
    tx: Tx | None, files: Collection[FeedFile], drop: Path, zone: tzinfo | None = None
) -> list[dict[str, Any]]:
    """Return the feeds as ``feeds_view`` does, with 0 as ``activeJobs``: to count these reads an index entry for each job."""
    last = {} if tx is None else runs.last_runs(tx, [file.name for file in files])
    paused = {} if tx is None else feeds.paused(tx)
    held = {} if tx is None else {run.feed: run for run in runs.waiting(tx)}
    fetched = {} if tx is None else sources.states(tx)
    views = []
    for file in files:
        name, config, its = file.name, file.config, last.get(file.name, runs.NO_RUNS)
        states = [*_states(file, paused.get(name), held.get(name), its.newest)]
        expected = _expected_after(its.file, config)
        if tx is not None and config is not None and expected is not None and tx.now.instant > expected:
            every = config.expect_every or timedelta(0)
            states.append(("overdue", overdue_words(expected - every, every, zone)))
        source = None if config is None else _source_json(config, fetched.get(name), name in paused)
        views.append(_feed_json(file, drop, its, states) | {"source": source})
    return views


def overdue_words(last: datetime, every: timedelta, zone: tzinfo | None) -> str:
    """Return why a feed is overdue whose last file came at ``last``. ``zone``: of the time."""
    return f"the last file came at {local_time(last, zone)}, one is expected every {span_in_words(every)}"


def count_active_jobs(tx: Tx, views: Iterable[dict[str, Any]]) -> None:
    """Set the ``activeJobs`` of feeds that ``feed_states`` returned."""
    by_name = {view["name"]: view for view in views}
    for name, number in feed_jobs.active_by_feed(tx, by_name).items():
        by_name[name]["activeJobs"] = number


def _feed_json(
    file: FeedFile, drop: Path, last: runs.LastRuns, states: list[tuple[str, str]]
) -> dict[str, Any]:
    """Return a feed. Of several ``states`` the first one counts; ``reason`` has why it is in each."""
    config = file.config
    newest, success, delivered = last
    return {
        "name": file.name,
        "employer": config.employer if config is not None else None,
        "preset": config.preset if config is not None else None,
        "mode": config.policy.mode if config is not None else None,
        "folder": str(drop / file.name),
        "lastRun": report.run_json(newest) if newest is not None else None,
        "lastSuccess": report.instant_json(success.ended_at) if success is not None else None,
        "nextExpected": report.instant_json(_expected_after(delivered, config)),
        "activeJobs": 0,
        "state": states[0][0] if states else "ok",
        "reason": "; ".join(reason for _state, reason in states) or None,
    }


def _states(
    file: FeedFile, paused: str | None, held: domain.Run | None, newest: domain.Run | None
) -> Iterator[tuple[str, str]]:
    """Yield each state of the feed and its reason, the one first that concerns the operator most."""
    if file.faults:
        yield "degraded", "; ".join(file.faults)
    if held is not None:
        yield "held", f"run {held.id} waits for a decision: {held.reason}"
    if paused is not None:
        yield "paused", paused or "paused without a reason"
    if newest is not None and newest.state is domain.RunState.FAILED:
        yield "failed", f"run {newest.id} failed: {newest.reason}"


def _source_json(config: FeedConfig, state: SourceState | None, paused: bool) -> dict[str, Any] | None:
    """Return the source of a feed, None for a feed without one. ``state``: None before its first turn."""
    source, faults = config.source, config.source_faults
    if source is None and not faults:
        return None
    known = state or SourceState()
    turns = source is not None and (source.every is not None or bool(source.at)) and not paused
    fetched = "failing" if known.failures else "ok" if known.succeeded_at else "new"
    return {
        "url": source.shown if source is not None else None,
        "state": "wrong" if faults else fetched,
        "failures": known.failures,
        "failingSince": report.instant_json(known.failing_since),
        "reason": "; ".join(faults) or known.reason,
        "lastFetch": report.instant_json(known.succeeded_at),
        "nextFetch": report.instant_json(known.next_at) if turns else None,
    }


def source_words(source: dict[str, Any], zone: tzinfo | None) -> str:
    """Return the state of a source in a line. ``zone``: of times."""

    def when(instant: str) -> str:
        return local_time(datetime.fromisoformat(instant), zone, "minutes")

    match source["state"]:
        case "wrong":
            return f"cannot be fetched: {source['reason']}"
        case "failing":
            words = sources.failing(datetime.fromisoformat(source["failingSince"]), source["reason"], zone)
        case "ok":
            words = f"fetched {when(source['lastFetch'])}"
        case _:
            words = "never fetched"
    return words + (f"; next {when(source['nextFetch'])}" if source["nextFetch"] else "")


def overdue_feeds(tx: Tx, configs: Iterable[FeedConfig]) -> dict[str, datetime]:
    """Return the feeds that are overdue, each with the time of its last file."""
    expecting = {config.name: config for config in configs if config.expect_every}
    last = runs.last_runs(tx, expecting)
    expected = {name: _expected_after(last[name].file, config) for name, config in expecting.items()}
    return {
        name: until - (expecting[name].expect_every or timedelta(0))
        for name, until in expected.items()
        if until is not None and tx.now.instant > until
    }


def _expected_after(last: domain.Run | None, config: FeedConfig | None) -> datetime | None:
    """Return the time until which a file is expected after ``last``, the newest run of one; None if none is."""
    if config is None or not config.expect_every or last is None or last.claimed_at is None:
        return None
    return last.claimed_at + config.expect_every


def mapping_lines(name: str, folder: Path) -> list[MappingLine]:
    """Return the mapping in force of the feed whose file, which has no fault, is in ``folder``. Raises OSError."""
    return mapping_in_force(name, parse_toml(read_settings(folder / f"{name}.toml")))


def mapping_view(name: str, lines: Iterable[MappingLine]) -> dict[str, Any]:
    """Return the mapping in force as ``syncd feed show --json`` prints it."""
    return {"feed": name, "lines": [line._asdict() for line in lines]}


def partner_sheet(tx: Tx | None, config: FeedConfig, catalogue: domain.Catalogue) -> Sheet:
    """Return the sheet for the partner of a feed. ``tx`` is None before there is a store."""
    employer, names = config.employer, tuple[str, ...]()
    if tx is not None:
        with suppress(NotFound):
            owner = employers.find(tx, config.employer)
            feed_id = feeds.find(tx, config.name, owner.id)
            employer = owner.name
            names = tuple(feeds.memory(tx, feed_id).names) if feed_id is not None else ()
    return sheet_of(config, employer, names, catalogue)


# -- runs and plans --------------------------------------------------------------------------------------------


def run_view(
    tx: Tx, number: int, page: int, catalogue: domain.Catalogue, page_size: int = CHANGES_PAGE
) -> dict[str, Any]:
    """Return the report of a run with ``page`` of its changes; lists are iterators of the transaction. Raises NotFound."""
    whole = report.whole_report(tx, number, most=0)
    total, changes = history.page_of_run(tx, number, page=page, page_size=page_size)
    member = members_of(catalogue)
    listed = [
        report.change_json(entry.action, entry.reference_id, entry.job_id, report.fields_json(fields, member))
        for entry, fields in ((change.entry, change.fields) for change in changes)
    ]
    return whole | {"changes": listed, "changesPaging": report.paging_json(total, page, page_size)}


def plan_view(planned: Planned, catalogue: domain.Catalogue) -> dict[str, Any]:
    """Return the run object with ``state`` planned, and its changes. Its long lists are iterators."""
    member = members_of(catalogue)
    archiving = [(c, c.archives) for c in planned.changes if c.archives is not None]
    going = ((c.job_id or 0, c.reference_id, c.title, why) for c, why in archiving)
    return {
        **report.summary_json(
            planned.run, report.would_archive_json(sum(bool(why) for _, why in archiving), going)
        ),
        "rekeys": planned_rekeys(planned),
        "id": None,
        "state": "planned",
        "phases": {},
        "rejectedRows": map(report.rejected_json, planned.rejected),
        **report.unknown_json(planned.unknown),
        "warnings": map(report.warning_json, planned.warnings),
        "changes": (
            report.change_json(c.action, c.reference_id, c.job_id, report.fields_json(c.fields, member))
            | {"title": c.title}
            for c in planned.changes
        ),
    }


def planned_rekeys(planned: Planned, most: int | None = None) -> dict[str, Any] | None:
    """Return the jobs that could take new ids if the file were run, as ``report.rekeys_of`` does."""
    new = dict(planned.pairs)
    missing = (change for change in planned.changes if change.archives == "missing")
    listed = (
        report.rekey_json(c.reference_id, new[c.job_id], c.title, c.job_id)
        for c in missing
        if c.job_id in new
    )
    return {"total": len(new), "jobs": list(islice(listed, most))} if new else None


def first_of_plan(planned: Planned, catalogue: domain.Catalogue, most: int) -> dict[str, Any]:
    """Return the same with the first ``most`` entries of each list."""
    plan = plan_view(planned, catalogue)
    return plan | {name: list(islice(plan[name], most)) for name in ("rejectedRows", "warnings", "changes")}


def revert_view(planned: RevertPlan, changes: Collection[PlannedChange]) -> Planned:
    """Return a revert as the plan of a run: with ``holds`` and ``reason`` where it is over a limit."""
    undone, hold = planned.run, planned.hold
    run = domain.Run(
        id=0,
        feed=undone.feed,
        employer_id=undone.employer_id,
        employer=undone.employer,
        kind=domain.RunKind.REVERT,
        state=domain.RunState.CLAIMED,
        file=undone.file,
        size=0,
        counts=planned.counts,
        reverts=undone.id,
        holds=None if hold is None else domain.HoldScope.ALL if hold.all else domain.HoldScope.ARCHIVE,
        reason=None if hold is None else hold.reason,
    )
    return Planned(run, changes, warnings=planned.warnings)


# -- a job -----------------------------------------------------------------------------------------------------


def job_view(tx: Tx, job_id: int, page: int, page_size: int, catalogue: domain.Catalogue) -> dict[str, Any]:
    """Return a job, None if it was deleted, with ``page`` of its history (from 1), newest first. Raises NotFound."""
    job = jobs.by_ids(tx, [job_id]).get(job_id)
    owner_id = history.owner_of(tx, job_id) if job is None else job.employer_id
    if owner_id is None:
        raise NotFound("job", job_id)
    owner, member = employers.get(tx, owner_id), members_of(catalogue)
    total, steps = history.page(tx, owner_id, job_id, page=page, page_size=page_size)
    return {
        "id": job_id,
        "employer": {"id": owner.id, "name": owner.name},
        "job": None if job is None else _members(job, owner, member),
        "history": [_step(step, member) for step in steps],
        "historyPaging": report.paging_json(total, page, page_size),
    }


def _members(
    job: domain.Job, owner: domain.Employer, member: Callable[[str, object], object]
) -> dict[str, Any]:
    """Return the job with both application addresses, in the order of docs/specification.md 2.1."""
    fixed = {
        "id": job.id,
        "employer": {"id": owner.id, "name": owner.name},
        "locations": [asdict(place) for place in job.locations],
    }
    return {
        name: fixed[name] if name in fixed else member(name, getattr(job, domain.CHANGEABLE[name]))
        for name in domain.JOB_MEMBERS
    }


def _step(step: history.HistoryStep, member: Callable[[str, object], object]) -> dict[str, Any]:
    """Return one change: a new or deleted job with all fields that have a value, else those that differ."""
    actor, run = step.entry.actor, step.entry.run_id
    before, after = (
        {
            name: None if job is None else member(name, getattr(job, at))
            for name, at in domain.CHANGEABLE.items()
        }
        for job in (step.before, step.after)
    )
    return {
        "id": step.entry.id,
        "at": report.instant_json(step.entry.at),
        "action": step.entry.action,
        "changedBy": {
            "kind": actor.kind.value,
            "id": run if actor.kind is domain.ActorKind.RUN else actor.id,
            "label": step.by,
        },
        "run": run,
        "requestId": actor.request_id,
        "changes": [
            {"field": name, "before": old, "after": after[name]}
            for name, old in before.items()
            if old != after[name]
        ],
    }


def shown(value: Any, most: int = MAX_SHOWN) -> str:
    """Return the value of a field, as JSON has it, as one line of up to ``most`` characters."""
    match value:
        case None:
            text = "none"
        case bool():
            text = "yes" if value else "no"
        case list() | tuple():
            text = ", ".join(shown(item) for item in value) or "none"
        case dict():
            parts = (f"{name} {shown(part)}" for name, part in value.items() if part not in (None, False))
            text = str(value.get("description") or value.get("name") or ", ".join(parts))
        case _:
            text = str(value)
    cut_by_store = len(text) == most + 1 and text.endswith("…")
    if len(text) <= most or cut_by_store:
        return text
    return f"{text[:most]}… ({len(text):,} characters)"
