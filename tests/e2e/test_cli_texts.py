"""The texts and dates of employers, from a file to live jobs: they are as the employer meant them."""

import json
from pathlib import Path

import pytest

CASES = Path(__file__).parents[1] / "feeds" / "cases"


def imported(acme, file, extra=""):
    """Return the result of an import of ``file`` by a feed that is drafted from it."""
    assert acme.run("feed", "new", "drafted", "--from", str(file)).code == 0
    target = acme.feeds / "drafted.toml"
    target.write_text(extra + target.read_text())
    return acme.run("import", str(file), "--feed", "drafted")


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


@pytest.mark.parametrize("form", ["xml", "json"])
def test_closing_dates_of_xml_and_json_are_judged_alike(acme, form):
    dates = {
        "A": ("2099-12-31-08:00", "2099-12-31"),
        "B": ("2099-12-31Z", "2099-12-31"),
        "C": ("2099-12-31T04:59:59+00:00", "2099-12-30"),
        "D": ("2099-12-31T00:00:00-08:00", "2099-12-31"),
        "E": ("2099-12-31T23:59:59-05:00", "2099-12-31"),
    }
    members = {
        "title": "Cook",
        "city": "Toronto",
        "state": "ON",
        "url": "https://a.example/1",
        "text": "<p>Cook.</p>",
    }
    records = [{"id": id, **members, "closing_date": written} for id, (written, _) in dates.items()]
    file = acme.base / f"jobs.{form}"
    if form == "json":
        file.write_text(json.dumps(records))
    else:
        escaped = [{**record, "text": "Cook."} for record in records]
        rows = ("".join(f"<{name}>{value}</{name}>" for name, value in one.items()) for one in escaped)
        file.write_text("<jobs>" + "".join(f"<job>{row}</job>" for row in rows) + "</jobs>")
    text = (
        'employer = "Acme Ltd."\n[fields]\nreferenceId = "id"\ntitle = "title"\n'
        'locations = [{ template = "{city}, {state}" }]\ndescription = "text"\napplicationUrl = "url"\n'
        'categories = { value = "Other" }\npositionType = { value = "Full Time" }\n'
        'applicantRoutingType = { prefer = ["applicationUrl"] }\n'
        'closeDate = { from = "closing_date", date = ["iso"] }\n'
    )
    acme.feed("mapped", text)
    acme.run("import", str(file), "--feed", "mapped")
    assert jobs(acme, "closeDate") == {id: [day] for id, (_, day) in dates.items()}
