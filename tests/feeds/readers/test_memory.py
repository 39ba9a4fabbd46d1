"""Readers: memory does not grow with the file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.amounts import some

ROOT = Path(__file__).parents[3]
READ = """
import sys
from pathlib import Path
from syncd.domain import FeedLimits
from syncd.feeds.readers import ReadSpec, open_reader
known = (lambda digests: digests) if sys.argv[2] == "known" else None
count = sum(1 for _ in open_reader(Path(sys.argv[1]), ReadSpec(), FeedLimits(), known))
status = Path("/proc/self/status").read_text()
print(count, int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""
TEXT = "word " * 300
SHAPES = {
    "xml": ("<jobs>\n", "<job><id>{n}</id><text><![CDATA[{text}]]></text></job>\n", "</jobs>"),
    "csv": ("id,text\n", '{n},"{text}\n"\n', ""),
    "json": ("[{{}}", ',\n{{"id": {n}, "text": "{text}"}}', "]"),
    "nested.xml": ("<jobs>", "<box><x/></box><job><job><id>{n}</id></job>{text}</job>\n", "</jobs>"),
    "keyed.json": ('{{"jobs": {{"x": {{}}', ',\n"{n}": {{"id": {n}, "text": "{text}"}}', "}}"),
    "jsonl": ("", '{{"id": {n}, "text": "{text}"}}\n', ""),
}


def peak(folder, name, rows, known):
    """Records read, and the peak of resident memory in MiB."""
    before, row, after = SHAPES[name]
    path = folder / f"{rows}-{name}"
    with path.open("w") as out:
        out.write(before.format())
        out.writelines(row.format(n=n, text=TEXT) for n in range(rows))
        out.write(after)
    return read(path, known)


PACK = """
import gzip, shutil, sys, zipfile
with open(sys.argv[1], "rb") as plain, gzip.open(sys.argv[1] + ".gz", "wb", 1) as packed:
    shutil.copyfileobj(plain, packed)
with zipfile.ZipFile(sys.argv[1] + ".zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
    archive.write(sys.argv[1], "a")
"""
SHEET = """
import sys, zipfile
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from tests.feeds.spreadsheets import book, row
data = book({"Jobs": row("id", "t") + "".join(
    f'<row><c><v>{n}</v></c><c t="s"><v>{n}</v></c></row>' for n in range(int(sys.argv[2])))},
    [f"<t>{n} {hash(str(n))} {'word ' * 60}</t>" for n in range(int(sys.argv[2]))])
Path(sys.argv[1]).write_bytes(data)
"""


def read(path, known="unknown"):
    """Records read, and the peak of resident memory in MiB."""
    command = [sys.executable, "-c", READ, str(path), known]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environ)
    return tuple(map(int, done.stdout.split()))


@pytest.mark.parametrize("ending", some([".gz", ".zip"], 1))
def test_ten_times_the_rows_take_no_more_memory_when_they_are_compressed(tmp_path, ending):
    found = {}
    for rows in (2_000, 20_000):
        path = tmp_path / f"{rows}.csv"
        lines = (f"{n},{' '.join(str(n * m * 7919) for m in range(60))}\n" for n in range(rows))
        path.write_text("id,text\n" + "".join(lines))
        subprocess.run([sys.executable, "-c", PACK, str(path)], check=True)
        found[rows] = read(f"{path}{ending}")
    assert (found[2_000][0], found[20_000][0]) == (2_000, 20_000)
    assert found[20_000][1] - found[2_000][1] <= 6


def test_a_spreadsheet_takes_little_more_memory_for_ten_times_the_rows(tmp_path):
    found = {}
    for rows in (2_000, 20_000):
        path = tmp_path / f"{rows}.xlsx"
        command = [sys.executable, "-c", SHEET, str(path), str(rows), str(ROOT)]
        subprocess.run(command, check=True)
        found[rows] = read(path)
    assert (found[2_000][0], found[20_000][0]) == (2_000, 20_000)
    assert found[20_000][1] - found[2_000][1] <= 16  # of texts, 8 MiB stay in memory


@pytest.mark.parametrize("known", ["known", "unknown"])
@pytest.mark.parametrize("name", some(SHAPES, 3))
def test_ten_times_the_rows_take_no_more_memory(tmp_path, name, known):
    rows, small = peak(tmp_path, name, 2_000, known)
    more, large = peak(tmp_path, name, 20_000, known)
    assert more >= 10 * rows - 20
    assert large - small <= 6
