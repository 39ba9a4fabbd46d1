"""How the log is written."""

import io
import json
import logging
from datetime import date

import pytest
import structlog

from syncd import logs


@pytest.fixture
def written():
    """A function that sets the log up and gives the stream."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level

    def set_up(form="json", level="info"):
        stream = io.StringIO()
        logs.set_up(form, level, stream)
        return stream

    yield set_up
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def test_an_event_is_one_line_of_json_with_time_level_and_name_in_front(written):
    stream = written("auto")
    with logs.bind_context(request_id="r1"):
        structlog.get_logger().warning(logs.Event.FEED_HELD, feed="acme", when=date(2026, 11, 2), text="a\nb")
    (line,) = stream.getvalue().splitlines()
    event = json.loads(line)
    assert list(event)[:3] == ["timestamp", "level", "event"]
    assert event["timestamp"].endswith("Z")
    assert (event["level"], event["event"], event["feed"]) == ("warning", "feed.held", "acme")
    assert (event["request_id"], event["when"], event["text"]) == ("r1", "2026-11-02", "a\nb")


def test_an_exception_is_in_its_line(written):
    stream = written()
    try:
        1 / 0  # noqa: B018
    except ZeroDivisionError:
        structlog.get_logger().exception("oops")
    assert "ZeroDivisionError" in json.loads(stream.getvalue())["exception"]


def test_levels_below_the_one_set_are_left_out(written):
    stream = written(level="warning")
    structlog.get_logger().info("quiet")
    logging.getLogger("aiohttp").info("quiet")
    assert stream.getvalue() == ""


def test_other_libraries_log_in_the_same_form(written):
    stream = written()
    logging.getLogger("aiohttp.server").error("bad %s", "thing", exc_info=ValueError("x"))
    event = json.loads(stream.getvalue())
    assert (event["event"], event["logger"], event["level"]) == ("bad thing", "aiohttp.server", "error")
    assert "ValueError: x" in event["exception"]


def test_on_the_console_it_is_text(written):
    stream = written("console")
    structlog.get_logger().info(logs.Event.SERVICE_READY, api="here")
    assert "service.ready" in stream.getvalue()
    assert "api=here" in stream.getvalue()
