"""The endpoints of position types, categories, salary periods and routing types (docs/api.md "Catalogues").

A list has what a new job may have. A retired entry is not in the list, but is found by its id, because jobs may have it.
"""

from __future__ import annotations

from aiohttp import web
from aiohttp.typedefs import Handler

from syncd.api.catalogue_resources import CatalogueResource
from syncd.api.context import CONTEXT
from syncd.api.parameters import path_id
from syncd.errors import NotFound
from syncd.web import JSON, answer

_HEADERS = {"Content-Type": JSON}


def list_of(resource: CatalogueResource) -> Handler:
    """Return the handler of the list."""

    async def serve(request: web.Request) -> web.Response:
        return answer(request, request.app[CONTEXT].render.catalogue(resource.catalogue), _HEADERS)

    return serve


def entry_of(resource: CatalogueResource) -> Handler:
    """Return the handler of one entry."""

    async def serve(request: web.Request) -> web.Response:
        found = request.app[CONTEXT].render.catalogue_entry(resource.catalogue, path_id(request, "entry"))
        if found is None:
            raise NotFound("entry", request.match_info["id"])
        return answer(request, found, _HEADERS)

    return serve
