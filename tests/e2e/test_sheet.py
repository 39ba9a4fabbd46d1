"""``syncd feed sheet``: the page that a partner gets before his first file is true: a file made from it goes in."""

import csv
import io
import re

import pytest

from syncd.feeds.mapping.transforms.dates import DATE_FORMATS
from tests.e2e.conftest import row

FEEDS = {
    "preset": 'preset = "csv"\n',
    "own shape": '[read]\nformat = "csv"\n',
    "own shape of any format": "",
    "columns": """
[read]
format = "csv"
[fields]
referenceId = { derive = ["Lien"] }
title = "Titre"
locations = { from = "Ville", province = "Prov" }
categories = { from = "Secteur", lookup = "category", default = "Other" }
positionType = { value = "Full Time" }
closeDate = { from = "Fin", date = ["dmy"] }
salary = { text = "Salaire" }
description = "Texte"
applicationUrl = "Lien"
applicantRoutingType = { prefer = ["applicationUrl"] }
[lookup.category]
"" = ""
"Cuisine*" = "Food & Beverage"
"Soins" = "Healthcare"
""",
}


def sheet(acme, name, *arguments):
    return acme.run("feed", "sheet", name, *arguments)


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("feed", FEEDS)
def test_a_file_with_the_columns_and_examples_of_the_sheet_goes_in(acme, feed, language):
    acme.feed("trial", f'employer = "Acme Ltd."\nlanguage = "{language}"\n{FEEDS[feed]}')
    made = sheet(acme, "trial", "--json").json
    assert (made["language"], made["employer"], made["file"]) == (language, "Acme Ltd.", None)
    row: dict[str, str] = {}
    for column in made["columns"]:
        names, values = column["name"].split(" / "), column["example"].split(" / ")
        row |= dict(zip(names, values if len(values) == len(names) else values * len(names), strict=True))
    assert _check(acme, row).code == 0
    for column in made["columns"]:
        if column["name"].casefold().startswith(("salary", "application")):  # these go together
            continue
        without = {name: "" if name in column["name"].split(" / ") else value for name, value in row.items()}
        assert (_check(acme, without).code == 1) == column["required"], column


def _check(acme, row):
    path, out = acme.base / "trial.csv", io.StringIO(newline="")
    csv.writer(out).writerows([row.keys(), row.values()])
    path.write_text(out.getvalue())
    return acme.run("feed", "check", "trial", str(path))


def test_the_sheet_has_one_row_for_a_column_of_two_fields_and_his_own_words(acme):
    acme.feed("trial", 'employer = "Acme Ltd."\nlanguage = "fr"\n' + FEEDS["columns"])
    columns = {column["name"]: column for column in sheet(acme, "trial", "--json").json["columns"]}
    assert [*columns] == ["Lien", "Titre", "Fin", "Ville", "Prov", "Secteur", "Salaire", "Texte"]
    assert columns["Lien"]["field"] == "le numéro de référence, l’adresse Web pour postuler"
    assert [columns[name]["example"] for name in ("Fin", "Secteur", "Prov")] == ["30/11/2030", "Soins", "QC"]
    assert columns["Secteur"]["need"] == "sinon, la valeur convenue s’applique"


def test_names_of_the_last_file_come_first_and_fields_that_it_lacks_are_proposed(acme):
    acme.feed("trial", 'employer = "Acme Ltd."\npreset = "csv"\n')
    path = acme.base / "first.csv"
    path.write_text(
        "ID,Titre du poste,Ville,Province,Texte,Courriel\nA-1,Soudeur,Laval,QC,Souder.,rh@acme.ca\n"
    )
    assert acme.run("import", str(path), "--feed", "trial").code == 0
    names = {column["field"]: column["name"] for column in sheet(acme, "trial", "--json").json["columns"]}
    assert (names["the reference number"], names["the job title"]) == ("ID", "Titre du poste")
    assert (names["the place of work"], names["the closing date"]) == ("Ville / Province", "close date")


@pytest.mark.parametrize(
    ("lines", "says", "not_there"),
    [
        ("", "Put the file into the folder “trial”", "fetches"),
        ('marker = ".done"', "with .done at its end", "fetches"),
        ('mode = "delta"', "stays on the board until its closing date", "leaves the board"),
        ("grace = 3", "3 files in a row lack leaves the board", "fetches"),
        ('expect_every = "1d"', "A new one is expected every day.", "fetches"),
        ('[read]\nformat = "xml"', "those of the elements of a job", "Excel"),
        ('[read]\nformat = "jsonl"', "one JSON object on each line", "Excel"),
        ('[read]\nformat = "csv"\nencoding = "windows-1252"', "are those of windows-1252", "fetches"),
        (
            '[source]\nurl = "https://me:secret@jobs.example/all.json?token=secret"\nevery = "90m"',
            "fetches your file from https://jobs.example/all.json, every 90 minutes",
            "secret",
        ),
        (
            '[source]\nurl = { env = "ADDRESS" }\nat = ["06:00", "18:00"]',
            "that was agreed, at 06:00, 18:00",
            "folder",
        ),
        ('[source]\nurl = "https://jobs.example/all.json"', "from https://jobs.example/all.json.", "folder"),
    ],
)
def test_the_way_of_a_file_is_that_of_the_feed(acme, lines, says, not_there):
    acme.feed("trial", f'employer = "Acme Ltd."\n{lines}\n')
    page = sheet(acme, "trial").out
    assert says in page
    assert not_there not in page.partition("<body>")[2]


def test_the_sheet_is_written_to_a_file_and_needs_no_store(installation):
    acme = installation
    target = acme.base / "sheet.html"
    done = sheet(acme, "acme", "-o", str(target))
    assert (done.code, done.out) == (0, "")
    assert str(target) in done.err
    assert target.read_text() == sheet(acme, "acme").out
    assert sheet(acme, "acme", "-o", str(target), "--json").json["file"] == str(target)
    assert not (acme.base / "var").exists()


def test_a_feed_that_cannot_be_used_has_none(acme):
    acme.feed("broken", "employer = 3\n")
    assert "employer" in sheet(acme, "broken").err
    assert (sheet(acme, "nobody").code, sheet(acme, "acme", "-o", "/nowhere/sheet.html").code) == (1, 1)
    acme.feed("hostile", 'employer = "<script>&"\n')
    assert "<script>" not in sheet(acme, "hostile").out


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("form", [*DATE_FORMATS, "%d.%m.%Y"])
def test_the_date_of_the_sheet_and_of_a_report_is_one_that_the_feed_takes(acme, form, language):
    name = {"en": "Closes", "fr": "Fin"}[language]
    fields = f'[fields]\nlocations = "locations"\ncloseDate = {{ from = "{name}", date = ["{form}"] }}\n'
    acme.feed("trial", f'employer = "Acme Ltd."\nlanguage = "{language}"\npreset = "csv"\n{fields}')
    [proposed] = [one for one in sheet(acme, "trial", "--json").json["columns"] if one["name"] == name]

    def deliver(number, closing):
        file = acme.base / f"{number}.csv"
        lines = acme.file("one.csv", [row("R-1", "Welder")]).read_text().splitlines()
        file.write_text(f'{lines[0]},{name}\n{lines[1]},"{closing}"\n')
        done = acme.run("import", file, "--feed", "trial", "--json").json
        return done["counts"], acme.drop_folder / "trial" / "done" / f"{done['id']}-{number}"

    counts, path = deliver(1, "soon")
    assert counts["rejected"] == 1
    like = {
        "en": r"Write dates like this one: (.+?)\.<",
        "fr": r"Écrivez les dates comme celle-ci : (.+?)\.<",
    }
    [day] = set(re.findall(like[language], path.with_suffix(".csv.report.html").read_text()))
    assert day == proposed["example"]
    assert day in path.with_suffix(".csv.rejected.csv").read_text()
    assert deliver(2, day)[0]["created"] == 1
    assert acme.run("jobs", "show", "1", "--json").json["job"]["closeDate"][:10] == "2030-11-30"
