"""Partners are strangers to each other: the rights of folders, of the store and of secrets, and who names what is too open."""

import grp
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import syncd
from tests.amounts import some
from tests.e2e.conftest import let_all_users_reach, wait_until, with_umask

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who gives folders to groups")
#: The user and the first group of the daemon where root is another one.
DAEMON = 65534
PARTNERS = grp.getgrnam("users")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def folder(installation):
    return installation.drop_folder / "acme"


@pytest.fixture
def daemon_user(installation):
    """Give the installation to a user who is not root, and let all users get to it."""
    assert installation.run("employer", "add", "Acme Ltd.").code == 0
    let_all_users_reach(installation.base)
    installation.base.chmod(0o700)
    for place in (installation.base, *installation.base.rglob("*")):
        os.chown(place, DAEMON, DAEMON)
    return installation


# -- what the daemon makes --------------------------------------------------------------------------


@pytest.mark.parametrize("umask", some([0o000, 0o077], 1))
def test_the_daemon_makes_store_and_folders_with_their_rights_whatever_the_umask(
    installation, start, make_row, umask
):
    folder = installation.drop_folder / "acme"
    with with_umask(umask):
        installation.employer_with_key(makes_store=True)
    start(wrapper=("sh", "-c", f'umask {umask:03o} && exec "$@"', "sh"))
    installation.drop("jobs.csv", [make_row("A-1"), make_row("A-2", title="")])
    wait_until((folder / "done" / "1-jobs.csv").is_file, "the file in done/")
    var = installation.base / "var"
    assert mode(var) == 0o700
    assert {mode(path) for path in var.glob("syncd.db*") if path.is_file()} == {0o600}
    assert len(list(var.glob("syncd.db*"))) == 5, "store, write-ahead log, shared memory, lock, locks"
    assert mode(installation.drop_folder) == 0o711
    assert [mode(folder / name) for name in (".", "done", "failed", ".claimed")] == [
        0o2770,
        0o2750,
        0o2750,
        0o700,
    ]
    reports = [path for path in (folder / "done").iterdir() if path.name != "1-jobs.csv"]
    assert {path.name.removeprefix("1-jobs.csv") for path in reports} == {
        ".rejected.csv", ".report.html", ".report.json",
    }  # fmt: skip
    assert {mode(path) for path in reports} == {0o640}
    assert installation.run("check").code == 0


def test_the_daemon_keeps_the_rights_of_folders_that_it_finds(installation, start, make_row, folder):
    installation.employer_with_key()
    for name, rights in (("done", 0o750), ("failed", 0o2770), (".", 0o3770), ("..", 0o751)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name).chmod(rights)
    daemon = start()
    installation.drop("jobs.csv", [make_row("A-1")])
    daemon.wait_for_event("feed.reconciled")
    assert [mode(folder / name) for name in ("done", "failed", ".", "..")] == [0o750, 0o2770, 0o3770, 0o751]
    assert mode(folder / ".claimed") == 0o700


# -- feed new --group--------------------------------------------------------------------------------


@needs_root
def test_a_feed_s_folder_is_opened_to_one_group(daemon_user, folder):
    (folder / "done").mkdir(parents=True, mode=0o777)
    for path in (folder / "done", folder, folder.parent, folder.parent.parent):
        os.chown(path, DAEMON, DAEMON)
    report, planted = folder / "done" / "1-jobs.csv.report.html", folder / "done" / "planted"
    for path in (report, planted):
        path.write_text("")
        path.chmod(0o600)
    os.chown(report, DAEMON, DAEMON)
    result = daemon_user.run("feed", "new", "acme", "--group", "users")
    assert result.code == 0
    assert "syncd's user nobody is not in the group users" in result.err
    assert "usermod -aG users nobody" in result.err
    wanted = {
        folder.parent: (0o711, DAEMON),
        folder: (0o2770, PARTNERS.gr_gid),
        folder / "done": (0o2750, PARTNERS.gr_gid),
        folder / "failed": (0o2750, PARTNERS.gr_gid),
        folder / ".claimed": (0o700, DAEMON),
        report: (0o640, PARTNERS.gr_gid),
    }
    assert {path: (mode(path), path.stat().st_gid) for path in wanted} == wanted
    assert {path.stat().st_uid for path in wanted} == {DAEMON}
    assert (planted.stat().st_uid, planted.stat().st_gid, mode(planted)) == (0, 0, 0o600)
    assert (os.geteuid(), os.getegid()) == (0, 0)


@needs_root
def test_a_feed_s_folder_is_opened_again_and_to_another_group(daemon_user, folder):
    assert daemon_user.run("feed", "new", "acme", "--group", "users").code == 0
    shown = daemon_user.run("feed", "new", "acme", "--group", str(grp.getgrnam("games").gr_gid), "--json")
    assert shown.json == {
        "feed": "acme",
        "group": "games",
        "folders": [
            {"path": str(folder.parent), "mode": "0711", "group": None},
            {"path": str(folder), "mode": "2770", "group": "games"},
            {"path": str(folder / ".claimed"), "mode": "0700", "group": grp.getgrgid(DAEMON).gr_name},
            {"path": str(folder / "done"), "mode": "2750", "group": "games"},
            {"path": str(folder / "failed"), "mode": "2750", "group": "games"},
        ],
    }
    assert folder.stat().st_gid == grp.getgrnam("games").gr_gid


@needs_root
def test_the_daemon_leaves_a_folder_open_that_was_opened(installation, start, make_row, folder):
    installation.employer_with_key()
    assert installation.run("feed", "new", "acme", "--group", "users").code == 0
    let_all_users_reach(folder.parent.parent, 0o711)
    partner = ("setpriv", "--reuid=12345", f"--regid={PARTNERS.gr_gid}", "--clear-groups")
    (folder / "done").rmdir()
    daemon = start()
    put = f"umask 027; cat > {folder}/.x.tmp && mv {folder}/.x.tmp {folder}/jobs.csv"
    rows = installation.csv_text([make_row("A-1")]).encode()
    subprocess.run([*partner, "sh", "-c", put], input=rows, check=True, cwd="/")
    (run,) = daemon.wait_for_event("feed.reconciled")
    assert run["state"] == "succeeded"
    assert [(mode(folder / name), (folder / name).stat().st_gid) for name in (".", "done", "failed")] == [
        (0o2770, PARTNERS.gr_gid), (0o2750, PARTNERS.gr_gid), (0o2750, PARTNERS.gr_gid),
    ]  # fmt: skip
    assert mode(folder / ".claimed") == 0o700


@needs_root
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["amce", "--group", "users"], "no feed 'amce'; did you mean acme?"),
        (["acme", "--group", "userz"], "no group 'userz'; did you mean users? groupadd makes one"),
        (["acme", "--group", "99999999999999"], "no group '99999999999999'; groupadd makes one"),
        (["acme", "--group", "nogroup"], "the group nogroup is that of syncd's user"),
        (["acme", "--group", "root"], "the group root is that of syncd's user"),
    ],
)
def test_a_feed_s_folder_is_opened_to_a_group_of_its_own_only(daemon_user, folder, arguments, words):
    result = daemon_user.run("feed", "new", *arguments)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"syncd: {words}")
    assert result.err.count("\n") == 1
    assert not folder.exists()


@needs_root
def test_a_new_feed_is_drafted_and_its_folder_opened_in_one_go(daemon_user, make_row):
    path = daemon_user.base / "jobs.csv"
    path.write_text(daemon_user.csv_text([make_row("A-1")]))
    made = daemon_user.run("feed", "new", "beta", "--from", path, "--group", "users", "--json").json
    assert (made["feed"], made["group"], made["counts"]["good"]) == ("beta", "users", 1)
    assert (daemon_user.drop_folder / "beta").stat().st_gid == PARTNERS.gr_gid


@needs_root
def test_only_root_can_open_a_feed_s_folder(daemon_user, folder):
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setgid(DAEMON)
        os.setuid(DAEMON)
        result = daemon_user.run("feed", "new", "acme", "--group", "users")
        wanted = "syncd: only root can give a folder to a group: run this command as root\n"
        os._exit(0 if (result.code, result.err) == (1, wanted) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert not folder.exists()


@needs_root
@pytest.mark.parametrize("place", some(["", "done", "failed", ".claimed"], 2))
def test_root_follows_no_link_that_lies_in_place_of_a_folder(daemon_user, folder, tmp_path_factory, place):
    """The daemon's user, and in a feed's folder its partner, may put links there."""
    assert daemon_user.run("feed", "new", "acme", "--group", "users").code == 0
    private = tmp_path_factory.mktemp("private")
    private.chmod(0o700)
    target = folder / place
    target.rename(target.with_name("aside"))
    target.symlink_to(private)
    result = daemon_user.run("feed", "new", "acme", "--group", "games")
    assert (result.code, result.out) == (1, "")
    assert (
        result.err
        == f"syncd: {target} is a symbolic link, not a folder: remove it, and syncd makes the folder\n"
    )
    assert (mode(private), private.stat().st_gid, list(private.iterdir())) == (0o700, 0, [])


@needs_root
@pytest.mark.parametrize("place", ["", "done"])
def test_root_changes_no_folder_of_another_user(daemon_user, folder, place):
    assert daemon_user.run("feed", "new", "acme", "--group", "users").code == 0
    os.chown(folder / place, 12345, -1)
    (folder / place).chmod(0o777)
    result = daemon_user.run("feed", "new", "acme", "--group", "games")
    assert result.code == 1
    assert f"{folder / place} belongs to the user 12345, not to syncd's user {DAEMON}: chown" in result.err
    assert (mode(folder / place), (folder / place).stat().st_gid) == (0o777, PARTNERS.gr_gid)


@needs_root
def test_root_gives_no_file_away_that_a_partner_linked_into_the_folder_of_reports(daemon_user, folder):
    assert daemon_user.run("feed", "new", "acme", "--group", "users").code == 0
    store = daemon_user.base / "var" / "syncd.db"
    os.link(store, folder / "done" / "1-jobs.csv.report.html")
    (folder / "done" / "2-jobs.csv.report.html").symlink_to(store)
    os.mkfifo(folder / "done" / "3-jobs.csv.report.html")
    assert daemon_user.run("feed", "new", "acme", "--group", "games").code == 0
    assert (mode(store), store.stat().st_gid) == (0o600, DAEMON)


# -- what is too open -------------------------------------------------------------------------------


@pytest.fixture
def reachable(installation, start, folder, make_row):
    """An installation that other users can get to, after a first start."""
    installation.employer_with_key()
    installation.settings('[store]\nurl = "sqlite:///var/syncd.db"\n')
    daemon = start()
    wait_until(folder.is_dir, "the folder of the feed")
    installation.drop("jobs.csv", [make_row("A-1")])
    wait_until((folder / "done" / "1-jobs.csv").is_file, "the file in done/")
    assert daemon.stop() == 0
    daemon.close()
    let_all_users_reach(folder.parent.parent)
    return installation


OPEN_PLACES = [
    ("var/syncd.db", 0o640, "store.url", "other users can read or write it", "chmod 600"),
    ("var/syncd.db", 0o602, "store.url", "other users can read or write it", "chmod 600"),
    ("var", 0o770, "store.url", "other users can exchange what lies in it", "chmod 700"),
    ("var", 0o707, "store.url", "other users can exchange what lies in it", "chmod 700"),
    (".", 0o757, "store.url", "other users can exchange what lies in it", "chmod o-w"),
    ("feeds/drop", 0o755, "drop.folder", "other users can list it or write in it", "chmod 711"),
    ("feeds/drop", 0o733, "drop.folder", "other users can list it or write in it", "chmod 711"),
    ("feeds/drop/acme", 0o2775, "drop.folder", "users outside of its group can get in", "chmod 2770"),
    ("feeds/drop/acme/.claimed", 0o710, "drop.folder", "it is for syncd's user alone", "chmod 700"),
    ("config/syncd.toml", 0o666, "settings", "other users can change it", "chmod go-w"),
    ("config/feeds.d/acme.toml", 0o646, "settings", "other users can change it", "chmod go-w"),
    ("config", 0o777, "settings", "other users can exchange what lies in it", "chmod go-w"),
    ("config/feeds.d", 0o757, "settings", "other users can exchange what lies in it", "chmod go-w"),
]  # fmt: skip


def opened_place(base, case):
    """Give a place the rights of the case. Return the line that says so, and its command."""
    place, rights, key, what, mend = case
    (base / place).chmod(rights)
    path = base / place
    return f"syncd: {key}: {path}: {what} (mode {rights:04o}): {mend} {path}\n"


@pytest.mark.parametrize(
    "case", some([(case,) for case in OPEN_PLACES], 3), ids=lambda case: f"{case[0]} {case[1]:o}"
)
def test_check_names_what_is_too_open_the_daemon_refuses_a_store_and_the_chmod_mends_it(
    reachable, start, case
):
    line = opened_place(reachable.base, case)
    result = reachable.run("check")
    assert (result.code, result.err) == (1, line)
    if case in OPEN_PLACES[:5]:
        refused = reachable.run("serve")
        assert (refused.code, refused.out, refused.err) == (78, "", line)
    subprocess.run(result.err.rpartition("): ")[2], shell=True, check=True)
    assert reachable.run("check").err == ""
    assert start().stop() == 0


def test_a_folder_with_the_sticky_bit_may_hold_the_store(reachable, start):
    (reachable.base / "var").chmod(0o1777)
    assert reachable.run("check").err == ""
    assert start().stop() == 0


@needs_root
def test_a_store_of_another_user_is_refused(reachable):
    """In a folder with the sticky bit another user may have made it first."""
    store = reachable.base / "var" / "syncd.db"
    os.chown(store, 12345, -1)
    wanted = f"store.url: {store}: belongs to the user 12345: chown 0 {store}"
    assert wanted in reachable.run("check").err
    assert reachable.run("serve").err == f"syncd: {wanted}\n"


@pytest.mark.parametrize(
    "rights",
    [
        {},
        {"feeds": 0o700, "feeds/drop": 0o755, "feeds/drop/acme": 0o755},  # it is below one that is closed
        {"config": 0o1777},  # with the sticky bit
        {"config/syncd.toml": 0o644},  # without a secret
    ],
)
def test_what_others_cannot_reach_or_exchange_is_not_too_open(reachable, rights):
    for place, mode in rights.items():
        (reachable.base / place).chmod(mode)
    assert reachable.run("check").err == ""


#: What git makes of a clone with the umask 002.
CLONED = {
    "config": 0o775,
    "config/syncd.toml": 0o664,
    "config/feeds.d": 0o775,
    "config/feeds.d/acme.toml": 0o664,
}


@needs_root
def test_settings_may_be_open_to_a_group_that_has_nobody_else(reachable):
    for place, rights in CLONED.items():
        (reachable.base / place).chmod(rights)
    assert reachable.run("check").err == ""
    for place in CLONED:
        os.chown(reachable.base / place, -1, PARTNERS.gr_gid)
    named = [line.split(": ")[2] for line in reachable.run("check").err.splitlines()]
    assert sorted(named) == sorted(str(reachable.base / place) for place in CLONED)


def test_check_names_settings_with_a_secret_that_others_can_read(reachable):
    reachable.config.chmod(0o644)
    text = reachable.config.read_text()
    reachable.config.write_text(text.replace("[operator]\n", '[operator]\ntoken = "s3cret"\n'))
    result = reachable.run("check")
    what = "it has a secret that other users can read or change (mode 0644)"
    assert result.err == f"syncd: operator.token: {reachable.config}: {what}: chmod 600 {reachable.config}\n"
    assert "s3cret" not in result.err
    reachable.config.chmod(0o600)
    assert reachable.run("check").err == ""


def test_check_names_a_token_file_that_others_can_read(reachable):
    token = reachable.base / "token"
    token.write_text("s3cret")
    token.chmod(0o604)
    text = reachable.config.read_text()
    reachable.config.write_text(text.replace("[operator]\n", '[operator]\ntoken_file = "token"\n'))
    result = reachable.run("check", "--json")
    assert json.loads(result.out)["faults"] == [
        f"operator.token_file: {token}: it has a secret that other users can read or change (mode 0604): chmod 600 {token}"
    ]


@needs_root
def test_check_names_a_group_that_the_daemon_s_user_is_not_in_and_users_in_the_daemon_s_own(
    daemon_user, folder
):
    assert daemon_user.run("feed", "new", "acme", "--group", "users").code == 0
    pid = os.fork()
    if pid == 0:
        result = daemon_user.run("check")
        wanted = (
            f"drop.folder: {folder}: syncd's user nobody is not in its group users, so partners cannot read"
        )
        mend = "usermod -aG users nobody, then restart syncd"
        os._exit(0 if wanted in result.err and mend in result.err else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@needs_root
def test_a_program_that_the_owner_of_the_store_cannot_read_is_named(daemon_user, tmp_path_factory):
    hidden = tmp_path_factory.mktemp("program")
    shutil.copytree(Path(syncd.__file__).parent, hidden / "syncd")
    hidden.chmod(0o700)
    command = [sys.executable, "-m", "syncd", "--config", daemon_user.config, "runs"]
    done = subprocess.run(command, cwd=hidden, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"syncd: the user {DAEMON}, who owns the store, cannot read /")
    assert done.stderr.endswith(": install Python and syncd where all users can read them, such as in /opt\n")
