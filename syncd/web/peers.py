"""Who is at the other end: the connection's address, or, behind configured proxies, the one that they report.

No I/O: works on the text of addresses and headers.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

Address = IPv4Address | IPv6Address

#: More hops than any honest chain of proxies has; the rest of a longer X-Forwarded-For is not looked at.
MAX_HOPS = 20


class Proxies:
    """The networks whose X-Forwarded-* headers count."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = tuple(ip_network(network, strict=False) for network in networks)

    def __bool__(self) -> bool:
        return bool(self._networks)

    def trusts(self, remote: str | None) -> bool:
        """Whether a connection from ``remote`` is one of the proxies'."""
        return bool(self._networks) and self._ours(parsed(remote or ""))

    def client(self, remote: str | None, forwarded: Iterable[str]) -> str:
        """The address that limits count for. ``forwarded``: the X-Forwarded-For headers as sent.

        Read from the right, because only what the proxies themselves appended is true: the first address
        that is not one of them, else the last one that could be read.
        """
        found = parsed(remote or "")
        if found is None:
            return ""
        hops = [hop for header in forwarded for hop in header.split(",")] if self._ours(found) else []
        for hop in reversed(hops[-MAX_HOPS:]):
            before = parsed(hop)
            if before is None:
                break
            found = before
            if not self._ours(found):
                break
        return neighbourhood(found)

    def _ours(self, address: Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


def parsed(text: str) -> Address | None:
    """An address with or without a port and brackets, as proxies write it; IPv4 in IPv6 is IPv4."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def neighbourhood(address: Address) -> str:
    """What one party holds: an IPv4 address, or the /64 that every IPv6 site has to itself."""
    if isinstance(address, IPv4Address):
        return str(address)
    return str(IPv6Address(int(address) >> 64 << 64)) + "/64"


@lru_cache(maxsize=4_096)
def neighbourhood_of(remote: str) -> str:
    """``neighbourhood`` of a connection's own address; "" for what is none (a Unix socket)."""
    address = parsed(remote)
    return "" if address is None else neighbourhood(address)
