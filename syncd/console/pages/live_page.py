"""The stream of server-sent events that an open page listens to."""

from __future__ import annotations

from aiohttp import web

from syncd.console import live
from syncd.console.digests import KINDS, OVERVIEW, Topic
from syncd.console.visit import Visit
from syncd.web import Refusal

#: Milliseconds after which a browser whose stream broke off asks again.
AGAIN = 2000
_HEADERS = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Accel-Buffering": "no",  # nginx would keep events back
}


async def stream(visit: Visit) -> web.StreamResponse:
    """Send the digest of what the page shows whenever it changes: of the overview, or of the ``run``, ``feed`` or ``employer``.
    ``seen``: the digest that the page has. The stream ends with the session, the browser or the service."""
    request, views, topic = visit.request, visit.console.live, _topic(visit)
    seen = request.headers.get("Last-Event-ID", "") or visit.text("seen")
    if request.method != "GET":
        raise Refusal("method_not_allowed", "this address takes GET", headers={"Allow": "GET"})
    with views.opened(topic, seen[:64], lambda: _is_gone(request)) as view:
        response = web.StreamResponse(headers=_HEADERS)
        await response.prepare(request)
        await response.write(b"retry: %d\n\n" % AGAIN)
        while not views.stopping:
            changed = await view.changed(live.SILENCE)
            if views.stopping or _is_gone(request) or not _may_go_on(visit):
                break
            line = f"id: {view.seen}\ndata: {view.seen}\n\n" if changed else ": nothing new\n\n"
            await response.write(line.encode())
        response.force_close()
        if not _is_gone(request):
            await response.write_eof()
    return response


def _topic(visit: Visit) -> Topic:
    """Raises ``invalid_parameter``."""
    kind = next((kind for kind in KINDS if visit.text(kind)), "")
    if kind in ("run", "employer"):
        return kind, str(visit.number(kind))
    return (kind, visit.text(kind)[:100]) if kind else OVERVIEW


def _is_gone(request: web.Request) -> bool:
    return request.transport is None or request.transport.is_closing()


def _may_go_on(visit: Visit) -> bool:
    """Return whether the session of the view has not ended."""
    try:
        return (
            visit.console.gate.session(visit.request) is not None or visit.console.gate.sessions.open_to_all
        )
    except Refusal:
        return False


ROUTES = {"/live": {"GET": stream}}
