"""The limit on open files: it is raised for the connections, and a lack of files is logged."""

import asyncio
import errno
import resource

import pytest
import structlog

from syncd.service.process import OWN_FILES, allow_connections, report_lack_of_files


@pytest.mark.parametrize(
    ("limits", "wanted", "raised", "expected"),
    [
        ((1_024, 4_096), 100, 1_024, (100, False)),
        ((1_024, 4_096), 2_000, 2_000 + OWN_FILES, (2_000, False)),
        ((1_024, 4_096), 50_000, 4_096, (4_096 - OWN_FILES, True)),
        ((1_024, 4_096), 0, 4_096, (4_096 - OWN_FILES, False)),
        ((200, 200), 2_000, 200, (100, True)),
        ((1_024, resource.RLIM_INFINITY), 50_000, 50_000 + OWN_FILES, (50_000, False)),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), 50_000, resource.RLIM_INFINITY, (50_000, False)),
    ],
)
def test_the_limit_is_raised_and_no_more_connections_are_allowed_than_fit(
    monkeypatch, limits, wanted, raised, expected
):
    fit, warned = expected
    now = list(limits)
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(now))
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: now.__setitem__(slice(None), new))
    with structlog.testing.capture_logs() as lines:
        assert allow_connections(wanted) == fit
    assert now == [raised, limits[1]]
    assert [line["event"] for line in lines] == ["service.few_files"] * warned


def test_a_system_that_forbids_a_higher_limit_allows_fewer_connections(monkeypatch):
    def forbid(*_):
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_024, 4_096))
    monkeypatch.setattr(resource, "setrlimit", forbid)
    assert allow_connections(2_000) == 1_024 - 500


def test_a_lack_of_files_is_logged_once_and_other_faults_are_reported(monkeypatch):
    loop = asyncio.new_event_loop()
    others: list[dict[str, object]] = []
    monkeypatch.setattr(loop, "default_exception_handler", others.append)
    report_lack_of_files(loop)
    with structlog.testing.capture_logs() as lines:
        for _ in range(1_000):
            loop.call_exception_handler(
                {"exception": OSError(errno.EMFILE, "x"), "socket": None, "message": "m"}
            )
    assert [line["event"] for line in lines] == ["service.few_files"]
    loop.call_exception_handler({"exception": ValueError(), "message": "m"})
    assert len(others) == 1
    loop.close()
