"""A page that is open while the daemon restarts: it says that nobody answers, and goes on by itself."""

import socket

import pytest

from tests.e2e.conftest import EMPLOYER, Daemon, Installation

pytestmark = pytest.mark.slow
#: Milliseconds within which a live view is live again.
AGAIN = 8_000


@pytest.fixture
def port():
    """A port that is free now, and stays that of the daemon over a restart."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_a_live_view_is_live_again_after_a_restart_and_shows_what_it_missed(chromium, tmp_path, cli, port):
    installation = Installation(tmp_path, cli)
    installation.settings()
    assert installation.run("employer", "add", EMPLOYER).code == 0
    environ = {"SYNCD_OPERATOR__LISTEN": f"127.0.0.1:{port}"}
    daemon = Daemon(installation, environ)
    try:
        daemon.wait_for("READY=1")
        page = chromium.new_page()
        page.goto(f"http://127.0.0.1:{port}/")
        page.evaluate("window.kept = true")
        assert daemon.stop() == 0
        daemon.close()
        lost = page.get_by_role("alert")
        lost.get_by_text("The service does not answer.").wait_for(timeout=AGAIN)
        assert " s ago" in lost.inner_text()
        assert installation.run("feed", "pause", "acme", "--why", "while it was away").code == 0
        daemon = Daemon(installation, environ)
        daemon.wait_for("READY=1")
        page.get_by_text("while it was away").wait_for(timeout=AGAIN)
        lost.wait_for(state="hidden")
        assert installation.run("feed", "resume", "acme").code == 0
        page.locator("td .state", has_text="ok").wait_for(timeout=AGAIN)
        assert page.evaluate("window.kept") is True
        page.close()
    finally:
        daemon.close()
