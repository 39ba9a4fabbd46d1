"""Which address takes which method: one table, from which routing, 405, Allow and OPTIONS all follow."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from syncd.api.endpoints import catalogues, documentation, job_history, jobs, locations
from syncd.web import Handler, add_endpoint, add_nothing_else

#: Path under the base → method → handler. HEAD follows from GET, OPTIONS from the row.
ROUTES: Mapping[str, Mapping[str, Handler]] = {
    "/jobs/{id}": {
        "GET": jobs.get_job,
        "PUT": jobs.update_job,
        "DELETE": jobs.delete_job,
    },
    "/jobs": {
        "GET": jobs.list_jobs,
        "POST": jobs.create_job,
        "PUT": jobs.put_job_by_reference,
        "DELETE": jobs.delete_job_by_reference,
    },
    "/jobs/{id}/history": {"GET": job_history.list_history},
    "/positiontypes": {"GET": catalogues.list_of("positiontypes")},
    "/positiontypes/{id}": {"GET": catalogues.entry_of("positiontypes")},
    "/categories": {"GET": catalogues.list_of("categories")},
    "/categories/{id}": {"GET": catalogues.entry_of("categories")},
    "/salaryperiods": {"GET": catalogues.list_of("salaryperiods")},
    "/salaryperiods/{id}": {"GET": catalogues.entry_of("salaryperiods")},
    "/applicantroutingtypes": {"GET": catalogues.list_of("applicantroutingtypes")},
    "/applicantroutingtypes/{id}": {"GET": catalogues.entry_of("applicantroutingtypes")},
    "/locations": {"GET": locations.list_locations},
    "/locations/{id}": {"GET": locations.get_location},
    "/openapi.json": {"GET": documentation.openapi},
}


def add_routes(app: web.Application, base_path: str) -> None:
    """The whole table under ``base_path``, and an answer for every other address."""
    for path, methods in ROUTES.items():
        add_endpoint(app, base_path + path, methods)
    add_nothing_else(app, f"{base_path}/openapi.json")
