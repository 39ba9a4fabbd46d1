"""Errors in Sentry and traces in OpenTelemetry: a daemon sends them to a receiver on this machine."""

import gzip
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import Any

import pytest

from syncd.cli.output import DONE, FAILED
from tests.amounts import lacking
from tests.e2e.conftest import BASE, Installation, row


@pytest.fixture(autouse=True)
def extras() -> None:
    """Skip where a package is missing; in the nightly run (``.ci/nightly``) that fails."""
    missing = [name for name in ("sentry_sdk", "opentelemetry") if find_spec(name) is None]
    if missing:
        lacking(f"{missing} are not installed")


class Receiver(ThreadingHTTPServer):
    """Takes what is sent to it. ``bodies`` has (path, content)."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[tuple[str, bytes]] = []

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events that Sentry got."""
        found = []
        for path, body in self.bodies:
            if path == "/api/7/envelope/":
                lines = body.split(b"\n")
                found += [
                    json.loads(lines[at + 1]) for at, line in enumerate(lines) if b'"type":"event"' in line
                ]
        return found

    @property
    def spans(self) -> dict[str, dict[str, Any]]:
        """The attributes of the spans that OpenTelemetry got, by their names."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        found: dict[str, dict[str, Any]] = {}
        for path, body in self.bodies:
            if path == "/v1/traces":
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    for scope in resource.scope_spans:
                        for span in scope.spans:
                            found[span.name] = {
                                "nanoseconds": span.end_time_unix_nano - span.start_time_unix_nano,
                                "inside": bool(span.parent_span_id),
                            } | {
                                pair.key: pair.value.string_value or pair.value.int_value
                                for pair in span.attributes
                            }
        return found


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.bodies.append((self.path, body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        """Write nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def environ(receiver: Receiver) -> dict[str, str]:
    """The settings for the daemon."""
    return {
        "SYNCD_LOG__SENTRY": f"http://secretkey@{receiver.host}/7",
        "SYNCD_LOG__OTEL": f"http://{receiver.host}",
    }


def test_errors_go_to_sentry_and_requests_and_runs_are_traced(
    installation: Installation, start: Callable[..., Any], receiver: Receiver, environ: dict[str, str]
) -> None:
    key = installation.employer_with_key()
    daemon = start(environ)
    installation.drop("good.csv", [row("A-1")])
    daemon.wait_for_event("feed.reconciled")
    (installation.folder() / "bad.csv").write_text('{"jobs": [')
    daemon.wait_for_event("feed.failed")
    assert daemon.request("GET", f"{BASE}/jobs", key)[0] == 200
    assert daemon.stop() == DONE

    [event] = receiver.events
    assert event["message"] == "feed.failed"
    assert (event["tags"]["run"], event["tags"]["feed"]) == ("2", "acme")
    assert event["contexts"]["fields"]["file"] == "bad.csv"
    assert event["release"].startswith("syncd@")

    spans = receiver.spans
    request, [logged] = spans[f"GET {BASE}/jobs"], daemon.events("api.request")
    assert request["http.response.status_code"] == 200
    assert request["syncd.request_id"] == logged["request_id"]
    assert request["nanoseconds"] == pytest.approx(logged["ms"] * 1e6)
    assert (spans["run acme"]["syncd.feed"], spans["run acme"]["inside"]) == ("acme", False)
    phases = daemon.events("feed.reconciled")[0]["phases"]
    assert phases
    assert all(spans[phase]["inside"] for phase in phases)
    assert key not in b"".join(body for _, body in receiver.bodies).decode("utf-8", "replace")


def test_a_receiver_that_is_away_keeps_nothing_from_working(
    installation: Installation, start: Callable[..., Any]
) -> None:
    key = installation.employer_with_key()
    daemon = start({"SYNCD_LOG__SENTRY": "http://key@127.0.0.1:9/7", "SYNCD_LOG__OTEL": "http://127.0.0.1:9"})
    (installation.folder() / "bad.csv").write_text('{"jobs": [')
    daemon.wait_for_event("feed.failed")
    assert daemon.request("GET", f"{BASE}/jobs", key)[0] == 200
    assert daemon.stop() == DONE


@pytest.mark.parametrize(
    ("setting", "package", "extra"),
    [
        ('sentry = "http://key@127.0.0.1:9/7"', "sentry_sdk", "sentry"),
        ('otel = "http://127.0.0.1:9"', "opentelemetry", "otel"),
    ],
)
def test_a_missing_package_is_named_with_what_installs_it(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, setting: str, package: str, extra: str
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    installation.settings(f"[log]\n{setting}\n")
    for command in ("serve", "check"):
        refused = installation.run(command)
        assert refused.code == FAILED
        assert f"log.{extra}: the package {package} is missing: pip install 'syncd[{extra}]'" in refused.err


def test_a_dsn_that_is_not_one_is_refused_without_showing_it(installation: Installation) -> None:
    installation.settings('[log]\nsentry = "sesame"\n')
    refused = installation.run("check")
    assert refused.code == FAILED
    assert "log.sentry: it is not a DSN" in refused.err
    assert "sesame" not in refused.err


def test_without_the_settings_nothing_is_imported(installation: Installation) -> None:
    script = (
        "import sys; from syncd.cli.entry import run; run(sys.argv[1:]);"
        "from syncd.service import daemon, observability; print(*sys.modules)"
    )
    command = [sys.executable, "-c", script, "--config", str(installation.config), "check"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not {"sentry_sdk", "opentelemetry"} & {name.partition(".")[0] for name in done.stdout.split()}
