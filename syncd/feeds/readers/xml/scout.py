"""The start of an XML feed: what stands before the first record, and where the records are."""

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
from syncd.feeds.readers.xml.text import Lexer, Unknown, safe_cut

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
_PROLOG = re.compile(rb"\s*(?:<\?.*?\?>|<!--.*?-->|<!DOCTYPE(?P<rest>[^>\[]*)(?P<end>[>\[]))", re.DOTALL)
Event = tuple[str, etree._Element]
_TOTALS = frozenset({"expectedjobcount", "jobcount", "totaljobs", "total", "totalcount", "totalresults"})


@dataclass(slots=True)
class Scouted:
    """``path``: names of the elements from the root to the record ("*": any); ``root``: the root's tag;
    ``opening``: how the first record's start tag begins (``<ns:job``), None if the head has no record;
    ``prolog``: length of what precedes the first record; ``home``: ``signature`` of its parent;
    ``declared``: the number of records the file says it has.
    """

    path: tuple[str, ...]
    root: str = ""
    opening: bytes | None = None
    prolog: int = 0
    home: tuple[object, ...] = ()
    declared: int | None = None


def new_parser(tags: tuple[str, ...] | None, *, recover: bool = False) -> etree.XMLPullParser:
    """Reads UTF-8, whatever the file declares; loads nothing, expands nothing, keeps libxml2's own limits."""
    return etree.XMLPullParser(
        events=("start", "end"),
        tag=tags,
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        recover=recover,
    )


def refuse_dtd(head: bytes) -> None:
    """Raises FeedError ``forbidden_dtd`` for a document type with declarations of its own or elsewhere."""
    at = 0
    while match := _PROLOG.match(head, at):
        rest = match["rest"]
        if rest is not None and (match["end"] == b"[" or len(rest.split()) != 1):
            line = head.count(b"\n", 0, match.start("rest")) + 1
            raise FeedError("forbidden_dtd", "a document type with declarations is not accepted", line=line)
        at = match.end()


def local(element: etree._Element) -> str:
    """The element's name without its namespace."""
    tag = str(element.tag)
    return tag[tag.find("}") + 1 :]


def names(element: etree._Element) -> tuple[str, ...]:
    """Local names from the root to ``element``."""
    return (*[local(above) for above in element.iterancestors()][::-1], local(element))


def signature(parent: etree._Element | None, *, outside: bool) -> tuple[object, ...]:
    """All that ``parent`` and the elements above it lend to a record: namespaces, and attributes if the
    mapping looks outside.
    """
    found: list[object] = []
    while parent is not None:
        found.append((str(parent.tag), sorted((key or "", uri) for key, uri in parent.nsmap.items())))
        if outside:
            found.append(sorted((str(key), str(value)) for key, value in parent.attrib.items()))
        parent = parent.getparent()
    return tuple(found)


def is_one_element(events: list[Event]) -> bool:
    """Whether the events are the start and the end of one and the same element."""
    return (
        len(events) == 2
        and events[0][0] == "start"
        and events[1][0] == "end"
        and events[0][1] is events[1][1]
    )


def depth_of(element: etree._Element) -> int:
    """1 for an element without elements in it."""
    level, found = [element], 0
    while level:
        found += 1
        level = [child for parent in level for child in parent]
    return found


def matches(path: tuple[str, ...], found: tuple[str, ...]) -> bool:
    return len(path) == len(found) and all(a in ("*", b) for a, b in zip(path, found, strict=True))


def is_known(path: tuple[str, ...]) -> bool:
    """Whether some known format has its records there."""
    folded = tuple(name.casefold() for name in path)
    return any(matches(known, folded) for known in _PATHS)


def scout(head: bytes, records: str | None, *, whole: bool, outside: bool) -> Scouted:
    """Looks for the first record in ``head``. Raises FeedError (``no_records_path``, ``forbidden_dtd``)."""
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
    """Where a file is one record, a file of several has a root above them (one of mended records does)."""
    return [path, ("*", *path)] if len(path) == 1 else [path]


class _Search:
    def __init__(self, wanted: list[tuple[str, ...]] | None, *, outside: bool) -> None:
        self.wanted, self.outside = wanted, outside
        self.root = ""
        self.count = 0
        self.declared: int | None = None
        self._openings: dict[bytes, int] = {}
        self._containers: list[tuple[str, ...]] = []
        self.fault = False

    def run(self, head: bytes) -> Scouted | None:
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
                home = signature(element.getparent(), outside=self.outside)
                return Scouted(self._concrete(path), opening=qname, home=home)
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

    def _empty(self) -> Scouted | None:
        """No record: a feed all the same, if what holds the records of a known format (or of the path set)
        is there.
        """
        for container in self._containers:
            if self.wanted is not None:
                if len(self.wanted[0]) > 1 and matches(self.wanted[0][:-1], container):
                    return Scouted(self.wanted[0])
                continue
            folded = tuple(name.casefold() for name in container)
            for known in _PATHS:
                if "*" not in known and known[:-1] == folded:
                    return Scouted((*container, known[-1]))
        return None

    def complaint(self, *, whole: bool) -> str:
        root = self._containers[0][0] if self._containers else "?"
        what = "/".join(self.wanted[0]) if self.wanted else "a known one such as source/job or jobs/job"
        where = "" if whole else " in its first megabyte"
        return f"no record path matched: the root is {root!r}, and nothing{where} is at {what}; {self._repeated()}"

    def _repeated(self) -> str:
        """What might be records: elements with elements in them, the most frequent first."""
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
    """What ``head`` has up to its end or its first fault, which the reading itself will report."""
    lexer = Lexer()
    events = cast(Iterator[Event], parser.read_events())
    at, step = 0, 1 << 14
    while at < len(head) and not search.fault:
        cut = head.find(b">", at + step) + 1 or len(head)
        try:
            parser.feed(lexer.walk(head[at:cut]))
        except Unknown as unknown:
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
    """Where the ``count``-th start tag that begins with ``opening`` stands; comments and CDATA do not
    count.
    """
    lexer = Lexer()
    at = 0
    token = re.compile(re.escape(opening) + rb"[\s/>]")
    while match := token.search(head, at):
        try:
            lexer.walk(head[at : match.start()])
        except Unknown:
            return -1
        if lexer.closer is None:
            count -= 1
            if not count:
                return match.start()
        at = match.start()
        lexer_end = at + len(opening)
        try:
            lexer.walk(head[at:lexer_end])
        except Unknown:
            return -1
        at = lexer_end
    return -1


__all__ = [
    "Scouted",
    "depth_of",
    "is_known",
    "is_one_element",
    "local",
    "matches",
    "names",
    "new_parser",
    "safe_cut",
    "scout",
    "signature",
]
