"""The file of rejected records: each in the feed's own format, with the reasons.

The reasons are sentences for the partner, in a ``syncd_errors`` column (CSV), attribute (XML) or member (JSON, JSON Lines). They
begin with the name of the file that has the record, where an archive has several files. The mark comes first in each record: so
the cells of a ragged CSV row stay where they were, and the beginning of the file shows its kind. By this mark the readers know a
file of mended rows: delivered again, it archives nothing (docs/reconciliation.md "After a run").

A run calls ``start`` once with its open reader, ``add`` for each rejected record while that record is current, and
``close`` before it stores its end."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO
from xml.sax.saxutils import escape, quoteattr

import msgspec

from syncd.errors import Problem
from syncd.feeds.readers import EACH, ERRORS, WITHIN, FeedReader, ReadSpec, Record, element_path, member_path
from syncd.feeds.readers.xml import enclosing_markup
from syncd.languages import DEFAULT, language
from syncd.sync.report import Letter, reasons

#: The member for a record that is not an object, or that could not be parsed.
_ORPHAN = "syncd_record"
_JSON = msgspec.json.Encoder(decimal_format="number")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]+")
_START_TAG = re.compile(rb"""<([^\s/>!?]+)((?:[^>"']|"[^"]*"|'[^']*')*?)(/?)>""")
_OLD_MARK = re.compile(rf"""\s{ERRORS}\s*=\s*(?:"[^"]*"|'[^']*')""".encode())


def _english(header: Sequence[str] | None) -> Letter:
    return Letter(language(DEFAULT))


class RejectsWriter:
    """Writes ``STEM.csv``, ``.xml``, ``.json`` or ``.jsonl``; makes no file while nothing is rejected.

    ``stem`` is a path without suffix. ``read`` has the feed's own encoding and path of records, if it has them: a file for
    a feed that is read as Windows-1252 has to be written so. Memory does not grow with the number of records. The
    file has the suffix ``.part`` until ``close``; a file that a dead run left with it is never published.
    """

    def __init__(
        self,
        stem: Path,
        read: ReadSpec,
        letter_of: Callable[[Sequence[str] | None], Letter] = _english,
    ) -> None:
        """``letter_of``: the header of a file, None if it has none → the reader of the reasons."""
        self._stem, self._read, self._letter_of = stem, read, letter_of
        self._letter = _english(None)
        self._reader: FeedReader | None = None
        self._form: _Csv | _Xml | _Json | None = None
        self.path: Path | None = None

    def start(self, reader: FeedReader) -> None:
        """Set the reader whose records follow. A run that starts over calls it again, and the records so far are dropped."""
        self._discard()
        self._reader = reader

    def add(self, record: Record, problems: Sequence[Problem]) -> None:
        """Write one record with its reasons. Raises OSError (a full disk)."""
        assert self._reader is not None, "start() comes before add()"
        if self._form is None:
            self._form = self._new_form(self._reader)
            self._letter = self._letter_of(self._reader.header)
        member = self._reader.member_of(record.number)
        why = _UNPRINTABLE.sub(" ", reasons(self._letter, problems).replace("’", "'"))  # not in Latin-1
        self._form.record(record, f"{member}: {why}" if member else why)

    def close(self) -> Path | None:
        """End the file, make it durable and return its path, or None if nothing was rejected. A second call does
        nothing."""
        form, self._form = self._form, None
        if form is not None:
            with form.file as file:
                file.write(form.closing)
                file.flush()
                os.fsync(file.fileno())
            part = Path(file.name)
            self.path = part.with_name(part.name.removesuffix(".part"))
            part.rename(self.path)
        return self.path

    def _new_form(self, reader: FeedReader) -> _Csv | _Xml | _Json:
        encoding = self._read.encoding or ("utf-8-sig" if reader.format == "csv" else "utf-8")
        path = self._stem.with_name(f"{self._stem.name}.{reader.format}.part")
        errors = "xmlcharrefreplace" if reader.format == "xml" else "replace"
        path.unlink(missing_ok=True)  # an attempt that died left it
        file = path.open("x", encoding=encoding, errors=errors, newline="")
        match reader.format:
            case "csv":
                return _Csv(file, reader.header or [], self._read.delimiter or ",")
            case "xml":
                return _Xml(file, self._read.records, encoding)
            case "json":
                keys = [key for key in member_path(self._read.records or "") if key != EACH]
                opening = (
                    "".join("[" if key == WITHIN else "{" + json.dumps(key) + ": " for key in keys) + "[\n"
                )
                closing = "".join("]" if key == WITHIN else "}" for key in reversed(keys))
                return _Json(file, encoding, opening, ",\n", f"\n]{closing}\n")
            case "jsonl":
                return _Json(file, encoding, "", "\n", "\n")

    def _discard(self) -> None:
        form, path = self._form, self.path
        self._form = self.path = None
        if form is not None:
            with suppress(OSError):  # the disk may still be full
                form.file.close()
            Path(form.file.name).unlink(missing_ok=True)
        if path is not None:
            path.unlink(missing_ok=True)


# A format has its ``file``, whose beginning it has written, and the ``closing`` of the file.


class _Csv:
    """The header of the feed's file after the column of the mark. A column of an earlier file of rejected records is
    dropped."""

    closing = ""

    def __init__(self, file: TextIO, header: list[str], delimiter: str) -> None:
        self._old = next((i for i, name in enumerate(header) if name.strip().casefold() == ERRORS), None)
        self.file, self._delimiter = file, delimiter
        self._write(ERRORS, header)

    def record(self, record: Record, why: str) -> None:
        raw = _raw(record)
        self._write(why, [str(cell) for cell in raw] if isinstance(raw, list) else [_text(raw)])

    def _write(self, why: str, cells: list[str]) -> None:
        """Write a row. (csv.writer takes ten times the memory of a long one.)"""
        row = [why, *(cell for i, cell in enumerate(cells) if i != self._old)]
        for i, cell in enumerate(row):
            quoted = any(mark in cell for mark in (self._delimiter, '"', "\r", "\n"))
            self.file.write(self._delimiter if i else "")
            self.file.write('"' + cell.replace('"', '""') + '"' if quoted else cell)
        self.file.write("\r\n")


class _Xml:
    """The record elements, within the elements that surround the first of them."""

    def __init__(self, file: TextIO, path: str | None, encoding: str) -> None:
        self.file, self._path, self.closing = file, path, ""
        file.write(f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>\n')

    def record(self, record: Record, why: str) -> None:
        if not self.closing:
            opening, self.closing = _around(record.item, self._path)
            self.file.write(opening)
        raw = _raw(record)
        if isinstance(raw, bytes) and (tag := _START_TAG.search(raw)):
            self.file.write(_marked(raw, tag, why).decode("utf-8", "replace") + "\n")
        else:
            self.file.write(f"<job {ERRORS}={quoteattr(why)}>{escape(_text(raw))}</job>\n")


class _Json:
    """The records as JSON: as lines, or as an array at the path of the feed's records. The array also replaces an object of
    records, whose keys are in the records."""

    def __init__(self, file: TextIO, encoding: str, opening: str, between: str, closing: str) -> None:
        self.file, self._encoding = file, encoding
        self._before, self._between, self.closing = opening, between, closing

    def record(self, record: Record, why: str) -> None:
        raw = _raw(record)
        self.file.write(self._before)
        self._before = self._between
        self.file.write(_json(_member(raw, why), self._encoding))


def _raw(record: Record) -> object:
    return record.raw() if record.raw is not None else record.item


def _around(item: Any, path: str | None) -> tuple[str, str]:
    """Return the markup before and after the records: as in the feed's file, or plain elements by the feed's own path.
    Where each file of an archive is one record, several records need a root."""
    if item is not None:
        before, after = enclosing_markup(item)
        if after.strip():
            return before, after
    names = [name for name in element_path(path)[:-1] if name != "*"] if path else []
    names = names or ["jobs"]
    return "".join(f"<{name}>\n" for name in names), "".join(f"</{name}>\n" for name in reversed(names))


def _marked(raw: bytes, tag: re.Match[bytes], why: str) -> bytes:
    """Return the serialised element with the mark as its first attribute; an old mark is dropped."""
    name, attributes, slash = tag.groups()
    mark = quoteattr(why).encode("utf-8")
    start = b"<%b %b=%b%b%b>" % (name, ERRORS.encode(), mark, _OLD_MARK.sub(b"", attributes), slash)
    return start + raw[tag.end() :].rstrip()


def _member(raw: object, why: str) -> dict[str, object]:
    if isinstance(raw, dict):
        return {ERRORS: why} | {str(key): value for key, value in raw.items() if key != ERRORS}
    return {ERRORS: why, _ORPHAN: _text(raw) if isinstance(raw, bytes) else raw}


def _json(value: object, encoding: str) -> str:
    """Return one line of JSON with exact decimals. Characters that the encoding may lack are escaped."""
    try:
        text = _JSON.encode(value).decode()
    except (TypeError, ValueError):
        text = json.dumps(value, default=_plain)
    if encoding.lower().startswith("utf"):
        return text
    return re.sub("[^\x00-\x7f]", lambda match: json.dumps(match[0])[1:-1], text)


def _plain(value: Any) -> object:
    return float(value) if isinstance(value, Decimal) else str(value)


def _text(raw: object) -> str:
    if isinstance(raw, bytes):
        raw = raw.decode("utf-8", "replace")
    return _UNPRINTABLE.sub(" ", "" if raw is None else str(raw))
