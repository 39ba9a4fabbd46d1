"""The endpoints of locations (docs/api.md "Catalogues")."""

from __future__ import annotations

from aiohttp import web

from syncd.api.context import CONTEXT, PRINCIPAL
from syncd.api.parameters import ListQuery, path_id
from syncd.errors import NotFound
from syncd.store import places
from syncd.web import JSON, answer

_HEADERS = {"Content-Type": JSON}
PARAMETERS = frozenset({"q", "pageSize", "page"})


async def list_locations(request: web.Request) -> web.Response:
    """Answer a page of the shipped places and those that the employer's own jobs have added, shortest name first."""
    context, employer = request.app[CONTEXT], request[PRINCIPAL].employer
    query = ListQuery.parse(request.rel_url.raw_query_string, PARAMETERS)
    address = context.addresses.of(request, "/locations")
    total, found = await context.store.read_async(
        lambda tx: places.page(tx, employer.id, q=query.q, page=query.page, page_size=query.page_size)
    )
    paging, links = query.paging(total, address)
    return answer(request, context.render.locations(found, paging), {**_HEADERS, **links})


async def get_location(request: web.Request) -> web.Response:
    """Answer one location."""
    context, employer = request.app[CONTEXT], request[PRINCIPAL].employer
    place_id = path_id(request, "location")
    place = context.store.look_up(lambda tx: places.get(tx, employer.id, place_id))
    if place is None:
        raise NotFound("location", place_id)
    return answer(request, context.render.location(place), _HEADERS)
