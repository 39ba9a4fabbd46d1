"""The catalogues by which jobs are sorted: position types, categories, periods, routing types
(docs/api.md "Catalogues").

A list offers what a new job may have. An entry that is retired is not on it, and still found by its id: jobs
may have it.
"""

from __future__ import annotations

from aiohttp import web
from aiohttp.typedefs import Handler

from syncd.api.catalogues import CatalogueResource
from syncd.api.context import CONTEXT
from syncd.api.path_ids import path_id
from syncd.errors import NotFound
from syncd.web import JSON, answer

_HEADERS = {"Content-Type": JSON}


def list_of(resource: CatalogueResource) -> Handler:
    """The handler of its list."""

    async def serve(request: web.Request) -> web.Response:
        return answer(request, request.app[CONTEXT].render.catalogue(resource.catalogue), _HEADERS)

    return serve


def entry_of(resource: CatalogueResource) -> Handler:
    """The handler of one of its entries."""

    async def serve(request: web.Request) -> web.Response:
        found = request.app[CONTEXT].render.catalogue_entry(resource.catalogue, path_id(request, "entry"))
        if found is None:
            raise NotFound("entry", request.match_info["id"])
        return answer(request, found, _HEADERS)

    return serve
