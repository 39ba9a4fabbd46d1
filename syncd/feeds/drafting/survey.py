"""A survey of a real file: format, encoding, delimiter, the place of the records, the kinds of their values.

Only the first records are read, in flat memory, and nothing is validated. Where no known format has its records, they are
repeated elements, arrays of objects, or objects of objects that look alike: guesses, for a person to see. Where the file is the
answer of an address, it may say how the next page is fetched."""

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec
from lxml import etree

from syncd.domain import MAX_NAME_CHARACTERS, FeedLimits
from syncd.errors import FeedError
from syncd.feeds.drafting.columns import NAMES, Column, ColumnSearch, comparable
from syncd.feeds.drafting.record_values import (
    Steps,
    empty_in,
    items_of_json,
    items_of_xml,
    name_of,
    places_beside,
    selector_of,
    values_in,
)
from syncd.feeds.mapping.presets import find_preset
from syncd.feeds.readers import (
    EACH,
    ITEM,
    WITHIN,
    FeedReader,
    Format,
    ReadSpec,
    Record,
    column_names,
    header_key,
    keyed_objects,
    open_reader,
    walk,
)
from syncd.feeds.readers.xml import local, names, new_parser
from syncd.feeds.source import Pages, Source

#: The most records that are read, and the most columns that are kept.
RECORDS, _MAX_COLUMNS = 5_000, 500
#: Faults that a lenient reading of XML may overcome.
_MENDABLE = ("not_well_formed", "unknown_entity")
#: The encoding of XML that is not in the UTF-8 that it declares.
_ENCODING = "windows-1252"
#: The most sheets of a spreadsheet that are tried, and records of each.
_MAX_SHEETS, _FEW = 20, 50
#: This many repetitions are proof enough; elements that come more often are a list inside of records.
_ENOUGH = 20
_MAX_PATHS = 2000
#: An error message has up to this many texts; a record has more.
_FEW_TEXTS = 3
_STEP = 1 << 16
#: Fields whose names are also those of an office or a company, which a job may have a list of.
_OF_OTHERS = {"city", "province", "country", "postal", "location", "company", "status"}


def xml_paths(head: bytes) -> list[str]:
    """Return element paths (``/jobs/list/job``), the likeliest first. ``head`` is in UTF-8."""
    seen: Counter[Steps] = Counter()
    parts: dict[Steps, set[str]] = {}
    members: dict[Steps, set[str]] = {}
    parser = new_parser(None, recover=True)
    for at in range(0, len(head), _STEP):
        with suppress(etree.XMLSyntaxError):
            parser.feed(head[at : at + _STEP])
        for event, element in parser.read_events():
            if event == "start" and len(seen) < _MAX_PATHS:
                path = names(element)  # type: ignore[arg-type]
                seen[path] += 1
                name = element.get("name") or element.get("val") or local(element)  # type: ignore[union-attr, arg-type]
                parts.setdefault(path[:-1], set()).add(name)
                attributes = {str(key).rpartition("}")[2] for key in element.attrib}  # type: ignore[union-attr]
                members.setdefault(path, set()).update(attributes)
    for path in members:
        members[path] |= parts.get(path, set())
    for path in [path for path in members if 1 < seen[path] <= seen[path[:-1]]]:
        if len(parts[path[:-1]]) > 1:  # a record may have its members in groups
            members[path[:-1]] |= parts.get(path, set())
    worth = {path: _worth(seen[path], names_of) for path, names_of in members.items() if len(path) > 1}
    return ["/" + "/".join(path) for path in _alone(parts, seen) + _best(worth)]


def _alone(parts: dict[Steps, set[str]], seen: Counter[Steps]) -> list[Steps]:
    """Return the root, where the file is one record: a title and other texts are in it, more than in any part of it."""
    root = next((path for path in parts if len(path) == 1), ())
    texts = {name for name in parts.get(root, ()) if (*root, name) not in parts}
    most = max((len(members) for path, members in parts.items() if len(path) > 1), default=0)
    repeated = any(len(path) == 2 and path in parts and seen[path] > 1 for path in seen)
    titled = any(comparable(name) in NAMES["title"] for name in texts)
    return [root] if titled and not repeated and len(texts) > max(most, _FEW_TEXTS) else []


def json_paths(head: bytes) -> list[str]:
    """Return member paths (``data.jobs``, "" for the root, ``data.jobs.*`` for its members, ``groups[*].jobs`` for those of
    several lists), the likeliest first."""
    seen: Counter[Steps] = Counter()
    parts: dict[Steps, set[str]] = {}
    for path, event, _ in walk(head):
        for at in [at for at, step in enumerate(path) if step == ITEM][:2]:
            names_in = path[at + 1 :]
            if event == "start_map" and not names_in:
                seen[path[:at]] += 1
            # of an object in the array, or of one in it: a record may have a wrapper
            elif 0 < len(names_in) < 3 and ITEM not in names_in:
                parts.setdefault(path[:at], set()).add(".".join(names_in))
    worth = {path: _worth(seen[path], parts.get(path, set())) for path in seen}
    for path, (objects, names_of) in keyed_objects(head).items():
        worth[(*path, EACH)] = _worth(objects, {*names_of})
    return [".".join(path).replace(f".{ITEM}", WITHIN).replace(ITEM, WITHIN) for path in _best(worth)]


def _worth(times: int, members: set[str]) -> tuple[int, int] | None:
    """Return the worth of a place: how many of its members have the names of a job's fields, if one is a title, and whether it
    repeats; then its size."""
    if len(members) < 2:
        return None
    names = {comparable(name.rpartition(".")[2]) for name in members}
    titled = not names.isdisjoint(NAMES["title"])
    known = {name for field in NAMES.keys() - _OF_OTHERS for name in NAMES[field]}
    fields = len(names & known) if titled else 0
    return fields + 2 * (times > 1), min(times, _ENOUGH) * len(members)


def _best(worth: dict[Steps, tuple[int, int] | None]) -> list[Steps]:
    likely = [(points, path) for path, points in worth.items() if points]
    likely.sort(key=lambda each: (-each[0][0], -each[0][1], len(each[1])))
    return [path for _, path in likely[:10]]


@dataclass(slots=True)
class Survey:
    """The findings. The file is read by ``spec``; ``path`` is the place of the records, ``fields`` are the places in them that
    have a value, ``empty`` those of the records' own that lack one in some. ``more``: there are more records than were read;
    ``broken``: why reading stopped early. ``unread``: the columns of the items around the records that no selector reads.
    ``beside``: see ``places_beside``."""

    format: Format
    spec: ReadSpec
    path: str
    encoding: str
    delimiter: str | None
    records: int = 0
    unreadable: int = 0
    columns: dict[str, Column] = field(default_factory=dict)
    fields: set[str] = field(default_factory=set)
    empty: dict[str, None] = field(default_factory=dict)
    more: bool = False
    broken: FeedError | None = None
    unread: dict[str, Column] = field(default_factory=dict)
    beside: Counter[str] = field(default_factory=Counter)

    def search(self) -> ColumnSearch:
        """Return the search among the columns."""
        columns = [
            column
            for column in self.columns.values()
            if not column.name_says_it
            or (column.plain_selector not in self.columns and column.filled < self.records)
        ]
        columns += (Column(name) for name in self.empty if name not in self.columns)
        return ColumnSearch(columns, self.format, self.records)

    def presets(self) -> list[tuple[str, float]]:
        return find_preset(self.format, self.path, self.fields)


def survey_file(path: Path, limits: FeedLimits) -> Survey:
    """Return the survey of a file. Raise FeedError if no records are found, OSError."""
    survey = _survey(path, limits)
    if survey.format in ("xml", "json"):
        survey.beside = places_beside(_head(path, survey.spec.encoding), survey.path, survey.format)
    if survey.format not in ("xml", "json") or survey.presets():
        return survey
    look = items_of_xml if survey.format == "xml" else items_of_json
    items = look(_head(path, survey.spec.encoding), survey.path)
    if items.are_records:
        spec = replace(survey.spec, format=survey.format, records=items.place or None)
        with suppress(FeedError):
            return _read(path, limits, spec, RECORDS)
    survey.columns |= items.readable
    survey.unread = items.unread
    return survey


def _survey(path: Path, limits: FeedLimits) -> Survey:
    try:
        survey = _read(path, limits, _with_sheet(path, limits), RECORDS)
        if (
            not survey.records and survey.format == "xml"
        ):  # the root of a known format, and its records elsewhere
            spec = next(_elsewhere(path, limits), survey.spec)
            return survey if spec == survey.spec else _read(path, limits, spec, RECORDS)
        plain = survey.format == "json" and not survey.presets()
        likeliest = next(iter(json_paths(_head(path))), "") if plain else ""
        inner = likeliest.startswith(f"{survey.path}{WITHIN}")  # lists of records in a list
        return _read(path, limits, ReadSpec(format="json", records=likeliest), RECORDS) if inner else survey
    except FeedError as error:
        for spec in _other_ways(path, limits, error):
            with suppress(FeedError):
                survey = _read(path, limits, spec, RECORDS)
                if survey.records or not spec.recover:
                    survey.broken = survey.broken or (error if spec.recover else None)
                    return survey
        raise


def _other_ways(path: Path, limits: FeedLimits, error: FeedError) -> Iterator[ReadSpec]:
    """Yield the ways to read a file that has this error if it is read as it seems to be."""
    elsewhere, head = error.code == "no_records_path", _head(path)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        if _is_markup(head):  # whatever the file declares
            yield ReadSpec(encoding=_ENCODING)
            yield from _elsewhere(path, limits, _ENCODING)
    if elsewhere:
        yield from _elsewhere(path, limits)
    # where the first root has no records, a later one may have some
    if error.code in _MENDABLE or (elsewhere and _is_markup(head)):
        yield ReadSpec(format="xml", recover=True)


def _with_sheet(path: Path, limits: FeedLimits) -> ReadSpec:
    """Return the sheet with the most records and columns, if a spreadsheet has several and that is not the first."""
    best, most = ReadSpec(), 0
    try:
        sheets = open_reader(path, best, limits).sheets
    except FeedError:
        return best
    for name in sheets[:_MAX_SHEETS] if len(sheets) > 1 else ():
        spec = ReadSpec(sheet=None if name == sheets[0] else name)
        with suppress(FeedError):
            sheet = _read(path, limits, spec, _FEW)
            worth = min(sheet.records, _ENOUGH) * len(sheet.columns)
            best, most = (spec, worth) if worth > most else (best, most)
    return best


def _elsewhere(path: Path, limits: FeedLimits, encoding: str | None = None) -> Iterator[ReadSpec]:
    """Yield the readable places where no known format has its records, the likeliest first."""
    head = _head(path, encoding)
    form: Format = "xml" if _is_markup(head) else "json"
    for place in (xml_paths if form == "xml" else json_paths)(head)[:3]:
        with suppress(FeedError):
            spec = ReadSpec(format=form, records=place, encoding=encoding)
            if _read(path, limits, spec, _FEW).records:
                yield spec


def _is_markup(head: bytes) -> bool:
    return head.lstrip()[:1] == b"<"


def _head(path: Path, encoding: str | None = None) -> bytes:
    """Return the first megabyte of the file, unpacked, in UTF-8."""
    return open_reader(path, ReadSpec(format="jsonl", encoding=encoding), FeedLimits()).source.head


def _read(path: Path, limits: FeedLimits, spec: ReadSpec, most: int) -> Survey:
    reader = open_reader(path, spec, limits)
    survey = Survey(reader.format, spec, spec.records or "", reader.source.encoding, reader.delimiter)
    records = iter(reader)
    try:
        for record in islice(records, most):
            _look(record, reader, survey)
        survey.more = next(records, None) is not None
    except FeedError as error:
        if not survey.records:
            raise
        survey.broken = error
    if not survey.records and survey.format == "csv":
        survey.columns = {name: Column(name) for name in column_names(reader.header or ()) if name.strip()}
    return survey


def _look(record: Record, reader: FeedReader, survey: Survey) -> None:
    if record.item is None:
        survey.unreadable += 1
        return
    form = survey.format
    if not survey.records and form == "xml":
        survey.path = "/" + "/".join(names(record.item))  # type: ignore[arg-type]
    elif not survey.records and form == "json" and survey.spec.records is None:
        survey.path = ".".join(reader.records_path)
    survey.records += 1
    written = {header_key(name): name for name in column_names(reader.header or ())}
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
    if len(survey.fields) < 4 * _MAX_COLUMNS:
        survey.fields.update(name_of(steps, form) for steps, _ in places)
    for selector in empty_in(record.item, form):
        if len(survey.empty) < _MAX_COLUMNS:
            survey.empty[written.get(selector, selector)] = None
    for selector, values in texts.items():
        column = survey.columns.get(selector)
        if column is None:
            if len(survey.columns) >= _MAX_COLUMNS:
                continue
            column = survey.columns[selector] = Column(selector)
        column.filled += 1
        for text in values[:20]:
            column.add(text)


#: A page is in memory as a whole, so a longer answer is none; members deeper than this do not speak of the list.
_MAX_BYTES, _MAX_MEMBER_STEPS = 16 << 20, 3
_ADDRESS = re.compile(r"https?://\S|[/?]\S")
#: Names of members, without case and signs: of the next page, of a count of records, of a count of pages, of a flag.
_NEXT_PAGE = re.compile(r"(odata)?next(page)?(url|link|uri|href|token|cursor|offset)?")
_RECORDS = re.compile(r"total(found|count|results|records|items|hits|jobs|elements)?|numfound|recordstotal")
_PAGES = re.compile(r"(total|num)pages|pagecount|lastpage")
_MORE = re.compile(r"hasmore|hasnext(page)?|more(available|results)?")


class Paging(NamedTuple):
    """``pages`` of the source, None if the answer does not say how the list goes on; ``said``: the reason, in words."""

    pages: Pages | None
    said: str


def paging_of(path: Path, survey: Survey, source: Source | None, *, linked: bool) -> Paging | None:
    """Return the sign of more pages in the answer of a ``source`` in a file, None without one. ``linked``: its header Link has a
    next page."""
    if source is None or source.board is not None or not str(source.url).startswith("http"):
        return None
    if survey.format != "json":
        said = "the header Link names a next page, but only a list in JSON can be fetched in pages"
        return Paging(None, said) if linked else None
    if linked:
        return Paging(Pages(link=True), "the header Link names the next page")
    if survey.path in ("", EACH) or path.stat().st_size > _MAX_BYTES:
        return None
    try:
        answer = msgspec.json.decode(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except msgspec.MsgspecError:
        return None
    members = [*_members(answer, survey.path.removesuffix(f".{EACH}"))]
    for steps, value in members:
        named = _NEXT_PAGE.fullmatch(_plain(steps[-1])) or any(_plain(step) == "next" for step in steps[:-1])
        if named and isinstance(value, str) and _ADDRESS.match(value) and not any("." in s for s in steps):
            return Paging(Pages(next=steps), f"{'.'.join(steps)} has the address of the next page")
    hints = (f"{'.'.join(steps)} {hint}" for steps, value in members if (hint := _hint(steps, value, survey)))
    hint = next(hints, None)
    return None if hint is None else Paging(None, f"{hint}, and the answer does not say how pages go on")


def _members(
    value: object, records: str, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield the members of objects around the records, with their paths."""
    if not isinstance(value, dict) or len(above) == _MAX_MEMBER_STEPS or ".".join(above) == records:
        return
    for name, inner in value.items():
        yield (*above, name), inner
        yield from _members(inner, records, (*above, name))


def _hint(steps: tuple[str, ...], value: object, survey: Survey) -> str | None:
    """Return why a member speaks of more records than the answer has."""
    name = _plain(steps[-1])
    if isinstance(value, bool):
        return "is true" if value and _MORE.fullmatch(name) else None
    if isinstance(value, int) and _RECORDS.fullmatch(name):
        here = survey.records + survey.unreadable
        return f"is {value:,}, of which {here:,} are here" if value > here and not survey.more else None
    if isinstance(value, int) and _PAGES.fullmatch(name):
        return f"is {value:,}" if value > 1 else None
    is_next = isinstance(value, str | int) and value and _NEXT_PAGE.fullmatch(name)
    return "names a next page, but is not an address" if is_next else None


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()
