"""What every handler needs, kept in the application under one key, and what a request carries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web

from syncd.api.addresses import Addresses
from syncd.api.auth import KeyRing, Principal
from syncd.api.jsonld import JsonLd
from syncd.api.payloads import Renderer
from syncd.api.settings import ApiSettings
from syncd.api.timings import RequestTimes
from syncd.domain.catalog import Catalog
from syncd.store import Store


@dataclass(frozen=True, slots=True)
class Context:
    """``document`` is the OpenAPI one. ``open_paths`` need no key although they may lie under the base;
    ``quiet_paths`` are neither logged nor counted in ``times``. ``in_flight``: API key id and Idempotency-Key of what is
    being served.
    ``log`` writes the line of a request, which has the fields given. Once ``stopping`` is set, nothing more is begun.
    """

    store: Store
    settings: ApiSettings
    catalog: Catalog
    keys: KeyRing
    render: Renderer
    json_ld: JsonLd
    addresses: Addresses
    document: bytes
    log: Callable[..., None]
    times: RequestTimes
    open_paths: set[str] = field(default_factory=set)
    quiet_paths: set[str] = field(default_factory=set)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    in_flight: set[tuple[int, str]] = field(default_factory=set)

    def needs_key(self, path: str) -> bool:
        """Whether ``path`` lies under the base address (docs/specification.md 5), known or not."""
        base = self.settings.base_path
        return path.startswith(base) and path[len(base) :][:1] in ("", "/") and path not in self.open_paths


CONTEXT = web.AppKey("context", Context)
PRINCIPAL = web.RequestKey("principal", Principal)
REQUEST_ID = web.RequestKey("request_id", str)
