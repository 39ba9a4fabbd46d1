"""XML that is not well-formed, read as far as anything can be made of it (``[read] recover = true``).

Bare ``&`` and ``<`` are text. Where a root has ended and another begins, that one is read, too; roots without
records before the first that has some are skipped. What libxml2 cannot get over it drops; start tags of records
are counted, so that a record that was lost is told."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from itertools import islice
from typing import cast

from lxml import etree

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.detect import banner
from syncd.feeds.readers.records import Known, Record
from syncd.feeds.readers.source import Source
from syncd.feeds.readers.spec import ReadSpec
from syncd.feeds.readers.xml.messages import LIMIT_ERRORS, in_words
from syncd.feeds.readers.xml.reader import COUNT_TAG, XmlReader
from syncd.feeds.readers.xml.scout import (
    Event,
    Scouted,
    is_known,
    local,
    names,
    new_parser,
    refuse_dtd,
    scout,
)

_CLOSERS = {b"<![CDATA[": b"]]>", b"<!--": b"-->", b"<?": b"?>"}
_BARE = {b"&": b"&amp;", b"<": b"&lt;"}
_TOKEN = (
    rb"<!\[CDATA\[|<!--|<\?|&(?!#?[A-Za-z0-9._-]+;)|<(?![A-Za-z_:!/?\x80-\xff])|<(?:[\w.-]+:)?%b(?=[\s/>])"
)
_ROOT = rb"</?(?:[\w.-]+:)?%b(?=[\s/>])[^>]*>"
#: A root's own parser costs as much as so many tags, which are limited between two records.
_TAGS_A_ROOT = 16
#: So many are looked at for the first that has records.
_MOST_ROOTS = 1000
#: What may stand between two roots and is none.
_BETWEEN = re.compile(rb"(?:[^<]+|<!--.*?-->|<\?.*?\?>|<!(?!--)[^>\[]*>|</[^>]*>)+", re.DOTALL)
_START = re.compile(rb"<(?:[\w.-]+:)?([^\s/><!?:&]+)")


def _roots(head: bytes) -> Iterator[tuple[int, int]]:
    """Where the elements that stand one after the other in ``head`` begin, with what precedes each, and end."""
    at = banner(head)
    while at < len(head):
        between = _BETWEEN.match(head, at)
        start = _START.match(head, between.end() if between else at)
        end = _end(head, start) if start else len(head)
        yield at, end
        at = end


def _end(head: bytes, start: re.Match[bytes]) -> int:
    """Where the element that begins with ``start`` ends; the end of ``head`` if that is not in it."""
    parser = new_parser(None, recover=True)
    events = cast(Iterator[Event], parser.read_events())
    at = start.start()
    for tag in re.compile(_ROOT % re.escape(start[1])).finditer(head, at):
        with contextlib.suppress(etree.XMLSyntaxError):
            parser.feed(head[at : tag.end()])
        at = tag.end()
        if any(event == "end" and element.getparent() is None for event, element in events):
            return at
    return len(head)


class LenientXmlReader(XmlReader):
    """See FeedReader. ``withheld`` tells how many records were lost, and which roots after the first have
    elements of which none was taken for a record. Raises what XmlReader raises, but
    ``not_well_formed``.
    """

    def __init__(self, source: Source, spec: ReadSpec, limits: FeedLimits, known: Known | None) -> None:
        super().__init__(source, spec, limits, known)
        name = re.escape(self._path[-1].encode())
        self._token = re.compile(_TOKEN % name)
        self._end_of_root = re.compile(_ROOT % re.escape(self._root.rpartition("}")[2].encode()))
        self._closer: bytes | None = None
        self._seen = 0
        self._anywhere, self._here = spec.records is None, self._path
        self._over = False
        self._rest = b""
        self._later: tuple[str, int] | None = None
        self._nested = False
        self._barren: list[str] = []

    def _scout(self, source: Source, spec: ReadSpec) -> tuple[int, Scouted]:
        """Of the roots that begin in the head the first that has records; else the first that might have some."""
        best: tuple[int, Scouted] | None = None
        fault: FeedError | None = None
        for at, end in islice(_roots(source.head), _MOST_ROOTS):
            try:
                found = scout(source.head[at:end], spec.records, whole=source.whole, outside=spec.outside)
            except FeedError as error:
                if error.code != "no_records_path":
                    raise
                fault = fault or error
                continue
            if found.root and (best is None or found.opening is not None):
                best = at, found
            if found.opening is not None:
                break
        if best is None:
            raise fault or FeedError("no_records_path", "no record path matched: there is no element")
        return best

    def _feed_loose(self, data: bytes) -> Iterator[Record]:
        data, self._rest = self._rest + data, b""
        while data:
            if self._over:
                data = self._between(data)
            end = self._end_of_root.search(data) if data else None
            piece, data = (data[: end.end()], data[end.end() :]) if end else (data, b"")
            if piece:
                yield from super()._feed_loose(piece)

    def _between(self, data: bytes) -> bytes:
        """``data`` from the next root's start tag on, for which a new parser is made; "" if it has not come
        yet.
        """
        skipped = _BETWEEN.match(data)
        at = skipped.end() if skipped else 0
        refuse_dtd(data[at:])
        self._line += data.count(b"\n", 0, at)
        start = _START.match(data, at)
        if start is None:
            self._rest = data[at:]
            if len(self._rest) > self._limits.text:
                raise self._too_much()
            return b""
        self._begin_root(start[1])
        return data[at:]

    def _begin_root(self, name: bytes) -> None:
        self._check_limits()
        self._stalled()
        self._note_root()
        self._later = f"<{name.decode('utf-8', 'replace')[:40]}> (line {self._line})", self._number
        self._tags += _TAGS_A_ROOT
        tags = (f"{{*}}{self._path[-1]}", f"{{*}}{name.decode('utf-8', 'replace')}", COUNT_TAG)
        self._parser = new_parser(tags, recover=True)
        self._events = self._parser.read_events()  # type: ignore[assignment]
        self._end_of_root = re.compile(_ROOT % re.escape(name))
        self._parent = self._last = None
        self._here = ()
        self._kept.clear()
        self._first_line, self._over = self._line, False

    def _note_root(self) -> None:
        """Remembers a later root that has elements in elements but no record: its records may have another name."""
        if self._later and self._nested and self._later[1] == self._number:
            self._barren.append(self._later[0])
        self._later, self._nested = None, False

    def _walk(self, data: bytes, line: int) -> bytes:
        return super()._walk(self._mended(data), line)

    def _mended(self, data: bytes) -> bytes:
        """Bare ``&`` and ``<`` as references; counts the start tags of records meanwhile."""
        out: list[bytes] = []
        at = copied = 0
        while True:
            if self._closer is not None:
                end = data.find(self._closer, at)
                if end < 0:
                    break
                at, self._closer = end + len(self._closer), None
            token = self._token.search(data, at)
            if token is None:
                break
            at = token.end()
            if token.group() in _BARE:
                out += (data[copied : token.start()], _BARE[token.group()])
                copied = at
            elif token.group() in _CLOSERS:
                self._closer = _CLOSERS[token.group()]
            else:
                self._seen += 1
        return b"".join((*out, data[copied:])) if out else data

    def _loose(self, events: list[Event]) -> Iterator[Record]:
        for event, element in events:
            if event == "end":
                if element.getparent() is None:
                    self._over, self._nested = True, any(len(child) for child in element)
            elif not self._here and self._anywhere and local(element) == self._path[-1]:
                path = names(element)
                self._here = path if is_known(path) else ()
        yield from super()._loose(events)

    def _is_record(self, element: etree._Element) -> bool:
        """In a later root they may stand elsewhere; or a record has become a root of its own, behind an end tag
        too many."""
        if super()._is_record(element):
            return True
        parent = element.getparent()
        if local(element) != self._path[-1] or (parent is not None and names(element) != self._here):
            return False
        self._adopt(element, parent)
        return True

    def _finish(self, tail: bytes) -> Iterator[Record]:
        yield from super()._finish(tail)
        self._check_limits()
        lost = self._seen - (self._number - self._before)
        if lost > 0:
            self.withheld = f"{self.withheld}; of {self._seen} <{self._path[-1]}> {lost} could not be read"
        self._note_root()
        if self._barren:
            more = f" and {len(self._barren) - 3} more roots" if len(self._barren) > 3 else ""
            self.withheld = f"{self.withheld}; no record path matched in {', '.join(self._barren[:3])}{more}"

    def _stalled(self) -> None:
        """Nothing is a fault here but what ``_check_limits`` finds."""
        with contextlib.suppress(etree.XMLSyntaxError):
            self._parser.close()

    def _check_limits(self) -> None:
        for entry in self._parser.feed_error_log:
            if entry.type in LIMIT_ERRORS:
                raise FeedError(
                    "limit_exceeded", in_words(entry.message), line=self._first_line - 1 + entry.line
                )
