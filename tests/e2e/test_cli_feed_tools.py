"""``syncd feed new`` and ``syncd feed check``: from an unknown file to a working feed, and every fault of a file named."""

import csv
import gzip
import io
import json
import re
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.e2e.conftest import row as make_row
from tests.feeds import spreadsheets

SAMPLES = Path(__file__).parents[2] / "feeds" / "samples"


def rows(acme, *lines):
    path = acme.base / "jobs.csv"
    out = io.StringIO(newline="")
    header = ["Ref", "Job Title", "City", "Province", "Sector", "Description", "Apply Email", "Closing Date"]
    csv.writer(out).writerows([header, *lines])
    path.write_text(out.getvalue())
    return path


def row(reference, title="Welder", sector="Welding things", closing="2099-12-31", province="ON"):
    return [
        reference,
        title,
        "Toronto",
        province,
        sector,
        "<h2>Steel</h2><p>Weld it.</p>",
        "hr@acme.example",
        closing,
    ]


def test_from_an_unknown_file_to_the_first_run(acme):
    file = rows(acme, row("1"), row("2"), row("3"))
    new = acme.run("feed", "new", "welders", "--from", str(file))
    assert (new.code, new.err) == (0, "")
    assert "of 3 records 3 would go in, 0 would be rejected" in new.out
    target = acme.feeds / "welders.toml"
    assert tomllib.loads(target.read_text())["employer"] == "Acme Ltd."
    assert acme.run("feed", "check", "welders", str(file)).code == 0
    assert acme.run("import", str(file), "--feed", "welders").code == 0
    assert len(acme.run("jobs", "--employer", "1", "--json").json) == 3


def gz(file):
    path = file.with_name("jobs.csv.gz")
    path.write_bytes(gzip.compress(file.read_bytes()))
    return path


def one_zip(file):
    return zip_of(file, "jobs.zip", [("jobs.csv", file.read_text())])


def two_in_a_zip(file):
    head, first, *others = file.read_text().splitlines(keepends=True)
    return zip_of(file, "two.zip", [("east.csv", head + first), ("west.csv", head + "".join(others))])


def zip_of(file, name, members):
    path = file.with_name(name)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, text in members:
            archive.writestr(member, text)
    return path


def xlsx(file):
    lines = csv.reader(io.StringIO(file.read_text()))
    path = file.with_name("jobs.xlsx")
    notes, sheet = spreadsheets.row("Please", "read"), "".join(spreadsheets.row(*line) for line in lines)
    path.write_bytes(spreadsheets.book({"Notes": notes, "Open jobs": sheet}, hidden="Notes"))
    return path


@pytest.mark.parametrize("pack", [gz, one_zip, two_in_a_zip, xlsx])
def test_a_packed_file_and_a_spreadsheet_are_mapped_checked_and_run_like_the_plain_one(acme, pack):
    file = pack(rows(acme, row("1"), row("2", title=""), row("3")))
    new = acme.run("feed", "new", "welders", "--from", str(file))
    assert (new.code, new.err) == (0, "")
    assert "of 3 records 2 would go in, 1 would be rejected" in new.out
    assert "3 records" in (acme.feeds / "welders.toml").read_text()
    check = acme.run("feed", "check", "welders", str(file))
    member = " of west.csv" if pack is two_in_a_zip else ""
    line = 2 if pack is two_in_a_zip else 3
    assert (check.code, f"record 2, line {line}{member} (2): /title required" in check.out) == (
        1,
        True,
    )
    shown = acme.run("feed", "check", "welders", str(file), "--json").json
    assert shown["unknownValues"]["categories"] == [{"value": "Welding things", "rows": 3}]
    acme.run("import", str(file), "--feed", "welders")
    shown = acme.run("runs", "show", "1")
    assert f"record 2, line {line}{member} (2): /title" in shown.out
    assert len(acme.run("jobs", "--employer", "1", "--json").json) == 2


def test_columns_that_the_draft_does_not_use_are_named(acme):
    file = acme.feeds.parent / "odd.csv"
    file.write_text(
        "Job ID,Title,Apply URL,Description,Location,Klass,Status\n"
        '1,Cook,https://x.ca/1,Cook well.,"Laval, QC",B2,Open\n'
    )
    assert "columns not used: Klass\n" in acme.run("feed", "new", "odd", "--from", str(file)).out
    shown = acme.run("feed", "new", "odd", "--from", str(file), "--force", "--json").json
    assert shown["unusedColumns"] == ["Klass"]


def test_records_that_the_draft_leaves_out_or_doubts_are_counted(acme):
    file = acme.feeds.parent / "odd.csv"
    lines = (
        f'{n},Cook,https://x.ca/{n},Cook well.,"Laval, QC",{v}' for n, v in enumerate(("Lead", "Internal"))
    )
    text = "\n".join(["Job ID,Title,Apply URL,Description,Location,Level", *lines, ""])
    file.write_text(text)
    new = acme.run("feed", "new", "odd", "--from", str(file))
    assert (
        "syncd: Level has Internal in 1 record, and these would go in: see [rows] in the draft\n" in new.err
    )
    file.write_text(text.replace("Level", "Posting type").replace("Lead", "External"))
    new = acme.run("feed", "new", "odd", "--from", str(file), "--force")
    assert "left out by [rows], skip Posting type = Internal | Internal only | Interne: 1\n" in new.out


def test_a_name_that_is_gone_is_said_first_and_once_and_its_line_is_not_for_the_partner(acme):
    def file(name, title):
        lines = (f'{n},Cook {n},https://x.ca/{n},Cook well.,"Laval, QC"' for n in range(1, 31))
        path = acme.feeds.parent / name
        path.write_text("\n".join([f"Job ID,{title},Apply URL,Description,Location", *lines, ""]))
        return str(path)

    first, second = file("one.csv", "Posting Title"), file("two.csv", "Job Name")
    acme.feed(
        "cooks",
        'employer = "Acme Ltd."\n[fields]\nreferenceId = "Job ID"\ntitle = "Posting Title"\nlocations = "Location"\n'
        'categories = { value = "Other" }\npositionType = { value = "Full Time" }\ndescription = "Description"\n'
        'applicationUrl = "Apply URL"\napplicantRoutingType = { prefer = ["applicationUrl"] }\n',
    )
    acme.run("import", first, "--feed", "cooks")
    names = "the file has no column `Posting Title` any more; new in it: `Job Name`"
    sentence = f'{names}; [fields] with the new names: title = "Job Name"; 30 of 30 rows were rejected'
    plan = acme.run("plan", second, "--feed", "cooks").out
    assert plan.startswith(f"this run would be held: {sentence}")
    assert " 30 ×  /title  required" in plan.splitlines()[3]
    check = acme.run("feed", "check", "cooks", second).out
    assert check.splitlines()[1].startswith(names)
    imported = acme.run("import", second, "--feed", "cooks")
    assert imported.code == 3
    shown = acme.run("runs", "show", "2").out
    for text in (plan, check, imported.out + imported.err, shown):
        assert (text.count("any more"), text.count('title = "Job Name"')) == (1, 1)
    done = acme.base / "feeds/drop/cooks/done/2-two.csv"
    report, page = (
        done.with_name(done.name + suffix).read_text() for suffix in (".report.json", ".report.html")
    )
    shape = {"gone": ["Posting Title"], "new": ["Job Name"]}
    assert (json.loads(report)["reason"], json.loads(report)["shape"]) == (names, shape)
    assert page.index(
        "were in your last file and are gone: Posting Title. New in it: Job Name."
    ) < page.index("Nothing of it has gone in yet")
    assert "[fields]" not in report + page
    for command in (
        ("plan", second, "--feed", "cooks"),
        ("feed", "check", "cooks", second),
        ("runs", "show", "2"),
    ):
        assert acme.run(*command, "--json").json["shape"] == shape


def test_an_existing_feed_stays_unless_forced(acme):
    file, target = rows(acme, row("1")), acme.feeds / "acme.toml"
    before = target.read_text()
    result = acme.run("feed", "new", "acme", "--from", str(file))
    assert (result.code, target.read_text()) == (1, before)
    assert "--force" in result.err
    assert acme.run("feed", "new", "acme", "--from", str(file), "--force").code == 0
    assert target.read_text() != before
    assert [path.name for path in acme.feeds.iterdir()] == ["acme.toml"]


def test_without_employers_the_one_in_the_file_is_named_and_nothing_is_written(installation):
    new = ("feed", "new", "maple", "--from", str(SAMPLES / "maple.xml"))
    result = installation.run(*new)
    assert (result.code, result.out) == (1, "")
    assert result.err == (
        'syncd: there is no employer yet: syncd employer add "Maple Care Homes" (the file names it),'
        " then the same command again\n"
    )
    unnamed = installation.run("feed", "new", "x", "--from", rows(installation, row("1")))
    assert "no employer yet: syncd employer add NAME, then the same command again\n" in unnamed.err
    assert installation.run(*new, "--employer", "E").code == 1
    assert [path.name for path in installation.feeds.iterdir()] == ["acme.toml"]
    assert not (installation.base / "var").exists()
    assert installation.run("employer", "add", "Maple Care Homes").code == 0
    assert installation.run(*new).code == 0
    check = installation.run("feed", "check", "maple", str(SAMPLES / "maple.xml"))
    assert check.code == 1
    assert "10 records: 9 would go in, 1 rejected" in check.out


@pytest.fixture
def broken(acme):
    """A feed, and a file of it with a fault of each kind."""
    good = rows(acme, row("1"), row("2"))
    assert acme.run("feed", "new", "welders", "--from", str(good)).code == 0
    return rows(
        acme,
        row("1"),
        row("2", title=""),
        row("3", closing="soon \u202e"),
        row("4", province="Onterio"),
        row("5", closing="2020-01-31"),
        row("1", sector="Alchemy"),
    )


def test_check_names_every_rejected_row_with_place_field_code_reason_and_value(acme, broken):
    check = acme.run("feed", "check", "welders", str(broken), "--json")
    assert check.code == 1
    found = check.json
    assert found["format"] == "syncd.check/1"
    assert found["counts"] == {
        "read": 6,
        "good": 2,
        "rejected": 3,
        "expired": 1,
        "filtered": 0,
        "repeated": 1,
        "warnings": 12,
    }
    places = [
        (r["record"], r["line"], r["referenceId"], r["errors"][0]["pointer"], r["errors"][0]["code"])
        for r in found["rejectedRows"]
    ]
    assert places == [
        (2, 3, "2", "/title", "required"),
        (3, 4, "3", "/closeDate", "invalid_date"),
        (4, 5, "4", "/locations/0/description", "unknown_province"),
    ]
    assert [r["errors"][0]["value"] for r in found["rejectedRows"]] == [
        None,
        "soon \u202e",
        "Toronto, Onterio",
    ]
    assert {kind["code"]: kind["rows"] for kind in found["kinds"]} == {
        "required": 1,
        "invalid_date": 1,
        "unknown_province": 1,
    }
    assert found["unknownValues"]["categories"] == [
        {"value": "Welding things", "rows": 5},
        {"value": "Alchemy", "rows": 1},
    ]


def test_the_lookups_that_check_prints_can_be_copied(acme, broken):
    target = acme.feeds / "welders.toml"
    text = target.read_text()
    target.write_text(re.sub(r"\[lookup\.\w+\]\n(#.*\n)*", "", text))
    toml = acme.run("feed", "check", "welders", str(broken), "--json").json["lookupToml"]
    pasted = toml.replace('"Welding things" = ""', '"Welding things" = "Skilled Trades"').replace(
        '"Alchemy" = ""', '"Alchemy" = "Other"'
    )
    pasted = pasted.replace('"Toronto, Onterio" = ""', '"Toronto, Onterio" = "Toronto, ON"')
    target.write_text(f"{target.read_text()}\n{pasted}\n")
    found = acme.run("feed", "check", "welders", str(broken), "--json").json
    assert (found["unknownValues"], found["counts"]["rejected"]) == ({}, 2)


def test_the_summary_is_first_and_no_value_controls_the_terminal(acme, broken):
    result = acme.run("feed", "check", "welders", str(broken))
    lines = result.out.splitlines()
    assert lines[1].startswith("6 records: 2 would go in, 3 rejected, 1 closed or expired")
    assert lines.index("rejected, by kind") < lines.index("rejected rows: 3")
    assert "  record 2, line 3 (2): /title required: a job needs a title" in lines
    assert any(line.startswith("[lookup.") or "go into [lookup." in line for line in lines)
    assert "\u202e" not in result.out
    assert "\x1b" not in result.out


def test_an_existing_job_does_not_need_what_only_a_new_job_needs(acme):
    acme.feed("few", 'employer = "Acme Ltd."\n[fields]\nreferenceId = "ref"\ntitle = "title"\n')
    assert acme.deliver("native.csv", [make_row("A")]).code == 0
    few = acme.base / "few.csv"
    few.write_text("ref,title\nA,New\nB,New\n")
    found = acme.run("feed", "check", "few", str(few), "--json").json
    assert [row["referenceId"] for row in found["rejectedRows"]] == ["B"]


def test_a_run_is_shown_as_a_check_is(acme, broken):
    checked = acme.run("feed", "check", "welders", str(broken), "--json").json
    acme.run("import", str(broken), "--feed", "welders")
    shown = acme.run("runs", "show", "1", "--json").json
    assert checked["unknownValues"]["categories"][0] == {"value": "Welding things", "rows": 5}
    assert (shown["unknownValues"], shown["lookupToml"]) == (checked["unknownValues"], checked["lookupToml"])
    lines = acme.run("runs", "show", "1").out.splitlines()
    heading = lines.index("unknown values, as lines for the feed's file:")
    assert lines[heading + 1 :][: len(shown["lookupToml"].splitlines())] == shown["lookupToml"].splitlines()
    assert lines.index("rejected, by kind") < lines.index("rejected rows: 3")
    assert any(re.match(r"  1 ×  /closeDate +invalid_date +\S", line) for line in lines)
    assert any("[" in line and '"Toronto, Onterio"' in line for line in lines)


SHOWN = """
employer = "Acme Ltd."
preset = "indeed"
places = "strict"
[fields]
salary = false
title = "jobname"
[lookup.category]
"Nursing & Care" = "Healthcare"
[rows]
skip = { status = ["closed", "x*"] }
"""


def test_the_mapping_in_force_is_shown_with_the_origin_of_each_line(acme):
    acme.feed("shown", SHOWN)
    lines = acme.run("feed", "show", "shown", "--json").json["lines"]
    found = {(line["table"], line["key"]): line for line in lines}
    assert len(found) == len(lines)
    assert (found["fields", "title"]["value"], found["fields", "title"]["origin"]) == (
        "jobname",
        "shown.toml",
    )
    assert found["fields", "applicationUrl"]["origin"] == "family job_xml"
    assert found["fields", "applicantRoutingType"]["origin"] == "family common"
    assert found["lookup.category", "Nursing & Care"]["origin"] == "shown.toml"
    assert found["rows", "skip"]["value"] == {"status": ["closed", "x*"]}
    assert found["", "places"]["value"] == "strict"
    assert ("fields", "salary") not in found
    assert {line["origin"] for line in lines} >= {"preset indeed", "family job_xml", "family common"}


def test_the_mapping_is_printed_as_toml_with_its_origins_as_comments(acme):
    acme.feed("shown", SHOWN)
    text = acme.run("feed", "show", "shown").out
    assert 'title = "jobname"  # shown.toml' in text.splitlines()
    printed = tomllib.loads(text)
    assert (printed["places"], printed["rows"]) == ("strict", {"skip": {"status": ["closed", "x*"]}})
    assert printed["lookup"]["category"]["Nursing & Care"] == "Healthcare"
    assert printed["fields"]["applicantRoutingType"] == {"prefer": ["applicationUrl", "applicationEmail"]}


def test_the_mapping_of_a_feed_that_has_none(acme):
    assert "the service's own shape" in acme.run("feed", "show", "acme").out
