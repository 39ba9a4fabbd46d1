"""Which representation a client prefers (RFC 9110, section 12.5): the media type of an answer, and gzip.

A strong ETag names bytes, so the compressed variant has an ETag of its own (``conditional.coded``), which names the same
version of a job in If-Match and If-None-Match. Problems and small answers are not compressed."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import AsyncIterator, Awaitable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from aiohttp import web

from syncd.web.conditional import coded
from syncd.web.cors import add_vary

JSON = "application/json"
_ITEM = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*")+')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_PARAMETER = re.compile(r";[ \t]*q[ \t]*=[ \t]*([^;,\s]*)[ \t]*(?:;|\Z)", re.IGNORECASE)
_WEIGHT = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")
#: Within 2 % of level 6 in size on job lists, at about half of its time (100 job headers: 0.3 ms).
LEVEL = 4
#: A larger answer is compressed in a thread.
LARGE = 128 * 1024
_TEXT = re.compile(
    r"(?:application/(?:[a-z0-9.+-]*\+)?(?:json|xml|javascript)|text/[a-z0-9.+-]+|image/svg\+xml)\b"
)


def prefers(request: web.Request, media: str, other: str) -> bool:
    """Return whether the client prefers the media type ``media`` to ``other``. It does not where it gives both the same
    weight, nor where it accepts neither: then an answer that it can ignore is more use to it than a 406."""
    if "Accept" not in request.headers:
        return False
    found = weights(",".join(request.headers.getall("Accept")))
    return _weight(found, media) > _weight(found, other)


def weights(header: str) -> dict[str, float]:
    """Return the weight of each item of an Accept or Accept-Encoding header. An item without a valid weight counts as
    not sent. Of a repeated item the best weight counts."""
    found: dict[str, float] = {}
    for item in _ITEM.findall(header):
        name = item.partition(";")[0].strip().lower()
        parameter = _PARAMETER.search(_QUOTED.sub("", item))
        weight = parameter[1] if parameter else "1"
        if _WEIGHT.fullmatch(weight):
            found[name] = max(found.get(name, 0.0), float(weight))
    return found


def _weight(found: dict[str, float], media: str) -> float:
    """Return the weight of the most specific range that has ``media``."""
    return next((found[name] for name in (media, "application/*", "*/*") if name in found), 0.0)


@lru_cache(maxsize=64)
def _is_text(media_type: str) -> bool:
    return _TEXT.match(media_type) is not None


@lru_cache(maxsize=256)
def prefers_gzip(accept: str) -> bool:
    """Return whether a client that sends this Accept-Encoding accepts gzip, and gives it no less weight than
    ``identity``."""
    found = weights(accept)
    gzip = found.get("gzip", found.get("x-gzip", found.get("*", 0.0)))
    return gzip > 0 and gzip >= found.get("identity", 0.0)


class Compressor:
    """Compresses answers of ``minimum`` bytes and more."""

    def __init__(self, minimum: int) -> None:
        self._minimum = minimum
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="syncd-gzip")

    def finish(self, request: web.Request, response: web.StreamResponse) -> Awaitable[None] | None:
        """Compress the answer of a handler. Return what to await for that, or None if nothing is left to do."""
        if response.status == 304:
            _name_variant_not_modified(request, response)
        elif isinstance(response, web.Response) and self._can_compress(response):
            add_vary(response, "Accept-Encoding")
            if "Accept-Encoding" in request.headers and prefers_gzip(_accepted(request)):
                return self._compress(response)
        return None

    def _can_compress(self, response: web.Response) -> bool:
        body = response.body
        return (
            isinstance(body, bytes | bytearray)
            and len(body) >= self._minimum
            and _is_text(response.headers.get("Content-Type", ""))
            and "Content-Encoding" not in response.headers
        )

    async def _compress(self, response: web.Response) -> None:
        body = bytes(response.body)  # type: ignore[arg-type]
        if len(body) < LARGE:
            packed = gzipped(body)
        else:
            packed = await asyncio.get_running_loop().run_in_executor(self._thread, gzipped, body)
        response.body = packed
        response.headers["Content-Encoding"] = "gzip"
        if "ETag" in response.headers:
            response.headers["ETag"] = coded(response.headers["ETag"], "gzip")

    async def keep_thread(self, _app: web.Application) -> AsyncIterator[None]:
        """End the thread with the application (a cleanup context)."""
        yield
        self._thread.shutdown()


def gzipped(body: bytes) -> bytes:
    """Return ``body`` as one gzip stream. Its header has no time, so the same body gives the same bytes."""
    stream = zlib.compressobj(LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return stream.compress(body) + stream.flush()


def _accepted(request: web.Request) -> str:
    return ",".join(request.headers.getall("Accept-Encoding", ()))


def _name_variant_not_modified(request: web.Request, response: web.StreamResponse) -> None:
    """Give a 304 the ETag that the 200 would have (RFC 9110, section 15.4.5): that of the variant which the client has
    and still prefers."""
    add_vary(response, "Accept-Encoding")
    tag = coded(response.headers.get("ETag", ""), "gzip")
    known = ",".join(request.headers.getall("If-None-Match", ()))
    if tag and tag in known and prefers_gzip(_accepted(request)):
        response.headers["ETag"] = tag
