"""Absolute addresses of the service, and the address of the client: that of the connection, or the one that trusted proxies
report."""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from aiohttp import web

from syncd.web.problems import Refusal

IpAddress = IPv4Address | IPv6Address

_HOST = re.compile(r"(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_SCHEMES = ("http", "https")


class Proxies:
    """The networks of the trusted proxies, whose X-Forwarded-* headers count."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = tuple(ip_network(network, strict=False) for network in networks)

    def trusts(self, remote: str | None) -> bool:
        return bool(self._networks) and self._ours(address_in(remote or ""))

    def client(self, remote: str | None, forwarded: Iterable[str]) -> str:
        """Return the address that limits count for. ``forwarded``: the X-Forwarded-For headers as sent.

        They are read from the right, because only addresses that trusted proxies appended are true. The client is the first
        address that is not a trusted proxy, else the last address that can be read."""
        client = address_in(remote or "")
        hops = [hop for header in forwarded for hop in header.split(",")]
        for hop in reversed(hops):
            if not self._ours(client) or (before := address_in(hop)) is None:
                break
            client = before
        return neighbourhood(client)

    def _ours(self, address: IpAddress | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


def address_in(text: str) -> IpAddress | None:
    """Return the address in ``text``, which may have a port and brackets, as proxies write it. IPv4 in IPv6 is IPv4."""
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


def neighbourhood(address: IpAddress | None) -> str:
    """Return the network of one client: an IPv4 address, or the /64 network that an IPv6 site has to itself; "" for None, as
    a Unix socket has it."""
    if not isinstance(address, IPv6Address):
        return str(address or "")
    return str(IPv6Address(int(address) >> 64 << 64)) + "/64"


class Addresses:
    """The addresses under ``base_path``. They begin with ``public_url``, or, if that is empty, as the request says.
    X-Forwarded-Proto and X-Forwarded-Host count only when a trusted proxy sends them."""

    def __init__(self, base_path: str, public_url: str, trusted_proxies: Iterable[str]) -> None:
        self._base_path, self._public, self._proxies = base_path, public_url, Proxies(trusted_proxies)

    def of(self, request: web.Request, path: str) -> str:
        """Return the absolute address of ``path``, which starts with a slash, under the base path."""
        return f"{self._public or self.origin(request)}{self._base_path}{path}"

    def client(self, request: web.Request) -> str:
        """Return the address that limits count for: behind trusted proxies the one that they report."""
        return self._proxies.client(request.remote, request.headers.getall("X-Forwarded-For", ()))

    def origin(self, request: web.Request) -> str:
        """Return scheme and host as the request says (HTTP/1.0 needs no Host: localhost), or, if a trusted proxy sent it, as that
        reports them. Raise ``malformed_request`` unless it is a host."""
        scheme, host, forwarded = request.scheme, request.headers.get("Host", "localhost"), ""
        if self._proxies.trusts(request.remote):
            proto = _first(request, "X-Forwarded-Proto").lower()
            scheme = proto if proto in _SCHEMES else scheme
            forwarded = _first(request, "X-Forwarded-Host")
            host = forwarded or host
        if not _HOST.fullmatch(host):
            name = "X-Forwarded-Host" if forwarded else "Host"
            raise Refusal("malformed_request", f"the {name} header names no host", close=True)
        return f"{scheme}://{host}"


def _first(request: web.Request, name: str) -> str:
    """Return the value that the outermost proxy has set: the first in the list."""
    return request.headers.get(name, "").split(",")[0].strip()
