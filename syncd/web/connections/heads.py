"""Rules for the heads of requests that aiohttp's parser lacks: the size of the whole head, versions, transfer codings."""

from __future__ import annotations

from aiohttp import HttpVersion10, HttpVersion11
from aiohttp.http_exceptions import BadHttpMessage, LineTooLong
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD

from syncd.web.aiohttp_internals import ErrorMessage, Messages
from syncd.web.limits import ServerLimits

UNKNOWN_VERSION = "only HTTP/1.0 and HTTP/1.1 are supported"


def head_limit(limits: ServerLimits) -> str:
    return f"the head of a request may have {limits.max_head} bytes"


def line_limits(limits: ServerLimits) -> str:
    return f"a line may have {limits.max_line} bytes, a request {limits.max_headers} header lines"


def replace_refused(messages: Messages, limits: ServerLimits, *, measure: bool) -> None:
    """Replace each refused request in ``messages`` by an error, which aiohttp answers. ``measure``: the heads may be too
    long."""
    for place, (message, _) in enumerate(messages):
        if isinstance(message, ErrorMessage):
            continue
        if measure and _size(message) > limits.max_head:
            fault = ErrorMessage(400, LineTooLong(b"", limits.max_head), head_limit(limits))
        elif message.version is HttpVersion11 and not message.chunked:
            continue  # nearly every request
        elif why := _framing_fault(message):
            fault = ErrorMessage(400, BadHttpMessage(why), why)
        else:
            continue
        messages[place] = (fault, EMPTY_PAYLOAD)


def _size(message: RawRequestMessage) -> int:
    """Return the size in bytes, as the head was most likely written: with a space behind each colon."""
    lines = sum(len(name) + len(value) + 4 for name, value in message.raw_headers)
    return len(f"{message.method} {message.path} HTTP/1.1\r\n".encode("utf-8", "surrogateescape")) + lines + 2


def _framing_fault(message: RawRequestMessage) -> str:
    """Return why a request that the parser accepts is refused, or "": another version than 1.0 and 1.1, or a transfer
    coding beside ``chunked`` or in 1.0, which two servers can read in two ways (RFC 9112, sections 2.3 and 6.1)."""
    if message.version not in (HttpVersion10, HttpVersion11):
        return UNKNOWN_VERSION
    if not message.chunked:
        return ""
    if message.version == HttpVersion10:
        return "HTTP/1.0 has no transfer coding"
    if message.headers.get("Transfer-Encoding", "").lower() != "chunked":
        return "the only transfer coding is chunked"
    return ""
