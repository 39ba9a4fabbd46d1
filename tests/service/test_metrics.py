"""The metrics: dashboards rely on their names and labels, so each is tested."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from syncd.domain import Notice, NoticeEvent, Run, RunCounts, RunKind, RunProgress, RunState
from syncd.service.metrics import Metrics
from syncd.store import employers, feeds, notices, runs
from syncd.web import RequestTimes
from syncd.web.envelope import BOUNDS

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"


@pytest.fixture
def times():
    return RequestTimes()


@pytest.fixture
def employer(store):
    return store.write(lambda tx: employers.add(tx, "Acme Ltd."))


@pytest.fixture
def metrics(store, times):
    return metrics_of(store, times, degraded={"broken": "no employer"})


def metrics_of(store, times, feeds=None, degraded=None):
    in_force: Any = SimpleNamespace(feeds=feeds or {}, degraded=degraded or {})
    return Metrics(store, in_force, times)


def shown(metrics):
    """(name of a sample, its labels) → value."""
    kind, body = metrics.render("")
    assert kind.startswith("text/plain; version=")
    families = text_string_to_metric_families(body.decode())
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def a_run(state=RunState.SUCCEEDED, feed="acme", **counts):
    run = Run(1, feed, 1, "Acme Ltd.", RunKind.FILE, state, "jobs.csv", 100)
    return replace(run, counts=RunCounts(**counts), phases={"read": 0.5, "apply": 2.0})


def feed_of(name, expect_every=None):
    feed: Any = SimpleNamespace(config=SimpleNamespace(name=name, expect_every=expect_every))
    return feed  # no more of it is used


def begun(tx, employer):
    feed = feeds.feed_id(tx, "acme", employer.id)
    return runs.begin(tx, feed, employer.id, "jobs.csv", 100, None)


def test_the_last_success_of_a_feed_is_not_a_run_of_which_no_row_went_in(store, times, employer):
    metrics = metrics_of(store, times, {"acme": feed_of("acme")})
    ends = [datetime(2026, 11, day, tzinfo=UTC) for day in (1, 2)]
    counts = RunCounts(read=2, created=1, rejected=1), RunCounts(read=2, rejected=2)
    for end, of_run in zip(ends, counts, strict=True):
        run = store.write(lambda tx: begun(tx, employer))
        ended = replace(run, state=RunState.PARTIAL, ended_at=end, counts=of_run)
        store.write(lambda tx, ended=ended: runs.save(tx, ended))
    assert shown(metrics)["syncd_feed_last_success_timestamp", ("feed", "acme")] == ends[0].timestamp()


def test_a_run_that_goes_on_shows_how_far_it_is(store, metrics, employer):
    run = store.write(lambda tx: begun(tx, employer))
    assert shown(metrics)["syncd_run_progress_ratio", ("feed", "acme")] == 0
    store.write(lambda tx: runs.set_progress(tx, run.id, RunProgress("reading", 2000, 0.25)))
    assert shown(metrics)["syncd_run_progress_ratio", ("feed", "acme")] == 0.25
    store.write(lambda tx: runs.save(tx, replace(run, state=RunState.FAILED)))
    assert ("syncd_run_progress_ratio", ("feed", "acme")) not in shown(metrics)


def test_a_feed_is_degraded_and_is_overdue_from_its_last_file_until_the_next(
    store, clock, times, metrics, employer
):
    assert shown(metrics)["syncd_feed_degraded", ("feed", "broken")] == 1
    feeds = {"acme": feed_of("acme", timedelta(hours=2)), "other": feed_of("other")}
    metrics = metrics_of(store, times, feeds)
    overdue = ("syncd_feed_overdue", ("feed", "acme"))
    clock.forward(hours=3)
    assert shown(metrics)[overdue] == 0  # before the first file
    store.write(lambda tx: begun(tx, employer))
    clock.forward(hours=2)
    assert shown(metrics)[overdue] == 0
    clock.forward(seconds=1)
    assert shown(metrics)[overdue] == 1
    assert shown(metrics)["syncd_feed_overdue", ("feed", "other")] == 0
    store.write(lambda tx: begun(tx, employer))
    assert shown(metrics)[overdue] == 0


def test_runs_are_counted_by_state_and_their_rows_by_action(metrics):
    metrics.ran(a_run(read=9, created=4, rejected=2, missing=3, archived=3))
    metrics.ran(a_run(read=5, created=5, unchanged=1))
    metrics.ran(a_run(RunState.HELD, "other", missing=7))
    found = shown(metrics)
    assert found["syncd_runs_total", ("feed", "acme"), ("state", "succeeded")] == 2
    assert found["syncd_runs_total", ("feed", "other"), ("state", "held")] == 1
    rows = {
        key[1][1]: value
        for key, value in found.items()
        if key[0] == "syncd_rows_total" and ("feed", "acme") in key
    }
    none = dict.fromkeys(("updated", "reactivated", "replaced", "suppressed", "expired", "filtered"), 0)
    assert rows == {"created": 9, "unchanged": 1, "rejected": 2, "archived": 3, **none}
    assert found["syncd_run_seconds_sum", ("feed", "acme"), ("phase", "apply")] == 4.0
    assert found["syncd_run_seconds_count", ("feed", "acme"), ("phase", "read")] == 2


def test_refreshes_are_added_up(metrics):
    metrics.refreshed(3)
    metrics.refreshed(4)
    assert shown(metrics)["syncd_refreshed_total",] == 7


def test_jobs_are_the_stores_by_employer_and_status(store, metrics):
    employer = store.write(lambda tx: employers.add(tx, 'Café "Nord"\\'))
    assert not [key for key in shown(metrics) if key[0] == "syncd_jobs"]
    store.write(lambda tx: tx.execute(f"INSERT INTO job_total VALUES ({employer.id}, 'active', 12)"))
    assert shown(metrics)["syncd_jobs", ("employer", 'Café "Nord"\\'), ("status", "active")] == 12


def test_times_of_requests_are_a_histogram(metrics, times):
    for seconds in (0.0005, 0.001, 0.0011, 3.0, 60.0):
        times.note("GET", "/api/v1.1/jobs/{id}", 200, seconds)
    times.note("BREW", None, 404, 0.1)
    times.note("M1", None, 404, 0.1)
    found = shown(metrics)
    where = ("method", "GET"), ("route", "/api/v1.1/jobs/{id}"), ("status", "200")
    buckets = {
        float(dict(key[1:])["le"]): value
        for key, value in found.items()
        if key[0] == "syncd_http_request_seconds_bucket" and set(where) < set(key)
    }
    assert buckets == {**dict.fromkeys(BOUNDS, 3.0), 0.001: 2.0, 5.0: 4.0, 10.0: 4.0, float("inf"): 5.0}
    assert found["syncd_http_request_seconds_count", *where] == 5
    assert found["syncd_http_request_seconds_sum", *where] == pytest.approx(63.0026)
    assert (
        found["syncd_http_request_seconds_count", ("method", "other"), ("route", "none"), ("status", "404")]
        == 2
    )


def test_the_process_has_metrics_too_and_counters_have_no_second_series(metrics):
    metrics.ran(a_run(created=1))
    names = {key[0] for key in shown(metrics)}
    assert {"process_resident_memory_bytes", "process_open_fds", "process_start_time_seconds"} <= names
    assert not [name for name in names if name.startswith("syncd") and name.endswith("_created")]


def one_notice_waits(tx):
    """Write a notice that is still to go to the webhook."""
    notices.begin(tx, ["webhook"])
    notices.add(tx, Notice(NoticeEvent.FAILED, "acme", "it is not a table"))
    notices.collect(tx, "webhook", ["failed"], [])


def test_every_metric_is_documented_with_its_labels(store, metrics, times, employer):
    store.write(lambda tx: tx.execute(f"INSERT INTO job_total VALUES ({employer.id}, 'active', 1)"))
    store.write(lambda tx: begun(tx, employer))
    metrics.ran(a_run(created=1))
    store.write(one_notice_waits)
    metrics.notified("webhook", "sent", 1)
    metrics.fetched("acme", "fetched")
    times.note("GET", "/", 200, 0.1)
    written = {
        name: set(re.findall(r"`([a-z]+)`", labels))
        for name, labels in re.findall(
            r"^\| `(syncd_[a-z_]+)` \| ([^|]*) \|", OPERATIONS.read_text(), re.MULTILINE
        )
    }
    labels_shown: dict[str, set[str]] = {}
    for name, *labels in shown(metrics):
        base = re.sub(r"_(bucket|sum|count)\Z", "", name)
        if base.startswith("syncd"):
            labels_shown.setdefault(base, set()).update({label for label, _ in labels} - {"le"})
    of_feeds = {"syncd_feed_last_success_timestamp", "syncd_source_last_success_timestamp"}
    assert labels_shown.keys() | of_feeds == written.keys()
    assert {name: written[name] for name in labels_shown} == labels_shown
