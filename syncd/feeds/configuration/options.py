"""The keys of a feed file that are not mapping: what each may hold, and what it becomes."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from syncd.domain import Policy, Threshold
from syncd.feeds.faults import Scope
from syncd.feeds.readers import ReadSpec, element_path, member_path
from syncd.values import ValueFault, count, filled_text, flag, one_of, percent, shown

T = TypeVar("T")
D = TypeVar("D")

POLICY_KEYS = tuple(field.name for field in fields(Policy))
READ_KEYS = ("format", "records", "encoding", "delimiter", "recover", "sheet")
FORMATS = ("csv", "xml", "json", "jsonl")
_DELIMITERS = {"tab": "\t", "\\t": "\t"}


def member(
    table: Mapping[str, Any], key: str, parse: Callable[[object], T], default: D, scope: Scope
) -> T | D:
    """Return ``table[key]`` parsed; ``default`` where it is absent or (with a fault) wrong."""
    if key not in table:
        return default
    try:
        return parse(table[key])
    except ValueFault as error:
        scope.at(key).fault(str(error))
        return default


def policy_of(values: Mapping[str, Any], base: Policy, scope: Scope) -> Policy:
    """Return ``base`` with the changes of the feed's file."""
    changes: dict[str, Any] = {}
    for field in fields(Policy):
        name, usual = field.name, getattr(base, field.name)
        if name in values and isinstance(usual, Threshold):
            changes[name] = _threshold(values, name, usual, field.metadata["counted"], scope)
        elif name in values:
            changes[name] = member(values, name, field.metadata["kind"].parse, usual, scope)
    return replace(base, **changes)


def _threshold(
    values: Mapping[str, Any], name: str, base: Threshold, counted: str, scope: Scope
) -> Threshold:
    """Return the threshold of ``{ percent = 25, jobs = 5 }``, of one of its members, or of a percentage."""
    table, place = values[name], scope.at(name)
    if not isinstance(table, dict):
        return replace(base, percent=member(values, name, percent, base.percent, scope))
    place.keys(table, ("percent", counted))
    share = member(table, "percent", percent, base.percent, place)
    return Threshold(share, member(table, counted, count, base.count, place))


def read_spec(table: Mapping[str, Any], scope: Scope) -> ReadSpec:
    """Return the ``[read]`` section."""
    scope.keys(table, READ_KEYS)
    form: Any = member(table, "format", one_of(*FORMATS), None, scope)
    records = member(table, "records", filled_text, None, scope)
    recover = member(table, "recover", flag, False, scope)
    if records is not None:
        _check_records(records, form, scope.at("records"))
    if recover and form not in (None, "xml"):
        scope.at("recover").fault("is for XML only")
    delimiter = member(table, "delimiter", _delimiter, None, scope)
    if delimiter is not None and form not in (None, "csv"):
        scope.at("delimiter").fault("is for CSV only")
    sheet = member(table, "sheet", filled_text, None, scope)
    if sheet is not None and form not in (None, "csv"):
        scope.at("sheet").fault("is for spreadsheets only, which are read like CSV")
    encoding = member(table, "encoding", _encoding, None, scope)
    return ReadSpec(form, records, encoding, delimiter, recover, sheet=sheet)


def _check_records(records: str, form: str | None, scope: Scope) -> None:
    if form in ("csv", "jsonl"):
        scope.fault(f"has no use in {form}: every {'row' if form == 'csv' else 'line'} is a record")
        return
    parsers: list[Callable[[str], object]] = [element_path] if form != "json" else []
    parsers += [member_path] if form != "xml" else []
    faults: list[str] = []
    for parse in parsers:
        try:
            parse(records)
        except ValueError as error:
            faults.append(str(error))
        else:
            return
    scope.fault(f"is {', and '.join(faults)}")


def _delimiter(value: object) -> str:
    mark = _DELIMITERS.get(value, value) if isinstance(value, str) else None
    if not isinstance(mark, str) or len(mark) != 1 or mark in '"\r\n':
        raise ValueFault(f'must be one character such as ";" or "tab", not {shown(value)}')
    return mark


def _encoding(value: object) -> str:
    try:
        usable = codecs.lookup(filled_text(value))._is_text_encoding
    except LookupError:
        usable = False
    if not usable:
        raise ValueFault(f"there is no encoding {shown(value)}")
    return str(value)
