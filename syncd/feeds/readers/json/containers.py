"""What contains the records of a JSON file: an array of them, or an object in which each member is one.

The names of such members are often ids (``{"jobs": {"123": {…}, "456": {…}}}``), so a record has its name as ``@key``. A
*piece* is what is cut out of the file for one record: an element, or a name with its value."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import msgspec

from syncd.domain import FeedLimits
from syncd.errors import Problem
from syncd.feeds.readers.json.values import RefusedValue, objects, record_value, refuse_surrogate, scan

#: The name under which a record that was a member of an object has its key.
KEY = "@key"

_NAME = re.compile(rb'("(?:[^"\\]|\\.)*+")[ \t\r\n]*+:[ \t\r\n]*+', re.DOTALL)
_TEXT_NAME = re.compile(r'"(?:[^"\\]|\\.)*+"[ \t\r\n]*+:[ \t\r\n]*+', re.DOTALL)
_BETWEEN = re.compile(rb"[, \t\r\n]*+")
_elements: Callable[[bytes], list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw]).decode
_members: Callable[[bytes], dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class RecordContainer(ABC):
    """One of the two forms. ``called`` is its word for messages, ``ends`` how it begins and ends, ``first`` how a piece
    begins whose value is an object."""

    called: str
    ends: tuple[bytes, bytes]
    first: str

    @abstractmethod
    def pieces(self, data: bytes, end: int) -> list[bytes] | None:
        """Return all pieces of ``data[:end]``, which ends with one; None where they cannot be separated in one go. Raise
        MsgspecError, RecursionError where it is not a sequence of pieces."""

    @abstractmethod
    def end_of_piece(self, text: str, at: int) -> int:
        """Return where the piece that begins at ``at`` ends. Raise ValueError or RecursionError if it is not whole."""

    @abstractmethod
    def values(self, pieces: list[bytes], limits: FeedLimits) -> list[dict[str, Any]] | None:
        """Return the records, decoded in one go; None if any of them needs the care of ``value``."""

    @abstractmethod
    def value(self, piece: bytes, limits: FeedLimits) -> tuple[dict[str, Any] | None, Problem | None]:
        """Return the record, or what is wrong with it. Raise ValueError where it is not JSON at all."""


class ArrayContainer(RecordContainer):
    """An array: each of its elements is a record."""

    called = "array"
    ends = (b"[", b"]")
    first = "{"

    def pieces(self, data: bytes, end: int) -> list[bytes] | None:
        return list(map(bytes, _elements(b"".join((b"[", memoryview(data)[:end], b"]")))))

    def end_of_piece(self, text: str, at: int) -> int:
        return scan(text, at)[1]

    def values(self, pieces: list[bytes], limits: FeedLimits) -> list[dict[str, Any]] | None:
        return objects(pieces, limits)

    def value(self, piece: bytes, limits: FeedLimits) -> tuple[dict[str, Any] | None, Problem | None]:
        return record_value(piece, limits)


class ObjectContainer(RecordContainer):
    """An object: each of its members is a record."""

    called = "object"
    ends = (b"{", b"}")
    first = '"'

    def pieces(self, data: bytes, end: int) -> list[bytes] | None:
        """None where a name occurs twice: the parser keeps only one of the two."""
        found: list[bytes] = []
        at = 0
        for raw in map(bytes, _members(b"".join((b"{", memoryview(data)[:end], b"}"))).values()):
            at = _end(_BETWEEN, data, at)
            start = _end(_NAME, data, at)
            if start == at or not data.startswith(raw, start):
                return None
            found.append(data[at : start + len(raw)])
            at = start + len(raw)
        return found if at == end else None

    def end_of_piece(self, text: str, at: int) -> int:
        name = _TEXT_NAME.match(text, at)
        if name is None:
            raise ValueError("no name of a member")
        return scan(text, name.end())[1]

    def values(self, pieces: list[bytes], limits: FeedLimits) -> list[dict[str, Any]] | None:
        named = list(map(_split, pieces))
        found = objects([value for _, value in named], limits)
        if found is None:
            return None
        try:
            return [_keyed(name, value) for (name, _), value in zip(named, found, strict=True)]
        except ValueError:
            return None

    def value(self, piece: bytes, limits: FeedLimits) -> tuple[dict[str, Any] | None, Problem | None]:
        name, raw = _split(piece)
        value, problem = record_value(raw, limits)
        if value is None:
            return None, problem
        try:
            return _keyed(name, value), None
        except RefusedValue as refusal:
            return None, Problem("", refusal.code, refusal.detail)


def _end(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    found = pattern.match(data, at)
    return found.end() if found else at


def _split(piece: bytes) -> tuple[bytes, bytes]:
    """The name as JSON text, and the value."""
    name = _NAME.match(piece)
    if name is None:
        raise ValueError("no name of a member")
    return name[1], piece[name.end() :]


def _keyed(name: bytes, value: dict[str, Any]) -> dict[str, Any]:
    """The record with its key, unless it has one (a corrected record does). Raise RefusedValue, ValueError."""
    if KEY not in value:
        key = json.loads(name.decode())
        if b"\\u" in name:
            refuse_surrogate(key)
        value[KEY] = key
    return value
