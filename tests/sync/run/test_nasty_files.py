"""Files that are made to take memory or time: the process takes less than 300 MB, and says what is wrong in few words."""

import io
import json
import os
import zipfile
from collections.abc import Callable
from random import Random

import pytest

from syncd.domain import near_names
from syncd.errors import MAX_MESSAGE_CHARACTERS, FeedError, Problem
from tests.amounts import nightly, some
from tests.feeds.spreadsheets import PACKAGE, RELS, book, row
from tests.sync.measured import syncd

MOST = 300  # MB
MB = 1_000_000
HEAD = row("referenceId", "title")


def shared(cells: int, rows: int) -> str:
    cell = '<c t="s"><v>0</v></c>'
    return f"<row>{cell * cells}</row>" * rows


def padded(data: bytes, parts: dict[str, str] | None = None) -> bytes:
    """Return a spreadsheet with 8 MB that nobody reads before its parts, so that their ratio breaks no limit. ``parts`` replace
    those of the same names."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr("xl/media/image1.bin", os.urandom(8 * MB))
        for name in old.namelist():
            new.writestr(name, (parts or {}).get(name) or old.read(name))
    return out.getvalue()


def long_texts(count: int, characters: int) -> bytes:
    """Return a spreadsheet with a long text of its own in each row, of which as much is random as the limit of the ratio asks."""
    random = Random(1)
    rows = "".join(
        f'<row><c><v>{n}</v></c><c t="s"><v>{n}</v></c><c t="inlineStr"><is><t>x</t></is></c></row>'
        for n in range(count)
    )
    texts = [
        f"<t>{random.randbytes(characters // 150).hex()}{'x' * (characters - characters // 75)}</t>"
        for _ in range(count)
    ]
    return book({"Jobs": row("referenceId", "title", "note") + rows}, texts)


def many_links() -> bytes:
    links = "".join(f'<Relationship Id="r{n}" Type="{RELS}/x" Target="s{n}.xml"/>' for n in range(1_200_000))
    parts = {
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}">{links}</Relationships>',
    }
    return padded(book({"Jobs": HEAD}), parts)


def long_values() -> bytes:
    lines = (f"{n},{n}{'x' * 800_000}\n" for n in range(400))
    return ("referenceId,categories\n" + "".join(lines)).encode()


def long_descriptions() -> bytes:
    head = "referenceId,title,locations,positionType,categories,description,applicantRoutingType,applicationEmail\n"
    line = '{n},t,"Toronto, ON",Full Time,Other,{text},Email,a@b.ca\n'
    return (head + "".join(line.format(n=n, text=f"{n} " + "word " * 160_000) for n in range(300))).encode()


def empty_lists() -> bytes:
    record = '{"a":[' + "[]," * 300_000 + "[]]}"
    return f"[{','.join([record] * 20)}]".encode()


LONG, TOO_LONG = [f"<t>{'x' * 400_000}</t>"], [f"<t>{'x' * MB}</t>"]
WIDE = row(*(f"c{n}" for n in range(1000)))
#: Name → the file, and a part of what is said of it.
FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "one long text in all cells of a row": (
        lambda: book({"Jobs": WIDE + shared(999, 2)}, LONG),
        "a row of more than 8388608 bytes (line 2)",
    ),
    "one long text in two cells of many rows": (
        lambda: padded(book({"Jobs": HEAD + shared(2, 300)}, TOO_LONG)),
        "the record is longer than 1048576 bytes",
    ),
    "JSON records of nothing but lists": (empty_lists, "there is no such field"),
    "a long text of its own in each row": (lambda: long_texts(400, 700_000), "there is no column 'note'"),
    "a spreadsheet of a million parts": (many_links, "parts, sheets and styles take more than 8388608 bytes"),
    "rows of a million cells": (
        lambda: b"a,b\n" + (b"," * MB + b"1\n") * 40,
        "the feed uses none of the file's columns: a, b",
    ),
    "long values that no catalogue has": (long_values, "is not a category of the catalogue"),
    "long descriptions": (long_descriptions, "300 read (300 created)"),
    "JSON texts in the place of records": (
        lambda: json.dumps([f"{n}{'x' * MB}" for n in range(200)]).encode(),
        "a record must be an object",
    ),
    "one long text in a row of many cells": (
        lambda: padded(book({"Jobs": HEAD + f"<row>{'<c/>' * MB}</row>" * 20})),
        "without a row or text",
    ),
}


@pytest.mark.parametrize("name", some(FILES, 2))
def test_a_nasty_file_takes_less_than_300_mb(tmp_path, name):
    make, words = FILES[name]
    file = tmp_path / "jobs"
    file.write_bytes(make())
    planned = syncd(tmp_path, "plan", str(file), "--feed", "f")
    assert words in planned.out + planned.errors
    assert planned.peak * 1.048576 < MOST


@nightly
@pytest.mark.parametrize("command", ["feed new g --from {}", "import {} --feed f"])
def test_long_texts_take_little_memory_in_each_command(tmp_path, command):
    file = tmp_path / "jobs"
    file.write_bytes(long_texts(400, 700_000))
    assert syncd(tmp_path, *command.format(file).split()).peak * 1.048576 < MOST


NAMES = ["<t>%s</t>" % ("title, reference " * 30_000), "<t>%s</t>" % ("closeDate" * 50_000)]


@pytest.mark.parametrize("command", some(["feed new g --from {}", "plan {} --feed f", "feed check f {}"], 1))
def test_names_of_half_a_megabyte_are_quoted_in_short(tmp_path, command):
    header = '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row>'
    file = tmp_path / "jobs"
    file.write_bytes(book({"Jobs": header + row(1, 2)}, NAMES))
    ran = syncd(tmp_path, *command.format(file).split())
    assert "Traceback" not in ran.errors
    assert len(ran.out) + len(ran.errors) < 8_000


def test_messages_are_short_and_say_how_long_the_text_was():
    text = "x" * 1_000_000
    problem = Problem("/" + text, "unknown_field", text, text)
    ends = "… (1000000 characters)"
    assert (len(problem.detail), problem.detail[-len(ends) :]) == (MAX_MESSAGE_CHARACTERS, ends)
    assert len(problem.pointer) == MAX_MESSAGE_CHARACTERS
    assert len(str(problem.value)) < MAX_MESSAGE_CHARACTERS
    assert len(FeedError("not_a_feed", text).detail) == MAX_MESSAGE_CHARACTERS
    assert Problem(problem.pointer, problem.code, problem.detail, problem.value) == problem


def test_a_failed_run_says_where_in_spite_of_a_long_reason(tmp_path):
    file = tmp_path / "jobs"
    file.write_bytes(b"<jobs><job><title>&%b;</title></job></jobs>" % (b"x" * 400_000))
    run = json.loads(syncd(tmp_path, "import", str(file), "--feed", "f", "--json").out)
    assert (run["reason"][:14], len(run["reason"]) <= MAX_MESSAGE_CHARACTERS) == ("unknown_entity", True)
    assert "; line 1" in run["reason"][-40:]


def test_a_row_names_some_of_its_unknown_columns_and_counts_the_others(tmp_path):
    file = tmp_path / "jobs"
    columns = [f"column {n}" for n in range(100)]
    file.write_text("\n".join([",".join(["referenceId", *columns]), ",".join(["r", *"x" * 100])]))
    planned = json.loads(syncd(tmp_path, "plan", str(file), "--feed", "f", "--json").out)
    ((*named, rest),) = [
        [error["detail"] for error in rejected["errors"] if error["code"] == "unknown_field"]
        for rejected in planned["rejectedRows"]
    ]
    assert (len(named), rest) == (30, "70 more columns are unknown")


def test_long_names_are_compared_with_nothing():
    assert near_names("titel", ["title", "status"]) == ["title"]
    assert near_names("x" * 201, ["x" * 201, "x" * 200]) == []
    assert near_names("x" * 200, ["x" * 201, "x" * 199]) == ["x" * 199]


SHAPES = {
    "csv": 'referenceId,title,description\na,x,"{text}"\nb,y,z\n',
    "json": '[{{"referenceId":"a","title":"x","description":"{text}"}},{{"referenceId":"b"}}]',
    "xml": "<jobs><job><referenceId>a</referenceId><description>{text}</description></job>"
    "<job><referenceId>b</referenceId></job></jobs>",
}
LONG_FIELDS = some(["csv", "json", "xml"], 1)


@pytest.mark.parametrize("name", LONG_FIELDS)
def test_a_field_of_8_mb_is_one_rejected_row_in_less_than_200_mb_of_memory(tmp_path, name):
    file = tmp_path / f"jobs.{name}"
    file.write_text(SHAPES[name].format(text="word " * (8 * MB // 5)))
    ran = syncd(tmp_path, "import", str(file), "--feed", "f", "--json")
    run = json.loads(ran.out)
    assert (run["state"], run["counts"]["read"], run["counts"]["rejected"]) == ("partial", 2, 2)
    assert ran.peak < 200


@pytest.mark.parametrize("lines", [False, True])
def test_a_json_record_that_is_too_long_is_named_by_its_beginning(board, lines):
    feed, others = board.feed(), board.rows(1, 20)
    board.deliver(feed, [*others, board.row("long")])
    long = board.row("long", description="x" * (1 << 20))
    rows = [*others[2:], long]
    content = "\n".join(map(json.dumps, rows)) + "\n" if lines else json.dumps(rows)
    run = board.deliver(feed, content.encode())
    assert (run.state, run.counts.archived, run.counts.rejected) == ("partial", 2, 1)
    [rejected] = board.rejected(run)
    assert (rejected.reference_id, [problem.code for problem in rejected.errors]) == ("long", ["too_long"])
    assert board.job("long").status == "active"
    assert [warning.code for warning in board.warnings(run)] == []
