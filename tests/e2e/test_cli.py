"""The command line: output, exit codes, and mistakes, each of which is one line that says what to do."""

import os
import re
import shutil
import signal
from pathlib import Path
from typing import get_args
from zoneinfo import ZoneInfo

import pytest

import syncd
from syncd.cli.app import app
from syncd.cli.options import State
from syncd.domain import RunState
from syncd.store import Store
from tests.amounts import some
from tests.e2e.conftest import let_all_users_reach, row, with_umask


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("serv", 2, "No such command 'serv'; did you mean `syncd serve`?; see `syncd --help`"),
        ("migrate", 2, "No such command 'migrate'; known: demo, init, serve"),
        (
            "runs foo",
            2,
            "No such command 'foo'; known: list, show, approve, rekey, reject, revert, again; see `syncd runs --help`",
        ),
        ("run accept 3", 2, "did you mean `syncd run approve`?"),
        ("approve 3", 2, "did you mean `syncd runs approve`?"),
        ("list feeds", 2, "did you mean `syncd feed list`?"),
        ("show 3", 2, "did you mean `syncd feed show` or `syncd runs show` or `syncd jobs show`?"),
        ("key delete 3", 2, "did you mean `syncd key revoke`?"),
        ("feed create x", 2, "did you mean `syncd feed new`?"),
        ("runs --bogus", 2, "No such option: --bogus"),
        ("plan", 2, "Missing argument 'FILE|URL'; see `syncd plan --help`"),
        (
            "plan x.csv",
            2,
            "the feed is missing: FILE FEED, or FILE --feed FEED; feeds: acme; see `syncd plan --help`",
        ),
        ("import acme", 2, "the file is missing: FILE FEED"),
        ("plan x.csv acme --feed acme", 2, "the feed is named twice"),
        ("plan x.csv --feed acme --what", 2, "No such option: --what"),
        (
            "runs show many",
            2,
            "'N': must be a whole number from 1 to 9223372036854775807, not \"many\"; see `syncd runs show --help`",
        ),
        ("runs show 0", 2, "see `syncd runs show --help`"),
        ("runs show 99", 1, "no run 99"),
        ("runs approve 99", 1, "no run 99"),
        ("runs reject 99", 1, "no run 99"),
        ("employer add", 2, "Missing argument 'NAME'"),
        ("employer add X --plan golden", 2, "'golden' is not one of 'unlimited', 'standard'"),
        ("employer add Acme\\ Ltd.", 1, "employer 1 already has the name 'Acme Ltd.'"),
        ("employer add \\ ", 1, "an employer needs a name"),
        ("employer add \udcffcme", 1, "the argument '\\udcffcme' is not UTF-8"),
        ("employer rename 1 \udcff", 1, "is not UTF-8"),
        ("key create Acme", 1, "no employer 'Acme'; did you mean 'Acme Ltd.'?"),
        ("key create 1 --expires soon", 2, "must be a duration such as 2s, 10m, 12h or 7d"),
        ("key create 1 --expires 0s", 2, "must be more than 0"),
        ("key revoke 9", 1, "no key 9"),
        ("key revoke 99999999999999999999", 2, "must be a whole number from 1 to 9223372036854775807"),
        ("key rotate 9", 1, "no key 9"),
        ("key rotate 0", 2, "must be a whole number from 1 to"),
        ("key rotate 1 --grace soon", 2, "must be a duration such as"),
        ("key rotate 1 --expires 0s", 2, "must be more than 0"),
        ("key create 99999999999999999999", 1, "no employer"),
        ("export --employer 9 --format csv", 1, "no employer '9'"),
        ("export --employer 1 --format pdf", 2, "is not one of"),
        ("export --employer 1 --format csv --json", 2, "name the file with -o"),
        ("export --employer 1 --format xml --spreadsheet", 2, "--spreadsheet is for --format csv, not xml"),
        (
            "export --employer 1 --format csv -o /nowhere/at/all.csv",
            1,
            "syncd: /nowhere/at/all.csv: No such file or directory",
        ),
        ("runs --feed acne", 1, "did you mean acme?"),
        ("jobs --employer 7", 1, "no employer '7'"),
        ("jobs --employer 1 --status open", 2, "is not one of 'active', 'archived', 'draft'"),
        ("plan none.csv --feed acme", 1, "none.csv: No such file or directory"),
        ("import none.csv --feed acme", 1, "none.csv: No such file or directory"),
        ("import . --feed acme", 1, "Is a directory"),
        ("plan none.csv --feed acne", 1, "no feed 'acne'; did you mean acme?"),
        ("import none.csv --feed other", 1, "no feed 'other'; known: acme"),
        ("--config none.toml runs", 1, "none.toml: no such file (named by --config)"),
        ("runs --config none.toml", 1, "none.toml: no such file (named by --config)"),
        (
            "demo --port 99999",
            2,
            'must be a whole number from 1 to 65535, not "99999"; see `syncd demo --help`',
        ),
        ("feed new a/b --from jobs.csv", 1, "a feed's name is letters"),
        ("feed new ACME --from jobs.csv", 1, "more than case"),
        ("feed new x --from none.csv", 1, "No such file"),
        ("feed new x --from page.csv", 1, "this is an HTML page, not a feed"),
        ("feed new x --from jobs.csv --employer Acne", 1, "no employer 'Acne'"),
        ("feed new x", 2, "give --from FILE, or --group G"),
        ("feed check none jobs.csv", 1, "no feed 'none'; known: acme"),
        ("feed check acme page.csv", 1, "this is an HTML page, not a feed"),
        ("feed check acme", 2, "the file is missing"),
        ("feed show acmee", 1, "no feed 'acmee'; did you mean acme?"),
        ("feed pause acne", 1, "did you mean acme?"),
        ("feed resume acne", 1, "did you mean acme?"),
        ("feed resume acme", 1, "feed acme is not paused"),
        ("runs again 99", 1, "no run 99"),
    ],
)
def test_a_mistake_is_one_line_and_an_exit_code(acme, monkeypatch, line, code, words):
    monkeypatch.chdir(acme.base)
    Path("page.csv").write_text("<!doctype html><html></html>")
    acme.file("jobs.csv", [row("A-1")])
    arguments = [part.replace("\0", " ") for part in line.replace("\\ ", "\0").split(" ")]
    result = acme.cli(*arguments) if "none.toml" in line else acme.run(*arguments)
    assert words in result.err
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith("syncd: ")
    assert result.err.count("\n") == 1
    assert [path.name for path in acme.feeds.iterdir()] == ["acme.toml"]


@pytest.mark.parametrize(
    ("line", "same"),
    [
        ("runs", "runs list"),
        ("runs", "run list"),
        ("runs --limit 1 --json", "run list --limit 1 --json"),
        ("feeds", "feed list"),
        ("keys --json", "key list --json"),
        ("employers", "employer list"),
        ("jobs", "job list"),
        ("jobs -q A-1 --status active", "jobs list -q A-1 --status active"),
        ("jobs", "jobs --employer 1"),
        ("run show 1", "runs show 1"),
        ("plan jobs.csv acme", "plan jobs.csv --feed acme"),
        ("plan acme jobs.csv", "plan jobs.csv --feed acme"),
        ("feed check jobs.csv acme", "feed check acme jobs.csv"),
        ("feed check jobs.csv --feed acme", "feeds check acme jobs.csv"),
        ("export --format csv", "export --format csv --employer 1"),
    ],
)
def test_a_command_is_a_thing_and_a_verb_and_a_plural_lists(acme, monkeypatch, line, same):
    monkeypatch.chdir(acme.base)
    acme.file("jobs.csv", [row("A-1")])
    assert acme.run("import", "acme", "jobs.csv").code == 0
    one, other = acme.run(*line.split()), acme.run(*same.split())
    assert (one.code, one.out, one.err) == (other.code, other.out, other.err)
    assert (one.code, bool(one.out or one.err)) == (0, True)


def test_times_are_in_the_zone_of_the_service_with_its_name_and_utc_in_json(acme, monkeypatch):
    monkeypatch.setenv("TZ", "America/Vancouver")
    acme.config.write_text('timezone = "Asia/Tokyo"\n' + acme.config.read_text())
    acme.run("key", "create", "1")
    acme.file("jobs.csv", [row("A-1")])
    acme.run("import", str(acme.base / "jobs.csv"), "acme")
    time = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d JST"
    for line in ("runs", "feeds", "keys"):
        assert re.search(time + r"$|" + time + " ", acme.run(line).out), line
    assert len(re.findall(time, acme.run("run", "show", "1").out)) == 2
    assert acme.run("runs", "--json").json[0]["claimedAt"].endswith("Z")


def test_the_mapping_of_a_feed_is_a_preset_its_file_or_none(acme):
    acme.feed("mapped", 'employer = "Acme Ltd."\n[fields]\nreferenceId = "id"\n')
    acme.feed("board", 'employer = "Acme Ltd."\npreset = "indeed"\n')
    listed = [line.split("  ") for line in acme.run("feeds").out.splitlines()]
    mappings = [[cell.strip() for cell in line if cell][3] for line in listed]
    assert mappings == ["mapping", "none", "indeed", "mapped.toml"]


def test_of_several_employers_one_has_to_be_named(acme):
    assert acme.run("employer", "add", "Beta").code == 0
    for line in (["jobs"], ["export", "--format", "csv"]):
        refused = acme.run(*line)
        assert (
            refused.err
            == "syncd: there are 2 employers (Acme Ltd., Beta): say with --employer whose jobs are meant\n"
        )
        assert refused.code == 1


def test_the_jobs_of_a_feed_are_those_that_it_owns(acme):
    assert acme.run("employer", "add", "Beta").code == 0
    acme.feed("beta", 'employer = "Beta"\n[fields]\nreferenceId = "id"\n')
    acme.feed("other", (acme.feeds / "acme.toml").read_text())
    for feed in ("acme", "other"):
        acme.file(f"{feed}.csv", [row(f"{feed}-1")])
        assert acme.run("import", str(acme.base / f"{feed}.csv"), feed).code == 0

    def references(*line):
        return [job["referenceId"] for job in acme.run("jobs", "--json", *line).json]

    assert references("--feed", "acme") == ["acme-1"]
    assert references("--feed", "other", "--employer", "Acme Ltd.") == ["other-1"]
    assert references("--feed", "acme", "--employer", "Beta") == references("--feed", "beta") == []
    assert (
        references("--feed", "acme", "-q", "other") == references("--feed", "acme", "--status", "draft") == []
    )
    unknown = acme.run("jobs", "--feed", "acne")
    assert (unknown.code, unknown.err) == (1, "syncd: no feed 'acne'; did you mean acme?\n")


def test_every_fault_of_the_settings_has_a_line(installation):
    installation.settings('settel = "2s"\n[sync]\ngrace = 0\n')
    result = installation.run("runs")
    assert result.code == 1
    assert len(result.err.splitlines()) == 2
    assert "did you mean drop.settle?" in result.err


def test_a_fault_of_the_program_is_one_line_too(acme, monkeypatch):
    monkeypatch.setattr("syncd.store.transactions.Readers.read", lambda self, fn: 1 / 0)
    result = acme.run("employer", "list")
    assert result.code == 1
    assert re.fullmatch(
        r"syncd: this is a fault of syncd itself, .*ZeroDivisionError.* at \w+\.py:\d+\n", result.err
    )


def test_without_a_command_the_help_is_printed(cli):
    assert cli().code == 2
    assert "Commands:" in cli().out
    assert cli("key").out.startswith("Usage: syncd key")
    assert cli("--version").out.startswith("syncd ")


def test_every_command_has_help_in_words(cli):
    commands = re.findall(r"^  (\w+)  ", cli("--help").out.partition("Commands:")[2], re.MULTILINE)
    assert len(commands) >= 10
    for name in commands:
        shown = cli(name, "--help")
        assert shown.code == 0
        assert f"Usage: syncd {name}" in shown.out
    assert app.registered_commands


def test_the_key_alone_is_on_standard_output(acme):
    created = acme.run("key", "create", "Acme Ltd.", "--label", "board", "--expires", "90d")
    assert re.fullmatch(r"syncd_[\w-]{43}\n", created.out)
    assert created.err == ""
    listed = acme.run("key", "list", "--json").json
    assert [key["label"] for key in listed] == ["", "board"]
    assert listed[1]["expiresAt"].endswith("Z")
    assert created.out.strip() not in acme.run("key", "list").out
    assert acme.run("key", "revoke", "2").out == "key 2 of Acme Ltd. is revoked\n"
    assert "revoked" in acme.run("key", "list").out
    assert "key 2 is revoked; make a new one: syncd key create" in acme.run("key", "rotate", "2").err


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_init_makes_an_installation_that_is_ready(cli, tmp_path, monkeypatch, umask):
    home = tmp_path / "my place"
    with with_umask(umask):
        _make_installation(cli, home)
    for table in ("API", "OPERATOR"):  # other tests, such as that of the demo, use the ports of the settings
        monkeypatch.setenv(f"SYNCD_{table}__LISTEN", "127.0.0.1:0")
    checked = cli("--config", str(home / "config" / "syncd.toml"), "check")
    assert (checked.err, "all good" in checked.out) == ("", True)

    again = cli("init", str(home))
    assert (again.code, again.err) == (1, f"syncd: {home}/config/syncd.toml exists; nothing was written\n")
    (tmp_path / "file").touch()
    assert cli("init", str(tmp_path / "file")).code == 1
    monkeypatch.chdir(tmp_path)
    assert cli("init", "here", "--json").json == {
        "config": f"{tmp_path}/here/config/syncd.toml",
        "feeds": f"{tmp_path}/here/config/feeds.d",
        "drop": f"{tmp_path}/here/feeds/drop",
    }


def _make_installation(cli, home):
    found = cli("init", str(home))
    assert (found.code, found.err) == (0, "")
    assert f"export SYNCD_CONFIG='{home}/config/syncd.toml'" in found.out
    shipped = Path(syncd.__file__).parents[1] / "config"
    names = [path.relative_to(shipped) for path in shipped.rglob("*") if path.is_file()]
    assert len(names) > 2
    assert all((home / "config" / name).read_bytes() == (shipped / name).read_bytes() for name in names)
    config = ("--config", str(home / "config" / "syncd.toml"))
    assert cli(*config, "employer", "add", "Acme Ltd.").code == 0
    sample = shipped.parent / "feeds" / "samples" / "northern.csv"
    assert cli(*config, "feed", "new", "acme", "--from", str(sample)).code == 0
    assert (home / "feeds" / "drop").is_dir()


def test_init_goes_on_where_it_was_killed_and_leaves_other_files_alone(cli, tmp_path):
    home = tmp_path / "home"
    assert cli("init", home).code == 0
    settings, *examples = sorted(
        (home / "config").rglob("*.*ml*"), key=lambda path: path.name != "syncd.toml"
    )
    shipped = settings.read_bytes()
    examples[0].write_text("# mine\n")
    for path in (settings, *examples[1:]):
        path.unlink()
    shutil.rmtree(home / "feeds")
    assert cli("init", home).code == 0
    assert (settings.read_bytes(), examples[0].read_text()) == (shipped, "# mine\n")
    assert all(path.exists() for path in (*examples, home / "feeds" / "drop"))


@pytest.mark.parametrize("command", [("init",), ("backup",), ("restore",), ("backup", "--keep", "2")])
def test_an_empty_path_is_a_usage_error(acme, monkeypatch, command):
    monkeypatch.chdir(acme.base)
    before = sorted(acme.base.rglob("*"))
    refused = acme.run(*command, "")
    assert (refused.code, refused.out) == (2, "")
    assert "the path is empty" in refused.err
    assert sorted(acme.base.rglob("*")) == before


def test_an_employer_gets_another_name_and_the_feeds_that_have_the_old_one_are_named(acme):
    acme.feed("second")
    acme.feed("other", 'employer = "1"\n')
    acme.run("employer", "add", "Zeta")
    assert "employer 2 already has the name 'Zeta'" in acme.run("employer", "rename", "1", "Zeta").err
    assert "an employer needs a name" in acme.run("employer", "rename", "1", " ").err
    assert "no employer 'Acme'" in acme.run("employer", "rename", "Acme", "Y").err
    found = acme.run("employer", "rename", "Acme Ltd.", " Acme   Inc. ")
    assert (found.code, found.out) == (0, "employer 1: Acme Inc., before: Acme Ltd.\n")
    assert found.err == 'syncd: write employer = "Acme Inc." in acme.toml, second.toml, then: syncd reload\n'
    again = acme.run("employer", "rename", "1", "Acme Inc.", "--json")
    assert (again.json, again.err) == ({"id": 1, "name": "Acme Inc.", "plan": "unlimited"}, "")


def test_runs_are_listed_by_state(acme):
    good, bad = acme.base / "good.csv", acme.base / "bad.csv"
    good.write_text(acme.csv_text([row("A-1")]))
    bad.write_bytes(b"%PDF")
    assert [acme.run("import", str(file), "--feed", "acme").code for file in (good, bad)] == [0, 1]
    assert [run["state"] for run in acme.run("runs", "--json").json] == ["failed", "succeeded"]
    assert [run["file"] for run in acme.run("runs", "--state", "failed", "--json").json] == ["bad.csv"]
    both = acme.run("runs", "--state", "succeeded", "--feed", "acme", "--json").json
    assert [run["file"] for run in both] == ["good.csv"]
    assert "no run is held" in acme.run("runs", "--state", "held").err
    assert acme.run("runs", "--state", "green").code == 2
    (acme.feeds / "acme.toml").unlink()  # its runs are still there
    none = acme.run("runs", "--state", "held", "--feed", "acme")
    assert (none.code, none.err) == (0, "no run of acme is held\n")


def test_every_state_of_a_run_can_be_asked_for():
    assert set(get_args(get_args(get_args(State)[0])[0])) == {state.value for state in RunState}


def test_a_plan_shows_what_an_import_then_does(acme, make_row):
    path = acme.file("jobs.csv", [make_row("A-1"), make_row("A-2", title="")])
    planned = acme.run("plan", path, "--feed", "acme", "--exit-code")
    assert planned.code == 4
    assert "+ A-1 created" in planned.out
    assert "rejected rows: 1\n  record 2, line 3 (A-2): /title required: " in planned.out
    assert acme.run("runs", "--json").json == []

    imported = acme.run("import", path, "--feed", "acme")
    assert imported.code == 0
    assert "partial; 2 read (1 created, 1 rejected)" in imported.out
    assert imported.err.count("\n") == 1
    assert path.exists()
    assert acme.done(1, "jobs.csv").exists()
    again = acme.run("plan", path, "--feed", "acme", "--exit-code")
    assert again.code == 0
    nothing = acme.run("import", acme.file("none.csv", [make_row("A-1", title="")]), "--feed", "acme")
    assert (nothing.code, "no row went in: 1 read (1 rejected)" in nothing.err) == (1, True)

    acme.deliver("two.csv", [make_row("A-1", title="Rigger")])
    shown = acme.run("runs", "show", "3", "--json").json
    assert shown["format"] == "syncd.report/1"
    title = {"title": {"before": "Welder", "after": "Rigger"}}
    assert shown["changes"] == [{"action": "updated", "referenceId": "A-1", "jobId": 1, "fields": title}]
    assert (
        "  ~ A-1 (job 1) updated: Rigger\n      title: Welder → Rigger\n" in acme.run("runs", "show", "3").out
    )


def test_a_plan_prints_warnings_what_is_withheld_and_what_would_be_archived(acme, make_row):
    acme.deliver("jobs.csv", [make_row(f"A-{n}") for n in range(1, 9)])
    rows = [*(make_row(f"A-{n}") for n in range(1, 8)), make_row("A-1", title="Rigger")]
    path = acme.file("two.csv", rows)
    planned = acme.run("plan", path, "--feed", "acme")
    assert planned.code == 0
    warned = "record 8 has the referenceId 'A-1', too: the last valid one counts"
    listed = rf"\nwarnings: 1\n  1 × +duplicate_reference  {warned}\n +record 1\n$"
    assert re.search(listed, planned.out)
    assert "  ~ A-1 (job 1) updated: Rigger\n" in planned.out
    assert "8 read (1 updated, 6 unchanged, 1 replaced, 1 archived)" in planned.out
    shown = acme.run("plan", path, "--feed", "acme", "--json", "--exit-code")
    assert shown.code == 4
    assert (shown.json["counts"]["archived"], shown.json["counts"]["missing"]) == (1, 1)
    assert [warning["code"] for warning in shown.json["warnings"]] == ["duplicate_reference"]
    assert [change["title"] for change in shown.json["changes"]] == ["Rigger", "Welder"]
    assert (shown.json["unknownValues"], shown.json["lookupToml"]) == ({}, "")
    assert re.search(listed, acme.run("import", path, "acme").out), "what an import prints"
    short = acme.base / "short.json"
    short.write_text('{"total": 9, "jobs": []}')
    acme.feed("short", 'employer = "Acme Ltd."\n[read]\nrecords = "jobs"\n')
    planned = acme.run("plan", short, "--feed", "short", "--exit-code")
    assert planned.code == 0
    withheld = "this run would archive nothing: the file says that it has 9 records, but 0 were found"
    assert withheld in planned.out


def test_the_exit_codes_of_a_plan_tell_changes_faults_and_a_wrong_command_line_apart(acme, make_row):
    path = acme.file("jobs.csv", [make_row("A-1")])
    for line, code in (
        ("acme", 0),
        ("acme --exit-code", 4),
        ("acme --exit-cod", 2),
        ("nobody --exit-code", 1),
    ):
        assert acme.run("plan", path, "--feed", *line.split()).code == code
    path.write_text("")
    assert acme.run("plan", path, "--feed", "acme", "--exit-code").code == 1
    assert "4 with plan --exit-code" in " ".join(acme.run("--help").out.split())


def test_a_held_import_exits_3_and_waits_for_a_decision(acme, make_row):
    rows = [make_row(f"A-{n}") for n in range(10)]
    acme.deliver("all.csv", rows)
    held = acme.deliver("few.csv", rows[:2])
    assert held.code == 3
    assert "syncd runs approve 2" in held.err
    shown = acme.run("runs", "show", "2").out
    assert "held: archive" in shown
    assert "2 read (2 unchanged, 8 missing); would be: 8 archived" in shown
    acme.feed("acme", 'employer = "Acme Ltd."\nrenew = false\n')
    again = acme.run("runs", "approve", "2")
    assert (again.code, "the feed's rows are read another way since this was shown" in again.out) == (3, True)
    approved = acme.run("runs", "approve", "2")
    assert (approved.code, "would be:" in acme.run("runs", "show", "2").out) == (0, False)
    assert len(acme.run("jobs", "--employer", "1", "--status", "archived", "--json").json) == 8
    twice = acme.run("runs", "approve", "2")
    assert (twice.code, twice.err.count("\n")) == (1, 1)


def test_a_held_run_and_its_plan_show_the_jobs_that_would_be_archived(acme, make_row):
    rows = [make_row(f"A-{n:02}", title=f"Welder {n}") for n in range(30)]
    acme.deliver("all.csv", rows)
    few = acme.file("few.csv", rows[:3])
    planned = acme.run("plan", few, "--feed", "acme")
    assert "- A-03 (job 4) archived: Welder 3" in planned.out
    assert "the archiving of this run would be held: " in planned.out
    would = acme.run("plan", few, "--feed", "acme", "--json").json["wouldArchive"]
    assert would["total"] == len(would["jobs"]) == 27
    assert would["jobs"][0] == {"referenceId": "A-03", "title": "Welder 3", "jobId": 4, "why": "missing"}
    acme.run("import", few, "--feed", "acme")
    assert acme.run("runs", "show", "2", "--json").json["wouldArchive"] == would
    shown = acme.run("runs", "show", "2").out
    assert "would be archived: 27" in shown
    assert "  - A-03 (job 4) archived: Welder 3\n" in shown
    assert "… and 7 more: --json has them" in shown
    assert "A-23" not in shown


def test_a_plan_shows_the_jobs_to_archive_however_long_the_list_of_changes_is(acme, make_row):
    rows = [make_row(f"A-{n:03}") for n in range(250)]
    acme.deliver("all.csv", rows)
    changed = [make_row(f"A-{n:03}", title="Rigger") for n in range(249)]
    out = acme.run("plan", acme.file("new.csv", changed), "--feed", "acme").out
    assert "… and 49 more" in out
    assert "- A-249 (job 250) archived" in out


def test_an_unusable_file_fails_in_one_line(acme):
    path = acme.base / "page.csv"
    path.write_text("<!DOCTYPE html><html><body>Sorry</body></html>")
    failed = acme.run("import", path, "--feed", "acme")
    assert failed.code == 1
    assert failed.err.count("\n") == 1
    assert "run 1 failed: not_a_feed" in failed.err
    planned = acme.run("plan", path, "--feed", "acme")
    assert planned.code == 1
    assert planned.err.startswith(f"syncd: {path}: ")


def test_jobs_are_listed_over_all_pages(acme, make_row):
    rows = [make_row(f"A-{n:03}", title="Rigger" if n % 2 else "Welder") for n in range(230)]
    acme.deliver("all.csv", rows)
    found = acme.run("jobs", "--employer", "Acme Ltd.", "--json").json
    assert len({job["referenceId"] for job in found}) == 230
    assert len(acme.run("jobs", "--employer", "1", "-q", "rigger", "--json").json) == 115
    assert found[0]["employer"] == {"id": 1, "name": "Acme Ltd."}


def test_values_of_a_feed_cannot_control_the_terminal(acme, make_row):
    acme.deliver("\x1b]0;x\x07.csv", [make_row("A-1")])
    for command in (["runs"], ["runs", "show", "1"], ["feed", "list"]):
        assert "\x1b" not in acme.run(*command).out


def test_check_reports_everything_at_once(acme):
    assert acme.run("check").out == f"all good: {acme.config}\n"
    acme.feed("typo", 'employer = "Nobody"\nmodus = "delta"\n')
    acme.feed("orphan", 'employer = "Nobody"\n')
    acme.feed("blind", 'employer = "Acme Ltd."\n[fields]\ntitle = "job"\n')
    for name in ("b.tml", "c.TOML", "README.md", "d.toml.example"):
        (acme.feeds / name).write_text("")
    acme.drop_folder.parent.mkdir(exist_ok=True)
    if acme.drop_folder.exists():
        acme.drop_folder.rmdir()
    acme.drop_folder.write_text("no folder")
    result = acme.run("check", "--json")
    assert result.code == 1
    text = "\n".join(result.json["faults"])
    assert "drop.folder" in text
    assert "typo.toml" in text
    assert "blind.toml: fields.referenceId: is missing: without it every record is rejected" in text
    unread = [
        f"{acme.feeds / name}: it is not read: the file of a feed ends in .toml"
        for name in ("b.tml", "c.TOML")
    ]
    assert result.json["remarks"] == unread
    (acme.feeds / "typo.toml").unlink()
    assert "no employer 'Nobody'; add it" in "\n".join(acme.run("check", "--json").json["faults"])


@pytest.mark.parametrize("line", ["plan FILE --feed acme", "feed check acme FILE", "import FILE --feed acme"])
def test_a_command_does_not_wait_for_a_fifo(acme, tmp_path, line):
    os.mkfifo(tmp_path / "jobs.csv")
    result = acme.run(*line.replace("FILE", str(tmp_path / "jobs.csv")).split(" "))
    assert (result.code, "a FIFO" in result.err) == (1, True), result.err


def test_check_looks_at_feed_files_though_the_settings_are_wrong(acme):
    acme.feed("typo", 'employer = "Acme Ltd."\nmodus = "delta"\n')
    acme.config.write_text('[api]\nlissen = "x"\n')
    found = "\n".join(acme.run("check", "--json").json["faults"])
    assert "api.lissen" in found
    assert "typo.toml: modus" in found
    assert "no employer" not in found
    acme.feed("typo", 'employer = "Nobody"\n')
    assert "typo.toml: employer: no employer 'Nobody'" in acme.run("check").err
    for unsure in ('[store]\nurl = "x"\n', "[api\n"):  # the store may be another one
        acme.config.write_text(unsure)
        assert "no employer" not in acme.run("check").err


@pytest.mark.parametrize(
    ("setting", "value", "fault"),
    [
        ("DROP__FOLDER", "/", "is the root of the file system"),
        ("DROP__FOLDER", "/proc/drop", "it cannot be made: /proc: No such file or directory"),
        ("STORE__URL", "sqlite:////tmp", "/tmp: is not a file"),
        ("OPERATOR__TOKEN_FILE", "/dev/null", "it is a device, not a file"),
    ],
)
def test_check_does_not_advise_to_change_the_rights_of_what_is_not_syncds(
    acme, monkeypatch, setting, value, fault
):
    monkeypatch.setenv(f"SYNCD_{setting}", value)
    result = acme.run("check")
    assert (result.code, "chmod" in result.err) == (1, False), result.err
    assert fault in result.err


def test_a_closed_pipe_is_not_an_error(acme):
    done = acme.process("employer", "list", shell='{ "$@"; echo $? >&2; } | true')
    assert done.stderr == "0\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_copy_by_root_belongs_to_the_owner_of_its_folder(acme):
    from syncd.cli.store import copy_store

    let_all_users_reach(acme.base)
    source, copy = acme.base / "var" / "syncd.db", acme.base / "var" / "copy.db"
    addresses = f"sqlite:///{source}", f"sqlite:///{copy}"
    copy_store(*addresses, as_json=True)  # imports what the other user may not be able to read
    for path in (copy, copy.with_name("copy.db.lock"), source.with_name("syncd.db.lock")):
        path.unlink()
    Store.open(addresses[1], timezone=ZoneInfo("America/Toronto")).close()
    for path in (acme.base / "var", *(acme.base / "var").iterdir()):
        os.chown(path, 65534, 65534)
    pid = os.fork()
    if pid == 0:
        try:
            copy_store(*addresses, as_json=True)
            os._exit(0)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert {path.name: path.stat().st_uid for path in (acme.base / "var").iterdir()} == dict.fromkeys(
        ["syncd.db", "syncd.db.lock", "copy.db", "copy.db.lock"], 65534
    )


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda base: (base / "feeds").write_text("x"),
         "drop.folder: {base}/feeds/drop: it, or something above it, is not a folder"),
        (lambda base: (base / "var").write_text("x"), "store.url: {base}/var: it, or something above it, is not a folder"),
        (lambda base: (base / "var").mkdir()
         or ((base / "var" / "syncd.db").write_text("no database" * 999), (base / "var" / "syncd.db").chmod(0o600)),
         "store.url: {base}/var/syncd.db: the store is damaged or is not a store (file is not a database); stop syncd"),
        (lambda base: (base / "config/feeds.d/b.toml").write_text("employer ="), "b.toml: is not TOML: "),
        (lambda base: ((base / "config/feeds.d").rmdir(), (base / "config/feeds.d").write_text("x")),
         "{base}/config/feeds.d: cannot be read: Not a directory"),
    ],
    ids=["drop folder", "store's folder", "store", "feed", "folder of feeds"],
)  # fmt: skip
def test_check_names_each_obstacle(installation, spoil, words):
    (installation.feeds / "acme.toml").unlink()
    spoil(installation.base)
    result = installation.run("check")
    (line,) = result.err.splitlines()
    assert line.startswith("syncd: " + words.format(base=installation.base))
    assert (result.code, result.out) == (1, "")


def test_serve_does_not_start_without_a_drop_folder(installation):
    (installation.feeds / "acme.toml").unlink()
    (installation.base / "feeds").write_text("x")
    result = installation.run("serve")
    assert result.code == 78
    assert result.err.splitlines() == [
        f"syncd: drop.folder: {installation.drop_folder}: it is not a folder; choose another place or see `syncd check`"
    ]


def test_a_reload_during_the_start_does_not_end_the_daemon(installation):
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a process that `nohup` starts ignores it
    try:
        installation.settings("nonsense = 1\n")
        assert installation.run("serve").code == 78
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_check_creates_nothing(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for address in ("API", "OPERATOR"):  # another program may use the ports of the defaults
        monkeypatch.setenv(f"SYNCD_{address}__LISTEN", "127.0.0.1:0")
    result = cli("check")
    assert (result.code, result.out) == (0, "all good: no settings file, all defaults\n")
    assert result.err == (
        f"syncd: there is no store at {tmp_path}/var/syncd.db yet; `syncd serve` and `syncd employer add` make one\n"
    )
    remarks = [result.err.removeprefix("syncd: ").rstrip()]
    assert cli("check", "--json").json == {"ok": True, "faults": [], "remarks": remarks}
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_checked_and_feeds_are_listed_without_a_store_and_none_is_made(installation, make_row):
    result = installation.run("feed", "check", "acme", installation.file("jobs.csv", [make_row("A-1")]))
    assert (result.code, "1 record: 1 would go in" in result.out) == (0, True)
    (listed,) = installation.run("feed", "list", "--json").json
    assert (listed["name"], listed["state"], listed["lastRun"]) == ("acme", "degraded", None)
    assert "no employer 'Acme Ltd.'" in listed["reason"]
    assert not (installation.base / "var").exists()


@pytest.mark.parametrize("redirection", some([">&-", ">&- 2>&-", "2>&-", "<&-"], 1))
def test_a_closed_stream_is_no_fault(acme, redirection):
    for arguments in (("employer", "list"), ("employer", "list", "--json"), ("--help",)):
        result = acme.process(*arguments, shell=f'"$@" {redirection}')
        assert (result.returncode, result.stderr) == (0, "")
    line = ("import", acme.file("a.csv", [row("a")]), "--feed", "acme")
    result = acme.process(*line, shell=f'"$@" {redirection}')
    assert result.returncode == 0
    assert "fault" not in result.stderr


def test_a_character_that_the_output_cannot_have_is_an_escape(acme):
    acme.run("employer", "rename", "Acme Ltd.", "Acmé 🏗")
    assert "Acmé 🏗" in acme.process("employer", "list").stdout
    result = acme.process("employer", "list", shell='PYTHONIOENCODING=ascii "$@"')
    assert "Acm\\xe9 \\U0001f3d7" in result.stdout


@pytest.mark.parametrize("flags", some([((),), (("--json",),)], 1))
def test_a_key_that_cannot_be_printed_is_named_so_that_it_can_be_revoked(acme, flags):
    result = acme.process("key", "create", "Acme Ltd.", *flags, shell='"$@" > /dev/full')
    assert result.returncode == 1
    assert re.fullmatch(r"syncd: key 2 was made, but .* revoke it: syncd key revoke 2\n", result.stderr)
