"""Open a feed file with the reader of its format.

``open_reader`` looks at the first megabyte only. What is wrong further on is raised as FeedError while iterating. With
``known``, the readers do not parse records whose digest is known; the file is still checked to its last byte."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

from syncd.domain import FeedLimits
from syncd.feeds.readers.base import BaseReader
from syncd.feeds.readers.csv import CsvReader
from syncd.feeds.readers.detect import detect, refuse_foreign, refuse_page
from syncd.feeds.readers.json import JsonLinesReader, JsonReader
from syncd.feeds.readers.packed import GZIP, Opener, Stream, gunzip
from syncd.feeds.readers.records import FeedReader, Format, Known
from syncd.feeds.readers.source import Utf8Source
from syncd.feeds.readers.spec import ReadSpec, element_path, header_key, member_path
from syncd.feeds.readers.xlsx import XlsxReader, is_spreadsheet
from syncd.feeds.readers.xml import LenientXmlReader, XmlReader
from syncd.feeds.readers.zip_archive import ZIP, ZipArchive, ZipReader

__all__ = [
    "FeedLimits",
    "ReadSpec",
    "element_path",
    "header_key",
    "member_path",
    "open_reader",
    "read_stream",
]

_Reader = Callable[[Utf8Source, ReadSpec, FeedLimits, Known | None], BaseReader]
_READERS: dict[Format, _Reader] = {
    "csv": CsvReader,
    "xml": XmlReader,
    "json": JsonReader,
    "jsonl": JsonLinesReader,
}
#: This many bytes show what kind of file it is.
_START = 512


def open_reader(path: Path, spec: ReadSpec, limits: FeedLimits, known: Known | None = None) -> FeedReader:
    """Return a reader of the file at ``path``. Raise FeedError for what its start already shows, and OSError."""

    def opener() -> BinaryIO:
        return path.open("rb", buffering=0)

    return read_stream(opener, spec, limits, known)


def read_stream(opener: Opener, spec: ReadSpec, limits: FeedLimits, known: Known | None = None) -> FeedReader:
    """Return a reader of anything that can be opened from its start more than once."""

    def member(content: Callable[[], Stream], number: int = 0, like: Format | None = None) -> BaseReader:
        reader = _read_plain(content, spec, limits, known, like)
        reader.count_from(number)
        return reader

    start = _start(opener)
    if start.startswith(GZIP):
        return member(gunzip(opener, limits))
    if start.startswith(ZIP):
        with closing(ZipArchive(opener(), limits)) as archive:
            if is_spreadsheet(archive.zip.namelist()):
                return XlsxReader(opener, spec, limits, known, archive)
            return ZipReader(opener, limits, member, archive)
    return member(opener)


def _read_plain(
    opener: Callable[[], Stream],
    spec: ReadSpec,
    limits: FeedLimits,
    known: Known | None,
    like: Format | None = None,
) -> BaseReader:
    """``like`` is the format of the files before it in the same archive."""
    refuse_foreign(_start(opener))
    source = Utf8Source(opener, spec.encoding, limits)
    refuse_page(source.head)
    form = spec.format or detect(source.head, recover=spec.recover)
    if (like, form) == ("jsonl", "json"):  # a single line of JSON Lines looks like any object
        form = "jsonl"
    if form == "xml" and spec.recover:
        return LenientXmlReader(source, spec, limits, known)
    return _READERS[form](source, spec, limits, known)


def _start(opener: Callable[[], Stream]) -> bytes:
    with closing(opener()) as stream:
        return stream.read(_START)
