"""Parameters and headers that several operations share, from the limits that the handlers enforce."""

from __future__ import annotations

from syncd.api.idempotency import HEADER as IDEMPOTENCY_KEY
from syncd.api.idempotency import MAX_KEY, REPLAYED
from syncd.api.openapi.schemas import INT32, Schema, text
from syncd.api.parameters import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from syncd.domain import INT32_MAX, Status

_TAG = r'(W/)?"[!#-~]*"'
#: ``*``, or a list of entity tags, which may have empty elements.
TAGS: Schema = {
    "anyOf": [{"const": "*"}, text(pattern=rf"^[ \t,]*{_TAG}([ \t]*,[ \t]*({_TAG})?)*[ \t]*$")],
    "examples": ['"0a1b2c3d4e5f60718293a4b5"', "*"],
}
_POSITIVE: Schema = {"type": "integer", "format": "int32", "minimum": 1, "maximum": INT32_MAX}
_EMPTY: Schema = {"type": "string", "maxLength": 0}


def parameters() -> dict[str, Schema]:
    """Return the parameters by the names in ``Operation.parameters``."""
    statuses = text(enum=[*(status.value for status in Status), ""])
    page_size = {"anyOf": [_POSITIVE, _EMPTY], "default": DEFAULT_PAGE_SIZE}
    rows: tuple[tuple[str, str, str, Schema], ...] = (
        (
            "query", "q",
            "A piece of the title or the referenceId (of the name, for locations), without case and accents.",
            text(),
        ),
        ("query", "status", "Only jobs in this status. Empty: all.", statuses),
        ("query", "pageSize", f"More than {MAX_PAGE_SIZE} counts as {MAX_PAGE_SIZE}. Empty: the default.", page_size),
        ("query", "page", "From 1. Empty: the default.", {"anyOf": [_POSITIVE, _EMPTY], "default": 1}),
        (
            "header", "If-Match",
            "Only if the job is still the version with one of these entity tags; `*`: only if there is one.",
            TAGS,
        ),
        (
            "header", "If-None-Match",
            "A read: 304 if the representation has one of these tags. A write: only if the job has none of"
            " them; `*`: only if there is no job.",
            TAGS,
        ),
        (
            "header", IDEMPOTENCY_KEY,
            "Names this request, so that it can be repeated safely. Valid for 24 hours.",
            text(MAX_KEY, minLength=1, pattern=r"^[\u0020-\u007e]+$"),
        ),
    )  # fmt: skip
    return {
        "id": {"name": "id", "in": "path", "required": True, "schema": INT32},
        **{
            name: {"name": name, "in": at, "description": about, "schema": schema}
            for at, name, about, schema in rows
        },
    }


def headers() -> dict[str, Schema]:
    """Return the headers of answers by name."""
    return {
        name: {"description": description, "schema": text()}
        for name, description in {
            "X-Request-Id": "The request's own, if it is up to 128 letters, digits and `._:/+=@-`; else a new one.",
            "ETag": "Changes exactly when the representation does.",
            "Location": "The absolute address of the new job.",
            "Link": "RFC 8288: first, prev, next and last page. Absent where a long `q` would make it too long.",
            "Vary": "Which request headers decide what is answered.",
            "Allow": "The methods of this address.",
            "Retry-After": "Seconds to wait.",
            "RateLimit": "What the key has left, where requests are limited (draft-ietf-httpapi-ratelimit-headers).",
            "RateLimit-Policy": "The limit on the key's requests, where there is one.",
            "WWW-Authenticate": "How to send the API key.",
            REPLAYED: "`true`: this is the answer that the first request with this Idempotency-Key got.",
        }.items()
    }


#: Status of an error → its headers, beside those of every answer.
ERROR_HEADERS: dict[int, tuple[str, ...]] = {
    401: ("WWW-Authenticate",),
    405: ("Allow",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
#: Headers that an answer may lack although its operation names them.
OPTIONAL_HEADERS = frozenset({REPLAYED, "Link", "RateLimit", "RateLimit-Policy"})
#: Headers that every answer can carry.
ALWAYS = ("X-Request-Id", "RateLimit", "RateLimit-Policy")
