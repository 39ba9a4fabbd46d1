"""Absolute addresses for the Location header and for pages, and the address of the client."""

from __future__ import annotations

import re
from collections.abc import Iterable

from aiohttp import web

from syncd.web.peers import Proxies
from syncd.web.problems import Refusal

_HOST = re.compile(r"(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_SCHEMES = ("http", "https")


class Addresses:
    """The addresses under ``base_path``. They begin with ``public_url``, or, if that is empty, with what the request
    says. X-Forwarded-Proto and X-Forwarded-Host count only when a trusted proxy sends them."""

    def __init__(self, base_path: str, public_url: str, trusted_proxies: Iterable[str]) -> None:
        self._base_path, self._public, self._proxies = base_path, public_url, Proxies(trusted_proxies)

    def of(self, request: web.Request, path: str) -> str:
        """Return the absolute address of ``path``, which starts with a slash, under the base path."""
        return f"{self._public or self._origin(request)}{self._base_path}{path}"

    def client(self, request: web.Request) -> str:
        """Return the address that limits count for: behind trusted proxies the one that they report."""
        return self._proxies.client(request.remote, request.headers.getall("X-Forwarded-For", ()))

    def _origin(self, request: web.Request) -> str:
        scheme, host, forwarded = request.scheme, request.headers.get("Host") or _local(request), ""
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


def _local(request: web.Request) -> str:
    """Return the address that the client reached, for a request of HTTP/1.0 without Host."""
    name = request.transport.get_extra_info("sockname") if request.transport else None
    if not isinstance(name, tuple):
        return "localhost"
    return f"[{name[0]}]:{name[1]}" if ":" in name[0] else f"{name[0]}:{name[1]}"
