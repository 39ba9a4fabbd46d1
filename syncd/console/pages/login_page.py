"""Login with the operator's token, and logout."""

from __future__ import annotations

import structlog
from aiohttp import web

from syncd.console.visit import Visit
from syncd.logs import Event
from syncd.web import Refusal

log = structlog.get_logger("syncd.console")


async def form(visit: Visit) -> web.StreamResponse:
    """Answer the form; where no token is needed, lead to the overview."""
    if visit.console.gate.sessions.open_to_all:
        return visit.redirect("/")
    return visit.page("login.html.j2", wrong=None, next=_inside(visit.text("next")))


async def log_in(visit: Visit) -> web.StreamResponse:
    """Open a session with the token, and lead to the page that was asked for."""
    gate, request = visit.console.gate, visit.request
    sent, following = str(visit.form.get("token", "")), _inside(str(visit.form.get("next", "")))
    client = gate.addresses.client(request)
    try:
        gate.token.check(request, sent.strip())
    except Refusal as refusal:
        log.warning(Event.OPERATOR_LOGIN, session=None, client=client, refused=refusal.code)
        if refusal.code != "unauthenticated":
            raise
        return visit.page("login.html.j2", 401, wrong=str(refusal), next=following)
    session = gate.sessions.open()
    log.info(Event.OPERATOR_LOGIN, session=session.number, client=client, refused=None)
    response = visit.redirect(following or "/")
    gate.keep(request, response, session, visit.context.prefix or "/")
    return response


async def log_out(visit: Visit) -> web.StreamResponse:
    """End the session: its cookie opens nothing from now on."""
    gate = visit.console.gate
    gate.sessions.end(visit.session.secret)
    response = visit.redirect("/login")
    gate.keep(visit.request, response, gate.sessions.visitor(""), visit.context.prefix or "/")
    return response


def _inside(path: str) -> str:
    """Return ``path`` if it is one of these pages, else "": a login leads to no other site."""
    safe = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if safe and len(path) < 500 and "\\" not in path else ""


ROUTES = {"/login": {"GET": form, "POST": log_in}, "/logout": {"POST": log_out}}
