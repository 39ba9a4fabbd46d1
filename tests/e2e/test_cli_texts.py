"""The texts and dates of employers, from a file to live jobs: they are as the employer meant them."""

import csv
import json
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

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


def import_records(acme, form, records, name="jobs"):
    """Import records by a feed with a mapping; return the run as JSON."""
    acme.feed("mapped", FIELDS)
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


def test_an_instant_closes_a_job_on_the_evening_that_it_means(acme):
    imported(acme, CASES / "utc-close.csv")
    dates = {"U1": ["2026-12-12"], "U2": ["2026-12-12"], "U3": ["2026-12-13"]}
    assert jobs(acme, "closeDate") == dates


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


def test_a_description_without_text_is_required(acme):
    imported(acme, CASES / "blank-description.csv")
    required = [("/description", "required")]
    assert problems(shown(acme, "drafted")) == {
        "E1": required,
        "E2": required,
        "E3": required,
        "E4": required,
    }


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
        "C": ("<p>x</p>&amp;lt;p&amp;gt;y&amp;lt;/p&amp;gt;", "<p>x</p><p>y</p>"),
        "D": (
            "<p>&lt;script&gt;1&lt;/script&gt; a &lt; b</p>",
            "<p>&lt;script&gt;1&lt;/script&gt; a &lt; b</p>",
        ),
    }
    run = import_records(acme, form, [{"id": id, "text": text} for id, (text, _) in texts.items()])
    assert jobs(acme, "description") == {id: [text] for id, (_, text) in texts.items()}
    assert set(warnings(run, "html_cleaned")) == {"B", "C"}


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
