"""Where a JSON value ends that is too long for a record. Nothing is decoded, so it takes no memory beside its bytes."""

from __future__ import annotations

import re

#: How much is looked through at once.
_STEP = 1 << 18
#: Pairs of brackets with nothing between them are removed so often before the rest are counted one by one.
_ROUNDS = 3
_REST_OF_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
#: Up to the opening quote of a string that does not end.
_WHOLE_STRINGS = re.compile(rb'(?:[^"]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_SCALAR = re.compile(rb'(?:[^",\]}]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|([\[{])|([\]}])', re.DOTALL)
_OPENING = frozenset(b"[{")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class EndFinder:
    """Finds where one object or array ends, in data to which more is added. Each byte is looked at once."""

    def __init__(self) -> None:
        self._depth = 0
        #: What makes the next data part of the same string: a quote, and perhaps a backslash.
        self._before = b""

    def find(self, data: bytes, at: int) -> int | None:
        """Return where the value ends in ``data``, of which the part from ``at`` on is new; None if it goes on."""
        for start in range(at, len(data), _STEP):
            before = len(self._before)
            end = self._find(self._before + data[start : start + _STEP])
            if end is not None:
                return start + end - before
        return None

    def _find(self, part: bytes) -> int | None:
        whole = _WHOLE_STRINGS.match(part)
        assert whole is not None, "the pattern may be empty"
        outside = _STRING.sub(b"", part[: whole.end()])
        brackets = outside.translate(None, _NO_BRACKETS)
        closing = brackets.count(b"]") + brackets.count(b"}")
        if closing < self._depth:
            self._depth += len(brackets) - 2 * closing
        elif (end := self._last_bracket(brackets, part)) is not None:
            return end
        self._before = b""
        if whole.end() < len(part):
            rest = _REST_OF_STRING.match(part, whole.end() + 1)
            assert rest is not None, "the pattern may be empty"
            self._before = b'"' if rest.end() == len(part) else b'"\\'
        return None

    def _last_bracket(self, brackets: bytes, part: bytes) -> int | None:
        before = depth = self._depth
        for _ in range(_ROUNDS if depth else 0):  # what is empty does not matter within a value
            brackets = brackets.replace(b"{}", b"").replace(b"[]", b"")
        for bracket in brackets:
            depth += 1 if bracket in _OPENING else -1
            if not depth:
                break
        else:
            self._depth = depth
            return None
        for token in _TOKEN.finditer(part):
            before += (token[1] is not None) - (token[2] is not None)
            if not before and token[2]:
                return token.end()
        return None


def end_of_scalar(data: bytes, at: int) -> int | None:
    """Return where the value that begins at ``at`` ends, a string, a number or a word; None if it goes on."""
    found = _SCALAR.match(data, at)
    end = found.end() if found else at
    return end if end < len(data) and data[end] != ord('"') else None
