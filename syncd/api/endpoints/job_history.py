"""``GET /jobs/{id}/history``: the changes of a job.

Every key of the job's employer may read them, also after the job was deleted, for as long as the store keeps past values.
Both application addresses are shown, not only the one that the routing type uses.
"""

from __future__ import annotations

from aiohttp import web

from syncd.api.context import CONTEXT, PRINCIPAL
from syncd.api.parameters import ListQuery, path_id
from syncd.api.payloads import Renderer, Shape, encode
from syncd.domain import CHANGEABLE, ActorKind, Employer
from syncd.errors import NotFound
from syncd.store import history
from syncd.web import JSON

PARAMETERS = frozenset({"pageSize", "page"})


async def list_history(request: web.Request) -> web.Response:
    """Answer a page of changes, newest first."""
    context, employer = request.app[CONTEXT], request[PRINCIPAL].employer
    job_id = path_id(request, "job")
    query = ListQuery.parse(request.rel_url.raw_query_string, PARAMETERS)
    address = context.addresses.of(request, f"/jobs/{job_id}/history")
    total, steps = await context.store.read_async(
        lambda tx: history.page(tx, employer.id, job_id, page=query.page, page_size=query.page_size)
    )
    if not total:
        raise NotFound("job", job_id)
    paging, links = query.paging(total, address)
    data = [history_entry(step, context.render, employer) for step in steps]
    body = encode({"data": data, "paging": paging})
    return web.Response(body=body, headers={"Content-Type": JSON, **links})


def history_entry(step: history.HistoryStep, render: Renderer, employer: Employer) -> Shape:
    """Return one change as it is answered."""
    entry = step.entry
    return {
        "id": entry.id,
        "at": entry.at,
        "action": entry.action,
        "changedBy": _who(step),
        "changes": _changes(step, render, employer),
    }


def _who(step: history.HistoryStep) -> Shape:
    """Return who made the change. A run keeps its id when an operator has approved it. The service and the operator
    have no id."""
    actor = step.entry.actor
    number = step.entry.run_id if actor.kind is ActorKind.RUN else actor.id
    return {"kind": actor.kind.value, "id": number, "label": step.by}


def _changes(step: history.HistoryStep, render: Renderer, employer: Employer) -> list[Shape]:
    """Return the fields that differ; of a new or a deleted job all that have a value."""
    before, after = (
        None if job is None else render.shape(job, employer) for job in (step.before, step.after)
    )
    values = ((name, getattr(before, name, None), getattr(after, name, None)) for name in CHANGEABLE)
    return [{"field": name, "before": old, "after": new} for name, old, new in values if old != new]
