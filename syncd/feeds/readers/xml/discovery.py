"""The place of the records of an XML feed, found in the start of the file."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import cast

from lxml import etree

from syncd.errors import FeedError
from syncd.feeds.readers.records import Announced, element_path, parsed_path
from syncd.feeds.readers.xml.parsing import EntityTranslator, UnknownEntity
from syncd.feeds.readers.xml.tree import (
    Event,
    RecordPlace,
    inherited,
    local,
    matches,
    names,
    new_parser,
    refuse_dtd,
)

#: Paths of the known formats, and with "*" any root. The case of names does not count.
_KNOWN = (
    "source/job jobs/job source/jobs/job feed/jobs/job trovit/ad jobatus/ad workzag-jobs/position rss/channel/item"
    " processpositionopening/dataarea/positionopening */job */*/job */ad */vacancy */vacancies/vacancy */position"
    " */positions/position */positionopening */dataarea/positionopening */offer */offers/offer feed/entry"
    " job vacancy positionopening"  # one posting a file, as members of an archive
)
_PATHS = [tuple(path.split("/")) for path in _KNOWN.split()]


def is_known(path: tuple[str, ...]) -> bool:
    folded = tuple(name.casefold() for name in path)
    return any(matches(known, folded) for known in _PATHS)


def find_records(head: bytes, records: str | None, *, whole: bool, outside: bool) -> RecordPlace:
    """Return where the first record is in ``head``; ``whole``: that is the file. ``outside``: the mapping looks beyond it.

    Raise FeedError ``no_records_path``, ``forbidden_dtd``."""
    refuse_dtd(head)
    search = _Search(parsed_path(records, element_path) if records else None, outside=outside)
    place = search.run(head)
    if place is None:
        raise FeedError("no_records_path", search.complaint(whole=whole))
    return place


class _Search:
    """One search through the start of a file."""

    def __init__(self, path: tuple[str, ...] | None, *, outside: bool) -> None:
        self._wanted = [path] if path else []
        if path and len(path) == 1:
            # where a file is one record, a file of several has a root above them (a file of rejected records does)
            self._wanted.append(("*", *path))
        self._outside = outside
        self._root = ""
        self._announced = Announced()
        self._openings: Counter[bytes] = Counter()
        self._containers: list[tuple[str, ...]] = []

    def run(self, head: bytes) -> RecordPlace | None:
        for event, element in _events(head):
            if element.get("rel") == "next":
                self._announced.add("next", element.get("href"))
            if event == "end":
                self._announced.add(str(element.tag), element.text)
                continue
            path = names(element)
            self._root = self._root or str(element.tag)
            prefix = f"{element.prefix}:" if element.prefix else ""
            opening = f"<{prefix}{local(element)}".encode()
            self._openings[opening] += 1
            if any(matches(wanted, path) for wanted in self._wanted) if self._wanted else is_known(path):
                above = inherited(element, outside=self._outside)
                at = _find_opening(head, opening, self._openings[opening])
                path = next((wanted for wanted in self._wanted if matches(wanted, path)), path)
                shown = None if at < 0 else opening
                return RecordPlace(path, self._root, shown, at, above, self._announced)
            self._containers.append(path)
            for name, value in element.attrib.items():
                total = "total" if name == "count" and len(path) == 1 else str(name)
                self._announced.add(total, value)
        path = self._empty()
        return RecordPlace(path, self._root, announced=self._announced) if path else None

    def _empty(self) -> tuple[str, ...]:
        """Return the path that records would have: an empty feed still has the element that holds them."""
        if self._wanted:
            wanted = self._wanted[0]
            there = len(wanted) > 1 and any(matches(wanted[:-1], container) for container in self._containers)
            return wanted if there else ()
        for container in self._containers:
            folded = tuple(name.casefold() for name in container)
            for known in _PATHS:
                if "*" not in known and known[:-1] == folded:
                    return (*container, known[-1])
        return ()

    def complaint(self, *, whole: bool) -> str:
        root = self._containers[0][0] if self._containers else "?"
        what = "/".join(self._wanted[0]) if self._wanted else "a known one such as source/job or jobs/job"
        where = "" if whole else " in its first megabyte"
        complaint = f"no record path matched: the root is {root!r}, and nothing{where} is at {what}"
        # records may be the elements with elements in them, the most frequent first
        parents = {path[:-1] for path in self._containers if len(path) > 2}
        counts = Counter(path for path in self._containers if path in parents)
        likely = [f"{'/'.join(path)} ({count})" for path, count in counts.most_common(5)]
        if likely:
            return f"{complaint}; there is {', '.join(likely)}"
        alone = f'if the root is the one record, say [read] records = "/{root}"'
        return f"{complaint}; no element below it has elements in it; {alone}"


def _events(head: bytes) -> Iterator[Event]:
    """Yield the events of ``head`` up to its end or its first fault, which the reader will report."""
    parser = new_parser(None)
    entities = EntityTranslator()
    events = cast(Iterator[Event], parser.read_events())
    at, step, fault = 0, 1 << 14, False
    while at < len(head) and not fault:
        cut = head.find(b">", at + step) + 1 or len(head)
        try:
            parser.feed(entities.translate(head[at:cut]))
        except UnknownEntity as unknown:
            fault = True
            with suppress(etree.XMLSyntaxError):
                parser.feed(unknown.before)
        except etree.XMLSyntaxError:
            fault = True
        yield from events
        at = cut


def _find_opening(head: bytes, opening: bytes, count: int) -> int:
    """Return the place of the ``count``-th start tag that begins with ``opening``, but for comments and CDATA; -1 if none."""
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
