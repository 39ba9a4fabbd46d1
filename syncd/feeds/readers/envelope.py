"""The part of a JSON file that stands round its records: finds where they begin and judges the rest."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import ijson

from syncd.domain.policy import Limits
from syncd.errors import FeedError
from syncd.feeds.readers.detect import ARRAYS
from syncd.feeds.readers.spec import member_path

_OPENING = re.compile(rb"[\[{]")
_TOTALS = frozenset(
    {"expectedjobcount", "total", "totalfound", "totalcount", "totalresults", "meta.total", "paging.total"}
)
_KINDS = {"start_array": "array", "start_map": "object"}


def scout(head: bytes) -> tuple[str, ...] | None:
    """The likeliest path of the records in a file that begins with ``head``; None if any known one may
    still come.
    """
    seen = _top_level(head)
    for name in ARRAYS:
        if seen.get(name) == "start_array":
            return (name,)
    for name in ARRAYS[:2]:
        if seen.get(name) == "start_map":
            return (name,)
    return () if seen.get("@type") == "JobPosting" else None


def _top_level(head: bytes) -> dict[str, Any]:
    """Root member → the kind of its value, or the value itself where it is text."""
    events = ijson.sendable_list()
    parser = ijson.parse_coro(events)
    with suppress(
        ijson.JSONError, UnicodeDecodeError
    ):  # the reading itself will say what is wrong, and where
        parser.send(head)
    if events and events[0][1] == "start_array":
        return {}
    found: dict[str, Any] = {}
    for prefix, event, value in events:
        if prefix in ARRAYS or prefix == "@type":
            found.setdefault(prefix, value if event == "string" else event)
    return found


class Envelope:
    """Fed everything but the records. ``kind`` is "array" or "object" while the records are the parser's
    next value, else "". Raises FeedError ``not_well_formed``, ``truncated``, ``no_records_path``,
    ``limit_exceeded``.
    """

    def __init__(self, records: str | None, limits: Limits, head: bytes) -> None:
        self._depth = limits.depth
        self._path = member_path(records) if records is not None else None
        if self._path is None and head.lstrip()[:1] == b"{":
            self._path = scout(head)
        elif self._path is None:
            self._path = ()
        self._stack: list[str | None] = []
        self._key: str | None = None
        self._events = ijson.sendable_list()
        self._parser = ijson.basic_parse_coro(self._events)
        self.kind = ""
        self.found = False
        self.offset = 0
        self.declared: int | None = None

    @property
    def path(self) -> tuple[str, ...]:
        """Where the records are, as far as it is known."""
        return self._path or ()

    def feed(self, data: bytes) -> int:
        """Takes ``data`` up to where the records begin; how many bytes that were."""
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
        """The file is over."""
        try:
            self._parser.close()
        except ijson.JSONError:
            raise FeedError("truncated", "the file ends before its JSON does", offset=self.offset) from None
        if not self.found:
            wanted = "/".join(self._path) if self._path else "one of " + ", ".join(ARRAYS)
            raise FeedError("no_records_path", f"no array of records ({wanted}) in this file")

    def _send(self, data: bytes) -> None:
        self.kind = ""
        try:
            self._parser.send(data)
        except UnicodeDecodeError as error:
            raise FeedError("bad_encoding", f"not UTF-8: {error.reason}", offset=self.offset) from None
        except (ijson.JSONError, StopIteration):
            raise FeedError("not_well_formed", "this is not JSON", offset=self.offset) from None
        self.offset += len(data)
        for event, value in self._events:
            self._take(event, value)
        del self._events[:]

    def _take(self, event: str, value: Any) -> None:
        if event == "map_key":
            self._key = value
        elif event in _KINDS:
            self.kind = _KINDS[event] if self._is_records(event) else ""
            self._stack.append(self._key)
            self._key = None
            if len(self._stack) > self._depth:
                raise FeedError("limit_exceeded", f"nested deeper than {self._depth}", offset=self.offset)
        elif event in ("end_map", "end_array"):
            self._key = self._stack.pop()
        elif event == "number" and isinstance(value, int):
            self._note_total(value)

    def _at(self) -> tuple[str | None, ...]:
        return (*self._stack[1:], self._key) if self._stack else ()

    def _is_records(self, event: str) -> bool:
        here = self._at()
        if self._path is None:
            here_it_is = len(here) == 1 and here[0] in ARRAYS and event == "start_array" and not self.found
        else:
            here_it_is = here == self._path
        if here_it_is and self.found:
            raise FeedError("not_well_formed", "the records stand there twice", offset=self.offset)
        self.found = self.found or here_it_is
        return here_it_is

    def _note_total(self, value: int) -> None:
        name = ".".join(part or "" for part in self._at()).casefold()
        if name in _TOTALS and value >= 0:
            self.declared = max(self.declared or 0, value)
