"""Presets: mappings for the feeds that employers already have, one TOML file each, in the language of ``[fields]``.

A preset is data: ``about`` (one line), ``[detect]``, ``[read]``, ``[fields]`` and ``[lookup.NAME]``. With ``extends = "NAME"`` it
starts from another one, a shipped preset or a family (``families/NAME.toml``), and has the differences: a field replaces the
field of that name, ``false`` removes it, lookups are joined entry by entry. A feed's own file overrides a preset in the same way.

``[detect]`` recognises such a feed. Names are compared without case, blanks, dashes, underscores and namespace prefixes:

    records = ["/source/job"]        where its records are; "*" is any one name; without the key: anywhere
    needs   = ["title", "url|link"]  each must occur in some record ("|": either), or the score is 0
    marks   = ["jobtype", "city"]    such a feed mostly has these: the more of them, the likelier
    lacks   = ["partnerJobId"]       such a feed never has one of these, or the score is 0

``[board]`` is the public address of an employer's list: ``url`` with ``{board}`` for the name that the employer has there, and
``pages`` if the list comes in pages: the attributes of ``syncd.feeds.source.Pages``."""

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache, reduce
from importlib.resources import files
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from syncd.domain import ATTRIBUTES
from syncd.feeds import toml_text
from syncd.feeds.native import COLUMNS
from syncd.feeds.readers import EACH, Format

#: The keys at the top of a feed's file that belong to its mapping.
_TOP = ("employer", "preset", "places")
_IGNORED = re.compile(r"[\s_\-]+|\b[^\W\d][\w.]*:(?=\w)")
_Layers = list[tuple[str, Mapping[str, Any]]]


@cache
def preset_names() -> tuple[str, ...]:
    names = (entry.name for entry in files("syncd.feeds.mapping.presets").iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def load_preset(name: str) -> dict[str, Any]:
    """Return the tables of a shipped preset, joined with those that it extends; a new value each time."""
    return reduce(overridden, (tables for _, tables in preset_layers(name)))


def preset_layers(name: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the layers of a preset, the innermost first: (``preset NAME`` or ``family NAME``, its own tables)."""
    home = files("syncd.feeds.mapping.presets")
    path = home / f"{name}.toml" if name in preset_names() else home / "families" / f"{name}.toml"
    own = tomllib.loads(path.read_text(encoding="utf-8"))
    parent = own.pop("extends", None)
    kind = "preset" if name in preset_names() else "family"
    return [*(preset_layers(parent) if parent else ()), (f"{kind} {name}", own)]


@cache
def boards() -> dict[str, dict[str, Any]]:
    """Return the tables ``[board]``, by the name of the preset."""
    presets = {name: load_preset(name) for name in preset_names()}
    return {name: preset["board"] for name, preset in presets.items() if "board" in preset}


def board_of(url: str) -> tuple[str, str] | None:
    """Return the preset and the name of a board whose list is at an address; None for another address. Parameters of the query
    that ask for a part of the list are those of another address."""
    asked = urlsplit(url)
    for preset, board in boards().items():
        own = urlsplit(board["url"])
        pattern = re.escape(f"{own.scheme}://{own.netloc}{own.path}".rstrip("/")).replace(
            r"\{board\}", "([^/]+)"
        )
        found = re.fullmatch(pattern, f"{asked.scheme}://{asked.netloc}{asked.path}".rstrip("/"))
        usual = {*parse_qs(own.query), board.get("pages", {}).get("parameter")}
        if found and usual.issuperset(parse_qs(asked.query)):
            return preset, unquote(found[1])
    return None


def overridden(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Return ``base`` overridden by ``own``: fields and reading by key, lookups by entry, the rest whole."""
    merged = {**base, **own}
    for table in ("read", "fields"):
        merged[table] = {**base.get(table, {}), **own.get(table, {})}
    merged["fields"] = {
        key: value
        for key, value in merged["fields"].items()
        if value is not False or key not in base.get("fields", {})
    }
    lookups = {**base.get("lookup", {}), **own.get("lookup", {})}
    for name in base.get("lookup", {}).keys() & own.get("lookup", {}).keys():
        if isinstance(lookups[name], dict):
            lookups[name] = {**base["lookup"][name], **lookups[name]}
    merged["lookup"] = lookups
    return merged


class MappingLine(NamedTuple):
    """``key = value`` of a table ("" is the top of the file), and where it comes from."""

    table: str
    key: str
    value: object
    origin: str


def mapping_in_force(name: str, values: Mapping[str, Any]) -> list[MappingLine]:
    own = f"{name}.toml"
    layers: _Layers = [*(preset_layers(values["preset"]) if "preset" in values else ()), (own, values)]
    merged = reduce(overridden, (dict(tables) for _, tables in layers))
    lines = [MappingLine("", key, values[key], own) for key in _TOP if key in values]
    for table in ("read", "fields"):
        lines += _lines(layers, (table,), merged.get(table, {}))
    for lookup, entries in merged.get("lookup", {}).items():
        lines += _lines(layers, ("lookup", lookup), entries)
    return lines + [MappingLine("rows", key, rule, own) for key, rule in values.get("rows", {}).items()]


def mapping_toml(lines: Iterable[MappingLine]) -> Iterator[str]:
    """Yield the lines as TOML, each with its origin as a comment."""
    table = ""
    for line in lines:
        if line.table != table:
            table = line.table
            yield f"\n[{'.'.join(map(toml_text.key, table.split('.', 1)))}]"
        yield f"{toml_text.key(line.key)} = {toml_text.value(line.value)}  # {line.origin}"


def _lines(layers: _Layers, path: tuple[str, ...], entries: Mapping[str, Any]) -> Iterator[MappingLine]:
    for key, value in entries.items():
        origin = next(origin for origin, tables in reversed(layers) if key in _table(tables, path))
        yield MappingLine(".".join(path), key, value, origin)


def _table(tables: Mapping[str, Any], path: tuple[str, ...]) -> Mapping[str, Any]:
    return reduce(lambda table, name: table.get(name, {}), path, tables)


def find_preset(form: Format, path: str, names: Collection[str]) -> list[tuple[str, float]]:
    """Return the presets that fit with their scores (above 0, at most 1), the likeliest first.

    ``path`` is where the records are: ``/source/job`` in XML; ``jobs`` or ``data.jobs`` in JSON (``jobs.*``: each member is
    one), and "" for a root array, a lone object and JSON Lines; "" in CSV. ``names`` are the places that have a value."""
    scored = [(name, score(load_preset(name), form, path, names)) for name in preset_names()]
    return sorted(((name, value) for name, value in scored if value > 0), key=lambda pair: -pair[1])


def score(preset: Mapping[str, Any], form: Format, path: str, names: Collection[str]) -> float:
    form = "json" if form == "jsonl" else form
    if "detect" not in preset or preset.get("read", {}).get("format", form) != form:
        return 0.0
    detect = preset["detect"]
    steps = _steps(path.removesuffix(EACH))  # an object of records in place of an array is the same place
    where = max((_fit(_steps(pattern), steps) for pattern in detect.get("records", ())), default=0.5)
    have = {_plain_name(name) for name in names}
    needs, marks = detect.get("needs", ()), detect.get("marks", ())
    if not where or any(_plain_name(name) in have for name in detect.get("lacks", ())):
        return 0.0
    if not all(_has(need, have) for need in needs):
        return 0.0
    held = sum(_has(mark, have) for mark in marks)
    return (where + len(needs) + held) / (1 + len(needs) + len(marks))


def is_native(names: Collection[str]) -> bool:
    """Return whether the records look like the service's own shape: a referenceId or a title, only names that the API knows."""
    known = {_plain_name(name) for name in (*ATTRIBUTES, *COLUMNS, "id")}
    heads = {_plain_name(re.split(r"[./]", name, maxsplit=1)[0]) for name in names}
    return heads <= known and len(heads) > 2 and bool(heads & {"referenceid", "title"})


@lru_cache(maxsize=4096)
def _plain_name(name: str) -> str:
    return _IGNORED.sub("", name.strip()).casefold()


def _has(names: str, have: set[str]) -> bool:
    return any(_plain_name(name) in have for name in names.split("|"))


def _fit(pattern: tuple[str, ...], steps: tuple[str, ...]) -> float:
    """Return 1 for the very path; less for a pattern with "*", and for the end of a deeper path; else 0."""
    if len(pattern) < len(steps) and pattern[0] not in ("", "*"):
        return 0.25 if steps[-len(pattern) :] == pattern else 0.0
    if len(pattern) != len(steps) or any(a not in ("*", b) for a, b in zip(pattern, steps, strict=True)):
        return 0.0
    return 0.5 if "*" in pattern else 1.0


def _steps(path: str) -> tuple[str, ...]:
    return tuple(_plain_name(step) for step in re.split(r"[./]", path.strip("/.$")))
