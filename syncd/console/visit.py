"""The pages as a whole, and one request for a page: who asks, its parameters, and its answer, as a page or as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import blake2b
from typing import Any, Protocol, TypeVar

import msgspec
from aiohttp import web

from syncd.config import Settings
from syncd.console.actions import Actions, Previews
from syncd.console.faults import Fault
from syncd.console.gate import Gate, Session, Sessions
from syncd.console.rendering import make_environment
from syncd.domain import Catalogue
from syncd.errors import NotFound
from syncd.feeds.configuration import FeedFile
from syncd.store import Store, Tx
from syncd.sync.arrival import ArrivalContext
from syncd.sync.run import Feed
from syncd.web import JSON, Refusal, prefers

T = TypeVar("T")
Choice = TypeVar("Choice", bound=StrEnum)
HTML = "text/html"
encode = msgspec.json.Encoder(decimal_format="number", enc_hook=str).encode
MAX_NUMBER = 2**31 - 1
#: Seconds after which an open page is made again although its state is the same: it shows jobs that the API has
#: written, files that lie in a folder, and changes by time alone, too.
MAX_AGE = 30


class Feeds(Protocol):
    """``feeds`` can be used; ``files``: the file of each feed as the service uses it, with all faults of the feed."""

    @property
    def feeds(self) -> Mapping[str, Feed]: ...
    @property
    def files(self) -> Mapping[str, FeedFile]: ...


class Console:
    """The collaborators of all pages. ``arrival`` runs the files of the operator, until the service stops. ``parts`` returns
    each part of the service → "ok" or its fault. ``prefix`` is in front of every address of the pages ("" or "/operator")."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        catalogue: Catalogue,
        *,
        configured: Feeds,
        arrival: ArrivalContext,
        parts: Callable[[], Awaitable[Mapping[str, str]]],
        prefix: str = "",
        gate: Gate | None = None,
    ) -> None:
        """``gate``: with other clocks, for tests."""
        self.store, self.settings, self.catalogue, self.configured = store, settings, catalogue, configured
        self.arrival, self.parts, self.prefix = arrival, parts, prefix
        self.gate = gate or Gate(settings, Sessions(settings.operator.token))
        self.actions = Actions()
        self.previews = Previews(settings.store.path.parent if settings.store.path is not None else None)
        self.env = make_environment(settings, prefix)

    def usable_feed(self, name: str) -> Feed:
        """Return a feed. Raises NotFound for one that is not configured, or degraded."""
        feed = self.configured.feeds.get(name)
        if feed is None:
            raise NotFound("feed", name[:100], "it is not configured, or cannot be used now")
        return feed


#: Answers a page.
PageHandler = Callable[["Visit"], Awaitable[web.StreamResponse]]


def live(state: Callable[[Visit, Tx], object]) -> Callable[[PageHandler], PageHandler]:
    """Have a page renew itself while it is open: the browser asks for it every two seconds, with the ETag of the page that it
    has. ``state`` returns values, cheap to read, by which a changed page is known: where they are the same the answer is a 304,
    and the page is not made."""

    def decorated(page: PageHandler) -> PageHandler:
        async def serve(visit: Visit) -> web.StreamResponse:
            if visit.wants_json:
                return await page(visit)
            # the forms of a page belong to a session, and to one life of the daemon
            shown = await visit.read(
                lambda tx: (visit.session.csrf, tx.now.instant.timestamp() // MAX_AGE, state(visit, tx))
            )
            etag = f'"{blake2b(repr(shown).encode("utf-8", "replace"), digest_size=12).hexdigest()}"'
            if etag in visit.request.headers.get("If-None-Match", ""):
                return web.Response(status=304, headers={"ETag": etag})
            return await page(replace(visit, etag=etag))

        return serve

    return decorated


def paging(total: int, page: int, size: int) -> dict[str, int]:
    """Return the values of a template for the links between the pages of a list: there is one at least."""
    return {"total": total, "page": page, "pages": max(1, -(-total // size))}


@dataclass(frozen=True, slots=True)
class Visit:
    """``form`` has the fields of a form, which belongs to the session by then, and ``fault`` why it is refused. ``etag`` is that
    of a page which renews itself, "" of any other."""

    console: Console
    request: web.Request
    session: Session
    form: Mapping[str, Any] = field(default_factory=dict)
    etag: str = ""
    fault: Fault | None = None

    @property
    def wants_json(self) -> bool:
        return prefers(self.request, JSON, HTML)

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """Return ``fn`` of a snapshot of the store; it runs in a thread."""
        return await self.console.store.read_async(fn)

    def page(self, template: str, status: int | None = None, **values: Any) -> web.Response:
        console, path = self.console, self.request.path.removeprefix(self.console.prefix) or "/"
        section = f"/{path.split('/')[1]}"
        html = console.env.get_template(template).render(
            session=self.session,
            guarded=not console.gate.sessions.open_to_all,
            section=section,
            etag=self.etag,
            address=self.request.path_qs,
            **{"now": console.store.now().instant, "fault": self.fault, "sent": self.form, **values},
        )
        headers = {"Content-Type": "text/html; charset=utf-8", **({"ETag": self.etag} if self.etag else {})}
        status = status or (self.fault.status if self.fault else 200)
        return web.Response(body=html.encode("utf-8", "replace"), status=status, headers=headers)

    def json(self, value: object, status: int = 200) -> web.Response:
        """Answer ``value`` as the command prints it with ``--json``."""
        return web.Response(body=encode(value) + b"\n", status=status, headers={"Content-Type": JSON})

    def redirect(self, path: str) -> web.Response:
        """Lead a browser to ``path``, below the prefix, with GET."""
        return web.Response(status=303, headers={"Location": self.console.prefix + path})

    def text(self, name: str) -> str:
        return self.request.query.get(name, "").strip()

    def number(self, name: str, default: int = 1, most: int = MAX_NUMBER) -> int:
        """Return a positive whole number of the address. Raises ``invalid_parameter``."""
        sent = self.text(name)
        number = _whole_number(sent) if sent else default
        if number is None or not 1 <= number <= most:
            raise Refusal("invalid_parameter", f"{name} has to be a whole number from 1 to {most}")
        return number

    def choice(self, name: str, kinds: type[Choice]) -> Choice | None:
        """Return a parameter of the address that is one of ``kinds``; None if it is not there. Raises ``invalid_parameter``."""
        sent = self.text(name)
        if sent and sent not in list(kinds):
            raise Refusal("invalid_parameter", f"{name} has to be one of {', '.join(kinds)}")
        return kinds(sent) if sent else None

    def path_number(self, noun: str, name: str = "number") -> int:
        """Return the number of a ``noun`` that the path has as ``name``. Raises ``not_found``."""
        sent = self.request.match_info[name]
        number = _whole_number(sent)
        if number is None:
            raise Refusal("not_found", f"no {noun} {sent[:20]!r}")
        return number


def _whole_number(sent: str) -> int | None:
    """Return the number in ASCII digits; None if it is not one that the store can have."""
    number = int(sent) if sent.isascii() and sent.isdecimal() and len(sent) <= 10 else None
    return number if number is not None and number <= MAX_NUMBER else None
