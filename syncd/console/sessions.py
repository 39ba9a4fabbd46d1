"""Who may use the pages: the operator's token, and the sessions that it opens.

Sessions are kept in memory: a restart, and so a new token, ends all of them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

#: Seconds that a session lasts, and the most sessions that are open at once; the oldest is ended then.
LIFETIME, MOST = 12 * 3600, 1000
#: A session's number has six digits.
_NUMBERS = 1_000_000


@dataclass(frozen=True, slots=True)
class Session:
    """``secret`` is the cookie ("" for a program, which sends the token each time); ``number`` is what history and log
    name; ``csrf`` has to come with each form."""

    secret: str
    number: int | None
    csrf: str


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
            while len(self._opened) >= MOST:
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
        if opened is None:
            return None
        if self._clock() - opened >= LIFETIME:
            self.end(secret)
            return None
        return self.visitor(secret)

    def end(self, secret: str) -> None:
        self._opened.pop(secret, None)

    def visitor(self, secret: str) -> Session:
        """Return what belongs to a cookie, whether or not it opens anything: the login form needs a CSRF token, too."""
        return Session(secret, int.from_bytes(self._digest(b"number", secret)) % _NUMBERS, self.csrf(secret))

    def csrf(self, secret: str) -> str:
        return self._digest(b"csrf", secret).hex()

    def _digest(self, use: bytes, secret: str) -> bytes:
        return blake2b(secret.encode("utf-8", "replace"), key=self._key, person=use, digest_size=16).digest()
