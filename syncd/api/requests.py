"""A request as a handler sees it: the context of the application, the key, the id in the path, and the query of a list
(docs/specification.md 2.8 and 4.7)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

from aiohttp import web

from syncd.api.auth import KeyRing, Principal
from syncd.api.payloads import Renderer
from syncd.config import Api
from syncd.domain import INT32_MAX, INT32_MIN, Catalogue, Status
from syncd.errors import NotFound
from syncd.store import Store
from syncd.web import Addresses, BodyReader, Refusal, RequestLog

DEFAULT_PAGE_SIZE = 10
MAX_PAGE_SIZE = 100
#: Characters of a Link header; many clients accept lines of 8 KiB at most.
MAX_LINK = 6_000
#: The parameters of the list of jobs. Other lists have fewer.
PARAMETERS = frozenset({"q", "status", "pageSize", "page"})
#: A plain Int32; ``007``, ``+7`` and ``1.0`` are not.
_INT32 = re.compile("0|-?[1-9][0-9]{0,9}")
_INTEGER = re.compile(r"-?[0-9]{1,10}")


def path_id(request: web.Request, what: str) -> int:
    """Return the ``{id}`` of the path. Raise NotFound (job, location, entry) unless it is a plain Int32."""
    text = request.match_info["id"]
    if _INT32.fullmatch(text) and INT32_MIN <= (number := int(text)) <= INT32_MAX:
        return number
    raise NotFound(what, text[:50])


@dataclass(frozen=True, slots=True)
class ListQuery:
    """``page`` counts from 1. ``page_size`` is the one in effect, 1 to 100. ``q`` None: no filter."""

    q: str | None = None
    status: Status | None = None
    page_size: int = DEFAULT_PAGE_SIZE
    page: int = 1

    @classmethod
    def parse(cls, raw: str, names: Set[str] = PARAMETERS) -> ListQuery:
        """Read the parameters ``names`` of the raw query string; others are ignored. Raise ``invalid_parameter`` for one that
        is repeated or not valid."""
        values = _values(raw, names)
        return cls(
            q=values.get("q") or None,
            status=_status(values.get("status", "")),
            page_size=min(_positive(values, "pageSize", DEFAULT_PAGE_SIZE), MAX_PAGE_SIZE),
            page=_positive(values, "page", 1),
        )

    def paging(self, total: int, address: str) -> tuple[dict[str, object], dict[str, str]]:
        """Return the paging object, and the Link header (RFC 8288) with the same addresses unless a long ``q`` makes it longer
        than clients accept. ``address`` is that of the list. Behind the last page, ``previous`` is the last one."""
        pages = -(-total // self.page_size)
        numbers = {"first": 1, "last": max(pages, 1)}
        if self.page > 1:
            numbers["prev"] = max(1, min(self.page - 1, pages))
        if self.page < pages:
            numbers["next"] = self.page + 1
        filters = {"q": self.q, "status": self.status and self.status.value}
        kept = {name: value for name, value in filters.items() if value}
        query = urlencode({**kept, "pageSize": self.page_size})
        pages_by_name = {name: f"{address}?{query}&page={number}" for name, number in numbers.items()}
        link = ", ".join(f'<{page}>; rel="{name}"' for name, page in pages_by_name.items())
        return {
            "total": total,
            "page": self.page,
            "pages": pages,
            "pageSize": self.page_size,
            "previous": pages_by_name.get("prev"),
            "next": pages_by_name.get("next"),
        }, {"Link": link} if len(link) <= MAX_LINK else {}


def _values(raw: str, names: Set[str]) -> dict[str, str]:
    try:
        pairs = parse_qsl(raw, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise _invalid("the query is not UTF-8") from None
    values: dict[str, str] = {}
    for name, value in pairs:
        if name in values:
            raise _invalid(f"{name} is given more than once")
        if name in names:
            values[name] = value
    return values


def _positive(values: dict[str, str], name: str, default: int) -> int:
    """Return an Int32 from 1. An empty one counts as absent."""
    text = values.get(name, "")
    if not text:
        return default
    if not _INTEGER.fullmatch(text) or not 1 <= int(text) <= INT32_MAX:
        raise _invalid(f"{name} has to be a whole number from 1 to {INT32_MAX}")
    return int(text)


def _status(text: str) -> Status | None:
    if not text:
        return None
    try:
        return Status(text)
    except ValueError:
        raise _invalid(f"status has to be one of {', '.join(Status)}") from None


def _invalid(detail: str) -> Refusal:
    return Refusal("invalid_parameter", detail)


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
