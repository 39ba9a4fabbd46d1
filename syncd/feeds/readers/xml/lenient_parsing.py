"""The parser and the tree of a document that is not well-formed (``[read] recover = true``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import cast

from lxml import etree

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.spec import ReadSpec
from syncd.feeds.readers.xml.discovery import FoundRecords, is_known
from syncd.feeds.readers.xml.elements import Event, local, names, new_parser
from syncd.feeds.readers.xml.entities import SECTION_ENDS
from syncd.feeds.readers.xml.messages import LIMIT_ERRORS, in_words
from syncd.feeds.readers.xml.parsing import XmlParser, event_tags
from syncd.feeds.readers.xml.tree import RecordTree

_REFERENCES = {b"&": b"&amp;", b"<": b"&lt;"}
_TOKEN = (
    rb"<!\[CDATA\[|<!--|<\?|&(?!#?[A-Za-z0-9._-]+;)|<(?![A-Za-z_:!/?\x80-\xff])|<(?:[\w.-]+:)?%b(?=[\s/>])"
)
#: A parser for another root costs as much as this many tags, which are limited between two records.
_TAGS_A_ROOT = 16


class LenientXmlParser(XmlParser):
    """An XmlParser that drops what libxml2 cannot parse. Bare ``&`` and ``<`` are text."""

    recover = True

    def __init__(self, found: FoundRecords, limits: FeedLimits, line: int) -> None:
        super().__init__(found, limits, line)
        self._token = re.compile(_TOKEN % re.escape(self._record_name.encode()))
        self._skip_to: bytes | None = None
        self._started = 0

    @property
    def started(self) -> int:
        """How many start tags of records there were."""
        return self._started

    def restart(self, root: str, line: int) -> None:
        """Begin another document, whose root has this name, in ``line``."""
        self.check_limits()
        self.close()
        self._tags += _TAGS_A_ROOT
        self._parser = new_parser(event_tags(self._record_name, f"{{*}}{root}"), recover=True)
        self._events = cast(Iterator[Event], self._parser.read_events())
        self.first_line = line

    def close(self) -> FeedError | None:
        """Return None: only ``check_limits`` finds faults."""
        with suppress(etree.XMLSyntaxError):
            self._parser.close()
        return None

    def end(self, line: int, *, cut_off: bool) -> tuple[FeedError | None, list[Event]]:
        return self.close(), list(self._events)

    def check_limits(self) -> None:
        """Raise FeedError ``limit_exceeded`` if libxml2 has reached one of its own limits."""
        for entry in self._parser.feed_error_log:
            if entry.type in LIMIT_ERRORS:
                line = self.first_line - 1 + entry.line
                raise FeedError("limit_exceeded", in_words(entry.message), line=line)

    def _translated(self, data: bytes, first: int, last: int) -> bytes:
        return super()._translated(self._with_references(data), first, last)

    def _with_references(self, data: bytes) -> bytes:
        """``data`` with bare ``&`` and ``<`` as references; counts the start tags of records."""
        out: list[bytes] = []
        at = copied = 0
        while True:
            if self._skip_to is not None:
                end = data.find(self._skip_to, at)
                if end < 0:
                    break
                at, self._skip_to = end + len(self._skip_to), None
            token = self._token.search(data, at)
            if token is None:
                break
            at = token.end()
            if token.group() in _REFERENCES:
                out += (data[copied : token.start()], _REFERENCES[token.group()])
                copied = at
            elif token.group() in SECTION_ENDS:
                self._skip_to = SECTION_ENDS[token.group()]
            else:
                self._started += 1
        return b"".join((*out, data[copied:])) if out else data


class LenientRecordTree(RecordTree):
    """A RecordTree for several roots. In a later root the records may stand elsewhere, or a record is itself a root: that is
    what an end tag too many makes of it."""

    def __init__(self, found: FoundRecords, spec: ReadSpec) -> None:
        super().__init__(found, spec)
        self._anywhere, self._here = spec.records is None, found.path

    def restart(self) -> None:
        """Forget the root before."""
        self._parent = self._last = None
        self._kept.clear()
        self._here = ()

    def note_start(self, element: etree._Element) -> None:
        """Learn where the records of this root are, if a known format has them there."""
        if not self._here and self._anywhere and local(element) == self._path[-1]:
            path = names(element)
            self._here = path if is_known(path) else ()

    def is_record(self, element: etree._Element) -> bool:
        if super().is_record(element):
            return True
        parent = element.getparent()
        if local(element) != self._path[-1] or (parent is not None and names(element) != self._here):
            return False
        self._adopt(element)
        return True
