"""JSON Lines, streamed: one object a line. A line that does not parse is a rejected row, or the end of a truncated
file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from syncd.domain import FeedLimits
from syncd.errors import FeedError, Problem
from syncd.feeds.readers.base import BaseReader
from syncd.feeds.readers.digest import seeded
from syncd.feeds.readers.json.values import ERRORS_NAME, bad_text, record_value, unchanged
from syncd.feeds.readers.records import ERRORS, Format, Known, Record
from syncd.feeds.readers.source import Utf8Source
from syncd.feeds.readers.spec import ReadSpec


class JsonLinesReader(BaseReader):
    """See FeedReader. Raise FeedError ``truncated``, ``bad_encoding``, ``limit_exceeded``."""

    format: Format = "jsonl"

    def __init__(self, source: Utf8Source, spec: ReadSpec, limits: FeedLimits, known: Known | None) -> None:
        super().__init__(source, limits, known)
        self._digest = seeded("json")

    def __iter__(self) -> Iterator[Record]:
        parts: list[bytes] = []
        size = 0
        for chunk in self._chunks():
            lines = chunk.split(b"\n")
            parts.append(lines.pop())
            size += len(parts[-1])
            if lines:
                parts, lines[0], size = parts[-1:], b"".join((*parts[:-1], lines[0])), len(parts[-1])
                yield from self._lines(lines)
            if size > self._limits.text:
                detail = f"a line of more than {self._limits.text} bytes ([limits] text)"
                raise FeedError("limit_exceeded", detail, line=self._line)
        last = b"".join(parts)
        if last.strip():
            yield from self._lines([last], last=True)

    def _lines(self, lines: list[bytes], *, last: bool = False) -> Iterator[Record]:
        stripped = [line.strip() for line in lines]
        digests = [self._digest(line) for line in stripped]
        known = self._ask([d for d, s in zip(digests, stripped, strict=True) if s])
        for raw, digest in zip(stripped, digests, strict=True):
            if raw:
                self._next()
                if digest in known:
                    self.mended = self.mended or ERRORS_NAME in raw
                    yield Record(self._number, self._line, None, digest, None)
                else:
                    yield self._record(raw, digest, last=last)
            self._line += 1

    def _record(self, raw: bytes, digest: bytes, *, last: bool) -> Record:
        problem: Problem | None
        try:
            item, problem = record_value(raw, self._limits)
        except UnicodeDecodeError as error:
            raise bad_text(error, 0, self._line) from None
        except ValueError as error:
            if last:
                detail = f"the last line has no end and does not parse: {_words(error)}"
                raise FeedError("truncated", detail, line=self._line) from None
            item, problem = None, Problem("", "invalid_json", f"the line is not JSON: {_words(error)}")
        if item is not None and ERRORS in item:
            self.mended = True
        raw_value = partial(unchanged, raw.decode("utf-8", "replace") if item is None else item)
        return Record(self._number, self._line, None, digest, item, problem, raw_value)


def _words(error: ValueError) -> str:
    """What is wrong within the line. The decoder calls it line 1: it has seen nothing else."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg[0].lower()}{error.msg[1:].removesuffix(' at')} at column {error.colno}"
    return str(error)
