"""Which preset fits a feed, judging by its records. Pure: from evidence to scores.

A preset's ``[detect]`` table is data:

    records = ["/source/job"]        where its records are; "*" is any one name; without the key: anywhere
    needs   = ["title", "url|link"]  each must occur in some record ("|": either), or the score is 0
    marks   = ["jobtype", "city"]    what such a feed mostly has: the more of it, the likelier
    lacks   = ["partnerJobId"]       what such a feed never has, or the score is 0

Names are compared without case, blanks, dashes, underscores and namespace prefixes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from syncd.domain import ATTRIBUTES
from syncd.feeds.mapping.presets import load_preset, preset_names
from syncd.feeds.native import COLUMNS
from syncd.feeds.readers import EACH, Format
from syncd.feeds.text import meant
from syncd.feeds.xml_node import local_name

#: Records are looked into to this depth, and for this many names.
_DEEPEST, _MOST = 6, 2000
_IGNORED = re.compile(r"[\s_\-]+|\b[^\W\d][\w.]*:(?=\w)")


@dataclass(frozen=True, slots=True)
class RecordSet:
    """A place in a file where records are, and what the first of them have.

    ``path`` is ``/source/job`` in XML; ``jobs`` or ``data.jobs`` in JSON (``jobs.*``: each member is one), and "" for a root
    array, a lone object and JSON Lines; "" in CSV. ``count`` records were looked at. ``fields`` says how many of these have
    a value at each name that ``field_names`` gives."""

    path: str
    count: int
    fields: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the start of a file shows. ``sets`` begins with the likeliest place of the records."""

    format: Format
    sets: tuple[RecordSet, ...]


def tally(path: str, items: Iterable[object], form: Format) -> RecordSet:
    """Return the RecordSet of some records' ``item`` values."""
    count, fields = 0, dict[str, int]()
    for item in items:
        count += 1
        for name in dict.fromkeys(field_names(item, form)):
            fields[name] = fields.get(name, 0) + 1
    return RecordSet(path, count, fields)


def field_names(item: object, form: Format) -> Iterator[str]:
    """Yield the names in one record at which there is a value, as selectors: a CSV column, a JSON path (``location.name``;
    lists are left out, as in selectors), an XML path relative to the record (``location/city``, ``@id``, ``Vacancy/@type``)
    without prefixes. An element or object with members counts by itself too."""
    found = _xml_names(item, "", 0) if form == "xml" else _json_names(item, "", 0)
    for number, name in enumerate(found):
        if number >= _MOST:
            return
        yield name


def find_preset(evidence: Evidence) -> list[tuple[str, float]]:
    """Return the presets that fit with their scores (above 0, at most 1), the likeliest first."""
    scored = [(name, score(load_preset(name), evidence)) for name in preset_names()]
    return sorted(((name, value) for name, value in scored if value > 0), key=lambda pair: -pair[1])


def score(preset: Mapping[str, Any], evidence: Evidence) -> float:
    """Return how well a preset (its parsed file) fits, from 0 (not at all) to 1."""
    found = best_set(preset, evidence)
    return found[0] if found else 0.0


def best_set(preset: Mapping[str, Any], evidence: Evidence) -> tuple[float, RecordSet] | None:
    """Return the set of records that the preset fits best, with the score; None: it fits none."""
    form = "json" if evidence.format == "jsonl" else evidence.format
    if "detect" not in preset or preset.get("read", {}).get("format", form) != form:
        return None
    scored = [(_score(preset["detect"], found), found) for found in evidence.sets]
    best = max(scored, key=lambda pair: pair[0], default=None)
    return best if best and best[0] > 0 else None


def is_native(evidence: Evidence) -> bool:
    """Return whether the records look like the service's own shape: a referenceId or a title, and no name that the API does
    not know."""
    known = {plain_name(name) for name in (*ATTRIBUTES, *COLUMNS)}
    for found in evidence.sets[:1]:
        heads = {plain_name(re.split(r"[./]", name, maxsplit=1)[0]) for name in found.fields}
        return heads <= known | {"id"} and len(heads) > 2 and bool(heads & {"referenceid", "title"})
    return False


@lru_cache(maxsize=4096)
def plain_name(name: str) -> str:
    """Return ``name`` as it is compared."""
    return _IGNORED.sub("", name.strip()).casefold()


def _score(detect: Mapping[str, Any], found: RecordSet) -> float:
    where = _path_fit(detect.get("records", ()), found.path)
    have = {plain_name(name) for name in found.fields}
    needs, marks = detect.get("needs", ()), detect.get("marks", ())
    if not where or any(plain_name(name) in have for name in detect.get("lacks", ())):
        return 0.0
    if not all(_has(need, have) for need in needs):
        return 0.0
    held = sum(_has(mark, have) for mark in marks)
    return (where + len(needs) + held) / (1 + len(needs) + len(marks))


def _has(names: str, have: set[str]) -> bool:
    return any(plain_name(name) in have for name in names.split("|"))


def _path_fit(patterns: Iterable[str], path: str) -> float:
    """1 for the very path; less where any path fits, for a pattern with "*", and for the end of a deeper path; else 0."""
    patterns = tuple(patterns)
    if not patterns:
        return 0.5
    steps = _steps(path.removesuffix(EACH))  # an object of records in place of an array is the same place
    fits = [_steps(pattern) for pattern in patterns]
    return max((_fit(pattern, steps) for pattern in fits), default=0.0)


def _fit(pattern: tuple[str, ...], steps: tuple[str, ...]) -> float:
    if len(pattern) < len(steps) and pattern[0] not in ("", "*"):
        return 0.25 if steps[-len(pattern) :] == pattern else 0.0
    if len(pattern) != len(steps) or any(a not in ("*", b) for a, b in zip(pattern, steps, strict=True)):
        return 0.0
    return 0.5 if "*" in pattern else 1.0


def _steps(path: str) -> tuple[str, ...]:
    return tuple(plain_name(step) for step in re.split(r"[./]", path.strip("/.$")))


def _json_names(value: object, path: str, depth: int) -> Iterator[str]:
    if isinstance(value, list):
        for part in value[:20]:
            yield from _json_names(part, path, depth)
    elif isinstance(value, dict):
        if path and value:
            yield path
        for name, part in value.items() if depth < _DEEPEST else ():
            yield from _json_names(part, f"{path}.{name}" if path else name, depth + 1)
    elif path and meant(value) is not None:
        yield path


def _xml_names(element: Any, path: str, depth: int) -> Iterator[str]:
    for name, value in element.attrib.items():
        if value.strip():
            yield f"{path}/@{local_name(name)}" if path else f"@{local_name(name)}"
    children = [child for child in element if child.tag.__class__ is str]
    if path and (children or meant(element.text or "") is not None):
        yield path
    for child in children if depth < _DEEPEST else ():
        name = local_name(child.tag)
        yield from _xml_names(child, f"{path}/{name}" if path else name, depth + 1)
