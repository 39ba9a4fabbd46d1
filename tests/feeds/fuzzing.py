"""Damaged feeds: the samples of all presets, the service's own shape, spreadsheets and packed files, each changed at random.

    python -m tests.feeds.fuzzing [--files 200000] [--seed 1]

Each file is read from disk, mapped, checked and packed as in a run, and some are drafted. The only error that may come out is
a FeedError, and the records are in their places. Another error is printed with the number that makes the same file again
(``damaged(number)``), and the program ends with 1."""

import argparse
import gzip
import io
import json
import re
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from xml.sax.saxutils import escape

from syncd.domain import Catalogue, FeedLimits
from syncd.errors import FeedError
from syncd.feeds.configuration import FeedConfig, FeedDefaults, parse_feed
from syncd.feeds.drafting import Drafter
from syncd.feeds.readers import FeedReader, open_reader
from syncd.sync.run import RejectsWriter
from syncd.sync.validation import RowKind, RowValidator, unpack_problems
from tests.feeds.spreadsheets import book, zipped

SAMPLES = Path(__file__).parents[2] / "feeds" / "samples"
CATALOGUE = Catalogue.default()
LIMITS = FeedLimits()
#: Limits that small files reach.
TIGHT = FeedLimits(file=1 << 22, record=2000, text=20_000, rows=12, depth=8, columns=20)
#: A seed of the same text gives files of one kind; each has this many bytes at most.
MAX_SEED = 60_000


@dataclass(frozen=True)
class Seed:
    """A good file, and the settings of the feed that reads it."""

    name: str
    data: bytes
    config: FeedConfig


NATIVE = {
    "referenceId": "N-1",
    "title": "Infirmière",
    "status": "active",
    "closeDate": "2027-01-15T23:30:00-05:00",
    "confidential": False,
    "locations": [{"description": "Montréal, QC"}],
    "categories": [{"id": 3}],
    "positionType": {"id": 1},
    "salary": {"amount": 31.5, "maxAmount": 40, "period": {"id": 5}, "plusCommission": True},
    "description": "<p>a &amp; b</p>",
    "applicantRoutingType": {"id": 1},
    "applicationEmail": "jobs@example.com",
}
NATIVE_XML = (
    "<jobs><job><referenceId>N-1</referenceId><title>Cook</title><locations><location><description>Toronto, ON"
    "</description></location></locations><categories><category><id>3</id></category></categories><positionType><id>1</id>"
    "</positionType><salary><amount>31.5</amount><period><id>5</id></period></salary><description>&lt;p&gt;x&lt;/p&gt;"
    "</description><applicantRoutingType><id>2</id></applicantRoutingType><applicationUrl>https://x.example/1"
    "</applicationUrl><closeDate>2027-01-15</closeDate></job></jobs>"
)
NATIVE_CSV = (
    "referenceId,title,status,closeDate,confidential,locations,categories,positionType,salaryAmount,salaryPeriod,"
    "description,applicantRoutingType,applicationUrl\r\n"
    'N-1,"Cook, ""first""",active,2027-01-15,false,"Toronto, ON|Ottawa, ON",3|4,Full Time,31.50,Hourly,<p>x</p>,URL,'
    "https://x.example/1\r\n"
)


@cache
def seeds() -> tuple[Seed, ...]:
    found = []
    for path in sorted(SAMPLES.iterdir()):
        preset = path.stem
        if path.suffix == ".md" or preset in ("maple", "northern", "harbour"):
            continue
        data = path.read_bytes()[:MAX_SEED]
        config = _config(f'preset = "{preset}"')
        found.append(Seed(preset, data, config))
        if path.suffix == ".xml":
            lenient = _config(f'preset = "{preset}"\n[read]\nrecover = true')
            found.append(Seed(f"{preset} lenient", data, lenient))
        else:
            found.append(Seed(f"{preset} gzip", gzip.compress(data), config))
    native = _config("")
    lenient = _config("[read]\nrecover = true\n")
    jobs = json.dumps([NATIVE, {**NATIVE, "referenceId": "N-2", "salary": None}], ensure_ascii=False).encode()
    lines = b"".join(json.dumps({**NATIVE, "referenceId": str(n)}).encode() + b"\n" for n in range(5))
    found += [
        Seed("native json", jobs, native),
        Seed("native jsonl", lines, native),
        Seed(
            "native json by key",
            json.dumps({"jobs": {"1": NATIVE, "b\u00e9": {}}, "total": 2}).encode(),
            native,
        ),
        Seed("native xml", NATIVE_XML.encode(), native),
        Seed("native xml lenient", NATIVE_XML.encode(), lenient),
        Seed("native csv", NATIVE_CSV.encode(), native),
        Seed("native csv utf-16", NATIVE_CSV.encode("utf-16"), native),
        Seed("native xml declared", f'<?xml version="1.0" encoding="utf-8"?>{NATIVE_XML}'.encode(), native),
        Seed("native xml gzip", gzip.compress(NATIVE_XML.encode()), native),
        Seed("native zip", zipped({"a.csv": NATIVE_CSV, "b.csv": NATIVE_CSV}), native),
        Seed(
            "native stored zip",
            zipped({"a.csv": NATIVE_CSV, "b.csv": NATIVE_CSV}, zipfile.ZIP_STORED),
            native,
        ),
        Seed("native xlsx", _sheet(NATIVE_CSV), native),
        *[Seed("dates", _dates(), _config(_EVERY_DATE))] * 4,
    ]
    return tuple(found)


_EVERY_DATE = """
[fields]
referenceId = "id"
title = "title"
locations = "place"
categories = { from = "category", default = "Other" }
salary = { text = "pay" }
description = { from = "text", html = "clean" }
closeDate = { from = "date", date = ["iso", "rfc822", "words", "numbers", "excel", "epoch", "epoch_ms", "dmy", "%Y/%m/%d %H"] }
"""


def _dates() -> bytes:
    times = [
        "2026-12-13T07:59:00Z",
        "Mon, 13 Jul 2026 00:00:00 EST",
        "46216.5",
        "1784000000",
        "13/07/2026",
        "13 juillet 2026",
    ]
    rows = [
        f'{n},Cook,"Toronto, ON",IT,"$25.50 - $30 / hour","<h1>x</h1>","{at}"' for n, at in enumerate(times)
    ]
    return "\n".join(["id,title,place,category,pay,text,date", *rows, ""]).encode()


def _config(toml: str) -> FeedConfig:
    return parse_feed("f", f'employer = "A"\n{toml}', CATALOGUE, FeedDefaults())


def _sheet(text: str) -> bytes:
    """Return a spreadsheet of the rows of a CSV, with shared and inline texts, numbers and dates."""
    import csv

    shared: list[str] = []
    rows = ""
    for number, cells in enumerate(csv.reader(io.StringIO(text)), 1):
        rows += f'<row r="{number}">'
        for at, cell in enumerate(cells):
            place = f"{chr(65 + at)}{number}"
            if at % 3 == 0:
                shared.append(f"<t>{escape(cell)}</t>")
                rows += f'<c r="{place}" t="s"><v>{len(shared) - 1}</v></c>'
            elif cell.replace(".", "").isdecimal():
                rows += f'<c r="{place}"><v>{cell}</v></c>'
            else:
                rows += f'<c r="{place}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
        rows += '<c r="N1" s="1"><v>46216.25</v></c></row>'
    return book({"Jobs": rows}, shared)


# -- damage ----------------------------------------------------------------------------------------------------

PIECES = [
    *(b"<", b">", b"</job>", b"<job>", b"]]>", b"<!--", b"<![CDATA[", b"&", b"&x;", b'"', b"\n", b"\r", b"\0", b"'"),
    *(b"{", b"}", b"[", b"]", b",", b":", b"\\", b'\\u"', b"\\ud83d", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b";;;"),
    *(b"1e999", b"-1e-999", b"9" * 400, b"NaN", b"Infinity", b"true", b"null", b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b"),
    *(b"&#55357;&#56832;", b"&#xD83D;&#xDE00;", b"&#55357;", b"&#0;", b"&#x110000;", b"&#99999999999;", b"&nbsp;"),
    *(b"Mon, 13 Jul 2147483648 00:00:00 EST", b"Mon, 13 Jul 99999999999999999999 0:0:0 +9999999", b"99999-99-99", b"0000-00-00"),
    *(b"9999-12-31T23:59:59-23:59", b"0001-01-01T00:00:00+23:59", b"2026-12-13T07:59:60Z", b"99999", b"999999999999999"),
    *(b"$1e9 - $9e99 / hour", b"$" * 300, b"1,2,3.4.5", "٣٤".encode(), "\u2028".encode(), "\ufffe".encode(), b"\xed\xa0\xbd"),
    *(b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"<?xml version='1.0'?>", b"<a:b xmlns:a='u'>", b" a:b='c'", b"<" * 90, b"[" * 90),
    *(b"https://[::1", b"http://a@b", b"mailto:", b"x@", b"CA-ON-", b"Toronto; Ottawa|", b"sep=|\n", b"{{job.title}}"),
    *(b"-1", b"0", b"4294967296", b"18446744073709551616", b"\\", b"\x1a", b"\x00\x00\x00\x00", b"=cmd|' /C'!A0"),
]  # fmt: skip
CODECS = (
    "rot13 hex base64 bz2 zlib uu quopri idna punycode undefined unicode_escape raw_unicode_escape utf-7 utf-32 utf-16 mbcs oem"
    " charmap ascii utf-8-sig cp037 cp500 shift_jis iso2022_jp hz gb18030 big5 koi8-r latin-1 utf_16_le utf-8 string_escape xyz"
).split()
NUMBERS = [
    *(b"0", b"-1", b"00", b"1e5", b"1e308", b"1e999999", b"1e999999999999999999999", b"0.1", b"13", b"32", b"9999", b"99999"),
    *(str(power + more).encode() for power in (2**15, 2**31, 2**32, 2**63, 2**64, 10**12, 10**20) for more in (-1, 0, 1)),
    *(b"9" * 5000, "٣٤".encode(), "²".encode(), b"1_000", b"55357", b"xD83D", b"1114112"),
]  # fmt: skip
JSON_VALUES = [
    *(None, True, -1, 10**4000, 1e308, "", "NA", "Remote", "<script>", "&lt;b&gt;", "<p", "\0", "\ud800", "32/13/2026"),
    *([], {}, ["x"], [["x"]], {"name": "x"}, {"value": ["Laval"]}, [{"city": None}], "x" * 5000, "$" * 300, "9" * 400),
]  # fmt: skip
_DIGITS = re.compile(rb"\d+")
Damage = Callable[[Random, bytes], bytes]


def _cut(random: Random, data: bytes) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _flip(random: Random, data: bytes) -> bytes:
    at, size = random.randrange(len(data) + 1), random.randint(1, 4)
    return data[:at] + random.randbytes(size) + data[at + size :]


def _insert(random: Random, data: bytes) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + random.choice(PIECES) + data[at:]


def _drop(random: Random, data: bytes) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + data[at + random.choice((1, 1, 2, 30)) :]


def _overwrite(random: Random, data: bytes) -> bytes:
    at, piece = random.randrange(len(data) + 1), random.choice(PIECES)
    return data[:at] + piece + data[at + len(piece) :]


def _text_mode(random: Random, data: bytes) -> bytes:
    """Change line ends, as FTP in text mode does."""
    return data.replace(b"\r\n", b"\n") if random.random() < 0.5 else data.replace(b"\n", b"\r\n")


def _splice(random: Random, data: bytes) -> bytes:
    other = random.choice(seeds()).data
    return data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]


def _value(random: Random, data: bytes) -> bytes:
    """Replace the text between two marks: a cell, a text, a member."""
    at = random.randrange(len(data) + 1)
    starts = [place for mark in (b">", b'"', b",", b"\n") if (place := data.find(mark, at)) >= 0]
    if not starts:
        return data
    start = min(starts) + 1
    ends = [place for mark in (b"<", b'"', b",", b"\n") if (place := data.find(mark, start)) >= 0]
    return data[:start] + random.choice(PIECES) + data[min(ends, default=len(data)) :]


def _number(random: Random, data: bytes) -> bytes:
    at = random.randrange(len(data) + 1)
    found = _DIGITS.search(data, at)
    return data[: found.start()] + random.choice(NUMBERS) + data[found.end() :] if found else data


def _encoding(random: Random, data: bytes) -> bytes:
    """Declare another encoding."""
    body = data[data.find(b"?>") + 2 :] if data.startswith(b"<?xml") else data
    return f'<?xml version="1.0" encoding="{random.choice(CODECS)}"?>'.encode() + body


def _repack(random: Random, data: bytes) -> bytes:
    """Damage the content of an archive, not its bytes."""
    try:
        if data.startswith(b"\x1f\x8b"):
            return gzip.compress(_once(random, gzip.decompress(data)))
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
            chosen = random.choice(old.namelist())
            for name in old.namelist():
                content = old.read(name)
                new.writestr(name, _once(random, content) if name == chosen else content)
        return out.getvalue()
    except Exception:  # it is not an archive any more
        return data


def _places(value: Any) -> list[tuple[Any, Any]]:
    keys = [*value] if isinstance(value, dict) else [*range(len(value))] if isinstance(value, list) else []
    return [place for key in keys for place in ((value, key), *_places(value[key]))]


def _member(random: Random, data: bytes) -> bytes:
    """Replace values of a JSON file by values of other kinds. A file that is none, or too deep for this walk, stays as it is."""
    try:
        whole = [json.loads(data)]
        for _ in range(random.randint(1, 4)):
            holder, key = random.choice(_places(whole)[1:] or [(whole, 0)])
            holder[key] = random.choice(JSON_VALUES)
        return json.dumps(whole[0]).encode()
    except (ValueError, RecursionError):
        return data


PLAIN: list[Damage] = [_cut, _flip, _drop, _overwrite, _text_mode, _splice, _insert, _insert]
PLAIN += [*[_value] * 3, *[_number] * 3, *[_member] * 3]


def _once(random: Random, data: bytes) -> bytes:
    return random.choice(PLAIN)(random, data)


def damaged(number: int) -> tuple[Seed, bytes]:
    """Return the damaged file of this number, and the good one that it was."""
    random = Random(number)
    seed = random.choice(seeds())
    data = seed.data
    packed = data.startswith((b"\x1f\x8b", b"PK"))
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        if packed and random.random() < 0.7:
            data = _repack(random, data)
        elif random.random() < 0.05:
            data = _encoding(random, data)
        else:
            data = _once(random, data)
    return seed, data


def check_places(reader: FeedReader, places: list[tuple[int, int | None]], data: bytes) -> None:
    """Raise AssertionError for numbers with gaps, and for lines that are out of order or behind the end of a text."""
    assert [number for number, _ in places] == list(range(1, len(places) + 1))
    lines = [line for _, line in places if line is not None]
    assert all(line >= 1 for line in lines)
    plain = reader.source.encoding in ("utf-8", "guess", "cp1252") and not data.startswith(
        (b"\x1f\x8b", b"PK")
    )
    if plain and reader.withheld is None:
        ends = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n")
        assert lines == sorted(lines)
        assert all(line <= ends + 1 for line in lines)


def run(number: int, path: Path) -> str:
    """Read, map, check and pack the damaged file of this number, which is written to ``path``, and write its rejected records
    beside it. Draft the feed of every 50th, as ``syncd feed new`` does. Return "whole" or the code of the FeedError with
    which it ends. Raise every other error."""
    seed, data = damaged(number)
    path.write_bytes(data)
    config = seed.config
    validator = RowValidator(config.mapping, CATALOGUE)
    rejects = RejectsWriter(path.with_suffix(".rejected"), config.read)
    try:
        if number % 50 == 0:
            Drafter(path, "f", employer="A", catalogue=CATALOGUE, limits=LIMITS, today="2026-11-21").draft()
        reader = open_reader(path, config.read, TIGHT if number % 5 == 0 else LIMITS)
        rejects.start(reader)
        places: list[tuple[int, int | None]] = []
        try:
            for record in reader:
                places.append((record.number, record.line))
                assert record.item is not None or record.problem is not None
                [row] = validator.validate([record], reader.format)
                if row.kind in (RowKind.REJECTED, RowKind.RAGGED):
                    problems = unpack_problems(row.body)
                    rejects.add(record, problems)
                    # a preset cleans its descriptions
                    assert config.preset is None or all(each.code != "disallowed_html" for each in problems)
        finally:
            check_places(reader, places, data)
        list(reader.warnings())
    except FeedError as error:
        if not error.detail or (error.line is not None and error.line < 1):
            raise AssertionError("an error without words or with an impossible line") from error
        return error.code
    finally:
        rejects.close()
    return "whole"


def faults(numbers: range) -> Iterator[tuple[int, BaseException]]:
    """Yield the numbers of the files that end in another error, and the error."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "feed"
        for number in numbers:
            try:
                OUTCOMES[run(number, path)] += 1
            except Exception as error:
                yield number, error


#: How the files of this process ended: "whole" and the codes of errors → the number of files.
OUTCOMES: Counter[str] = Counter()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=200_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first file")
    options = parser.parse_args()
    started, places = time.monotonic(), Counter[str]()
    with suppress(KeyboardInterrupt):
        for number, error in faults(range(options.first, options.first + options.files)):
            frame = traceback.extract_tb(error.__traceback__)[-1]
            own = [f for f in traceback.extract_tb(error.__traceback__) if "/syncd/" in f.filename] or [frame]
            place = f"{type(error).__name__} at {own[-1].filename.rpartition('/syncd/')[2]}:{own[-1].lineno}"
            places[place] += 1
            if places[place] <= 3:
                print(
                    f"{number} ({damaged(number)[0].name}): {place}: {str(error)[:200]} [{frame.name}]",
                    flush=True,
                )
    print(dict(OUTCOMES), dict(places), f"{time.monotonic() - started:.0f} s")
    return 1 if places else 0


if __name__ == "__main__":
    raise SystemExit(main())
