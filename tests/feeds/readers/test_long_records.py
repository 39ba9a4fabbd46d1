"""Readers: any record of up to 8 MiB is one rejected row, in little memory and time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from syncd.domain import FeedLimits
from syncd.feeds.readers import ReadSpec
from tests.amounts import some
from tests.feeds.readers.reading import MB, fault, items, read, reader_of

ROOT = Path(__file__).parents[3]
FORMS = {
    "csv": ('id,t\n1,a\n2,"', '"\n3,b\n'),
    "json": ('[{"id": "1"}, {"id": "2", "t": "', '"}, {"id": "3"}]'),
    "jsonl": ('{"id": "1"}\n{"id": "2", "t": "', '"}\n{"id": "3"}\n'),
    "csv at its end": ('id,t\n1,a\n2,"', '"'),
    "csv without quotes": ("id,t\n1,a\n2,", "\n3,b\n"),
    "json by key": ('{"jobs": {"a": {"id": "1"}, "b": {"id": "2", "t": "', '"}, "c": {"id": "3"}}}'),
    "json, one object": ('{"jobs": {"id": "2", "t": "', '"}}'),
}
#: The longest record that does not fail the file, in bytes.
MOST = 8 * MB


def problems(data: str) -> dict[str, str | None]:
    """Return the id of each record, and the code of its problem."""
    return {item["id"]: code for item, code in read(data)[1]}


@pytest.mark.parametrize("name", some(FORMS, 3))
def test_a_record_of_up_to_8_mib_is_a_rejected_row_and_the_others_go_in(name):
    before, after = FORMS[name]
    around = 40  # the rest of the record
    found = problems(before + "x" * (MOST - around) + after)
    assert found == {id: "too_long" if id == "2" else None for id in found}
    assert "2" in found


@pytest.mark.parametrize("name", some(FORMS, 3))
def test_a_longer_record_fails_the_file(name):
    before, after = FORMS[name]
    error = fault(before + "x" * MOST + after)
    assert (error.code, "more than 8388608 bytes" in error.detail) == ("limit_exceeded", True)


def test_a_quote_in_a_cell_without_quotes_does_not_make_one_record_of_all_that_follow():
    rows = 'id,t\n1,5" pipe\n' + f"2,{'b' * 1000}\n" * 5_000 + '3,"c"\n'
    assert len(items(rows, limits=FeedLimits(text=MB))) == 5_002


def test_a_row_that_is_too_long_has_its_cells_but_not_more_than_columns_are_allowed():
    text = "x" * MB
    data = f'id,t,u\n1,"{text}""{text}",{text},"b"\n2,{"a,b," * MB}"c"\n'
    first, second = [record.raw() for record in reader_of(data)]
    assert first == ["1", f'{text}"{text}', text, "b"]
    assert second[:1001] == ["2", *["a", "b"] * 500]
    assert len(second) < 100_000


def test_a_long_row_of_nothing_is_no_record():
    blank = ',"' + " \n" * MB + '",'
    assert items(f"id,t\n1,a\n{blank}\n2,b\n") == [{"id": "1", "t": "a"}, {"id": "2", "t": "b"}]


def test_a_header_that_is_longer_than_a_record_fails_the_file():
    assert fault(f"id,t{'x' * MB}\n1,a\n").code == "limit_exceeded"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('[{"id": "1"}, {"t": ["%s" 1]}]', "not_well_formed"),
        ('[{"id": "1"}, {"t": "%s", }]', "not_well_formed"),
        ('[{"id": "1"}, {"t": "%s"} {}]', "not_well_formed"),
        ('[{"id": "1"}, "%s" {}]', "not_well_formed"),
        ('[{"id": "1"}, {"t": "%s"', "truncated"),
        ('[{"id": "1"}, {"t": "%s", "u": [[', "truncated"),
        ('{"jobs": {"a": {"id": "1"}, "b": {"t": "%s"}, {}}}', "not_well_formed"),
    ],
)
def test_what_is_wrong_in_a_long_json_record_still_fails_the_file(text, code):
    assert fault(text % ("x" * 3 * MB)).code == code


def test_bytes_that_are_not_text_in_a_long_record_fail_the_file():
    for before, after in (FORMS["csv"], FORMS["json"]):
        data = before.encode() + b"x" * 3 * MB + b"\xff" + after.encode()
        assert fault(data, ReadSpec(encoding="utf-8")).code == "bad_encoding"


def test_a_long_json_value_that_is_no_object_is_a_rejected_row():
    text = json.dumps([{"id": 1}, "x,]}" * MB, 2, ['"'] * MB, {"id": 3}])
    assert [code for _, code in read(text)[1]] == [None, "too_long", "wrong_type", "too_long", None]


READ = """
import io, resource, sys, time
from pathlib import Path
from syncd.domain import FeedLimits
from syncd.feeds.readers import ReadSpec
from syncd.feeds.readers.opening import read_stream
before, unit, after = (part.encode() for part in sys.argv[1:])
data = io.BytesIO()
data.write(before)
for _ in range(8):
    data.write(unit * (((1 << 20) - 100) // len(unit)))
data.write(after)
view = data.getbuffer()
class Again(io.RawIOBase):
    at = 0
    def read(self, size=-1):
        part = bytes(view[self.at : self.at + size])
        self.at += len(part)
        return part
start = time.process_time()
codes = [r.problem.code if r.problem else None for r in read_stream(Again, ReadSpec(), FeedLimits())]
status = Path("/proc/self/status").read_text()
print(len(codes), codes.count("too_long"), time.process_time() - start, int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""
QUOTED = ('id,t\n1,a\n2,"', '"\n3,b\n')
PLAIN = ("id,t\n1,a\n2,", "x\n3,b\n")
LIST = ('[{"id": "1"}, {"id": "2", "t": [', '1]}, {"id": "3"}]')
OBJECT = ('[{"id": "1"}, {"id": "2"', '}, {"id": "3"}]')
HOSTILE = {
    "csv: quotes": (QUOTED, '""'),
    "json: escapes": (('[{"id": "1"}, {"t":"', '"}, {"id": "3"}]'), '\\"'),
    "csv: line ends": (QUOTED, "\n"),
    "csv: short lines": (QUOTED, "a,b\n"),
    "csv: quotes and line ends": (QUOTED, '""\n'),
    "csv: cells": (PLAIN, "ab,"),
    "csv: empty cells": (PLAIN, '"",'),
    "csv: a misleading quote": (('id,t\n1,a\n2,a"b,"', '"\n3,b\n'), "\n"),
    "csv: many of them": (('id,t\n1,a\n2,a"b,"\n', '"\n3,b\n'), '",a"b,"\n'),
    "json: numbers": (LIST, "12,"),
    "json: lists": (LIST, "[],"),
    "json: objects": (LIST, '{"a":{}},'),
    "json: texts": (LIST, '"a",'),
    "json: members": (OBJECT, ',"a":1'),
}


@pytest.mark.parametrize("name", some(HOSTILE, 2))
def test_a_long_hostile_record_takes_little_memory_and_time(name):
    (before, after), unit = HOSTILE[name]
    environ = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_")}
    command = [sys.executable, "-c", READ, before, unit, after]
    ran = subprocess.run(
        command, env={**environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    count, long, seconds, used = map(float, ran.stdout.split())
    assert (count, long) == (3, 1)
    assert used < 200  # 8 are the file itself
    assert seconds < 30  # 4 at most, where nothing else runs; a quadratic reader takes minutes
