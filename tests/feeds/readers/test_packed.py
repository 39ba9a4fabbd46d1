"""Readers: compressed feeds, whole, damaged and hostile."""

import gzip
import zipfile

import pytest

from syncd.domain import FeedLimits
from syncd.feeds.readers import ReadSpec, open_reader
from tests.feeds.readers.reading import fault, items, reader_of, values
from tests.feeds.spreadsheets import zipped

CSV = b"id,title\n1,a\n2,b\n"
XML = b"<jobs>\n<job><id>1</id></job><job><id>2</id></job></jobs>"
JSON = b'[{"id": "1"},\n{"id": "2"}]'
LINES = b'{"id": "1"}\n{"id": "2"}\n'
CONTENTS = {"csv": CSV, "xml": XML, "json": JSON, "jsonl": LINES}


def encrypted(data: bytes) -> bytes:
    """The archive with the mark of a password on its one member."""
    marked = bytearray(data)
    marked[6] |= 1
    marked[data.rindex(b"PK\x01\x02") + 8] |= 1
    return bytes(marked)


def ids(reader) -> list[str | None]:
    return [values(record)["id"] for record in reader]


@pytest.mark.parametrize("pack", [gzip.compress, lambda d: zipped({"feed": d})], ids=["gzip", "zip"])
@pytest.mark.parametrize("form", CONTENTS)
def test_a_compressed_feed_reads_like_the_feed_itself(form, pack):
    plain, packed = reader_of(CONTENTS[form]), reader_of(pack(CONTENTS[form]))
    one = [(r.number, r.line, r.digest) for r in plain]
    assert [(r.number, r.line, r.digest) for r in packed] == one
    assert (packed.format, packed.header) == (plain.format, plain.header)
    digests = {digest for *_, digest in one}
    again = reader_of(pack(CONTENTS[form]), known=digests.intersection)
    assert [(r.item, r.digest) for r in again] == [(None, digest) for *_, digest in one]


def test_a_compressed_file_is_known_by_its_content_not_its_name(tmp_path):
    path = tmp_path / "feed.csv"
    path.write_bytes(gzip.compress(CSV))
    reader = open_reader(path, ReadSpec(), FeedLimits())
    assert ids(reader) == ["1", "2"]
    assert reader.bytes_read == path.stat().st_size


def test_several_gzip_files_in_one_and_padding_after_them_are_one_feed():
    data = gzip.compress(CSV) + gzip.compress(b"3,c\n") + b"\0" * 512
    assert ids(reader_of(data)) == ["1", "2", "3"]


def test_the_members_of_a_zip_archive_are_one_feed_in_its_order():
    data = zipped({"z.csv": CSV, "a.csv": b"id,title\n3,c\n"})
    found = [(r.number, r.line, r.item["id"]) for r in reader_of(data)]
    assert found == [(1, 2, "1"), (2, 3, "2"), (3, 2, "3")]


def test_what_precedes_the_records_is_there_for_each_member():
    member = b"<source><publisher>P%d</publisher><job><id>1</id></job></source>"
    reader = reader_of(zipped({f"{n}.xml": member % n for n in range(3)}))
    assert [record.item.getparent().findtext("publisher") for record in reader] == ["P0", "P1", "P2"]


def test_names_of_members_are_never_paths_and_litter_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    litter = {
        "__MACOSX/._a.csv": b"\0\5",
        "d/.DS_Store": b"x",
        "d/": b"",
        "desktop.ini": b"x",
        "d/~$a.csv": b"x",
    }
    data = zipped({"../../evil.csv": CSV, "/etc/x.csv": CSV, **litter})
    assert ids(reader_of(data)) == ["1", "2", "1", "2"]
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize(
    ("totals", "declared"),
    [((4, 4), 4), ((2, 3), 5), ((None, None), None), ((7, None), 9)],
    ids=["pages of one list", "each its own", "none", "one of two"],
)
def test_the_declared_numbers_of_members_are_joined(totals, declared):
    def member(total):
        head = f'"total": {total}, ' if total else ""
        return f'{{{head}"jobs": [{{"id": "1"}}, {{"id": "2"}}]}}'.encode()

    reader = reader_of(zipped({f"{n}.json": member(total) for n, total in enumerate(totals)}))
    assert len(list(reader)) == 4
    assert reader.announced.total == declared


def test_marks_of_corrected_rows_are_seen_in_any_member():
    reader = reader_of(zipped({"a.jsonl": LINES, "b.jsonl": b'{"id": "3", "syncd_errors": "x"}\n'}))
    assert len(list(reader)) == 3
    assert reader.mended


BAD = {
    "truncated gzip": (gzip.compress(CSV * 500)[:-20], "truncated", "ends before"),
    "gzip cut in its header": (gzip.compress(CSV)[:5], "truncated", "ends before"),
    "gzip with junk after it": (gzip.compress(CSV) + b"junk", "bad_archive", "more data after"),
    "gzip with a wrong checksum": (gzip.compress(CSV)[:-8] + b"\0" * 8, "bad_archive", "CRC"),
    "gzip with flipped bytes": (gzip.compress(CSV)[:10] + b"\xff" * 40, "bad_archive", "damaged"),
    "gzip of nothing": (gzip.compress(b""), "empty_file", "empty"),
    "gzip in gzip": (gzip.compress(gzip.compress(CSV)), "not_a_feed", "within an archive"),
    "gzip of a page": (gzip.compress(b"<html><body>Sorry</body></html>"), "not_a_feed", "HTML"),
    "zip of nothing": (zipped({}), "empty_file", "has no file"),
    "zip of a folder": (zipped({"a/": b""}), "empty_file", "has no file"),
    "zip of an empty file": (zipped({"a.csv": b""}), "empty_file", "a.csv"),
    "truncated zip": (zipped({"a.csv": CSV})[:-30], "truncated", "cut off"),
    "zip with junk after it": (zipped({"a.csv": CSV}) + b"junk" * 9, "bad_archive", "more data after"),
    "encrypted zip": (encrypted(zipped({"a.csv": CSV})), "bad_archive", "encrypted"),
    "bzip2 in zip": (zipped({"a.csv": CSV}, zipfile.ZIP_BZIP2), "bad_archive", "bzip2"),
    "LZMA in zip": (zipped({"a.csv": CSV}, zipfile.ZIP_LZMA), "bad_archive", "LZMA"),
    "zip in zip": (zipped({"a.zip": zipped({"a.csv": CSV})}), "not_a_feed", "within an archive"),
    "gzip in zip": (zipped({"a.gz": gzip.compress(CSV)}), "not_a_feed", "within an archive"),
    "members of two formats": (zipped({"a.csv": CSV, "b.xml": XML}), "bad_archive", "b.xml: this is xml"),
    "members with two headers": (zipped({"a.csv": CSV, "b.csv": b"x,y\n1,2\n"}), "bad_header", "b.csv"),
    "a member that is none": (zipped({"a.csv": CSV, "readme": b"Hello"}), "not_a_feed", "readme"),
    "a member that is broken": (zipped({"a.xml": XML, "b.xml": XML[:-9]}), "truncated", "b.xml"),
    "an OpenDocument sheet": (
        zipped({"mimetype": b"application/vnd.oasis.opendocument.spreadsheet", "content.xml": b"<x/>"}), "not_a_feed",
        "this is an OpenDocument spreadsheet (.ods), not a feed: save it as .xlsx or CSV"),
    "an OpenDocument text": (
        zipped({"content.xml": b"<x/>", "META-INF/manifest.xml": b"<x/>"}), "not_a_feed", "OpenDocument file"),
    "a Word document": (
        zipped({"[Content_Types].xml": b"<x/>", "word/document.xml": b"<x/>"}), "not_a_feed", "Word"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_faulty_archive_fails_with_its_reason(name):
    data, code, word = BAD[name]
    error = fault(data)
    assert (error.code, word in error.detail) == (code, True), error.detail


def test_a_fault_in_a_member_names_it_and_its_line_and_a_hostile_name_is_harmless():
    error = fault(zipped({"ok.xml": XML, "a\n\x1b[31m" + "x" * 200: b"<jobs>\n<job></jobs>"}))
    assert (error.code, error.line) == ("not_well_formed", 2)
    assert error.detail.startswith("a??[31mxxx")
    assert len(error.detail) < 250


def test_a_member_without_a_name_is_read_like_any_other():
    data = zipped({"QQ": b"id,t\n1,x\n"}).replace(b"QQ", b"\0Q")
    assert [record.item for record in reader_of(data)] == [{"id": "1", "t": "x"}]


def test_limits_hold_for_all_members_together():
    rows = b"id,t\n" + b"1,%b\n" % (b"x" * 200) * 8_000
    data = zipped({"a.csv": rows, "b.csv": rows})
    assert fault(data, limits=FeedLimits(rows=12_000)).code == "limit_exceeded"
    assert len(items(data, limits=FeedLimits(ratio=10_000))) == 16_000
    for packed, size in ((data, 2_000_000), (gzip.compress(rows), 1_100_000)):
        assert "[limits] file" in fault(packed, limits=FeedLimits(file=size, ratio=10_000)).detail
        assert "100 times its size" in fault(packed, limits=FeedLimits(ratio=100)).detail


def test_an_archive_with_too_long_a_list_of_members_is_refused():
    data = zipped({f"{n:0200}": b"" for n in range(5_000)}, zipfile.ZIP_STORED)
    error = fault(data, limits=FeedLimits(text=1_000_000))
    assert (error.code, "more than 1000000 bytes" in error.detail) == ("limit_exceeded", True)
