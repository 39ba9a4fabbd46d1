"""Readers: XML that is not well-formed, read with the setting ``recover``."""

import io
import time
import zipfile

import pytest

from syncd.feeds.readers import ReadSpec
from tests.amounts import some
from tests.feeds.readers.reading import MB, X, fault, items, read, reader_of, values

_SECOND = "begins after the end of the first root and was left out"
#: Name → (a file that is read leniently, the ids that come, the report of losses).
LENIENT = {
    "two roots": ("<jobs><job><id>1</id></job></jobs>\n<jobs><job><id>2</id></job></jobs>", "1", f"<jobs> (line 2) {_SECOND}"),
    "records without a root": ("<job><id>1</id></job>\n<job><id>2</id></job><job><id>3</id></job>", "1",
                               f"<job> (line 2) {_SECOND}"),
    "a declaration before each root": (X + "<jobs><job><id>1</id></job></jobs>" + X + "<a:more xmlns:a='u'/>", "1",
                                       f"<more> (line 1) {_SECOND}"),
    "an end tag too many": ("<jobs><job><id>1</id></job></jobs></jobs><job><id>2</id></job></jobs>", "1",
                            f"<job> (line 1) {_SECOND}"),
    "junk and comments after the root": ("<jobs><job><id>1</id></job></jobs> junk <!-- <jobs><job/> -->", "1", None),
    "the end tag of the root in CDATA": (
        "<jobs><job><id><![CDATA[1</jobs>]]></id></job><job><id>2</id></job></jobs>", "1</jobs> 2", None),
    "a bare &": ("<jobs><job><id>a&b&amp;&eacute;</id></job></jobs>", "a&b&é", None),
    "a bare <": ("<jobs><job><id>1<2</id></job><job><id>2</id></job></jobs>", "1<2 2", None),
    "marks in CDATA": ("<jobs><job><id><![CDATA[<job>&<5]]></id></job></jobs>", "<job>&<5", None),
    "a wrong end tag": ("<jobs><job><id>1</job><job><id>2</id></job></jobs>", "1", "of 2 <job> 1 could not be read"),
    "a cut": ("<jobs><job><id>1</id></job><job><id>2</id></jo", "1 2", None),
}  # fmt: skip


@pytest.mark.parametrize("size", [1, 1 << 18])
@pytest.mark.parametrize("name", LENIENT)
def test_a_lenient_reading_finds_every_record_or_reports_what_it_lost(name, size, monkeypatch):
    text, ids, lost = LENIENT[name]
    monkeypatch.setattr("syncd.feeds.readers.source.CHUNK", size)
    reader, got = read(text, ReadSpec(recover=True))
    assert " ".join(value["id"] for value, _ in got) == ids
    assert reader.withheld == "read leniently ([read] recover = true)" + (f"; {lost}" if lost else "")


#: Four records; the text of the first has control characters, in CDATA and outside.
CONTROLS = (
    "<jobs>\x00<job><id>1</id><d><![CDATA[<p>First paragraph of the duties.</p><p>Second\x0b line.</p>]]></d>"
    "<t>a\x1f\tb\x01</t></job>"
    + "".join(f"<job><id>{n}</id><d>whole</d><t>é</t></job>" for n in (2, 3, 4))
    + "</jobs>"
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("size", [1, 1 << 18])
def test_control_characters_take_no_text_with_them_and_are_counted(encoding, size, monkeypatch):
    monkeypatch.setattr("syncd.feeds.readers.source.CHUNK", max(size, 5))  # more than any byte order mark
    reader, got = read(CONTROLS.encode(encoding), ReadSpec(recover=True))
    assert [value for value, _ in got] == [
        {"id": "1", "d": "<p>First paragraph of the duties.</p><p>Second line.</p>", "t": "a\tb"},
        *({"id": n, "d": "whole", "t": "é"} for n in "234"),
    ]
    warnings = dict(reader.warnings())
    assert warnings["control_characters"].startswith("4 control characters were left out")
    assert ("encoding_guessed" in warnings) is (encoding == "cp1252")
    assert reader.withheld == "read leniently ([read] recover = true)"


def test_control_characters_behind_the_head_of_the_file_are_left_out_too():
    job = "<job><id>{}</id><d><![CDATA[x\x0b{}y]]></d></job>"
    text = "\x0c<jobs>\n" + "\n".join(job.format(n, "z" * 1000) for n in range(1500)) + "</jobs>"
    reader = reader_of(text, ReadSpec(recover=True))
    lines = [(record.line, len(values(record)["d"])) for record in reader]
    assert lines == [(line, 1002) for line in range(2, 1502)]
    assert reader.controls == 1501


def test_the_control_characters_of_all_files_of_an_archive_are_counted():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.xml", CONTROLS)
        archive.writestr("b.xml", CONTROLS.replace("\x0b", "").replace("\x01", "").replace("\x1f", ""))
    reader, got = read(packed.getvalue(), ReadSpec(recover=True))
    assert (len(got), reader.controls) == (8, 5)


@pytest.mark.parametrize("text", ["<id>\x0b</id>", "<id><![CDATA[a\x0b]]></id>"])
def test_a_strict_reading_fails_at_a_control_character(text):
    error = fault(f"<jobs>\n<job>{text}</job></jobs>")
    assert (error.code, error.line, error.column is not None) == ("not_well_formed", 2, True)
    assert "the character with number 11" in error.detail


def test_what_has_no_control_characters_brings_no_warning():
    assert (
        list(read("<jobs><job><id>a & b\r\n\t\x85</id></job></jobs>", ReadSpec(recover=True))[0].warnings())
        == []
    )


_GOOD = "<job><id>2</id><d>y</d></job>"
#: Name → (the content of the root, the ids with the codes of their problems).
MIXED_UP = {
    "tags of HTML without end": (
        f"<job><id>1</id><d><p>Unclosed <br> br <li>x</p></d></job>{_GOOD}<job><id>3</id></job>", "1 not_well_formed"),
    "and one end too many in a later record": (
        f"<job><id>1</id><d><br></d></job><job><id>2</id></d></job>{_GOOD}", "1 not_well_formed, 2 None"),
    "a field without end in the last record": (f"{_GOOD}<job><id>1</id><t>Cook<b></t><d>x</d></job>",
                                               "2 None, 1 not_well_formed"),
    "an end too many": (f"<job><id>1</id></b><d>x</d></job>{_GOOD}", "1 not_well_formed"),
    "an end too many one level deeper": (f"<a><job><id>1</id></b><d>x</d></job>{_GOOD}</a>", "1 not_well_formed"),
    "tags that overlap": (f"<job><id>1</id><d><b><i>x</b></i></d></job>{_GOOD}", "1 None, 2 None"),
    "a text of the record's name": (f"<job><id>1</id><job>Cook</job></job >{_GOOD}", "1 None, 2 None"),
    "another prefix in the end tag": (f"<n:job xmlns:n='u'><id>1</id></n:job>{_GOOD}", "1 None, 2 None"),
    "records without end tags": ("<job/><job id='1'/><job></job>" + _GOOD, "None None, None None, None None, 2 None"),
    "an end tag in CDATA": (f"<job><id>1</id><d><![CDATA[</job><job>]]></d></job>{_GOOD}", "1 None, 2 None"),
    "an end tag in a comment": (f"<job><id>1</id><!-- </job> --></job>{_GOOD}", "1 None, 2 None"),
    "a bare mark before the end tag": (f"<job><id>1</id>a & b &amp <</job>{_GOOD}", "1 None, 2 None"),
}  # fmt: skip


@pytest.mark.parametrize("size", [1, 1 << 18])
@pytest.mark.parametrize("name", MIXED_UP)
def test_a_record_that_may_be_made_of_several_is_a_problem(name, size, monkeypatch):
    text, expected = MIXED_UP[name]
    monkeypatch.setattr("syncd.feeds.readers.source.CHUNK", size)
    spec = ReadSpec(recover=True, records="/jobs/a/job" if text.startswith("<a>") else None)
    _, got = read(f"<jobs>{text}</jobs>", spec)
    assert ", ".join(f"{value.get('id')} {problem}" for value, problem in got) == expected


def test_a_record_that_the_end_of_the_file_cuts_off_is_a_problem():
    for end, problem in (("", "not_well_formed"), ("</d></jo", "not_well_formed"), ("</d></job>", None)):
        _, got = read("<jobs><job><id>1</id></job><job><id>2</id><d>The dut" + end, ReadSpec(recover=True))
        assert [code for _, code in got] == [None, problem]


def test_a_first_root_without_records_is_named():
    assert (
        "the root is 'error'"
        in fault("<error><a/></error><jobs><job/></jobs>", ReadSpec(recover=True)).detail
    )


@pytest.mark.parametrize("unit", ["<a/>", "<a></a>", "<a><a></a>", "<a>&<b"])
def test_a_megabyte_of_roots_without_records_is_refused_at_once(unit):
    start = time.process_time()
    assert fault(unit * (MB // len(unit)), ReadSpec(recover=True)).code == "no_records_path"
    assert time.process_time() - start < 30  # 3 at most; a quadratic search takes minutes


def test_the_one_record_of_a_file_may_have_others_beside_it_below_a_root():
    spec = ReadSpec(records="/job_offer")
    assert items("<job_offer><id>1</id></job_offer>", spec) == [{"id": "1"}]
    assert items("<jobs><job_offer><id>1</id></job_offer><job_offer><id>2</id></job_offer></jobs>", spec) == [
        {"id": "1"},
        {"id": "2"},
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    some(
        [
            ("<jobs><job>" + "<a>" * 300 + "</a>" * 300 + "</job></jobs>", "limit_exceeded"),
            ("<jobs><job><id>&custom;</id></job></jobs>", "unknown_entity"),
            ("<jobs><job><id>1</id></job></jobs><" + "x" * 11 * MB, "limit_exceeded"),
        ],
        2,
    ),
    ids=["deep", "entity", "name"],
)
def test_leniency_ends_at_limits_document_types_and_entities(text, code):
    assert fault(text, ReadSpec(recover=True)).code == code
