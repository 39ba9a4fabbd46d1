"""``/docs``, an interactive page for the OpenAPI document, ``openapi.json`` itself, and ``/problems/{code}``, the page that the
``type`` of a problem names.

The viewer (Swagger UI, see NOTICE) is in the package, so the page needs no network. Its Content-Security-Policy lets the
browser talk to this service only. No key is needed: there is no data of an employer here. The guide (``docs/api.md``) has
the same words about errors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files

from aiohttp import web

from syncd.api.context import CONTEXT
from syncd.api.payloads import encode
from syncd.errors import FIELD_CODES, NotFound
from syncd.sync.report.files import style_source, stylesheet
from syncd.web import CODES, JSON, answer, prefers

#: The files of the viewer and their types.
FILES: Mapping[str, str] = {
    "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
    "swagger-ui.css": "text/css; charset=utf-8",
    "docs.js": "text/javascript; charset=utf-8",
    "favicon-32x32.png": "image/png",
}
#: The page loads scripts and styles from this service only, connects to it only, and cannot be put in a frame.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer"}
_PROBLEM_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": f"default-src 'none'; style-src {style_source()}; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


async def entrance(request: web.Request) -> web.Response:
    """Lead a browser to the page; answer a program where things are."""
    if prefers(request, "text/html", JSON):
        return web.Response(status=303, headers={"Location": "docs", "Vary": "Accept"})
    base = request.app[CONTEXT].settings.base_path
    places = {"api": base, "openapi": f"{base}/openapi.json", "docs": "/docs", "health": "/healthz"}
    return answer(request, encode(places), {"Content-Type": JSON, "Vary": "Accept"})


async def openapi(request: web.Request) -> web.Response:
    """Answer the OpenAPI document. It names this service as the request does, so that generated clients find it."""
    context = request.app[CONTEXT]
    document = {**context.document, "servers": [{"url": context.addresses.of(request, "")}]}
    return answer(request, encode(document), {"Content-Type": JSON})


async def page(request: web.Request) -> web.Response:
    """Answer the page. Its addresses are relative, so that it works behind a proxy that adds a path in front."""
    document = f"{request.app[CONTEXT].settings.base_path}/openapi.json".removeprefix("/")
    html = _content("docs.html").decode().replace("{{document}}", escape(document))
    return answer(request, html.encode(), {**_HEADERS, "Content-Type": "text/html; charset=utf-8"})


async def asset(request: web.Request) -> web.Response:
    """Answer a file of the viewer."""
    name = request.match_info["file"]
    if name not in FILES:
        raise NotFound("file", name[:50])
    return answer(request, _content(name), {**_HEADERS, "Content-Type": FILES[name]})


@cache
def _content(name: str) -> bytes:
    return (files("syncd.api") / "viewer" / name).read_bytes()


#: Code → what it means, and what to do.
EXPLANATIONS: Mapping[str, tuple[str, str]] = {
    "malformed_request": (
        "The request is not valid HTTP: its head cannot be read, its Host header is not a host, or its body broke off.",
        "Use an HTTP library. A request whose body broke off can be sent again.",
    ),
    "malformed_json": (
        "The body is missing, or is not one JSON object in UTF-8: a syntax error, a member that is there twice, NaN, half"
        " of a surrogate pair, more than 64 levels, or a compressed body that is cut off.",
        "Build the body with a JSON library. detail says where the fault is.",
    ),
    "invalid_parameter": (
        "A query parameter, or a header such as If-Match or Idempotency-Key, is not valid or is there twice.",
        "Correct what detail names. Parameters that the service does not know are ignored.",
    ),
    "unauthenticated": (
        "There is no API-Key header, or its key is unknown, expired or revoked. The answer does not say which.",
        "Send a valid key, once. The operator of the service creates keys.",
    ),
    "not_found": (
        "There is nothing at this address for this employer: an unknown path, no such job or entry, a job of another"
        " employer, or an id that is not a plain Int32.",
        "Check the address. After a repeated DELETE it means that the job is gone already.",
    ),
    "method_not_allowed": ("The address does not take this method.", "Use one of those in the Allow header."),
    "request_timeout": (
        "The request took too long to arrive. Nothing was changed.",
        "Send it again, on a new connection.",
    ),
    "duplicate_reference": (
        "Another job of the employer has this referenceId. id is the id of that job.",
        "Update that job, or use PUT /jobs, which creates or updates.",
    ),
    "illegal_transition": (
        "A job with the status from cannot get the status to. allowed lists those that it can get.",
        "Leave status out, or send one that is allowed.",
    ),
    "idempotency_in_progress": (
        "The first request with this Idempotency-Key is still being served.",
        "Send the request again after a second; then its answer is there.",
    ),
    "precondition_failed": (
        "The job does not match If-Match or If-None-Match: it was changed, exists already, or does not exist.",
        "Read the job, apply the change to it, and send the result with the new ETag.",
    ),
    "body_too_large": (
        "The body is larger than the limit (1 MiB unless it is set otherwise), or its compression ratio is above the limit.",
        "Send less: a request is about one job. Waiting does not help.",
    ),
    "unsupported_media_type": (
        "Content-Type does not start with application/json, or Content-Encoding is not gzip, deflate or identity.",
        "Send JSON, with that Content-Type. Compress as Accept-Encoding of the answer says, or not at all.",
    ),
    "idempotency_key_reused": (
        "This Idempotency-Key came with another body within the last 24 hours.",
        "Use a new key for each new job, and the same key only to send the same request again.",
    ),
    "validation_failed": (
        "The body breaks the rules for jobs. errors has every fault: where (pointer, RFC 6901), which (code), and why"
        " (detail).",
        "Correct all of them. The same body fails again.",
    ),
    "rate_limited": (
        "The key has used up its requests, or too many wrong keys came from this address. Nothing was changed.",
        "Send the request again after the seconds in Retry-After.",
    ),
    "head_too_large": (
        "The request line and the headers are longer than the limit, or there are too many headers.",
        "Shorten the query and the headers. Waiting does not help.",
    ),
    "internal_error": (
        "Something failed inside the service. The service's log has it under this requestId.",
        "Report the requestId to the operator. GET, PUT and DELETE can be sent again, and POST with its Idempotency-Key.",
    ),
    "overloaded": (
        "The service is too busy, or cannot use its store at the moment. Nothing was changed.",
        "Send the request again after the seconds in Retry-After, and wait longer each time.",
    ),
    "shutting_down": (
        "The service is being stopped, perhaps to be started again. Nothing was changed.",
        "Send the request again after the seconds in Retry-After, on a new connection.",
    ),
}


async def problem_page(request: web.Request) -> web.Response:
    """Answer the explanation of one code."""
    code = request.match_info["code"]
    if code not in EXPLANATIONS:
        raise NotFound("problem", code[:50])
    return answer(request, _html(code).encode(), _PROBLEM_HEADERS)


def _html(code: str) -> str:
    status, title = CODES[code]
    meaning, remedy = EXPLANATIONS[code]
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{code}</title>'
        f'<style>{stylesheet()}</style></head>\n<body>\n<main class="report">\n'
        f"<h1>{escape(title)}</h1>\n<p><code>{code}</code>, status {status}</p>\n"
        f"<p>{escape(meaning)}</p>\n<p>What to do: {escape(remedy)}</p>\n"
        f"{_fields() if code == 'validation_failed' else ''}"
        '<p><a href="../docs">All operations of the API</a></p>\n</main>\n</body>\n</html>\n'
    )


def _fields() -> str:
    """Return the list of the codes in ``errors``."""
    rows = (f"<dt><code>{code}</code></dt><dd>{escape(why)}</dd>\n" for code, why in FIELD_CODES.items())
    return f"<h2>Codes in errors</h2>\n<dl>\n{''.join(rows)}</dl>\n"
