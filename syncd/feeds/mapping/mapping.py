"""Mappings: a record in, the body that a client would send out. The rules judge the body afterwards;
nothing is judged here.

A Mapping serves one feed in any format that its selectors can be compiled for. It holds no state between
rows."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as Map
from dataclasses import dataclass
from typing import Any, cast

from msgspec import Struct

from syncd.domain import ATTRIBUTES, Catalogue, Routing
from syncd.errors import ConfigError, FeedError, Problem
from syncd.feeds.faults import Scope, nearest
from syncd.feeds.mapping.field_compilers import DROPPED, Context, Field, Kind, compile_field
from syncd.feeds.mapping.list_fields import LIST_KINDS
from syncd.feeds.mapping.salary_field import KIND as SALARY
from syncd.feeds.mapping.selectors import open_record
from syncd.feeds.mapping.sources import Build, Table, constants
from syncd.feeds.mapping.text_fields import TEXT_KINDS
from syncd.feeds.native import native_body
from syncd.feeds.readers import Format, Record
from syncd.feeds.row_log import RowLog

KINDS: dict[str, Kind] = {**TEXT_KINDS, **LIST_KINDS, "salary": SALARY}
_NO_PLACE = Problem(
    "/locations",
    "required",
    "the record names no place; give [fields] locations a default if such jobs have one",
)
#: Without a value these are not sent; every other named field is sent as null.
_NEVER_NULL = frozenset(("closeDate", "status"))
_ADDRESSES = {"applicationUrl": Routing.URL, "applicationEmail": Routing.EMAIL}

Body = dict[str, object]


class MappedRow(Struct, frozen=True):
    """``body``: what a client would send as JSON, without the fields that ``problems`` is about; None:
    there is none at all. With any problem the row is rejected. ``reference_id``: the row's id as far as it
    is readable, trimmed. ``warnings``: (code, detail) of what was cut, cleaned, guessed or given up.
    ``unknown``: (field, value as the feed has it) of each value that names no entry of a catalogue, whether
    the row is rejected for it or a default stands in: what a lookup would have to say."""

    body: Body | None
    reference_id: str | None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Compiled:
    """The fields of a mapping for one format: (name, function, sent as null without value)."""

    fields: tuple[tuple[str, Field, bool], ...]
    prefer: tuple[str, ...]
    outside: bool


class Mapping:
    """``fields`` None: the service's own shape (native). Otherwise ``[fields]`` and ``[lookup.…]`` as the
    merged TOML has them.

    ``outside``: a selector looks at more of the file than its record."""

    def __init__(
        self,
        catalogue: Catalogue,
        fields: Map[str, object] | None = None,
        lookups: Map[str, Map[str, object]] | None = None,
        form: Format | None = None,
        scope: Scope | None = None,
    ) -> None:
        """Raises ConfigError with every fault, unless a ``scope`` is given to gather them."""
        gathered = scope or Scope("mapping")
        self._made_of = catalogue, fields, lookups, form
        self._catalogue = catalogue
        self._fields = fields
        self._form = form
        self._lookups = _tables(lookups or {}, gathered.at("lookup"))
        self._compiled: dict[Format, _Compiled] = {}
        self.outside = False
        if fields is not None:
            self._check(fields, gathered)
        if scope is None and gathered.faults:
            raise ConfigError(gathered.faults)

    def __reduce__(self) -> tuple[type[Mapping], tuple[object, ...]]:
        """Compiled selectors cannot be pickled; what they are made of can."""
        return Mapping, self._made_of

    def row(self, record: Record, form: Format | None = None) -> MappedRow:
        """The record as a row. Raises FeedError if the selectors cannot be meant for its format. ``form`` is
        the reader's format; left out, the record's shape tells it."""
        if record.item is None or record.problem is not None:
            return self._unreadable(record, form)
        actual = form or self._form or format_of(record.item)
        if actual != "xml" and not isinstance(record.item, dict):
            return MappedRow(
                None, None, (Problem("", "wrong_type", "a record must be an object", record.item),)
            )
        log = RowLog()
        body = self._body(record.item, actual, log)
        return MappedRow(body, _reference(body), tuple(log.problems), tuple(log.warnings), tuple(log.unknown))

    def lookup_of(self, field: str) -> str | None:
        """The name of the lookup that a field uses, the first if it uses several. None: none, or native."""
        return next(lookups_in((self._fields or {}).get(field)), None)

    def _body(self, item: Any, form: Format, log: RowLog) -> Body:
        if self._fields is None:
            return native_body(item, form, self._catalogue, log)
        compiled = self._for(form)
        node = open_record(item, form)
        body: Body = {}
        for name, field, as_null in compiled.fields:
            value = field(node, log)
            if value is None and name == "locations":  # a job always has one: null says nothing to anybody
                log.problems.append(_NO_PLACE)
            elif value is not DROPPED and (value is not None or as_null):
                body[name] = value
        if "applicationUrl" in body:
            _mail_link(body)
        if compiled.prefer:
            _route(body, compiled.prefer)
        return body

    def _unreadable(self, record: Record, form: Format | None) -> MappedRow:
        """A record with a problem of its own; its id, where the reader could still give the item."""
        reference = None
        if isinstance(record.item, dict):
            body = self._body(record.item, form or self._form or format_of(record.item), RowLog())
            reference = _reference(body)
        return MappedRow(None, reference, (record.problem,) if record.problem else ())

    def _for(self, form: Format) -> _Compiled:
        form = "json" if form == "jsonl" else form
        found = self._compiled.get(form)
        if found is None:
            scope = Scope("mapping")
            found = self._compiled[form] = self._compile(self._fields or {}, form, scope.at("fields"))
            if scope.faults:
                del self._compiled[form]
                detail = f"the mapping of this feed is not for {form}: {'; '.join(scope.faults)}"
                raise FeedError("not_a_feed", detail)
        return found

    def _check(self, fields: Map[str, object], scope: Scope) -> None:
        """Compiles for the format, or for each that the selectors may be meant for when none is set."""
        inner = scope.at("fields")
        known = {name: value for name, value in fields.items() if name in KINDS}
        for name in fields:
            if name not in KINDS:
                inner.at(name).fault(f"unknown field{nearest(name, KINDS)}")
        self._fields = known
        if self._form:
            form: Format = "json" if self._form == "jsonl" else self._form
            compiled = self._compiled[form] = self._compile(known, form, inner)
            self.outside = compiled.outside
            return
        trials = [(form, Scope(scope.file)) for form in cast("tuple[Format, ...]", ("csv", "xml", "json"))]
        tried = [(form, trial, self._compile(known, form, trial.at("fields"))) for form, trial in trials]
        self.outside = any(compiled.outside for _, _, compiled in tried)
        self._compiled = {form: compiled for form, trial, compiled in tried if not trial.faults}
        if not self._compiled:
            scope.faults.extend(line for line in tried[-1][1].faults if line not in scope.faults)

    def _compile(self, fields: Map[str, object], form: Format, scope: Scope) -> _Compiled:
        context = Context(Build(form, self._lookups), self._catalogue)
        compiled = []
        for name in ATTRIBUTES:
            if name in fields:
                field = compile_field(KINDS[name], fields[name], context, scope.at(name))
                compiled.append((name, field, name not in _NEVER_NULL))
        prefer = _preference(fields.get("applicantRoutingType"), fields, scope.at("applicantRoutingType"))
        kept = tuple(entry for entry in compiled if not (prefer and entry[0] == "applicantRoutingType"))
        return _Compiled(kept, prefer, bool(context.build.outside))


def format_of(item: object) -> Format:
    """The format whose reader gives such an item. A flat record of texts under names without capitals
    passes for a CSV row: for such a record CSV and JSON come to the same."""
    if isinstance(item, dict):
        flat = all(value.__class__ is str and key == key.casefold() for key, value in item.items())
        return "csv" if flat else "json"
    return "json" if item is None or isinstance(item, list | str | int) else "xml"


def lookups_in(expression: object) -> Iterator[str]:
    """The names of the lookups that a right-hand side of ``[fields]`` uses, or all of them."""
    if isinstance(expression, dict):
        if isinstance(expression.get("lookup"), str):
            yield expression["lookup"]
        expression = list(expression.values())
    if isinstance(expression, list):
        for part in expression:
            yield from lookups_in(part)


def _tables(lookups: Map[str, Map[str, object]], scope: Scope) -> dict[str, Table]:
    """Lookup tables by name; their keys without case, accents and punctuation."""
    tables: dict[str, Table] = {}
    for name, table in lookups.items():
        if not isinstance(table, dict):
            scope.at(name).fault('must be a table of "text in the feed" = "value"')
            tables[name] = Table({})
            continue
        tables[name] = Table({key: constants(value, scope.at(name).at(key)) for key, value in table.items()})
    return tables


def _preference(expression: object, fields: Map[str, object], scope: Scope) -> tuple[str, ...]:
    """``applicantRoutingType = { prefer = ["applicationUrl", "applicationEmail"] }``: the first that has a
    value."""
    if not isinstance(expression, dict) or "prefer" not in expression:
        return ()
    names = expression["prefer"]
    if not isinstance(names, list) or not names or any(name not in tuple(_ADDRESSES) for name in names):
        scope.at("prefer").fault("must be a list of applicationUrl and applicationEmail")
        return ()
    for name in names:
        if name not in fields:
            scope.at("prefer").fault(f"{name} is not mapped")
    return tuple(names)


def _mail_link(body: Body) -> None:
    """A ``mailto:`` link where an address of a page is expected is an e-mail address."""
    url = body["applicationUrl"]
    if isinstance(url, str) and url[:7].lower() == "mailto:":
        body["applicationUrl"] = None
        if not body.get("applicationEmail"):
            body["applicationEmail"] = url[7:].partition("?")[0]


def _route(body: Body, prefer: tuple[str, ...]) -> None:
    """The routing type of the first address there is; the other address is not sent, it would not be in
    force."""
    chosen = next((name for name in prefer if body.get(name)), None)
    body["applicantRoutingType"] = {"id": _ADDRESSES[chosen]} if chosen else None
    for name in prefer:
        if chosen and name != chosen:
            body.pop(name, None)


def _reference(body: Body) -> str | None:
    value = body.get("referenceId")
    return value.strip() or None if isinstance(value, str) else None
