"""What a request must be before a page serves it: for a host of ours, from a page of ours, from an operator."""

from __future__ import annotations

from collections.abc import Callable
from hmac import compare_digest
from secrets import token_urlsafe
from urllib.parse import urlsplit

from aiohttp import web

from syncd.config import Settings
from syncd.console.hosts import KnownHosts
from syncd.console.sessions import Session, Sessions
from syncd.web import Addresses, OperatorToken, Refusal

COOKIE = "syncd_operator"


class Gate:
    """Checks requests. ``sessions`` are those of the operator."""

    def __init__(
        self, settings: Settings, sessions: Sessions, clock: Callable[[], int] | None = None
    ) -> None:
        api, operator = settings.api, settings.operator
        self.sessions = sessions
        self.hosts = KnownHosts(settings)
        self.addresses = Addresses("", "", api.trusted_proxies)
        clocks = {} if clock is None else {"clock": clock}
        self.token = OperatorToken(operator.token, api.trusted_proxies, **clocks)

    def check_origin(self, request: web.Request) -> None:
        """Raise if a page of another origin sends the request. Programs send no Origin, browsers do with each form."""
        sent = request.headers.getall("Origin", ())
        if not sent:
            return
        ours, theirs = urlsplit(self.addresses.origin(request)), urlsplit(sent[0])
        if len(sent) > 1 or not theirs.netloc or theirs.netloc.lower() != ours.netloc.lower():
            raise Refusal("forbidden_origin", "the request comes from a page of another site", close=True)

    def session(self, request: web.Request) -> Session | None:
        """Return the session of a request: by its cookie, or by the token that a program sends. Raises
        ``unauthenticated`` for a wrong token, ``rate_limited`` after too many."""
        if "Authorization" not in request.headers:
            return self.sessions.find(request.cookies.get(COOKIE, ""))
        self.token.check_header(request)
        return Session("", None, "")

    def visitor(self, request: web.Request) -> Session:
        """Return a session for a browser that has none: where no token is needed it may do everything, else log in."""
        return self.sessions.visitor(request.cookies.get(COOKIE, "") or token_urlsafe(32))

    def check_form(self, session: Session, sent: object) -> None:
        """Raise unless a form has the CSRF token of its session. A program needs none: a browser never adds its token."""
        if session.secret and not (
            isinstance(sent, str) and compare_digest(sent.encode("utf-8", "replace"), session.csrf.encode())
        ):
            raise Refusal("stale_form", "the page was too old, or not ours; open it again")

    def keep(self, request: web.Request, response: web.StreamResponse, session: Session, path: str) -> None:
        """Have the browser keep the session for pages below ``path``."""
        response.set_cookie(
            COOKIE,
            session.secret,
            max_age=12 * 3600,
            path=path,
            httponly=True,
            samesite="Strict",
            secure=urlsplit(self.addresses.origin(request)).scheme == "https",
        )
