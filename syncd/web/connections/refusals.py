"""The answers to what never becomes a request: a head that is refused, a connection too many, a failure of aiohttp."""

from __future__ import annotations

import structlog
from aiohttp import web
from aiohttp.http_exceptions import BadStatusLine, InvalidURLError, LineTooLong

from syncd.logs import Event
from syncd.web import problems
from syncd.web.connections.heads import UNKNOWN_VERSION, head_limit, line_limits
from syncd.web.envelope import add_standard_headers, new_request_id
from syncd.web.limits import ServerLimits
from syncd.web.problems import Refusal

log = structlog.get_logger()

#: Messages of aiohttp that come without an exception of their own.
_TOO_MANY_HEADERS = "Too many headers received"
_HTTP_2 = "Pause on PRI/Upgrade"
#: Replaces aiohttp's messages that quote the client or name parts of aiohttp.
_UNREADABLE = {
    InvalidURLError: "the request line names no address that can be read",
    BadStatusLine: "the request line has to be METHOD, address and HTTP/1.1, ended by CR and LF",
}


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
        error = Refusal("head_too_large", line_limits(limits))
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
