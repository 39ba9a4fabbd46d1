"""What every handler needs: the context of the application, and the key of a request."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from syncd.api.auth import KeyRing, Principal
from syncd.api.payloads import Renderer
from syncd.config import Api
from syncd.domain import Catalogue
from syncd.store import Store
from syncd.web import Addresses, BodyReader, RequestLog


@dataclass(frozen=True, slots=True)
class ApiContext:
    """``document`` is the OpenAPI document without its ``servers``. ``open_paths`` need no key, also if they are under the
    base path. ``in_flight`` has the API key id and the Idempotency-Key of each request that is being served. When
    ``stopping`` is set, no further request is begun."""

    store: Store
    settings: Api
    catalogue: Catalogue
    keys: KeyRing
    render: Renderer
    addresses: Addresses
    bodies: BodyReader
    document: Mapping[str, Any]
    log: RequestLog
    open_paths: set[str] = field(default_factory=set)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    in_flight: set[tuple[int, str]] = field(default_factory=set)


CONTEXT = web.AppKey("context", ApiContext)
PRINCIPAL = web.RequestKey("principal", Principal)
