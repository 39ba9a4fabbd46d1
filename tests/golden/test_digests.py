"""Fingerprints and digests, which are compared between runs and between versions."""

import gzip
import zipfile

from tests.golden.doors import digest, digest_values, feed_digests, field_digests, record_digests
from tests.golden.golden import INPUTS, same_json
from tests.golden.scenario import FEEDS

#: Feed files that differ in one thing; some differences change a fingerprint, others must not.
FEED_FILES = {
    "only an employer": 'employer = "Acme Ltd."',
    "a comment, and another order of keys": '# hello\nmode = "snapshot"\nemployer = "Acme Ltd."',
    "another order of keys": 'employer = "Acme Ltd."\nmode = "snapshot"',
    "habits": 'employer = "Acme Ltd."\nrenew = false\nexpired = "ignore"\non_api_edit = "keep"\ntake_over = true',
    "limits": 'employer = "Acme Ltd."\nmax_archive = { percent = 10, jobs = 3 }\nmax_retitled = 20\ngrace = 2',
    "times": 'employer = "Acme Ltd."\nsettle = "500ms"\nkeep_files = "2w"\nexpect_every = "12h"\nmarker = ".done"',
    "reading": 'employer = "Acme Ltd."\n[read]\nformat = "csv"\ndelimiter = ";"\nencoding = "windows-1252"',
    "a preset": 'employer = "Acme Ltd."\npreset = "indeed"',
    "a preset without a field": 'employer = "Acme Ltd."\npreset = "indeed"\n[fields]\nsalary = false',
    "a mapping of XML": """
employer = "Acme Ltd."
[read]
format = "xml"
records = "/source/job"
[fields]
referenceId = { from = "@id", too_long = "hash" }
title = { from = ["jobtitle", "name"], too_long = "truncate" }
description = { all = ["summary", "duties"], html = "clean" }
closeDate = { from = "expires", date = ["dmy", "iso", "%d/%m/%Y"] }
locations = { each = "sites/site", template = "{city}, {state}", default = "Toronto, ON" }
categories = { all = ["department", "team/name"], split = [",", ";"], lookup = "category", default = "Other" }
positionType = { value = "Full Time" }
salary = { text = "pay", locale = "fr", infer_period = { hourly_below = 200, yearly_above = 10000 } }
applicationUrl = { template = "https://acme.example/jobs/{@id}" }
applicantRoutingType = { prefer = ["applicationUrl"] }
[lookup.category]
"R&D" = "Engineering"
"Sales / Marketing" = ["Sales", "Marketing"]
"Internal" = ""
"29*" = "Healthcare"
""",
}
PRESETS = """
    adzuna ashby careerjet csv directemployers greenhouse hrxml indeed jobbank jobrapido jooble jora
    lever linkedin personio recruitee rss schemaorg smartrecruiters talent teamtailor trovit
    workable ziprecruiter
""".split()
READ = {
    "boards-1.xml": {},
    "counter-1.csv": {},
    "desk-1.json": {"format": "json", "records": "data.jobs"},
    "lines-1.jsonl": {"format": "jsonl"},
    "plain-1.xml": {},
    "sheet.xlsx": {},
}


def test_fingerprints_of_feeds():
    files = {name: (INPUTS / f"{name}.toml").read_text("utf-8") for name in FEEDS}
    same_json(
        "feed_digests.json", {name: feed_digests("acme", text) for name, text in (files | FEED_FILES).items()}
    )


def test_the_fingerprint_of_every_preset():
    made = {name: feed_digests("acme", f'employer = "Acme Ltd."\npreset = "{name}"') for name in PRESETS}
    same_json("preset_digests.json", made)


def test_digests_of_values():
    values = digest_values()
    assert field_digests(values) == {name: digest(value) for name, value in values.items()}
    same_json("value_digests.json", field_digests(values))


def test_digests_of_records():
    same_json(
        "record_digests.json", {name: record_digests(INPUTS / name, **spec) for name, spec in READ.items()}
    )


def test_digests_of_records_in_other_encodings_and_packed(tmp_path):
    text = (INPUTS / "counter-1.csv").read_text("utf-8")
    (tmp_path / "utf-16.csv").write_text(text, encoding="utf-16")
    (tmp_path / "windows.csv").write_text(text, encoding="windows-1252", errors="replace")
    (tmp_path / "tabs.csv").write_text("referenceId\ttitle\nA\tCook, Days\n", encoding="utf-8")
    (tmp_path / "comments.xml").write_text("<a><!-- 1 --><job><b>1</b></job>\n<job><b>2</b></job></a>")
    (tmp_path / "array.json").write_text('[{"referenceId": "A"},\n {"referenceId": "B", "title": "\\u00e9"}]')
    with gzip.open(tmp_path / "packed.csv.gz", "wb") as packed:
        packed.write(text.encode())
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("one.csv", text)
        archive.writestr("two.csv", text.splitlines()[0] + "\n" + "Z-1,Cook" + "," * 15 + "\n")
    found = {path.name: record_digests(path) for path in sorted(tmp_path.iterdir())}
    same_json("record_digests_packed.json", found)
