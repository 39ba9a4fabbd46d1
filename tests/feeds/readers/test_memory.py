"""Readers: memory does not grow with the file."""

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


SHEET = """
import sys, zipfile
from pathlib import Path
from tests.feeds.spreadsheets import book, row
data = book({"Jobs": row("id", "t") + "".join(
    f'<row><c><v>{n}</v></c><c t="s"><v>{n}</v></c></row>' for n in range(int(sys.argv[2])))},
    [f"<t>{n} {hash(str(n))} {'word ' * 60}</t>" for n in range(int(sys.argv[2]))])
Path(sys.argv[1]).write_bytes(data)
"""
PACK = """
import gzip, shutil, sys, zipfile
from pathlib import Path
path, rows = sys.argv[1], int(sys.argv[2])
lines = (f"{n},{' '.join(str(n * m * 7919) for m in range(60))}\\n" for n in range(rows))
with gzip.open(path, "wt", 1) if path.endswith("gz") else Path(path + ".csv").open("w") as plain:
    plain.write("id,text\\n")
    plain.writelines(lines)
if path.endswith("zip"):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.write(path + ".csv", "a")
"""


def python(text, *arguments):
    """Return the output of a program that runs alone, so that its memory is its own."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    command = [sys.executable, "-c", text, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env={**environ, "PYTHONPATH": str(ROOT)}
    ).stdout


def peak(path, name, rows, known):
    """Return the number of records of a new file, and the peak of resident memory in MiB."""
    if name in SHAPES:
        before, row, after = SHAPES[name]
        with path.open("w") as out:
            out.write(before.format())
            out.writelines(row.format(n=n, text=TEXT) for n in range(rows))
            out.write(after)
    else:
        python(SHEET if name == "xlsx" else PACK, path, rows)
    return map(int, python(READ, path, known).split())


@pytest.mark.parametrize(
    ("name", "known"),
    [
        *some([(name, known) for name in SHAPES for known in ("known", "unknown")], 6),
        *some([(name, "unknown") for name in ("xlsx", "gz", "zip")], 2),
    ],
)
def test_ten_times_the_rows_take_no_more_memory(tmp_path, name, known):
    rows, small = peak(tmp_path / f"few.{name}", name, 2_000, known)
    more, large = peak(tmp_path / f"many.{name}", name, 20_000, known)
    assert more >= 10 * rows - 20
    assert large - small <= (16 if name == "xlsx" else 6)  # of a spreadsheet's texts, 8 MiB stay in memory
