"""The gate that each request for a page passes: it is for a host of ours, from a page of ours, from an operator.

Sessions are kept in memory: a restart, and so a new token, ends all of them."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from hmac import compare_digest
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

from syncd.config import Settings
from syncd.console.faults import Fault, problem_of
from syncd.web import Addresses, Endpoints, OperatorToken, Refusal, address_in

COOKIE = "syncd_operator"
#: Seconds that a session lasts, and sessions that are open at once; the oldest is ended then.
LIFETIME, MAX_SESSIONS = 12 * 3600, 1000
#: A session's number has six digits.
_NUMBERS = 1_000_000
_LOCAL = frozenset({"localhost", "ip6-localhost"})


@dataclass(frozen=True, slots=True)
class Session:
    """``secret`` is the cookie ("" for a program, which sends the token each time); history and log name its ``number``;
    ``csrf`` has to come with each form."""

    secret: str
    number: int | None
    csrf: str


#: The session of a program, and of a request for which none was found.
NOBODY = Session("", None, "")


class Sessions:
    """Opens and finds sessions. Where ``token`` is empty, everybody who reaches the pages has one, and it is not kept."""

    def __init__(self, token: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.open_to_all, self._clock = not token, clock
        self._key = secrets.token_bytes(32)
        self._opened: dict[str, float] = {}

    def open(self) -> Session:
        """Return a new session. Its secret was never sent before, so nobody else can know it."""
        secret = secrets.token_urlsafe(32)
        if not self.open_to_all:
            while len(self._opened) >= MAX_SESSIONS:
                del self._opened[next(iter(self._opened))]
            self._opened[secret] = self._clock()
        return self.visitor(secret)

    def find(self, secret: str) -> Session | None:
        """Return the session of a cookie, None if it has ended or never was."""
        if not secret:
            return None
        if self.open_to_all:
            return self.visitor(secret)
        opened = self._opened.get(secret)
        if opened is not None and self._clock() - opened < LIFETIME:
            return self.visitor(secret)
        self.end(secret)
        return None

    def end(self, secret: str) -> None:
        self._opened.pop(secret, None)

    def visitor(self, secret: str) -> Session:
        """Return the session of a cookie, whether or not it opens anything: the login form needs a CSRF token, too."""
        number = int.from_bytes(self._digest(b"number", secret)) % _NUMBERS
        return Session(secret, number, self._digest(b"csrf", secret).hex())

    def _digest(self, use: bytes, secret: str) -> bytes:
        return blake2b(secret.encode("utf-8", "replace"), key=self._key, person=use, digest_size=16).digest()


class KnownHosts:
    """The names of the operator's address: IP addresses, localhost, and the host names of the settings."""

    def __init__(self, settings: Settings) -> None:
        api, operator = settings.api, settings.operator
        listen = operator.listen or api.listen
        public = {operator.public_url, api.public_url if operator.listen is None else ""}
        self.addresses = Addresses("", "", api.trusted_proxies)
        self._names = {
            *_LOCAL,
            *operator.hosts,
            listen.host.lower(),
            *(urlsplit(url).hostname or "localhost" for url in public),
        }

    def check_host(self, request: web.Request) -> None:
        """Raise ``forbidden_host`` unless the request names this service: a page elsewhere whose name leads here names its own
        host (DNS rebinding). It cannot name an IP address."""
        host = urlsplit(self.addresses.origin(request)).hostname or ""
        if host not in self._names and address_in(host) is None:
            detail = f"this service is not at {host}; add it to operator.hosts"
            raise Refusal("forbidden_host", detail, close=True)


class Gate(KnownHosts):
    """Checks requests for pages. ``sessions`` are those of the operator."""

    def __init__(
        self, settings: Settings, sessions: Sessions, clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        super().__init__(settings)
        self.sessions = sessions
        self.token = OperatorToken(settings.operator.token, settings.api.trusted_proxies, clock)

    def check_origin(self, request: web.Request) -> None:
        """Raise if a page of another origin sends the request. Programs send no Origin, browsers do with each form."""
        sent = request.headers.getall("Origin", ())
        if not sent:
            return
        ours, theirs = urlsplit(self.addresses.origin(request)), urlsplit(sent[0])
        if len(sent) > 1 or not theirs.netloc or theirs.netloc.lower() != ours.netloc.lower():
            raise Refusal("forbidden_origin", "the request comes from a page of another site", close=True)

    def session(self, request: web.Request) -> Session | None:
        """Return the session of a cookie, or of a program's token. Raises ``unauthenticated``, ``rate_limited``."""
        if "Authorization" not in request.headers:
            return self.sessions.find(request.cookies.get(COOKIE, ""))
        self.token.check_header(request)
        return NOBODY

    def visitor(self, request: web.Request) -> Session:
        """Return a session for a browser that has none: where no token is needed it may do everything, else log in."""
        return self.sessions.visitor(request.cookies.get(COOKIE, "") or secrets.token_urlsafe(32))

    def check_form(self, session: Session, sent: object) -> None:
        """Raise unless a form has the CSRF token of its session. A program needs none: a browser never adds its token."""
        if session.secret and not (
            isinstance(sent, str) and compare_digest(sent.encode("utf-8", "replace"), session.csrf.encode())
        ):
            raise Refusal("stale_form", "the page was too old, or not ours; open it again")

    def keep(self, request: web.Request, response: web.StreamResponse, session: Session, path: str) -> None:
        response.set_cookie(
            COOKIE,
            session.secret,
            max_age=LIFETIME,
            path=path,
            httponly=True,
            samesite="Strict",
            secure=urlsplit(self.addresses.origin(request)).scheme == "https",
        )


def for_known_hosts(settings: Settings, endpoints: Endpoints) -> Endpoints:
    """Return ``endpoints`` for programs, which are then served only where the pages are."""
    hosts = KnownHosts(settings)

    async def serve(handler: Handler, request: web.Request) -> web.StreamResponse:
        try:
            hosts.check_host(request)
        except Refusal as refusal:
            return problem_of(Fault.of(refusal))
        return await handler(request)

    return {
        path: {method: partial(serve, handler) for method, handler in methods.items()}
        for path, methods in endpoints.items()
    }
