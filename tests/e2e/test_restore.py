"""``syncd restore``: what it verifies, what it keeps, and what it says is lost."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from syncd.cli.output import DONE, FAILED, HELD
from syncd.store import employers
from tests.amounts import some
from tests.e2e.conftest import EMPLOYER, Installation, row, store_at
from tests.e2e.test_backup import feed_file, rows, state, store_of


@pytest.fixture
def acme(acme):
    """An installation with two jobs, which a run has made, and a backup of it, ``copy.db``."""
    feed_file(acme, ["A-1", "A-2"])
    assert acme.run("backup", acme.base / "copy.db").code == 0
    return acme


def kept(acme: Installation) -> list[Path]:
    return sorted((acme.base / "var").glob("syncd.db.before-restore-*"))


def jobs(acme: Installation) -> list[str]:
    return sorted(acme.jobs())


def killed(acme: Installation, work: str) -> None:
    """Run ``work`` on the open store in a process that then dies, and leaves the log beside the store's file."""
    script = (
        "import os, sys; from zoneinfo import ZoneInfo; from syncd.store import Store, employers\n"
        "store = Store.open(sys.argv[1], timezone=ZoneInfo('UTC'))\n" + work + "\nos._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script, f"sqlite:///{store_of(acme)}"], check=True)
    assert store_of(acme).with_name("syncd.db-wal").stat().st_size


def test_it_puts_the_backup_in_place_and_keeps_the_old_store(acme):
    backed_up = rows(store_of(acme))
    feed_file(acme, ["A-1", "A-2", "A-3"])
    later = rows(store_of(acme))
    done = acme.run("restore", acme.base / "copy.db", "--yes")
    assert done.code == DONE
    assert rows(store_of(acme)) == backed_up
    [old] = kept(acme)
    assert str(old) in done.out
    assert rows(old) == later
    assert (store_of(acme).stat().st_mode & 0o777, old.stat().st_mode & 0o777) == (0o600, 0o600)
    assert jobs(acme) == ["A-1", "A-2"]
    assert acme.run("check").code == 0


def test_the_writes_of_a_process_that_was_killed_are_kept_with_the_old_store(acme):
    killed(acme, "store.write(lambda tx: employers.add(tx, 'Later'))")
    assert acme.run("restore", acme.base / "copy.db", "--yes").code == DONE
    [old] = kept(acme)
    assert [name for _, name, _ in rows(old)["employer"]] == [EMPLOYER, "Later"]
    assert [name for _, name, _ in rows(store_of(acme))["employer"]] == [EMPLOYER]


def test_a_store_that_cannot_be_read_is_kept_as_it_is_with_its_log(acme):
    killed(acme, "store.write(lambda tx: employers.add(tx, 'Later'))")
    store = store_of(acme)
    log = store.with_name("syncd.db-wal").read_bytes()
    store.write_bytes(b"no database" * 9_999)
    done = acme.run("restore", acme.base / "copy.db", "--yes")
    assert done.code == DONE
    assert "cannot be read" in done.out
    old, *beside = kept(acme)
    assert old.read_bytes() == b"no database" * 9_999
    assert log in [path.read_bytes() for path in beside if path.name.endswith("-wal")]
    assert jobs(acme) == ["A-1", "A-2"]


def test_a_log_without_its_store_is_not_taken_for_the_log_of_the_new_one(acme):
    killed(acme, "store.write(lambda tx: employers.add(tx, 'Later'))")
    store_of(acme).unlink()
    assert acme.run("restore", acme.base / "copy.db", "--yes").code == DONE
    assert [employer["name"] for employer in acme.run("employer", "list", "--json").json] == [EMPLOYER]
    assert any(path.name.endswith("-wal") for path in kept(acme))


def test_on_a_new_machine_there_is_no_store_yet(acme):
    shutil.rmtree(acme.base / "var")
    done = acme.run("restore", acme.base / "copy.db", "--yes", "--json")
    assert (done.code, done.json["restored"], done.json["keptAs"], done.json["lost"]) == (
        DONE,
        True,
        None,
        None,
    )
    assert jobs(acme) == ["A-1", "A-2"]
    assert (acme.base / "var").stat().st_mode & 0o777 == 0o700


def test_without_a_yes_nothing_is_changed(acme):
    before = state(acme.base / "var")
    asked = acme.run("restore", acme.base / "copy.db")
    assert asked.code == HELD
    assert "--yes" in asked.err
    assert acme.run("restore", acme.base / "copy.db", "--json").json["restored"] is False
    assert state(acme.base / "var") == before


@pytest.mark.parametrize(("answer", "code"), [("y\n", DONE), ("n\n", HELD), ("", HELD)])
def test_on_a_terminal_it_asks(acme, terminal, answer, code):
    terminal(answer)
    asked = acme.run("restore", acme.base / "copy.db")
    assert asked.code == code
    assert "Restore it? [y/N]" in asked.err
    assert len(kept(acme)) == (code == DONE)


def test_it_refuses_beside_a_daemon(acme, start):
    start()
    refused = acme.run("restore", acme.base / "copy.db", "--yes")
    assert (refused.code, refused.out) == (FAILED, "")
    assert "stop it first" in refused.err
    assert not kept(acme)


def test_it_refuses_beside_a_command_that_has_the_store_open(acme):
    with store_at(acme.base) as store:
        refused = acme.run("restore", acme.base / "copy.db", "--yes")
        assert refused.code == FAILED
        assert "another process uses the store" in refused.err
        store.write(lambda tx: employers.add(tx, "Later"))
    assert [path.name for path in kept(acme)] == []
    assert len(acme.run("employer", "list", "--json").json) == 2


def test_what_cannot_be_a_backup_changes_nothing(acme):
    base, whole = acme.base, (acme.base / "copy.db").read_bytes()
    (base / "empty.db").touch()
    os.mkfifo(base / "pipe")
    (base / "text.db").write_text("Dear Madam" * 9_999)
    (base / "short.db").write_bytes(whole[:500_000])
    (base / "torn.db").write_bytes(whole[:32_768] + b"\xff" * 16_384 + whole[49_152:])
    with closing(sqlite3.connect(base / "other.db")) as other:
        other.execute("CREATE TABLE song (name TEXT)")
    shutil.copy(base / "copy.db", base / "open.db")
    (base / "open.db-wal").write_bytes(b"a log")
    before = state(base / "var")
    for name, words in {
        "none.db": "No such file",
        "config": "Is a directory",
        "/dev/null": "not a regular file",
        "pipe": "not a regular file",
        "var/syncd.db": "is the store itself",
        "empty.db": "no store is in it",
        "text.db": "not a backup",
        "short.db": "damaged",
        "torn.db": "damaged",
        "other.db": "no store is in it",
        "open.db": "is not a backup: open.db-wal",
    }.items():
        refused = acme.run("restore", base / name, "--yes")
        assert (refused.code, refused.out) == (FAILED, ""), name
        assert words in refused.err, name
        assert refused.err.count("\n") == 1, refused.err
    assert state(base / "var") == before


def test_a_copy_that_syncd_did_not_make_is_taken_and_has_no_digest(acme):
    """Also a copy of a restored store: the note of the backup, which would be wrong from the next write on, is not left in it."""
    acme.run("restore", acme.base / "copy.db", "--yes")
    feed_file(acme, ["A-1", "A-2", "A-3"])
    with closing(sqlite3.connect(store_of(acme))) as connection:
        connection.execute(f"VACUUM INTO '{acme.base / 'plain.db'}'")
    done = acme.run("restore", acme.base / "plain.db", "--yes")
    assert (done.code, "no digest" in done.out) == (DONE, True)
    assert jobs(acme) == ["A-1", "A-2", "A-3"]


def test_it_says_what_is_lost_and_what_to_do(acme):
    acme.run("key", "create", EMPLOYER, "--label", "new")
    acme.run("key", "revoke", "1")
    acme.run("employer", "add", "Late Ltd.")
    feed_file(acme, ["A-1", "A-2", "A-3"])
    shown = acme.run("restore", acme.base / "copy.db")
    assert "1 change of jobs by runs" in shown.out
    assert "Late Ltd.: add it again, then its keys" in shown.out
    assert f"run 2 (acme, jobs.csv): drop a copy of {acme.done(2, 'jobs.csv')} again" in shown.out
    assert "key 2 (Acme Ltd., new): make a new one" in shown.out
    assert "key 1 (Acme Ltd.), which was revoked, is valid again: syncd key revoke 1" in shown.out
    lost = acme.run("restore", acme.base / "copy.db", "--json").json["lost"]
    assert lost["employers"] == ["Late Ltd."]
    assert lost["changes"] == {"run": 1}
    assert [(run["id"], run["feed"], run["file"]) for run in lost["runs"]] == [(2, "acme", "jobs.csv")]
    assert [key["id"] for key in lost["keys"]] == [2]
    assert [key["id"] for key in lost["validAgainKeys"]] == [1]
    assert lost["reopenedRuns"] == []


def test_a_run_that_was_held_in_the_backup_is_held_again(installation):
    installation.employer_with_key()
    feed_file(installation, [f"A-{number}" for number in range(10)])
    held = installation.base / "half.csv"
    held.write_text(installation.csv_text([row("A-1")]))
    assert installation.run("import", held, "--feed", "acme").code == HELD
    copy = installation.base / "copy.db"
    installation.run("backup", copy)
    assert installation.run("runs", "approve", "2").code == DONE
    shown = installation.run("restore", copy)
    assert "run 2 (acme, half.csv) is held again: decide it again" in shown.out
    assert installation.run("restore", copy, "--yes").code == DONE
    assert installation.run("runs", "approve", "2").code == DONE


def test_what_is_dropped_again_brings_the_jobs_back(acme):
    feed_file(acme, ["A-1", "A-3"])
    later = jobs(acme)
    acme.run("restore", acme.base / "copy.db", "--yes")
    again = acme.run("import", acme.done(2, "jobs.csv"), "--feed", "acme")
    assert again.code == DONE
    assert jobs(acme) == later
    assert acme.done(2, "jobs.csv").exists()


@pytest.mark.parametrize(("command", "last"), some([("restore", ["--yes"]), ("backup", [])], 1))
def test_a_kill_in_the_last_step_leaves_what_was_there(acme, command, last):
    """The process dies in the place of the rename that makes the new file the one that counts."""
    copy = acme.base / "copy.db"
    feed_file(acme, ["A-1", "A-2", "A-3"])
    before, backed_up = rows(store_of(acme)), copy.read_bytes()
    script = (
        "import os, pathlib, sys; from syncd.cli import main; pathlib.Path.replace = lambda *names: os._exit(9)\n"
        "main(sys.argv[1:])"
    )
    arguments = ["--config", str(acme.config), command, str(copy), *last]
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, check=False)
    assert done.returncode == 9
    assert copy.read_bytes() == backed_up
    assert rows(store_of(acme)) == before
    assert acme.run("restore", copy, "--yes").code == DONE
    assert jobs(acme) == ["A-1", "A-2"]


def test_the_store_may_be_a_link(acme):
    store, place = store_of(acme), acme.base / "disk"
    place.mkdir(0o700)
    store.rename(place / "real.db")
    store.symlink_to(place / "real.db")
    assert acme.run("restore", acme.base / "copy.db", "--yes").code == DONE
    assert store.is_symlink()
    assert len(list(place.glob("real.db.before-restore-*"))) == 1
    assert jobs(acme) == ["A-1", "A-2"]
