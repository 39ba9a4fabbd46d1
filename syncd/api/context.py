"""What every handler needs, kept in the application under one key, and what a request carries."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from aiohttp import web

from syncd.api.auth import KeyRing, Principal
from syncd.api.jsonld import JsonLd
from syncd.api.payloads import Renderer
from syncd.config import Api
from syncd.domain import Catalogue
from syncd.store import Store
from syncd.web import Addresses, RequestLog


@dataclass(frozen=True, slots=True)
class ApiContext:
    """``document`` is the OpenAPI one. ``open_paths`` need no key although they may lie under the base. ``in_flight``:
    API key id and Idempotency-Key of what is being served. Once ``stopping`` is set, nothing more is begun."""

    store: Store
    settings: Api
    catalogue: Catalogue
    keys: KeyRing
    render: Renderer
    json_ld: JsonLd
    addresses: Addresses
    document: bytes
    log: RequestLog
    open_paths: set[str] = field(default_factory=set)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    in_flight: set[tuple[int, str]] = field(default_factory=set)

    def needs_key(self, path: str) -> bool:
        """Whether ``path`` lies under the base address (docs/specification.md 5), known or not."""
        base = self.settings.base_path
        return path.startswith(base) and path[len(base) :][:1] in ("", "/") and path not in self.open_paths


CONTEXT = web.AppKey("context", ApiContext)
PRINCIPAL = web.RequestKey("principal", Principal)
