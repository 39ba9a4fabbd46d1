"""A look at a real file: format, encoding, delimiter, where the records are, what each of their values looks like.

Only the first records are read, in flat memory, and nothing is validated."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.drafting.columns import Column, Survey
from syncd.feeds.drafting.preset_match import field_names, find_preset
from syncd.feeds.drafting.record_paths import json_paths, xml_paths
from syncd.feeds.drafting.record_values import values_by_selector
from syncd.feeds.readers import FeedReader, ReadSpec, Record, header_key, open_reader
from syncd.feeds.readers.xml import names

#: The most records that are looked at, and the most columns that are kept.
RECORDS, COLUMNS = 5_000, 500
#: What a lenient reading of XML may overcome.
_MENDABLE = ("not_well_formed", "unknown_entity")
#: The most sheets of a spreadsheet that are looked at, and records of each. More than ``_ENOUGH`` records prove no more.
_SHEETS, _FEW, _ENOUGH = 20, 50, 20


def survey(path: Path, limits: FeedLimits, spec: ReadSpec | None = None, most: int = RECORDS) -> Survey:
    """Return what a look at the file shows. Raise FeedError if no records are found, OSError."""
    asked = _with_sheet(path, limits, spec or ReadSpec())
    try:
        return _read(path, limits, asked, most)
    except FeedError as error:
        if error.code in _MENDABLE and asked.format in (None, "xml"):
            return _leniently(path, limits, asked, most, error)
        if error.code != "no_records_path" or asked.records is not None:
            raise
        found = _elsewhere(path, limits, error)
        if found is None and asked.format in (None, "xml") and _head(path).lstrip()[:1] == b"<":
            return _leniently(path, limits, asked, most, error)  # a later root may have records
        if found is None:
            raise
        return found


def _with_sheet(path: Path, limits: FeedLimits, asked: ReadSpec) -> ReadSpec:
    """Of a spreadsheet with several sheets, the one with the most records and columns, if that is not the first."""
    if asked.sheet is not None or asked.format not in (None, "csv"):
        return asked
    try:
        sheets: list[str] = getattr(open_reader(path, asked, limits), "sheets", [])
    except FeedError:
        return asked
    best, most = asked, 0
    for name in sheets[:_SHEETS] if len(sheets) > 1 else ():
        spec = asked if name == sheets[0] else replace(asked, sheet=name)
        with suppress(FeedError):
            found = _read(path, limits, spec, _FEW)
            worth = min(found.records, _ENOUGH) * len(found.columns)
            best, most = (spec, worth) if worth > most else (best, most)
    return best


def _leniently(path: Path, limits: FeedLimits, asked: ReadSpec, most: int, error: FeedError) -> Survey:
    """What a lenient reading gives of XML that is broken before its first record ends. Raise ``error`` if it gives nothing
    either."""
    try:
        found = _read(path, limits, replace(asked, format="xml", recover=True), most)
    except FeedError:
        raise error from None
    if not found.records:
        raise error
    found.broken = found.broken or error
    return found


def _elsewhere(path: Path, limits: FeedLimits, error: FeedError) -> Survey | None:
    """The records are where no known format has them: the likeliest place that can be read, preferably one that fits a
    preset."""
    head = _head(path)
    best: tuple[float, Survey] | None = None
    paths = (
        [("xml", p) for p in xml_paths(head)]
        if head.lstrip()[:1] == b"<"
        else [("json", p) for p in json_paths(head)]
    )
    for form, place in paths[:3]:
        try:
            found = _read(path, limits, ReadSpec(format=form, records=place), _FEW)  # type: ignore[arg-type]
        except FeedError:
            continue
        presets = find_preset(found.evidence())
        score = presets[0][1] if presets else 0.0
        if found.records and (best is None or score > best[0]):
            best = score, found
    if best is None:
        return None
    return _read(path, limits, best[1].spec, RECORDS)


def _head(path: Path) -> bytes:
    """The first megabyte in UTF-8, whatever the file's encoding; unpacked if the file is compressed."""
    probe: Any = open_reader(path, ReadSpec(format="jsonl"), FeedLimits())
    head: bytes = probe.source.head
    return head


def _read(path: Path, limits: FeedLimits, spec: ReadSpec, most: int) -> Survey:
    reader: Any = open_reader(path, spec, limits)
    found = Survey(
        reader.format, spec, spec.records or "", reader.source.encoding, getattr(reader, "delimiter", None)
    )
    records = iter(reader)
    try:
        for record in islice(records, most):
            _look(record, reader, found)
        found.more = next(records, None) is not None
    except FeedError as error:
        if not found.records:
            raise
        found.broken = error
    if not found.records and found.format == "csv":
        found.columns = {name: Column(name) for name in reader.header or ()}
    return found


def _look(record: Record, reader: FeedReader, found: Survey) -> None:
    if record.item is None:
        found.unreadable += 1
        return
    form = found.format
    if not found.records:
        found.path = _place(record, found, reader)
    found.records += 1
    for name in dict.fromkeys(field_names(record.item, form)):
        if name in found.fields or len(found.fields) < 4 * COLUMNS:
            found.fields[name] = found.fields.get(name, 0) + 1
    written = {header_key(name): name for name in reader.header or ()}
    for selector, texts in values_by_selector(record.item, form, written).items():
        column = found.columns.get(selector)
        if column is None:
            if len(found.columns) >= COLUMNS:
                continue
            column = found.columns[selector] = Column(selector)
        column.filled += 1
        for text in texts[:20]:
            column.add(text)


def _place(record: Record, found: Survey, reader: Any) -> str:
    if found.format == "xml":
        return "/" + "/".join(names(record.item))  # type: ignore[arg-type]
    if found.format == "json" and found.spec.records is None:
        path = getattr(reader, "records_path", ())  # an archive has one for each member
        return ".".join(path) if path else ""
    return found.path
