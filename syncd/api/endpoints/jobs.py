"""One function for each endpoint (docs/specification.md 4): parse, check, one store call, render."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from aiohttp import web

from syncd.api import idempotency
from syncd.api.context import CONTEXT, PRINCIPAL
from syncd.api.paging import ListQuery, links, paging
from syncd.api.path_ids import path_id
from syncd.domain import Job, JobInput, check_body, check_reference
from syncd.errors import NotFound
from syncd.store import Tx, jobs, upsert
from syncd.web import JSON, JSON_LD, UNCONDITIONAL, answer, conditions_of, read_object, tag_of, wants_json_ld

T = TypeVar("T")

_JSON = {"Content-Type": JSON}
_NEGOTIATED = {**_JSON, "Vary": "Accept"}
_JSON_LD = {"Content-Type": JSON_LD, "Vary": "Accept"}


async def get_job(request: web.Request) -> web.Response:
    """Answer one job (docs/specification.md 4.1). A read by key is quicker on this thread than the way to another."""
    context, employer = request.app[CONTEXT], request[PRINCIPAL].employer
    job_id = path_id(request, "job")
    if wants_json_ld(request):
        job = _found(context.store.look_up(lambda tx: jobs.get(tx, employer.id, job_id)), job_id)
        return answer(request, context.json_ld.job(job, employer), _JSON_LD)
    shown = _found(context.store.look_up(lambda tx: jobs.shown(tx, employer.id, job_id)), job_id)
    return answer(request, context.render.job(shown, employer), _NEGOTIATED)


def _found(job: T | None, job_id: int) -> T:
    if job is None:
        raise NotFound("job", job_id)
    return job


async def list_jobs(request: web.Request) -> web.Response:
    """Answer a page of job headers (docs/specification.md 4.7). The first pages of a list take microseconds;
    a search, or a page far behind, leaves this thread free."""
    context, employer = request.app[CONTEXT], request[PRINCIPAL].employer
    query, address = ListQuery.parse(request.rel_url.raw_query_string), _address(request)

    def look(tx: Tx) -> tuple[int, list[jobs.Header]]:
        return jobs.page(
            tx, employer.id, q=query.q, status=query.status, page=query.page, page_size=query.page_size
        )

    store = context.store
    total, found = store.look_up(look) if query.quick else await store.read_async(look)
    body = context.render.page(found, employer, paging(query, total, address))
    return web.Response(body=body, headers={**_JSON, **links(query, total, address)})


async def create_job(request: web.Request) -> web.Response:
    """Create a job (docs/specification.md 4.2)."""
    address, name = _address(request), idempotency.name_of(request)
    conditions, who = conditions_of(request), request[PRINCIPAL]
    body = await read_object(request, request.app[CONTEXT].settings)
    if name is not None:
        with idempotency.once(request, name, body) as (this, before):
            return before if before is not None else await _create_once(request, body, address, this)
    sent = _new(request, body)
    conditions.allow_write(None)
    job = await _write(request, lambda tx: upsert.create(tx, who.employer.id, sent, who.actor))
    return _created(request, job, address)


async def _create_once(
    request: web.Request, body: dict[str, object], address: str, this: idempotency.Once
) -> web.Response:
    """Create, and keep the answer with what it answers."""
    context, who = request.app[CONTEXT], request[PRINCIPAL]
    sent = _new(request, body)
    conditions_of(request).allow_write(None)

    def work(tx: Tx) -> tuple[bytes, dict[str, str]]:
        job = upsert.create(tx, who.employer.id, sent, who.actor)
        shown = context.render.job(job, who.employer)
        headers = {**_JSON, "ETag": tag_of(shown), "Location": f"{address}/{job.id}"}
        this.keep(tx, 201, headers, shown)
        return shown, headers

    shown, headers = await _write(request, work)
    return web.Response(body=shown, status=201, headers=headers)


async def update_job(request: web.Request) -> web.Response:
    """Update the job with an id (docs/specification.md 4.3)."""
    job_id, check_job = path_id(request, "job"), _precondition(request)
    sent = await _sent(request, addressed=job_id)
    who = request[PRINCIPAL]
    job = await _write(
        request, lambda tx: upsert.update(tx, who.employer.id, job_id, sent, who.actor, check=check_job)
    )
    return _job(request, job)


async def put_job_by_reference(request: web.Request) -> web.Response:
    """Update the job with a referenceId, or create it (docs/specification.md 4.4)."""
    address, check_job = _address(request), _precondition(request)
    sent = await _sent(request, by_reference=True)
    who = request[PRINCIPAL]
    job, created = await _write(
        request, lambda tx: upsert.put(tx, who.employer.id, sent, who.actor, check=check_job)
    )
    return _created(request, job, address) if created else _job(request, job)


async def delete_job(request: web.Request) -> web.Response:
    """Delete the job with an id (docs/specification.md 4.5)."""
    job_id, check_job = path_id(request, "job"), _precondition(request)
    who = request[PRINCIPAL]
    await _write(request, lambda tx: upsert.delete(tx, who.employer.id, job_id, who.actor, check=check_job))
    return web.Response(status=204)


async def delete_job_by_reference(request: web.Request) -> web.Response:
    """Delete the job with a referenceId (docs/specification.md 4.6)."""
    context, who = request.app[CONTEXT], request[PRINCIPAL]
    check_job = _precondition(request)
    reference = check_reference(await read_object(request, context.settings))
    await _write(
        request,
        lambda tx: upsert.delete_reference(tx, who.employer.id, reference, who.actor, check=check_job),
    )
    return web.Response(status=204)


async def _sent(
    request: web.Request, *, by_reference: bool = False, addressed: int | None = None
) -> JobInput:
    """The checked body of an update: every fault that can be known without the job, at once."""
    body = await read_object(request, request.app[CONTEXT].settings)
    return check_body(
        body, request.app[CONTEXT].catalogue, reference_required=by_reference, addressed=addressed
    )


def _new(request: web.Request, body: dict[str, object]) -> JobInput:
    """The checked body of a job that is to be made: what it lacks is told with every other fault of it."""
    context = request.app[CONTEXT]
    return check_body(body, context.catalogue, creating=context.store.now())


def _precondition(request: web.Request) -> Callable[[Job | None], None]:
    """What a write asks of the job as it is when the write is done: If-Match and If-None-Match."""
    conditions = conditions_of(request)
    if conditions is UNCONDITIONAL:
        return upsert.no_check
    render, employer = request.app[CONTEXT].render, request[PRINCIPAL].employer

    def check_job(job: Job | None) -> None:
        conditions.allow_write(None if job is None else lambda: tag_of(render.job(job, employer)))

    return check_job


async def _write(request: web.Request, work: Callable[[Tx], T]) -> T:
    return await request.app[CONTEXT].store.write_async(work)


def _job(request: web.Request, job: Job, status: int = 200, headers: dict[str, str] = _JSON) -> web.Response:
    body = request.app[CONTEXT].render.job(job, request[PRINCIPAL].employer)
    return web.Response(body=body, status=status, headers={**headers, "ETag": tag_of(body)})


def _address(request: web.Request) -> str:
    """The address of the list. Asked for before anything is written: a request that cannot be answered
    changes nothing."""
    return request.app[CONTEXT].addresses.of(request, "/jobs")


def _created(request: web.Request, job: Job, address: str) -> web.Response:
    return _job(request, job, 201, {**_JSON, "Location": f"{address}/{job.id}"})
