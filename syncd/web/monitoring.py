"""``/healthz`` (the process answers), ``/readyz`` (the service can serve), ``/metrics`` (for Prometheus) and ``/reload``, on the
API's address or the operator's, and how long requests take, for the metrics. They need no API key."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterator, Mapping
from hmac import compare_digest
from itertools import accumulate
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler
from prometheus_client.metrics_core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from syncd.web.negotiation import JSON
from syncd.web.problems import Refusal

ReadinessCheck = Callable[[], Awaitable[dict[str, Any]]]
#: Accept header → (content type, body).
RenderMetrics = Callable[[str], tuple[str, bytes]]
#: Reads the files of feeds again and returns what came of it.
Reload = Callable[[], Awaitable[Mapping[str, Any]]]

_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="operator"'}
#: Upper bounds in seconds; one more bucket has no upper bound.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
#: All other methods count as one, so that a client cannot fill the memory with names that it makes up.
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"))
OTHER, NO_ROUTE = "other", "none"


def health_of(readiness: ReadinessCheck) -> Mapping[str, Handler]:
    """Return the handlers of health by path. ``/readyz`` answers with what ``readiness`` returns: 200 if its member
    ``ready`` is true, else 503. Without that member every value has to be true. An exception counts as not ready."""

    async def ready(_request: web.Request) -> web.StreamResponse:
        try:
            state = await readiness()
        except Exception as error:
            state = {"ready": False, "error": type(error).__name__}
        good = state["ready"] if "ready" in state else all(state.values())
        return _json(200 if good else 503, {**state, "ready": bool(good)})

    return {"/healthz": _alive, "/readyz": ready}


async def _alive(_request: web.Request) -> web.StreamResponse:
    return _json(200, {"alive": True})


def _json(status: int, value: object) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(value), headers={"Content-Type": JSON})


def metrics_of(render: RenderMetrics, token: str) -> Mapping[str, Handler]:
    """Return the handler of ``/metrics`` by its path. It needs ``token``, if that is not empty. ``render`` runs in a
    thread, one call at a time."""
    one_call = asyncio.Lock()

    async def metrics(request: web.Request) -> web.StreamResponse:
        _check_token(request, token)
        async with one_call:
            kind, body = await asyncio.to_thread(render, request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": kind})

    return {"/metrics": metrics}


def reload_of(reload: Reload, token: str) -> Mapping[str, Handler]:
    """Return the handler of a POST to ``/reload`` by its path. It answers with what ``reload`` returns, and needs ``token``, if
    that is not empty. Pages of other origins cannot use it: a browser names their origin."""

    async def answer(request: web.Request) -> web.StreamResponse:
        _check_token(request, token)
        if "Origin" in request.headers:
            raise Refusal("invalid_parameter", "a page of another origin cannot reload the service")
        return _json(200, await reload())

    return {"/reload": answer}


def _check_token(request: web.Request, token: str) -> None:
    if token and not _has_token(request, token):
        detail = "send the operator's token: Authorization: Bearer TOKEN"
        raise Refusal("unauthenticated", detail, headers=_CHALLENGE)


def _has_token(request: web.Request, token: str) -> bool:
    sent = request.headers.getall("Authorization", ())
    scheme, _, value = sent[0].partition(" ") if len(sent) == 1 else ("", "", "")
    return scheme.lower() == "bearer" and compare_digest(value.strip().encode(), token.encode())


class RequestTimes(Collector):
    """The histogram ``syncd_http_request_seconds``. Counting takes a third of the time that the library's own histogram
    takes, because every request counts. One thread may read while the event loop counts."""

    def __init__(self) -> None:
        self._series: dict[tuple[str, str, int], tuple[list[int], list[float]]] = {}

    def note(self, method: str, route: str | None, status: int, seconds: float) -> None:
        """Count one request. ``route`` is a pattern, never a path; None: there is no such address."""
        key = method if method in _METHODS else OTHER, route or NO_ROUTE, status
        series = self._series.get(key)
        if series is None:
            series = self._series[key] = ([0] * (len(BOUNDS) + 1), [0.0])
        counts, total = series
        counts[bisect_left(BOUNDS, seconds)] += 1
        total[0] += seconds

    def collect(self) -> Iterator[Metric]:
        family = HistogramMetricFamily(
            "syncd_http_request_seconds",
            "From the head of a request to its answer, by the pattern of the address.",
            labels=("method", "route", "status"),
        )
        for (method, route, status), (counts, total) in list(self._series.items()):
            family.add_metric((method, route, str(status)), _buckets(list(counts)), total[0])
        yield family


def _buckets(counts: list[int]) -> list[tuple[str, float]]:
    """Return the buckets of the format: each counts all faster requests too."""
    return list(zip((*map(str, BOUNDS), "+Inf"), accumulate(counts), strict=True))
