"""The fields whose value is one text, HTML text, number, flag or date."""

import hashlib
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from syncd.errors import Problem, shortened
from syncd.feeds.faults import RowLog
from syncd.feeds.mapping.field_compilers import DROPPED, FieldCompiler, FieldExpression, FieldFunction
from syncd.feeds.mapping.sources import compile_source
from syncd.feeds.mapping.transforms import (
    clean,
    compile_dates,
    is_null_date,
    paragraphs,
    readings,
    says_no_date,
    unescaped,
    without_tags,
)
from syncd.feeds.text import HOST, integer, is_formula_error, spelled, ticked, without_controls

_SCIENTIFIC = re.compile(r"\d(?:[.,]\d+)?E\+\d+\Z", re.IGNORECASE)
_MAILTO = re.compile(r"\Amailto:", re.IGNORECASE)
_BARE_EMAIL = re.compile(r"[^\s@/:?<>]{1,100}@(?:[a-z0-9-]+\.)+[a-z]{2,24}", re.IGNORECASE)
_NAMED_ADDRESS = re.compile(r"[^<>@]{0,200}<\s?([^<>\s@]{1,200}@[^<>\s@]{1,300})\s?>")


def _one_value(right: FieldExpression, convert: Callable[[object, RowLog], object]) -> FieldFunction:
    """Return the function of a field whose value is that of ``convert``; None without a value."""
    source = right.source()

    def field(node: Any, log: RowLog) -> object:
        values = source(node)
        return convert(values[0], log) if values else None

    return field


def _reference(right: FieldExpression) -> FieldFunction:
    if "derive" in right.options:
        return _derived(right)
    name, most = right.field.name, right.field.most
    hashed = right.choice("too_long", "reject", "hash") == "hash"

    def reference(value: object, log: RowLog) -> object:
        text = spelled(value)
        if is_formula_error(text):
            return _formula_error(name, text, log)
        if hashed and len(text) > most:
            log.note("reference_hashed", f"the id has {len(text)} characters; it is replaced by its SHA-256")
            return _digest(text)
        if not _SCIENTIFIC.match(text):
            return text
        detail = f"{text} is a number in scientific notation: a spreadsheet has lost its digits"
        log.problems.append(Problem(f"/{name}", "wrong_type", detail, text))
        return DROPPED

    return _one_value(right, reference)


def _formula_error(name: str, text: str, log: RowLog) -> object:
    detail = f"{text} is what a spreadsheet shows where a formula has failed: the value is lost"
    log.problems.append(Problem(f"/{name}", "wrong_type", detail, text))
    return DROPPED


def _derived(right: FieldExpression) -> FieldFunction:
    """Return the function of a stable id made of fields that do not change: 40 hex digits of SHA-256; None if all are empty."""
    selectors, scope = right.options["derive"], right.scope.at("derive")
    right.scope.keys(right.options, ("derive",))
    if not isinstance(selectors, list) or not selectors:
        scope.fault('must be a list of selectors such as ["url"]')
        return lambda node, log: None
    parts = [compile_source(e, right.context, scope.at(i)) for i, e in enumerate(selectors, 1)]

    def derived(node: Any, log: RowLog) -> object:
        values = [spelled(found[0]) if (found := part(node)) else "" for part in parts]
        if not any(values):
            return None
        log.note("derived_reference", "the referenceId is derived from other fields of the record")
        return _digest("\x1f".join(values))

    return derived


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _text(right: FieldExpression) -> FieldFunction:
    """Return the function of one line without control characters; ``too_long = "truncate"`` cuts it to the field's length."""
    name, most = right.field.name, right.field.most
    cut = right.choice("too_long", "reject", "truncate") == "truncate"

    def text(value: object, log: RowLog) -> object:
        line = _clean_line(value, name, log)
        if is_formula_error(line):
            return _formula_error(name, line, log)
        if cut and len(line) > most:
            log.note(f"{name}_cut", f"the {name} has {len(line)} characters; {most} were kept")
            line = line[: most - 1].rstrip() + "…"
        return line if any(map(str.isalnum, line)) else None  # "-" and "…" stand for nothing

    return _one_value(right, text)


def _clean_line(value: object, name: str, log: RowLog) -> str:
    text = plain = spelled(value)
    if "&" in text:
        for _ in range(2):  # some characters are escaped twice
            plain = unescaped(plain)
        if plain != text:
            log.note("references_replaced", f"references to characters were replaced in {name}")
    if ("<" in plain or plain.endswith("]]>")) and (bare := without_tags(plain)) != " ".join(plain.split()):
        log.note("damaged_text", f"{name}: tags were taken out of {shortened(plain, 100)}")
        plain = bare
    if plain.isprintable():
        return plain
    line = " ".join(plain.split())  # a title in a wrapped XML element is one line
    kept = without_controls(line)
    if kept != line:
        log.note("control_characters", f"control characters were removed from {name}")
    return kept


def _url(value: object, log: RowLog) -> object:
    """Return an address. A host without a scheme gets one, ``&amp;`` becomes ``&``, and an e-mail address a link to it."""
    text = spelled(value).replace("&amp;", "&")
    if text.startswith(("https://", "http://")):
        return text
    if not HOST.match(text):
        return f"mailto:{text}" if _BARE_EMAIL.fullmatch(text) else text
    log.note("url_scheme_added", f"https:// was put before {text[:100]}")
    return f"https://{text}"


def _email(value: object, log: RowLog) -> object:
    """Return the address of "mailto:jobs@a.ca?subject=7" and "HR <jobs@a.ca>"."""
    text = spelled(value)
    if _MAILTO.match(text):
        text = unquote(_MAILTO.sub("", text).partition("?")[0]).strip()
    named = _NAMED_ADDRESS.fullmatch(text)
    return named[1] if named else text


def _plain(
    right: FieldExpression, convert: Callable[[object], object], kind: type, words: str
) -> FieldFunction:
    right.check_constants(lambda value: isinstance(convert(value), kind), words)
    return _one_value(right, lambda value, log: convert(value))


def _html(right: FieldExpression) -> FieldFunction:
    """Return the function of the values of all sources, one after the other; each is cleaned by itself."""
    source, name = right.source(markup=True), right.field.name
    cleans = right.choice("html", "reject", "clean") == "clean"

    def html(node: Any, log: RowLog) -> object:
        values = [spelled(value) for value in source(node)]
        if any(map(is_formula_error, values)):
            return _formula_error(name, next(filter(is_formula_error, values)), log)
        if not cleans:
            return "\n".join(values) or None
        if len(values) == 1:
            return _cleaned(values[0], log) or None
        parts = [_cleaned(value, log) for value in values]
        return "\n".join(part if "<" in part else paragraphs(part) for part in parts if part) or None

    return html


def _cleaned(text: str, log: RowLog) -> str:
    result, done = clean(text)
    if done:
        log.note("html_cleaned", "; ".join(done))
    return result


def _date(right: FieldExpression) -> FieldFunction:
    name = right.field.name
    formats = _date_formats(right)
    parse = compile_dates(formats, right.context.zone)

    def date(value: object, log: RowLog) -> object:
        day = parse(value)
        if day is not None and not is_null_date(day):
            return day
        shown = spelled(value)[:60]
        if day is not None or says_no_date(value):
            log.note("no_date", f"{name} says that there is no date: {shown}")
            return None
        if formats == ["iso"]:
            return spelled(value)
        if two := readings(value):
            detail = f"{shown!r} may be {two[0]} or {two[1]}; write the one that is meant"
        else:
            detail = f"{shown!r} is not a date in any format of this feed: {', '.join(formats)}"
        log.problems.append(Problem(f"/{name}", "invalid_date", detail, value))
        return DROPPED

    return _one_value(right, date)


def _date_formats(right: FieldExpression) -> list[str]:
    """Return the formats of the option ``date``, without the faulty ones."""
    formats, scope = right.options.get("date", ["iso"]), right.scope.at("date")
    formats = [formats] if isinstance(formats, str) else formats
    if not isinstance(formats, list) or not formats or not all(isinstance(f, str) for f in formats):
        scope.fault('must be a list of formats such as ["%d/%m/%Y", "rfc822"]')
        formats = ["iso"]
    good = []
    for i, form in enumerate(formats, 1):
        try:
            compile_dates([form])
        except ValueError as error:
            scope.at(i).fault(f'"{form}" {error}')
        else:
            good.append(form)
    if good == formats:
        parse = compile_dates(good)
        right.check_constants(lambda value: parse(value) is not None, f"a date ({', '.join(formats)})")
    return good


REFERENCE = FieldCompiler(_reference, ("derive", "too_long"))
TEXT = FieldCompiler(_text, ("too_long",))
EMAIL = FieldCompiler(lambda right: _one_value(right, _email))
URL = FieldCompiler(lambda right: _one_value(right, _url))
HTML = FieldCompiler(_html, ("html",))
NUMBER = FieldCompiler(
    lambda right: _plain(right, lambda value: integer(spelled(value)), int, "a whole number")
)
FLAG = FieldCompiler(lambda right: _plain(right, ticked, bool, "true or false"))
DATE = FieldCompiler(_date, ("date",))
