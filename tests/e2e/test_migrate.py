"""Stores of older programs, which are backed up and migrated, and of newer ones, which every command leaves alone."""

import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from syncd.cli.app import app
from syncd.cli.output import DONE, FAILED
from syncd.store import database_at, schema
from tests.amounts import some
from tests.e2e.conftest import Installation
from tests.e2e.test_backup import feed_file, rows, state, store_of
from tests.golden.kept import unpack


@pytest.fixture
def old(installation):
    """An installation whose store version 0.1.0 has made."""
    kept = installation.base / "kept"
    unpack(kept)
    (kept / "var").rename(installation.base / "var")
    return installation


def version(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        (found,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(found)


def backups(installation: Installation) -> list[Path]:
    return sorted((installation.base / "var").glob("*.before-migration-*"))


def test_check_says_that_a_start_would_migrate_and_writes_nothing(old):
    before, found = state(old.base), version(store_of(old))
    checked = old.run("check", "--json")
    assert f"has schema {found}: `syncd serve` backs it up and migrates it to {schema.HEAD}" in "".join(
        checked.json["remarks"]
    )
    assert state(old.base) == before


@pytest.mark.parametrize("arguments", [["runs", "--json"], ["employer", "list"]])
def test_who_opens_the_store_first_migrates_it_after_a_backup_that_brings_it_back(old, arguments):
    found, before = version(store_of(old)), rows(store_of(old))
    assert old.run(*arguments).code == DONE
    assert version(store_of(old)) == schema.HEAD
    [kept] = backups(old)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert rows(kept) == before
    assert old.run(*arguments).code == DONE
    assert backups(old) == [kept]

    restored = old.run("restore", kept, "--yes")
    assert restored.code == DONE
    assert (
        f"it has schema {found}: the next start backs it up and migrates it to {schema.HEAD}" in restored.out
    )
    assert rows(store_of(old)) == before


def test_without_room_for_the_backup_nothing_is_migrated(old):
    found, before = version(store_of(old)), rows(store_of(old))
    done = old.process("employer", "list", shell='ulimit -f 100; exec "$@"')
    assert (done.returncode, done.stderr.count("\n")) == (FAILED, 1)
    assert "the backup cannot be written" in done.stderr
    assert (version(store_of(old)), rows(store_of(old)), backups(old)) == (found, before, [])


def test_a_new_store_needs_no_backup(installation, start):
    installation.employer_with_key(makes_store=True)
    start()
    assert installation.run("check").code == DONE
    assert backups(installation) == []


def test_a_backup_does_not_migrate(old):
    found = version(store_of(old))
    assert old.run("backup", old.base / "copy.db", "--json").json["schema"] == found
    assert version(store_of(old)) == found


def test_it_is_not_migrated_beside_a_daemon_of_the_older_program(old):
    daemon = database_at(f"sqlite:///{store_of(old)}")
    daemon.lock()
    try:
        refused = old.run("runs")
        checked = old.run("check", "--json")
    finally:
        daemon.unlock()
    assert refused.code == FAILED
    assert "stop it first" in refused.err
    assert "migrates it to" in "".join(checked.json["remarks"])
    assert (version(store_of(old)) != schema.HEAD, backups(old)) == (True, [])


#: Command → arguments with which it would do something. ``{base}`` is the folder of the installation.
ARGUMENTS = {
    "serve": "",
    "check": "",
    "backup": "{base}/copy.db",
    "employer add": "B",
    "employer rename": "1 B",
    "employer list": "",
    "employer close": "1 --yes",
    "key create": "1",
    "key rotate": "1",
    "key list": "",
    "key revoke": "1",
    "feed list": "",
    "feed new": "other --from {base}/jobs.csv",
    "feed pause": "acme",
    "feed resume": "acme",
    "feed remove": "acme --archive --yes",
    "feed fetch": "acme",
    "feed check": "acme {base}/jobs.csv",
    "plan": "{base}/jobs.csv --feed acme",
    "import": "{base}/jobs.csv --feed acme",
    "runs list": "",
    "runs show": "1",
    "runs approve": "1",
    "runs rekey": "1 --yes",
    "runs reject": "1",
    "runs revert": "1 --yes",
    "runs again": "1",
    "jobs list": "--employer 1",
    "jobs show": "1",
    "store copy": "sqlite:///{base}/var/syncd.db sqlite:///{base}/other.db",
    "export": "--employer 1 --format json -o {base}/out.json",
}
#: Commands that need no store, or that replace it.
OTHERS = {"demo", "feed sheet", "feed show", "init", "notify test", "reload", "restore", "status"}


def commands() -> Iterator[str]:
    """Yield all commands, by their words."""
    root: Any = get_command(app)
    for name, command in root.commands.items():
        inner = getattr(command, "commands", {})
        if not inner or command.invoke_without_command:
            yield name
        yield from (f"{name} {word}" for word in inner)


#: Commands that make a store, or need none.
MAKERS = {
    "serve",
    "check",
    "employer add",
    "feed list",
    "feed new",
    "feed remove",
    "feed check",
    "store copy",
}


@pytest.mark.parametrize("command", [name for name in ARGUMENTS if name not in MAKERS])
def test_a_command_that_reads_creates_no_store(installation, command):
    arguments = shlex.split(ARGUMENTS[command].format(base=installation.base))
    result = installation.run(*command.split(), *arguments)
    assert (result.code, result.out) == (FAILED, "")
    place = store_of(installation)
    assert f"there is no store at {place} (store.url, settings: {installation.config})" in result.err
    assert result.err.count("\n") == 1
    assert not place.exists()


@pytest.fixture
def newer(installation):
    """An installation whose store a newer program has made."""
    installation.employer_with_key()
    feed_file(installation, ["A-1"])
    with closing(sqlite3.connect(store_of(installation))) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
        connection.execute("PRAGMA journal_mode = DELETE")  # to open it as a writer would change the file
    return installation


def test_every_command_is_looked_at():
    assert {*ARGUMENTS, *OTHERS} == set(commands())


@pytest.mark.parametrize("command", some(ARGUMENTS, 8))
def test_a_command_leaves_the_store_of_a_newer_program_alone(newer, command):
    before = state(newer.base)
    arguments = shlex.split(ARGUMENTS[command].format(base=newer.base))
    refused = newer.run(*command.split(), *arguments)
    assert refused.code == FAILED, refused.out
    assert "has schema 9999, this program" in refused.err
    assert refused.out == ""
    assert state(newer.base) == before


def test_a_backup_of_a_newer_program_is_refused(newer):
    copy, store = newer.base / "copy.db", store_of(newer)
    store.rename(copy)
    refused = newer.run("restore", copy, "--yes")
    assert refused.code == FAILED
    assert f"the backup {copy} has schema 9999" in refused.err
    assert not store.exists()


def test_a_backup_that_this_program_knows_replaces_the_store_of_a_newer_one(installation):
    """The way back to an older program."""
    installation.employer_with_key()
    copy = installation.base / "copy.db"
    installation.run("backup", copy)
    with closing(sqlite3.connect(store_of(installation))) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    done = installation.run("restore", copy, "--yes")
    assert done.code == DONE
    assert "cannot be compared: the store has schema 9999" in done.out
    assert version(store_of(installation)) == schema.HEAD
