"""The keys of an employer: created (shown once), rotated and revoked. What cannot be undone is asked once."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from aiohttp import web

from syncd.console.faults import Fault
from syncd.console.pages.employers_page import (
    FORM_FAULTS,
    form_text,
    keys_of,
    note,
    show_employer,
    state,
    status_of,
)
from syncd.console.visit import Visit, live
from syncd.errors import Conflict, NotFound
from syncd.store import Tx, keys
from syncd.sync.report import key_json
from syncd.values import ValueFault, duration
from syncd.web import Refusal

#: How long a key stays valid beside its successor unless the form says otherwise.
GRACE = "24h"


@live(state)
async def list_keys(visit: Visit) -> web.StreamResponse:
    """Answer the keys of an employer as JSON, as ``syncd key list --json`` prints them, or the page of the employer."""
    number = visit.path_number("employer")
    if not visit.wants_json:
        return await show_employer(visit, number)
    return visit.json([key_json(info) for info in await visit.read(lambda tx: keys_of(tx, number))])


async def create(visit: Visit) -> web.StreamResponse:
    """Create a key and show it: in this answer alone."""
    number = visit.path_number("employer")
    try:
        label, ends = _label(visit), _ends(visit)
        info, plain = await visit.context.store.write_async(lambda tx: keys.create(tx, number, label, ends))
    except FORM_FAULTS as error:
        return await show_employer(visit, number, visit.fault_of(error))
    note(visit, "create_key", number, info.id)
    return _shown_once(visit, info, plain)


async def rotate(visit: Visit) -> web.StreamResponse:
    """Create a successor of a key and show it: in this answer alone."""
    number, key = visit.path_number("employer"), visit.path_number("key", "key")
    try:
        grace, ends = _span("grace", form_text(visit, "grace") or GRACE), _ends(visit)
        info, plain = await visit.context.store.write_async(
            lambda tx: keys.rotate(tx, _of(tx, number, key).id, grace, ends)
        )
    except Refusal as error:
        return await _ask(visit, "rotate", visit.fault_of(error))
    note(visit, "rotate_key", number, key)
    old = await visit.read(lambda tx: keys.get(tx, key))
    return _shown_once(visit, info, plain, old)


async def revoke(visit: Visit) -> web.StreamResponse:
    """Revoke a key: it is not valid from now on. One that is revoked already stays so."""
    number, key = visit.path_number("employer"), visit.path_number("key", "key")
    info = await visit.context.store.write_async(lambda tx: keys.revoke(tx, _of(tx, number, key).id))
    note(visit, "revoke_key", number, key)
    return visit.json(key_json(info)) if visit.wants_json else visit.redirect(f"/employers/{number}")


async def _ask(visit: Visit, action: str, fault: Fault | None = None) -> web.StreamResponse:
    """Answer what the rotation or revocation of a key does, with its form."""
    number, key = visit.path_number("employer"), visit.path_number("key", "key")
    info = await visit.read(lambda tx: _askable(tx, number, key, action))
    if visit.wants_json:
        return visit.json(key_json(info))
    values = {"grace": GRACE, "fault": fault, "sent": visit.form}
    return visit.page("key_question.html.j2", status_of(fault), key=info, action=action, **values)


def _askable(tx: Tx, employer: int, key: int, action: str) -> keys.KeyInfo:
    """Return the key if ``action`` can be asked for. Raises NotFound, Conflict."""
    info, now = _of(tx, employer, key), tx.now.instant
    if not info.live(now):
        raise Conflict(f"key {key} is {info.state(now)}; only a live key can be rotated or revoked")
    return keys.rotatable(tx, key) if action == "rotate" else info


def _of(tx: Tx, employer: int, key: int) -> keys.KeyInfo:
    """Return the key if it is one of this employer. Raises NotFound."""
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


# -- the forms -------------------------------------------------------------------------------------------------


def _label(visit: Visit) -> str:
    label = form_text(visit, "label")
    if len(label) > keys.MAX_LABEL:
        detail = f"the label has {len(label)} characters; at most {keys.MAX_LABEL} are allowed"
        raise Refusal("invalid_parameter", detail)
    return label


def _ends(visit: Visit) -> datetime | None:
    """Return when a new key is to end, None for the default. Raises ``invalid_parameter`` for what is not a time span."""
    sent = form_text(visit, "expires")
    if not sent:
        return None
    span = _span("expires", sent)
    if not span:
        raise Refusal("invalid_parameter", "expires must be more than 0")
    return visit.context.store.now().instant + span


def _span(name: str, text: str) -> timedelta:
    try:
        return duration(text)
    except ValueFault as fault:
        raise Refusal("invalid_parameter", f"{name} {fault}") from None


ROUTES = {
    "/employers/{number}/keys": {"GET": list_keys, "POST": create},
    "/employers/{number}/keys/{key}/rotate": {"GET": partial(_ask, action="rotate"), "POST": rotate},
    "/employers/{number}/keys/{key}/revoke": {"GET": partial(_ask, action="revoke"), "POST": revoke},
}
