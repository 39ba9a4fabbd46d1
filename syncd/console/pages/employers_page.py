"""Employers: all of them, and one with its feeds and keys. Employers are added and renamed; keys are created (shown once),
rotated and revoked."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog
from aiohttp import web

from syncd.console.faults import Fault
from syncd.console.visit import PageHandler, Visit, live, paging
from syncd.domain import Status
from syncd.errors import Conflict, Invalid, NotFound
from syncd.logs import Event
from syncd.store import Tx, employers, jobs, keys
from syncd.sync.report import employer_json, key_json
from syncd.values import ValueFault, duration
from syncd.web import Refusal

log = structlog.get_logger("syncd.console")

#: Employers, and keys of one, on a page.
PAGE, KEYS = 50, 50
PLANS = ("unlimited", "standard")
#: How long a key stays valid beside its successor unless the form says otherwise.
GRACE = "24h"


def shown_again(page: PageHandler) -> Callable[[PageHandler], PageHandler]:
    """Have a browser see a form that is refused on its ``page`` again, and why."""

    def decorated(act: PageHandler) -> PageHandler:
        async def serve(visit: Visit) -> web.StreamResponse:
            try:
                return await act(visit)
            except (Conflict, Invalid, Refusal) as error:
                if visit.wants_json:
                    raise
                return await page(replace(visit, fault=Fault.of(error)))

        return serve

    return decorated


# -- all employers ---------------------------------------------------------------------------------------------


async def list_employers(visit: Visit) -> web.StreamResponse:
    """Answer the employers; as JSON those of ``syncd employer list --json``."""
    if visit.wants_json:
        return visit.json([employer_json(employer) for employer in await visit.read(employers.all)])
    page = visit.number("page")
    total, lines = await visit.read(lambda tx: _lines(tx, page, feeds_by_employer(visit)))
    return visit.page("employers.html.j2", lines=lines, plans=PLANS, **paging(total, page, PAGE))


def _lines(tx: Tx, page: int, feeds: dict[str, list[str]]) -> tuple[int, list[dict[str, Any]]]:
    """Return how many employers there are, and those of the page with their active jobs, live keys and feeds."""
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
    feeds: dict[str, list[str]] = {}
    for name, file in sorted(visit.console.configured.files.items()):
        if file.config is not None:
            feeds.setdefault(file.config.employer, []).append(name)
    return feeds


@shown_again(list_employers)
async def add(visit: Visit) -> web.StreamResponse:
    name, plan = form_text(visit, "name"), form_text(visit, "plan") or PLANS[0]
    if plan not in PLANS:
        raise Refusal("invalid_parameter", f"plan has to be one of {', '.join(PLANS)}")
    employer = await visit.console.store.write_async(lambda tx: employers.add(tx, name, plan == PLANS[0]))
    note(visit, "add_employer", employer.id)
    if visit.wants_json:
        return visit.json(employer_json(employer), 201)
    return visit.redirect(f"/employers/{employer.id}")


# -- one employer ----------------------------------------------------------------------------------------------


def state(visit: Visit, tx: Tx) -> object:
    number = visit.path_number("employer")
    return employers.get(tx, number), keys_of(tx, number)


async def show_employer(visit: Visit) -> web.StreamResponse:
    number, page = visit.path_number("employer"), visit.number("page")
    employer, infos, active = await visit.read(
        lambda tx: (employers.get(tx, number), keys_of(tx, number), jobs.count(tx, number, Status.ACTIVE))
    )
    if visit.wants_json:
        return visit.json({**employer_json(employer), "keys": [key_json(info) for info in infos]})
    now = visit.console.store.now().instant
    valid = {info.id for info in infos if info.live(now)}
    infos.sort(key=lambda info: (info.id not in valid, -info.id))
    shown = infos[(page - 1) * KEYS : page * KEYS]
    return visit.page(
        "employer.html.j2",
        employer=employer_json(employer),
        keys=[(info, info.state(now), info.successor_id in valid) for info in shown],
        **paging(len(infos), page, KEYS),
        active=active,
        feeds=feeds_by_employer(visit).get(employer.name, []),
    )


def keys_of(tx: Tx, number: int) -> list[keys.KeyInfo]:
    """Return the keys of an employer, by id. Raises NotFound."""
    employers.get(tx, number)
    return [info for info in keys.all(tx) if info.employer_id == number]


@shown_again(show_employer)
async def rename(visit: Visit) -> web.StreamResponse:
    """Give the employer another name. The files of its feeds have to name it, too: the page says so before and after."""
    number, store, feeds = visit.path_number("employer"), visit.console.store, feeds_by_employer(visit)
    before = await visit.read(lambda tx: employers.get(tx, number))
    name = form_text(visit, "name")
    employer = await store.write_async(lambda tx: employers.rename(tx, number, name))
    note(visit, "rename_employer", number)
    if visit.wants_json:
        return visit.json(employer_json(employer))
    stale = feeds.get(before.name, [])
    if not stale or before.name == employer.name:
        return visit.redirect(f"/employers/{number}")
    return visit.page("renamed.html.j2", employer=employer_json(employer), before=before.name, feeds=stale)


def note(visit: Visit, action: str, employer: int, key: int | None = None) -> None:
    session = visit.session.number
    log.info(Event.OPERATOR_CHANGED, action=action, employer=employer, key=key, session=session)


# -- keys of an employer ---------------------------------------------------------------------------------------


@live(state)
async def list_keys(visit: Visit) -> web.StreamResponse:
    """Answer the keys of an employer as JSON, as ``syncd key list --json`` prints them, or the page of the employer."""
    if not visit.wants_json:
        return await show_employer(visit)
    number = visit.path_number("employer")
    return visit.json([key_json(info) for info in await visit.read(lambda tx: keys_of(tx, number))])


@shown_again(show_employer)
async def create(visit: Visit) -> web.StreamResponse:
    """Create a key and show it: in this answer alone."""
    number, label, ends = visit.path_number("employer"), form_text(visit, "label"), _ends(visit)
    if len(label) > keys.MAX_LABEL:
        detail = f"the label has {len(label)} characters; at most {keys.MAX_LABEL} are allowed"
        raise Refusal("invalid_parameter", detail)
    info, plain = await visit.console.store.write_async(lambda tx: keys.create(tx, number, label, ends))
    note(visit, "create_key", number, info.id)
    return _shown_once(visit, info, plain)


async def _ask(visit: Visit, action: str) -> web.StreamResponse:
    """Answer the effect of the rotation or revocation of a key, with its form."""
    number, key = visit.path_number("employer"), visit.path_number("key", "key")

    def read(tx: Tx) -> keys.KeyInfo:
        info, now = _of(tx, number, key), tx.now.instant
        if not info.live(now):
            raise Conflict(f"key {key} is {info.state(now)}; only a live key can be rotated or revoked")
        return keys.rotatable(tx, key) if action == "rotate" else info

    info = await visit.read(read)
    if visit.wants_json:
        return visit.json(key_json(info))
    return visit.page("key_question.html.j2", key=info, action=action, grace=GRACE)


ask_rotation = partial(_ask, action="rotate")


@shown_again(ask_rotation)
async def rotate(visit: Visit) -> web.StreamResponse:
    """Create a successor of a key and show it: in this answer alone."""
    number, key = visit.path_number("employer"), visit.path_number("key", "key")
    grace, ends = _span("grace", form_text(visit, "grace") or GRACE), _ends(visit)
    info, plain = await visit.console.store.write_async(
        lambda tx: keys.rotate(tx, _of(tx, number, key).id, grace, ends)
    )
    note(visit, "rotate_key", number, key)
    old = await visit.read(lambda tx: keys.get(tx, key))
    return _shown_once(visit, info, plain, old)


async def revoke(visit: Visit) -> web.StreamResponse:
    """Revoke a key: it is not valid from now on. One that is revoked already stays so."""
    number, key = visit.path_number("employer"), visit.path_number("key", "key")
    info = await visit.console.store.write_async(lambda tx: keys.revoke(tx, _of(tx, number, key).id))
    note(visit, "revoke_key", number, key)
    return visit.json(key_json(info)) if visit.wants_json else visit.redirect(f"/employers/{number}")


def _of(tx: Tx, employer: int, key: int) -> keys.KeyInfo:
    info = keys.get(tx, key)
    if info.employer_id != employer:
        raise NotFound("key", key)
    return info


def _shown_once(
    visit: Visit, info: keys.KeyInfo, plain: str, old: keys.KeyInfo | None = None
) -> web.Response:
    if visit.wants_json:
        return visit.json({**key_json(info), "key": plain}, 201)
    return visit.page("key.html.j2", 201, key=info, plain=plain, old=old)


# -- fields of forms -------------------------------------------------------------------------------------------


def form_text(visit: Visit, name: str) -> str:
    """Return a field of a form without needless white space. Raises ``invalid_parameter`` for characters that cannot be seen."""
    sent = visit.form.get(name, "")
    text = " ".join(sent.split()) if isinstance(sent, str) else ""
    if not text.isprintable():
        raise Refusal("invalid_parameter", f"{name} has a character that cannot be seen")
    return text


def _ends(visit: Visit) -> datetime | None:
    """Return the end of a new key, None for the default. Raises ``invalid_parameter`` for a text that is not a time span."""
    sent = form_text(visit, "expires")
    if not sent:
        return None
    span = _span("expires", sent)
    if not span:
        raise Refusal("invalid_parameter", "expires must be more than 0")
    return visit.console.store.now().instant + span


def _span(name: str, text: str) -> timedelta:
    try:
        return duration(text)
    except ValueFault as fault:
        raise Refusal("invalid_parameter", f"{name} {fault}") from None


ROUTES = {
    "/employers": {"GET": list_employers, "POST": add},
    "/employers/{number}": {"GET": live(state)(show_employer), "POST": rename},
    "/employers/{number}/keys": {"GET": list_keys, "POST": create},
    "/employers/{number}/keys/{key}/rotate": {"GET": ask_rotation, "POST": rotate},
    "/employers/{number}/keys/{key}/revoke": {"GET": partial(_ask, action="revoke"), "POST": revoke},
}
