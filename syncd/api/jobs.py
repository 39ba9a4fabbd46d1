"""The endpoints of jobs (docs/specification.md 4), one function each: parse, check, one call of the store, render."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from aiohttp import web

from syncd.api import idempotency
from syncd.api.requests import CONTEXT, PRINCIPAL, ListQuery, path_id
from syncd.domain import Actor, ActorKind, Job, JobInput, check_body, check_reference
from syncd.errors import Invalid, NotFound
from syncd.store import Tx, jobs
from syncd.store.jobs import upsert
from syncd.web import JSON, REQUEST_ID, answer, conditions_of, tag_of

T = TypeVar("T")

_JSON = {"Content-Type": JSON}
#: Entries of the index that are skipped for a near page: 1,000 take about as long as rendering one job.
NEAR = 1_000


async def get_job(request: web.Request) -> web.Response:
    """Answer one job (docs/specification.md 4.1). A read by key takes less time than the way to another thread."""
    context, employer = request.app[CONTEXT], request[PRINCIPAL].employer
    job_id = path_id(request, "job")
    job = context.store.look_up(lambda tx: jobs.shown(tx, employer.id, job_id))
    if job is None:
        raise NotFound("job", job_id)
    return answer(request, context.render.job(job, employer), _JSON)


async def list_jobs(request: web.Request) -> web.Response:
    """Answer a page of job headers (docs/specification.md 4.7). A search and a later page are read in another thread; a near
    page is found within some tens of microseconds, for any number of jobs."""
    context, employer = request.app[CONTEXT], request[PRINCIPAL].employer
    query, address = ListQuery.parse(request.rel_url.raw_query_string), _address(request)
    q, status, page, page_size = query.q, query.status, query.page, query.page_size

    def near(tx: Tx) -> tuple[int, list[jobs.JobView]] | None:
        return jobs.near_page(tx, employer.id, status=status, page=page, page_size=page_size)

    def look(tx: Tx) -> tuple[int, list[jobs.JobView]]:
        return jobs.page(tx, employer.id, q=q, status=status, page=page, page_size=page_size)

    store = context.store
    listed = store.look_up(near) if not q and page * page_size <= NEAR else None
    total, views = await store.read_async(look) if listed is None else listed
    paging, links = query.paging(total, address)
    return web.Response(body=context.render.page(views, employer, paging), headers={**_JSON, **links})


async def create_job(request: web.Request) -> web.Response:
    """Create a job (docs/specification.md 4.2)."""
    context, employer = request.app[CONTEXT], request[PRINCIPAL].employer
    address, name, conditions = _address(request), idempotency.name_of(request), conditions_of(request)

    def judge(body: dict[str, object]) -> tuple[bytes, JobInput | Invalid]:
        digest = b"" if name is None else idempotency.digest(body)
        try:
            return digest, check_body(body, context.catalogue, creating=context.store.now())
        except Invalid as invalid:
            return digest, invalid

    digest, sent = await context.bodies.read(request, judge)
    with idempotency.once(request, name, digest) as (keep, before):
        if before is not None:
            return before
        if isinstance(sent, Invalid):
            raise sent
        new = sent
        conditions.allow_write(None)

        def work(tx: Tx, owner: int, actor: Actor) -> tuple[bytes, dict[str, str]]:
            job = upsert.create(tx, owner, new, actor)
            shown = context.render.job(job, employer)
            headers = {**_JSON, "Location": f"{address}/{job.id}", "ETag": tag_of(shown)}
            keep(tx, 201, headers, shown)
            return shown, headers

        shown, headers = await _write(request, work)
    return web.Response(body=shown, status=201, headers=headers)


async def update_job(request: web.Request) -> web.Response:
    """Update the job with an id (docs/specification.md 4.3)."""
    job_id, check_job = path_id(request, "job"), _precondition(request)
    sent = await _sent(request, addressed=job_id)
    job = await _write(
        request, lambda tx, owner, actor: upsert.update(tx, owner, job_id, sent, actor, check=check_job)
    )
    return _job(request, job)


async def put_job_by_reference(request: web.Request) -> web.Response:
    """Update the job with a referenceId, or create it (docs/specification.md 4.4)."""
    address, check_job = _address(request), _precondition(request)
    sent = await _sent(request, by_reference=True)
    job, created = await _write(
        request, lambda tx, owner, actor: upsert.put(tx, owner, sent, actor, check=check_job)
    )
    return _job(request, job, 201, Location=f"{address}/{job.id}") if created else _job(request, job)


async def delete_job(request: web.Request) -> web.Response:
    """Delete the job with an id (docs/specification.md 4.5)."""
    job_id, check_job = path_id(request, "job"), _precondition(request)
    await _write(request, lambda tx, owner, actor: upsert.delete(tx, owner, job_id, actor, check=check_job))
    return web.Response(status=204)


async def delete_job_by_reference(request: web.Request) -> web.Response:
    """Delete the job with a referenceId (docs/specification.md 4.6)."""
    check_job = _precondition(request)
    reference = await request.app[CONTEXT].bodies.read(request, check_reference)
    await _write(
        request,
        lambda tx, owner, actor: upsert.delete_reference(tx, owner, reference, actor, check=check_job),
    )
    return web.Response(status=204)


def _sent(
    request: web.Request, *, by_reference: bool = False, addressed: int | None = None
) -> Awaitable[JobInput]:
    """Return the checked body of an update. Raise Invalid with every fault that shows without the job."""
    context = request.app[CONTEXT]
    judge = partial(
        check_body, catalogue=context.catalogue, reference_required=by_reference, addressed=addressed
    )
    return context.bodies.read(request, judge)


def _precondition(request: web.Request) -> Callable[[Job | None], None]:
    """Return the check of If-Match and If-None-Match, which runs in the transaction of the write."""
    conditions, context, employer = conditions_of(request), request.app[CONTEXT], request[PRINCIPAL].employer

    def check_job(job: Job | None) -> None:
        conditions.allow_write(None if job is None else lambda: tag_of(context.render.job(job, employer)))

    return check_job


async def _write(request: web.Request, work: Callable[[Tx, int, Actor], T]) -> T:
    """Do ``work`` in a write, with the id of the key's employer and with who makes the change."""
    who = request[PRINCIPAL]
    actor = Actor(ActorKind.KEY, who.key_id, request[REQUEST_ID])
    return await request.app[CONTEXT].store.write_async(lambda tx: work(tx, who.employer.id, actor))


def _job(request: web.Request, job: Job, status: int = 200, **headers: str) -> web.Response:
    body = request.app[CONTEXT].render.job(job, request[PRINCIPAL].employer)
    return web.Response(body=body, status=status, headers={**_JSON, **headers, "ETag": tag_of(body)})


def _address(request: web.Request) -> str:
    """Return the address of the list of jobs. It is made before anything is written: it may raise ``malformed_request``."""
    return request.app[CONTEXT].addresses.of(request, "/jobs")
