"""The place of the records of a JSON file: the parser of everything else in the file, and guesses from its start."""

import re
from collections import Counter
from collections.abc import Iterator
from decimal import InvalidOperation
from typing import Any

import ijson

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.records import EACH, WITHIN, WRONG, Announced, folded, member_path, parsed_path
from syncd.feeds.readers.source import over_limit

#: Stands for an element of an array in a path. It is not the name of a member: names have no lone surrogates.
ITEM = "\ud800"
#: Members whose array holds the records, the likeliest first.
ARRAYS = ("jobs", "items", "data", "results", "content", "offers", "@graph")
_KINDS = {"start_array": "array", "start_map": "object"}
_CLOSING = ("end_array", "end_map")
_STEP = 1 << 14
#: Objects are searched down to this depth, and this many are kept apart.
_MAX_DEPTH, _MAX_OBJECTS = 64, 2000
#: The errors of ijson for a number that int() or Decimal() refuses. Its last event has no value then, and to look at that would
#: end the process.
_UNREADABLE_NUMBER = (SystemError, InvalidOperation)
#: The errors of ijson for data that is not JSON, or half of a surrogate pair.
FAULTS = (ijson.JSONError, UnicodeDecodeError, StopIteration, *_UNREADABLE_NUMBER)
_OPENING = re.compile(rb"[\[{]")
#: The parser looks at all of a number again with each chunk.
_MAX_VALUE = 10 << 20
#: Members of the root that may have the number of records; the object that has the records may, too.
_ABOUT = frozenset(("meta", "metadata", "paging", "pagination", "page", "pageinfo", "info", "links", "next"))
#: How the names of members begin that were attributes of XML.
_ATTRIBUTES = ("@", "_", "-", "$", "#")
#: This many other arrays are named where the records are not found.
_MAX_SHOWN = 5


def code_and_words(error: Exception) -> tuple[str, str]:
    """Return the code of the FeedError for one of FAULTS, and its words in one line."""
    words = str(error).splitlines()[0].partition(": ")[2]
    if isinstance(error, UnicodeDecodeError) or "UTF8" in words:
        return "bad_encoding", "bytes that are not UTF-8, or half of a surrogate pair"
    if isinstance(error, _UNREADABLE_NUMBER):
        words = "a number is out of range"
    if words.startswith("trailing garbage"):
        words = "there is something after the end of the document"
    return "not_well_formed", f"not JSON: {words}"


class OuterParser:
    """Takes everything but the records.

    ``path`` is where the records are; None: in any of ``ARRAYS``. ``kind`` is "array", "members" (of an object, each a record) or
    "object" (the one record) while the records are the parser's next value, else "". ``announced``: the
    words of the file about them. Raise FeedError ``not_well_formed``, ``truncated``, ``no_records_path``, ``limit_exceeded``."""

    def __init__(self, records: str | None, limits: FeedLimits, head: bytes) -> None:
        self._limits, self._head = limits, head
        self.path: tuple[str, ...] | None = ()
        if records is not None:
            self.path = parsed_path(records, member_path)
        elif head.lstrip()[:1] == b"{":
            self.path = likely_path(head)
        self._keyed = self.path is not None and self.path[-1:] == (EACH,)
        self._place: tuple[str | None, ...] | None = None
        if self.path is not None:
            names = self.path[:-1] if self._keyed else self.path
            self._place = tuple(None if name == WITHIN else name for name in names)
        self._since = 0
        #: Where the data that was sent begins: its line, and its offset in the file.
        self._line, self._offset = 1, 0
        self._stack: list[str | None] = []
        self._key: str | None = None
        self._events = ijson.sendable_list()
        self._parser = ijson.basic_parse_coro(self._events)
        self._arrays: list[str] = []
        self._any_records = False
        self.kind = ""
        self.announced = Announced()

    def feed(self, data: bytes, at: int, line: int, offset: int) -> int:
        """Take ``data`` from ``at`` on, at that line and offset of the file. Return where the records begin, or its end."""
        self._line, self._offset = line, offset
        while at < len(data):
            opening = _OPENING.search(data, at)
            end = opening.end() if opening else len(data)
            self._send(data[at:end])
            at = end
            if self.kind:
                break
        return at

    def finish(self) -> None:
        """Check that the file may end here, and that it had records."""
        try:
            self._parser.close()
        except ijson.JSONError:
            raise self._fault("truncated", "the file ends before its JSON does") from None
        if self._any_records:
            return
        wanted = ".".join(self.path) if self.path else "one of " + ", ".join(ARRAYS)
        there = f"there are arrays at {', '.join(self._arrays)}" if self._arrays else "there is no array"
        if keyed := keyed_objects(self._head):
            path = ".".join((*max(keyed, key=lambda place: keyed[place][0]), EACH))
            there += f'; if each member of an object is a record, as it looks, say [read] records = "{path}"'
        raise FeedError("no_records_path", f"no array of records ({wanted}) in this file; {there}")

    def _fault(self, code: str, detail: str) -> FeedError:
        return FeedError(code, detail, line=self._line, offset=self._offset)

    def _send(self, data: bytes) -> None:
        self.kind = ""
        try:
            self._parser.send(data)
        except FAULTS as error:
            raise self._fault(*code_and_words(error)) from None
        self._line += data.count(b"\n")
        self._offset += len(data)
        self._since = 0 if self._events else self._since + len(data)
        most = min(self._limits.text, _MAX_VALUE)
        if self._since > most:
            detail = f"a value outside of the records of more than {most} bytes"
            raise over_limit("text", detail, offset=self._offset)
        for event, value in self._events:
            self._take(event, value)
        del self._events[:]

    def _take(self, event: str, value: Any) -> None:
        if event == "map_key":
            self._key = value
        elif event in _KINDS:
            self.kind = ""
            if self._is_records(event):
                # some programs write an empty object as an array: where an object is expected, that holds records too
                self.kind = "members" if self._keyed and event == "start_map" else _KINDS[event]
            if event == "start_array" and len(self._arrays) < _MAX_SHOWN and None not in self._at():
                self._arrays.append(".".join(part or "" for part in self._at()) or "$")
            self._stack.append(self._key)
            self._key = None
            if len(self._stack) > self._limits.depth:
                raise over_limit("depth", f"nested deeper than {self._limits.depth}", offset=self._offset)
        elif event in _CLOSING:
            self._key = self._stack.pop()
        elif event in ("number", "string", "boolean"):
            *above, name = self._at() or (None,)
            if above and folded(str(above[0])) in WRONG:  # the members of an error
                above, name = [], above[0]
            about = all(folded(str(step)) in _ABOUT or step in (self._place or ()) for step in above)
            if name is None or not about:
                return
            name = "total" if name == "count" and not above else name
            self.announced.add("next" if "next" in above and value else name, value)

    def _at(self) -> tuple[str | None, ...]:
        return (*self._stack[1:], self._key) if self._stack else ()

    def _is_records(self, event: str) -> bool:
        here = self._at()
        if self.path is None:
            begin = len(here) == 1 and here[0] in ARRAYS and event == "start_array" and not self._any_records
        else:
            begin = here == self._place
        if begin and self._any_records and None not in here:
            raise self._fault("not_well_formed", "the list of records is there twice")
        self._any_records = self._any_records or begin
        return begin


def likely_path(head: bytes) -> tuple[str, ...] | None:
    """Return the likeliest path of the records in a file that begins with ``head``; None if any known one may still come.

    In place of an array may stand an object that has nothing but objects in it (a job has at least a title or an id, which are
    not objects), or nothing but one array and attributes, as programs write that turn XML into JSON."""
    values: dict[str, Any] = {}  # of the root: the kind of a value, or the value itself where it is text
    parts: dict[str, dict[str, str]] = {}
    for path, event, value in walk(head, deepest=2):
        if not path and event == "start_array":
            break
        if len(path) == 1 and (path[0] in ARRAYS or path[0] in ("@type", "referenceId")):
            values.setdefault(path[0], value if event == "string" else event)
        elif len(path) == 2 and path[0] in ARRAYS:
            parts.setdefault(path[0], {}).setdefault(path[1], event)
    for name in ARRAYS:
        if values.get(name) == "start_array":
            return (name,)
    for name in ARRAYS[:2]:
        if values.get(name) == "start_map":
            members = parts.get(name, {})
            plain = [member for member in members if not member.startswith(_ATTRIBUTES)]
            if {*members.values()} == {"start_map"}:
                return name, EACH
            return (name, *plain) if [members[one] for one in plain] == ["start_array"] else (name,)
    lone = values.get("@type") == "JobPosting" or "referenceId" in values
    return () if lone else None


def walk(head: bytes, deepest: int = _MAX_DEPTH) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """Yield the place of each value of ``head``, the parser's event at its start, and the value if it is a scalar: up to the end
    of ``head`` or its first fault, which the reader will report.

    A place is the names of the members that lead to it, with ITEM for an element of an array, at most ``deepest`` of them."""
    events = ijson.sendable_list()
    parser = ijson.basic_parse_coro(events)
    path: list[str] = []
    for at in range(0, len(head), _STEP):
        try:
            parser.send(head[at : at + _STEP])
        except _UNREADABLE_NUMBER:
            return
        except (ijson.JSONError, UnicodeDecodeError, StopIteration):
            pass
        for event, value in events:
            if event == "map_key":
                path[-1] = value
            elif event in _CLOSING:
                path.pop()
            else:
                if len(path) <= deepest:
                    yield tuple(path), event, value
                if event in _KINDS:
                    path.append(ITEM if event == "start_array" else "")
        del events[:]


def keyed_objects(head: bytes) -> dict[tuple[str, ...], tuple[int, Counter[str]]]:
    """Return the objects outside of arrays whose members look like records, by path: the members are nothing but objects, and
    most of these share a name. Each has the number of its members, and in how many of these each name is."""
    objects: Counter[tuple[str, ...]] = Counter()
    names: dict[tuple[str, ...], Counter[str]] = {}
    plain: set[tuple[str, ...]] = set()
    for path, event, _ in walk(head):
        if not path or ITEM in path:
            continue
        if len(path) > 1 and path[:-2] in names:
            names[path[:-2]][path[-1]] += 1
        if event != "start_map":
            plain.add(path[:-1])
        elif path[:-1] in names or len(names) < _MAX_OBJECTS:
            names.setdefault(path[:-1], Counter())
            objects[path[:-1]] += 1
    return {
        place: (count, names[place])
        for place, count in objects.items()
        if count > 1 and place not in plain and max(names[place].values(), default=0) * 3 >= count * 2
    }
