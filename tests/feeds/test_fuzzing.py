"""Files that are damaged at random: nothing but a FeedError leaves a reader or a mapping. The files on which an error of another
kind was found once are tried by hand."""

import json
import subprocess
import sys
import zipfile
from contextlib import closing, suppress
from pathlib import Path

import pytest

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.mapping.transforms.dates import compile_dates
from syncd.feeds.readers import ReadSpec, open_reader
from syncd.sync.run import RejectsWriter
from tests.feeds.spreadsheets import book, row, zipped

STRICT, LENIENT = ReadSpec(), ReadSpec(recover=True)


def read(path: Path, data: bytes, spec: ReadSpec = STRICT) -> list[object]:
    """Return the items of a file on disk: of an element the text of its first child."""
    path.write_bytes(data)
    reader = open_reader(path, spec, FeedLimits())
    items: list[object] = []
    with closing(RejectsWriter(path.with_suffix(".rejected"), spec)) as rejects:
        rejects.start(reader)
        for record in reader:
            rejects.add(record, [])
            items.append(record.item if reader.format != "xml" else record.item[0].text)  # type: ignore[index]
    return items


def code_of(path: Path, data: bytes, spec: ReadSpec = STRICT) -> str:
    with pytest.raises(FeedError) as caught:
        read(path, data, spec)
    return caught.value.code


def test_nothing_but_a_feed_error_comes_out_of_damaged_files() -> None:
    """In a process of its own, because a library that is written in C may end it. The nightly run tries a hundred times as
    many."""
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.feeds.fuzzing", "--files", "2000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "'whole': " in done.stdout


def jobs(text: str) -> bytes:
    return f"<jobs><job><title>{text}</title></job></jobs>".encode()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("&#55357;&#56832;", "\U0001f600"),
        ("a&#xD83D;&#xde00;b", "a\U0001f600b"),
        ("&#55357;&#55357;&#56832;&#233;", "\ufffd\U0001f600é"),
        ("&#56832;&#57344;", "\ufffd\ue000"),
        ("&#x0D83D;", "\ufffd"),
    ],
)
def test_references_to_surrogates_are_the_character_that_they_mean_only_leniently(
    tmp_path: Path, written: str, meant: str
) -> None:
    assert read(tmp_path / "jobs", jobs(written), LENIENT) == [meant]
    assert code_of(tmp_path / "jobs", jobs(written)) == "not_well_formed"


def test_references_near_the_surrogates_and_in_cdata_stay_what_they_are(tmp_path: Path) -> None:
    for spec in (LENIENT, STRICT):
        text = "&#55203;&#xe000;&#57344;<![CDATA[&#55357;&#56832;]]>"
        assert read(tmp_path / "jobs", jobs(text), spec) == ["힣\ue000\ue000&#55357;&#56832;"]


@pytest.mark.parametrize("name", ["rot13", "hex", "base64", "bz2", "zlib", "uu", "quopri", "undefined"])
@pytest.mark.parametrize("declared", [True, False])
def test_codecs_that_make_no_text_are_no_encodings(tmp_path: Path, name: str, declared: bool) -> None:
    declaration = b'<?xml version="1.0" encoding="%b"?>' % name.encode() if declared else b""
    spec = STRICT if declared else ReadSpec(encoding=name)
    assert code_of(tmp_path / "jobs", declaration + jobs("x"), spec) == "bad_encoding"


@pytest.mark.parametrize(
    "data",
    [
        zipped({"jobs.csv": "id,title\r\n" + "1,Cook\r\n" * 90}, zipfile.ZIP_STORED),
        zipped({"jobs.csv": "id,title\r\n" + "1,Cook\r\n" * 90}, zipfile.ZIP_DEFLATED),
        book({"Jobs": row("id", "title") + row("1", "Cook")}),
    ],
    ids=["stored", "deflated", "xlsx"],
)
def test_an_archive_that_lost_a_byte_is_an_archive_that_cannot_be_used(tmp_path: Path, data: bytes) -> None:
    read(tmp_path / "jobs", data)
    ends = {b"\r\n": b"\n", b"\n": b"\r\n"}
    broken = [data[:at] + data[at + 1 :] for at in range(0, len(data) - 1, 7)]
    broken += [data.replace(old, new) for old, new in ends.items() if old in data]
    for damaged in broken:
        with suppress(FeedError):
            read(tmp_path / "jobs", damaged)


@pytest.mark.parametrize(
    "number", ["9" * 5000, "-" + "1" * 4301, "1e999999999999999999999", "-0E-99999999999999999999"]
)
def test_numbers_that_python_does_not_read(tmp_path: Path, number: str) -> None:
    """The JSON parser leaves an event without a value then, and to look at it ended the process. (An exponent was a fault.)"""
    inside = b'{"jobs": [{"id": %b}, {"id": 2}]}' % number.encode()
    assert read(tmp_path / "jobs", inside)[1] == {"id": 2}
    outside = b'{"next": {"at": %b}, "jobs": [{"id": 1}]}' % number.encode()
    assert code_of(tmp_path / "jobs", outside) == "not_well_formed"
    long = json.dumps([{"id": 1, "text": "x" * 600_000}] * 2).replace("1,", f"{number},").encode()
    assert len(read(tmp_path / "jobs", long)) == 2


@pytest.mark.parametrize("year", ["2147483648", "99999999999999999999", "-1"])
def test_years_that_no_calendar_has(year: str) -> None:
    read_date = compile_dates(["rfc822", "words", "dmy", "iso"])
    assert read_date(f"Mon, 13 Jul {year} 00:00:00 EST") is None


def test_one_start_tag_with_more_attributes_than_memory_should_hold(tmp_path: Path) -> None:
    attributes = " ".join(f'a{number}=""' for number in range(100_000))
    data = f"<jobs><job {attributes}><title>x</title></job></jobs>".encode()
    with pytest.raises(FeedError, match="8388608 bytes of memory for tags and attributes"):
        read(tmp_path / "jobs", data)
    some = f"<job {attributes[:100_000].rpartition(' ')[0]}><title>x=1</title></job>"
    assert len(read(tmp_path / "jobs", f"<jobs>{some * 20}</jobs>".encode())) == 20


def test_a_declared_number_that_is_no_number(tmp_path: Path) -> None:
    data = "<jobs><expectedJobCount>²</expectedJobCount><job><title>x</title></job></jobs>".encode()
    assert read(tmp_path / "jobs", data) == ["x"]


def test_the_rejected_records_of_a_feed_whose_namespace_is_no_address(tmp_path: Path) -> None:
    data = b'<a:jobs xmlns:a="[" xmlns="]" k="&quot;&lt;"><job a:k="\'"><title>x</title></job></a:jobs>'
    assert read(tmp_path / "jobs", data, LENIENT) == ["x"]
    [rejected] = tmp_path.glob("jobs.rejected*")
    assert b"""xmlns:a="[" xmlns="]" k='"&lt;'""" in rejected.read_bytes()
    assert read(tmp_path / "again", rejected.read_bytes(), LENIENT) == ["x"]
