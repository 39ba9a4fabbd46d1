"""A broken file ends its own run: the feed goes on with its next file, and the service stays ready on both addresses."""

from __future__ import annotations

import io
import zipfile

import pytest

from tests.e2e.conftest import wait_until
from tests.feeds.spreadsheets import book
from tests.feeds.spreadsheets import row as sheet_row

pytestmark = pytest.mark.slow

MAPPED = """
employer = "Acme Ltd."
places = "canada"
[read]
recover = true
[fields]
referenceId = "id"
title = "title"
locations = "city"
categories = { value = "Other" }
positionType = { value = "Full Time" }
description = "text"
applicantRoutingType = { value = "URL" }
applicationUrl = { template = "https://acme.example/{id}" }
closeDate = { from = "closes", date = ["rfc822"] }
"""
GOOD = "Mon, 13 Jul 2099 00:00:00 EST"


def job(text="Steel.", closes=GOOD, title="Welder"):
    return f"<job><id>1</id><title>{title}</title><city>Toronto</city><text>{text}</text><closes>{closes}</closes></job>"


def as_xml(*jobs, encoding="utf-8"):
    return f'<?xml version="1.0" encoding="{encoding}"?><jobs>{"".join(jobs)}</jobs>'.encode()


def cut_out(data, at):
    return data[:at] + data[at + 1 :]


def zipped(data):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("jobs.xml", data)
    return out.getvalue()


SHEET = book({"Jobs": sheet_row("id", "title") + sheet_row("1", "Cook")}, ["<t>a</t>"])
#: Name → the broken file, and the state in which its run ends. The digits once ended the process.
BROKEN = {
    "sheet.xlsx": (cut_out(SHEET, len(SHEET) // 2), "failed"),
    "jobs.zip": (cut_out(zipped(as_xml(job())), 60), "failed"),
    "text-mode.zip": (zipped(as_xml(job()) * 9).replace(b"\n", b"\r\n") + b"\n", "failed"),
    "year.xml": (as_xml(job(closes="Mon, 13 Jul 2147483648 00:00:00 EST")), "partial"),
    "emoji.xml": (as_xml(job(title="Welder &#55357;&#56832;")), "partial"),
    "half.xml": (as_xml(job(title="Welder &#55357;", text="Iron.")), "partial"),
    "rot13.xml": (as_xml(job(), encoding="rot13"), "failed"),
    "digits.json": (b'{"next": %b, "jobs": [{"id": 1}]}' % (b"9" * 5000), "failed"),
}


def test_each_broken_file_ends_its_own_run(installation, start):
    installation.employer_with_key()
    installation.feed("acme", MAPPED)
    daemon = start()
    folder = installation.drop_folder / "acme"
    for number, (name, (data, state)) in enumerate(BROKEN.items()):
        for drop, content in ((name, data), (f"good-{number}.xml", as_xml(job(text=f"Steel {number}.")))):
            (folder / f".{drop}").write_bytes(content)
            (folder / f".{drop}").rename(folder / drop)
            runs = daemon.wait_for_event("feed.reconciled", 1 + 2 * number + (drop != name))
            for address in ("api", "operator"):
                status, answer = daemon.request("GET", "/readyz", which=address)
                assert (status, answer["sync"], answer["feeds"]) == (200, "ok", "ok")
        # what is read leniently is never more than partial
        assert [run["state"] for run in runs[-2:]] == [state, "partial"], name
        assert runs[-1]["rejected"] == 0
        assert not daemon.events("feed.fault")
    titles = {run["file"]: run["reason"] for run in runs if run["state"] == "failed"}
    assert "'rot13' is not known" in titles["rot13.xml"]
    # the last run has ended; its file and the note of it are moved and removed after that
    wait_until(lambda: not list((folder / ".claimed").iterdir()), "an empty .claimed/")
