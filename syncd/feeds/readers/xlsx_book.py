"""The parts of an .xlsx file: its sheets, their shared texts, and the styles of dates.

Every part is streamed through lxml like an XML feed: without document types, with nothing loaded from elsewhere, and
with at most one row or one text in memory. The shared texts go to a scratch file when they are many, and have a size before
they are read from it: one of them may stand in a million cells."""

from __future__ import annotations

import posixpath
import re
from array import array
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from tempfile import SpooledTemporaryFile
from typing import NamedTuple, cast

from lxml import etree

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.source import not_a_feed, over_limit, unpacking
from syncd.feeds.readers.xml import BYTES_A_TAG, Event, local, new_parser, refuse_dtd
from syncd.feeds.readers.zip_archive import ZipArchive

_CONTENTS = "[Content_Types].xml"
#: A name in the archive → the kind of the archive, which is not a feed.
_FOREIGN = {
    "xl/workbook.bin": "a binary Excel workbook (.xlsb): save it as .xlsx or CSV",
    "word/document.xml": "a Word document",
    "ppt/presentation.xml": "a presentation",
}
OPEN_DOCUMENT_SHEET = "an OpenDocument spreadsheet (.ods): save it as .xlsx or CSV"
#: The bytes of the member that names the kind of an OpenDocument file.
_MAX_KIND = 100
_CHUNK = 1 << 16
#: No row or text is longer: a cell holds 32,767 characters.
_MAX_ELEMENT = 4 << 20
_IN_MEMORY = 8 << 20
#: The most shared texts that stay in memory once they were asked for, and the largest of them in bytes.
_CACHED, _MAX_CACHED_SIZE = 512, 1 << 13
#: The bytes of memory that an entry of a list of parts, sheets or styles takes besides its texts.
_ENTRY_SIZE = 64
#: No program writes a longer number format.
_MAX_FORMAT_CHARACTERS = 255
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_DATES = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
#: Parts of a number format that are text, colour, padding or a condition.
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)


class Sheet(NamedTuple):
    """A sheet's name, the part that has its rows, and whether it is shown."""

    name: str
    part: str
    visible: bool


def is_spreadsheet(archive: ZipArchive) -> bool:
    """Return whether an archive is a spreadsheet. Raise FeedError ``not_a_feed`` for other documents."""
    names = archive.zip.namelist()
    contents = _CONTENTS in names
    for name, what in _FOREIGN.items():
        if contents and name in names:
            raise not_a_feed(what)
    if "content.xml" in names and ("mimetype" in names or "META-INF/manifest.xml" in names):
        with unpacking():
            kind = archive.zip.open("mimetype").read(_MAX_KIND) if "mimetype" in names else b""
        raise not_a_feed("an OpenDocument file" if b"spreadsheet" not in kind else OPEN_DOCUMENT_SHEET)
    return contents and any(name.startswith("xl/") for name in names)


class Book:
    """An open spreadsheet. ``dates`` are the styles whose numbers are dates; ``since_1904``: they count from 1904.
    Raise FeedError ``bad_archive`` and the errors of ``elements``."""

    def __init__(self, archive: ZipArchive, limits: FeedLimits) -> None:
        self._archive, self._limits = archive, limits
        self._expanded = self._kept = 0
        mains = (part for kind, _, part in self._links("") if kind == "officeDocument")
        main = next(mains, "xl/workbook.xml")
        links = self._links(main)
        self._targets = {name: part for _, name, part in links}
        self._parts = {kind: part for kind, _, part in links}
        self.since_1904 = False
        self.sheets = self._sheets(main)
        self.dates = frozenset(self._date_styles()) if "styles" in self._parts else frozenset()

    def elements(self, part: str, *names: str) -> Iterator[etree._Element]:
        """Yield the elements of these names in a part, each valid until the next one. Raise FeedError
        ``not_well_formed``, ``forbidden_dtd``, ``limit_exceeded``."""
        try:
            info = self._archive.zip.getinfo(part)
        except KeyError:
            raise FeedError("bad_archive", f"the spreadsheet lacks its part {part!r}") from None
        self._archive.check(info)
        with closing(self._archive.open(info, self._expanded)) as stream:
            yield from _elements(iter(lambda: stream.read(_CHUNK), b""), part, names, self._limits)
            self._expanded = stream.expanded

    def fill(self, texts: Texts) -> None:
        if "sharedStrings" not in self._parts:
            return
        for element in self.elements(self._parts["sharedStrings"], "si"):
            if len(texts) >= self._limits.rows:
                raise over_limit("rows", f"more than {self._limits.rows} texts in the spreadsheet")
            texts.add(plain_text(element))

    def sheet(self, wanted: str | None) -> Sheet:
        """Return the sheet of that name, in any case, or the first that is not hidden. Raise FeedError ``no_records_path``."""
        for sheet in self.sheets:
            if sheet.name.casefold() == wanted.casefold() if wanted else sheet.visible:
                return sheet
        named = ", ".join(repr(sheet.name) for sheet in self.sheets[:10])
        what = f"no sheet {wanted!r}" if wanted else "all sheets are hidden"
        raise FeedError("no_records_path", f"{what} in the spreadsheet; it has {named or 'none'}")

    def _links(self, part: str) -> list[tuple[str, str, str]]:
        """Return (kind, id, part) of each part that a part refers to."""
        folder, name = posixpath.split(part)
        rels = posixpath.join(folder, "_rels", f"{name}.rels")
        if rels not in self._archive.zip.NameToInfo:
            return []
        links = []
        for link in self.elements(rels, "Relationship"):
            target = posixpath.normpath(posixpath.join("/", folder, link.get("Target") or "")).lstrip("/")
            kind, name = (link.get("Type") or "").rpartition("/")[2], link.get("Id") or ""
            self._keep(kind, name, target)
            links.append((kind, name, target))
        return links

    def _sheets(self, main: str) -> list[Sheet]:
        sheets = []
        for element in self.elements(main, "workbookPr", "sheet"):
            if local(element) == "workbookPr":
                self.since_1904 = element.get("date1904") in ("1", "true")
                continue
            link = next((str(v) for k, v in element.attrib.items() if str(k).endswith("}id")), "")
            part = self._targets.get(link, "")
            if "sheet" in part.casefold():
                sheet = Sheet(element.get("name") or "", part, element.get("state") in (None, "visible"))
                self._keep(sheet.name)
                sheets.append(sheet)
        return sheets

    def _date_styles(self) -> Iterator[int]:
        formats: dict[str, bool] = {}
        number = 0
        for element in self.elements(self._parts["styles"], "numFmt", "xf"):
            if local(element) == "numFmt":
                kind = element.get("numFmtId") or ""
                code = _LITERAL.sub("", (element.get("formatCode") or "")[:_MAX_FORMAT_CHARACTERS])
                self._keep(kind)
                formats[kind] = any(mark in code.casefold() for mark in "dmyhs")
            elif (parent := element.getparent()) is not None and local(parent) == "cellXfs":
                kind = element.get("numFmtId") or "0"
                if formats.get(kind, kind.isdecimal() and int(kind) in _DATES):
                    self._keep()
                    yield number
                number += 1

    def _keep(self, *texts: str) -> None:
        """Ask for the memory of one entry of a list, before it is made. Raise FeedError ``limit_exceeded``."""
        self._kept += _ENTRY_SIZE + sum(map(len, texts))
        if self._kept > self._limits.text:
            detail = f"the spreadsheet's parts, sheets and styles take more than {self._limits.text} bytes"
            raise over_limit("text", detail)


class Texts:
    """A list of texts that takes eight bytes of memory for each. ``size`` returns the size of one in UTF-8 by its number from 0,
    and raises IndexError for a number beyond the last; ``get`` returns one that has a size."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  closed by close()
        self._ends = array("Q", [0])
        self._cached = lru_cache(_CACHED)(self._load)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, text: str) -> None:
        self._file.write(text.encode())
        self._ends.append(self._file.tell())

    def size(self, number: int) -> int:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self._ends[number + 1] - self._ends[number]

    def get(self, number: int) -> str:
        size = self._ends[number + 1] - self._ends[number]
        return self._cached(number) if size <= _MAX_CACHED_SIZE else self._load(number)

    def _load(self, number: int) -> str:
        self._file.seek(self._ends[number])
        return self._file.read(self.size(number)).decode()

    def close(self) -> None:
        self._file.close()


def plain_text(element: etree._Element) -> str:
    """Return the text of an ``si`` or ``is`` element: all its runs, without the guides to pronunciation."""
    runs = [
        run.text or ""
        for run in element.iter("{*}t")
        if (parent := run.getparent()) is not None and local(parent) != "rPh"
    ]
    return _ESCAPE.sub(_character, "".join(runs))


def _character(escape: re.Match[str]) -> str:
    code = int(escape[1], 16)
    return "" if 0xD800 <= code < 0xE000 else chr(code)


def _elements(
    chunks: Iterator[bytes], part: str, wanted: tuple[str, ...], limits: FeedLimits
) -> Iterator[etree._Element]:
    parser = new_parser(tuple(f"{{*}}{name}" for name in wanted))
    events = cast(Iterator[Event], parser.read_events())
    most = min(_MAX_ELEMENT, limits.text)
    since = 0
    try:
        for number, chunk in enumerate(chunks):
            if number == 0:
                refuse_dtd(chunk)
            since += len(chunk) + BYTES_A_TAG * chunk.count(b"<")
            parser.feed(chunk)
            for event, element in events:
                if event == "end":
                    since = 0
                    yield element
                    element.clear()
                    while (before := element.getprevious()) is not None and (
                        parent := element.getparent()
                    ) is not None:
                        parent.remove(before)
                elif element.getprevious() is None and element.getroottree().docinfo.internalDTD is not None:
                    raise FeedError("forbidden_dtd", f"{part} of the spreadsheet declares a document type")
            if since > most:
                detail = f"{part} of the spreadsheet has more than {most} bytes without a row or text"
                raise FeedError("limit_exceeded", f"{detail}, where a tag counts {BYTES_A_TAG} bytes more")
        parser.close()
    except etree.XMLSyntaxError as error:
        raise FeedError("not_well_formed", f"{part} of the spreadsheet: {error.msg}") from None
