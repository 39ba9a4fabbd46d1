"""The parser of everything in a JSON file but its records: it finds where they begin, and checks the rest."""

from __future__ import annotations

import re
from typing import Any

import ijson

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.detect import ARRAYS
from syncd.feeds.readers.json.discovery import CLOSING, KINDS, keyed_objects, likely_path
from syncd.feeds.readers.spec import EACH, asked_path, member_path

_OPENING = re.compile(rb"[\[{]")
_TOTALS = frozenset(
    {"expectedjobcount", "total", "totalfound", "totalcount", "totalresults", "meta.total", "paging.total"}
)
#: This many other arrays are named where the records are not found.
_SHOWN = 5


class OuterParser:
    """Takes everything but the records.

    ``kind`` is "array", "members" (of an object, each a record) or "object" (the one record) while the records are the
    parser's next value, else "". ``declared`` is the number of records that the file says it has. Raise FeedError
    ``not_well_formed``, ``truncated``, ``no_records_path``, ``limit_exceeded``."""

    def __init__(self, records: str | None, limits: FeedLimits, head: bytes) -> None:
        self._depth, self._text = limits.depth, limits.text
        self._since = 0
        self._path = asked_path(records, member_path) if records is not None else None
        if self._path is None and head.lstrip()[:1] == b"{":
            self._path = likely_path(head)
        elif self._path is None:
            self._path = ()
        self._keyed = self._path is not None and self._path[-1:] == (EACH,)
        self._place = self._path[:-1] if self._path and self._keyed else self._path
        self._head = head
        self._stack: list[str | None] = []
        self._key: str | None = None
        self._events = ijson.sendable_list()
        self._parser = ijson.basic_parse_coro(self._events)
        self._arrays: list[str] = []
        self.kind = ""
        self._found = False
        self._offset = 0
        self.declared: int | None = None

    @property
    def path(self) -> tuple[str, ...]:
        """Where the records are, as far as it is known."""
        return self._path or ()

    def feed(self, data: bytes, offset: int) -> int:
        """Take ``data``, which begins at ``offset``, up to where the records begin. Return how many bytes these are."""
        self._offset = offset
        done = 0
        while done < len(data):
            opening = _OPENING.search(data, done)
            end = opening.end() if opening else len(data)
            self._send(data[done:end])
            done = end
            if self.kind:
                break
        return done

    def finish(self) -> None:
        """Check that the file may end here, and that it had records."""
        try:
            self._parser.close()
        except ijson.JSONError:
            raise FeedError("truncated", "the file ends before its JSON does", offset=self._offset) from None
        if not self._found:
            raise FeedError("no_records_path", self._complaint())

    def _complaint(self) -> str:
        wanted = ".".join(self._path) if self._path else "one of " + ", ".join(ARRAYS)
        there = f"there are arrays at {', '.join(self._arrays)}" if self._arrays else "there is no array"
        keyed = sorted(keyed_objects(self._head).items(), key=lambda found: -found[1].objects)
        if keyed:
            path = ".".join((*keyed[0][0], EACH))
            there += f'; if each member of an object is a record, as it looks, say [read] records = "{path}"'
        return f"no array of records ({wanted}) in this file; {there}"

    def _send(self, data: bytes) -> None:
        self.kind = ""
        try:
            self._parser.send(data)
        except UnicodeDecodeError as error:
            raise FeedError("bad_encoding", f"not UTF-8: {error.reason}", offset=self._offset) from None
        except (ijson.JSONError, StopIteration):
            raise FeedError("not_well_formed", "this is not JSON", offset=self._offset) from None
        self._offset += len(data)
        self._since = 0 if self._events else self._since + len(data)
        if self._since > self._text:
            detail = f"a value of more than {self._text} bytes ([limits] text)"
            raise FeedError("limit_exceeded", detail, offset=self._offset)
        for event, value in self._events:
            self._take(event, value)
        del self._events[:]

    def _take(self, event: str, value: Any) -> None:
        if event == "map_key":
            self._key = value
        elif event in KINDS:
            self.kind = self._kind(event) if self._is_records(event) else ""
            if event == "start_array" and len(self._arrays) < _SHOWN and None not in self._at():
                self._arrays.append(".".join(part or "" for part in self._at()) or "$")
            self._stack.append(self._key)
            self._key = None
            if len(self._stack) > self._depth:
                detail = f"nested deeper than {self._depth} ([limits] depth)"
                raise FeedError("limit_exceeded", detail, offset=self._offset)
        elif event in CLOSING:
            self._key = self._stack.pop()
        elif event == "number" and isinstance(value, int):
            self._note_total(value)

    def _at(self) -> tuple[str | None, ...]:
        return (*self._stack[1:], self._key) if self._stack else ()

    def _is_records(self, event: str) -> bool:
        here = self._at()
        if self._path is None:
            here_it_is = len(here) == 1 and here[0] in ARRAYS and event == "start_array" and not self._found
        else:
            here_it_is = here == self._place
        if here_it_is and self._found:
            raise FeedError("not_well_formed", "the records occur twice", offset=self._offset)
        self._found = self._found or here_it_is
        return here_it_is

    def _kind(self, event: str) -> str:
        """An array where an object is expected holds records too: some programs write an empty object like that."""
        return "members" if self._keyed and event == "start_map" else KINDS[event]

    def _note_total(self, value: int) -> None:
        name = ".".join(part or "" for part in self._at()).casefold()
        if name in _TOTALS and value >= 0:
            self.declared = max(self.declared or 0, value)
