"""The body of a request: media type, size, time, then strict JSON. Every fault is a ``Refusal``. Numbers with a fraction or an
exponent become exact Decimals. A large body is parsed and judged in a thread, while the event loop serves others."""

import asyncio
import json
import re
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal, InvalidOperation
from typing import NoReturn, TypeVar
from weakref import WeakValueDictionary

from aiohttp import HttpVersion11, web

from syncd.web import limits
from syncd.web.envelope import KEY_ID
from syncd.web.problems import Refusal

T = TypeVar("T")

#: Levels of objects and arrays, the outermost counted.
MAX_DEPTH = 64
#: Bytes to which a compressed body may expand at any ratio.
SMALL = 64 * 1024
#: Bytes. A larger body is parsed and judged in the thread. A smaller one takes up to some milliseconds.
LARGE = 16 * 1024
#: Times that a larger body may expand. JSON of jobs expands five to fifteen times.
MAX_RATIO = 100
_GZIP = frozenset({"gzip", "x-gzip"})
_ENCODINGS = _GZIP | {"", "identity"}
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class BodyReader:
    """Reads bodies. Large ones are parsed and judged one at a time, because threads share the interpreter. Each API key has one
    of them in the line, so that a key that sends many does not hold up the others."""

    def __init__(self, max_body: int) -> None:
        self._max_body = max_body
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="syncd-body")
        self._turns: WeakValueDictionary[int | None, asyncio.Lock] = WeakValueDictionary()

    async def read(self, request: web.Request, judge: Callable[[dict[str, object]], T]) -> T:
        """Return the result of ``judge``, which may run in a thread, for the JSON object in the body."""
        text = await _read_text(request, self._max_body)
        if len(text) <= LARGE:
            return judge(parse(text))
        async with self._turns.setdefault(request.get(KEY_ID), asyncio.Lock()):
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, lambda: judge(parse(text)))

    async def keep_thread(self, _app: web.Application) -> AsyncIterator[None]:
        yield
        self._thread.shutdown()


async def _read_text(request: web.Request, max_body: int) -> bytes:
    """Return the body, expanded. The checks are in the order of docs/api.md "Order of checks"."""
    if not request.body_exists:
        raise _missing()
    try:
        encoding = _encoding_of(request)
    except Refusal:
        if await _is_empty(request):
            raise _missing() from None
        raise
    if (request.content_length or 0) > max_body:
        raise _too_large(max_body)
    raw = await _read(request, max_body)
    if not raw:
        raise _missing()
    return _expand(raw, max_body) if encoding in _GZIP else raw


async def _is_empty(request: web.Request) -> bool:
    """Return whether a body of unknown length has no byte. One that the client holds back until it is asked for has some."""
    if request.content_length is not None or "Expect" in request.headers:
        return False
    try:
        async with asyncio.timeout(limits.READ_TIMEOUT):
            return not await request.content.read(1)
    except (TimeoutError, web.RequestPayloadError):
        return False


def _encoding_of(request: web.Request) -> str:
    """Return the content coding. Raise a Refusal of one that is unknown, and of another media type than JSON."""
    if not request.headers.get("Content-Type", "").lower().startswith("application/json"):
        raise Refusal("unsupported_media_type", "Content-Type has to start with application/json")
    encoding = ",".join(request.headers.getall("Content-Encoding", ())).strip().lower()
    if encoding not in _ENCODINGS:
        raise Refusal(
            "unsupported_media_type",
            "Content-Encoding can be gzip or identity",
            headers={"Accept-Encoding": "gzip"},  # RFC 9110, 12.5.3: the reason of the 415
            close=True,
        )
    return encoding


def _expand(raw: bytes, max_body: int) -> bytes:
    """Return the decompressed body, which must be one whole stream. Decompression stops at the size or ratio allowed."""
    limit = min(max_body, max(SMALL, len(raw) * MAX_RATIO))
    stream = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        text = stream.decompress(raw, limit + 1)
    except zlib.error:
        raise _malformed("the body is not gzip") from None
    if len(text) > limit:
        if limit == max_body:
            raise _too_large(max_body)
        detail = f"a body may expand to {MAX_RATIO} times its compressed size"
        raise Refusal("body_too_large", detail, close=True)
    if not stream.eof or stream.unused_data:
        raise _malformed("the body is not one whole gzip stream")
    return text


async def _read(request: web.Request, max_body: int) -> bytes:
    expected = request.headers.get("Expect", "").strip().lower()
    if expected == "100-continue" and request.version >= HttpVersion11:
        # key, method, media type and size are checked (RFC 9110, section 10.1.1)
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # an interim answer is not the start of the final one
    try:
        if request.content.is_eof():  # it came with the head
            return await request.read()
        async with asyncio.timeout(limits.READ_TIMEOUT):
            return await request.read()
    except TimeoutError:
        detail = f"the body did not arrive within {limits.READ_TIMEOUT:g} seconds"
        raise Refusal("request_timeout", detail, close=True) from None
    except web.HTTPRequestEntityTooLarge:
        raise _too_large(max_body) from None
    except RuntimeError as error:
        if request.transport is not None:
            raise
        raise ConnectionResetError("the client left before its body was read") from error


def parse(raw: bytes) -> dict[str, object]:
    """Return the JSON object in ``raw`` (RFC 8259, strictly). Raise ``malformed_json`` unless it survives a round trip."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise _malformed(f"byte {error.start} is not UTF-8") from None
    value = _decode(text)
    if not isinstance(value, dict):
        raise _malformed("the outermost value has to be an object")
    if text.count("{") + text.count("[") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise _malformed(f"the nesting is deeper than {MAX_DEPTH} levels")
    if _ESCAPED_SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError:
            raise _malformed("an escape names half of a surrogate pair") from None
    return value


def _decode(text: str) -> object:
    if text.startswith("\ufeff"):
        raise _malformed("the text starts with a byte order mark")
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        fault = error.msg.removesuffix(" at").removesuffix(" starting")
        raise _malformed(f"line {error.lineno}, column {error.colno}: {fault}") from None
    except RecursionError:
        raise _malformed(f"the nesting is deeper than {MAX_DEPTH} levels") from None
    except (ValueError, InvalidOperation):
        raise _malformed("a number has too many digits") from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = Counter(name for name, _ in pairs)
        twice = json.dumps(max(names, key=names.__getitem__)[:60])
        raise _malformed(f"the member {twice} is there twice")
    return value


def _constant(name: str) -> NoReturn:
    raise _malformed(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=Decimal, parse_constant=_constant)


def _depth(value: object) -> int:
    """Return how deep ``value`` nests, without recursion: the input may be hostile."""
    depth, level = 0, [value]
    while level := [v for v in level if isinstance(v, dict | list)]:
        depth += 1
        level = [child for v in level for child in (v.values() if isinstance(v, dict) else v)]
    return depth


def _malformed(detail: str) -> Refusal:
    return Refusal("malformed_json", detail)


def _missing() -> Refusal:
    return _malformed("a body is needed and there is none")


def _too_large(max_body: int) -> Refusal:
    return Refusal("body_too_large", f"a body may have {max_body} bytes", close=True)
