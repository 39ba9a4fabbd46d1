"""Fields: one compiler for each kind of job field, from the right-hand side of ``[fields]`` to a function of the record.

A field function takes a node and a Log and returns what a client would send for the field, None for no value, or DROPPED when
it logged a problem instead. It never judges what the rules judge: odd values are passed on for them to refuse.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from syncd.domain.catalog import Catalog
from syncd.domain.text import key as name_key
from syncd.errors import Problem
from syncd.feeds.catalogue_values import Finder, catalogue_id, finders
from syncd.feeds.faults import Scope
from syncd.feeds.sources import NOTHING, SOURCE_KEYS, Build, Source, compile_source, compile_table, selector
from syncd.feeds.transforms.dates import compile_dates
from syncd.feeds.transforms.html import clean, paragraphs
from syncd.feeds.transforms.places import is_canada, tidy
from syncd.feeds.transforms.text import boolean, one_line, spelled, without_controls

TITLE_LIMIT = 256
MOST = 3
_HOST = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,24}(?::\d+)?(?:[/?#]\S*)?\Z", re.IGNORECASE)
_SCIENTIFIC = re.compile(r"\d(?:[.,]\d+)?E\+\d+\Z", re.IGNORECASE)


@dataclass(slots=True)
class Log:
    """What was noticed about one row."""

    warnings: list[tuple[str, str]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def warn(self, code: str, detail: str) -> None:
        self.warnings.append((code, detail))


class _Dropped:
    """The field is not sent: the row has a problem instead."""


DROPPED = _Dropped()
Field = Callable[[Any, Log], object]
Compile = Callable[[Mapping[str, Any], Source, "Context", Scope], Field]


@dataclass(frozen=True, slots=True)
class Context:
    """What the kinds compile with: the source's Build, and the catalogue for values by name."""

    build: Build
    catalog: Catalog

    def outside(self) -> bool:
        return self.build.outside


@dataclass(frozen=True, slots=True)
class Kind:
    """``options``: the keys that a field of this kind takes beside those of a source; ``compile`` reads them. ``sourced`` False:
    the kind reads its table itself. ``field_default``: the kind applies ``default`` itself. ``bare``: its options alone, without any source, are enough."""

    compile: Compile
    options: tuple[str, ...] = ()
    sourced: bool = True
    field_default: bool = False
    bare: bool = False
    prepare: Callable[[Context], Context] = lambda context: context


def compile_field(kind: Kind, expression: object, context: Context, scope: Scope) -> Field:
    """One right-hand side. A list whose tables use the field's own options is a list of alternatives of the whole field."""
    if isinstance(expression, list) and any(isinstance(e, dict) and _own(kind, e) for e in expression):
        return _first_of([compile_field(kind, e, context, scope.at(i)) for i, e in enumerate(expression, 1)])
    context = kind.prepare(context)
    if not isinstance(expression, dict):
        return kind.compile({}, compile_source(expression, context.build, scope), context, scope)
    alone = not kind.sourced and _own(kind, expression)
    scope.keys(expression, kind.options if alone else (*SOURCE_KEYS, *kind.options))
    own_keys = (*kind.options, "default") if kind.field_default else kind.options
    plain = {key: value for key, value in expression.items() if key not in own_keys}
    bare = kind.bare and _own(kind, expression) and not plain
    source = NOTHING if alone or bare else compile_table(plain, context.build, scope)
    return kind.compile(expression, source, context, scope)


def _own(kind: Kind, table: Mapping[str, Any]) -> bool:
    return any(option in table for option in kind.options)


def _first_of(fields: list[Field]) -> Field:
    def value(node: Any, log: Log) -> object:
        for one in fields:
            found = one(node, log)
            if found is not None:
                return found
        return None

    return value


def choice(table: Mapping[str, Any], key: str, known: tuple[str, ...], scope: Scope) -> str:
    """The value of an option that is one of a few words; the first is the default."""
    value = table.get(key, known[0])
    if value not in known:
        scope.at(key).fault(f"must be {' or '.join(known)}, not {value!r}")
        return known[0]
    return str(value)


# --- text


def _reference(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    if "derive" in table:
        return _derived(table["derive"], context, scope.at("derive"))

    def reference(node: Any, log: Log) -> object:
        value = source.first(node)
        if value is None:
            return None
        text = spelled(value)
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

    def derived(node: Any, log: Log) -> object:
        values = [part(node) for part in parts]
        if all(value is None for value in values):
            return None
        text = "\x1f".join("" if value is None else spelled(value) for value in values)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]

    return derived


def _title(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    cut = choice(table, "too_long", ("reject", "truncate"), scope) == "truncate"

    def title(node: Any, log: Log) -> object:
        value = source.first(node)
        if value is None:
            return None
        text = _clean_line(value, "title", log)
        if cut and len(text) > TITLE_LIMIT:
            log.warn("title_cut", f"the title has {len(text)} characters; {TITLE_LIMIT} were kept")
            text = text[: TITLE_LIMIT - 1].rstrip() + "…"
        return text or None

    return title


def _clean_line(value: object, name: str, log: Log) -> str:
    text = spelled(value)
    if text.isprintable():
        return text
    line = one_line(text)
    kept = without_controls(line)
    if kept != line:
        log.warn("control_characters", f"control characters were removed from {name}")
    return kept


def _email(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    def email(node: Any, log: Log) -> object:
        value = source.first(node)
        return None if value is None else re.sub(r"\Amailto:", "", spelled(value), flags=re.IGNORECASE)

    return email


def _url(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    """An address; what looks like a host without its scheme gets one, and ``&amp;`` is what it was meant to be."""

    def url(node: Any, log: Log) -> object:
        value = source.first(node)
        if value is None:
            return None
        text = spelled(value).replace("&amp;", "&")
        if _HOST.match(text):
            log.warn("url_scheme_added", f"https:// was put before {text[:100]}")
            return f"https://{text}"
        return text

    return url


_STATUS = {
    **dict.fromkeys(("active", "published", "publish", "open", "live", "true", "t", "yes", "1", "ouvert", "actif"), "active"),
    **dict.fromkeys(("draft", "pending", "unpublished", "brouillon"), "draft"),
    **dict.fromkeys(
        ("archived", "closed", "expired", "filled", "inactive", "cancelled", "canceled", "deleted", "removed", "false", "f")
        + ("no", "0", "ferme", "archive"),
        "archived",
    ),
}


def _status(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    def status(node: Any, log: Log) -> object:
        value = source.first(node)
        return None if value is None else _STATUS.get(name_key(spelled(value)), value)

    return status


def _boolean(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    def flag(node: Any, log: Log) -> object:
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

    def close_date(node: Any, log: Log) -> object:
        value = source.first(node)
        return None if value is None else parse(value) or spelled(value)

    return close_date


def _is_format(form: str, scope: Scope) -> bool:
    try:
        compile_dates([form])
    except ValueError as error:
        scope.fault(f'"{form}" {error}')
        return False
    return True


# --- lists and catalogue values


def _locations(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    """``country`` tells what lies outside Canada; beside ``each`` it is relative to each of its nodes. Places abroad are left
    out; a job that has no other is a problem."""
    values = _with_country(table, source, context, scope)

    def locations(node: Any, log: Log) -> object:
        found, abroad = values(node)
        texts = dict.fromkeys(tidy(spelled(value)) for value in found)
        items = [{"description": text} for text in texts if text]
        if not abroad:
            return _first_three(items, "locations", log) or None
        detail = f"the location is outside Canada (country {abroad[:60]})"
        if items:
            log.warn("location_abroad", detail)
            return _first_three(items, "locations", log)
        log.problems.append(Problem("/locations/0/description", "unknown_value", detail, abroad))
        return DROPPED

    return locations


def _with_country(
    table: Mapping[str, Any], source: Source, context: Context, scope: Scope
) -> Callable[[Any], tuple[list[object], str | None]]:
    """A function from a node to the places in Canada and the first foreign country, if there is one."""
    if "country" not in table:
        return lambda node: (source.every(node), None)
    countries = compile_source(table["country"], context.build, scope.at("country")).every
    places, parts = source.every, lambda node: [node]
    if "each" in table:
        found = selector(table["each"], context.build, scope.at("each"))
        inner = {key: value for key, value in table.items() if key not in ("each", "country")}
        places = compile_table({"from": ".", **inner} if not set(inner) - {"default"} else inner, context.build, scope).every
        parts = found.nodes if found else parts

    def split(node: Any) -> tuple[list[object], str | None]:
        inside: list[object] = []
        abroad = None
        for part in parts(node):
            named = [spelled(value) for value in countries(part)]
            if not named or any(is_canada(name) for name in named):
                inside.extend(places(part))
            else:
                abroad = abroad or named[0]
        return inside, abroad

    return split


def _first_three(items: list[Any], name: str, log: Log) -> list[Any]:
    if len(items) > MOST:
        log.warn(f"too_many_{name}", f"{len(items)} {name}; the first {MOST} count")
    return items[:MOST]


def _catalogue(name: str, many: bool) -> Compile:
    """``categories`` (a list) or ``positionType`` (the first that is known)."""

    def compile_(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
        find = finders(context.catalog)[name]
        default = _defaults(table, find, scope.at("default")) if "default" in table else []
        if "value" in table:
            _defaults({"default": table["value"]}, find, scope.at("value"))
        _check_lookup(table, find, context, scope.at("lookup"))
        pick = _many if many else _one
        return lambda node, log: pick(source.every(node), default, find, log)

    return compile_


def _defaults(table: Mapping[str, Any], find: Finder, scope: Scope) -> list[int]:
    values = table["default"] if isinstance(table["default"], list) else [table["default"]]
    ids = [(value, catalogue_id(value, find)) for value in values]
    for value, id in ids:
        if id is None:
            scope.fault(f"{value!r} is no {find.what} of the catalogue{find.hint(value)}")
    return [id for _, id in ids if id is not None]


def _check_lookup(table: Mapping[str, Any], find: Finder, context: Context, scope: Scope) -> None:
    """A lookup that leads to what the catalogue does not have is a fault of the configuration, not of each row."""
    name = table.get("lookup")
    for values in context.build.lookups.get(name, {}).values() if isinstance(name, str) else ():
        for value in values:
            if catalogue_id(value, find) is None:
                scope.fault(f"[lookup.{name}] has {value!r}, which is no {find.what} of the catalogue{find.hint(value)}")


def _many(values: list[object], default: list[int], find: Finder, log: Log) -> object:
    ids = {id: {"id": id} for value in values if (id := catalogue_id(value, find)) is not None}
    unknown = [value for value in values if catalogue_id(value, find) is None]
    if unknown and not default:
        return _unknown(unknown[0], find, log)
    if unknown:
        log.warn(f"unknown_{find.what.replace(' ', '_')}", f"unknown {find.what}: {', '.join(map(spelled, unknown))[:200]}")
    chosen = list(ids.values()) or [{"id": id} for id in default]
    return _first_three(chosen, find.pointer.strip("/"), log) or None


def _one(values: list[object], default: list[int], find: Finder, log: Log) -> object:
    for value in values:
        id = catalogue_id(value, find)
        if id is not None:
            return {"id": id}
    if values and not default:
        return _unknown(values[0], find, log)
    if values:
        log.warn(f"unknown_{find.what.replace(' ', '_')}", f"unknown {find.what}: {spelled(values[0])[:200]}")
    return {"id": default[0]} if default else None


def _unknown(value: object, find: Finder, log: Log) -> object:
    detail = f"{spelled(value)[:100]!r} is no {find.what} of the catalogue{find.hint(value)}"
    log.problems.append(Problem(find.pointer, "unknown_value", detail, value))
    return DROPPED


def _routing(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    """``prefer`` is worked out by the mapping, when it knows both addresses."""
    if "prefer" in table:
        return lambda node, log: None
    return _catalogue("applicantRoutingType", False)(table, source, context, scope)


# --- description


def _description(table: Mapping[str, Any], source: Source, context: Context, scope: Scope) -> Field:
    """The values of all its sources, one after the other; each cleaned by itself."""
    if choice(table, "html", ("reject", "clean"), scope) == "reject":
        return lambda node, log: "\n".join(map(spelled, source.every(node))) or None

    def description(node: Any, log: Log) -> object:
        values = source.every(node)
        if len(values) == 1:
            return _cleaned(spelled(values[0]), log) or None
        parts = [_cleaned(spelled(value), log) for value in values]
        return "\n".join(part if "<" in part else paragraphs(part) for part in parts if part) or None

    return description


def _cleaned(text: str, log: Log) -> str:
    result, done = clean(text)
    if done:
        log.warn("html_cleaned", "; ".join(done))
    return result


def _markup(context: Context) -> Context:
    return replace(context, build=replace(context.build, markup=True))


def _whole_names(context: Context) -> Context:
    """ "Construction/Skilled Trade" is one category if the catalogue or a lookup has it, whatever the separator."""
    find = finders(context.catalog)["categories"].by_name
    tables = tuple(context.build.lookups.values())

    def whole(text: str) -> bool:
        return find(text) is not None or any(name_key(text) in table for table in tables)

    return replace(context, build=replace(context.build, whole=whole))


TEXT_KINDS: dict[str, Kind] = {
    "referenceId": Kind(_reference, ("derive",), sourced=False),
    "title": Kind(_title, ("too_long",)),
    "closeDate": Kind(_date, ("date",)),
    "confidential": Kind(_boolean),
    "autoRefresh": Kind(_boolean),
    "status": Kind(_status),
    "locations": Kind(_locations, ("country",)),
    "categories": Kind(_catalogue("categories", True), field_default=True, prepare=_whole_names),
    "positionType": Kind(_catalogue("positionType", False), field_default=True),
    "description": Kind(_description, ("html",), prepare=_markup),
    "applicantRoutingType": Kind(_routing, ("prefer",), sourced=False, field_default=True),
    "applicationEmail": Kind(_email),
    "applicationUrl": Kind(_url),
}
