"""A rejected row comes back in the feed's own shape, whatever that is: mended and dropped back it goes in as it is, and
nothing is archived."""

import gzip
import io
import json
import zipfile

import pytest

from tests.amounts import some
from tests.feeds import spreadsheets

HEAD = ("id", "title", "ville", "texte", "lien")
TEXT = "On cuisine chaque jour, <b>à l'heure</b> & bien."
WRONG, RIGHT = "Nulle part, XX", "Québec, QC"
MAPPING = """
[fields]
referenceId = "{0}id"
title = "title"
description = {{ from = "texte", html = "clean" }}
locations = "ville"
categories = {{ value = "Other" }}
positionType = {{ value = "Full Time" }}
applicationUrl = "lien"
applicantRoutingType = {{ value = "URL" }}
"""


def job(n):
    return [
        str(n),
        f"Chef d'équipe {n}",
        WRONG if n in (4, 7) else "Laval",
        TEXT,
        f"https://x.example/{n}?a=1&b=2",
    ]


JOBS = [job(n) for n in range(10)]


def table(mark, jobs=JOBS, encoding="utf-8"):
    rows = [HEAD, *jobs]
    lines = [mark.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    return "\r\n".join(lines).encode(encoding)


def objects(jobs=JOBS):
    return [dict(zip(HEAD, row, strict=True)) for row in jobs]


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


def element(row, name="job"):
    id, title, ville, texte, lien = map(escaped, row)
    return (
        f'<{name} id="{id}"><title>{title}</title><ville>{ville}</ville><texte>{texte}</texte>'
        f"<lien>{lien}</lien></{name}>"
    )


def elements(jobs=JOBS, head='<source xmlns="urn:x" xmlns:y="urn:y"><y:date>2026</y:date>', end="</source>"):
    return f'<?xml version="1.0"?>{head}{"".join(map(element, jobs))}{end}'.encode()


def archive(ending, *parts):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for number, part in enumerate(parts):
            packed.writestr(f"{number}.{ending}", part)
    return out.getvalue()


def book():
    return spreadsheets.book({"Jobs": "".join(spreadsheets.row(*row) for row in [HEAD, *JOBS])})


#: Name → (the delivery, the feed's [read]). In XML the ids are attributes.
FORMS = {
    "csv": (table(","), ""),
    "csv with semicolons": (table(";"), ""),
    "csv whose delimiter is set": (table("|"), 'format = "csv"\ndelimiter = "|"'),
    "csv in UTF-16 with tabs": (table("\t", encoding="utf-16"), ""),
    "csv in Windows-1252": (table(";", encoding="windows-1252"), 'encoding = "windows-1252"'),
    "json": (json.dumps(objects()).encode(), ""),
    "json at a path": (
        json.dumps({"data": {"jobs": objects()}}).encode(),
        'records = "data.jobs"\nformat = "json"',
    ),
    "json by key": (
        json.dumps({"jobs": {row["id"]: row for row in objects()}}).encode(),
        'format = "json"\nrecords = "jobs.*"',
    ),
    "json lines": ("\n".join(map(json.dumps, objects())).encode() + b"\n", ""),
    "xml": (elements(), ""),
    "xml at a path": (
        elements(head="<export><offres>", end="</offres></export>"),
        'format = "xml"\nrecords = "/export/offres/job"',
    ),
    "xml read leniently": (elements().replace(b"&amp; bien", b"& bien"), "recover = true"),
    "gzip of xml": (gzip.compress(elements()), ""),
    "zip of csv": (archive("csv", table(",", JOBS[:5]), table(",", JOBS[5:])), ""),
    "zip of json": (archive("json", json.dumps(objects(JOBS[:5])), json.dumps(objects(JOBS[5:]))), ""),
    "zip of xml": (archive("xml", elements(JOBS[:5]), elements(JOBS[5:])), ""),
    "zip of xml, a posting each": (archive("xml", *map(element, JOBS)), 'format = "xml"\nrecords = "/job"'),
    "spreadsheet": (book(), ""),
}


@pytest.mark.parametrize("name", some(FORMS, 8))
def test_rejected_rows_are_corrected_in_their_file_and_dropped_again(acme, name):
    delivery, read = FORMS[name]
    mapping = MAPPING.format("@" if "xml" in name else "")
    settings = f'employer = "Acme Ltd."\nplaces = "canada"\nmax_rejected = 90\n[read]\n{read}\n{mapping}'
    (acme.feeds / "chef.toml").write_text(settings)
    file = acme.base / "delivery"
    file.write_bytes(delivery)
    first = acme.run("import", str(file), "--feed", "chef")
    assert "8 created, 2 rejected" in first.out, first
    [rejected] = acme.base.rglob("1-delivery.rejected.*")
    data = rejected.read_bytes()
    for encoding in ("utf-8", "windows-1252"):
        data = data.replace(
            WRONG.encode(encoding), RIGHT.encode("windows-1252" if "1252" in read else "utf-8")
        )
    mended = acme.base / "mended"
    mended.write_bytes(data)
    again = acme.run("import", str(mended), "--feed", "chef")
    assert "2 read (2 created)" in again.out, (again, data)
    jobs = acme.run("jobs", "--employer", "Acme Ltd.", "--json").json
    assert {job["status"] for job in jobs} == {"active"}
    assert sorted(job["referenceId"] for job in jobs) == [row[0] for row in JOBS]
    found = {job["referenceId"]: job for job in jobs}
    plain = {key: value for key, value in found["4"].items() if key in ("description", "title")}
    other = {key: value for key, value in found["3"].items() if key in ("description", "title")}
    assert plain == other | {"title": "Chef d'équipe 4"}
