"""Adds the pages to an application: each address goes through the gate, and every answer has the headers that keep a browser
safe. The login is here, too."""

from typing import Any
from urllib.parse import quote

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler

from syncd.console import rendering
from syncd.console.faults import Fault, problem_of
from syncd.console.gate import NOBODY
from syncd.console.pages import PAGES
from syncd.console.visit import Console, PageHandler, Visit
from syncd.logs import Event
from syncd.web import Refusal, add_endpoint, no_token

log = structlog.get_logger("syncd.console")

#: Pages that need no session.
OPEN = frozenset({"/login"})
#: Pages that read and check their forms themselves, because these may be large.
STREAMED = frozenset({"/preview"})
_FORMS = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",  # with no-referrer a browser sends "Origin: null" with every form
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def add_console(app: web.Application, console: Console) -> None:
    prefix = console.prefix
    for path, methods in ROUTES.items():
        add_endpoint(
            app, prefix + path, {method: _guarded(console, path, page) for method, page in methods.items()}
        )
    if prefix:
        add_endpoint(app, prefix, {"GET": _to_overview})
    static = {"GET": _served(console, rendering.static_file)}
    add_endpoint(app, prefix + "/static/{digest}/{name}", static)
    app.router.add_route("*", prefix + "/{unknown:.*}", _served(console, _nothing_here))
    app.on_cleanup.append(console.actions.close)
    app.on_cleanup.append(console.previews.close)


async def _nothing_here(_request: web.Request) -> web.StreamResponse:
    raise Refusal("not_found", "there is nothing at this address")


async def _to_overview(request: web.Request) -> web.StreamResponse:
    return web.Response(status=308, headers={"Location": f"{request.path}/"})


def _guarded(console: Console, path: str, handler: PageHandler) -> Handler:
    """Return the handler of an address: it checks the request, finds the session, and shows errors as pages."""

    async def serve(request: web.Request) -> web.StreamResponse:
        gate = console.gate
        gate.check_host(request)
        gate.check_origin(request)
        session = gate.session(request)
        new = session is None and (gate.sessions.open_to_all or path in OPEN)
        if session is None:
            if not new:
                return _to_login(Visit(console, request, NOBODY))
            session = gate.visitor(request)
        form: dict[str, Any] = {}
        if request.method == "POST" and path not in STREAMED:
            form = await _form(request)
            gate.check_form(session, form.get("csrf"))
        visit = Visit(console, request, session, form)
        response = await handler(visit)
        if new and "Set-Cookie" not in response.headers and not response.cookies and not visit.wants_json:
            gate.keep(request, response, session, console.prefix or "/")
        return response

    return _served(console, serve)


def _served(console: Console, handler: Handler) -> Handler:
    """Return ``handler`` with the headers of safety, and its errors as pages or problems."""

    async def serve(request: web.Request) -> web.StreamResponse:
        try:
            response = await handler(request)
        except ConnectionError:
            raise
        except Exception as error:
            response = _failed(Visit(console, request, NOBODY), Fault.of(error))
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    return serve


def _failed(visit: Visit, fault: Fault) -> web.Response:
    if visit.wants_json or "Authorization" in visit.request.headers:
        return problem_of(fault)
    response = visit.page("error.html.j2", fault.status, fault=fault)
    response.headers.update(
        {name: value for name, value in fault.headers.items() if name != "WWW-Authenticate"}
    )
    return response


async def _form(request: web.Request) -> dict[str, Any]:
    """Return the fields of a form. Raises ``invalid_parameter``, ``unsupported_media_type``, ``body_too_large``."""
    if request.can_read_body and request.content_type not in _FORMS:
        detail = "send the fields as a form (application/x-www-form-urlencoded)"
        raise Refusal("unsupported_media_type", detail)
    try:
        sent = await request.post()
    except web.HTTPRequestEntityTooLarge:
        raise Refusal("body_too_large", "the form is too large", close=True) from None
    except (ValueError, LookupError, RuntimeError):
        raise Refusal("invalid_parameter", "the form is encoded wrongly", close=True) from None
    if any("\ufffd" in text for each in sent.items() for text in each if isinstance(text, str)):
        raise Refusal("invalid_parameter", "the form is not UTF-8")
    return dict(sent)


# -- login and logout ------------------------------------------------------------------------------------------


def _to_login(visit: Visit) -> web.Response:
    """Lead a browser to the login, and then back to a page that it may read; a program gets a 401."""
    request = visit.request
    if visit.wants_json:
        raise no_token()
    path = request.path_qs.removeprefix(visit.console.prefix)
    back = f"?next={quote(path, safe='/')}" if request.method == "GET" and path not in ("", "/") else ""
    return visit.redirect("/login" + back)


async def login(visit: Visit) -> web.StreamResponse:
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
    gate.keep(request, response, session, visit.console.prefix or "/")
    return response


async def log_out(visit: Visit) -> web.StreamResponse:
    """End the session: its cookie opens nothing from now on."""
    gate = visit.console.gate
    gate.sessions.end(visit.session.secret)
    response = visit.redirect("/login")
    gate.keep(visit.request, response, gate.sessions.visitor(""), visit.console.prefix or "/")
    return response


def _inside(path: str) -> str:
    """Return ``path`` if it is one of these pages, else "": a login leads to no other site."""
    safe = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if safe and len(path) < 500 and "\\" not in path else ""


#: Path below the prefix → method → handler, of all pages.
ROUTES = {
    **{path: methods for page in PAGES for path, methods in page.ROUTES.items()},
    "/login": {"GET": login, "POST": log_in},
    "/logout": {"POST": log_out},
}
