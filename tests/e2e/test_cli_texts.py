"""The texts and dates of employers, from a file to live jobs: they are as the employer meant them."""

import csv
import json
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from tests.e2e.conftest import row

CASES = Path(__file__).parents[1] / "feeds" / "cases"


FIELDS = """employer = "Acme Ltd."
[fields]
referenceId = "id"
title = "title"
locations = [{ template = "{city}, {state}" }]
description = { from = "text", html = "clean" }
applicationUrl = "url"
categories = { value = "Other" }
positionType = { value = "Full Time" }
applicantRoutingType = { prefer = ["applicationUrl"] }
closeDate = { from = "closing", date = ["iso"] }
"""
FORMS = ["csv", "xml", "json"]


def file_of(acme, form, records, name="jobs"):
    """Return a file of records in a format; each has these values and its own."""
    usual = {
        "title": "Cook",
        "city": "Toronto",
        "state": "ON",
        "url": "https://a.example/1",
        "text": "Cooks.",
    }
    whole = [usual | {"closing": "2099-12-31"} | one for one in records]
    file = acme.base / f"{name}.{form}"
    if form == "json":
        file.write_text(json.dumps(whole))
    elif form == "csv":
        with file.open("w", newline="") as out:
            writer = csv.DictWriter(out, whole[0])
            writer.writeheader()
            writer.writerows(whole)
    else:
        rows = ("".join(f"<{key}>{escape(value)}</{key}>" for key, value in one.items()) for one in whole)
        file.write_text("<jobs>" + "".join(f"<job>{row}</job>" for row in rows) + "</jobs>")
    return file


def import_records(acme, form, records, name="jobs", extra=""):
    """Import records by a feed with a mapping; return the run as JSON."""
    acme.feed("mapped", FIELDS + extra)
    acme.run("import", str(file_of(acme, form, records, name)), "--feed", "mapped")
    return shown(acme, "mapped")


def shown(acme, feed):
    last = max(run["id"] for run in acme.run("runs", "--json").json if run["feed"] == feed)
    return acme.run("runs", "show", str(last), "--json").json


def warnings(run, code):
    return {
        warning["referenceId"]: warning["detail"] for warning in run["warnings"] if warning["code"] == code
    }


def problems(run):
    return {
        row["referenceId"]: [(e["pointer"], e["code"]) for e in row["errors"]] for row in run["rejectedRows"]
    }


def jobs(acme, *names):
    """Return referenceId → these members of each job."""
    listed = acme.run("export", "--employer", "1", "--format", "json").json
    return {job["referenceId"]: [job[name] for name in names] for job in listed}


def test_an_instant_is_judged_in_the_zone_of_the_service(acme):
    acme.config.write_text('timezone = "Pacific/Auckland"\n' + acme.config.read_text())
    file = str(CASES / "utc-close.csv")
    assert acme.run("feed", "new", "drafted", "--from", file).code == 0
    acme.run("import", file, "--feed", "drafted")
    assert jobs(acme, "closeDate") == {"U1": ["2026-12-13"], "U2": ["2026-12-13"], "U3": ["2026-12-13"]}


#: (field of the file, its text, the text of the job, the beginning of the warning).
TEXTS = (
    ("closing", "2099-12-31-08:00", "2099-12-31", ""),
    ("closing", "2099-12-31Z", "2099-12-31", ""),
    ("closing", "2099-12-31T04:59:59+00:00", "2099-12-30", ""),
    ("closing", "2099-12-31T00:00:00-08:00", "2099-12-31", ""),
    ("closing", "2099-12-31T23:59:59-05:00", "2099-12-31", ""),
    ("title", "Préposé·e « à l’aise »… – ÉTÉ", "Préposé·e « à l’aise »… – ÉTÉ", ""),
    ("title", "<b>Welder</b>", "Welder", "title: tags were taken out of <b>Welder</b>"),
    ("title", "Cook&lt;br/&gt;Baker", "Cook Baker", "title: tags were taken out of Cook<br/>Baker"),
    ("title", "Cook <senior>", "Cook <senior>", ""),
    ("title", "DÃ©veloppeur", "DÃ©veloppeur", "title was decoded twice: DÃ©veloppeur"),
    ("title", "Pr\ufffdpos\ufffd", "Pr\ufffdpos\ufffd", "title has characters that were lost: "),
    ("title", "{{job.title}}", "{{job.title}}", "title has a placeholder of a template: "),
    ("text", "<p>Œuvre, 25 °C ; 100 % [x] {y} $5</p>", "<p>Œuvre, 25 °C ; 100 % [x] {y} $5</p>", ""),
    ("text", "<p>Hi [[name]], %%in%%</p>", "<p>Hi [[name]], %%in%%</p>", "description has a placeholder of a "),
    ("text", "<p>Il crÃ©e, câ€™est</p>", "<p>Il crÃ©e, câ€™est</p>", "description was decoded twice: "),
    # escaped tags are decoded in pairs, and a lone one is text
    ("text", "<p>Use the &lt;b&gt; tag.</p>", "<p>Use the &lt;b&gt; tag.</p>", ""),
    ("text", "<div>&lt;ul&gt;&lt;li&gt;A&lt;/li&gt;&lt;/ul&gt;</div>", "<div><ul><li>A</li></ul></div>", "escaped tags decoded"),
    ("text", "<p>x</p>&amp;lt;p&amp;gt;y&amp;lt;/p&amp;gt;", "<p>x</p><p>y</p>", "escaped tags decoded"),
    ("text", "<p>x</p>&#60;BR /&#x3E;y", "<p>x</p><BR />y", "escaped tags decoded"),
    ("text", "<p>&lt;script&gt;1&lt;/script&gt; a &lt; b</p>", "<p>&lt;script&gt;1&lt;/script&gt; a &lt; b</p>", ""),
)  # fmt: skip
MEMBERS = {"closing": "closeDate", "title": "title", "text": "description"}


@pytest.mark.parametrize("form", FORMS)
def test_a_text_is_kept_as_it_was_meant_or_mended_or_warned_of_in_each_format(acme, form):
    run = import_records(acme, form, [{"id": f"{n}", case[0]: case[1]} for n, case in enumerate(TEXTS)])
    found = jobs(acme, *MEMBERS.values())
    noted = warnings(run, "damaged_text") | warnings(run, "html_cleaned")
    for number, (field, _, text, warning) in enumerate(TEXTS):
        assert found[f"{number}"][[*MEMBERS].index(field)] == text
        assert noted.get(f"{number}", "").startswith(warning), (text, noted)
    assert {*noted} == {f"{number}" for number, case in enumerate(TEXTS) if case[3]}
    assert run["state"] == "succeeded"


@pytest.mark.parametrize("form", FORMS)
def test_blank_descriptions_are_required_in_each_format(acme, form):
    blank = [
        "<p>&nbsp;</p>",
        "&amp;nbsp;",
        "<p>\u200b<b>&#160;</b></p>",
        "<!-- x --><ul><li></li></ul>",
        "nan",
        "<p>.</p>",
    ]
    full = ["<p>a.</p>", "&lt;", "<p>&eacute;</p>"]
    run = import_records(acme, form, [{"id": f"{n}", "text": text} for n, text in enumerate(blank + full)])
    assert problems(run) == {f"{n}": [("/description", "required")] for n in range(len(blank))}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("field", ["title", "text"])
def test_a_file_of_which_most_texts_are_damaged_waits(acme, form, field):
    fine = [{"id": f"F{n}"} for n in range(4)]
    four = import_records(acme, form, [*fine[:1], *({"id": f"D{n}", field: "crÃ©Ã©"} for n in range(4))])
    assert four["state"] == "succeeded"
    # what the file does not change does not count
    more = [{"id": f"D{n}", field: "crÃ©Ã©"} for n in range(9)]
    five = import_records(acme, form, [*fine, *more], "more")
    assert (five["state"], five["holds"]) == ("held", "all")
    name = "titles" if field == "title" else "descriptions"
    assert five["reason"].startswith(f"5 of 8 new or changed {name} are damaged")
    assert "the limit is 50 % and at least 5" in five["reason"]
    assert len(jobs(acme, "title")) == 5


@pytest.mark.parametrize("form", FORMS)
def test_text_decoded_twice_is_mended_where_the_feed_asks_for_it(acme, form):
    twice = {"title": "PrÃ©posÃ©e", "city": "MontrÃ©al", "state": "QuÃ©bec", "text": "<p>L’été</p>"}
    records = [{"id": f"R{n}"} | twice for n in range(6)]
    assert import_records(acme, form, records)["holds"] == "all"
    run = import_records(acme, form, records, extra="[read]\nrepair_text = true\n")
    assert (run["state"], warnings(run, "damaged_text")) == ("succeeded", {})
    assert jobs(acme, "title", "description")["R1"] == ["Préposée", "<p>L’été</p>"]


@pytest.mark.parametrize("form", FORMS)
def test_text_of_the_services_own_shape_is_mended_too(acme, form):
    acme.deliver("jobs.csv", [row("R1", "Préposé")])
    exported = acme.run("export", "--employer", "1", "--format", form).out
    file = acme.base / f"twice.{form}"
    file.write_text(exported.replace("Préposé", "PrÃ©posÃ©"))
    acme.feed("acme", 'employer = "Acme Ltd."\n[read]\nrepair_text = true\n')
    acme.run("import", str(file), "--feed", "acme")
    assert (shown(acme, "acme")["counts"]["unchanged"], jobs(acme, "title")["R1"]) == (1, ["Préposé"])


def test_damaged_texts_of_the_services_own_shape_hold_too(acme):
    rows = [row(f"r{n}", "<b>Welder</b>") for n in range(5)]
    assert "damaged" in acme.deliver("jobs.csv", rows).out
    run = shown(acme, "acme")
    assert (run["state"], run["holds"]) == ("held", "all")
    assert warnings(run, "damaged_text")["r1"] == "title has a tag: <b>Welder</b>"
