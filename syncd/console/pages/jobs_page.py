"""The jobs of an employer, or of all, searched and filtered, and one job with its history."""

from typing import Any
from urllib.parse import urlencode

import nh3
from aiohttp import web
from markupsafe import Markup

from syncd.console.visit import MAX_NUMBER, Visit, paging
from syncd.domain import HTML_SCHEMES, HTML_TAGS, Employer, Status
from syncd.errors import NotFound
from syncd.store import Tx, employers, feeds, jobs
from syncd.sync.report import header_json
from syncd.views import job_view
from syncd.web import Refusal

#: Jobs on a page unless ``limit`` asks for others, which may be up to a maximum; changes of a job on a page.
PAGE, MAX_PAGE, CHANGES = 50, 1000, 20
#: Employers up to which the form lists all; above, it takes a name or an id.
LISTED = 200
#: Employers that a search looks through although it has a whole page: each may take a millisecond.
SEARCHED = 20
#: Characters of a search text: no title is longer.
MAX_TEXT = 256
#: Fields that the page shows above the others, as the history names them.
_ABOVE = frozenset({"id", "employer", "title", "description", "status"})
#: Characters of a description that a page shows: the time to clean nested elements grows with the square of their number.
MAX_DESCRIPTION = 20_000

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
    """Answer the jobs of one employer, or without one those of all (to a program with ``q`` only); as JSON those of ``syncd jobs
    --json``, page by page. Raises NotFound (employer, feed)."""
    q, status = visit.text("q") or None, visit.choice("status", Status)
    if q is not None and len(q) > MAX_TEXT:
        raise Refusal("invalid_parameter", f"q has more than {MAX_TEXT} characters")
    limit, page, feed = visit.number("limit", PAGE, MAX_PAGE), visit.number("page"), visit.text("feed")

    def read(tx: Tx) -> dict[str, Any]:
        everyone = sorted(employers.all(tx), key=lambda employer: employer.name)
        names = [employer.name for employer in everyone] if len(everyone) <= LISTED else []
        shown: dict[str, Any] = {
            "owner": None,
            "everywhere": False,
            "totals": [],
            "unsearched": 0,
            "jobs": [],
        }
        many = len(everyone) > 1 and not (visit.text("employer") or feed)
        if many and (q is not None or (names and not visit.wants_json)):
            total, by_owner, unsearched = _search_all(tx, everyone, q, status, limit)
            shown |= {"everywhere": True, "unsearched": unsearched}
            shown["totals"] = [(owner.name, number, len(some)) for owner, number, some in by_owner]
            shown["jobs"] = [header_json(header, owner) for owner, _, some in by_owner for header in some]
            return shown | {"employers": names} | paging(total, 1, MAX_NUMBER)
        owner, total = _owner(tx, visit, everyone), 0
        if owner is not None:
            feed_id = (feeds.find(tx, feed, owner.id) or 0) if feed else None  # no feed has the id 0
            total, listed = jobs.page(
                tx, owner.id, q=q, status=status, page=page, page_size=limit, feed_id=feed_id
            )
            shown["jobs"] = [header_json(header, owner) for header in listed]
        return shown | {"owner": owner, "employers": names} | paging(total, page, limit)

    values = await visit.read(read)
    if visit.wants_json:
        return visit.json(values["jobs"])
    owner = values["owner"]
    query = {"employer": owner and owner.name, "feed": feed, "q": q, "status": status and status.value}
    return visit.page(
        "jobs.html.j2",
        **values,
        q=q,
        feed=feed,
        feeds=[*visit.console.configured.files][:LISTED],
        named=bool(visit.text("employer")),
        status_now=status and status.value,
        statuses=[status.value for status in Status],
        query=urlencode({name: value for name, value in query.items() if value}),
    )


def _search_all(
    tx: Tx, everyone: list[Employer], q: str | None, status: Status | None, limit: int
) -> tuple[int, list[tuple[Employer, int, list[jobs.JobView]]], int]:
    """Return how many jobs of all employers match; of each employer with one how many, and the first of them, ``limit`` of all
    together; and the number of employers that were not searched, because the others have as many."""
    found: list[tuple[Employer, int, list[jobs.JobView]]] = []
    left = limit
    for at, owner in enumerate(everyone):
        if not left and q is not None and at >= SEARCHED:
            return sum(total for _, total, _ in found), found, len(everyone) - at
        if not left and q is None:
            total, some = jobs.count(tx, owner.id, status), list[jobs.JobView]()
        else:
            total, some = jobs.page(tx, owner.id, q=q, status=status, page=1, page_size=max(1, left))
        if total:
            some = some[:left]
            left -= len(some)
            found.append((owner, total, some))
    return sum(total for _, total, _ in found), found, 0


def _owner(tx: Tx, visit: Visit, everyone: list[Employer]) -> Employer | None:
    """Return the employer that the address names, or that of its feed; without them the first by name, to a program the only one.
    Raises NotFound."""
    if name := visit.text("employer"):
        return employers.find(tx, name[:200])
    if feed := visit.text("feed"):
        if known := feeds.named(tx, feed):
            return employers.get(tx, known[-1][1])
        if feed not in visit.console.configured.files:
            raise NotFound("feed", feed[:100])
    if len(everyone) > 1 and visit.wants_json:
        raise Refusal("invalid_parameter", "employer: give the name or the id of one employer")
    return everyone[0] if everyone else None


async def show(visit: Visit) -> web.StreamResponse:
    """Answer one job as candidates would see it, its fields and its history."""
    number, page, catalogue = visit.path_number("job"), visit.number("page"), visit.console.catalogue

    def read(tx: Tx) -> tuple[dict[str, Any], Markup]:
        """Return the job, and the HTML of its description, cut: only the tags of docs/specification.md 2.6, each closed, links
        with their address alone. To clean it may take a while."""
        view = job_view(tx, number, page, CHANGES, catalogue)
        html = ((view["job"] or {}).get("description") or "")[:MAX_DESCRIPTION]
        return view, Markup(_CLEANER.clean(html))  # noqa: S704 - it is clean now

    view, description = await visit.read(read)
    if visit.wants_json:
        return visit.json(view)
    job = view["job"] or {}
    return visit.page(
        "job.html.j2",
        view=view,
        job=job,
        fields={name: value for name, value in job.items() if name not in _ABOVE},
        description=description,
        cut=MAX_DESCRIPTION if len(job.get("description") or "") > MAX_DESCRIPTION else None,
        page=page,
    )


ROUTES = {"/jobs": {"GET": list_jobs}, "/jobs/{number}": {"GET": show}}
