"""For tests of the readers: the records of a file, or its fault, in plain types."""

import io
from typing import Any

import pytest
from lxml import etree

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers import ReadSpec
from syncd.feeds.readers.opening import read_stream
from syncd.feeds.readers.records import Record

#: An XML declaration.
X = '<?xml version="1.0" encoding="UTF-8"?>'
MB = 1 << 20
FOUND = ReadSpec()
LIMITS = FeedLimits()


def values(record: Record) -> Any:
    """Return the content of a record in plain types: of an element the texts of its children by name."""
    if isinstance(record.item, etree._Element):
        return {etree.QName(child).localname: child.text for child in record.item}
    return record.item


def reader_of(data: bytes | str, spec: ReadSpec = FOUND, limits: FeedLimits = LIMITS, known=None, **options):
    """Return a reader of ``data`` before its first record."""
    raw = data.encode() if isinstance(data, str) else data
    return read_stream(lambda: io.BytesIO(raw), spec, limits, known, **options)


def read(data: bytes | str, spec: ReadSpec = FOUND, limits: FeedLimits = LIMITS, known=None):
    """Return the reader after its last record, and (content, problem code) of each record."""
    reader = reader_of(data, spec, limits, known)
    return reader, [(values(r), r.problem.code if r.problem else None) for r in reader]


def items(data: bytes | str, spec: ReadSpec = FOUND, limits: FeedLimits = LIMITS) -> list[Any]:
    return [value for value, _ in read(data, spec, limits)[1]]


def fault(data: bytes | str, spec: ReadSpec = FOUND, limits: FeedLimits = LIMITS) -> FeedError:
    with pytest.raises(FeedError) as caught:
        read(data, spec, limits)
    return caught.value


def digests(data: bytes | str, spec: ReadSpec = FOUND) -> list[bytes]:
    return [record.digest for record in reader_of(data, spec)]
