"""Readers: valid files that are changed at random give only records and FeedErrors, and these name the right places."""

from __future__ import annotations

import gzip
import io
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers import ReadSpec
from syncd.feeds.readers.opening import read_stream
from tests.amounts import examples
from tests.feeds.spreadsheets import book, row

CSV = "sep=;\r\nid;title;city\r\n" + "".join(f'{n};"a;\r\n""b""";Québec\r\n' for n in range(9))
XML = (
    '<?xml version="1.0"?>\n<source><publisher>P</publisher>\n'
    + "".join(f"<job n='{n}'>\n<id>{n}</id><t><![CDATA[<b>é</b>]]>&nbsp;</t></job>\n" for n in range(9))
    + "</source>"
)
JSON = (
    '{"meta": {"total": 9},\n"jobs": [' + ",\n".join(f'{{"id": {n}, "t": ["é\\n"]}}' for n in range(9)) + "]}"
)
KEYED = (
    '{"jobs": {'
    + ",\n".join(f'"{n}\\u00e9": {{"id": {n}, "t": ["é\\n"]}}' for n in range(9))
    + '}, "total": 9}'
)
LINES = "".join(f'{{"id": {n}, "t": "é"}}\n' for n in range(9))
TEXTS = {"csv": CSV.encode(), "xml": XML.encode(), "json": JSON.encode(), "jsonl": LINES.encode()}
SHEET = book(
    {"Jobs": row("id", "t") + "".join(f'<row><c><v>{n}</v></c><c t="s"><v>{n % 2}</v></c></row>' for n in range(9))},
    ["<t>a</t>", "<r><t>b</t></r>"],
)  # fmt: skip


def zipped(method: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name in ("a.csv", "b.csv"):
            archive.writestr(name, TEXTS["csv"])
    return out.getvalue()


FILES = {
    **TEXTS,
    "keyed json": KEYED.encode(),
    "utf-16": XML.replace("?>", ' encoding="utf-16"?>', 1).encode("utf-16"),
    "cp1252": CSV.encode("cp1252"),
    "gzip": gzip.compress(TEXTS["json"]),
    "zip": zipped(zipfile.ZIP_DEFLATED),
    "stored zip": zipped(zipfile.ZIP_STORED),
    "xlsx": SHEET,
}
LIMITS = FeedLimits(file=1 << 22, record=200, text=4000, rows=12, depth=8, columns=8)


def read(data: bytes, spec: ReadSpec, limits: FeedLimits) -> tuple[list[tuple[int, int | None]], str | None]:
    """(number, line) of the records, and the code of the fault that ended them."""
    found: list[tuple[int, int | None]] = []
    fault: FeedError | None = None
    try:
        for record in read_stream(lambda: io.BytesIO(data), spec, limits):
            found.append((record.number, record.line))
            assert (record.item is None) <= (record.problem is not None)
            if record.raw is not None:
                record.raw()
    except FeedError as error:
        fault = error
    assert fault is None or (fault.detail and (fault.line is None or fault.line >= 1))
    return found, fault.code if fault else None


def check_places(found: list[tuple[int, int | None]], *, one_text: bool, data: bytes) -> None:
    assert [number for number, _ in found] == list(range(1, len(found) + 1))
    lines = [line for _, line in found if line is not None]
    assert all(line >= 1 for line in lines)
    if one_text:
        ends = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n")
        assert lines == sorted(lines)
        assert all(line <= ends + 1 for line in lines)


cuts = st.tuples(st.just("cut"), st.floats(0, 1), st.just(b""))
flips = st.tuples(st.just("flip"), st.floats(0, 1), st.binary(min_size=1, max_size=4))
pieces = st.sampled_from(
    [b"<", b">", b"</job>", b"<job>", b"]]>", b"<!--", b"<![CDATA[", b"&", b"&x;", b'"', b"\n", b"\r", b"\0",
     b"{", b"}", b"[", b"]", b",", b":", b"\\", b'\\u"', b"\xff\xfe", b"\xef\xbb\xbf", b";;;", b"1e999", b"PK\x03\x04"]
)  # fmt: skip
inserts = st.tuples(st.just("insert"), st.floats(0, 1), pieces)
drops = st.tuples(st.just("drop"), st.floats(0, 1), st.binary(min_size=1, max_size=30))
splices = st.tuples(st.just("splice"), st.floats(0, 1), st.sampled_from(sorted(FILES)).map(FILES.__getitem__))
damages = st.lists(st.one_of(cuts, flips, inserts, drops, splices), min_size=1, max_size=3)


def damaged(data: bytes, damage: list[tuple[str, float, bytes]]) -> bytes:
    for kind, place, extra in damage:
        at = int(place * len(data))
        match kind:
            case "cut":
                data = data[:at]
            case "flip":
                data = data[:at] + extra + data[at + len(extra) :]
            case "insert":
                data = data[:at] + extra + data[at:]
            case "drop":
                data = data[:at] + data[at + len(extra) :]
            case "splice":
                data = data[:at] + extra[len(extra) // 2 :]
    return data


@pytest.mark.parametrize("name", FILES)
@settings(deadline=None, max_examples=examples(120))
@given(damages, st.sampled_from([FeedLimits(), LIMITS]), st.booleans())
def test_a_damaged_file_gives_records_in_their_places_or_a_feed_error(name, damage, limits, form_is_set):
    data = damaged(FILES[name], damage)
    form = name if form_is_set and name in TEXTS else None
    found, _ = read(data, ReadSpec(format=form), limits)
    one_text = name in ("csv", "json", "keyed json", "jsonl", "xml") and not any(
        kind == "splice" for kind, *_ in damage
    )
    check_places(found, one_text=one_text and not data.startswith((b"\xff\xfe", b"PK")), data=data)


@settings(deadline=None, max_examples=examples(120))
@given(damages)
def test_damaged_xml_that_is_read_leniently_gives_records_or_a_feed_error(damage):
    found, _ = read(damaged(FILES["xml"], damage), ReadSpec(recover=True), FeedLimits())
    check_places(found, one_text=False, data=b"")


@pytest.mark.parametrize("name", FILES)
def test_a_whole_file_gives_all_its_records(name):
    found, fault = read(FILES[name], ReadSpec(), FeedLimits())
    assert (len(found), fault) == (18 if name in ("zip", "stored zip") else 9, None)
