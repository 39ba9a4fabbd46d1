"""Where the records of an XML feed are, and what stands before the first one: found in the start of the file."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from lxml import etree

from syncd.errors import FeedError
from syncd.feeds.readers.spec import asked_path, element_path
from syncd.feeds.readers.xml.elements import (
    Event,
    inherited,
    local,
    matches,
    names,
    new_parser,
    refuse_dtd,
)
from syncd.feeds.readers.xml.entities import EntityTranslator, UnknownEntity

#: Paths of the known formats, and with "*" any root. Names match whatever their case.
_KNOWN = (
    "source/job",
    "jobs/job",
    "source/jobs/job",
    "feed/jobs/job",
    "trovit/ad",
    "jobatus/ad",
    "workzag-jobs/position",
    "rss/channel/item",
    "processpositionopening/dataarea/positionopening",
    "*/job",
    "*/jobs/job",
    "*/*/job",
    "*/ad",
    "*/vacancy",
    "*/vacancies/vacancy",
    "*/position",
    "*/positions/position",
    "*/positionopening",
    "*/dataarea/positionopening",
    "*/offer",
    "*/offers/offer",
    "feed/entry",
    # one posting a file, as members of an archive
    "job",
    "vacancy",
    "positionopening",
)
_PATHS = [tuple(path.split("/")) for path in _KNOWN]
_TOTALS = frozenset({"expectedjobcount", "jobcount", "totaljobs", "total", "totalcount", "totalresults"})


@dataclass(slots=True)
class FoundRecords:
    """Where the records are.

    ``path`` has the names of the elements from the root to the record ("*": any); ``root`` is the root's tag.
    ``opening`` is how the first record's start tag begins (``<ns:job``), None if the head has no record. ``prolog`` is
    the length of what precedes the first record; ``inherited`` what its parent adds to its meaning. ``declared`` is the
    number of records that the file says it has."""

    path: tuple[str, ...]
    root: str = ""
    opening: bytes | None = None
    prolog: int = 0
    inherited: tuple[object, ...] = ()
    declared: int | None = None


def is_known(path: tuple[str, ...]) -> bool:
    """Return whether some known format has its records there."""
    folded = tuple(name.casefold() for name in path)
    return any(matches(known, folded) for known in _PATHS)


def find_records(head: bytes, records: str | None, *, whole: bool, outside: bool) -> FoundRecords:
    """Return where the first record is in ``head``; ``whole``: it is the whole file. ``outside``: the mapping looks at more
    than the record.

    Raise FeedError ``no_records_path``, ``forbidden_dtd``."""
    refuse_dtd(head)
    wanted = _wanted(asked_path(records, element_path)) if records else None
    search = _Search(wanted, outside=outside)
    found = search.run(head)
    if found is None:
        raise FeedError("no_records_path", search.complaint(whole=whole))
    found.root = search.root
    found.declared = search.declared
    if found.opening is not None:
        found.prolog = _find_opening(head, found.opening, search.count)
        if found.prolog < 0:
            found.opening = None
    return found


def _wanted(path: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The paths to look for. Where a file is one record, a file of several records has a root above them (a file of rejected
    records has one)."""
    return [path, ("*", *path)] if len(path) == 1 else [path]


class _Search:
    """One search through the start of a file."""

    def __init__(self, wanted: list[tuple[str, ...]] | None, *, outside: bool) -> None:
        self.wanted, self.outside = wanted, outside
        self.root = ""
        self.count = 0
        self.declared: int | None = None
        self._openings: dict[bytes, int] = {}
        self._containers: list[tuple[str, ...]] = []
        self.fault = False

    def run(self, head: bytes) -> FoundRecords | None:
        parser = new_parser(None)
        for event, element in _events(parser, head, self):
            if event == "end":
                self._note_total(local(element), element.text)
                continue
            path = names(element)
            self.root = self.root or str(element.tag)
            qname = _opening(element)
            self._openings[qname] = self._openings.get(qname, 0) + 1
            if self._is_record(path):
                self.count = self._openings[qname]
                above = inherited(element.getparent(), attributes=self.outside)
                return FoundRecords(self._concrete(path), opening=qname, inherited=above)
            self._containers.append(path)
            for name, value in element.attrib.items():
                self._note_total(str(name), str(value))
        return self._empty()

    def _is_record(self, path: tuple[str, ...]) -> bool:
        if self.wanted is not None:
            return any(matches(wanted, path) for wanted in self.wanted)
        return is_known(path)

    def _concrete(self, path: tuple[str, ...]) -> tuple[str, ...]:
        return next((wanted for wanted in self.wanted or () if matches(wanted, path)), path)

    def _empty(self) -> FoundRecords | None:
        """No record: still a feed, if the element that holds the records of a known format (or of the path set) is
        there."""
        for container in self._containers:
            if self.wanted is not None:
                if len(self.wanted[0]) > 1 and matches(self.wanted[0][:-1], container):
                    return FoundRecords(self.wanted[0])
                continue
            folded = tuple(name.casefold() for name in container)
            for known in _PATHS:
                if "*" not in known and known[:-1] == folded:
                    return FoundRecords((*container, known[-1]))
        return None

    def complaint(self, *, whole: bool) -> str:
        root = self._containers[0][0] if self._containers else "?"
        what = "/".join(self.wanted[0]) if self.wanted else "a known one such as source/job or jobs/job"
        where = "" if whole else " in its first megabyte"
        return f"no record path matched: the root is {root!r}, and nothing{where} is at {what}; {self._repeated()}"

    def _repeated(self) -> str:
        """Which elements might be records: those with elements in them, the most frequent first."""
        parents = {path[:-1] for path in self._containers if len(path) > 2}
        counts = Counter(path for path in self._containers if path in parents)
        likely = [f"{'/'.join(path)} ({count})" for path, count in counts.most_common(5)]
        if likely:
            return f"there is {', '.join(likely)}"
        root = self._containers[0][0] if self._containers else "?"
        alone = f'if the root is the one record, say [read] records = "/{root}"'
        return f"no element below it has elements in it; {alone}"

    def _note_total(self, name: str, value: str | None) -> None:
        text = (value or "").strip()
        if (
            name.rpartition("}")[2].casefold() in _TOTALS
            and text.isascii()
            and text.isdigit()
            and len(text) < 10
        ):
            self.declared = max(self.declared or 0, int(text))


def _events(parser: etree.XMLPullParser, head: bytes, search: _Search) -> Iterator[Event]:
    """The events of ``head`` up to its end or its first fault, which the reader will report."""
    entities = EntityTranslator()
    events = cast(Iterator[Event], parser.read_events())
    at, step = 0, 1 << 14
    while at < len(head) and not search.fault:
        cut = head.find(b">", at + step) + 1 or len(head)
        try:
            parser.feed(entities.translate(head[at:cut]))
        except UnknownEntity as unknown:
            search.fault = True
            _try_feed(parser, unknown.before)
        except etree.XMLSyntaxError:
            search.fault = True
        yield from events
        at = cut


def _try_feed(parser: etree.XMLPullParser, data: bytes) -> None:
    with contextlib.suppress(etree.XMLSyntaxError):
        parser.feed(data)


def _opening(element: etree._Element) -> bytes:
    prefix = f"{element.prefix}:" if element.prefix else ""
    return f"<{prefix}{local(element)}".encode()


def _find_opening(head: bytes, opening: bytes, count: int) -> int:
    """Where the ``count``-th start tag that begins with ``opening`` stands, not counting those in comments and CDATA. -1 if
    it is not found."""
    entities = EntityTranslator()
    at = 0
    try:
        for match in re.finditer(re.escape(opening) + rb"[\s/>]", head):
            entities.translate(head[at : match.start()])
            count -= entities.section_end is None
            if not count:
                return match.start()
            at = match.start() + len(opening)
            entities.translate(head[match.start() : at])
    except UnknownEntity:
        pass
    return -1
