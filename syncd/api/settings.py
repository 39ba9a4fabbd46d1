"""What an operator decides for the API, as the application uses it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from syncd.web import ServerLimits


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """Sizes are in bytes, times in seconds; 0 switches a cap or limit off. The fields are the settings of
    ``[api]`` in the configuration, which explains each of them (``syncd/config/table.py``).

    ``base_path`` and ``public_url`` carry no trailing slash; an empty ``public_url`` means "as the request
    says".
    """

    base_path: str = "/api/v1.1"
    public_url: str = ""
    trusted_proxies: tuple[str, ...] = ()
    # what a request may be
    max_line: int = 8 * 1024
    max_headers: int = 100
    max_head: int = 64 * 1024
    max_body: int = 1024**2
    max_ratio: int = 100
    # what it may take
    head_timeout: float = 10.0
    read_timeout: float = 30.0
    write_timeout: float = 30.0
    keepalive: float = 75.0
    # how many there may be
    max_connections: int = 2_000
    max_connections_per_address: int = 500
    rate_limit: int = 0
    rate_window: float = 60.0
    failed_keys: int = 60
    failed_keys_window: float = 60.0
    # how answers go out
    compress: bool = True
    compress_min: int = 1024
    cors_origins: tuple[str, ...] = ()
    cors_max_age: float = 7_200.0

    def limits(self) -> ServerLimits:
        """Those of the server under the application."""
        given: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(ServerLimits)}
        return ServerLimits(**given)
