"""A record: one item of a feed as the file has it, before any mapping."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Literal, Protocol

from msgspec import Struct

from syncd.errors import Problem

Format = Literal["csv", "xml", "json", "jsonl"]

#: The column, attribute or member in which a file of rejected records has its reasons.
ERRORS = "syncd_errors"

#: A function from the digests of the next records to those that are known (their rows need no parsing).
Known = Callable[[list[bytes]], Collection[bytes]]


class Slice(Struct, frozen=True):
    """An XML record that was cut out and not parsed (``FeedReader.slicing``): its bytes, the element that holds the
    records, and their name."""

    data: bytes
    parent: object
    tag: str


class Record(Struct):
    """One item of a feed.

    ``number`` counts from 1. ``line`` (from 1) is the record's first, where the format has lines; ``offset`` its first
    byte, where it is known. ``digest`` is 16 bytes over all that decides the record's meaning (its bytes or values, and
    the file's encoding, header or prolog).

    ``item`` is the record in the format's own form: a dict for CSV (folded header → cell) and JSON, an lxml element or
    a Slice for XML; None where the digest was known, or where ``problem`` says why it cannot be read. An element is
    valid only until the next record is asked for. ``raw`` gives the record in the feed's own format, for the file of
    rejected rows (CSV: list of cells; XML: serialised bytes; JSON: the value)."""

    number: int
    line: int | None
    offset: int | None
    digest: bytes
    item: object | None
    problem: Problem | None = None
    raw: Callable[[], object] | None = None


class FeedReader(Protocol):
    """Streams the records of one file in flat memory. Iterate once. Raise FeedError for what spoils the file as a
    whole, also at its very end: only there is a truncated file known.

    ``declared`` is the number of records that the file says it has, if it says so. ``header`` has the CSV's cells as
    they are written. ``mended``: the file has the marks of a file of rejected rows (``syncd_errors``). ``withheld``
    says why nothing may be archived from what was read (recovery mode), else None. ``bytes_read`` is for progress. All
    but ``format`` and ``bytes_read`` are final only after the last record.

    ``slicing`` may be set by the caller; from then on records of XML may come as Slices, which ``again`` of another
    reader of the same file parses."""

    format: Format
    declared: int | None
    header: list[str] | None
    mended: bool
    withheld: str | None
    bytes_read: int
    slicing: bool

    def __iter__(self) -> Iterator[Record]: ...

    def member_of(self, number: int) -> str | None:
        """Return the name of the file in an archive of several that a record, by its number, came from, else None."""
        ...

    def again(self, data: bytes, line: int) -> Record | None:
        """Return the record in the bytes of a Slice that begins in ``line``. The reader must have just given the file's
        first record. None: the bytes are not one record, or the first record was not like the others."""
        ...
