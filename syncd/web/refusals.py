"""The answers to what never becomes a request: a head that is refused, a connection too many, a failure of aiohttp; and the
rules for heads that aiohttp's parser lacks: the size of the whole head, versions, transfer codings."""

from __future__ import annotations

import structlog
from aiohttp import HttpVersion10, HttpVersion11, web
from aiohttp.http_exceptions import BadHttpMessage, BadStatusLine, InvalidURLError, LineTooLong
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD

from syncd.logs import Event
from syncd.web import problems
from syncd.web.aiohttp_internals import ErrorMessage, Messages
from syncd.web.envelope import add_standard_headers, new_request_id
from syncd.web.limits import ServerLimits
from syncd.web.problems import Refusal

UNKNOWN_VERSION = "only HTTP/1.0 and HTTP/1.1 are supported"
log = structlog.get_logger()
#: Messages of aiohttp that come without an exception of their own.
_TOO_MANY_HEADERS = "Too many headers received"
_HTTP_2 = "Pause on PRI/Upgrade"
#: Replaces aiohttp's messages that quote the client or name parts of aiohttp.
_UNREADABLE = {
    InvalidURLError: "the request line names no address that can be read",
    BadStatusLine: "the request line has to be METHOD, address and HTTP/1.1, ended by CR and LF",
}


def head_limit(limits: ServerLimits) -> str:
    return f"the head of a request may have {limits.max_head} bytes"


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


def refusal(code: str, detail: str) -> bytes:
    """Return the bytes of an answer after which the connection is closed."""
    answer = _answer(Refusal(code, detail))
    answer.headers["Connection"] = "close"
    body = answer.body
    assert isinstance(body, bytes)
    answer.headers["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
    return f"HTTP/1.1 {answer.status} {answer.reason}\r\n{head}\r\n".encode() + body


def answer_to_fault(
    status: int, error: BaseException | None, message: str | None, limits: ServerLimits
) -> web.Response:
    """Return the answer to a head that aiohttp could not parse (``status`` 400), or to a failure of its own."""
    if message == head_limit(limits):
        error = Refusal("head_too_large", message)
    elif isinstance(error, LineTooLong) or message == _TOO_MANY_HEADERS:
        detail = f"a line may have {limits.max_line} bytes, a request {limits.max_headers} header lines"
        error = Refusal("head_too_large", detail)
    elif status == 400:
        error = Refusal("malformed_request", _fault(error, message))
    answer = _answer(error or RuntimeError(f"aiohttp gave up with {status}"))
    answer.force_close()
    return answer


def _answer(error: BaseException) -> web.Response:
    """Make the answer and write its line in the log."""
    request_id = new_request_id()
    answer = problems.render(error, request_id)
    add_standard_headers(answer, request_id)
    log.info(
        Event.API_REQUEST,
        method=None,
        route=None,
        status=answer.status,
        ms=None,
        key=None,
        request_id=request_id,
    )
    return answer


def _fault(error: BaseException | None, message: str | None) -> str:
    """Return aiohttp's message without the bytes that it quotes on further lines."""
    words = (message or "it could not be parsed").strip().splitlines()[0].rstrip(": ")
    return UNKNOWN_VERSION if words == _HTTP_2 else _UNREADABLE.get(type(error), words)
