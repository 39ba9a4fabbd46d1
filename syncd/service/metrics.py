"""The metrics of ``/metrics``. Their names are stable (docs/operations.md "Metrics").

Runs, rows and refreshes are those of this process since it started. Jobs and last successes are read from the store,
whichever process made them."""

from collections import Counter as Counts
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict

from prometheus_client import CollectorRegistry, Counter, ProcessCollector, Summary, disable_created_metrics
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from syncd.domain import Run
from syncd.service.configured_feeds import FeedsInForce
from syncd.store import Store, Tx, employers, jobs, notices, runs, sources
from syncd.store import feeds as stored_feeds
from syncd.sync.run import Feed
from syncd.views import overdue_feeds
from syncd.web import RequestTimes

#: Members of a run's counts that are not actions.
_NO_ACTION = ("read", "missing", "warnings")


class Metrics(Collector):
    """Counts runs and refreshes, and reads the rest from ``store`` when it is rendered. Any thread may use it."""

    def __init__(self, store: Store, feeds: FeedsInForce, requests: RequestTimes) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # else each counter has a second series
        registry = self._registry = CollectorRegistry()
        self._store, self._feeds = store, feeds

        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"syncd_{name}", about, labels, registry=registry)

        self._runs = counter("runs", "Runs that ended, by state.", "feed", "state")
        about = "Rows of ended runs by action, and jobs that they archived."
        self._rows = counter("rows", about, "feed", "action")
        self._seconds = Summary(
            "syncd_run_seconds", "Seconds that runs took, by phase.", ("feed", "phase"), registry=registry
        )
        self._refreshed = counter("refreshed", "Jobs whose publishDate auto-refresh renewed.")
        about = "Notices by result: sent, failed, dropped."
        self._notifications = counter("notifications", about, "way", "result")
        self._fetches = counter("source_fetches", "Turns of sources, by their result.", "feed", "result")
        registry.register(requests.histogram)
        registry.register(self)
        ProcessCollector(registry=registry)

    def ran(self, run: Run) -> None:
        self._runs.labels(run.feed, run.state.value).inc()
        for action, count in asdict(run.counts).items():
            if action not in _NO_ACTION:
                self._rows.labels(run.feed, action).inc(count)
        for phase, seconds in run.phases.items():
            self._seconds.labels(run.feed, phase).observe(seconds)

    def refreshed(self, number: int) -> None:
        self._refreshed.inc(number)

    def notified(self, way: str, result: str, number: int) -> None:
        """Count notices that were sent to one way, or could not be. ``result``: sent, failed (one try) or dropped."""
        self._notifications.labels(way, result).inc(number)

    def fetched(self, feed: str, result: str) -> None:
        """Count a turn of a source. ``result``: fetched, not_modified or failed."""
        self._fetches.labels(feed, result).inc()

    def render(self, accept: str) -> tuple[str, bytes]:
        """Return content type and body in the format that ``accept`` prefers. Raises StoreError."""
        encode, content_type = choose_encoder(accept)
        return content_type, encode(self._registry)

    def describe(self) -> list[Metric]:
        return []  # registering reads nothing from the store

    def collect(self) -> Iterator[Metric]:
        """Read the other metrics: from the store, and the feeds that cannot be used. Raises StoreError."""
        feeds, degraded = self._feeds.feeds, self._feeds.degraded
        yield from self._store.read(lambda tx: [*_of_store(tx, feeds)])
        configs = [feed.config for feed in feeds.values()]
        paused, overdue = self._store.read(lambda tx: (stored_feeds.paused(tx), overdue_feeds(tx, configs)))
        for name, about, those in (
            ("degraded", "1 while the feed's file or folder cannot be used, else 0.", degraded),
            ("paused", "1 while the feed is paused, else 0.", paused),
            ("overdue", "1 while no file came for longer than expect_every, else 0.", overdue),
        ):
            values = (((feed,), feed in those) for feed in sorted({*feeds, *degraded}))
            yield _gauge(f"syncd_feed_{name}", about, ("feed",), values)


def _of_store(tx: Tx, feeds: Mapping[str, Feed]) -> Iterator[Metric]:
    names = {employer.id: employer.name for employer in employers.all(tx)}
    by_status = (
        ((names.get(owner, str(owner)), status), count) for (owner, status), count in jobs.totals(tx).items()
    )
    yield _gauge("syncd_jobs", "The number of jobs, by status.", ("employer", "status"), by_status)
    about = "When the feed's last file was taken, in seconds since 1970."
    ends = [(name, last.success.ended_at) for name, last in runs.last_runs(tx, feeds).items() if last.success]
    values = (((name,), at.timestamp()) for name, at in ends if at is not None)
    yield _gauge("syncd_feed_last_success_timestamp", about, ("feed",), values)
    about = "When the feed's source last answered, in seconds since 1970."
    answers = [(name, state.succeeded_at) for name, state in sources.states(tx).items() if name in feeds]
    values = (((name,), at.timestamp()) for name, at in answers if at is not None)
    yield _gauge("syncd_source_last_success_timestamp", about, ("feed",), values)
    about = "How far the feed's run is in its present phase, from 0 to 1."
    shares = (((run.feed,), run.progress.share if run.progress else 0.0) for run in runs.unfinished(tx))
    yield _gauge("syncd_run_progress_ratio", about, ("feed",), dict(shares).items())
    waiting: Counts[str] = Counts()
    for way, number in notices.waiting(tx).items():
        waiting[way.partition(":")[0]] += number
    values = (((way,), number) for way, number in waiting.items())
    yield _gauge("syncd_notifications_waiting", "Notices that wait to be sent.", ("way",), values)


def _gauge(
    name: str, about: str, labels: tuple[str, ...], values: Iterable[tuple[tuple[str, ...], float]]
) -> Metric:
    gauge = GaugeMetricFamily(name, about, labels=labels)
    for label_values, value in values:
        gauge.add_metric(label_values, value)
    return gauge
