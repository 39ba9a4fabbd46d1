"""One job with its history (docs/pages.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from syncd.domain import CHANGEABLE, JOB_MEMBERS, ActorKind, Catalogue, Employer, Job
from syncd.errors import NotFound
from syncd.feeds.native import members_of
from syncd.store import Tx, employers, history, jobs
from syncd.sync.report import instant_json, paging_json


def job_view(tx: Tx, job_id: int, page: int, page_size: int, catalogue: Catalogue) -> dict[str, Any]:
    """Return a job of any employer, with ``page`` of its history (from 1), newest first. ``job`` is None for one that was
    deleted, as long as the store keeps its history. Raises NotFound."""
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
        "historyPaging": paging_json(total, page, page_size),
    }


def _members(job: Job, owner: Employer, member: Callable[[str, object], object]) -> dict[str, Any]:
    """Return the job with both application addresses, in the order of docs/specification.md 2.1."""
    fixed = {"id": job.id, "employer": {"id": owner.id, "name": owner.name}}
    return {
        name: fixed[name] if name in fixed else member(name, getattr(job, CHANGEABLE[name]))
        for name in JOB_MEMBERS
    }


def _step(step: history.HistoryStep, member: Callable[[str, object], object]) -> dict[str, Any]:
    """Return one change: a new or deleted job with all fields that have a value, else those that differ."""
    actor, run = step.entry.actor, step.entry.run_id
    sides = [
        {name: None if job is None else member(name, getattr(job, at)) for name, at in CHANGEABLE.items()}
        for job in (step.before, step.after)
    ]
    changed = ((name, old, sides[1][name]) for name, old in sides[0].items())
    return {
        "id": step.entry.id,
        "at": instant_json(step.entry.at),
        "action": step.entry.action,
        "changedBy": {
            "kind": actor.kind.value,
            "id": run if actor.kind is ActorKind.RUN else actor.id,
            "label": step.by,
        },
        "run": run,
        "requestId": actor.request_id,
        "changes": [{"field": name, "before": old, "after": new} for name, old, new in changed if old != new],
    }
