"""Templates and static files. Everything that a page loads is in the package, and its address changes with its contents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from syncd import __version__
from syncd.config import Settings
from syncd.console import formats
from syncd.console.charts import CHARTS
from syncd.errors import NotFound
from syncd.sync.report import APPLIED_BEFORE
from syncd.sync.report.files import size, stylesheet, visible

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
    """Return the environment of all pages: what is put into them is escaped, and characters that cannot be seen are spelled
    out."""
    env = Environment(
        finalize=visible,
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    zone = settings.timezone
    env.filters.update(formats.FILTERS, size=size)
    env.globals.update(
        CHARTS,
        url=lambda path: prefix + path,
        static=lambda name: prefix + static(name)[1],
        when=lambda instant, now: formats.when(instant, zone, now),
        lateness=formats.lateness,
        navigation=NAVIGATION,
        zone=str(zone),
        version=__version__,
        applied_before=APPLIED_BEFORE,
    )
    return env


def section_of(path: str) -> str:
    """Return the path in ``NAVIGATION`` that a page belongs to, "" if it is in none. A feed is reached from the overview."""
    first = "/" if path.startswith("/feeds/") else f"/{path.split('/')[1]}"
    return first if first in NAVIGATION else ""
