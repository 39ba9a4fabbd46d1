"""Mappings: a record in, the body that a client would send out. The rules validate the body afterwards.

A Mapping serves one feed, in any format that its selectors can be compiled for. It holds no state between rows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from collections.abc import Mapping as Map
from datetime import UTC, tzinfo
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

from lxml import etree
from msgspec import Struct

from syncd.domain import (
    FIELDS,
    OWN_BITS,
    OWN_VALUES,
    Catalogue,
    FieldKind,
    repaired,
)
from syncd.errors import ConfigError, FeedError, Problem
from syncd.feeds import toml_text
from syncd.feeds.catalogue_values import finders
from syncd.feeds.faults import RowLog, Scope
from syncd.feeds.mapping import catalogue_fields, place_fields, salary_fields, status_fields, text_fields
from syncd.feeds.mapping.column_names import columns_of, has_constants
from syncd.feeds.mapping.field_compilers import DROPPED, FieldCompiler, FieldFunction, compile_field
from syncd.feeds.mapping.renaming import Renaming, uses
from syncd.feeds.mapping.routing import EMAIL_FIELD, ROUTING_FIELD, move_mail_link, preference, set_routing
from syncd.feeds.mapping.row_filter import RowFilter, compile_rows
from syncd.feeds.mapping.selectors import CsvHeader, json_names, open_record
from syncd.feeds.mapping.sources import (
    MappingContext,
    NotedValues,
    PlacesRule,
    lookup_tables,
    lookups_in,
)
from syncd.feeds.native import COLUMNS, native_body
from syncd.feeds.readers import FlatRecord, Format, Record, column_names, header_key
from syncd.feeds.xml_node import element_of

#: Fields of these kinds are not sent without a value; every other field of the mapping is then sent as null.
_NEVER_NULL = (FieldKind.DATE, FieldKind.STATUS)

_BY_KIND: Map[FieldKind, FieldCompiler] = {
    FieldKind.TEXT: text_fields.TEXT,
    FieldKind.EMAIL: text_fields.EMAIL,
    FieldKind.URL: text_fields.URL,
    FieldKind.HTML: text_fields.HTML,
    FieldKind.NUMBER: text_fields.NUMBER,
    FieldKind.FLAG: text_fields.FLAG,
    FieldKind.DATE: text_fields.DATE,
    FieldKind.STATUS: status_fields.STATUS,
    FieldKind.CHOICE: catalogue_fields.CHOICE,
    FieldKind.CHOICES: catalogue_fields.CHOICES,
    FieldKind.PLACES: place_fields.PLACES,
    FieldKind.SALARY: salary_fields.SALARY,
}
#: The fields with a rule of their own.
_OWN = {"referenceId": text_fields.REFERENCE, ROUTING_FIELD: catalogue_fields.ROUTING}
#: Field → its compiler.
COMPILERS: Map[str, FieldCompiler] = {
    field.name: _OWN.get(field.name) or _BY_KIND[field.kind] for field in FIELDS
}

#: A name in a selector. The names of XPath's functions are among them; a record seldom has one of these.
_NAME = re.compile(r"[^\W\d][\w-]*")

Body = dict[str, object]


class MappedRow(Struct, frozen=True):
    """A record as the mapping gives it. With any problem the row is rejected.

    ``body`` is the JSON that a client would send, without the fields of ``problems``; None: there is none. ``reference_id`` is
    the row's id as far as it can be read, trimmed. ``warnings`` are (code, detail) of values that were cut, cleaned, guessed or
    left out. ``unknown`` is (field, value as the feed has it) of each value that names no entry of a catalogue, with or without a
    default: a lookup would have to translate it. ``left_out``: the rule of ``[rows]`` by which the feed leaves the record out;
    nothing else is known of it then. ``own_values``: the set of values that the record has itself (``OWN_BITS``). ``fragment`` is
    the readable part of a record with a problem of its own, such as a CSV row with too many cells; ``moved``: its id
    may be the text of another column."""

    body: Body | None
    reference_id: str | None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()
    left_out: str | None = None
    fragment: Body | None = None
    moved: bool = False
    own_values: int = 0


#: A field for one format: its name and value; whether it is sent as null without a value, or (a list of places) a problem then.
#: Last its bit among the own values, and the note of its selectors where the mapping may give the value instead.
_CompiledField = tuple[str, FieldFunction, bool, Problem | None, int, NotedValues | None]


class _Compiled(NamedTuple):
    """The fields of a mapping for one format. ``prefer``: the addresses that decide the routing type; ``rows``: the filter,
    and the note of its ``marks``; ``selectors``: all that is looked at, as in MappingContext."""

    fields: tuple[_CompiledField, ...]
    prefer: tuple[str, ...]
    rows: RowFilter | None
    marks: NotedValues
    outside: bool
    selectors: tuple[tuple[tuple[str, ...], ...], ...]


class Mapping:
    """``[fields]``, ``[lookup.…]`` and ``[rows]`` of a feed, as the merged TOML has them. ``fields`` None: the service's
    own shape. ``rows`` None: no record is left out. ``places``: the feed's rule for bare cities. ``zone``: that of the service.
    ``repair``: texts that were decoded twice are mended.

    ``outside``: a selector looks at more of the file than its record."""

    def __init__(
        self,
        catalogue: Catalogue,
        fields: Map[str, object] | None = None,
        lookups: Map[str, Map[str, object]] | None = None,
        form: Format | None = None,
        scope: Scope | None = None,
        *,
        places: PlacesRule | None = None,
        rows: Map[str, object] | None = None,
        zone: tzinfo = UTC,
        repair: bool = False,
    ) -> None:
        """Raise ConfigError with every fault, unless a ``scope`` is given to collect them."""
        faults = scope or Scope("mapping")
        self._made_of = catalogue, fields, lookups, form
        self._places, self._rows, self._zone, self._repair = places, rows, zone, repair
        self._finders = finders(catalogue)
        self._fields = fields
        self._form: Format | None = "json" if form == "jsonl" else form
        self._lookups = lookup_tables(lookups or {}, faults.at("lookup"))
        self._compiled: dict[Format, _Compiled] = {}
        self.outside = False
        if fields is not None or rows is not None:
            self._check(fields or {}, faults)
        if scope is None and faults.faults:
            raise ConfigError(faults.faults)

    def __reduce__(self) -> tuple[partial[Mapping], tuple[object, ...]]:
        """Pickle the settings: compiled selectors cannot be pickled."""
        make = partial(Mapping, places=self._places, rows=self._rows, zone=self._zone, repair=self._repair)
        return make, self._made_of

    def row(self, record: Record, form: Format | None = None) -> MappedRow:
        """Return the record as a row. ``form`` is the reader's format; None: that of the mapping, else JSON.

        Raise FeedError if the selectors cannot be used for that format."""
        if record.item is None or record.problem is not None:
            return self._unreadable(record, form)
        actual = form or self._form or "json"
        if actual != "xml" and not isinstance(record.item, dict):
            problem = Problem("", "wrong_type", "a record must be an object", record.item)
            return MappedRow(None, None, (problem,))
        item = _repaired(record.item) if self._repair else record.item
        compiled, marked = self._for(actual) if self._rows is not None else None, 0
        if compiled is not None and compiled.rows is not None:
            compiled.marks.found = False
            if (rule := compiled.rows(open_record(item, actual))) is not None:
                return MappedRow(None, None, left_out=rule)
            marked = OWN_BITS["rows"] * compiled.marks.found
        log = RowLog()
        body, own_values = self._body(item, actual, log)
        status_fields.note_title(body, log)
        return MappedRow(
            body,
            _reference(body),
            tuple(log.problems),
            tuple(log.warnings),
            tuple(log.unknown),
            own_values=own_values | marked,
        )

    @property
    def maps(self) -> bool:
        """Return whether it has ``[fields]``; without them the records are of the service's own shape."""
        return self._fields is not None

    @property
    def fields(self) -> Map[str, object]:
        return self._fields or {}

    @property
    def lookups(self) -> Map[str, Map[str, object]]:
        return self._made_of[2] or {}

    def lookup_of(self, field: str) -> str | None:
        return next(lookups_in(self.fields.get(field)), None)

    def own_digests(self) -> dict[str, str]:
        """Return by name in OWN_VALUES a digest of the lines of the feed's file that make that value."""
        fields = {**(self._fields or {}), "rows": self._rows}
        digests = {}
        for what, names in OWN_VALUES.items():
            lines = [fields.get(name) for name in names]
            used = [self._lookups.get(name) for name in lookups_in(lines)]
            made_of = repr((self._fields is None, lines, used)).encode()
            digests[what] = hashlib.blake2b(made_of, digest_size=6).hexdigest()
        return digests

    def columns(self, names: Sequence[str]) -> dict[str, str]:
        """Return by pointer the partner's names of the fields (``column_names``). ``names``: those of his last used file."""
        if self._fields is None:
            columns = {f"/{field.name}": field.name for field in FIELDS}
            if self._form in (None, "csv"):
                members = (
                    (column.member, name) for name, column in COLUMNS.items() if not names or name in names
                )
                columns |= {f"/salary/{member.name}": name for member, name in members if member is not None}
            return columns
        form: Format = self._form or next(iter(self._compiled), None) or "json"
        named = _names_in(names, form)
        if form != "csv":  # a path is known by all of it
            return columns_of(self._fields, (lambda path: [path] if named(path) else []) if names else None)
        return columns_of(self._fields, named if names else None)

    def unused(self, columns: Sequence[str], form: Format = "csv") -> list[str]:
        """Return the columns, or names, that nothing in the mapping names."""
        if self._fields is None:
            return []
        used = set().union(*map(_names_in(columns, form), chain(*chain(*self._for(form).selectors))))
        return [column for column in columns if column not in used]

    def check_columns(self, header: Sequence[str]) -> None:
        """Raise FeedError ``no_columns`` if the mapping uses none of these columns of a CSV: it is another file."""
        keys = {header_key(name) for name in header}
        if self.unused(header) == [*header] if self.maps else not keys & {*map(header_key, COLUMNS)}:
            detail = f"the feed uses none of the file's columns: {', '.join(filter(None, header))}"
            raise FeedError("no_columns", detail, line=1)

    def gone(self, before: Sequence[str], now: Sequence[str], form: Format) -> list[str]:
        """Return the names that the mapping uses, that were among ``before`` and are not among ``now``. A name that stands in
        an alternative is gone when all alternatives are: a part of one ("{city}" of "{city}, {state}") does not replace it."""
        if self._fields is None:
            return []
        names_before, names_now = _names_in(before, form), _names_in(now, form)
        gone = set[str]()

        def is_there(text: str) -> bool:
            return 0 < len(names_now(text)) >= len(names_before(text))

        for alternatives in self._for(form).selectors:
            used = next((texts for texts in alternatives if all(map(names_before, texts))), ())
            left = (texts for texts in alternatives if all(map(is_there, texts)))
            if not any(texts == used or not {*texts} <= {*used} for texts in left):
                gone.update(*map(names_before, chain(*alternatives)))
        return [name for name in before if name in gone and name not in now]

    def looks_at(self, field: str, names: Sequence[str], form: Format) -> bool:
        """Return whether a field, or ``rows``, looks at one of these names."""
        rules = (rule if isinstance(rule, list) else [rule] for rule in (self._rows or {}).values())
        expressions = {**(self._fields or {}), "rows": [*chain(*chain(*rules))]}
        return uses(expressions.get(field), names, form, _names_in(names, form))

    def lines_with(self, successors: Map[str, str], now: Sequence[str], form: Format) -> list[str]:
        """Return the lines of ``[fields]`` that use one of some names, as TOML, with its successor in its place, and without
        sources that look at nothing of ``now``."""
        names_in, renaming = _names_in(now, form), Renaming(successors, form)
        lines = []
        for name, expression in (self._fields or {}).items():
            before, line = renaming.made, renaming.line(expression, names_in)
            if renaming.made > before:
                lines.append(f"{name} = {toml_text.value(line)}")
        return lines

    def _body(self, item: Any, form: Format, log: RowLog) -> tuple[Body, int]:
        """Return the body and the set of its own values."""
        own_values = 0
        if self._fields is None:
            body = native_body(item, form, self._finders, log)
            for name, bit in OWN_BITS.items():
                if body.get(name) is not None:
                    own_values |= bit
            return body, own_values
        compiled = self._for(form)
        node = open_record(item, form)
        body = {}
        for name, value_of, as_null, lack, bit, noted in compiled.fields:
            if noted is not None:
                noted.found = False
            value = value_of(node, log)
            # a lookup may keep a word for a live job from being sent
            if (value is not None or name == "status") and (noted is None or noted.found):
                own_values |= bit
            if value is None and lack is not None:
                log.problems.append(lack)
            elif value is not DROPPED and (value is not None or as_null):
                body[name] = value
        moved = move_mail_link(body)
        if compiled.prefer:
            set_routing(body, (*compiled.prefer, EMAIL_FIELD) if moved else compiled.prefer)
        return body, own_values

    def _unreadable(self, record: Record, form: Format | None) -> MappedRow:
        """Return a record with a problem of its own, with its readable part where the reader still gives the item."""
        problems = (record.problem,) if record.problem else ()
        if not isinstance(record.item, dict):
            return MappedRow(None, None, problems)
        actual = form or self._form or "json"
        body, _ = self._body(record.item, actual, RowLog())
        reference, moved = _reference(body), False
        if actual == "csv":  # nothing before the file's first column can have moved it
            first, _ = self._body(dict(islice(record.item.items(), 1)), actual, RowLog())
            moved = _reference(first) != reference
        return MappedRow(None, reference, problems, fragment=body, moved=moved)

    def _for(self, form: Format) -> _Compiled:
        form = "json" if form == "jsonl" else form
        compiled = self._compiled.get(form)
        if compiled is None:
            scope = Scope("mapping")
            compiled = self._compile(self._fields or {}, form, scope)
            if scope.faults:
                detail = f"the mapping of this feed is not for {form}: {'; '.join(scope.faults)}"
                raise FeedError("not_a_feed", detail)
            self._compiled[form] = compiled
        return compiled

    def _check(self, fields: Map[str, object], scope: Scope) -> None:
        """Compile for the format; if none is set, for each format that the selectors may be meant for."""
        scope.at("fields").keys(fields, COMPILERS, "field")
        known = {name: value for name, value in fields.items() if name in COMPILERS}
        if self._fields is not None:
            self._fields = known
        forms: tuple[Format, ...] = (self._form,) if self._form else ("csv", "xml", "json")
        trials = [(form, Scope(scope.file)) for form in forms]
        tried = [(form, trial, self._compile(known, form, trial)) for form, trial in trials]
        self.outside = any(compiled.outside for _, _, compiled in tried)
        self._compiled = {form: compiled for form, trial, compiled in tried if not trial.faults}
        if not self._compiled:
            scope.faults.extend(line for line in tried[-1][1].faults if line not in scope.faults)

    def _compile(self, fields: Map[str, object], form: Format, scope: Scope) -> _Compiled:
        context = MappingContext(form, self._lookups, self._finders, self._places, self._zone)
        compiled: list[_CompiledField] = []
        at_fields = scope.at("fields")
        for field in FIELDS:
            if field.name in fields:
                place, bit = at_fields.at(field.name), OWN_BITS.get(field.name, 0)
                unsure = field.kind is FieldKind.STATUS or has_constants(fields[field.name])
                noted = NotedValues() if bit and unsure else None
                context.noted = noted
                value_of = compile_field(COMPILERS[field.name], field, fields[field.name], context, place)
                lack = None
                if field.kind is FieldKind.PLACES:  # a job always has a place, so null cannot be sent
                    detail = f"the record names no place; give [fields] {field.name} a default if such jobs have one"
                    lack = Problem(f"/{field.name}", "required", detail)
                compiled.append((field.name, value_of, field.kind not in _NEVER_NULL, lack, bit, noted))
        context.noted = marks = NotedValues()
        prefer = preference(fields, at_fields)
        rows = compile_rows(self._rows, context, scope.at("rows")) if self._rows is not None else None
        kept = tuple(each for each in compiled if not (prefer and each[0] == ROUTING_FIELD))
        return _Compiled(kept, prefer, rows, marks, bool(context.outside), tuple(context.selectors))


def _repaired(item: Any) -> Any:
    """Return a record with its texts mended (``repaired``). An element is changed itself."""
    if isinstance(item, str):
        return repaired(item)
    if isinstance(item, list):
        return list(map(_repaired, item))
    if isinstance(item, dict):
        return {name: _repaired(value) for name, value in item.items()}
    if isinstance(item, FlatRecord | etree._Element):
        item = element_of(item)
        for part in item.iter(etree.Element):
            part.text, part.tail = repaired(part.text or ""), repaired(part.tail or "")
            for name, value in part.attrib.items():
                part.set(name, repaired(value))
    return item


def _names_in(names: Sequence[str], form: Format) -> Callable[[str], set[str]]:
    """Return a function that returns those of the names at which a selector looks."""
    if form == "csv":
        keys = [header_key(name) for name in column_names(names)]
        header, by_key = CsvHeader(tuple(keys)), dict(zip(keys, names, strict=True))
        return lambda text: {by_key[key] for key in [header.find(text)] if key is not None}
    if form in ("json", "jsonl"):
        return lambda text: json_names(text).intersection(names)
    by_step = {name.casefold(): name for name in names}
    return lambda text: {by_step[step] for step in map(str.casefold, _NAME.findall(text)) if step in by_step}


def _reference(body: Body) -> str | None:
    value = body.get("referenceId")
    return value.strip() or None if isinstance(value, str) else None
