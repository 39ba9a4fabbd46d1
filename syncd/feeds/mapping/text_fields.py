"""The fields whose value is one text, number, boolean or date, and the description."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from syncd.domain import FIELD, name_key
from syncd.errors import Problem
from syncd.feeds.faults import Scope
from syncd.feeds.mapping.field_compilers import DROPPED, Context, Field, Kind, choice
from syncd.feeds.mapping.sources import Source, compile_source, constants
from syncd.feeds.mapping.transforms import clean, compile_dates, paragraphs
from syncd.feeds.row_log import RowLog
from syncd.feeds.text import HOST, boolean, one_line, spelled, without_controls

_TITLE_LIMIT = FIELD["title"].most
_REFERENCE_LIMIT = FIELD["referenceId"].most
_SCIENTIFIC = re.compile(r"\d(?:[.,]\d+)?E\+\d+\Z", re.IGNORECASE)


def _reference(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    if "derive" in table:
        return _derived(table["derive"], context, scope.at("derive"))
    hashed = choice(table, "too_long", ("reject", "hash"), scope) == "hash"

    def reference(node: Any, log: RowLog) -> object:
        value = source.first(node)
        if value is None:
            return None
        text = spelled(value)
        if hashed and len(text) > _REFERENCE_LIMIT:
            log.note("reference_hashed", f"the id has {len(text)} characters; its SHA-256 stands for it")
            return _digest(text)
        if not _SCIENTIFIC.match(text):
            return text
        detail = f"{text} is a number in scientific notation: a spreadsheet has lost its digits"
        log.problems.append(Problem("/referenceId", "wrong_type", detail, text))
        return DROPPED

    return reference


def _derived(selectors: object, context: Context, scope: Scope) -> Field:
    """A stable id out of fields that do not change: SHA-256, 40 hex digits. None of them there: none."""
    if not isinstance(selectors, list) or not selectors:
        scope.fault('must be a list of selectors such as ["url"]')
        return lambda node, log: None
    parts = [compile_source(e, context.build, scope.at(i)).first for i, e in enumerate(selectors, 1)]

    def derived(node: Any, log: RowLog) -> object:
        values = [part(node) for part in parts]
        if all(value is None for value in values):
            return None
        log.note("derived_reference", "the referenceId is derived from other fields of the record")
        text = "\x1f".join("" if value is None else spelled(value) for value in values)
        return _digest(text)

    return derived


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _title(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    cut = choice(table, "too_long", ("reject", "truncate"), scope) == "truncate"

    def title(node: Any, log: RowLog) -> object:
        value = source.first(node)
        if value is None:
            return None
        text = _clean_line(value, "title", log)
        if cut and len(text) > _TITLE_LIMIT:
            log.note("title_cut", f"the title has {len(text)} characters; {_TITLE_LIMIT} were kept")
            text = text[: _TITLE_LIMIT - 1].rstrip() + "…"
        return text or None

    return title


def _clean_line(value: object, name: str, log: RowLog) -> str:
    text = spelled(value)
    if text.isprintable():
        return text
    line = one_line(text)
    kept = without_controls(line)
    if kept != line:
        log.note("control_characters", f"control characters were removed from {name}")
    return kept


def _email(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    def email(node: Any, log: RowLog) -> object:
        value = source.first(node)
        return None if value is None else re.sub(r"\Amailto:", "", spelled(value), flags=re.IGNORECASE)

    return email


def _url(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    """An address; what looks like a host without its scheme gets one, and ``&amp;`` is what it was meant to
    be."""

    def url(node: Any, log: RowLog) -> object:
        value = source.first(node)
        if value is None:
            return None
        text = spelled(value).replace("&amp;", "&")
        if HOST.match(text):
            log.note("url_scheme_added", f"https:// was put before {text[:100]}")
            return f"https://{text}"
        return text

    return url


def _judge(table: Mapping[str, Any], scope: Scope, fits: Callable[[object], bool], what: str) -> None:
    """A fault for each constant of the feed's file that no row could be sent with. A lookup may turn any ``value`` into one
    that fits."""
    for key in ("default",) if "lookup" in table else ("value", "default"):
        at = scope.at(key)
        for value in constants(table.get(key, []), Scope(at.file)):
            if not fits(value):
                at.fault(f"must be {what}, not {value!r}")


_STATUS_WORDS = {
    "active": "active published publish open live true t yes 1 ouvert ouverte actif active publie",
    "draft": "draft pending unpublished brouillon",
    "archived": "archived archive closed expired filled inactive cancelled canceled deleted removed false f no 0"
    " ferme fermee expire expiree pourvu pourvue comble comblee inactif annule annulee archivee",
}
#: What feeds call a status → the status.
STATUSES = {word: status for status, words in _STATUS_WORDS.items() for word in words.split()}


def _status(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    _judge(
        table, scope, lambda value: name_key(spelled(value)[:100]) in STATUSES, "active, archived or draft"
    )

    def status(node: Any, log: RowLog) -> object:
        value = source.first(node)
        return None if value is None else STATUSES.get(name_key(spelled(value)[:100]), value)

    return status


def _boolean(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    _judge(table, scope, lambda value: isinstance(boolean(value), bool), "true or false")

    def flag(node: Any, log: RowLog) -> object:
        value = source.first(node)
        return None if value is None else boolean(value)

    return flag


def _date(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    formats = table.get("date", ["iso"])
    formats = [formats] if isinstance(formats, str) else formats
    if not isinstance(formats, list) or not formats or not all(isinstance(f, str) for f in formats):
        scope.at("date").fault('must be a list of formats such as ["%d/%m/%Y", "rfc822"]')
        formats = ["iso"]
    faults = [(i, f) for i, f in enumerate(formats, 1) if not _is_format(f, scope.at("date").at(i))]
    parse = compile_dates([f for i, f in enumerate(formats, 1) if (i, f) not in faults])
    if not faults:
        _judge(table, scope, lambda value: parse(value) is not None, f"a date ({', '.join(formats)})")

    def close_date(node: Any, log: RowLog) -> object:
        value = source.first(node)
        found = None if value is None else parse(value)
        if value is None or found is not None or formats == ["iso"]:
            return found or (None if value is None else spelled(value))
        detail = f"{spelled(value)[:60]!r} is no date in any of the ways that this feed reads: {', '.join(formats)}"
        log.problems.append(Problem("/closeDate", "invalid_date", detail, value))
        return DROPPED

    return close_date


def _is_format(form: str, scope: Scope) -> bool:
    try:
        compile_dates([form])
    except ValueError as error:
        scope.fault(f'"{form}" {error}')
        return False
    return True


def _description(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    """The values of all its sources, one after the other; each cleaned by itself."""
    if choice(table, "html", ("reject", "clean"), scope) == "reject":
        return lambda node, log: "\n".join(map(spelled, source.every(node))) or None

    def description(node: Any, log: RowLog) -> object:
        values = source.every(node)
        if len(values) == 1:
            return _cleaned(spelled(values[0]), log) or None
        parts = [_cleaned(spelled(value), log) for value in values]
        return "\n".join(part if "<" in part else paragraphs(part) for part in parts if part) or None

    return description


def _cleaned(text: str, log: RowLog) -> str:
    result, done = clean(text)
    if done:
        log.note("html_cleaned", "; ".join(done))
    return result


def _markup(context: Context) -> Context:
    return replace(context, build=replace(context.build, markup=True))


TEXT_KINDS: dict[str, Kind] = {
    "referenceId": Kind(_reference, ("derive", "too_long"), alone=("derive",)),
    "title": Kind(_title, ("too_long",)),
    "closeDate": Kind(_date, ("date",)),
    "confidential": Kind(_boolean),
    "autoRefresh": Kind(_boolean),
    "status": Kind(_status),
    "description": Kind(_description, ("html",), prepare=_markup),
    "applicationEmail": Kind(_email),
    "applicationUrl": Kind(_url),
}
