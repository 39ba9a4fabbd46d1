"""The host names under which the operator's addresses are served."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

from syncd.config import Settings
from syncd.console.faults import Fault, problem_of
from syncd.web import Addresses, Refusal

_LOCAL = frozenset({"localhost", "ip6-localhost"})


class KnownHosts:
    """The names of the operator's address: IP addresses, localhost, and the host names of the settings."""

    def __init__(self, settings: Settings) -> None:
        api, operator = settings.api, settings.operator
        listen = operator.listen or api.listen
        public = {operator.public_url, api.public_url if operator.listen is None else ""}
        self._addresses = Addresses("", "", api.trusted_proxies)
        self._names = {
            *_LOCAL,
            *operator.hosts,
            listen.host.lower(),
            *(urlsplit(url).hostname or "localhost" for url in public),
        }

    def check(self, request: web.Request) -> None:
        """Raise ``forbidden_host`` unless the request names this service: a page elsewhere whose name leads here names its own
        host (DNS rebinding). It cannot name an IP address."""
        host = urlsplit(self._addresses.origin(request)).hostname or ""
        if host not in self._names and not _is_ip(host):
            detail = f"this service is not at {host}; add it to operator.hosts"
            raise Refusal("forbidden_host", detail, close=True)


def for_known_hosts(settings: Settings, handlers: Mapping[str, Handler]) -> dict[str, Handler]:
    """Return ``handlers`` of addresses for programs, by path, which are served only where the pages are."""
    hosts = KnownHosts(settings)
    return {path: _checked(hosts, handler) for path, handler in handlers.items()}


def _checked(hosts: KnownHosts, handler: Handler) -> Handler:
    async def serve(request: web.Request) -> web.StreamResponse:
        try:
            hosts.check(request)
        except Refusal as refusal:
            return problem_of(Fault.of(refusal))
        return await handler(request)

    return serve


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
