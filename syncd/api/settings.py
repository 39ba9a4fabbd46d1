"""What an operator decides for the API, as the application uses it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """``base_path`` and ``public_url`` carry no trailing slash; an empty ``public_url`` means "as the request
    says". ``max_body`` in bytes; ``read_timeout`` (seconds) bounds the time for a request's head, and again
    for its body. ``trusted_proxies``: addresses or networks whose X-Forwarded-Proto and X-Forwarded-Host
    count. ``keepalive``: seconds after which an idle connection is closed; ``max_connections`` open at once,
    further ones get a 503.
    """

    base_path: str = "/api/v1.1"
    public_url: str = ""
    max_body: int = 1024**2
    read_timeout: float = 30.0
    trusted_proxies: tuple[str, ...] = ()
    keepalive: float = 75.0
    max_connections: int = 2_000
