"""Open a feed file with the reader of its format, which its first bytes show, and never its name.

``open_reader`` looks at the first megabyte only. Later faults are raised as FeedError while iterating. With ``known``, the
readers do not parse records whose digest is known; the file is still checked to its last byte."""

import json
import re
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.csv_reader import CsvReader
from syncd.feeds.readers.json_paths import ARRAYS
from syncd.feeds.readers.json_reader import JsonLinesReader, JsonReader
from syncd.feeds.readers.records import FeedReader, Format, Known, ReadOptions, ReadSpec
from syncd.feeds.readers.source import GZIP, Opener, Stream, Utf8Source, gunzip, not_a_feed
from syncd.feeds.readers.xlsx_book import OPEN_DOCUMENT_SHEET, is_spreadsheet
from syncd.feeds.readers.xlsx_reader import XlsxReader
from syncd.feeds.readers.xml import LenientXmlReader, XmlReader
from syncd.feeds.readers.zip_archive import ZIP, ZipArchive, ZipReader
from syncd.plain_files import kind_of

_READERS: dict[Format, Callable[[Utf8Source, ReadOptions], FeedReader]] = {
    "csv": CsvReader,
    "xml": XmlReader,
    "json": JsonReader,
    "jsonl": JsonLinesReader,
}
#: The markup that may stand before the root of a document, and the roots of documents of other programs.
_PROLOG = rb"(?is)(?>(?:\s+|<\?.*?\?>|<!--.*?-->)*)"
_DOCUMENTS = (
    (rb"<!doctype\s+html|<html[\s>]|<table[^>]*>\s*<t(?:r|head|body)[\s>]", "an HTML page"),
    (rb"<(?:\w+:)?workbook\s[^>]*urn:schemas-microsoft-com:office:spreadsheet",
     "a spreadsheet in the XML of Excel 2003: save it as .xlsx or CSV"),
    (rb"<office:document[\s>][^>]*opendocument\.spreadsheet", OPEN_DOCUMENT_SHEET),
)  # fmt: skip
_FOREIGN = tuple((re.compile(_PROLOG + b"(?:" + root + b")"), what) for root, what in _DOCUMENTS)
#: Offset, bytes, and the kind of file that has these bytes there. Archives that are unpacked have been unpacked before.
_MAGIC = (
    (0, b"\x1f\x8b", "an archive within an archive"),
    (0, b"PK\x03\x04", "an archive or a spreadsheet within an archive"),
    (0, b"PK\x05\x06", "an archive within an archive"),
    (0, b"PK\x07\x08", "a part of a split zip archive"),
    (257, b"ustar", "a tar archive (only zip and gzip are unpacked)"),
    (0, b"BZh", "a bzip2 archive (only zip and gzip are unpacked)"),
    (0, b"\xfd7zXZ\x00", "an xz archive (only zip and gzip are unpacked)"),
    (0, b"\x28\xb5\x2f\xfd", "a zstd archive (only zip and gzip are unpacked)"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive (only zip and gzip are unpacked)"),
    (0, b"Rar!\x1a\x07", "a RAR archive (only zip and gzip are unpacked)"),
    (0, b"%PDF", "a PDF document"),
    (0, b"\xd0\xcf\x11\xe0", "an old spreadsheet (.xls) or Word document: save it as .xlsx or CSV"),
    (0, b"SQLite format 3\x00", "a database"),
    (0, b"\x89PNG", "an image"),
    (0, b"\xff\xd8\xff", "an image"),
    (0, b"GIF8", "an image"),
)
_XML_OPENING = re.compile(rb"<\?xml\s")
_JSON_OPENING = re.compile(rb"\[\s*\{|\{\s*\"")
#: The first element of a document that was copied out of a browser, below a sentence of the browser.
_ROOT_OPENING = re.compile(rb"(?<=\n)<[A-Za-z_][\w.:-]*>\s*<[A-Za-z_!]")
_OPENINGS = (
    (_XML_OPENING, "the XML declaration"),
    (_ROOT_OPENING, "the first element of the XML"),
    (_JSON_OPENING, "the first bracket of the JSON"),
)
#: A first line that a document may have, to be continued on the next: a list of objects in it, or an end that needs more.
_UNFINISHED = re.compile(rb"\[\s*\{|[\[{,:]\s*\Z")
#: The begin of a file that cannot be CSV, by its format.
_UNLIKE_CSV = {"XML": re.compile(rb"<\?xml\s|<[A-Za-z_!][^<>,;\t|]*>\s*<"), "JSON": _JSON_OPENING}
#: Text that may precede an opening on the first line of a file that is not CSV: for JSON also "for(;;);".
_NO_COLUMNS = re.compile(rb"[^\n,;\t|\"]*\Z|[^\n\"]*[;=(]\s*\Z")
_DELIMITERS = re.compile(rb"[,;\t|\"]")
#: The most bytes before the end of an opening with other text before it.
_MAX_BANNER = 4096
#: The bytes that show the kind of a file.
_START = 512


def open_reader(path: Path, spec: ReadSpec, limits: FeedLimits, known: Known | None = None) -> FeedReader:
    """Return a reader of the file at ``path``. Raise FeedError for faults that its start shows and for a path that is not a file,
    and OSError."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):  # a FIFO would wait for a writer, a device may have no end
        raise FeedError("not_a_feed", f"this is {kind_of(mode)}, not a file")
    return read_stream(lambda: path.open("rb", buffering=0), spec, limits, known)


def read_stream(
    opener: Opener,
    spec: ReadSpec,
    limits: FeedLimits,
    known: Known | None = None,
    *,
    slicing: bool = False,
    line_end: bool = False,
) -> FeedReader:
    """Return a reader of anything that can be opened from its start more than once. ``slicing``: records of XML may come as
    Slices, which ``again`` of another reader of the same file parses. ``line_end``: as in ReadOptions."""
    options = ReadOptions(spec, limits, known, slicing, line_end=line_end)
    start = _start(opener)
    if start.startswith(GZIP):
        return _read_plain(lambda: gunzip(opener(), limits), options)
    if start.startswith(ZIP):
        with closing(ZipArchive(opener(), limits)) as archive:
            if is_spreadsheet(archive):
                return XlsxReader(opener, options, archive)
            return ZipReader(opener, options, _read_plain, archive)
    return _read_plain(opener, options)


def _read_plain(opener: Callable[[], Stream], options: ReadOptions) -> FeedReader:
    start = _start(opener)
    for offset, magic, what in _MAGIC:
        if start.startswith(magic, offset):
            raise not_a_feed(what)
    spec = options.spec
    source = Utf8Source(opener, spec.encoding, options.limits)
    for document, what in _FOREIGN:  # a web server may send a page in place of the feed
        if document.match(source.head):
            raise not_a_feed(what)
    if spec.format is not None:
        _refuse_other(source.head, spec)
        form = spec.format
    else:
        form = _detect(source.head, recover=spec.recover)
    if (options.like, form) == ("jsonl", "json"):  # a single line of JSON Lines looks like any object
        form = "jsonl"
    if form == "xml" and spec.recover:
        return LenientXmlReader(source, options)
    return _READERS[form](source, options)


def _start(opener: Callable[[], Stream]) -> bytes:
    with closing(opener()) as stream:
        return stream.read(_START)


def _refuse_other(head: bytes, spec: ReadSpec) -> None:
    """Raise FeedError if a file that begins with ``head`` is certainly not of the format that ``spec`` names. (The readers of
    JSON refuse other files by themselves.)"""
    start = head.lstrip()
    other = next((name for name, opening in _UNLIKE_CSV.items() if opening.match(start)), None)
    if (spec.format == "csv" and other is not None) or (
        spec.format == "xml" and _detect(head, recover=spec.recover) != "xml"
    ):
        actual = "this is not XML" if other is None else f"this looks like {other}"
        detail = f"{actual}, but the feed reads {spec.format.upper()} (preset, or [read] format)"
        raise FeedError("not_a_feed", detail, line=1)


def _detect(head: bytes, *, recover: bool) -> Format:
    """Return the format of a file that begins with ``head``, in UTF-8. Raise FeedError ``not_well_formed`` for XML or JSON with
    text before it, except for XML that is read leniently."""
    text = head.lstrip()
    if text.startswith(b"<"):
        return "xml"
    if text.startswith(b"["):
        return "json"
    if text.startswith(b"{"):
        return "jsonl" if _lines_of_objects(text) else "json"
    for opening, what in _OPENINGS:
        at = _begins_late(head, opening)
        if at is None:
            continue
        if recover and opening is not _JSON_OPENING:
            return "xml"
        line = head.count(b"\n", 0, at) + 1
        raise FeedError("not_well_formed", f"there is text before {what}", line=line)
    return "csv"


def _begins_late(head: bytes, opening: re.Pattern[bytes]) -> int | None:
    """Return where ``opening`` stands although other text comes first, as the begin of a line or behind a first line that
    has no columns: not within a cell of a CSV."""
    for match in opening.finditer(head, 0, _MAX_BANNER):
        before = head[: match.start()]
        begins_line = before.rpartition(b"\n")[2].strip() == b"" and before.count(b'"') % 2 == 0
        if opening is _ROOT_OPENING:  # the text of a cell may begin so
            begins_line = not _DELIMITERS.search(before)
        if begins_line or _NO_COLUMNS.match(before):
            return match.start()
    return None


def _lines_of_objects(text: bytes) -> bool:
    """Return whether the first line is a whole object that another one follows, or a lone job; or broken, where an object
    follows that can be no part of it."""
    first, _, rest = text.partition(b"\n")
    value = _whole_object(first)
    if value is None:
        second = _whole_object(rest.lstrip().partition(b"\n")[0])
        return second is not None and not _has_arrays(second) and not _UNFINISHED.search(first)
    if _has_arrays(value):
        return False
    return bool(rest.strip()) or "referenceId" in value


def _has_arrays(value: dict[str, object]) -> bool:
    return any(isinstance(value.get(name), list) for name in ARRAYS)


def _whole_object(line: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
