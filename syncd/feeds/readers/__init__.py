"""Readers: a feed file as a stream of Records, in flat memory, whatever its format and encoding.

``open_reader`` looks at the first megabyte only; everything that is wrong further on comes as FeedError
while iterating. Given ``known``, the readers skip the parsing of records whose digest it knows; the file is
still judged to its last byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from syncd.domain.policy import Limits
from syncd.feeds.readers.csv_reader import CsvReader
from syncd.feeds.readers.detect import detect, refuse_foreign, refuse_page
from syncd.feeds.readers.json_reader import JsonReader
from syncd.feeds.readers.jsonl_reader import JsonLinesReader
from syncd.feeds.readers.source import Opener, Source
from syncd.feeds.readers.spec import ReadSpec, element_path, header_key, member_path
from syncd.feeds.readers.xml_reader import XmlReader
from syncd.feeds.records import FeedReader, Format, Known

__all__ = ["Limits", "ReadSpec", "element_path", "header_key", "member_path", "open_reader", "read_stream"]

_Reader = Callable[[Source, ReadSpec, Limits, Known | None], FeedReader]
_READERS: dict[Format, _Reader] = {
    "csv": CsvReader,
    "xml": XmlReader,
    "json": JsonReader,
    "jsonl": JsonLinesReader,
}


def open_reader(path: Path, spec: ReadSpec, limits: Limits, known: Known | None = None) -> FeedReader:
    """A reader of the file at ``path``. Raises FeedError for what its start shows already; OSError as it
    comes.
    """

    def opener() -> BinaryIO:
        return path.open("rb", buffering=0)

    return read_stream(opener, spec, limits, known)


def read_stream(opener: Opener, spec: ReadSpec, limits: Limits, known: Known | None = None) -> FeedReader:
    """The same over anything that can be opened from its start more than once (bytes that are unpacked on
    the way, say).
    """
    with opener() as stream:
        refuse_foreign(stream.read(8))
    source = Source(opener, spec.encoding, limits)
    refuse_page(source.head)
    return _READERS[spec.format or detect(source.head)](source, spec, limits, known)
