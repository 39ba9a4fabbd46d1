"""``syncd backup``, ``syncd restore`` and ``syncd migrate`` with a store on PostgreSQL."""

import contextlib
import os
import resource
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from syncd.cli.output import DONE, FAILED, HELD
from syncd.store import Store, employers, schema
from syncd.store.postgres.named_locks import key_of
from tests.clock import ZONE
from tests.e2e.conftest import EMPLOYER, Installation, clean_environ, csv_text, row
from tests.e2e.store_copies import syncd
from tests.stores import POSTGRES, program, server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not POSTGRES, reason="needs TESTS_STORE=postgres"),
]
PASSWORD = "s3cret'$ \\ word"
TABLES = (
    "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A backup of the database ``made``: a store with two jobs, which a run has made. Its owner is the user ``app``, who may make
    databases and nothing else."""
    server().sql("CREATE ROLE app LOGIN CREATEDB")
    server().sql("CREATE DATABASE made OWNER app TEMPLATE template0 ENCODING 'UTF8'")
    installation = Installation(tmp_path_factory.mktemp("made"), None)
    installation.settings(f'[store]\nurl = "{url_of("made")}"\n')
    os.chmod(installation.config, 0o600)
    syncd("--config", installation.config, "employer", "add", EMPLOYER)
    path = installation.base / "jobs.csv"
    path.write_text(csv_text([row("A-1"), row("A-2")]))
    syncd("--config", installation.config, "import", path, "--feed", "acme")
    syncd("--config", installation.config, "backup", installation.base / "copy.dump")
    yield installation.base / "copy.dump"
    server().sql("DROP DATABASE made")
    server().sql("DROP ROLE app")


@pytest.fixture
def app(made: Path) -> Iterator[str]:
    """The address of a copy of the database ``made``. It is removed afterwards, with all others that are there then."""
    server().sql("ALTER ROLE app CREATEDB")
    before = databases()
    server().sql("CREATE DATABASE acme OWNER app TEMPLATE made")
    yield url_of("acme")
    for name in databases() - before:
        server().sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def acme(installation: Installation, app: str, made: Path) -> Installation:
    """An installation with that store, and a backup of it, ``copy.dump``."""
    installation.settings(f'[store]\nurl = "{app}"\n')
    os.chmod(installation.config, 0o600)
    shutil.copy(made, installation.base / "copy.dump")
    return installation


def url_of(name: str) -> str:
    return server().url(name).replace("//syncd@", "//app@")


def databases() -> set[str]:
    return {name for (name,) in server().sql("SELECT datname FROM pg_database")}


def feed_file(installation: Installation, references: list[str]) -> None:
    path = installation.base / "jobs.csv"
    path.write_text(csv_text([row(reference) for reference in references]))
    assert installation.run("import", path, "--feed", "acme").code == 0


def rows(database: str = "acme") -> dict[str, list[tuple[object, ...]]]:
    """Return all rows of a store, but for the numbers of its sessions."""
    found = {}
    for (table,) in server().sql(TABLES, database):
        where = "WHERE name NOT LIKE 'commit %'" if table == "setting" else ""
        found[table] = sorted(server().sql(f"SELECT * FROM {table} {where}", database), key=repr)
    return found


def references(acme: Installation) -> list[str]:
    return sorted(job["referenceId"] for job in acme.run("jobs", "--employer", "1", "--json").json)


def restore_of(acme: Installation) -> list[str]:
    """Return the command of a restore in a process of its own."""
    program = [sys.executable, "-m", "syncd", "--config", str(acme.config)]
    return [*program, "restore", str(acme.base / "copy.dump"), "--yes"]


def kept() -> list[str]:
    return sorted(name for name in databases() if "before_restore" in name)


def test_a_backup_has_the_counts_and_is_a_dump_that_pg_restore_reads(acme: Installation) -> None:
    made = acme.run("backup", acme.base / "copy.dump", "--json").json
    assert made["counts"] == {"employers": 1, "keys": 0, "jobs": 2, "changes": 2, "feeds": 1, "runs": 1}
    assert made["schema"] == schema.HEAD
    path = Path(made["file"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_size == made["size"]
    listed = subprocess.run(
        [program("pg_restore"), "--list", path], check=True, capture_output=True, text=True
    )
    assert "TABLE DATA public job app" in listed.stdout
    assert acme.run("backup", path, "--json").json["digest"] == made["digest"]
    server().sql("UPDATE job SET title = 'Welded' WHERE reference_id = 'A-2'", "acme")
    assert acme.run("backup", path, "--json").json["digest"] != made["digest"]
    assert not list(acme.base.glob(".syncd-*"))


def test_it_is_put_in_place_and_the_old_database_is_kept(acme: Installation) -> None:
    backed_up = rows()
    owner = "SELECT tableowner, count(*) FROM pg_tables WHERE schemaname = 'public' GROUP BY 1"
    owned = server().sql(owner, "acme")
    feed_file(acme, ["A-1", "A-2", "A-3"])
    later = rows()
    asked = acme.run("restore", acme.base / "copy.dump")
    assert (asked.code, "by runs: drop the files again" in asked.out) == (HELD, True)
    assert (rows(), kept()) == (later, [])
    done = acme.run("restore", acme.base / "copy.dump", "--yes", "--json")
    assert done.code == DONE, done.err
    assert done.json["lost"]["changes"] == {"run": 1}
    assert [run["id"] for run in done.json["lost"]["runs"]] == [2]
    assert kept() == [done.json["keptAs"]]
    assert rows() == backed_up
    assert rows(*kept()) == later
    assert server().sql(owner, "acme") == owned
    assert not [name for name in databases() if "restoring" in name]
    feed_file(acme, ["A-1", "A-2", "A-4"])  # the numbers of ids go on
    assert references(acme) == ["A-1", "A-2", "A-4"]


def test_the_text_names_the_database_that_is_kept(acme: Installation) -> None:
    done = acme.run("restore", acme.base / "copy.dump", "--yes")
    assert "It is whole, and as it was made." in done.out
    assert f"the store as it was: the database {kept()[0]}; remove it" in done.out


def test_on_a_server_without_the_database_it_is_made(acme: Installation) -> None:
    backed_up = rows()
    server().sql("DROP DATABASE acme")
    done = acme.run("restore", acme.base / "copy.dump", "--yes")
    assert (done.code, done.err) == (DONE, "")
    assert 'database "acme" does not exist' in done.out
    assert (rows(), kept()) == (backed_up, [])


def test_beside_a_process_that_uses_the_store_nothing_is_restored(acme: Installation, app: str) -> None:
    before = databases()
    with Store.open(app, timezone=ZONE):
        refused = acme.run("restore", acme.base / "copy.dump", "--yes")
    assert (refused.code, refused.out) == (FAILED, "")
    assert "another process is connected to the database acme: stop all daemons" in refused.err
    assert databases() == before


def test_a_backup_that_was_changed_or_cut_off_is_refused(acme: Installation) -> None:
    path = acme.base / "copy.dump"
    content, before = path.read_bytes(), databases()
    middle = len(content) // 2
    changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    for damaged, words in [
        (changed, "some of its bytes were changed"),
        (content.replace(b'"job":2', b'"job":3'), "the table job has 2 rows, and had 3"),
        (content.replace(b'"format":', b'"format";'), "its note cannot be read"),
        (content[:middle], "pg_restore failed: "),
        (b"SQLite format 3\0", "not a backup of a store on PostgreSQL; `syncd store copy`"),
        (b"", "not a backup of a store on PostgreSQL"),
    ]:
        path.write_bytes(damaged)
        refused = acme.run("restore", path, "--yes")
        assert (refused.code, refused.out) == (FAILED, ""), words
        assert words in refused.err
        assert refused.err.count("\n") == 1
        assert databases() == before


def test_a_dump_that_was_made_otherwise_is_taken_without_a_digest(acme: Installation) -> None:
    path = acme.base / "own.dump"
    names = {"PGHOST": str(server().folder), "PGUSER": "app", "PATH": os.environ["PATH"]}
    subprocess.run([program("pg_dump"), "-Fc", "-f", path, "acme"], check=True, env=names)
    assert "is not a backup, and is not replaced" in acme.run("backup", path).err
    backed_up = rows()
    done = acme.run("restore", path, "--yes")
    assert (done.code, "It has no digest" in done.out) == (DONE, True)
    assert rows() == backed_up


def test_a_dump_of_something_else_is_not_a_backup(acme: Installation) -> None:
    path, before = acme.base / "own.dump", databases()
    names = {"PGHOST": str(server().folder), "PGUSER": "app", "PATH": os.environ["PATH"]}
    subprocess.run([program("pg_dump"), "-Fc", "-f", path, "postgres"], check=True, env=names)
    refused = acme.run("restore", path, "--yes")
    assert (refused.code, "no store is in it" in refused.err) == (FAILED, True)
    assert databases() == before


def test_what_a_killed_restore_left_is_removed_by_the_next(acme: Installation) -> None:
    seen: list[str] = []
    backed_up = rows()
    process = subprocess.Popen(restore_of(acme), env=clean_environ(), stdout=subprocess.DEVNULL)
    while not seen and process.poll() is None:
        seen = [name for name in databases() if "restoring" in name]
    process.kill()
    process.wait()
    assert seen
    assert rows() == backed_up
    assert acme.run("restore", acme.base / "copy.dump", "--yes").code == DONE
    assert rows() == backed_up
    assert not [name for name in databases() if "restoring" in name]


def test_two_restores_at_once_are_one(acme: Installation) -> None:
    key = key_of("restore acme")
    with contextlib.closing(psycopg.connect(server().url("postgres"))) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (key,))
        refused = acme.run("restore", acme.base / "copy.dump", "--yes")
    assert (refused.code, refused.err) == (1, "syncd: another process restores the database acme\n")


def test_a_backup_that_cannot_be_written_leaves_the_one_before(acme: Installation) -> None:
    path = acme.base / "copy.dump"
    before = path.read_bytes()
    command = [sys.executable, "-m", "syncd", "--config", str(acme.config), "backup", str(path)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=clean_environ(), check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (FAILED, 1), done.stderr
    assert "pg_dump failed: " in done.stderr
    assert path.read_bytes() == before
    assert not list(acme.base.glob(".syncd-*"))


def test_a_user_who_may_not_make_a_database_gets_to_know_it(acme: Installation) -> None:
    server().sql("ALTER ROLE app NOCREATEDB")
    refused = acme.run("restore", acme.base / "copy.dump", "--yes")
    assert refused.code == FAILED
    assert "which the store's user may not: ALTER ROLE … CREATEDB" in refused.err


def test_an_administrator_restores_for_the_user_of_the_store(
    acme: Installation,
) -> None:
    server().sql("ALTER ROLE app NOCREATEDB")
    backed_up = rows()
    url = server().url("acme")
    subprocess.run(
        restore_of(acme),
        check=True,
        env={**clean_environ(), "SYNCD_STORE__URL": url},
        stdout=subprocess.DEVNULL,
    )
    assert rows() == backed_up
    feed_file(acme, ["A-1", "A-2", "A-3"])  # as the user of the store
    assert server().sql("SELECT tableowner FROM pg_tables WHERE tablename = 'job'", "acme") == [("app",)]


def test_a_backup_has_each_write_that_was_acknowledged_before_it_began(acme: Installation, app: str) -> None:
    halt = threading.Event()
    written: list[str] = []

    def write(store: Store) -> None:
        while not halt.is_set():
            name = f"Employer {len(written)}"
            store.write(lambda tx, name=name: employers.add(tx, name))  # type: ignore[misc]
            written.append(name)

    with Store.open(app, timezone=ZONE) as store:
        writer = threading.Thread(target=write, args=(store,))
        writer.start()
        try:
            while len(written) < 50:
                pass
            before = list(written)
            made = acme.run("backup", acme.base / "busy.dump")
        finally:
            halt.set()
            writer.join()
    assert made.code == 0, made.err
    assert acme.run("restore", acme.base / "busy.dump", "--yes").code == DONE
    with Store.open(app, timezone=ZONE) as store:
        found = {employer.name for employer in store.read(employers.all)}
    assert set(before) <= found
    assert found - {EMPLOYER} == set(written[: len(found) - 1])


def test_in_a_folder_the_oldest_backups_go(acme: Installation) -> None:
    folder = acme.base / "backups"
    folder.mkdir()
    made = [Path(acme.run("backup", folder, "--keep", "2", "--json").json["file"]) for _ in range(3)]
    assert sorted(folder.iterdir()) == made[1:]
    assert {path.suffix for path in made} == {".dump"}


def test_without_the_programs_or_with_old_ones_it_says_what_to_install(
    acme: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from syncd.store.postgres import programs

    monkeypatch.setattr(programs, "_VERSIONS", tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    words = "needs {} of version 15 or newer, and {}: install it (Debian: postgresql-client-15)"
    refused = acme.run("backup", acme.base / "new.dump")
    assert refused.code == FAILED
    assert words.format("pg_dump", "it is not on this machine") in refused.err
    (tmp_path / "bin").mkdir()
    for name in ("pg_dump", "pg_restore"):
        path = tmp_path / "bin" / name
        path.write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) 13.1 (Debian 13.1-1)'\n")
        path.chmod(0o755)
    refused = acme.run("backup", acme.base / "new.dump")
    assert words.format("pg_dump", "here it has version 13") in refused.err
    refused = acme.run("restore", acme.base / "copy.dump", "--yes")
    assert words.format("pg_restore", "here it has version 13") in refused.err
    assert not list(acme.base.glob("new*"))
    assert not [name for name in databases() if "restoring" in name]


def test_a_password_is_in_no_command(
    acme: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``pg_dump`` is one here that notes how it was called, and calls the real one."""
    from urllib.parse import quote

    called = tmp_path / "called"
    (tmp_path / "bin").mkdir()
    for name in ("pg_dump", "pg_restore"):
        path = tmp_path / "bin" / name
        path.write_text(
            f'#!/bin/sh\necho "$0 $*" >> {called}\nprintf "%s" "$PGPASSWORD" > {called}.password\n'
            f'exec {program(name)} "$@"\n'
        )
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    url = server().url("acme").replace("//syncd@", f"//app:{quote(PASSWORD, safe='')}@")
    acme.settings(f'[store]\nurl = "{url}"\n')
    os.chmod(acme.config, 0o600)
    made = acme.run("backup", acme.base / "copy.dump")
    assert made.code == 0, made.err
    assert acme.run("restore", acme.base / "copy.dump", "--yes").code == DONE
    assert "--snapshot=" in called.read_text()
    assert Path(f"{called}.password").read_text() == PASSWORD
    for text in (called.read_text(), made.out, made.err):
        assert "s3cret" not in text


def test_it_migrates_after_a_backup_that_brings_the_old_store_back(acme: Installation, app: str) -> None:
    assert "nothing to migrate" in acme.run("migrate").out
    older(app)
    before = rows()
    planned = acme.run("migrate", "--plan", "--json").json
    assert (planned["from"], planned["to"], planned["migrated"]) == ("0008", schema.HEAD, False)
    assert rows() == before
    done = acme.run("migrate", "--json")
    assert done.code == DONE, done.err
    assert server().sql("SELECT version_num FROM alembic_version", "acme") == [(schema.HEAD,)]
    copy = Path(done.json["backup"])
    assert copy.parent == acme.base / "var"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    restored = acme.run("restore", copy, "--yes")
    assert (restored.code, "it has schema 0008" in restored.out) == (DONE, True)
    assert rows() == before
    assert references(acme) == ["A-1", "A-2"]  # which migrates it


def test_beside_a_daemon_nothing_is_migrated(acme: Installation, app: str) -> None:
    older(app)
    before = rows()
    with contextlib.closing(psycopg.connect(app)):
        refused = acme.run("migrate")
    assert (refused.code, "another process is connected" in refused.err) == (FAILED, True)
    assert rows() == before
    assert not list((acme.base / "var").glob("*"))


def older(app: str) -> None:
    """Bring the store back to schema 0008."""
    with psycopg.connect(app) as connection:
        connection.execute(
            "ALTER TABLE history DROP COLUMN request_id;"
            "ALTER TABLE run DROP COLUMN applied;"
            "ALTER TABLE api_key DROP COLUMN successor_id;"
            "DROP INDEX ix_feed_job_feed_id_job_id_active;"
            "CREATE INDEX ix_feed_job_feed_id_job_id ON feed_job (feed_id, job_id);"
            "DROP TABLE job_day;"
            "UPDATE alembic_version SET version_num = '0008'"
        )
