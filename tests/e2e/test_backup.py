"""``syncd backup``, and what a damaged backup is found by."""

import os
import sqlite3
import stat
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from syncd.cli.output import FAILED, USAGE
from tests.e2e.conftest import Installation, row, with_umask

#: Table → rows in a text.
Rows = dict[str, list[Any]]


@pytest.fixture
def acme(acme):
    """An installation with two jobs, which a run has made."""
    feed_file(acme, ["A-1", "A-2"])
    return acme


def feed_file(acme: Installation, references: list[str]) -> None:
    assert acme.deliver("jobs.csv", [row(reference) for reference in references]).code == 0


def rows(path: Path) -> Rows:
    """Return what a store has in it, without the note of a backup and without the search index."""
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'job_search%'"
        )
        found = {
            name: sorted(connection.execute(f"SELECT * FROM {name}"), key=repr)
            for (name,) in names.fetchall()
        }
    found["setting"] = [entry for entry in found["setting"] if entry[0] != "backup"]
    return found


def changed(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement).rowcount == 1


def state(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder with their bytes, but for the lock of the daemon, which stays empty."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".lock")
    return {str(path): path.read_bytes() for path in found}


def store_of(acme: Installation) -> Path:
    return acme.base / "var" / "syncd.db"


def test_a_backup_is_the_whole_store_for_its_user_alone(acme):
    target = acme.base / "copy.db"
    with with_umask(0o000):
        made = acme.run("backup", target, "--json").json
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert rows(target) == rows(store_of(acme))
    assert made["counts"] == {"employers": 1, "keys": 1, "jobs": 2, "changes": 2, "feeds": 1, "runs": 1}
    assert (made["file"], made["size"]) == (str(target), target.stat().st_size)
    assert made["madeAt"].endswith("Z")
    assert acme.run("backup", target).out.startswith(f"{target}: 1 employer, ")
    assert "2 jobs" in acme.run("backup", target).out
    assert [path.name for path in acme.base.glob("*copy*")] == ["copy.db"]
    assert not list(acme.base.glob(".syncd-*"))


def test_equal_stores_have_equal_digests_and_one_letter_makes_another(acme):
    def digest() -> str:
        made: str = acme.run("backup", acme.base / "copy.db", "--json").json["digest"]
        return made

    first = digest()
    assert digest() == first
    changed(store_of(acme), "UPDATE job SET title = 'Welded' WHERE reference_id = 'A-2'")
    assert digest() != first


def test_a_backup_beside_a_daemon_has_what_it_acknowledged(installation, start):
    key = installation.employer_with_key()
    daemon = start()
    sent = {"title": "Welder", "locations": [{"description": "Toronto, ON"}], "categories": [{"id": 1}]}
    assert daemon.request("PUT", "/api/v1.1/jobs", key, {**sent, "referenceId": "B-1"})[0] == 201
    assert installation.run("backup", installation.base / "copy.db", "--json").json["counts"]["jobs"] == 1


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE job SET title = 'Welded' WHERE reference_id = 'A-2'",
        "UPDATE job SET title = CAST(x'ff' AS TEXT) WHERE reference_id = 'A-2'",
        "DELETE FROM history WHERE id = 1",
        "UPDATE setting SET value = '{}' WHERE name = 'backup'",
    ],
)
def test_a_backup_that_was_changed_is_refused(acme, statement):
    target = acme.base / "copy.db"
    acme.run("backup", target)
    changed(target, statement)
    before = state(acme.base / "var")
    refused = acme.run("restore", target, "--yes")
    assert (refused.code, refused.out) == (FAILED, "")
    assert "something in its rows was changed" in refused.err
    assert state(acme.base / "var") == before


def test_in_a_folder_backups_have_names_and_the_oldest_go(acme):
    folder = acme.base / "backups"
    (folder / "syncd-20200101T000000.000000Z.db").mkdir(parents=True)
    others = ["syncd.db", "syncd-20200102T000000.000000Z.db.txt", "old-syncd-20200103T000000.000000Z.db"]
    for name in others:
        (folder / name).write_text("mine")
    (folder / "syncd-20200104T000000.000000Z.db").symlink_to(store_of(acme))
    kept = set(folder.iterdir())
    made = [Path(acme.run("backup", folder, "--keep", "2", "--json").json["file"]) for _ in range(2)]
    last = acme.run("backup", folder, "--keep", "2", "--json").json
    assert last["removed"] == [str(made[0])]
    assert set(folder.iterdir()) - kept == {made[1], Path(last["file"])}
    assert kept <= set(folder.iterdir())
    assert acme.run("backup", folder, "--json").json["removed"] == []


def test_the_new_backup_is_kept_also_if_the_clock_was_ahead(acme):
    folder = acme.base / "backups"
    folder.mkdir()
    (folder / "syncd-29990101T000000.000000Z.db").write_text("from a clock that was ahead")
    made = acme.run("backup", folder, "--keep", "1", "--json").json
    assert [str(path) for path in folder.iterdir()] == [made["file"]]


def test_keeping_a_number_needs_a_folder(acme):
    refused = acme.run("backup", acme.base / "copy.db", "--keep", "3")
    assert refused.code == USAGE
    assert "is for a folder" in refused.err
    assert acme.run("backup", acme.base, "--keep", "0").code == USAGE
    assert not (acme.base / "copy.db").exists()


def test_a_folder_that_is_not_there_is_not_taken_for_a_file(acme):
    refused = acme.run("backup", f"{acme.base}/backups/")
    assert refused.code == USAGE
    assert f"there is no folder {acme.base}/backups" in refused.err
    assert not (acme.base / "backups").exists()
    (acme.base / "backups").mkdir()
    assert acme.run("backup", f"{acme.base}/backups/").code == 0
    assert len(list((acme.base / "backups").iterdir())) == 1


def test_what_is_not_a_backup_is_not_replaced(acme):
    store = store_of(acme)
    beside = (".lock", "-wal", "-shm", "-journal")
    store.with_name("syncd.db.lock").touch()
    (acme.base / "letter.txt").write_text("Dear Madam")
    (acme.base / "link.db").symlink_to(store)
    os.mkfifo(acme.base / "pipe")
    other = acme.base / "other.db"
    other.write_bytes(store.read_bytes())
    (acme.base / "other.db-wal").write_bytes(b"")
    (acme.base / "empty").touch()
    with closing(sqlite3.connect(acme.base / "songs.db")) as songs:
        songs.execute("CREATE TABLE song (name TEXT)")
    before = state(acme.base)
    for path, words in [
        (store, "is the store itself"),
        (acme.base / "link.db", "is the store itself"),
        (acme.base / "letter.txt", "is not a backup"),
        (acme.base / "pipe", "is not a regular file"),
        (other, "a store that is in use"),
        (acme.base / "empty", "is not a backup"),
        (acme.base / "songs.db", "is not a backup"),
        *((store.with_name(store.name + ending), f"belongs to the store {store}") for ending in beside),
        (acme.base / "none" / "copy.db", f"{acme.base / 'none'} is not a folder: make it first"),
    ]:
        refused = acme.run("backup", path)
        assert (refused.code, refused.out) == (FAILED, ""), path
        assert words in refused.err
    assert state(acme.base) == before
    assert store.with_name("syncd.db.lock").read_bytes() == b""


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_on_postgresql_its_own_programs_do_it(installation, command):
    path = installation.base / "copy.dump"
    installation.settings('[store]\nurl = "postgresql://syncd@127.0.0.1:1/syncd"\n')
    refused = installation.run(command, path)
    words = "pg_dump and pg_restore do this for a store on PostgreSQL: see docs/deploy/postgresql.md"
    assert (refused.code, refused.out, refused.err) == (FAILED, "", f"syncd: {words}\n")
    assert not path.exists()


def test_a_damaged_store_is_not_backed_up(acme):
    target, store = acme.base / "copy.db", store_of(acme)
    acme.run("backup", target)
    before = target.read_bytes()
    store.write_bytes(store.read_bytes()[:40_000])
    refused = acme.run("backup", target)
    assert refused.code == FAILED
    assert "damaged" in refused.err
    assert target.read_bytes() == before


def test_on_a_full_disk_the_backup_before_stays(acme):
    target = acme.base / "copy.db"
    acme.run("backup", target)
    before = target.read_bytes()
    done = acme.process("backup", target, shell='ulimit -f 400; exec "$@"')
    assert done.returncode == FAILED
    assert "the backup cannot be written" in done.stderr
    assert done.stderr.count("\n") == 1
    assert target.read_bytes() == before
    assert not list(acme.base.glob(".syncd-*"))


def test_what_a_killed_backup_left_is_removed_a_day_later(acme):
    for age, name in ((23, "new"), (25, "old")):
        left = acme.base / f".syncd-draft-{name}.tmp"
        left.mkdir(0o700)
        (left / "backup").write_bytes(b"half of a store")
        os.utime(left, (time.time() - age * 3600,) * 2)
    (acme.base / ".syncd-draft-own.txt").write_text("mine")
    assert acme.run("backup", acme.base / "copy.db").code == 0
    left = [path.name for path in sorted(acme.base.glob(".syncd-*"))]
    assert left == [".syncd-draft-new.tmp", ".syncd-draft-own.txt"]
