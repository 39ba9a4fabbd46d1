"""A store behind PgBouncer in transaction mode: each transaction may be on another connection of the server."""

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psycopg
import pytest

from syncd.errors import StoreError
from syncd.store import Store, employers
from tests.store.board import TORONTO
from tests.stores import server, store_url

PORT = 6432
SETTINGS = """
[databases]
* = host={folder} user=syncd
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = {port}
auth_type = any
pool_mode = transaction
default_pool_size = 4
"""


@pytest.fixture(scope="module")
def pooler(program):
    """The further part of an address that leads through a pooler."""
    path, running = program("pgbouncer", "/usr/sbin/pgbouncer"), server()
    settings = running.folder / "pgbouncer.ini"
    settings.write_text(SETTINGS.format(folder=running.folder, port=PORT))
    with (running.folder / "pgbouncer.log").open("wb") as log:
        process = subprocess.Popen([path, str(settings)], stdout=log, stderr=log, **running.user)
    end = time.monotonic() + 20
    while not (running.folder / f".s.PGSQL.{PORT}").exists():
        assert time.monotonic() < end, (running.folder / "pgbouncer.log").read_text()
        assert process.poll() is None, (running.folder / "pgbouncer.log").read_text()
        time.sleep(0.02)
    yield f"&port={PORT}"
    process.terminate()
    process.wait(20)


def test_stores_behind_a_pooler_are_written_read_and_locked(path, pooler):
    url = store_url(path)
    open_one = partial(Store.open, url + pooler, timezone=TORONTO, lock_url=url)
    with open_one() as one, open_one() as two:

        def add(number: int) -> int:
            store = (one, two)[number % 2]
            added = store.write(lambda tx: employers.add(tx, f"Employer {number}"))
            for ask in (store.read, store.look_up):
                assert ask(lambda tx: employers.get(tx, added.id)) == added
            return added.id

        with ThreadPoolExecutor(12) as pool:
            assert sorted(pool.map(add, range(100))) == list(range(1, 101))
        with one.feed_lock("acme") as mine, two.feed_lock("acme") as also:
            assert (mine, also) == (True, False)
            add(100)


def test_a_lock_is_not_taken_through_a_pooler(path, pooler):
    url = store_url(path) + pooler
    with Store.open(url, timezone=TORONTO, lock_url=url) as store:
        for _ in range(2):
            with (
                pytest.raises(StoreError, match="leads to a pooler, which cannot hold locks"),
                store.feed_lock("acme"),
            ):
                pass
    with psycopg.connect(store_url(path)) as connection:
        assert connection.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone() == (
            0,
        )
