"""A look at a real file: format, encoding, delimiter, where the records are, what each of their values looks like.

Only the first records are read, in flat memory, and nothing is validated."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from syncd.domain import MAX_NAME_CHARACTERS, FeedLimits
from syncd.errors import FeedError
from syncd.feeds.drafting.columns import Column, ColumnSearch
from syncd.feeds.drafting.preset_match import find_preset
from syncd.feeds.drafting.records import json_paths, name_of, selector_of, values_in, xml_paths
from syncd.feeds.readers import FeedReader, Format, ReadSpec, Record, header_key, open_reader
from syncd.feeds.readers.xml import names

#: The most records that are looked at, and the most columns that are kept.
RECORDS, COLUMNS = 5_000, 500
#: What a lenient reading of XML may overcome.
_MENDABLE = ("not_well_formed", "unknown_entity")
#: The most sheets of a spreadsheet that are looked at, and records of each. More than ``_ENOUGH`` records prove no more.
_SHEETS, _FEW, _ENOUGH = 20, 50, 20


@dataclass(slots=True)
class Survey:
    """What was found. ``spec`` is how the file is read; ``path`` where the records are. ``fields`` are the places in them that
    have a value. ``more``: there are more records than were looked at; ``broken``: why reading stopped early."""

    format: Format
    spec: ReadSpec
    path: str
    encoding: str
    delimiter: str | None
    records: int = 0
    unreadable: int = 0
    columns: dict[str, Column] = field(default_factory=dict)
    fields: set[str] = field(default_factory=set)
    more: bool = False
    broken: FeedError | None = None

    def search(self) -> ColumnSearch:
        return ColumnSearch(self.columns.values(), self.format, self.records)

    def presets(self) -> list[tuple[str, float]]:
        """Return the presets that fit, with their scores, the likeliest first."""
        return find_preset(self.format, self.path, self.fields)


def survey(path: Path, limits: FeedLimits) -> Survey:
    """Return what a look at the file shows. Raise FeedError if no records are found, OSError."""
    try:
        return _read(path, limits, _with_sheet(path, limits), RECORDS)
    except FeedError as error:
        elsewhere = error.code == "no_records_path"
        if elsewhere and (found := _elsewhere(path, limits)):
            return found
        # where the first root has no records, a later one may have some
        if error.code in _MENDABLE or (elsewhere and _is_markup(_head(path))):
            return _leniently(path, limits, error)
        raise


def _with_sheet(path: Path, limits: FeedLimits) -> ReadSpec:
    """Of a spreadsheet with several sheets, the one with the most records and columns, if that is not the first."""
    best, most = ReadSpec(), 0
    try:
        sheets = open_reader(path, best, limits).sheets
    except FeedError:
        return best
    for name in sheets[:_SHEETS] if len(sheets) > 1 else ():
        spec = ReadSpec(sheet=None if name == sheets[0] else name)
        with suppress(FeedError):
            found = _read(path, limits, spec, _FEW)
            worth = min(found.records, _ENOUGH) * len(found.columns)
            best, most = (spec, worth) if worth > most else (best, most)
    return best


def _leniently(path: Path, limits: FeedLimits, error: FeedError) -> Survey:
    """What a lenient reading gives of XML that is broken before its first record ends. Raise ``error`` if that is nothing."""
    try:
        found = _read(path, limits, ReadSpec(format="xml", recover=True), RECORDS)
    except FeedError:
        raise error from None
    if not found.records:
        raise error
    found.broken = found.broken or error
    return found


def _elsewhere(path: Path, limits: FeedLimits) -> Survey | None:
    """The records are where no known format has them: in the likeliest readable place, preferably one that fits a preset."""
    head = _head(path)
    form: Format = "xml" if _is_markup(head) else "json"
    best, highest = None, -1.0
    for place in (xml_paths if form == "xml" else json_paths)(head)[:3]:
        with suppress(FeedError):
            found = _read(path, limits, ReadSpec(format=form, records=place), _FEW)
            score = max((score for _, score in found.presets()), default=0.0)
            if found.records and score > highest:
                best, highest = found, score
    return _read(path, limits, best.spec, RECORDS) if best else None


def _is_markup(head: bytes) -> bool:
    return head.lstrip()[:1] == b"<"


def _head(path: Path) -> bytes:
    """The first megabyte in UTF-8, whatever the file's encoding; unpacked if the file is compressed."""
    return open_reader(path, ReadSpec(format="jsonl"), FeedLimits()).source.head


def _read(path: Path, limits: FeedLimits, spec: ReadSpec, most: int) -> Survey:
    reader = open_reader(path, spec, limits)
    found = Survey(reader.format, spec, spec.records or "", reader.source.encoding, reader.delimiter)
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
    written = {header_key(name): name for name in reader.header or ()}
    texts: dict[str, list[str]] = {}
    # a longer name is not one that a person would map
    places = [
        (steps, text)
        for steps, text in values_in(record.item, form)
        if len(max(steps, key=len, default="")) <= MAX_NAME_CHARACTERS
    ]
    for steps, text in places:
        if text is not None:
            selector = selector_of(steps, form)
            texts.setdefault(written.get(selector, selector), []).append(text)
    if len(found.fields) < 4 * COLUMNS:
        found.fields.update(name_of(steps, form) for steps, _ in places)
    for selector, values in texts.items():
        column = found.columns.get(selector)
        if column is None:
            if len(found.columns) >= COLUMNS:
                continue
            column = found.columns[selector] = Column(selector)
        column.filled += 1
        for text in values[:20]:
            column.add(text)


def _place(record: Record, found: Survey, reader: FeedReader) -> str:
    if found.format == "xml":
        return "/" + "/".join(names(record.item))  # type: ignore[arg-type]
    if found.format == "json" and found.spec.records is None:
        return ".".join(reader.records_path)
    return found.path
