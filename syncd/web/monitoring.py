"""``/healthz`` (the process answers), ``/readyz`` (the service can serve), ``/metrics`` (for Prometheus) and ``/reload``, on the
API's address or the operator's. They need no API key; the last two need the operator's token."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from hmac import compare_digest
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from syncd.web.addresses import Addresses
from syncd.web.conditional import JSON
from syncd.web.problems import Refusal
from syncd.web.rate_limits import SECOND, FailedKeys

ReadinessCheck = Callable[[], Awaitable[dict[str, Any]]]
#: Accept header → (content type, body).
RenderMetrics = Callable[[str], tuple[str, bytes]]
#: Reads the files of feeds again and returns the result.
Reload = Callable[[], Awaitable[Mapping[str, Any]]]
#: Path → method → handler.
Endpoints = Mapping[str, Mapping[str, Handler]]
#: Wrong tokens from one address, and the nanoseconds in which they are forgotten again.
WRONG_TOKENS, FORGOTTEN = 10, 900 * SECOND
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="operator"'}


class OperatorToken:
    """The token of the operator ("": everything passes). An address that sends too many wrong ones has to wait; behind
    ``trusted_proxies`` that is the address which they report. Each object counts for itself: a scraper with an old token
    keeps nobody from the pages."""

    def __init__(
        self, token: str, trusted_proxies: Iterable[str] = (), clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._token, self._addresses = token.encode(), Addresses("", "", trusted_proxies)
        self._wrong = FailedKeys(WRONG_TOKENS, FORGOTTEN, clock, what="tokens")

    def check_header(self, request: web.Request) -> None:
        """Raise ``unauthenticated`` unless the request has the token in one Authorization header, ``rate_limited`` after too
        many wrong ones. A request without that header is refused and not counted."""
        sent = request.headers.getall("Authorization", ())
        scheme, _, token = sent[0].partition(" ") if len(sent) == 1 else ("", "", "")
        token = token.strip() if scheme.lower() == "bearer" else ""
        if self._token and not (sent and self._matches(request, token)):
            raise no_token()

    def check(self, request: web.Request, sent: str) -> None:
        """Raise ``unauthenticated`` if ``sent`` is not the token, ``rate_limited`` after too many wrong ones."""
        if self._token and not self._matches(request, sent):
            raise Refusal("unauthenticated", "this is not the operator's token", headers=_CHALLENGE)

    def _matches(self, request: web.Request, sent: str) -> bool:
        client = self._addresses.client(request)
        self._wrong.check(client)
        matches = compare_digest(sent.encode("utf-8", "surrogatepass"), self._token)
        if not matches:
            self._wrong.note(client)
        return matches


def no_token() -> Refusal:
    """Return the refusal of a request without the operator's token."""
    detail = "send the operator's token: Authorization: Bearer TOKEN"
    return Refusal("unauthenticated", detail, headers=_CHALLENGE)


def health_of(readiness: ReadinessCheck) -> Endpoints:
    """Return the handlers of health. ``/readyz`` answers with the state that ``readiness`` returns: 200 if its member
    ``ready`` is true, else 503. An exception counts as not ready."""

    async def alive(_request: web.Request) -> web.StreamResponse:
        return _json(200, {"alive": True})

    async def ready(_request: web.Request) -> web.StreamResponse:
        try:
            state = await readiness()
        except Exception as error:
            state = {"ready": False, "error": type(error).__name__}
        return _json(200 if state["ready"] else 503, state)

    return {"/healthz": {"GET": alive}, "/readyz": {"GET": ready}}


def _json(status: int, value: object) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(value), headers={"Content-Type": JSON})


def controls_of(
    render: RenderMetrics, reload: Reload, token: str, trusted_proxies: Iterable[str] = ()
) -> Endpoints:
    """Return the handlers of ``/metrics`` and ``/reload``. Both need ``token`` if it is not empty; wrong ones are counted for
    each of them, by the address that ``trusted_proxies`` report.

    ``render`` runs in a thread, one call at a time. ``/reload`` answers with the result of ``reload``. Pages of other
    origins cannot use it: a browser names their origin."""
    metrics_token, reload_token = (OperatorToken(token, trusted_proxies) for _ in range(2))
    one_call = asyncio.Lock()

    async def metrics(request: web.Request) -> web.StreamResponse:
        metrics_token.check_header(request)
        async with one_call:
            kind, body = await asyncio.to_thread(render, request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": kind})

    async def reloaded(request: web.Request) -> web.StreamResponse:
        reload_token.check_header(request)
        if "Origin" in request.headers:
            raise Refusal("invalid_parameter", "a page of another origin cannot reload the service")
        return _json(200, await reload())

    return {"/metrics": {"GET": metrics}, "/reload": {"POST": reloaded}}
