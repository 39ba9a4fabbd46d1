"""Readers: memory does not grow with the file."""

from __future__ import annotations

import subprocess
import sys

import pytest

READ = """
import sys
from pathlib import Path
from syncd.feeds.readers import Limits, ReadSpec, open_reader
known = (lambda digests: digests) if sys.argv[2] == "known" else None
count = sum(1 for _ in open_reader(Path(sys.argv[1]), ReadSpec(), Limits(), known))
status = Path("/proc/self/status").read_text()
print(count, int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""
TEXT = "word " * 300
SHAPES = {
    "xml": ("<jobs>\n", "<job><id>{n}</id><text><![CDATA[{text}]]></text></job>\n", "</jobs>"),
    "nested.xml": ("<jobs>", "<box><x/></box><job><job><id>{n}</id></job>{text}</job>\n", "</jobs>"),
    "csv": ("id,text\n", '{n},"{text}\n"\n', ""),
    "json": ("[{{}}", ',\n{{"id": {n}, "text": "{text}"}}', "]"),
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
    command = [sys.executable, "-c", READ, str(path), known]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return tuple(map(int, out.split()))


@pytest.mark.parametrize("known", ["known", "unknown"])
@pytest.mark.parametrize("name", SHAPES)
def test_ten_times_the_rows_take_no_more_memory(tmp_path, name, known):
    rows, small = peak(tmp_path, name, 2_000, known)
    more, large = peak(tmp_path, name, 20_000, known)
    assert more >= 10 * rows - 20
    assert large - small <= 6
