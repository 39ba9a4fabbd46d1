"""Section 4 of the specification, one function for each endpoint: parse, check, one store call, render."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from aiohttp import web

from syncd.api.body import read_object
from syncd.api.context import CONTEXT, PRINCIPAL
from syncd.api.paging import ListQuery, paging
from syncd.domain.job import Job, JobInput
from syncd.domain.rules import check, check_reference
from syncd.errors import NotFound
from syncd.store import Tx, jobs, upsert

T = TypeVar("T")

_INT32 = re.compile(r"0|-?[1-9][0-9]{0,9}")
_JSON = {"Content-Type": "application/json"}


async def get_job(request: web.Request) -> web.Response:
    """4.1. A read by key is quicker on this thread than the way to another."""
    context, employer = request.app[CONTEXT], request[PRINCIPAL].employer
    job_id = path_id(request)
    job = context.store.look_up(lambda tx: jobs.get(tx, employer.id, job_id))
    if job is None:
        raise NotFound("job", job_id)
    return _job(request, job)


async def list_jobs(request: web.Request) -> web.Response:
    """4.7. The first pages of a list take microseconds; a search, or a page far behind, leaves this thread
    free."""
    context, employer = request.app[CONTEXT], request[PRINCIPAL].employer
    query, address = ListQuery.parse(request.rel_url.raw_query_string), _address(request)

    def look(tx: Tx) -> tuple[int, list[jobs.Header]]:
        return jobs.page(
            tx, employer.id, q=query.q, status=query.status, page=query.page, page_size=query.page_size
        )

    store = context.store
    total, found = store.read(look) if query.quick else await store.read_async(look)
    body = context.render.page(found, employer, paging(query, total, address))
    return web.Response(body=body, headers=_JSON)


async def create_job(request: web.Request) -> web.Response:
    """4.2."""
    address = _address(request)
    sent = await _sent(request, creating=True)
    who = request[PRINCIPAL]
    job = await _write(request, lambda tx: upsert.create(tx, who.employer.id, sent, who.actor))
    return _created(request, job, address)


async def update_job(request: web.Request) -> web.Response:
    """4.3."""
    job_id = path_id(request)
    sent = await _sent(request)
    who = request[PRINCIPAL]
    job = await _write(request, lambda tx: upsert.update(tx, who.employer.id, job_id, sent, who.actor))
    return _job(request, job)


async def put_job_by_reference(request: web.Request) -> web.Response:
    """4.4."""
    address = _address(request)
    sent = await _sent(request, by_reference=True)
    who = request[PRINCIPAL]
    job, created = await _write(request, lambda tx: upsert.put(tx, who.employer.id, sent, who.actor))
    return _created(request, job, address) if created else _job(request, job)


async def delete_job(request: web.Request) -> web.Response:
    """4.5."""
    job_id = path_id(request)
    who = request[PRINCIPAL]
    await _write(request, lambda tx: upsert.delete(tx, who.employer.id, job_id, who.actor))
    return web.Response(status=204)


async def delete_job_by_reference(request: web.Request) -> web.Response:
    """4.6."""
    context, who = request.app[CONTEXT], request[PRINCIPAL]
    reference = check_reference(await read_object(request, context.settings))
    await _write(request, lambda tx: upsert.delete_reference(tx, who.employer.id, reference, who.actor))
    return web.Response(status=204)


def path_id(request: web.Request) -> int:
    """The ``{id}`` of the path. What is not a plain Int32 (``007``, ``+7``, ``1.0``) names no job."""
    text = request.match_info["id"]
    if _INT32.fullmatch(text) and -(2**31) <= (number := int(text)) < 2**31:
        return number
    raise NotFound("job", text[:50])


async def _sent(request: web.Request, *, creating: bool = False, by_reference: bool = False) -> JobInput:
    """The checked body. Every fault of it is told at once; of a body that is to make a job also what it lacks."""
    context = request.app[CONTEXT]
    body = await read_object(request, context.settings)
    moment = context.store.now() if creating else None
    return check(body, context.catalog, creating=moment, reference_required=by_reference)


async def _write(request: web.Request, work: Callable[[Tx], T]) -> T:
    return await request.app[CONTEXT].store.write_async(work)


def _job(request: web.Request, job: Job, status: int = 200, headers: dict[str, str] = _JSON) -> web.Response:
    body = request.app[CONTEXT].render.job(job, request[PRINCIPAL].employer)
    return web.Response(body=body, status=status, headers=headers)


def _address(request: web.Request) -> str:
    """The address of the list. Asked for before anything is written: a request that cannot be answered
    changes nothing."""
    return request.app[CONTEXT].addresses.of(request, "/jobs")


def _created(request: web.Request, job: Job, address: str) -> web.Response:
    return _job(request, job, 201, {**_JSON, "Location": f"{address}/{job.id}"})
