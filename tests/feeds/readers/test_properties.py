"""Readers: laws of any document, cut or broken anywhere, and with any of its records known."""

import csv
import io
import json
import random
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from lxml import etree

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers import ReadSpec, source
from syncd.feeds.readers.records import Format
from tests.amounts import examples
from tests.feeds.readers.reading import FOUND, reader_of

NAMES = [f"c{n}" for n in range(4)]
_char = st.characters(min_codepoint=1, exclude_categories=["Cs"])
cells = st.text(st.one_of(_char, st.sampled_from('",;\t|\r\n<>&]é€')), max_size=12)
rows = st.lists(st.lists(cells, min_size=4, max_size=4), max_size=12)
xml_cells = cells.map(
    lambda s: "".join(
        c for c in s if c in "\t\n" or (c >= " " and not "\x7f" <= c <= "\x9f" and c not in "\ufffe\uffff")
    )
)
relaxed = settings(
    deadline=None, max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(params=[None, 7, 64], autouse=True)
def chunk(request, monkeypatch):
    """Chunks of a few bytes, so that everything falls on an edge between two some time."""
    if request.param:
        monkeypatch.setattr(source, "CHUNK", request.param)


def records(data: bytes, spec: ReadSpec = FOUND, known=None):
    return list(reader_of(data, spec, known=known))


encodings = st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])


@relaxed
@given(rows, st.sampled_from(",;\t|"), st.sampled_from(["\r\n", "\n"]), st.booleans(), encodings)
def test_csv_reads_back_what_was_written(table, delimiter, end, quoted, encoding):
    if not quoted:  # csv.writer leaves a lone carriage return unquoted
        table = [[cell.replace("\r", "\n") for cell in row] for row in table]
    out = io.StringIO(newline="")
    dialect = {"delimiter": delimiter, "lineterminator": end}
    writer = csv.writer(out, **dialect, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL)
    writer.writerows([NAMES, *table])
    spec = ReadSpec(format="csv", delimiter=delimiter, encoding=None if encoding != "utf-8" else "utf-8")
    got = [record.item for record in records(out.getvalue().encode(encoding), spec)]
    assert got == [dict(zip(NAMES, row, strict=True)) for row in table if any(cell.strip() for cell in row)]


json_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text('ab:"\\,{}é', max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
objects = st.lists(st.dictionaries(st.sampled_from([*NAMES, 'q":']), json_values, max_size=4), max_size=10)


indents, marks = st.sampled_from([None, 1]), st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")])


@relaxed
@given(objects, indents, st.booleans(), st.booleans(), marks)
def test_json_reads_back_what_was_written(table, indent, ascii_only, enveloped, separators):
    body = {"total": 1, "x": [{"jobs": [1]}], "jobs": table, "y": "]"} if enveloped else table
    text = json.dumps(body, indent=indent, ensure_ascii=ascii_only, separators=separators)
    assert [record.item for record in records(text.encode(), ReadSpec(encoding="utf-8"))] == table


keyed = st.dictionaries(st.text('a1:"\\,{}é', max_size=4), objects.map(lambda rows: dict(enumerate(rows))))


@relaxed
@given(keyed, indents, st.booleans(), marks, st.sampled_from(["*", "data.jobs.*"]))
def test_json_records_by_key_read_back_as_written_whether_known_or_not(
    table, indent, ascii_only, separators, path
):
    table = {key: {str(name): part for name, part in value.items()} for key, value in table.items()}
    body = table if path == "*" else {"x": {"jobs": {"1": {}}}, "data": {"jobs": table, "y": "}"}, "z": 1}
    text = json.dumps(body, indent=indent, ensure_ascii=ascii_only, separators=separators).encode()
    spec = ReadSpec(format="json", records=path, encoding="utf-8")
    first = records(text, spec)
    assert [record.item for record in first] == [{**value, "@key": key} for key, value in table.items()]
    again = records(text, spec, known=lambda digests: digests)
    assert [(r.digest, r.line, r.item) for r in again] == [(r.digest, r.line, None) for r in first]
    assert len({record.digest for record in first}) == len(first)


@relaxed
@given(objects, st.lists(st.sampled_from([",", ", ", ",\n", " ,\r\n\t"]), min_size=10, max_size=10))
def test_json_records_are_the_same_however_they_are_found(table, separators):
    """Where one text stands between all records, they are cut there, else they are read one by one."""
    texts = [json.dumps(row, ensure_ascii=False) for row in table]
    plain = "[" + "".join(a + b for a, b in zip(texts, separators, strict=False)).rstrip(", \r\n\t") + "]"
    fast = "[" + ",\n".join(texts) + "]"
    spec = ReadSpec(format="json", encoding="utf-8")
    one, other = records(plain.encode(), spec), records(fast.encode(), spec)
    assert [(r.digest, r.item) for r in one] == [(r.digest, r.item) for r in other]
    assert [r.line for r in other] == list(range(1, len(table) + 1))
    newlines = [separator.count("\n") for separator in separators]
    assert [r.line for r in one] == [1 + sum(newlines[:n]) for n in range(len(table))]


@relaxed
@given(objects, st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_json_lines_read_back_what_was_written(table, end):
    text = "".join(json.dumps(row) + end for row in table) or "\n\n{}\n"
    got = [record.item for record in records(text.encode(), ReadSpec(format="jsonl"))]
    assert got == (table or [{}])


def field(name: str, text: str, cdata: bool) -> str:
    body = "<![CDATA[" + text.replace("]]>", "]]]]><![CDATA[>") + "]]>" if cdata else escape(text)
    return f"<{name}>{body}</{name}>"


@relaxed
@given(
    st.lists(st.lists(xml_cells, min_size=4, max_size=4), max_size=8),
    st.booleans(),
    st.sampled_from(["", "\n", "\n  "]),
)
def test_xml_reads_back_what_was_written(table, cdata, gap):
    jobs = [
        f"<job>{gap}{gap.join(field(n, t, cdata) for n, t in zip(NAMES, row, strict=True))}</job>{gap}"
        for row in table
    ]
    data = f"<jobs>{gap}{''.join(jobs)}</jobs>".encode()
    reader = reader_of(data, ReadSpec(encoding="utf-8"))
    assert [[child.text or "" for child in record.item] for record in reader] == table


#: Pieces that mislead a slicer: end tags where none end, nesting, comments, CDATA, instructions, look-alikes.
_leaf = st.sampled_from(
    ["a", " ", "\n", "&amp;", "&nbsp;", "]]&gt;", "<!--</job>-->", "<!-- <job> -->", "<![CDATA[</job>]]>", "<![CDATA[<job>]]>",
     "<![CDATA[<!--]]>", "<![CDATA[-->&x;]]>", "<?p </job>?>", "<?p <job>?>", "<jobs/>", "<job/>",
     "<job x='>'>q</job >", "<b c='-->'/>", "<b c=']]>'>z</b>"]
)  # fmt: skip
_inner = st.lists(_leaf, max_size=4).map("".join)
_job = st.tuples(st.sampled_from(["", " a='1'", " a='>'", "\n"]), _inner, st.booleans(), _inner).map(
    lambda t: f"<job{t[0]}>{t[1]}<job>{t[3]}</job></job>" if t[2] else f"<job{t[0]}>{t[1]}</job>"
)
_between = st.sampled_from(
    ["", "\n", " ", "", "\n", "<!-- x -->", "<!--<job>1</job>-->", "<!--<job>a</job>\n", "-->",
     "<?p <job>a</job>?>", "<x/>", "<x><job>a</job></x>", "</jobs><jobs>",
     "</jobs><jobs a='2'>", "</jobs><jobs xmlns='urn:x'>", "<!-- ", " --><job>a</job>", "text"]
)  # fmt: skip
documents = st.lists(st.tuples(_between, st.one_of(st.just("<job>a</job>"), _job)), max_size=8).map(
    lambda parts: "<source>\n<jobs>" + "".join(a + b for a, b in parts) + "</jobs></source>"
)


def outcome(data: bytes, spec: ReadSpec, known=None):
    """The result of reading: the records and the error's code, if any."""
    found: list[object] = []
    try:
        for record in reader_of(data, spec, known=known):
            item = record.item
            if isinstance(item, etree._Element):
                item = etree.tostring(item, with_tail=False, method="c14n")
            found.append((record.number, record.line, item, record.digest))
    except FeedError as error:
        return found, (error.code, error.line)
    return found, None


XML_SPEC = ReadSpec(records="source/jobs/job", encoding="utf-8")


def truth(data: bytes) -> list[bytes] | None:
    """The records as lxml has them in one piece; None if it is not well-formed."""
    parser = etree.XMLParser(remove_comments=True, remove_pis=True, resolve_entities=False)
    try:
        root = etree.fromstring(data.replace(b"&nbsp;", b"&#160;"), parser)
    except etree.XMLSyntaxError:
        return None
    found = root.iterfind("{*}jobs/{*}job")
    return [etree.tostring(e, with_tail=False, method="c14n") for e in found]


@settings(relaxed, max_examples=examples(400))
@given(documents, st.randoms(use_true_random=False))
def test_xml_records_are_those_of_the_whole_tree_whichever_of_them_are_known(text, rng: random.Random):
    data = text.encode()
    plain, error = outcome(data, XML_SPEC)
    expected = truth(data)
    if expected is None:
        assert error is not None
    else:
        assert error is None
        assert [item for _, _, item, _ in plain] == expected
    digests = {digest for *_, digest in plain if rng.random() < 0.6}
    again, error_again = outcome(data, XML_SPEC, digests.intersection)
    assert error_again == error
    if error is None:
        assert len(again) == len(plain)
    for (n1, l1, i1, d1), (n2, l2, i2, d2) in zip(plain, again, strict=False):
        assert (n1, l1, d1) == (n2, l2, d2)
        assert i2 in (None, i1)
        assert i2 is not None or d2 in digests


@settings(relaxed, max_examples=examples(400))
@given(documents, documents)
def test_what_one_document_taught_never_changes_how_another_is_read(one, two):
    first = {digest: item for _, _, item, digest in outcome(one.encode(), XML_SPEC)[0]}
    plain, error = outcome(two.encode(), XML_SPEC)
    assert all(first.get(digest, item) == item for _, _, item, digest in plain)
    fast, fast_error = outcome(two.encode(), XML_SPEC, {*first}.intersection)
    assert fast_error == error
    assert [r[3] for r in fast] == [r[3] for r in plain][: len(fast)]
    assert error is not None or len(fast) == len(plain)


csv_noise = st.lists(
    st.sampled_from(["a", '"', '""', ",", "\n", "\r\n", "b,c", '"x\ny"', "1,2\r\n", '5" x', "\r"]),
    max_size=25,
).map("".join)


@settings(relaxed, max_examples=examples(400))
@given(csv_noise, st.randoms(use_true_random=False), st.sampled_from(["\n", "\r\n"]))
@example('a"x\ny"\r\na\r\na\n\r', random.Random(0), "\r\n")  # a stray LF belongs to the record, or not
def test_csv_rows_are_those_of_csv_reader_whichever_of_them_are_known(noise, rng: random.Random, end):
    data = f"c0,c1{end}{noise}{end}".encode()
    spec = ReadSpec(format="csv", delimiter=",", encoding="utf-8")
    plain, error = outcome(data, spec)
    if error is None:
        reference = list(csv.reader(io.StringIO(data.decode(), newline="")))[1:]
        expected = [row for row in reference if any(cell.strip() for cell in row)]
        assert [list(item.values()) for _, _, item, _ in plain] == [row[:2] for row in expected]
    digests = {digest for *_, digest in plain if rng.random() < 0.5}
    again, error_again = outcome(data, spec, digests.intersection)
    assert error_again == error
    assert [(r[0], r[1], r[3]) for r in again] == [(r[0], r[1], r[3]) for r in plain]


@settings(relaxed, max_examples=examples(400))
@given(csv_noise, st.sampled_from(["\n", "\r\n"]), st.sampled_from([",", "\u00a7", "\t"]))
def test_csv_records_and_their_cells_are_those_of_csv_reader_also_where_they_are_too_long(
    noise, end, delimiter
):
    text = f"c0,c1{end}{noise}{end}".replace(",", delimiter)
    spec = ReadSpec(format="csv", delimiter=delimiter, encoding="utf-8")
    limits = FeedLimits(record=len(f"c0{delimiter}c1".encode()))
    try:
        got = [record.raw() for record in reader_of(text, spec, limits)]
    except FeedError as error:
        if error.code != "truncated":
            raise
        return
    reference = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))[1:]
    assert got == [row for row in reference if any(cell.strip() for cell in row)]


@relaxed
@given(objects, st.integers(1, 40), marks, st.booleans())
def test_json_records_have_the_same_bounds_where_they_are_too_long(table, longest, separators, keyed):
    body: object = {str(n): row for n, row in enumerate(table)} if keyed else table
    data = json.dumps(body, separators=separators).encode()
    spec = ReadSpec(format="json", records="*" if keyed else "$", encoding="utf-8")
    expected = [(r.digest, r.line) for r in records(data, spec)]
    short = reader_of(data, spec, FeedLimits(record=longest))
    got = [(r.digest, r.line, r.problem.code if r.problem else None) for r in short]
    assert [(digest, line) for digest, line, _ in got] == expected
    assert {problem for *_, problem in got} <= {None, "too_long"}


SAMPLES = {
    "csv": 'id,title,city\r\n1,"a, ""b""\nc",Québec\r\n2,d,e\r\n3,f,"g"\r\n'.encode(),
    "xml": (
        '<?xml version="1.0"?>\n<jobs>\n<job><id>1</id><t><![CDATA[<b>é</b>]]></t></job>\n'
        '<job a="2"><id>&eacute;</id></job></jobs>'
    ).encode(),
    "json": '{"meta": {"total": 2}, "jobs": [{"id": 1, "t": "é\\n"}, {"id": 2, "n": [1.5, {"a": null}]}]}'.encode(),
    "keyed": '{"jobs": {"1": {"id": 1, "t": "é\\n"}, "b\\"": {"n": [1.5, {"a": null}]}}, "total": 2}'.encode(),
    "jsonl": '{"id": 1, "t": "é"}\n{"id": 2, "n": [1.5]}\n'.encode(),
}


FORMS: dict[str, Format] = {"csv": "csv", "xml": "xml", "json": "json", "keyed": "json", "jsonl": "jsonl"}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_cut_anywhere_never_reads_as_the_whole_and_never_breaks_the_reader(name):
    data = SAMPLES[name]
    spec = ReadSpec(format=FORMS[name])
    whole, error = outcome(data, spec)
    assert error is None
    for cut in range(len(data)):
        found, error = outcome(data[:cut], spec)
        assert len(found) <= len(whole)
        if name in ("xml", "json", "keyed"):
            assert error is not None
            codes = "truncated empty_file no_records_path bad_encoding not_well_formed"
            assert error[0] in codes.split(), cut


@pytest.mark.parametrize("name", ["xml", "json", "keyed"])
def test_a_file_cut_among_its_records_is_truncated(name):
    data = SAMPLES[name]
    start = data.index(b"<id>") if name == "xml" else data.index(b'{"id')
    codes = {}
    for cut in range(start, len(data)):
        if data[cut] & 0xC0 != 0x80:  # not within a character
            codes[cut] = outcome(data[:cut], ReadSpec(format=FORMS[name]))[1][0]
    assert {cut: code for cut, code in codes.items() if code != "truncated"} == {}


@relaxed
@given(st.binary(max_size=60), st.sampled_from([None, "csv", "xml", "json", "jsonl"]))
def test_any_bytes_give_records_or_a_feed_error(data, form):
    outcome(data, ReadSpec(format=form))


def test_an_attribute_may_hold_anything():
    value = quoteattr("a>b ]]> --> é")
    data = f"<jobs><job x={value}><id>1</id></job><job/></jobs>".encode()
    assert len(records(data)) == 2
