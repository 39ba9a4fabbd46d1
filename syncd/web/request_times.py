"""How long requests take, for the metrics."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from prometheus_client.metrics_core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

#: Upper bounds in seconds; one more bucket has no upper bound.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
#: All other methods count as one, so that a client cannot fill the memory with names that it makes up.
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"))
OTHER, NO_ROUTE = "other", "none"


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
            totals = accumulate(list(counts))  # a bucket of the format counts all faster requests too
            buckets = list(zip((*map(str, BOUNDS), "+Inf"), totals, strict=True))
            family.add_metric((method, route, str(status)), buckets, total[0])
        yield family
