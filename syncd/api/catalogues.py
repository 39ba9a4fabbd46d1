"""The catalogues by which jobs are sorted: position types, categories, periods, routing types, locations
(docs/api.md "Catalogues").

A list offers what a new job may have. An entry that is retired is not on it, and still found by its id: jobs
may have it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from syncd.api.conditional import answer
from syncd.api.context import CONTEXT, PRINCIPAL
from syncd.api.ids import path_id
from syncd.api.negotiation import JSON
from syncd.api.paging import ListQuery, links, paging
from syncd.errors import NotFound
from syncd.store import places

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_HEADERS = {"Content-Type": JSON}
PARAMETERS = frozenset({"q", "pageSize", "page"})


def list_of(kind: str) -> Handler:
    """The handler of ``GET /{kind}``."""

    async def serve(request: web.Request) -> web.Response:
        return answer(request, request.app[CONTEXT].render.catalogue(kind), _HEADERS)

    return serve


def entry_of(kind: str) -> Handler:
    """The handler of ``GET /{kind}/{id}``."""

    async def serve(request: web.Request) -> web.Response:
        found = request.app[CONTEXT].render.catalogue_entry(kind, path_id(request, "entry"))
        if found is None:
            raise NotFound("entry", request.match_info["id"])
        return answer(request, found, _HEADERS)

    return serve


async def list_locations(request: web.Request) -> web.Response:
    """Shipped places and those that the employer's own jobs have added, shortest name first."""
    context, employer = request.app[CONTEXT], request[PRINCIPAL].employer
    query = ListQuery.parse(request.rel_url.raw_query_string, PARAMETERS)
    address = context.addresses.of(request, "/locations")
    total, found = await context.store.read_async(
        lambda tx: places.page(tx, employer.id, q=query.q, page=query.page, page_size=query.page_size)
    )
    body = context.render.locations(found, paging(query, total, address))
    return answer(request, body, {**_HEADERS, **links(query, total, address)})


async def get_location(request: web.Request) -> web.Response:
    context, employer = request.app[CONTEXT], request[PRINCIPAL].employer
    place_id = path_id(request, "location")
    place = context.store.look_up(lambda tx: places.get(tx, employer.id, place_id))
    if place is None:
        raise NotFound("location", place_id)
    return answer(request, context.render.location(place), _HEADERS)
