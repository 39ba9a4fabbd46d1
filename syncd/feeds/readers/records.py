"""Readers of all formats: their settings, the records that they give, as the file has them, and their common base."""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Literal, NamedTuple

from msgspec import Struct

from syncd.domain import FeedLimits
from syncd.errors import FeedError, Problem
from syncd.feeds.readers.source import Utf8Source, over_limit
from syncd.values import plural

Format = Literal["csv", "xml", "json", "jsonl"]

#: A function from the digests of the next records to those that are known (their rows need no parsing).
Known = Callable[[list[bytes]], Collection[bytes]]

#: The column, attribute or member in which a file of rejected records has its reasons.
ERRORS = "syncd_errors"
_MARK = re.compile(r"syncd[\s_-]*errors")
#: The bytes of memory that a cell takes besides its text.
_CELL_SIZE = 64
#: The last step of a JSON path: each member of the object there is a record.
EACH = "*"
#: A step of a path: each element of a list in which the records are lists in turn (``departments[*].jobs``).
WITHIN = "[*]"
#: Names, without case, ``_`` and ``-``, under which a file declares how many records it has.
_TOTALS = frozenset(
    "expectedjobcount jobcount jobscount numberofjobs numfound recordcount resultcount total totalcount totalelements totalfound"
    " totalhits totalitems totaljobs totalrecords totalresults totalsize".split()
)
#: Names that say that other records follow: true, or where they are; that these are the last: false; the number of pages.
_MORE = frozenset(
    "hasmore hasmoreitems hasmorepages hasmoreresults hasnext hasnextpage istruncated moreavailable moredataavailable morerecords"
    " moreresults".split()
)
_NEXT = frozenset(
    "next nextcursor nextlink nextoffset nextpage nextpagetoken nextpageurl nextrecordsurl nexttoken nexturl"
    " @odata.nextlink odata.nextlink continuationtoken".split()
)
#: Names of what went wrong where the file was made, which may lack records; and values of them that mean nothing.
WRONG, _NOT_WRONG = frozenset(("error", "errors")), frozenset(("", "0", "200", "false", "none", "null", "ok"))
_LAST = frozenset("last islast lastpage islastpage done".split())
_PAGES = frozenset("pages totalpages pagestotal pagecount numpages nbpages numberofpages lastpage".split())
_PAGE = frozenset(("page", "pages"))
#: "Page 1 of 3".
_NUMBER, _PAGE_OF = (
    re.compile(r"(\d{1,9})"),
    re.compile(r"(?:page\s*)?\d+\s*(?:of|de|sur|/)\s*(\d{1,9})", re.IGNORECASE),
)
#: A whole number as a person writes it: 1038, "1,038", "1 038", "1'038".
_WHOLE = re.compile(r"[0-9]+|[0-9]{1,3}(?:[,\s'’][0-9]{3})+")
#: The digits of a number of records that count: no file has more records.
_MAX_DIGITS = 9


def folded(name: str) -> str:
    """Return the name of a member without case, ``_`` and ``-``."""
    return re.sub("[_-]", "", name).casefold()


class Announced:
    """The words of a file about its records, in the members, elements or attributes beside them.

    ``total`` is their number, the largest of all that are named after it, as a number or in words such as "1,038"; ``follow`` the
    name by which it says that others follow; ``fault`` that by which something went wrong; ``pages`` that of a number of
    pages, and this number. ``parts`` are here."""

    def __init__(self) -> None:
        self.total: int | None = None
        self.follow: str | None = None
        self.fault: str | None = None
        self.pages, self.parts = ("", 1), 1

    @property
    def more(self) -> str | None:
        """The name by which the file says that others follow. Of several pages all may be in it, which a total shows."""
        name, pages = self.pages
        return self.follow or (name if pages > self.parts and self.total is None else None)

    def add(self, name: str, value: object) -> None:
        name = name.rpartition("}")[2]
        key, text = folded(name), str("" if value is None else value).strip()
        flag = {"true": True, "false": False}.get(text.casefold())
        if (key in WRONG and text.casefold() not in _NOT_WRONG) or (key == "success" and flag is False):
            self.fault = name
        elif flag is not None:
            self.follow = name if key in (_MORE if flag else _LAST) else self.follow
        elif text and (
            key in _NEXT or (key == "offset" and not _NUMBER.fullmatch(text))
        ):  # the mark of a place in the list
            self.follow = name
        elif key in _TOTALS and _WHOLE.fullmatch(text):
            self.total = max(self.total or 0, int(re.sub(r"[^0-9]", "", text)[:_MAX_DIGITS]))
        elif pages := (key in _PAGES and _NUMBER.fullmatch(text)) or (
            key in _PAGE and _PAGE_OF.fullmatch(text)
        ):
            self.pages = name, int(pages[1])


@dataclass(frozen=True, slots=True)
class ReadSpec:
    """The ``[read]`` section. None: find it out from the content.

    ``records`` is an XML element path (``/source/job``), or a JSON path to the array (``data.jobs``) or to all members
    of an object (``data.jobs.*``); CSV has none. ``encoding`` wins over the file's own declaration. ``sheet`` is the
    name of a spreadsheet's sheet (None: the first not hidden). ``recover``: XML is read leniently, and nothing may be archived.

    ``outside``: the mapping looks at more of the file than the record (``../@country``), so the part before the records counts
    as part of each of them. Where no selector does, it must be False, or a date in the feed's header makes every row look new."""

    format: Format | None = None
    records: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    recover: bool = False
    outside: bool = True
    sheet: str | None = None


class ReadOptions(NamedTuple):
    """The settings of one reader. ``slicing``: records of XML may come as Slices, and known ones in a row as one. For a file in
    an archive, ``before`` is the number of records in the files before it, and ``like`` their format. ``line_end``: the last
    record of the feed's last file had a line end."""

    spec: ReadSpec
    limits: FeedLimits
    known: Known | None = None
    slicing: bool = False
    before: int = 0
    like: Format | None = None
    line_end: bool = False


class Slice(Struct, frozen=True):
    """An XML record that was cut out and not parsed: its bytes, the element that holds the records, and their name."""

    data: bytes
    parent: object
    tag: str


class Record(Struct):
    """One item of a feed.

    ``number`` counts from 1. ``line`` (from 1) is the record's first, where the format has lines. ``digest`` is 16 bytes over
    all that decides the record's meaning (its bytes or values, and the file's encoding, header or prolog).

    ``item`` is the record in the format's own form: a dict for CSV (folded header → cell) and JSON, an lxml element, a
    FlatRecord or a Slice for XML; None where the digest was known, or where ``problem`` says why it cannot be read. An element is
    valid only until the next record is read. ``raw`` gives the record in the feed's own format, for the file of rejected rows
    (CSV: the cells; XML: serialised bytes; JSON: the value, or its text). ``run``: the digests of the known records in a row that
    this one stands for (``slicing``), itself included; its number, line and digest are those of the first. ``size`` is the
    memory that it takes, in about bytes, but for the objects in ``item``; 0 for known ones and Slices."""

    number: int
    line: int | None
    digest: bytes
    item: object | None = None
    problem: Problem | None = None
    raw: Callable[[], object] | None = None
    run: list[bytes] | None = None
    size: int = 0


class FeedReader(ABC):
    """Streams the records of one file in flat memory. Iterate once. Raise FeedError for a fault of the file as a whole, also at
    its very end: only there is a truncated file known.

    ``delimiter`` is the character between two cells of a CSV, ``sheets`` has the names of a spreadsheet's sheets that are
    not hidden, and ``records_path`` the names that lead to the records of JSON (in an archive, of its first file), with
    "*" last for members of an object. ``source`` has the bytes that are read: their encoding, and the start of the file in
    UTF-8. ``bytes_read`` is for progress; ``number`` is that of the last record.

    Final only after the last record: ``announced`` has the words of the file about its records. ``header`` has the cells of
    the CSV as they are written. ``mended``: the file has the marks of a file of rejected rows (``syncd_errors``).
    ``withheld`` says why nothing may be archived from these records.
    ``nameless``: the numbers of the columns without a name that have values. ``line_end``: whether the last record of a CSV has a
    line end; None in other formats. ``controls`` is the number of control characters that were left out in recovery mode."""

    format: Format
    delimiter: str | None = None
    sheets: Sequence[str] = ()
    records_path: tuple[str, ...] = ()

    def __init__(self, source: Utf8Source, options: ReadOptions) -> None:
        self.source = source
        self.announced = Announced()
        self.header: list[str] | None = None
        self.mended = False
        self.withheld: str | None = None
        self.line_end: bool | None = None
        self.nameless: set[int] = set()
        self.controls = 0
        self.bytes_read = 0
        self.number = options.before
        self._limits, self._known = options.limits, options.known
        self._line = 1

    @abstractmethod
    def __iter__(self) -> Iterator[Record]: ...

    def member_of(self, number: int) -> str | None:
        """Return the name of the file in an archive of several that a record, by its number, came from, else None."""
        return None

    def again(self, data: bytes, line: int) -> Record | None:
        """Return the record in the bytes of a Slice that begins in ``line``. The reader must have just given the file's
        first record. None: the bytes are not one record, or the first record was not like the others."""
        return None

    def warnings(self) -> Iterator[tuple[str, str]]:
        """Yield the code and the text of each warning about the file as a whole. Final only after the last record."""
        if self.source.guessed:
            read_as = "it was read as Windows-1252 (see [read] encoding)"
            yield "encoding_guessed", f"the file is not UTF-8 and names no encoding; {read_as}"
        if self.controls:
            left_out = f"{plural(self.controls, 'control character')} {'was' if self.controls == 1 else 'were'} left out"
            yield "control_characters", f"{left_out} of the file: XML allows none but tab and line ends"
        if self.nameless:
            columns = ", ".join(map(str, sorted(self.nameless)))
            yield (
                "column_without_name",
                f"columns that have values and no name are not used: column {columns}",
            )

    def _chunks(self, skip: int = 0) -> Iterator[bytes]:
        """Yield the file in UTF-8, without its first ``skip`` bytes."""
        for chunk in self.source.chunks():
            self.bytes_read, self.controls = self.source.bytes_read, self.source.controls
            yield chunk[skip:] if skip else chunk
            skip = max(0, skip - len(chunk))

    def _ask(self, digests: list[bytes]) -> Collection[bytes]:
        return frozenset(self._known(digests)) if self._known is not None and digests else ()

    def _next(self, count: int = 1) -> int:
        """Return the number of the first of ``count`` records that come now. Raise FeedError ``limit_exceeded``."""
        self.number += count
        if self.number > self._limits.rows:
            raise over_limit("rows", f"more than {self._limits.rows} rows", line=self._line)
        return self.number - count + 1


class TableReader(FeedReader):
    """A reader of a CSV or a spreadsheet: its records are rows below a header, and have its length."""

    format: Format = "csv"

    def __init__(self, source: Utf8Source, options: ReadOptions) -> None:
        super().__init__(source, options)
        self._keys: list[str] = []
        self._nameless: list[int] = []

    def _set_header(self, cells: list[str], line: int, spare: int = 0) -> None:
        """Take the names of the columns, of which the last ``spare`` have neither name nor values. Raise FeedError
        ``limit_exceeded``; ``bad_header`` if most columns have no name."""
        most = self._limits.columns
        if len(cells) > most:
            raise over_limit("columns", f"{len(cells)} columns, more than {most}", line=line)
        keys = [header_key(name) for name in column_names(cells)]
        empty = [str(n) for n, key in enumerate(keys[: len(keys) - spare], 1) if not key]
        if len(empty) * 2 > len(cells) - spare:
            advice = "the header must be the first line; remove a title that stands above it"
            raise FeedError("bad_header", f"column {', '.join(empty)} has no name; {advice}", line=line)
        self.header, self._keys = cells, keys
        self._nameless = [at for at, key in enumerate(keys) if not key]
        self.mended = ERRORS in keys

    def _new(
        self, row: list[str], cells: list[str], size: int, digest: bytes, problem: Problem | None = None
    ) -> Record:
        """Return the record of a ``row`` of ``size`` bytes; ``cells`` are those in the file. It is a problem if the row has not
        as many cells as the header, if it has no other ``problem``."""
        problem = problem or too_long(size, self._limits)
        if problem is None and len(row) != len(self._keys):
            detail = f"the row has {len(row)} cells, the header {len(self._keys)}"
            problem = Problem("", "ragged_row", detail, len(row))
        item = dict(zip(self._keys, row, strict=False))
        if self._nameless and problem is None and item.pop("", None) is not None:
            self.nameless.update(at + 1 for at in self._nameless if row[at].strip())
        kept = size + _CELL_SIZE * len(cells)
        return Record(self._next(), self._line, digest, item, problem, partial(list, cells), size=kept)


def too_long(size: int, limits: FeedLimits) -> Problem | None:
    """Return the problem of a record of ``size`` bytes, if that is more than a record may have."""
    if size <= limits.record:
        return None
    return Problem("", "too_long", f"the record is longer than {limits.record} bytes ([limits] record)", size)


def seeded(*seeds: bytes | str) -> Callable[[bytes], bytes]:
    """Return a function from a record's bytes to its digest: 16 bytes of SHA-256, seeded with everything else that decides
    the record's meaning. Different seeds never give the same digest."""
    seed = sha256()
    for part in seeds:
        data = part.encode() if isinstance(part, str) else part
        seed.update(b"%d:" % len(data) + data)
    prefixed = sha256(seed.digest()).copy

    def digest(raw: bytes) -> bytes:
        state = prefixed()
        state.update(raw)
        return state.digest()[:16]

    return digest


def column_names(header: Sequence[str]) -> list[str]:
    """Return the names by which a mapping finds the columns of a CSV. Of several columns with one name ``location`` they are
    ``location[1]``, ``location[2]``."""
    keys = [header_key(name) for name in header]
    numbers: Counter[str] = Counter()
    names = []
    for name, key in zip(header, keys, strict=True):
        numbers[key] += 1
        once = key in ("", ERRORS) or keys.count(key) == 1
        names.append(name if once else f"{name.strip()}[{numbers[key]}]")
    return names


def header_key(name: str) -> str:
    """Return the key of a CSV column: its name without case and surrounding space. A program that has written the column of
    ``ERRORS`` anew may have changed its underscore."""
    key = name.strip().casefold()
    return ERRORS if _MARK.fullmatch(key) else key


def element_path(text: str) -> tuple[str, ...]:
    """Return the steps of ``/source/job``, without namespace prefixes (``*``: any name). Raise ValueError for another text."""
    steps = tuple(step.rsplit(":", 1)[-1].strip() for step in text.strip().strip("/").split("/"))
    if not all(step == "*" or re.sub(r"[-_.]", "", step).isalnum() for step in steps):
        raise ValueError(f"not a path of element names: {text!r}")
    return steps


def member_path(text: str) -> tuple[str, ...]:
    """Return the names in ``data.jobs`` (or ``$.data.jobs[*]``, ``/data/jobs``). ``$`` alone is the root itself,
    ``*`` at the end (``data.jobs.*``, or alone) each member of an object, and ``[*]`` within (``departments[*].jobs``) each
    element of a list that has a list of records. Raise ValueError for another text."""
    bare = text.strip().removeprefix("$").removesuffix("[*]").removesuffix("[]").strip("./")
    bare = bare.replace("/", ".").replace(".[*]", "[*]").replace("[*]", ".[*]").strip(".")
    steps = tuple(bare.split(".")) if bare else ()
    if any(not step or ("[" in step and step != WITHIN) for step in steps):
        raise ValueError(f"not a path of member names: {text!r}")
    if EACH in steps[:-1]:
        raise ValueError(f"not a path of member names: {text!r}; * is for the end of one")
    return steps


def parsed_path(records: str, parse: Callable[[str], tuple[str, ...]]) -> tuple[str, ...]:
    """Return ``[read] records`` as the steps of a path in the file's own format. Raise FeedError ``no_records_path``."""
    try:
        return parse(records)
    except ValueError as error:
        raise FeedError("no_records_path", f"[read] records is {error}") from None
