"""Inputs that are made to harm a reader: huge, deep or compressed too far.

A program: with the name of an input it reads that input and prints as JSON the expected and the actual outcome, the
processor time as a multiple of that of a fixed loop, the peak of memory, its rise (MiB), and the text of the error. No input is
ever whole in memory or on disk: it is made while it is read."""

import gzip
import io
import json
import resource
import sys
import time
import zipfile
from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path
from random import Random
from typing import BinaryIO, cast

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers import ReadSpec
from syncd.feeds.readers.opening import read_stream

GIB = 1 << 30
Opener = Callable[[], BinaryIO]


class Lazy(io.RawIOBase):
    """A file of ``before``, then ``unit`` repeated up to ``size`` bytes, then ``after``."""

    def __init__(self, before: bytes, unit: bytes, after: bytes = b"", size: int = GIB) -> None:
        block = unit * max(1, (1 << 16) // len(unit))
        self._parts = chain([before], repeat(block, size // len(block)), [after])
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        found = [self._rest]
        have = len(self._rest)
        while have < size and (part := next(self._parts, None)) is not None:
            found.append(part)
            have += len(part)
        whole = b"".join(found)
        self._rest = whole[size:]
        return whole[:size]


def lazily(before: bytes, unit: bytes, after: bytes = b"", size: int = GIB) -> Opener:
    return lambda: cast("BinaryIO", Lazy(before, unit, after, size))  # it has all that a reader calls


def ready(data: bytes) -> Opener:
    return lambda: io.BytesIO(data)


def swollen(before: bytes, unit: bytes, size: int) -> bytes:
    """Return a small gzip file that expands to ``size`` bytes or more."""
    out = io.BytesIO()
    with gzip.open(out, "wb") as file:
        file.write(before)
        for _ in range(size // (len(unit) * 1000)):
            file.write(unit * 1000)
    return out.getvalue()


def zipped(parts: dict[str, tuple[bytes, bytes, int]]) -> bytes:
    """Return a zip archive. ``parts``: name → (before, unit, how often) of each member."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (before, unit, times) in parts.items():
            with archive.open(name, "w") as member:
                member.write(before)
                for _ in range(times // 1000):
                    member.write(unit * 1000)
                member.write(unit * (times % 1000))
    return out.getvalue()


NS = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
BOOK = b'<workbook %b xmlns:r="urn:r"><sheets><sheet name="Jobs" r:id="r1"/></sheets></workbook>' % NS
LINKS = (
    b'<Relationships><Relationship Id="r1" Type="x/worksheet" Target="worksheets/sheet1.xml"/>'
    b'<Relationship Id="r2" Type="x/sharedStrings" Target="sharedStrings.xml"/></Relationships>'
)


def book(sheet: tuple[bytes, bytes, int], texts: tuple[bytes, bytes, int], padding: int = 0) -> bytes:
    """Return a spreadsheet. ``padding``: bytes that do not compress, so that the ratio of the file stays allowed."""
    return zipped(
        {
            "docProps/thumbnail.jpeg": (Random(1).randbytes(padding), b"", 0),
            "[Content_Types].xml": (b"<Types/>", b"", 0),
            "xl/workbook.xml": (BOOK, b"", 0),
            "xl/_rels/workbook.xml.rels": (LINKS, b"", 0),
            "xl/sharedStrings.xml": texts,
            "xl/worksheets/sheet1.xml": sheet,
        }
    )


LAUGHS = b"<!DOCTYPE j [" + b"".join(
    b'<!ENTITY a%d "%b">' % (n, b"&a%d;" % (n - 1) * 10 if n else b"ha" * 10) for n in range(12)
)
NO_TEXTS = (b"<sst/>", b"", 0)
HEAD = b'<row><c t="str"><v>id</v></c><c t="str"><v>title</v></c></row>'
ONE_TEXT = b'<row><c><v>1</v></c><c t="s"><v>0</v></c></row>'
LONG_TEXT = (b"<sst><si><t>" + b"x" * 30_000 + b"</t></si></sst>", b"", 0)
FAR_CORNER = (b"<worksheet><sheetData>" + HEAD + b'<row><c r="XFD1048576"><v>1</v></c></row>', b"", 0)

LAUGHING = (LAUGHS + b"]><worksheet>&a11;</worksheet>", b"", 0)
MANY_ROWS = (b"<worksheet><sheetData>" + HEAD, ONE_TEXT, 500_000)

LIMIT = "limit_exceeded"
Inputs = dict[str, tuple[str | int, Callable[[], Opener]]]
#: Name → (the code it fails with, or the number of records; the function of its opener). "lenient": with [read] recover.
INPUTS: Inputs = {
    "an empty feed": (0, lambda: ready(b"<jobs/>")),
    "xml: a text of 1 GiB": (LIMIT, lambda: lazily(b"<jobs><job><id>", b"x")),
    "xml: lines of text of 1 GiB": (LIMIT, lambda: lazily(b"<jobs><job><id>", b"line> \n")),
    "xml: CDATA of 1 GiB": (LIMIT, lambda: lazily(b"<jobs><job><id><![CDATA[", b"<p>x</p>\n")),
    "xml: an attribute of 1 GiB": (LIMIT, lambda: lazily(b'<jobs><job a="', b"x")),
    "xml: a comment of 1 GiB": (LIMIT, lambda: lazily(b"<jobs><!-- ", b"> x ")),
    "xml: elements without end": (LIMIT, lambda: lazily(b"<jobs><job>", b"<b/>")),
    "xml: attributes without end": (LIMIT, lambda: lazily(b"<jobs><job ", b'a="" ')),
    "xml: depth without end": (LIMIT, lambda: lazily(b"<jobs><job>", b"<a>")),
    "xml: blanks before it": ("empty_file", lambda: lazily(b"", b" ", b"<jobs/>")),
    "xml: an entity bomb": ("forbidden_dtd", lambda: ready(LAUGHS + b"]><jobs><job>&a11;</job></jobs>")),
    "xml: a document type of 1 GiB": ("forbidden_dtd", lambda: lazily(b"<!DOCTYPE jobs [", b"<!-- x -->")),
    "lenient: roots without records": ("no_records_path", lambda: lazily(b"", b"<a/>")),
    "lenient: a name after the root": (LIMIT, lambda: lazily(b"<jobs><job/></jobs><", b"x")),
    "lenient: bare marks": (LIMIT, lambda: lazily(b"<jobs><job><id>", b"< & ")),
    "csv: a quoted cell of 1 GiB": (LIMIT, lambda: lazily(b'id,t\n1,"', b"x")),
    "csv: a row of 1 GiB": (LIMIT, lambda: lazily(b"id,t\n1,", b"x")),
    "csv: cells without end": (LIMIT, lambda: lazily(b"id,t\n1,", b"x,")),
    "csv: quotes without end": (LIMIT, lambda: lazily(b'id,t\n1,"', b'""')),
    "csv: in UTF-16": (LIMIT, lambda: lazily('\ufeffid,t\n1,"'.encode("utf-16-le"), b"x\0")),
    "json: a number of 1 GiB": (LIMIT, lambda: lazily(b'[{"id":', b"1")),
    "json: depth without end": (LIMIT, lambda: lazily(b'[{"id":', b"[")),
    "json: a text of 1 GiB before the records": (LIMIT, lambda: lazily(b'{"x":"', b"x")),
    "json: a name of 1 GiB before the records": (LIMIT, lambda: lazily(b'{"', b"x")),
    "json: a record of 1 GiB with a key": (LIMIT, lambda: lazily(b'{"jobs":{"1":{},"2":{"a":"', b"x")),
    "json: depth of objects without end": (LIMIT, lambda: lazily(b"", b'{"a":')),
    "jsonl: a text of 1 GiB": (LIMIT, lambda: lazily(b'{"id":1}\n{"id":"', b"x")),
    "gzip: blanks": ("empty_file", lambda: ready(swollen(b"", b" ", 1 << 28))),
    "xlsx: cells": (LIMIT, lambda: ready(book((b"<worksheet><sheetData><row>", b"<c/>", 20_000_000), NO_TEXTS))),
    "xlsx: a cell in the far corner": (LIMIT, lambda: ready(book(FAR_CORNER, NO_TEXTS))),
    "xlsx: an entity bomb": ("forbidden_dtd", lambda: ready(book(LAUGHING, NO_TEXTS))),
}  # fmt: skip
#: Those that take seconds each time, of kinds that others have, too.
SLOW: Inputs = {
    "xml: a name of 1 GiB": (LIMIT, lambda: lazily(b"<jobs><job><", b"x")),
    "xml: references without end": (LIMIT, lambda: lazily(b"<jobs><job>", b"&amp;")),
    "xml: no record in 1 GiB": ("no_records_path", lambda: lazily(b"<catalog>", b"<p><i>1</i></p>")),
    "lenient: roots without end": (1, lambda: lazily(b"<jobs><job/></jobs>", b"<jobs/>")),
    "lenient: a comment after the root": (1, lambda: lazily(b"<jobs><job/></jobs><!--", b"> x ")),
    "lenient: depth without end": (LIMIT, lambda: lazily(b"<jobs><job>", b"<a>")),
    "csv: a header of 1 GiB": (LIMIT, lambda: lazily(b"id,", b"x")),
    "csv: columns without end": (LIMIT, lambda: lazily(b"id,", b"x,")),
    "json: a text of 1 GiB": (LIMIT, lambda: lazily(b'[{"id":"', b"x")),
    "json: escapes without end": (LIMIT, lambda: lazily(b'[{"id":"', b'\\"},{')),
    "json: a name of 1 GiB": (LIMIT, lambda: lazily(b'[{"', b"x")),
    "json: a list without end": (LIMIT, lambda: lazily(b'[{"id":[', b"1,")),
    "json: a number of 1 GiB before the records": (LIMIT, lambda: lazily(b'{"x":', b"1")),
    "json: depth before the records": (LIMIT, lambda: lazily(b'{"x":', b"[")),
    "json: a single object of 1 GiB": (LIMIT, lambda: lazily(b'{"jobs":{"id":"', b"x")),
    "json: a key of 1 GiB": (LIMIT, lambda: lazily(b'{"jobs":{"1":{},"', b"x")),
    "json: a key of escapes": (LIMIT, lambda: lazily(b'{"jobs":{"1":{},"', b'\\"')),
    "gzip: a text": (LIMIT, lambda: ready(swollen(b"<jobs><job><id>", b"x", 1 << 28))),
    "gzip: rows": (LIMIT, lambda: ready(swollen(b"id,t\n", b"1,xxxxxxxxxxxxxx\n", 1 << 28))),
    "zip: rows": (LIMIT, lambda: ready(zipped({"a.csv": (b"id,t\n", b"1,xxxxxx\n", 20_000_000)}))),
    "xlsx: rows": (LIMIT, lambda: ready(book((b"<worksheet><sheetData>", b"<row/>", 20_000_000), NO_TEXTS))),
    "xlsx: a shared text": (LIMIT, lambda: ready(book((b"<worksheet/>", b"", 0), (b"<sst><si><t>", b"x", 100_000_000)))),
    "xlsx: one text in every row": (LIMIT, lambda: ready(book(MANY_ROWS, LONG_TEXT, 1 << 20))),
}  # fmt: skip


def outcome(opener: Opener, *, lenient: bool) -> tuple[str | int, str]:
    """Return the number of records and no text, or the code and the text of the error."""
    try:
        return sum(1 for _ in read_stream(opener, ReadSpec(recover=lenient), FeedLimits())), ""
    except FeedError as error:
        return error.code, error.detail


def of_a_loop() -> float:
    """Return the seconds of processor time of a million additions: the measure of this machine."""

    def once() -> float:
        start = time.process_time()
        total = 0
        for number in range(1_000_000):
            total += number
        return time.process_time() - start

    return min(once() for _ in range(3))


def peak_memory() -> int:
    """Return KiB, of this program alone: ``ru_maxrss`` starts with the memory of the process that started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (4 * GIB, 4 * GIB))
    expected, make = (INPUTS | SLOW)[sys.argv[1]]
    opener = make()
    before = peak_memory()
    start = time.process_time()
    actual, words = outcome(opener, lenient=sys.argv[1].startswith("lenient"))
    seconds = time.process_time() - start
    peak = peak_memory()
    print(json.dumps([expected, actual, seconds / of_a_loop(), peak // 1024, (peak - before) // 1024, words]))


if __name__ == "__main__":
    main()
