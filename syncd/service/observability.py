"""Errors for Sentry, and traces for OpenTelemetry, from the events of the log. Both are off by default; their packages are extras
of syncd, imported only where the setting asks for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any

from structlog.typing import EventDict

from syncd import __version__
from syncd.config import Settings
from syncd.errors import ConfigError
from syncd.logs import Event, Observer

#: Seconds at the end for what was not sent yet, and for one attempt to send traces.
END, SENDING = 2, 5
#: Fields of events by which errors can be searched in Sentry.
TAGS = ("request_id", "run", "feed", "part", "employer")
#: Fields of the event of a run that its span has: about the run, and its counts.
_RUN = ("run", "feed", "employer", "kind", "state", "attempt", "size")
_COUNTS = ("read", "created", "updated", "archived", "rejected")
#: Setting → (package that has to be there, extra of syncd that has it).
_EXTRAS = {
    "sentry": ("sentry_sdk", "sentry"),
    "otel": ("opentelemetry.exporter.otlp.proto.http", "otel"),
}


@contextmanager
def observing(settings: Settings) -> Iterator[list[Observer]]:
    """Yield the observers of the log that the settings ask for. At the end what waits is sent, for two seconds at most. Raises
    ConfigError."""
    if found := list(faults(settings)):
        raise ConfigError(found)
    with ExitStack() as stack:
        observers = []
        for begin, address in ((_sentry, settings.log.sentry), (_traces, settings.log.otel)):
            if address:
                observer, end = begin(address)
                stack.callback(end)
                observers.append(observer)
        yield observers


def faults(settings: Settings) -> Iterator[str]:
    """Yield what is wrong with the settings: a package that is missing, a DSN that is not one."""
    for name, (package, extra) in _EXTRAS.items():
        if getattr(settings.log, name) and not _is_there(package):
            yield f"log.{name}: the package {package.partition('.')[0]} is missing: pip install 'syncd[{extra}]'"
    if settings.log.sentry and _is_there("sentry_sdk"):
        from sentry_sdk.utils import BadDsn, Dsn  # noqa: PLC0415

        try:
            Dsn(settings.log.sentry)
        except BadDsn as error:  # its message may have a part of the secret
            yield f"log.sentry: it is not a DSN such as https://KEY@HOST/PROJECT ({type(error).__name__})"


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # what it is in
        return False


def _sentry(dsn: str) -> tuple[Observer, Callable[[], object]]:
    """Return an observer that sends errors, and what ends it. Only the event, its fields and the traceback are sent: no values of
    variables, no bodies, no headers."""
    import sentry_sdk  # noqa: PLC0415

    sentry_sdk.init(
        dsn=dsn,
        release=f"syncd@{__version__}",
        default_integrations=False,
        auto_enabling_integrations=False,
        include_local_variables=False,
        send_default_pii=False,
        max_breadcrumbs=0,
    )

    def observe(level: str, event: str, fields: EventDict) -> None:
        if level not in ("error", "critical") or str(fields.get("logger", "")).startswith("sentry_sdk"):
            return
        with sentry_sdk.new_scope() as scope:
            scope.set_tag("event", event)
            for name in TAGS:
                if fields.get(name) is not None:
                    scope.set_tag(name, str(fields[name]))
            scope.set_context(
                "fields", {name: str(value) for name, value in fields.items() if name != "exc_info"}
            )
            if fields.get("exc_info"):
                given = fields["exc_info"]
                scope.capture_exception(None if given is True else given)
            else:
                scope.capture_message(event, level="error")

    return observe, lambda: sentry_sdk.flush(timeout=END)


def _traces(address: str) -> tuple[Observer, Callable[[], object]]:
    """Return an observer that makes a span of each request and of each run, and what ends it."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    resource = Resource.create({"service.name": "syncd", "service.version": __version__})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=f"{address}/v1/traces", timeout=SENDING)
    provider.add_span_processor(BatchSpanProcessor(exporter))

    def end() -> None:
        provider.force_flush(END * 1000)
        provider.shutdown()

    return partial(_observe, provider.get_tracer("syncd", __version__)), end


def _observe(tracer: Any, _level: str, event: str, fields: EventDict) -> None:
    """Make a span of an event that says how long something took: it ends when the event is logged."""
    if event == Event.API_REQUEST:
        _request(tracer, fields, time.time_ns())
    elif event == Event.FEED_RECONCILED:
        _run(tracer, fields, time.time_ns())


def _request(tracer: Any, fields: EventDict, end: int) -> None:
    from opentelemetry.trace import SpanKind, Status, StatusCode  # noqa: PLC0415

    name = f"{fields['method']} {fields['route'] or 'unknown'}"
    attributes = {
        "http.request.method": fields["method"],
        "http.route": fields["route"],
        "http.response.status_code": fields["status"],
        "syncd.request_id": fields["request_id"],
        "syncd.key": fields["key"],
    }
    start = end - round(fields["ms"] * 1_000_000)
    span = tracer.start_span(name, kind=SpanKind.SERVER, attributes=_given(attributes), start_time=start)
    if fields["status"] >= 500:
        span.set_status(Status(StatusCode.ERROR))
    span.end(end)


def _run(tracer: Any, fields: EventDict, end: int) -> None:
    """Make a span of a run, and one inside it for each of its phases, which follow one another."""
    from opentelemetry.trace import set_span_in_context  # noqa: PLC0415

    attributes = _given({f"syncd.{name}": fields[name] for name in (*_RUN, *_COUNTS)})
    start = end - round(sum(fields["phases"].values()) * 1e9)
    span = tracer.start_span(f"run {fields['feed']}", attributes=attributes, start_time=start)
    inside = set_span_in_context(span)
    for phase, seconds in fields["phases"].items():
        step = tracer.start_span(phase, context=inside, start_time=start)
        start += round(seconds * 1e9)
        step.end(start)
    span.end(end)


def _given(attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        name: str(value) if isinstance(value, str) else value
        for name, value in attributes.items()
        if value is not None
    }
