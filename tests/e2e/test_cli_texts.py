"""The texts and dates of employers, from a file to live jobs: they are as the employer meant them."""

import csv
import json
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from tests.e2e.conftest import row

CASES = Path(__file__).parents[1] / "feeds" / "cases"


def imported(acme, file, extra=""):
    """Return the result of an import of ``file`` by a feed that is drafted from it."""
    assert acme.run("feed", "new", "drafted", "--from", str(file)).code == 0
    target = acme.feeds / "drafted.toml"
    target.write_text(extra + target.read_text())
    return acme.run("import", str(file), "--feed", "drafted")


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
    """Return the last run of a feed, with its rows and warnings."""
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
    imported(acme, CASES / "utc-close.csv")
    dates = {"U1": ["2026-12-13"], "U2": ["2026-12-13"], "U3": ["2026-12-13"]}
    assert jobs(acme, "closeDate") == dates


@pytest.mark.parametrize("form", FORMS)
def test_closing_dates_are_judged_alike_in_each_format(acme, form):
    dates = {
        "A": ("2099-12-31-08:00", "2099-12-31"),
        "B": ("2099-12-31Z", "2099-12-31"),
        "C": ("2099-12-31T04:59:59+00:00", "2099-12-30"),
        "D": ("2099-12-31T00:00:00-08:00", "2099-12-31"),
        "E": ("2099-12-31T23:59:59-05:00", "2099-12-31"),
    }
    import_records(acme, form, [{"id": id, "closing": written} for id, (written, _) in dates.items()])
    assert jobs(acme, "closeDate") == {id: [day] for id, (_, day) in dates.items()}


@pytest.mark.parametrize("form", FORMS)
def test_blank_descriptions_are_required_in_each_format(acme, form):
    blank = [
        "<p>&nbsp;</p>",
        "&amp;nbsp;",
        "<p>\u200b<b>&#160;</b></p>",
        "<!-- x --><ul><li></li></ul>",
        "nan",
    ]
    full = ["<p>.</p>", "&lt;", "<p>&eacute;</p>"]
    run = import_records(acme, form, [{"id": f"{n}", "text": text} for n, text in enumerate(blank + full)])
    assert problems(run) == {f"{n}": [("/description", "required")] for n in range(len(blank))}


def test_tags_that_are_escaped_inside_html_are_decoded(acme):
    imported(acme, CASES / "half-encoded.json")
    assert jobs(acme, "description") == {
        "H1": ["<p>We cook.<br/><br/>We serve <em>well</em>.</p>"],
        "H2": [
            "<p><strong>About us</strong></p><p>We bake.</p>"
            '<p>More <a href="https://jobs.acme.example">jobs</a></p>'
        ],
    }
    assert "escaped tags decoded" in warnings(shown(acme, "drafted"), "html_cleaned")["H1"]


@pytest.mark.parametrize("form", FORMS)
def test_escaped_tags_are_decoded_in_pairs_and_a_lone_one_is_text(acme, form):
    texts = {
        "A": ("<p>Use the &lt;b&gt; tag.</p>", "<p>Use the &lt;b&gt; tag.</p>"),
        "B": ("<div>&lt;ul&gt;&lt;li&gt;A&lt;/li&gt;&lt;/ul&gt;</div>", "<div><ul><li>A</li></ul></div>"),
        "E": ("<p>x</p>&#60;BR /&#x3E;y", "<p>x</p><BR />y"),
        "C": ("<p>x</p>&amp;lt;p&amp;gt;y&amp;lt;/p&amp;gt;", "<p>x</p><p>y</p>"),
        "D": (
            "<p>&lt;script&gt;1&lt;/script&gt; a &lt; b</p>",
            "<p>&lt;script&gt;1&lt;/script&gt; a &lt; b</p>",
        ),
    }
    run = import_records(acme, form, [{"id": id, "text": text} for id, (text, _) in texts.items()])
    assert jobs(acme, "description") == {id: [text] for id, (_, text) in texts.items()}
    assert set(warnings(run, "html_cleaned")) == {"B", "C", "E"}


@pytest.mark.parametrize("form", FORMS)
def test_tags_are_taken_out_of_a_title(acme, form):
    titles = {
        "A": ("<b>Welder</b>", "Welder"),
        "B": ("Cook&lt;br/&gt;Baker", "Cook Baker"),
        "C": ("Cook <senior>", "Cook <senior>"),
    }
    run = import_records(acme, form, [{"id": id, "title": title} for id, (title, _) in titles.items()])
    assert jobs(acme, "title") == {id: [title] for id, (_, title) in titles.items()}
    assert warnings(run, "damaged_text") == {
        "A": "title: tags were taken out of <b>Welder</b>",
        "B": "title: tags were taken out of Cook<br/>Baker",
    }


DAMAGED = {
    "A": ("title", "DÃ©veloppeur", "title was decoded twice: DÃ©veloppeur"),
    "B": ("title", "Pr\ufffdpos\ufffd", "title has characters that were lost: Pr\ufffdpos\ufffd"),
    "C": ("title", "{{job.title}}", "title has a placeholder of a template: {{job.title}}"),
    "D": ("text", "Il crÃ©e, câ€™est tout.", "description was decoded twice: Il crÃ©e, câ€™est tout."),
    "E": (
        "text",
        "<p>Hi [[name]], %%intro%%</p>",
        "description has a placeholder of a template: Hi [[name]], %%intro%%",
    ),
}


def test_damaged_texts_are_warned_of_by_field(acme):
    imported(acme, CASES / "garbled-text.csv")
    run = shown(acme, "drafted")
    noted = [
        (one["referenceId"], one["detail"].split()[0])
        for one in run["warnings"]
        if one["code"] == "damaged_text"
    ]
    titles, descriptions = [("G1", "title"), ("G2", "title")], [("G1", "description"), ("G2", "description")]
    assert sorted(noted) == sorted([*titles, *descriptions, ("G4", "title"), ("G5", "title:")])
    assert problems(run)["G3"][0] == ("/title", "required")
    assert jobs(acme, "title")["G5"] == ["Welder"]


@pytest.mark.parametrize("form", FORMS)
def test_damage_is_seen_in_each_format(acme, form):
    fine = {
        "id": "F",
        "title": "Préposé·e « à l’aise »… – ÉTÉ",
        "text": "<p>Œuvre, 25 °C ; 100 % [x] {y} $5</p>",
    }
    records = [{"id": id, field: text} for id, (field, text, _) in DAMAGED.items()]
    run = import_records(acme, form, [fine, *records])
    noted = warnings(run, "damaged_text")
    assert set(noted) == {*DAMAGED}
    assert noted["A"] == "title was decoded twice: DÃ©veloppeur"
    assert all(words.startswith(DAMAGED[id][2][:25]) for id, words in noted.items())
    assert run["state"] == "succeeded"


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
