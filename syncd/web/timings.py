"""How long requests take, counted by method, route and status, for whoever collects metrics."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from prometheus_client.metrics_core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

#: Upper bounds in seconds; one more class is open above.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
#: Methods are the clients' to invent: all others count as one, so that nobody can fill the memory with names.
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"))
OTHER, NO_ROUTE = "other", "none"


class RequestTimes(Collector):
    """A histogram, ``syncd_http_request_seconds``. Counts with a third of what the library's own would cost, since
    every request does; read by a thread while the event loop counts."""

    def __init__(self) -> None:
        self._series: dict[tuple[str, str, int], tuple[list[int], list[float]]] = {}

    def note(self, method: str, route: str | None, status: int, seconds: float) -> None:
        """One request. ``route`` is a pattern, never a path; None: there is no such address."""
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
    """As the format has them: each with all that were quicker."""
    found: list[tuple[str, float]] = []
    reached = 0
    for bound, count in zip((*map(str, BOUNDS), "+Inf"), counts, strict=True):
        reached += count
        found.append((bound, reached))
    return found
