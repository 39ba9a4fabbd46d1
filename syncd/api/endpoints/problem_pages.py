"""``/problems/{code}``: what the ``type`` of a problem leads to, a page for people. No key is needed.

What an error means and what a client does about it stand here once; the guide (``docs/api.md``) says the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from aiohttp import web

from syncd.domain import FIELD_CODES
from syncd.errors import NotFound
from syncd.web import CODES, answer

#: Code → what it means, and what to do.
EXPLANATIONS: Mapping[str, tuple[str, str]] = {
    "malformed_request": (
        "The request breaks the rules of HTTP: its head cannot be read, its Host header names no host, or its body broke off.",
        "Use an HTTP library instead of writing requests by hand; a body that broke off can be sent again.",
    ),
    "malformed_json": (
        "The body is missing or is not one JSON object in UTF-8: a syntax error, a member that is there twice, NaN, half of a"
        " surrogate pair, more than 64 levels, or a compressed body that is cut off.",
        "Build the body with a JSON library; detail says where it breaks.",
    ),
    "invalid_parameter": (
        "A query parameter, or a header such as If-Match or Idempotency-Key, has a value that cannot be used or is there twice.",
        "Put right what detail names. Parameters that the service does not know are ignored.",
    ),
    "unauthenticated": (
        "There is no API-Key header, or its key is unknown, expired or revoked; the answer does not say which.",
        "Send a live key, once. The operator of the service gives out new ones.",
    ),
    "not_found": (
        "There is nothing at this address for this employer: no such job or entry, another employer's job, an id that is not a"
        " plain Int32, or an unknown path.",
        "Check the address. To a DELETE that is repeated it says that the job is gone already.",
    ),
    "method_not_allowed": ("The address does not take this method.", "Use one of those in the Allow header."),
    "request_timeout": (
        "The request took too long to arrive. Nothing of it was done.",
        "Send it again, on a new connection.",
    ),
    "duplicate_reference": (
        "Another job of the employer has this referenceId; id is that job's.",
        "Update that job, or use PUT /jobs, which creates or updates.",
    ),
    "illegal_transition": (
        "A job in the status from cannot get the status to; allowed lists those that it can get.",
        "Leave status out, or send one that is allowed.",
    ),
    "idempotency_in_progress": (
        "The first request with this Idempotency-Key is still being served.",
        "Send the same again after a second: then its answer is there.",
    ),
    "precondition_failed": (
        "The job is not as If-Match or If-None-Match asks: it was changed, is there already, or is not there.",
        "Read the job, make the change to what it is now, and send that with the new ETag.",
    ),
    "body_too_large": (
        "The body is larger than the service takes (1 MiB, unless it is set otherwise), or expands to too many times its"
        " compressed size.",
        "Send less: a request is about one job. Waiting does not help.",
    ),
    "unsupported_media_type": (
        "Content-Type does not start with application/json, or Content-Encoding is none of gzip, deflate and identity.",
        "Send JSON, and say so in Content-Type; compress in a way that the answer's Accept-Encoding names, or not at all.",
    ),
    "idempotency_key_reused": (
        "This Idempotency-Key came with another body within the last 24 hours.",
        "Take a new one for each new job; the same one is for sending the same again.",
    ),
    "validation_failed": (
        "The body breaks the rules for jobs. errors has every fault: where (pointer, RFC 6901), which (code), and why (detail).",
        "Put all of them right; the same body fails again.",
    ),
    "rate_limited": (
        "The key has used up its requests for now, or too many wrong keys came from this address. Nothing was done.",
        "Send it again after the seconds in Retry-After.",
    ),
    "head_too_large": (
        "The request line and the headers are longer, or the headers more, than the service takes.",
        "Shorten the query and the headers. Waiting does not help.",
    ),
    "internal_error": (
        "Something failed inside the service; it is in the service's log under this requestId.",
        "Send the requestId to the operator of the service."
        " GET, PUT and DELETE can be sent again, and POST with its Idempotency-Key.",
    ),
    "overloaded": (
        "The service has too much to do, or cannot use its store, for the moment. Nothing of the request was done.",
        "Send it again after the seconds in Retry-After, and wait longer each time.",
    ),
    "shutting_down": (
        "The service is being stopped, perhaps to be started again. Nothing of the request was done.",
        "Send it again after the seconds in Retry-After, on a new connection.",
    ),
}

_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


async def page(request: web.Request) -> web.Response:
    """The explanation of one code."""
    code = request.match_info["code"]
    if code not in EXPLANATIONS:
        raise NotFound("problem", code[:50])
    return answer(request, _html(code).encode(), _HEADERS)


def _html(code: str) -> str:
    status, title = CODES[code]
    meaning, remedy = EXPLANATIONS[code]
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{code}</title></head>\n<body>\n'
        f"<h1>{escape(title)}</h1>\n<p><code>{code}</code>, status {status}</p>\n"
        f"<p>{escape(meaning)}</p>\n<p>What to do: {escape(remedy)}</p>\n"
        f"{_fields() if code == 'validation_failed' else ''}"
        '<p><a href="../docs">All operations of the API</a></p>\n</body>\n</html>\n'
    )


def _fields() -> str:
    """The codes that faults of a body have."""
    rows = (f"<dt><code>{code}</code></dt><dd>{escape(why)}</dd>\n" for code, why in FIELD_CODES.items())
    return f"<h2>Codes in errors</h2>\n<dl>\n{''.join(rows)}</dl>\n"
