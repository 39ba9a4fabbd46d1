"""Templates, static files, and the filters for numbers, times, sizes and states. Everything that a page loads is in the
package, and its address changes with its contents."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from syncd import __version__
from syncd.config import Settings
from syncd.console.charts import CHARTS
from syncd.domain import API_FEED
from syncd.errors import NotFound
from syncd.sync.report import APPLIED_BEFORE
from syncd.sync.report.files import size, stylesheet, visible
from syncd.values import plural
from syncd.views import shown

#: Static file → its type.
STATIC: Mapping[str, str] = {
    "style.css": "text/css; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
#: The navigation: path below the prefix → label, in order.
NAVIGATION: Mapping[str, str] = {
    "/": "Overview",
    "/feeds": "Feeds",
    "/runs": "Runs",
    "/jobs": "Jobs",
    "/employers": "Employers",
    "/preview": "Preview",
    "/service": "Service",
}
_FOREVER = "public, max-age=31536000, immutable"
_FOLDER = Path(__file__).parent / "templates"


@cache
def static(name: str) -> tuple[bytes, str]:
    """Return a static file and its address below the prefix. Raises NotFound."""
    if name not in STATIC:
        raise NotFound("file", name[:50])
    folder = files("syncd.console") / "static"
    content = stylesheet().encode() if name == "style.css" else (folder / name).read_bytes()
    return content, f"/static/{sha256(content).hexdigest()[:12]}/{name}"


async def static_file(request: web.Request) -> web.Response:
    """Answer a static file; nobody has to be logged in. An address of an older version gets the file of this one."""
    name = request.match_info["name"]
    content, path = static(name)
    now = path.endswith(f"/{request.match_info['digest']}/{name}")
    headers = {"Content-Type": STATIC[name], "Cache-Control": _FOREVER if now else "no-store"}
    return web.Response(body=content, headers=headers)


def make_environment(settings: Settings, prefix: str) -> Environment:
    """Return the environment of all pages: values are escaped, and characters that cannot be seen are spelled out."""
    env = Environment(
        finalize=visible,
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    zone = settings.timezone
    env.filters.update(FILTERS, size=size)
    env.globals.update(
        CHARTS,
        url=lambda path: prefix + path,
        static=lambda name: prefix + static(name)[1],
        when=lambda instant, now: when(instant, zone, now),
        lateness=lateness,
        navigation=NAVIGATION,
        zone=str(zone),
        version=__version__,
        applied_before=APPLIED_BEFORE,
        api_feed=API_FEED,
    )
    return env


# -- filters -------------------------------------------------------------------------------------------------

#: Tone, which decides colour and shape → the states of runs, feeds, jobs and keys that have it; all others are calm.
TONES = {
    "busy": ("claimed", "reading", "applying", "archiving"),
    "good": ("succeeded", "ok", "active", "live"),
    "warn": ("partial", "overdue"),
    "wait": ("held", "draft"),
    "bad": ("failed", "degraded"),
}
_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"))


def tone(state: str) -> str:
    return next((tone for tone, states in TONES.items() if state in states), "calm")


def state(name: str) -> Markup:
    return Markup('<span class="state {}">{}</span>').format(tone(name), name)


def duration(seconds: float) -> str:
    """Return ``2 days``, ``3 hours``, ``12 s``, ``2.5 s`` or ``40 ms``."""
    for unit, name in _UNITS:
        if seconds >= unit:
            return plural(int(seconds // unit), name)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def when(instant: str | None, zone: tzinfo, now: datetime) -> Markup:
    """Return an instant (ISO 8601) in ``zone``, with the exact one on hover. The year is left out if it is this one."""
    if instant is None:
        return Markup('<span class="soft">–</span>')
    exact = datetime.fromisoformat(instant)
    local, today = exact.astimezone(zone), now.astimezone(zone)
    day = {today.date(): "today", today.date() - timedelta(days=1): "yesterday"}.get(local.date())
    day = day or f"{local.day} {local:%b}" + (f" {local.year}" if local.year != today.year else "")
    iso = exact.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(iso, iso, f"{day} {local:%H:%M}")


def lateness(instant: str | None, now: datetime) -> Markup:
    """Return how long ago an instant was, or in how long it will be. A live page renews it as time goes by."""
    if instant is None:
        return Markup()
    seconds = (now - datetime.fromisoformat(instant)).total_seconds()
    words = f"{duration(seconds)} ago" if seconds >= 0 else f"in {duration(-seconds)}"
    return Markup('<time datetime="{}" data-relative>{}</time>').format(instant, words)


def given(value: object) -> str:
    """Return a field of a form as it was sent, "" if it was not."""
    return value if isinstance(value, str) else ""


FILTERS = {
    "duration": duration,
    "given": given,
    "instant": datetime.isoformat,
    "number": "{:,}".format,
    "plural": plural,
    "shown": shown,
    "state": state,
    "toml_text": partial(json.dumps, ensure_ascii=False),
    "tone": tone,
}
