"""The jobs of an employer, searched and filtered, and one job with its history."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import nh3
from aiohttp import web
from markupsafe import Markup

from syncd.console.visit import Visit, paging
from syncd.domain import HTML_SCHEMES, HTML_TAGS, Employer, Status
from syncd.store import Tx, employers, jobs
from syncd.sync.report import header_json
from syncd.views import job_view
from syncd.web import Refusal

#: Jobs on a page unless ``limit`` asks for others, and changes of a job on a page.
PAGE, MOST, CHANGES = 50, 1000, 20
#: Employers up to which the form lists all; above, it takes a name or an id.
LISTED = 200
#: The longest text that is searched for: no title is longer.
LONGEST_TEXT = 256
#: What the page shows of a job below its description, as the history names it.
_ABOVE = frozenset({"id", "employer", "title", "description", "status"})
#: Characters of a description that a page shows: the time to clean nested elements grows with the square of their number.
LONGEST = 20_000

_CLEANER = nh3.Cleaner(
    tags=set(HTML_TAGS),
    clean_content_tags={"script", "style"},
    attributes={"a": {"href"}},
    strip_comments=True,
    link_rel="noopener noreferrer nofollow",
    url_schemes=set(HTML_SCHEMES),
    url_relative="deny",
)


async def list_jobs(visit: Visit) -> web.StreamResponse:
    """Answer the jobs of one employer; as JSON what ``syncd jobs --json`` prints, page by page. Raises NotFound (employer)."""
    q, status = visit.text("q") or None, visit.choice("status", Status)
    if q is not None and len(q) > LONGEST_TEXT:
        raise Refusal("invalid_parameter", f"q has more than {LONGEST_TEXT} characters")
    limit, page = visit.number("limit", PAGE, MOST), visit.number("page")
    wanted = visit.text("employer")

    def found(tx: Tx) -> dict[str, Any]:
        owner, everyone = _owner(tx, wanted, several=not visit.wants_json), employers.all(tx)
        names = sorted(employer.name for employer in everyone) if len(everyone) <= LISTED else []
        if owner is None:
            return {"owner": None, "employers": names, "total": 0, "jobs": []}
        total, listed = jobs.page(tx, owner.id, q=q, status=status, page=page, page_size=limit)
        headers = [header_json(header, owner) for header in listed]
        return {"owner": owner, "employers": names, "total": total, "jobs": headers}

    values = await visit.read(found)
    if visit.wants_json:
        return visit.json(values["jobs"])
    owner, total = values["owner"], values.pop("total")
    chosen = {"employer": owner and owner.name, "q": q, "status": status and status.value}
    return visit.page(
        "jobs.html.j2",
        **values,
        **paging(total, page, limit),
        q=q,
        status_now=status and status.value,
        statuses=[status.value for status in Status],
        query=urlencode({name: value for name, value in chosen.items() if value}),
    )


def _owner(tx: Tx, wanted: str, *, several: bool) -> Employer | None:
    """Return the employer with this name or id; without one the only employer, or with ``several`` the first by name; None
    if there is none yet. Raises NotFound, ``invalid_parameter``."""
    if wanted:
        return employers.find(tx, wanted[:200])
    everyone = sorted(employers.all(tx), key=lambda employer: employer.name)
    if len(everyone) > 1 and not several:
        raise Refusal("invalid_parameter", "employer: give the name or the id of one of them")
    return everyone[0] if everyone else None


async def show(visit: Visit) -> web.StreamResponse:
    """Answer one job as candidates would see it, its fields and its history."""
    number, page = visit.path_number("job"), visit.number("page")
    catalogue = visit.context.catalogue
    found, description = await visit.read(
        lambda tx: _with_html(job_view(tx, number, page, CHANGES, catalogue))
    )
    if visit.wants_json:
        return visit.json(found)
    job = found["job"] or {}
    return visit.page(
        "job.html.j2",
        view=found,
        job=job,
        fields={name: value for name, value in job.items() if name not in _ABOVE},
        description=description,
        cut=LONGEST if len(job.get("description") or "") > LONGEST else None,
        page=page,
    )


def _with_html(view: dict[str, Any]) -> tuple[dict[str, Any], Markup]:
    """Return the view, and the HTML of the description, cut to ``LONGEST`` characters: only the tags of
    docs/specification.md 2.6, each closed, links with their address alone. It is for the thread that reads, because it may take
    a while."""
    description = (view["job"] or {}).get("description") or ""
    return view, Markup(_CLEANER.clean(description[:LONGEST]))  # noqa: S704 - it is clean now


ROUTES = {"/jobs": {"GET": list_jobs}, "/jobs/{number}": {"GET": show}}
