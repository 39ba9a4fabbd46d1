"""The file of rejected records: the readers read it as they read the feed (docs/reconciliation.md "After a run")."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from syncd.domain import FeedLimits
from syncd.errors import Problem
from syncd.feeds.readers import ReadSpec, Record, open_reader
from syncd.languages import language
from syncd.sync.report import Letter
from syncd.sync.run import RejectsWriter
from tests.sync.board import not_none

#: A part of the second detail is shown; it has a character that is not printable. The third has the same sentence as the first.
PROBLEMS = (
    Problem("/title", "required", "a title is needed"),
    Problem("/positionType", "unknown_value", "did you mean Part\x07Time?"),
    Problem("/title", "null_not_allowed", "null is not allowed"),
)
REASONS = (
    "The job title is empty. Every job needs a value there."
    " The value in the type of position is not known here. Did you mean Part Time?"
)


def write_rejected(
    tmp_path: Path,
    content: bytes,
    spec: ReadSpec,
    pick: set[int] | None = None,
    *,
    problems: Sequence[Problem] = PROBLEMS,
    letter_of: Callable[[Sequence[str] | None], Letter] = lambda header: Letter(language("en")),
) -> Path | None:
    """Write the records of ``content`` with the numbers ``pick`` (None: all) as rejected ones. Return the path of the
    file, or None without such records."""
    source = tmp_path / "source"
    source.write_bytes(content)
    reader = open_reader(source, spec, FeedLimits())
    writer = RejectsWriter(tmp_path / ".r.rejected", spec, letter_of)
    writer.start(reader)
    for record in reader:
        if pick is None or record.number in pick:
            writer.add(record, problems)
    assert not list(tmp_path.glob(".r.rejected.???")), "no finished file before the end"
    return writer.close()


def rejected_file(tmp_path: Path, content: bytes, spec: ReadSpec, pick: set[int] | None = None) -> Path:
    return not_none(write_rejected(tmp_path, content, spec, pick))


def read_back(path: Path, spec: ReadSpec) -> tuple[bool, list[Record]]:
    """Return whether the file has the mark of corrected rows, and its records. An XML element is replaced by a dict of
    its children and attributes."""
    reader = open_reader(path, spec, FeedLimits())
    found = []
    for record in reader:
        item: Any = record.item
        if item is not None and not isinstance(item, dict):
            record.item = {child.tag.rpartition("}")[2]: child.text for child in item} | dict(item.attrib)
        found.append(record)
    return reader.mended, found


def items_of(path: Path, spec: ReadSpec) -> list[Any]:
    mended, records = read_back(path, spec)
    assert mended
    return [record.item for record in records]


@pytest.mark.parametrize("encoding", ["utf-8", "windows-1252", "iso-8859-1"])
def test_the_reasons_are_in_the_language_of_the_partner_with_the_columns_of_this_file(tmp_path, encoding):
    spec = ReadSpec(format="csv", encoding=encoding)
    problems = [Problem("/title", "required", "x"), Problem("/description", "disallowed_html", "x")]
    headers = []

    def letter_of(header):
        headers.append(header)
        return Letter(language("fr"), {"/title": header[0]})

    path = write_rejected(
        tmp_path, "Poste,b\n1,2\n".encode(encoding), spec, problems=problems, letter_of=letter_of
    )
    [row] = items_of(not_none(path), spec)
    assert row["syncd_errors"] == (
        "La colonne Poste est vide. Chaque offre doit y avoir une valeur. Le texte dans la description a une mise en forme"
        " non permise. Gardez les paragraphes, les listes, le gras et l'italique."
    )
    assert headers == [["Poste", "b"]]


def test_all_that_is_wrong_with_a_new_row_is_reported_at_once(board):
    row = board.row("r1", title="x" * 300, positionType={"id": 999})
    del row["applicantRoutingType"], row["categories"]
    (rejected,) = board.rejected(board.deliver(board.feed(), [row]))
    found = [(problem.pointer, problem.code) for problem in rejected.errors]
    assert found[:2] == [("/title", "too_long"), ("/positionType/id", "unknown_value")]
    assert set(found[2:]) == {("/categories", "required"), ("/applicantRoutingType", "required")}


def test_what_the_job_of_a_wrong_row_has_already_is_not_reported(board):
    board.deliver(board.feed(), [board.row("r1")])
    wrong: dict[str, Any] = {"referenceId": "r1", "title": ""}
    (rejected,) = board.rejected(board.deliver(board.feed(), [wrong, board.row("r2")]))
    assert [problem.pointer for problem in rejected.errors] == ["/title"]
    wrong |= {"applicantRoutingType": None}
    (rejected,) = board.rejected(board.deliver(board.feed(), [wrong, board.row("r2")]))
    assert [problem.pointer for problem in rejected.errors] == ["/title", "/applicantRoutingType"]


def test_what_the_job_of_a_wrong_row_does_not_allow_is_reported_with_the_rest(board):
    board.deliver(board.feed(name="north"), [board.row("r1")])
    wrong = board.row("r1", title="")
    (rejected,) = board.rejected(board.deliver(board.feed(name="south"), [wrong, board.row("r2")]))
    assert [problem.code for problem in rejected.errors] == ["required", "owned_by_other_feed"]
    wrong |= {"status": "draft"}
    (rejected,) = board.rejected(board.deliver(board.feed(name="north"), [wrong, board.row("r3")]))
    assert [problem.code for problem in rejected.errors] == ["required", "illegal_transition"]


def test_no_file_is_written_without_rejected_records(tmp_path):
    assert write_rejected(tmp_path, b"a,b\n1,2\n", ReadSpec(), pick=set()) is None
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


@pytest.mark.parametrize(
    ("content", "spec"),
    [
        ('title,city\nKoch,Zürich\n"a ""b""\nc",x\n', ReadSpec()),
        ('title;city\nKoch;Zürich\n"a ""b""\nc";x\n', ReadSpec(format="csv", delimiter=";")),
        ('title\tcity\nKoch\tZürich\n"a ""b""\nc"\tx\n', ReadSpec(encoding="windows-1252")),
        ('title|city\nKoch|Zürich\n"a ""b""\nc"|x\n', ReadSpec(encoding="utf-16")),
    ],
)
def test_rejected_csv_records_are_read_with_the_settings_of_the_feed(tmp_path, content, spec):
    path = rejected_file(tmp_path, content.encode(spec.encoding or "utf-8"), spec)
    assert path.name == ".r.rejected.csv"
    rows = items_of(path, spec)
    assert [(row["title"], row["city"]) for row in rows] == [("Koch", "Zürich"), ('a "b"\nc', "x")]
    assert rows[0]["syncd_errors"] == REASONS


def test_a_ragged_row_keeps_its_cells_in_their_columns(tmp_path):
    path = rejected_file(tmp_path, b"a,b,c\n1,2\n1,2,3,4\n", ReadSpec(format="csv"))
    _, records = read_back(path, ReadSpec(format="csv"))
    cells: list[Any] = [record.raw() for record in records if record.raw]
    assert [row[1:] for row in cells] == [["1", "2"], ["1", "2", "3", "4"]]


@pytest.mark.parametrize(
    "content",
    [
        b"syncd_errors,a\nold,1\n",
        b'[{"syncd_errors": "old", "a": 1}]',
        b'<jobs><job a="1" syncd_errors="old"/></jobs>',
        b"<jobs><job syncd_errors = 'old' a='1'></job></jobs>",
    ],
)
def test_a_corrected_row_that_is_rejected_again_has_one_mark(tmp_path, content):
    path = rejected_file(tmp_path, content, ReadSpec())
    text = path.read_text(encoding="utf-8")
    assert text.count("syncd_errors") == 1
    assert "old" not in text
    [item] = items_of(path, ReadSpec())
    assert (item["syncd_errors"], str(item["a"])) == (REASONS, "1")


def test_xml_keeps_its_path_its_namespaces_and_the_elements_before_the_records(tmp_path):
    content = (
        '<?xml version="1.0" encoding="ISO-8859-1"?>\n'
        '<f:feed xmlns:f="urn:f" xmlns="urn:d" country="CA"><publisher>Zürich &amp; Co</publisher>'
        '<f:jobs at="1 &lt; 2"><job><title>ok</title></job>'
        '<job x="1"><f:title><![CDATA[<b>é]]></f:title></job><job/></f:jobs></f:feed>'
    ).encode("latin-1")
    spec = ReadSpec(records="/feed/jobs/job")
    path = rejected_file(tmp_path, content, spec, {2, 3})
    reader = open_reader(path, spec, FeedLimits())
    seen = []
    for record in reader:
        element: Any = record.item
        root = element.getparent().getparent()
        seen.append(dict(element.attrib))
        if element.get("x"):
            assert element[0].tag == "{urn:f}title"
            assert element[0].text == "<b>é"
        assert element.tag == "{urn:d}job"
        assert (root.tag, root.get("country"), root[0].text) == ("{urn:f}feed", "CA", "Zürich & Co")
        assert element.getparent().get("at") == "1 < 2"
    assert seen == [{"syncd_errors": REASONS, "x": "1"}, {"syncd_errors": REASONS}]
    assert reader.mended


def test_xml_reasons_are_escaped(tmp_path):
    problem, letter = Problem("/a", "unknown_value", ""), Letter(language("en"), {"/a": "<&\"'> \ud800\x00"})
    content = b"<jobs><job>x > y</job></jobs>"
    path = write_rejected(tmp_path, content, ReadSpec(), problems=[problem], letter_of=lambda header: letter)
    [item] = items_of(not_none(path), ReadSpec())
    assert item["syncd_errors"] == "The value in the column <&\"'>   is not known here."


def test_xml_is_written_in_the_encoding_of_the_feed(tmp_path):
    spec = ReadSpec(encoding="windows-1252")
    content = "<jobs><job><title>Zürich ☃</title></job></jobs>".encode("cp1252", "xmlcharrefreplace")
    path = rejected_file(tmp_path, content, spec)
    assert items_of(path, spec)[0]["title"] == "Zürich ☃"


@pytest.mark.parametrize("encoding", [None, "windows-1252", "utf-16"])
def test_json_keeps_its_path_and_its_exact_numbers(tmp_path, encoding):
    spec = ReadSpec(records="data.jobs", encoding=encoding)
    content = '{"total": 9, "data": {"jobs": [{"a": 12345678901234567.89, "t": "Zürich"}, 5]}}'
    path = rejected_file(tmp_path, content.encode(encoding or "utf-8"), spec)
    first, second = items_of(path, spec)
    assert first == {"syncd_errors": REASONS, "a": Decimal("12345678901234567.89"), "t": "Zürich"}
    assert str(second["syncd_record"]) == "5"


def test_json_lines_stay_lines_and_a_malformed_line_is_kept_as_text(tmp_path):
    spec = ReadSpec(format="jsonl")
    path = rejected_file(tmp_path, b'{"a": 1}\n{"a": \n{"a": 3}\n', spec)
    assert path.name == ".r.rejected.jsonl"
    first, second, third = items_of(path, spec)
    assert (first["a"], third["a"]) == (1, 3)
    assert second["syncd_record"].startswith('{"a":')


def test_a_new_start_removes_what_was_written_before(tmp_path):
    source = tmp_path / "source"
    source.write_bytes(b"a,b\n1,2\n3,4\n")
    writer = RejectsWriter(tmp_path / "r", ReadSpec())
    for _ in range(2):
        reader = open_reader(source, ReadSpec(), FeedLimits())
        writer.start(reader)
        for record in reader:
            writer.add(record, PROBLEMS)
    path = not_none(writer.close())
    assert writer.close() == path
    assert len(items_of(path, ReadSpec())) == 2
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("r")] == ["r.csv"]
