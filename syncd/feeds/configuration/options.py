"""The keys of a feed file that are not mapping: what each may hold, and what is made of it."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

from syncd.domain.policy import Policy, Threshold
from syncd.feeds.faults import Scope
from syncd.feeds.readers import ReadSpec, element_path, member_path

T = TypeVar("T")

POLICY_KEYS = (
    *("mode", "max_archive", "max_rejected", "max_rekeyed", "max_retitled", "max_shrunk"),
    *("grace", "expired", "on_api_edit", "owns", "take_over", "renew"),
)
READ_KEYS = ("format", "records", "encoding", "delimiter", "recover", "sheet")
FORMATS = ("csv", "xml", "json", "jsonl")
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DELIMITERS = {"tab": "\t", "\\t": "\t"}


def member(
    table: Mapping[str, Any], key: str, parse: Callable[[object], T], default: T | None, scope: Scope
) -> T | None:
    """``table[key]`` parsed, ``default`` where it is absent or (with a fault) wrong."""
    if key not in table:
        return default
    try:
        return parse(table[key])
    except ValueError as error:
        scope.at(key).fault(str(error))
        return default


def duration(value: object) -> timedelta:
    """``"2s"``, ``"30m"``, ``"12h"``, ``"7d"``; at most 100 years."""
    if isinstance(value, str) and value.strip() == "0":
        return timedelta(0)
    found = (
        re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)\s*(ms|[smhdw])", value.strip())
        if isinstance(value, str)
        else None
    )
    if found is None:
        raise ValueError(f"must be a duration such as 2s, 10m, 12h or 7d, not {value!r}")
    seconds = float(found[1]) * _UNITS[found[2]]
    if seconds > 100 * 366 * 86400:
        raise ValueError("must be at most 36600d")
    return timedelta(seconds=seconds)


def text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be text, not {value!r}")
    return value


def flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {value!r}")
    return value


def one_of(*choices: str) -> Callable[[object], Any]:
    def parse(value: object) -> Any:
        if value not in choices:
            raise ValueError(f"must be {' or '.join(choices)}, not {value!r}")
        return value

    return parse


def _grace(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 100:
        raise ValueError(f"must be a whole number from 1 to 100, not {value!r}")
    return value


def _percent(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise ValueError(f"must be a percentage from 0 to 100, not {value!r}")
    return float(value)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 10_000_000:
        raise ValueError(f"must be a whole number from 0, not {value!r}")
    return value


_PLAIN: dict[str, Callable[[object], Any]] = {
    "mode": one_of("snapshot", "delta"),
    "grace": _grace,
    "expired": one_of("archive", "ignore"),
    "on_api_edit": one_of("overwrite", "keep"),
    "owns": one_of("feed", "employer"),
    "take_over": flag,
    "renew": flag,
}
#: Threshold → the name of its count; the last three are mostly written as a percentage alone.
_THRESHOLDS = {
    "max_archive": "jobs",
    "max_rejected": "rows",
    "max_rekeyed": "jobs",
    "max_retitled": "rows",
    "max_shrunk": "rows",
}


def policy_of(values: Mapping[str, Any], base: Policy, scope: Scope) -> Policy:
    """``base`` with what the feed's file says instead."""
    changes: dict[str, Any] = {
        key: member(values, key, parse, getattr(base, key), scope)
        for key, parse in _PLAIN.items()
        if key in values
    }
    for key, count in _THRESHOLDS.items():
        if key in values:
            changes[key] = _threshold(values[key], getattr(base, key), count, scope.at(key))
    return replace(base, **changes)


def _threshold(value: object, base: Threshold, count: str, scope: Scope) -> Threshold:
    """``{ percent = 25, jobs = 5 }``, either part alone, or a percentage."""
    if not isinstance(value, dict):
        try:
            return replace(base, percent=_percent(value))
        except ValueError as error:
            scope.fault(str(error))
            return base
    scope.keys(value, ("percent", count))
    percent = member(value, "percent", _percent, base.percent, scope)
    return Threshold(
        base.percent if percent is None else percent, member(value, count, _count, base.count, scope) or 0
    )


def read_spec(table: Mapping[str, Any], scope: Scope) -> ReadSpec:
    """The ``[read]`` section."""
    scope.keys(table, READ_KEYS)
    form = member(table, "format", one_of(*FORMATS), None, scope)
    records = member(table, "records", text, None, scope)
    recover = member(table, "recover", flag, False, scope) or False
    if records is not None:
        _check_records(records, form, scope.at("records"))
    if recover and form not in (None, "xml"):
        scope.at("recover").fault("is for XML only")
    delimiter = member(table, "delimiter", _delimiter, None, scope)
    if delimiter is not None and form not in (None, "csv"):
        scope.at("delimiter").fault("is for CSV only")
    sheet = member(table, "sheet", text, None, scope)
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
            return
        except ValueError as error:
            faults.append(str(error))
    scope.fault(f"is {', and '.join(faults)}")


def _delimiter(value: object) -> str:
    mark = _DELIMITERS.get(value, value) if isinstance(value, str) else None
    if not isinstance(mark, str) or len(mark) != 1 or mark in '"\r\n':
        raise ValueError(f'must be one character such as ";" or "tab", not {value!r}')
    return mark


def _encoding(value: object) -> str:
    try:
        found = codecs.lookup(text(value))
        if not found._is_text_encoding:
            raise LookupError
    except LookupError:
        raise ValueError(f"there is no encoding {value!r}") from None
    return str(value)
