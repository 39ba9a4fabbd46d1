"""Where the records of a JSON file may be: found in the start of the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import ijson

from syncd.feeds.readers.detect import ARRAYS
from syncd.feeds.readers.spec import EACH

KINDS = {"start_array": "array", "start_map": "object"}
CLOSING = ("end_array", "end_map")
_STEP = 1 << 14
#: Objects are looked for down to this depth, and this many are kept apart.
_DEEPEST, _MOST = 64, 2000


def likely_path(head: bytes) -> tuple[str, ...] | None:
    """Return the likeliest path of the records in a file that begins with ``head``; None if any known one may still come."""
    seen, keyed = _top_level(head)
    for name in ARRAYS:
        if seen.get(name) == "start_array":
            return (name,)
    for name in ARRAYS[:2]:
        if seen.get(name) == "start_map":
            return (name, EACH) if name in keyed else (name,)
    return () if seen.get("@type") == "JobPosting" else None


def _top_level(head: bytes) -> tuple[dict[str, Any], set[str]]:
    """Root member → the kind of its value, or the value itself where it is text; and the members whose values are objects that
    have nothing but objects in them. (A job has at least a title or an id, which are not objects.)"""
    found: dict[str, Any] = {}
    parts: dict[str, set[bool]] = {}
    depth, key = 0, ""
    for event, value in events(head):
        if event in CLOSING:
            depth -= 1
        elif event == "map_key":
            key = value if depth == 1 else key
        elif depth == 0 and event == "start_array":
            return {}, set()
        else:
            if depth == 1 and (key in ARRAYS or key == "@type"):
                found.setdefault(key, value if event == "string" else event)
            elif depth == 2 and key in ARRAYS:
                parts.setdefault(key, set()).add(event == "start_map")
            depth += event in KINDS
    return found, {name for name, objects in parts.items() if objects == {True}}


def events(head: bytes) -> Iterator[tuple[str, Any]]:
    """Yield the events of ``head`` up to its end or its first fault, which the reader will report."""
    events = ijson.sendable_list()
    parser = ijson.basic_parse_coro(events)
    for at in range(0, len(head), _STEP):
        with suppress(ijson.JSONError, UnicodeDecodeError, StopIteration):
            parser.send(head[at : at + _STEP])
        yield from events
        del events[:]


@dataclass(slots=True)
class ObjectOfObjects:
    """An object that has nothing but objects in it: how many there are, and in how many of these each name is."""

    objects: int = 0
    names: Counter[str] = field(default_factory=Counter)

    @property
    def alike(self) -> bool:
        """Whether most of the objects share a name, so that they may be records."""
        return self.objects > 1 and any(count * 3 >= self.objects * 2 for count in self.names.values())


def keyed_objects(head: bytes) -> dict[tuple[str, ...], ObjectOfObjects]:
    """Return the objects outside of arrays whose members look like records, by path."""
    found: dict[tuple[str, ...], ObjectOfObjects] = {}
    plain: set[tuple[str, ...]] = set()
    path: list[str] = []  # the last member of each object around this place
    arrays = 0
    for event, value in events(head):
        if event in ("start_array", "end_array"):
            if event == "start_array" and not arrays:
                plain.add(tuple(path[:-1]))
            arrays += 1 if event == "start_array" else -1
        elif arrays:
            continue
        elif event == "map_key":
            path[-1] = value
            if len(path) > 1 and (holder := found.get(tuple(path[:-2]))) is not None:
                holder.names[value] += 1
        elif event == "start_map":
            if path and (tuple(path[:-1]) in found or len(found) < _MOST):
                found.setdefault(tuple(path[:-1]), ObjectOfObjects()).objects += 1
            path.append("")
            if len(path) > _DEEPEST:
                break
        elif event == "end_map":
            path.pop()
        elif path:
            plain.add(tuple(path[:-1]))
    return {place: holder for place, holder in found.items() if place not in plain and holder.alike}
