"""The limits of a server: sizes of requests, time-outs, numbers of connections."""

from collections import Counter
from typing import Protocol

#: Bytes of a request line or a header line: as many as nginx and Apache allow.
MAX_LINE = 8 * 1024
#: Header lines of one request: as many as Apache allows.
MAX_HEADERS = 100
#: Bytes of a head: twice as many as nginx allows, and a tenth of the product of both limits above.
MAX_HEAD = 64 * 1024
#: Bytes of framing that a body may have beyond its own bytes, while it comes: chunks of a dozen bytes have fewer.
MAX_FRAMING = 512 * 1024
#: Seconds that a head may take, and that a new connection may be silent: a client that is not broken sends both at once.
HEAD_TIMEOUT = 10.0
#: Seconds that a body may take: a megabyte over a bad mobile connection.
READ_TIMEOUT = 30.0
#: Seconds after which a client that reads nothing of its answer is disconnected.
WRITE_TIMEOUT = 30.0
#: Connections from one address: an office has fewer, and one client cannot take all of ``max_connections``.
MAX_CONNECTIONS_PER_ADDRESS = 500


class ServerSettings(Protocol):
    """The limits that an operator sets. ``keepalive`` is in seconds; ``max_connections`` 0: no limit. ``trusted_proxies`` are the
    networks whose X-Forwarded-* headers count."""

    @property
    def keepalive(self) -> float: ...
    @property
    def max_connections(self) -> int: ...
    @property
    def trusted_proxies(self) -> tuple[str, ...]: ...


class ConnectionLimit:
    """At most ``total`` connections at once (0: no limit), and at most ``each`` of them from one address. The address "" (a
    proxy, a Unix socket) counts in the total only."""

    def __init__(self, total: int, each: int) -> None:
        self._total, self._each = total, each
        #: The open connections of each address; None: of all.
        self._open: Counter[str | None] = Counter()

    def enter(self, address: str) -> str:
        """Count one more connection. Return why it has to be refused, or "". It counts until ``leave`` in both cases."""
        self._open.update((None, address))
        if 0 < self._total < self._open[None]:
            return "too many connections are open"
        if address and self._open[address] > self._each:
            return "too many connections from this address are open"
        return ""

    def leave(self, address: str) -> None:
        self._open.subtract((None, address))
        if not self._open[address]:
            del self._open[address]
