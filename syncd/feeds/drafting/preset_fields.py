"""What a preset maps, as comments for a drafted feed file: each of its fields with the columns that it reads and a sample."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from syncd.feeds.drafting.columns import Column
from syncd.feeds.drafting.field_names import comparable
from syncd.feeds.mapping.presets import load_preset
from syncd.feeds.toml_text import comment, plain, shown, value

#: Keys of a right-hand side whose texts are not selectors.
_NOT_SELECTORS = frozenset("date default html lookup prefer split too_long value".split())
#: The most columns that are shown of a field.
_MOST = 4
_CONDITION = re.compile(r"\[[^\]]*\]")


def preset_lines(preset: str, replaced: Collection[str], columns: Iterable[Column]) -> Iterator[str]:
    """Yield the fields of a preset, but for those ``replaced``, as lines of TOML that are comments; before each the columns of
    the file that it reads, with a sample."""
    mapped = load_preset(preset).get("fields", {})
    fields = {name: right for name, right in mapped.items() if name not in replaced and right is not False}
    if not fields:
        return
    filled = [column for column in columns if column.samples]
    yield from comment(f"What the preset {preset} maps. To change a field, take the # off its line.")
    for name, right in fields.items():
        named = list(_selectors(right))
        read = {column.selector: column for selector in named for column in _read(selector, filled)}
        for column in list(read.values())[:_MOST]:
            yield f"#   {plain(column.selector)}: {shown(column.samples[0])}"
        if named and not read:
            yield "#   (this file has none of these)"
        yield f"# {name} = {value(right)}"


def _selectors(right: object, each: str = "") -> Iterator[str]:
    """Yield the selectors of a right-hand side. ``each``: what leads to the parts to which they are applied."""
    if isinstance(right, str):
        found = re.findall(r"\{([^{}]+)\}", right) or [right]
        yield from (f"{each}/{selector}" if each else selector for selector in found)
    elif isinstance(right, Mapping):
        parent = right.get("each", each)
        for key, part in right.items():
            if key != "each" and key not in _NOT_SELECTORS:
                yield from _selectors(part, parent)
    elif isinstance(right, list):
        for part in right:
            yield from _selectors(part, each)


def _read(selector: str, columns: Iterable[Column]) -> Iterator[Column]:
    """Yield the columns that a selector reads, judging by their names. Conditions on steps are ignored."""
    *above, path = re.split(r"//|\*/", _CONDITION.sub("", selector))
    for column in columns:
        name = _CONDITION.sub("", column.selector)
        if comparable(name) == comparable(path) or (above and name.endswith(f"/{path}")):
            yield column
