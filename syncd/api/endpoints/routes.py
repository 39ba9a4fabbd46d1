"""The table of the addresses and their methods."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web
from aiohttp.typedefs import Handler

from syncd.api.catalogue_resources import CATALOGUES
from syncd.api.context import CONTEXT
from syncd.api.endpoints import catalogues, documentation, job_history, jobs, locations, problem_pages
from syncd.web import add_endpoint, add_not_found

#: Path under the base path → method → handler. HEAD, OPTIONS, Allow and 405 follow from these.
ROUTES: Mapping[str, Mapping[str, Handler]] = {
    "/jobs/{id}": {"GET": jobs.get_job, "PUT": jobs.update_job, "DELETE": jobs.delete_job},
    "/jobs": {
        "GET": jobs.list_jobs,
        "POST": jobs.create_job,
        "PUT": jobs.put_job_by_reference,
        "DELETE": jobs.delete_job_by_reference,
    },
    "/jobs/{id}/history": {"GET": job_history.list_history},
    **{resource.path: {"GET": catalogues.list_of(resource)} for resource in CATALOGUES},
    **{f"{resource.path}/{{id}}": {"GET": catalogues.entry_of(resource)} for resource in CATALOGUES},
    "/locations": {"GET": locations.list_locations},
    "/locations/{id}": {"GET": locations.get_location},
    "/openapi.json": {"GET": documentation.openapi},
}


def add_routes(app: web.Application, base_path: str) -> None:
    """Serve the pages of documentation, the table under ``base_path``, and a 404 at every other address."""
    _add_documentation(app, base_path)
    for path, methods in ROUTES.items():
        add_endpoint(app, base_path + path, methods)
    add_not_found(app, f"{base_path}/openapi.json")


def _add_documentation(app: web.Application, base_path: str) -> None:
    """Serve ``/docs`` and the pages that the ``type`` of a problem names. They need no key, nor does the document."""
    add_endpoint(app, "/docs", {"GET": documentation.page})
    add_endpoint(app, "/docs/{file}", {"GET": documentation.asset})
    add_endpoint(app, "/problems/{code}", {"GET": problem_pages.page})
    app[CONTEXT].open_paths.update(
        (f"{base_path}/openapi.json", "/docs"),
        (f"/docs/{name}" for name in documentation.FILES),
        (f"/problems/{code}" for code in problem_pages.EXPLANATIONS),
    )
