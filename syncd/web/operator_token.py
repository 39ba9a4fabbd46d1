"""The operator's token, as a request sends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from hmac import compare_digest

from aiohttp import web

from syncd.web.addresses import Addresses
from syncd.web.problems import Refusal
from syncd.web.rate_limits import FailedKeys

#: Wrong tokens from one address, and the seconds in which they are forgotten again.
WRONG_TOKENS, FORGOTTEN = 10, 900.0
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="operator"'}


class OperatorToken:
    """Compares what is sent with ``token`` ("": everything passes), and has an address wait that sends too many wrong ones.
    Behind ``trusted_proxies`` that is the address which they report. Each object counts for itself: a scraper with an old
    token keeps nobody from the pages."""

    def __init__(
        self,
        token: str,
        trusted_proxies: Iterable[str] = (),
        clock: Callable[[], int] = time.monotonic_ns,
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
