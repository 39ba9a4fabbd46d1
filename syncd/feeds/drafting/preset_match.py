"""Which preset fits a feed, judging by its records. Pure: from names to scores.

A preset's ``[detect]`` table is data:

    records = ["/source/job"]        where its records are; "*" is any one name; without the key: anywhere
    needs   = ["title", "url|link"]  each must occur in some record ("|": either), or the score is 0
    marks   = ["jobtype", "city"]    what such a feed mostly has: the more of it, the likelier
    lacks   = ["partnerJobId"]       what such a feed never has, or the score is 0

Names are compared without case, blanks, dashes, underscores and namespace prefixes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from syncd.domain import ATTRIBUTES
from syncd.feeds.mapping.presets import load_preset, preset_names
from syncd.feeds.native import COLUMNS
from syncd.feeds.readers import EACH, Format

_IGNORED = re.compile(r"[\s_\-]+|\b[^\W\d][\w.]*:(?=\w)")


def find_preset(form: Format, path: str, names: Collection[str]) -> list[tuple[str, float]]:
    """Return the presets that fit with their scores (above 0, at most 1), the likeliest first.

    ``path`` is where the records are: ``/source/job`` in XML; ``jobs`` or ``data.jobs`` in JSON (``jobs.*``: each member is
    one), and "" for a root array, a lone object and JSON Lines; "" in CSV. ``names`` are the places that have a value."""
    scored = [(name, score(load_preset(name), form, path, names)) for name in preset_names()]
    return sorted(((name, value) for name, value in scored if value > 0), key=lambda pair: -pair[1])


def score(preset: Mapping[str, Any], form: Format, path: str, names: Collection[str]) -> float:
    """Return how well a preset (its parsed file) fits, from 0 (not at all) to 1."""
    form = "json" if form == "jsonl" else form
    if "detect" not in preset or preset.get("read", {}).get("format", form) != form:
        return 0.0
    detect = preset["detect"]
    where = _path_fit(detect.get("records", ()), path)
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


def _path_fit(patterns: Collection[str], path: str) -> float:
    """1 for the very path; less where any path fits, for a pattern with "*", and for the end of a deeper path; else 0."""
    if not patterns:
        return 0.5
    steps = _steps(path.removesuffix(EACH))  # an object of records in place of an array is the same place
    return max(_fit(_steps(pattern), steps) for pattern in patterns)


def _fit(pattern: tuple[str, ...], steps: tuple[str, ...]) -> float:
    if len(pattern) < len(steps) and pattern[0] not in ("", "*"):
        return 0.25 if steps[-len(pattern) :] == pattern else 0.0
    if len(pattern) != len(steps) or any(a not in ("*", b) for a, b in zip(pattern, steps, strict=True)):
        return 0.0
    return 0.5 if "*" in pattern else 1.0


def _steps(path: str) -> tuple[str, ...]:
    return tuple(_plain_name(step) for step in re.split(r"[./]", path.strip("/.$")))
