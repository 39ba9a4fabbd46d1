"""The settings of ``[api]`` in the form in which the server takes them."""

from __future__ import annotations

from syncd.config import Api
from syncd.web import ServerLimits


def server_limits(settings: Api) -> ServerLimits:
    """Return what ``settings`` allow clients."""
    return ServerLimits(
        max_line=settings.max_line,
        max_headers=settings.max_headers,
        max_head=settings.max_head,
        max_body=settings.max_body,
        max_ratio=settings.max_ratio,
        head_timeout=settings.head_timeout,
        read_timeout=settings.read_timeout,
        write_timeout=settings.write_timeout,
        keepalive=settings.keepalive,
        max_connections=settings.max_connections,
        max_connections_per_address=settings.max_connections_per_address,
        trusted_proxies=settings.trusted_proxies,
    )
