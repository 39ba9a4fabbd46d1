"""Open a feed file with the reader of its format.

``open_reader`` looks at the first megabyte only. What is wrong further on is raised as FeedError while iterating. With
``known``, the readers do not parse records whose digest is known; the file is still checked to its last byte."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from syncd.domain import FeedLimits
from syncd.feeds.readers.csv_reader import CsvReader
from syncd.feeds.readers.detect import detect, refuse_foreign, refuse_page
from syncd.feeds.readers.json import JsonLinesReader, JsonReader
from syncd.feeds.readers.records import FeedReader
from syncd.feeds.readers.source import GZIP, Opener, Stream, Utf8Source, gunzip
from syncd.feeds.readers.spec import Format, Known, ReadOptions, ReadSpec
from syncd.feeds.readers.xlsx_book import is_spreadsheet
from syncd.feeds.readers.xlsx_reader import XlsxReader
from syncd.feeds.readers.xml import LenientXmlReader, XmlReader
from syncd.feeds.readers.zip_archive import ZIP, ZipArchive, ZipReader

_READERS: dict[Format, Callable[[Utf8Source, ReadOptions], FeedReader]] = {
    "csv": CsvReader,
    "xml": XmlReader,
    "json": JsonReader,
    "jsonl": JsonLinesReader,
}
#: This many bytes show what kind of file it is.
_START = 512


def open_reader(
    path: Path, spec: ReadSpec, limits: FeedLimits, known: Known | None = None, *, slicing: bool = False
) -> FeedReader:
    """Return a reader of the file at ``path``. Raise FeedError for what its start already shows, and OSError.

    ``slicing``: records of XML may come as Slices, which ``again`` of another reader of the same file parses."""
    return read_stream(lambda: path.open("rb", buffering=0), spec, limits, known, slicing=slicing)


def read_stream(
    opener: Opener, spec: ReadSpec, limits: FeedLimits, known: Known | None = None, *, slicing: bool = False
) -> FeedReader:
    """Return a reader of anything that can be opened from its start more than once."""
    options = ReadOptions(spec, limits, known, slicing)
    start = _start(opener)
    if start.startswith(GZIP):
        return _read_plain(gunzip(opener, limits), options)
    if start.startswith(ZIP):
        with closing(ZipArchive(opener(), limits)) as archive:
            if is_spreadsheet(archive.zip.namelist()):
                return XlsxReader(opener, options, archive)
            return ZipReader(opener, options, _read_plain, archive)
    return _read_plain(opener, options)


def _read_plain(opener: Callable[[], Stream], options: ReadOptions) -> FeedReader:
    refuse_foreign(_start(opener))
    spec = options.spec
    source = Utf8Source(opener, spec.encoding, options.limits)
    refuse_page(source.head)
    form = spec.format or detect(source.head, recover=spec.recover)
    if (options.like, form) == ("jsonl", "json"):  # a single line of JSON Lines looks like any object
        form = "jsonl"
    if form == "xml" and spec.recover:
        return LenientXmlReader(source, options)
    return _READERS[form](source, options)


def _start(opener: Callable[[], Stream]) -> bytes:
    with closing(opener()) as stream:
        return stream.read(_START)
