"""A way to a receiver: what sends a message, and why it may fail."""

from __future__ import annotations

import os
import ssl
from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from syncd.domain import Notice
from syncd.errors import SyncdError


class NotSent(SyncdError):
    """The receiver did not accept a message. The text has no secret in it.

    ``after``: how long the receiver asked to wait. ``everything``: other messages would fail in the same way now.
    ``refused``: the receiver refused this very message."""

    def __init__(
        self, why: str, *, after: timedelta | None = None, everything: bool = False, refused: bool = False
    ) -> None:
        self.after, self.everything, self.refused = after, everything, refused
        super().__init__(why)

    @property
    def soon(self) -> bool:
        """Whether another try within seconds may help."""
        return self.after is None and not self.refused


def why_no_connection(error: OSError) -> str:
    """Return why a connection was not made, in the words of the system, which do not name the address."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return "its certificate cannot be verified"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or type(error).__name__})"
    if error.errno is not None and error.errno > 0:  # asyncio has its own words in their place
        return os.strerror(error.errno)
    return error.strerror or type(error).__name__


class Way(Protocol):
    """``name`` is that of the outbox: ``webhook`` or ``email:ADDRESS``; ``kind`` the part before the colon; ``where`` says
    without secrets where messages go. ``joins``: several notices may be in one message."""

    name: str
    kind: str
    where: str
    joins: bool

    async def send(self, notices: Sequence[Notice]) -> str:
        """Send one message; return what the receiver answered. Raises NotSent."""
        ...
