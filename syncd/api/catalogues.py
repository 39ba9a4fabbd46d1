"""The endpoints of position types, categories, salary periods, routing types and locations (docs/api.md "Catalogues"). A retired
entry is not in the list, but is found by its id, because jobs may have it."""

from aiohttp import web
from aiohttp.typedefs import Handler

from syncd.api.payloads import CatalogueResource, encode
from syncd.api.requests import CONTEXT, PRINCIPAL, ListQuery, path_id
from syncd.errors import NotFound
from syncd.store import places
from syncd.web import JSON

_HEADERS = {"Content-Type": JSON}
LOCATION_PARAMETERS = frozenset({"q", "pageSize", "page"})


def list_of(resource: CatalogueResource) -> Handler:
    async def serve(request: web.Request) -> web.Response:
        context = request.app[CONTEXT]
        entries, shapes = (
            context.catalogue.entries(resource.catalogue),
            context.render.shapes[resource.catalogue],
        )
        offered = [shapes[id] for id, entry in entries.items() if not entry.retired]
        return web.Response(body=encode({"data": offered}), headers=_HEADERS)

    return serve


def entry_of(resource: CatalogueResource) -> Handler:
    async def serve(request: web.Request) -> web.Response:
        shape = request.app[CONTEXT].render.shapes[resource.catalogue].get(path_id(request, "entry"))
        if shape is None:
            raise NotFound("entry", request.match_info["id"])
        return web.Response(body=encode(shape), headers=_HEADERS)

    return serve


async def list_locations(request: web.Request) -> web.Response:
    """Answer a page of the shipped places and those that the employer's own jobs have added, shortest name first."""
    context, employer = request.app[CONTEXT], request[PRINCIPAL].employer
    query = ListQuery.parse(request.rel_url.raw_query_string, LOCATION_PARAMETERS)
    address = context.addresses.of(request, "/locations")
    total, locations = await context.store.read_async(
        lambda tx: places.page(tx, employer.id, q=query.q, page=query.page, page_size=query.page_size)
    )
    paging, links = query.paging(total, address)
    return web.Response(body=encode({"data": locations, "paging": paging}), headers={**_HEADERS, **links})


async def get_location(request: web.Request) -> web.Response:
    context, employer = request.app[CONTEXT], request[PRINCIPAL].employer
    place_id = path_id(request, "location")
    place = context.store.look_up(lambda tx: places.get(tx, employer.id, place_id))
    if place is None:
        raise NotFound("location", place_id)
    return web.Response(body=encode(place), headers=_HEADERS)
