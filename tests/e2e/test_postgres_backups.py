"""The recipe of docs/deploy/postgresql.md, line by line, on a real server: a dump beside a daemon that works is loaded into a new
database, with which a daemon goes on."""

import os
import subprocess
from pathlib import Path

import pytest

from syncd.cli.output import DONE
from syncd.store import schema
from tests.e2e.conftest import BASE, EMPLOYER, Installation, clean_environ, row
from tests.stores import POSTGRES, program, server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not POSTGRES, reason="needs TESTS_STORE=postgres"),
]
GUIDE = (Path(__file__).parents[2] / "docs" / "deploy" / "postgresql.md").read_text()
#: The administrator of this server is another one.
SUDO = 'sudo() { shift 2; PGUSER=syncd "$@"; }\n'


def recipe(name: str) -> str:
    return GUIDE.partition(f"<!-- recipe: {name} -->\n```sh\n")[2].partition("```")[0]


def url_of(database: str) -> str:
    return server().url(database).replace("//syncd@", "//app@")


@pytest.fixture
def acme(installation):
    """An installation whose store is in the database ``acme`` of a user who is not an administrator."""
    server().sql("CREATE ROLE app LOGIN")
    server().sql("CREATE DATABASE acme OWNER app TEMPLATE template0 ENCODING 'UTF8'")
    use(installation, "acme")
    yield installation
    for name in ("acme", "syncd_restored"):
        server().sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    server().sql("DROP ROLE app")


def use(installation: Installation, database: str) -> None:
    installation.settings(f'[store]\nurl = "{url_of(database)}"\n')
    os.chmod(installation.config, 0o600)


def shell(acme: Installation, lines: str) -> None:
    programs = os.path.dirname(program("pg_dump"))
    environ = {
        **clean_environ(),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PGHOST": str(server().folder),
        "STORE": url_of("acme"),
        "NEW": url_of("syncd_restored"),
    }
    script = SUDO + lines.replace("--owner syncd", "--owner app")
    subprocess.run(["sh", "-euc", script], cwd=acme.base, env=environ, check=True)


def references(acme: Installation) -> list[str]:
    return sorted(job["referenceId"] for job in acme.run("jobs", "--employer", "1", "--json").json)


def test_a_daemon_goes_on_with_a_dump_that_was_loaded_into_a_new_database(acme, start):
    key = acme.employer_with_key(makes_store=True)
    sent = {"title": "Welder", "locations": [{"description": "Toronto, ON"}], "categories": [{"id": 1}]}
    daemon = start()
    acme.drop("jobs.csv", [row("A-1"), row("A-2")])
    daemon.wait_for_event("feed.reconciled")
    status, kept = daemon.request("PUT", f"{BASE}/jobs", key, {**sent, "referenceId": "B-1"})
    shell(acme, recipe("dump"))
    assert (acme.base / "syncd.dump").stat().st_mode & 0o777 == 0o600
    assert daemon.request("PUT", f"{BASE}/jobs", key, {**sent, "referenceId": "B-2"})[0] == 201
    assert daemon.stop() == DONE
    daemon.close()

    shell(acme, recipe("load"))
    use(acme, "syncd_restored")
    assert acme.run("check").code == DONE
    assert references(acme) == ["A-1", "A-2", "B-1"]
    daemon = start()
    assert daemon.request("GET", f"{BASE}/jobs/{kept['id']}", key)[1]["referenceId"] == "B-1"
    status, made = daemon.request("PUT", f"{BASE}/jobs", key, {**sent, "referenceId": "B-3"})
    assert (status, made["id"] > kept["id"]) == (201, True)  # the numbers of ids go on
    acme.drop("jobs2.csv", [row("A-1"), row("A-3", title="Fitter")])
    (run,) = daemon.wait_for_event("feed.reconciled")
    assert (run["state"], run["created"], run["archived"]) == ("succeeded", 1, 1)
    assert daemon.request("GET", f"{BASE}/jobs?q=fitt", key)[1]["data"][0]["referenceId"] == "A-3"
    owners = server().sql(
        "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'", "syncd_restored"
    )
    assert owners == [("app",)]


def test_check_says_that_a_start_would_migrate_and_migrates_nothing(acme):
    assert acme.run("employer", "add", EMPLOYER).code == DONE
    server().sql("UPDATE alembic_version SET version_num = '0003'", "acme")
    remarks = acme.run("check", "--json").json["remarks"]
    assert remarks == [
        f"the store has schema 0003: `syncd serve` (make a backup first, by pg_dump) migrates it to {schema.HEAD}"
    ]
    assert server().sql("SELECT version_num FROM alembic_version", "acme") == [("0003",)]
