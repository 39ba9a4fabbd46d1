"""Employers: all of them, and one with its feeds and keys; added and renamed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import structlog
from aiohttp import web

from syncd.console.faults import Fault
from syncd.console.visit import Visit, live, paging
from syncd.domain import Employer, Status
from syncd.errors import Conflict, Invalid
from syncd.logs import Event
from syncd.store import Tx, employers, jobs, keys
from syncd.sync.report import employer_json, key_json
from syncd.web import Refusal

log = structlog.get_logger("syncd.console")

#: Employers, and keys of one, on a page.
PAGE, KEYS = 50, 50
PLANS = ("unlimited", "standard")
#: What a form may be refused with: the page shows it again, and why.
FORM_FAULTS = (Conflict, Invalid, Refusal)


# -- all employers ---------------------------------------------------------------------------------------------


async def list_employers(visit: Visit) -> web.StreamResponse:
    """Answer the employers; as JSON what ``syncd employer list --json`` prints."""
    if visit.wants_json:
        return visit.json([employer_json(employer) for employer in await visit.read(employers.all)])
    return await _list(visit)


async def _list(visit: Visit, fault: Fault | None = None) -> web.Response:
    page = visit.number("page")
    total, lines = await visit.read(lambda tx: _lines(tx, page, feeds_by_employer(visit)))
    values = {"lines": lines, "plans": PLANS, **paging(total, page, PAGE)}
    return visit.page("employers.html.j2", status_of(fault), fault=fault, sent=visit.form, **values)


def _lines(tx: Tx, page: int, feeds: dict[str, list[str]]) -> tuple[int, list[dict[str, Any]]]:
    """Return how many employers there are, and those of the page: with the number of their active jobs and of their keys that
    are live, and the names of their feeds."""
    everyone = sorted(employers.all(tx), key=lambda employer: employer.name)
    totals = jobs.totals(tx)
    valid = Counter(info.employer_id for info in keys.all(tx) if info.live(tx.now.instant))
    return len(everyone), [
        {
            **employer_json(employer),
            "active": totals.get((employer.id, Status.ACTIVE.value), 0),
            "live": valid[employer.id],
            "feeds": feeds.get(employer.name, []),
        }
        for employer in everyone[(page - 1) * PAGE : page * PAGE]
    ]


def feeds_by_employer(visit: Visit) -> dict[str, list[str]]:
    """Return the names of the configured feeds by the employer that their files name."""
    found: dict[str, list[str]] = {}
    for name, file in sorted(visit.context.files().items()):
        if file.config is not None:
            found.setdefault(file.config.employer, []).append(name)
    return found


async def add(visit: Visit) -> web.StreamResponse:
    """Add an employer. What is wrong with its name is shown beside the form."""
    try:
        name, plan = form_text(visit, "name"), form_text(visit, "plan") or PLANS[0]
        if plan not in PLANS:
            raise Refusal("invalid_parameter", f"plan has to be one of {', '.join(PLANS)}")
        employer = await visit.context.store.write_async(lambda tx: employers.add(tx, name, plan == PLANS[0]))
    except FORM_FAULTS as error:
        return await _list(visit, visit.fault_of(error))
    note(visit, "add_employer", employer.id)
    if visit.wants_json:
        return visit.json(employer_json(employer), 201)
    return visit.redirect(f"/employers/{employer.id}")


# -- one employer ----------------------------------------------------------------------------------------------


def state(visit: Visit, tx: Tx) -> object:
    """Return the employer and its keys."""
    number = visit.path_number("employer")
    return employers.get(tx, number), keys_of(tx, number)


@live(state)
async def show(visit: Visit) -> web.StreamResponse:
    """Answer one employer with its keys."""
    return await show_employer(visit, visit.path_number("employer"))


async def show_employer(visit: Visit, number: int, fault: Fault | None = None) -> web.Response:
    """Answer the page of an employer; ``fault``: what was wrong with a form that it has."""
    page = visit.number("page")
    employer, found, active = await visit.read(lambda tx: _found(tx, number))
    if visit.wants_json:
        return visit.json({**employer_json(employer), "keys": [key_json(info) for info in found]})
    now = visit.context.store.now().instant
    valid = {info.id for info in found if info.live(now)}
    found.sort(key=lambda info: (info.id not in valid, -info.id))
    return visit.page(
        "employer.html.j2",
        status_of(fault),
        employer=employer_json(employer),
        keys=[
            (info, info.state(now), info.successor_id in valid)
            for info in found[(page - 1) * KEYS : page * KEYS]
        ],
        **paging(len(found), page, KEYS),
        active=active,
        feeds=feeds_by_employer(visit).get(employer.name, []),
        fault=fault,
        sent=visit.form,
    )


def _found(tx: Tx, number: int) -> tuple[Employer, list[keys.KeyInfo], int]:
    """Return an employer, its keys, and the number of its active jobs."""
    return employers.get(tx, number), keys_of(tx, number), jobs.count(tx, number, Status.ACTIVE)


def keys_of(tx: Tx, number: int) -> list[keys.KeyInfo]:
    """Return the keys of an employer, by id. Raises NotFound."""
    employers.get(tx, number)
    return [info for info in keys.all(tx) if info.employer_id == number]


async def rename(visit: Visit) -> web.StreamResponse:
    """Give the employer another name. The files of its feeds have to name it, too: the page says so before and after."""
    number, store, feeds = visit.path_number("employer"), visit.context.store, feeds_by_employer(visit)
    before = await visit.read(lambda tx: employers.get(tx, number))
    try:
        name = form_text(visit, "name")
        employer = await store.write_async(lambda tx: employers.rename(tx, number, name))
    except FORM_FAULTS as error:
        return await show_employer(visit, number, visit.fault_of(error))
    note(visit, "rename_employer", number)
    if visit.wants_json:
        return visit.json(employer_json(employer))
    stale = feeds.get(before.name, [])
    if not stale or before.name == employer.name:
        return visit.redirect(f"/employers/{number}")
    return visit.page("renamed.html.j2", employer=employer_json(employer), before=before.name, feeds=stale)


def status_of(fault: Fault | None) -> int:
    """Return the HTTP status of a page with a form, which may have been wrong."""
    return 200 if fault is None else fault.status


def note(visit: Visit, action: str, employer: int, key: int | None = None) -> None:
    """Log what the operator did to an employer or to one of its keys."""
    session = visit.session.number
    log.info(Event.OPERATOR_CHANGED, action=action, employer=employer, key=key, session=session)


def form_text(visit: Visit, name: str) -> str:
    """Return a field of a form without surrounding and repeated white space, "" if it is not there. Raises
    ``invalid_parameter`` for characters that cannot be seen."""
    sent = visit.form.get(name, "")
    text = " ".join(sent.split()) if isinstance(sent, str) else ""
    if not text.isprintable():
        raise Refusal("invalid_parameter", f"{name} has a character that cannot be seen")
    return text


ROUTES = {
    "/employers": {"GET": list_employers, "POST": add},
    "/employers/{number}": {"GET": show, "POST": rename},
}
