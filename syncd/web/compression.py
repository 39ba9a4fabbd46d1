"""Answers in gzip, if the client prefers that, with the tags of variants kept apart (RFC 9110, 8.8.3 and 12.5.3).

A strong ETag names bytes, so the compressed variant has one of its own (``conditional.coded``), which names the same
version of the same job in If-Match and If-None-Match. Problems and small answers go out as they are.
"""

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

#: Within 2 % of level 6 in size on job lists, at about half of its time (100 job headers: 0.3 ms).
LEVEL = 4
#: A larger answer is compressed beside the event loop.
LARGE = 128 * 1024
_TEXT = re.compile(
    r"(?:application/(?:[a-z0-9.+-]*\+)?(?:json|xml|javascript)|text/[a-z0-9.+-]+|image/svg\+xml)\b"
)
_WEIGHT = re.compile(r"q\s*=\s*(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)", re.I)


@lru_cache(maxsize=64)
def _is_text(media_type: str) -> bool:
    return _TEXT.match(media_type) is not None


@lru_cache(maxsize=256)
def prefers_gzip(accept: str) -> bool:
    """Whether a client that sends this Accept-Encoding would rather have gzip than the bare bytes: gzip is
    acceptable, and no less welcome than ``identity`` where that is named. What cannot be read counts as not
    sent."""
    weights: dict[str, float] = {}
    for part in accept.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        weight = 1.0
        for parameter in parameters:
            found = _WEIGHT.fullmatch(parameter)
            weight = float(found[1]) if found else 0.0
        if name:
            weights[name] = weight
    gzip = weights.get("gzip", weights.get("x-gzip", weights.get("*", 0.0)))
    return gzip > 0 and gzip >= weights.get("identity", 0.0)


class Compressor:
    """Compresses answers of ``minimum`` bytes and more."""

    def __init__(self, minimum: int) -> None:
        self._minimum = minimum
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="syncd-gzip")

    def finish(self, request: web.Request, response: web.StreamResponse) -> Awaitable[None] | None:
        """What is done to the answer of a handler; what to await for it, if it is not done at once."""
        if response.status == 304:
            _name_variant_not_modified(request, response)
        elif isinstance(response, web.Response) and self._worth_it(response):
            add_vary(response, "Accept-Encoding")
            if "Accept-Encoding" in request.headers and prefers_gzip(_accepted(request)):
                return self._compress(response)
        return None

    def _worth_it(self, response: web.Response) -> bool:
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
        """A cleanup context."""
        yield
        self._thread.shutdown()


def gzipped(body: bytes) -> bytes:
    """One gzip stream; the same bytes for the same body, because its header holds no time."""
    stream = zlib.compressobj(LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return stream.compress(body) + stream.flush()


def _accepted(request: web.Request) -> str:
    return ",".join(request.headers.getall("Accept-Encoding", ()))


def _name_variant_not_modified(request: web.Request, response: web.StreamResponse) -> None:
    """A 304 carries the tag that the 200 would have had (RFC 9110, 15.4.5): that of the variant which the
    client has and still wants."""
    add_vary(response, "Accept-Encoding")
    tag = coded(response.headers.get("ETag", ""), "gzip")
    known = ",".join(request.headers.getall("If-None-Match", ()))
    if tag and tag in known and prefers_gzip(_accepted(request)):
        response.headers["ETag"] = tag
