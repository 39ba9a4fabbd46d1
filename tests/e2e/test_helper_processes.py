"""A large file is read with a worker process, which ends with the daemon however that ends."""

import signal
from contextlib import suppress
from pathlib import Path

import pytest

from tests.amounts import some

pytestmark = pytest.mark.slow
ROWS = 9_000
#: Makes the file large enough for a worker process.
TEXT = f"<p>{'Steel, and more steel. ' * 200}</p>"


def worker_processes(pid):
    """Return the worker processes of a process."""
    found = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            found += [int(child) for child in listed.read_text().split()]
    return [child for child in found if b"syncd.sync.validation" in command(child)]


def command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def ended(pid):
    return b"syncd.sync.validation" not in command(pid)


@pytest.mark.parametrize("number", some([signal.SIGKILL, signal.SIGTERM], 1), ids=["killed", "stopped"])
def test_a_worker_process_ends_with_the_daemon_and_the_next_start_continues_the_run(
    installation, start, make_row, until, number
):
    installation.employer_with_key()
    daemon = start()
    installation.drop("jobs.csv", [make_row(f"F-{n}", description=TEXT) for n in range(ROWS)])
    until(lambda: worker_processes(daemon.process.pid), "a worker process")
    (worker_process,) = worker_processes(daemon.process.pid)
    daemon.signal(number)
    until(lambda: daemon.process.poll() is not None, "the daemon to end")
    until(lambda: ended(worker_process), "the worker process to end")
    daemon.close()
    again = start()
    (event,) = again.wait_for_event("feed.reconciled")
    assert (event["state"], event["created"], event["attempt"]) == ("succeeded", ROWS, 2)
    until(lambda: not worker_processes(again.process.pid), "the worker process of the second attempt to end")
    assert not again.events("sync.helper_lost")
