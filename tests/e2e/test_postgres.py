"""Daemons on one PostgreSQL and one drop folder: killed, and with a server that crashes, they have the result of one."""

import os
import time

import pytest

from syncd.store import Store, database_at, employers, keys
from tests.clock import ZONE, Clock
from tests.e2e import two_daemons
from tests.e2e.conftest import JOB, row
from tests.e2e.two_daemons import EMPLOYER, Host, Load, ask
from tests.stores import POSTGRES, server
from tests.sync.board import Board
from tests.test_bench import run as bench

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not POSTGRES, reason="needs TESTS_STORE=postgres"),
]


@pytest.fixture
def database():
    """The address of a database of its own."""
    name = server().new_database()
    yield server().url(name)
    server().sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def hosts(tmp_path, cli, database):
    """Two hosts with an employer. Their daemons are ended after the test."""
    (tmp_path / "drop").mkdir()
    found = [Host(tmp_path / name, database, 0, cli) for name in ("one", "two")]
    with Store.open(database, timezone=ZONE) as store:
        store.write(lambda tx: employers.add(tx, EMPLOYER))
    yield found
    for host in found:
        host.kill()


@pytest.fixture
def key(hosts, database):
    with Store.open(database, timezone=ZONE) as store:
        employer = store.read(lambda tx: employers.find(tx, EMPLOYER))
        return store.write(lambda tx: keys.create(tx, employer.id))


def test_killed_and_with_a_server_that_crashes_two_daemons_have_the_result_of_one(tmp_path):
    assert two_daemons.try_out(tmp_path, Load(feeds=6, files=8, pause=(0.3, 1.5))) == 2


def test_what_one_daemon_answers_the_other_knows_at_once(hosts, key, database, until):
    for host in hosts:
        host.start()
    one, two = hosts
    info, plain = key
    again = {"Idempotency-Key": "order-1"}
    status, first, job = ask(one, "POST", "/jobs", plain, JOB, **again)
    assert status == 201
    status, _, same = ask(two, "POST", "/jobs", plain, JOB, **again)
    assert (status, same) == (201, job)
    path = f"/jobs/{job['id']}"
    status, headers, _ = ask(two, "GET", path, plain)
    assert (status, headers["ETag"]) == (200, first["ETag"])
    change = {"title": "Chief welder", "id": job["id"]}
    assert ask(two, "PUT", path, plain, change, **{"If-Match": first["ETag"]})[0] == 200
    assert ask(one, "PUT", path, plain, change, **{"If-Match": first["ETag"]})[0] == 412
    assert [ask(host, "GET", path, plain)[0] for host in hosts] == [200, 200]
    with Store.open(database, timezone=ZONE) as store:
        store.write(lambda tx: keys.revoke(tx, info.id))
    time.sleep(1)
    assert [ask(host, "GET", path, plain)[0] for host in hosts] == [401, 401]


def test_while_the_server_is_away_a_daemon_answers_503_and_goes_on_afterwards(hosts, key, until):
    host, _ = hosts
    host.start()
    body = {"referenceId": "a", **JOB}
    assert ask(host, "PUT", "/jobs", key[1], body)[0] == 201
    server().stop()
    try:
        for method, path in (("GET", "/jobs"), ("PUT", "/jobs")):
            status, headers, problem = ask(host, method, path, key[1], body if method == "PUT" else None)
            assert (status, problem["code"], headers["Retry-After"]) == (503, "overloaded", "1")
        status, health = host.daemon.request("GET", "/readyz")
        assert status == 503
        assert "cannot be reached" in health["store"]
    finally:
        server().start()
    until(lambda: ask(host, "PUT", "/jobs", key[1], body)[0] == 200)
    until(lambda: host.daemon.request("GET", "/readyz")[0] == 200)


def test_a_store_is_copied_to_the_server_and_served_from_there(installation, start, database):
    key = installation.employer_with_key()
    source = f"sqlite:///{installation.base}/var/syncd.db"
    copied = installation.cli("store", "copy", source, database, "--json")
    assert copied.code == 0, copied.err
    found = copied.json
    assert {entry["table"]: entry["rows"] for entry in found}["api_key"] == 1
    again = installation.cli("store", "copy", source, database)
    assert (again.code, again.err) == (
        1,
        "syncd: the target is not empty: it has rows in the table employer\n",
    )
    installation.settings(f'[store]\nurl = "{database}"\n')
    os.chmod(installation.config, 0o600)
    assert start().request("GET", "/api/v1.1/jobs", key)[0] == 200


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("sqlite:///", "sqlite:///b"), "FROM: must be sqlite:///PATH"),
        (("postgresql://u:s3cret@h:x/d", "sqlite:///b"), "FROM: has a port that is not a number"),
        (("sqlite:////nowhere/a.db", "postgresql://u:s3cret@h"), "TO: must name one database"),
        (("sqlite:////nowhere/a.db", "postgresql://u:s3cret@127.0.0.1:1/d"), "there is no store to copy"),
        (("postgresql://u:s3cret@127.0.0.1:1/d", "sqlite:///b"), "the server cannot be reached"),
    ],
)
def test_a_copy_that_cannot_be_made_is_one_line_without_a_password(cli, arguments, words):
    result = cli("store", "copy", *arguments)
    assert (result.code, result.out) == (1, "")
    assert words in result.err
    assert "s3cret" not in result.err
    assert result.err.count("\n") == 1


def test_the_benches_measure_the_server_beside_sqlite(database, tmp_path):
    more = ("--store", database, "--folder", str(tmp_path))
    found = bench("http", "--jobs", "100", "--seconds", "1", "--rounds", "1", "--no-peer", *more)
    rows = [line.split("|") for line in found.splitlines() if line.startswith("| ")][1:]
    assert {row[3].strip() for row in rows} == {"syncd", "syncd, PostgreSQL", "bare aiohttp"}
    assert {row[9].strip() for row in rows} == {"0"}
    found = bench("import", "--rows", "300", "--reps", "1", *more)
    assert "| step | syncd s | PostgreSQL s |" in found
    assert len([line for line in found.splitlines() if line.startswith("| 2 % changed")]) == 2


def test_check_names_a_fault_of_the_address_without_the_password(installation, database):
    installation.settings(f'[store]\nurl = "{database}"\n')
    os.chmod(installation.config, 0o600)
    result = installation.run("check")
    assert result.code == 1  # the employer is missing
    assert not database_at(database).exists()  # it is not made by a look
    assert installation.run("employer", "add", EMPLOYER).code == 0
    assert installation.run("check").out == f"all good: {installation.config}\n"
    installation.settings('[store]\nurl = "postgresql://u:s3cret@127.0.0.1:1/d"\n')
    os.chmod(installation.config, 0o600)
    result = installation.run("check")
    assert result.code == 1
    assert "store.url: the store cannot be used now: the server cannot be reached" in result.err
    assert "s3cret" not in result.err


def test_a_feed_takes_new_ids_and_an_employer_is_closed_and_reverts_undo_both(installation, database):
    installation.settings(f'[store]\nurl = "{database}"\n')
    os.chmod(installation.config, 0o600)
    installation.employer_with_key(makes_store=True)
    assert installation.deliver("one.csv", [row(f"R-{n}", f"Welder {n}") for n in range(8)]).code == 0
    assert installation.deliver("two.csv", [row(f"N-{n}", f"Welder {n}") for n in range(8)]).code == 3
    assert installation.run("runs", "rekey", "2", "--yes").code == 0
    kept = {f"N-{n}": (n + 1, "active") for n in range(8)}
    assert installation.jobs("id", "status") == kept
    with Store.open(database, timezone=ZONE) as store:
        board = Board(store, Clock(), installation.base, store.read(lambda tx: employers.get(tx, 1)))
        board.put(board.row("API-1", status="active"))

    asked = installation.run("employer", "close", "1")
    assert (asked.code, "feed acme: would be archived: 8\n" in asked.out) == (3, True)
    assert "other jobs: would be archived: 1\n  - API-1 (job 9) archived: Cook API-1\n" in asked.out
    closed = installation.run("employer", "close", "1", "--yes", "--json")
    assert closed.code == 0, closed.err
    numbers = [closed.json["feeds"][0]["run"]["id"], closed.json["run"]["id"]]
    assert (numbers, closed.json["revokedKeys"]) == ([3, 4], [1])
    assert {status for _, status in installation.jobs("id", "status").values()} == {"archived"}
    assert not (installation.feeds / "acme.toml").exists()
    for number in reversed(numbers):
        assert installation.run("runs", "revert", str(number), "--yes").code == 0
    assert installation.jobs("id", "status") == kept | {"API-1": (9, "active")}
    assert installation.run("runs", "revert", "2", "--yes").code == 0
    assert installation.jobs("id")["R-0"] == (1,)
