"""What the server of an application allows its clients."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Sizes are in bytes, times in seconds. 0 switches a cap on connections off. ``trusted_proxies`` are the networks
    whose X-Forwarded-* headers are believed."""

    # one request
    max_line: int
    max_headers: int
    max_head: int
    max_body: int
    max_ratio: int
    head_timeout: float
    read_timeout: float
    write_timeout: float
    keepalive: float
    # many connections
    max_connections: int
    max_connections_per_address: int
    trusted_proxies: tuple[str, ...]
