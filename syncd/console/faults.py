"""Errors as pages and as problems: status, title and one sentence for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import structlog
from aiohttp import web

from syncd import errors
from syncd.logs import Event
from syncd.sync.run import Stopped
from syncd.web import CODES, Refusal

log = structlog.get_logger("syncd.console")

#: Code of a refusal that only pages have → (status, title).
_PAGES: Mapping[str, tuple[int, str]] = {
    "forbidden_host": (403, "This is not an address of the pages"),
    "forbidden_origin": (403, "The request comes from another site"),
    "stale_form": (403, "Open the page again"),
}
_KINDS: Mapping[type[Exception], tuple[int, str, str]] = {
    errors.NotFound: (404, "not_found", "There is no such thing"),
    errors.Conflict: (409, "conflict", "This cannot be done now"),
    errors.Invalid: (422, "validation_failed", "This is not acceptable"),
    errors.ConfigError: (409, "configuration", "The configuration has to be corrected first"),
    errors.FeedError: (409, "file_unusable", "The file cannot be used"),
    errors.UnusableFolder: (409, "folder_unusable", "The feed's folder cannot be used"),
    FileNotFoundError: (404, "not_found", "The file is gone"),
    Stopped: (503, "shutting_down", "The service is stopping"),
    errors.StoreError: (503, "overloaded", "The store cannot serve right now"),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """An error as it is shown."""

    status: int
    code: str
    title: str
    detail: str
    headers: Mapping[str, str]

    @classmethod
    def of(cls, error: Exception) -> Fault:
        """Return how ``error`` is shown. One that nobody expected is logged with its traceback, and shown without it."""
        if isinstance(error, Refusal):
            status, title = _PAGES.get(error.code) or CODES[error.code]
            return cls(status, error.code, title, str(error), error.headers)
        kind = next((kind for kind in type(error).__mro__ if kind in _KINDS), None)
        if kind is None:
            log.error(Event.OPERATOR_FAILED, exc_info=error)
            detail = "the failure was logged; look for operator.failed"
            return cls(500, "internal_error", "Something went wrong", detail, {})
        status, code, title = _KINDS[kind]
        detail = str(error) if isinstance(error, errors.SyncdError) else "it is not there any more"
        if isinstance(error, errors.Invalid):
            detail = "; ".join(problem.detail for problem in error.problems)
        return cls(status, getattr(error, "code", code), title, detail, {})


def problem_of(fault: Fault) -> web.Response:
    members = {name: getattr(fault, name) for name in ("title", "status", "detail", "code")}
    body = msgspec.json.encode({"type": "about:blank", **members})
    headers = {**fault.headers, "Content-Type": "application/problem+json"}
    return web.Response(body=body, status=fault.status, headers=headers)
