"""A look at a real file: format, encoding, delimiter, where the records are, what each of their values looks
like. Reads so many records, in flat memory, and judges nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.drafting.preset_match import Evidence, RecordSet, field_names, find_preset
from syncd.feeds.drafting.record_paths import json_paths, xml_paths
from syncd.feeds.drafting.value_looks import kinds_of
from syncd.feeds.readers import FeedReader, Format, ReadSpec, Record, header_key, open_reader
from syncd.feeds.readers.xml import names
from syncd.feeds.text import meant, spelled
from syncd.feeds.xml_node import inner_markup, local_name

#: Records that are looked at, columns that are kept, samples of each, different values that are counted.
RECORDS, COLUMNS, SAMPLES, DIFFERENT = 5_000, 500, 3, 20_000
#: What a lenient reading of XML may get over.
_MENDABLE = ("not_well_formed", "unknown_entity")
#: So many different short texts that look like nothing in particular are kept of a column.
_PLAIN_TEXTS = 6
#: So many sheets of a spreadsheet are looked at, so many records of each; more than ``_ENOUGH`` prove no more.
_SHEETS, _FEW, _ENOUGH = 20, 50, 20
_DIGIT = re.compile(r"\d")
_DEEPEST = 6
_PLAIN_KEY = re.compile(r"[^.\[\]]+\Z")
_MARKUP = frozenset("p br div ul ol li b strong em i a h1 h2 h3 h4 h5 h6 span table u font".split())


@dataclass(slots=True)
class Column:
    """One place in the records. ``selector`` as a mapping writes it; ``filled``: records with a value there;
    ``values``: how many values in all (a list has several); ``kinds``: of how many values each kind was seen;
    ``texts``: some short values without any digit;
    ``longest`` and ``total`` in characters; ``different``: how many different values (up to a limit)."""

    selector: str
    filled: int = 0
    values: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    samples: list[str] = field(default_factory=list)
    texts: Counter[str] = field(default_factory=Counter)
    longest: int = 0
    total: int = 0
    _seen: set[int] = field(default_factory=set)

    @property
    def different(self) -> int:
        return len(self._seen)

    @property
    def average(self) -> float:
        return self.total / self.values if self.values else 0.0

    def share(self, *kinds: str) -> float:
        """Share of the values that are of (one of) these kinds, as the commonest of them has it."""
        return max((self.kinds[kind] for kind in kinds), default=0) / self.values if self.values else 0.0

    def add(self, text: str) -> None:
        self.values += 1
        self.total += len(text)
        self.longest = max(self.longest, len(text))
        self.kinds.update(kinds_of(text))
        if len(text) <= 40 and (
            text in self.texts or (len(self.texts) < _PLAIN_TEXTS and not _DIGIT.search(text))
        ):
            self.texts[text] += 1
        mark = hash(text)
        if mark not in self._seen:
            if len(self._seen) < DIFFERENT:
                self._seen.add(mark)
            if len(self.samples) < SAMPLES:
                self.samples.append(text[:2000])


@dataclass(slots=True)
class Survey:
    """``spec``: what to tell the reader (all None where it finds out by itself); ``path``: where the records
    are; ``more``: there are more records than were looked at; ``broken``: why reading stopped early."""

    format: Format
    spec: ReadSpec
    path: str
    encoding: str
    delimiter: str | None
    records: int = 0
    unreadable: int = 0
    columns: dict[str, Column] = field(default_factory=dict)
    fields: dict[str, int] = field(default_factory=dict)
    more: bool = False
    broken: FeedError | None = None

    def evidence(self) -> Evidence:
        return Evidence(self.format, (RecordSet(self.path, self.records, self.fields),))

    def column(self, selector: str) -> Column | None:
        return self.columns.get(selector)


def survey(path: Path, limits: FeedLimits, spec: ReadSpec | None = None, most: int = RECORDS) -> Survey:
    """Raises FeedError for a file in which no records are found, OSError."""
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
    """Of a spreadsheet with several sheets, the one with the most records and columns where that is not the
    first."""
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
    """XML that is broken before its first record ends: what a lenient reading gives. Raises ``error`` where
    that gives nothing either."""
    try:
        found = _read(path, limits, replace(asked, format="xml", recover=True), most)
    except FeedError:
        raise error from None
    if not found.records:
        raise error
    found.broken = found.broken or error
    return found


def _elsewhere(path: Path, limits: FeedLimits, error: FeedError) -> Survey | None:
    """The records are where no known format has them: the likeliest place that can be read, one of which a
    preset speaks first."""
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
    """The first megabyte in UTF-8, whatever the file's encoding, unpacked if it is packed."""
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
    for selector, texts in _by_selector(record.item, form, written).items():
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


def _by_selector(item: Any, form: Format, written: dict[str, str]) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    leaves = _xml_leaves(item, "", 0) if form == "xml" else _json_leaves(item, "", 0)
    for selector, raw in leaves:
        value = meant(raw)
        if value is not None:
            name = written.get(selector, selector) if form == "csv" else selector
            texts.setdefault(name, []).append(spelled(value))
    return texts


def _json_leaves(value: object, path: str, depth: int) -> Iterator[tuple[str, object]]:
    if isinstance(value, list):
        for part in value[:20]:
            yield from _json_leaves(part, path, depth)
    elif isinstance(value, dict):
        for name, part in value.items() if depth < _DEEPEST else ():
            plain = _PLAIN_KEY.match(name) is not None
            step = name if plain else f'["{name}"]'
            yield from _json_leaves(part, f"{path}.{step}" if path and plain else path + step, depth + 1)
    elif path:
        yield path, value


def _xml_leaves(element: Any, path: str, depth: int) -> Iterator[tuple[str, object]]:
    for name, value in element.attrib.items():
        yield (f"{path}/@{local_name(name)}" if path else f"@{local_name(name)}"), value
    children = [child for child in element if child.tag.__class__ is str]
    if path and (not children or any(local_name(child.tag).lower() in _MARKUP for child in children)):
        yield path, inner_markup(element) if children else (element.text or "")
        return
    for child in children if depth < _DEEPEST else ():
        name = local_name(child.tag)
        yield from _xml_leaves(child, f"{path}/{name}" if path else name, depth + 1)


def with_records(found: Survey) -> ReadSpec:
    """The spec with the place of the records made explicit, for a feed file that says it."""
    return replace(found.spec, records=found.path or None)
