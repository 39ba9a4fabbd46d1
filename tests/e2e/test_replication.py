"""A store on a server with a replica: the server is lost, the replica takes its place, and nothing that was acknowledged is
lost (docs/operations.md "A replica that takes over")."""

import shutil
import signal
import time

import pytest

from syncd.store import Store, employers, jobs, keys, runs
from tests.amounts import nightly
from tests.clock import ZONE
from tests.e2e.conftest import wait_until
from tests.e2e.two_daemons import EMPLOYER, Client, Host, Load, Partner
from tests.stores import POSTGRES, Server

pytestmark = [
    pytest.mark.slow,
    nightly,
    pytest.mark.skipif(not POSTGRES, reason="needs TESTS_STORE=postgres"),
]
LOAD = Load(feeds=2, files=12, pause=(0, 0))


@pytest.fixture
def primary():
    server = Server()
    yield server
    if server.process.poll() is None:
        server.stop(signal.SIGQUIT)
    shutil.rmtree(server.folder, ignore_errors=True)


@pytest.fixture
def standby(primary):
    """A replica of which the primary waits in each commit."""
    primary.sql("CREATE DATABASE acme")
    server = Server(primary)
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
    primary.sql("SELECT pg_reload_conf()")
    state = "SELECT sync_state FROM pg_stat_replication"
    wait_until(lambda: primary.sql(state) == [("sync",)], "the replica")
    yield server
    server.close()


def test_a_replica_takes_over_and_nothing_that_was_acknowledged_is_lost(primary, standby, tmp_path):
    url = f"postgresql://syncd@/acme?host={primary.folder},{standby.folder}&target_session_attrs=read-write"
    (tmp_path / "drop").mkdir()
    with Store.open(url, timezone=ZONE) as store:
        employer = store.write(lambda tx: employers.add(tx, EMPLOYER))
        _, key = store.write(lambda tx: keys.create(tx, employer.id))
    host = Host(tmp_path / "one", url, LOAD.feeds)
    host.start()
    clients = [Client([host], key, number) for number in range(2)]
    partners = [Partner(tmp_path / "drop", feed, LOAD) for feed in range(LOAD.feeds)]
    try:
        for thread in (*clients, *partners):
            thread.start()
        wait_until(lambda: all(partner.filed > 2 for partner in partners), "the first files")
        assert all(client.acknowledged for client in clients)
        primary.process.send_signal(signal.SIGKILL)
        primary.process.wait()
        before = [len(client.acknowledged) for client in clients]
        standby.sql("SELECT pg_promote()")
        began = time.monotonic()
        for partner in partners:
            partner.join(60)
        for client in clients:
            client.halt.set()
            client.join(60)
        assert [partner.fault for partner in partners] == ["", ""]
        assert all(partner.filed == LOAD.files for partner in partners)
        assert host.daemon is not None
        assert host.daemon.request("GET", "/readyz")[0] == 200
    finally:
        host.kill()
    assert time.monotonic() - began < 60
    assert [len(client.acknowledged) for client in clients] >= before
    check(f"postgresql://syncd@/acme?host={standby.folder}", clients)


def check(url: str, clients: list[Client]) -> None:
    with Store.open(url, timezone=ZONE) as store:
        employer = store.read(lambda tx: employers.find(tx, EMPLOYER))
        state = {
            job.reference_id: job for job in store.read(lambda tx: jobs.after(tx, employer.id, 0, 10_000))
        }
        found = store.read(lambda tx: runs.newest(tx, limit=10_000))
    for client in clients:
        assert client.statuses.keys() <= {200, 201, 503}, client.statuses
        for reference in client.acknowledged:
            assert state[reference].title in client.possible[reference], reference
    assert sorted((run.feed, run.file, run.state.value) for run in found) == sorted(
        (f"feed{feed}", f"day{day}.csv", "succeeded")
        for feed in range(LOAD.feeds)
        for day in range(LOAD.files)
    )
