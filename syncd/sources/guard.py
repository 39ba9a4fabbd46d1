"""The addresses that sources may reach: public ones, and those of the hosts that ``insecure_hosts`` names. A connection goes to
the addresses that were checked, since the look-up that is checked is also the one that connects."""

import socket
from collections.abc import Collection
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from syncd.sources.results import SourceError
from syncd.sources.threads import in_thread

#: The part of IPv6 that is given out for use on the Internet, and the part that stands for addresses of IPv4 (RFC 6052).
_GLOBAL_6, _NAT64 = ip_network("2000::/3"), ip_network("64:ff9b::/96")
#: Networks that ``is_global`` counts as public, and that have services of clouds for their own machines.
_METADATA = (ip_network("192.0.0.0/24"), ip_network("168.63.129.16/32"))


def is_public(address: str) -> bool:
    """Return whether anybody on the Internet could reach the address. Raise ValueError for a text that is not an address."""
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour
        if parsed in _NAT64:
            inner = IPv4Address(parsed.packed[-4:])
        if inner is None:
            return parsed.is_global and parsed in _GLOBAL_6
        parsed = inner
    special = parsed.is_multicast or any(parsed in network for network in _METADATA)
    return parsed.is_global and not special


class Guard(AbstractResolver):
    """Looks names up for the connections of one source. ``insecure_hosts``: hosts, as an address has them, that may have any
    address."""

    def __init__(self, insecure_hosts: Collection[str]) -> None:
        hosts = (URL.build(scheme="http", host=host.strip("[]")).raw_host for host in insecure_hosts)
        self._insecure = {(host or "").casefold() for host in hosts}

    def check(self, host: str, address: str) -> None:
        """Raise SourceError unless a connection to ``host`` may go to ``address``."""
        if host.casefold() not in self._insecure and not is_public(address):
            where = f"{host} is" if host == address else f"{host} has the address {address},"
            advice = f'if that is meant, say insecure_hosts = ["{host}"]'
            raise SourceError(f"{where} not a public address: {advice}")

    def check_literal(self, host: str) -> None:
        """Raise SourceError for a ``host`` that is an address, written in any way, unless connections may go there. A name is
        checked when it is looked up."""
        if ":" not in host and not host.replace(".", "").isdigit():
            return
        try:
            self.check(host, host)
        except ValueError:
            raise SourceError(f"{host} is not a usual way to write an address: use four numbers") from None

    async def addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses of a host, all of them checked. Raise SourceError, OSError."""
        entries = await _look_up(host, port)
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
        for address in addresses:
            self.check(host, address)
        return addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of a host as aiohttp's connector wants them. Raise as ``addresses`` does."""
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in await self.addresses(host, port)
        ]

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


async def _look_up(host: str, port: int) -> list[Any]:
    """Return the entries of ``getaddrinfo``. Raise OSError."""
    try:
        return await in_thread(partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM))
    except UnicodeError:  # a label that is empty or too long
        raise socket.gaierror(socket.EAI_NONAME, "not a name") from None
