"""Errors as ``application/problem+json`` (RFC 9457). Only this module knows the status of an error."""

from collections.abc import Mapping
from typing import Any

import msgspec
import structlog
from aiohttp import web

from syncd import errors
from syncd.logs import Event

log = structlog.get_logger()

#: Code → (status, title). Codes are stable: clients branch on them.
CODES: Mapping[str, tuple[int, str]] = {
    "malformed_request": (400, "The request is not well-formed HTTP"),
    "malformed_json": (400, "The body is not an acceptable JSON object"),
    "invalid_parameter": (400, "A parameter or a header is not acceptable"),
    "unauthenticated": (401, "A valid API key is needed"),
    "not_found": (404, "There is no such thing"),
    "method_not_allowed": (405, "The method is not allowed here"),
    "request_timeout": (408, "The request took too long to arrive"),
    "duplicate_reference": (409, "The referenceId is already in use"),
    "illegal_transition": (409, "The status cannot change in this way"),
    "idempotency_in_progress": (409, "The first request with this Idempotency-Key is still being served"),
    "precondition_failed": (412, "The job is not the version that was named"),
    "body_too_large": (413, "The body is too large"),
    "unsupported_media_type": (415, "The body has the wrong media type"),
    "idempotency_key_reused": (422, "The Idempotency-Key was used for another request"),
    "validation_failed": (422, "The body breaks the rules"),
    "rate_limited": (429, "Too many requests"),
    "head_too_large": (431, "The head of the request is too large"),
    "internal_error": (500, "Something went wrong on our side"),
    "overloaded": (503, "Too busy for the moment"),
    "shutting_down": (503, "The service is stopping"),
}

#: Exception → code; a subclass has the code of its nearest ancestor here, any other exception ``internal_error``.
CODE_OF: Mapping[type[BaseException], str] = {
    errors.Invalid: "validation_failed",
    errors.NotFound: "not_found",
    errors.DuplicateReference: "duplicate_reference",
    errors.IllegalTransition: "illegal_transition",
    errors.PreconditionFailed: "precondition_failed",
    errors.StoreClosed: "shutting_down",
    errors.StoreError: "overloaded",
    web.RequestPayloadError: "malformed_request",
    web.HTTPNotFound: "not_found",
    web.HTTPMethodNotAllowed: "method_not_allowed",
    web.HTTPRequestEntityTooLarge: "body_too_large",
}

#: Seconds after which a client should repeat a request that got a 503.
RETRY_AFTER = 1

_encode = msgspec.json.Encoder(decimal_format="number").encode


class Refusal(errors.SyncdError):
    """A request that the HTTP layer refuses. ``code`` is one of ``CODES``. ``close``: the connection is closed after the
    answer, because the rest of the request is unread or cannot be read."""

    def __init__(
        self, code: str, detail: str, *, headers: Mapping[str, str] | None = None, close: bool = False
    ) -> None:
        self.code, self.detail, self.headers, self.close = code, detail, dict(headers or {}), close
        super().__init__(detail)


def code_of(error: BaseException) -> str:
    if isinstance(error, Refusal):
        return error.code
    return next((CODE_OF[kind] for kind in type(error).__mro__ if kind in CODE_OF), "internal_error")


def render(error: BaseException, request_id: str) -> web.Response:
    """Return the answer to any exception. An unexpected one is logged with its traceback, which the client does not get."""
    code = code_of(error)
    status, title = CODES[code]
    if code == "internal_error":
        log.error(Event.API_FAILED, request_id=request_id, exc_info=error)
    elif isinstance(error, errors.StoreError) and not isinstance(
        error, errors.StoreOverloaded | errors.StoreClosed
    ):
        log.error(Event.API_STORE_FAILED, request_id=request_id, error=str(error))
    headers = {"Content-Type": "application/problem+json", **_headers(error, code)}
    problem = {"type": f"/docs#{code}", "title": title, "status": status, "detail": _detail(error, code)}
    body = _encode({**problem, "code": code, "requestId": request_id, **_members(error)})
    answer = web.Response(body=body, status=status, headers=headers)
    if isinstance(error, web.RequestPayloadError) or (isinstance(error, Refusal) and error.close):
        answer.force_close()
    return answer


def _detail(error: BaseException, code: str) -> str:
    """Return one sentence for people. The text of an error of the store or of Python is not sent."""
    if isinstance(error, errors.StoreOverloaded | errors.StoreClosed):
        return f"{error}; try again shortly"
    if isinstance(error, errors.Invalid):
        count = len(error.problems)
        return f"the body has {count} {'fault' if count == 1 else 'faults'}; see errors"
    if (
        isinstance(error, errors.SyncdError)
        and not isinstance(error, errors.StoreError)
        and code != "internal_error"
    ):
        return str(error)
    return _GENERIC.get(code, CODES[code][1])


#: Code → detail, where the text of the exception is not sent.
_GENERIC: Mapping[str, str] = {
    "internal_error": "the failure was logged under this requestId",
    "not_found": "there is nothing at this address",
    "overloaded": "the store cannot serve right now; try again shortly",
    "malformed_request": "the body broke off or was encoded wrongly",
}


def _headers(error: BaseException, code: str) -> dict[str, str]:
    headers = error.headers if isinstance(error, Refusal) else {}
    if CODES[code][0] == 503 and "Retry-After" not in headers:
        return {**headers, "Retry-After": str(RETRY_AFTER)}
    return headers


def _members(error: BaseException) -> dict[str, Any]:
    """Return the members beside the common ones (RFC 9457, section 3.2)."""
    if isinstance(error, errors.Invalid):
        return {
            "errors": [{"pointer": p.pointer, "code": p.code, "detail": p.detail} for p in error.problems]
        }
    if isinstance(error, errors.DuplicateReference):
        return {"id": error.job_id}
    if isinstance(error, errors.IllegalTransition):
        return {"from": error.source, "to": error.target, "allowed": error.allowed}
    return {}
