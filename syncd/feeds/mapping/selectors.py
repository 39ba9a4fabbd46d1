"""Selectors: the place of a value in a record, in the format's own language, compiled to functions.

CSV: a column name. JSON: a path (``a.b`` ``a[0]`` ``a[*].b`` ``a[name=X].b`` ``["odd.name"]`` ``.``). XML: an XPath
relative to the record; a name without a prefix matches any namespace, one with a prefix the name as it is written.

A column is found by its name without case and surrounding space; if there is none, by its name without blanks, dashes
and underscores too (``job title`` finds ``Job_Title``).

A selector is applied to a *node*: a CsvRow, any JSON value, or an XmlNode. ``open_record`` makes the first."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from syncd.errors import FeedError
from syncd.feeds.readers import Format, header_key
from syncd.feeds.text import cell_text, meant
from syncd.feeds.xml_node import XmlNode, compile_xpath

Node = Any
Values = list[object]
#: A function from a node to the values there: texts, numbers or booleans, never empty.
Source = Callable[[Node], Values]
Step = Callable[[list[Any]], list[Any]]


class Selector(NamedTuple):
    """The look-up of values. ``values`` gives those of a node (text is trimmed, "NA" is not a value), ``nodes`` the nodes for
    other selectors. ``outside``: it may look at more of the file than the record."""

    values: Source
    nodes: Callable[[Node], list[Node]]
    outside: bool = False


class CsvRow:
    """A row by column, with the header of its file."""

    __slots__ = ("cells", "header")

    def __init__(self, cells: dict[str, Any]) -> None:
        self.cells = cells
        self.header = _header(tuple(cells))


class CsvHeader:
    """The columns of a file, by name and by name without blanks and dashes. There is one object for each file."""

    __slots__ = ("_by_plain_name", "names")

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = frozenset(names)
        self._by_plain_name: dict[str, str] = {}
        for name in names:
            self._by_plain_name.setdefault(plain_name(name), name)

    def find(self, name: str) -> str | None:
        key = header_key(name)
        return key if key in self.names else self._by_plain_name.get(plain_name(name))

    def check_once(self, names: Sequence[str]) -> None:
        """Raise FeedError ``bad_header`` if the file has several columns of one of these names."""
        for name in names:
            if f"{plain_name(name)}[2]" in self._by_plain_name:
                raise FeedError(
                    "bad_header",
                    f"more than one column is named {name.strip()!r}: the mapping has to name one of them,"
                    f" as {name.strip() + '[1]'!r}",
                    line=1,
                )


_header = lru_cache(maxsize=64)(CsvHeader)


@lru_cache(maxsize=8192)
def plain_name(name: str) -> str:
    """Return a column's name without case, blanks, dashes, underscores, dots and slashes."""
    return _IGNORED.sub("", name).casefold()


_IGNORED = re.compile(r"[\s_\-.:/]+")


def open_record(item: object, form: Format) -> Node:
    """Return the node of a record's ``item``."""
    if form == "xml":
        return XmlNode(item)
    return CsvRow(item) if form == "csv" and isinstance(item, dict) else item


def compile_selector(text: str, form: Format, *, markup: bool = False) -> Selector:
    """Return the selector that a text means. ``markup``: the value of an XML element with children is markup, not bare text.
    Raise ValueError (with the reason) for a text that is not a selector of that format."""
    if not text.strip():
        raise ValueError("is empty")
    if form == "csv":
        return compile_columns([text])
    if form == "xml":
        return Selector(*compile_xpath(text.strip(), markup))
    return _json_path(text.strip())


def compile_columns(names: Sequence[str]) -> Selector:
    """Return a selector of the first of some columns that has a value. The columns that a file has are found once a file."""
    known: tuple[CsvHeader | None, tuple[str, ...]] = (None, ())

    def present(row: CsvRow) -> tuple[str, ...]:
        nonlocal known
        header, columns = known
        if header is not row.header:
            existing = [column for name in names if (column := row.header.find(name)) is not None]
            if not existing:
                row.header.check_once(names)
            known = header, columns = row.header, tuple(dict.fromkeys(existing))
        return columns

    def first(node: Node) -> Values:
        for column in present(node):
            value = meant(cell_text(node.cells[column]))
            if value is not None:
                return [value]
        return []

    return Selector(first, first)


def _json_path(text: str) -> Selector:
    steps = _steps(text)

    def nodes(node: Node) -> list[Node]:
        values = [node]
        for step in steps:
            values = step(values)
        return [value for value in _flat(values) if value is not None]

    def every(node: Node) -> Values:
        return [value for value in map(meant, nodes(node)) if value is not None]

    def member(node: Node) -> Values:
        """Return the same for the common case, the name of a member with one value."""
        if node.__class__ is not dict or (value := node.get(text)).__class__ in (dict, list):
            return every(node)
        value = meant(value)
        return [] if value is None else [value]

    return Selector(member if re.fullmatch(r"[^.\[\]]+", text) else every, nodes)


def _flat(values: list[Any]) -> list[Any]:
    """Open lists within lists: a single value where a list is usual, or the reverse, is common."""
    if not any(value.__class__ is list for value in values):
        return values
    return _flat([item for value in values for item in (value if value.__class__ is list else (value,))])


_SEGMENT = re.compile(
    r"(?P<dot>\.)?(?P<name>[^.\[\]]+)"
    r'|\[(?P<star>\*)\]|\[(?P<index>-?\d+)\]|\["(?P<quoted>[^"]+)"\]'
    r"|\[(?P<key>[^\[\]=\"]+)=(?P<value>[^\[\]]*)\]|(?P<fault>.)"
)


def json_names(text: str) -> set[str]:
    """Return the names of members in a JSON path."""
    parts = ("name", "quoted", "key")
    return {match[part] for match in _SEGMENT.finditer(text) for part in parts if match[part]}


def _steps(text: str) -> list[Step]:
    if text in (".", "$"):
        return []
    text = text.removeprefix("$.")
    matches = list(_SEGMENT.finditer(text))
    for match in matches:
        at = match.start()
        if match["fault"] or (match["name"] and bool(match["dot"]) == (at == 0)):
            raise ValueError(f"is not a JSON path: {text[at:]!r} is not understood")
    return list(map(_step, matches))


def _step(match: re.Match[str]) -> Step:
    name = match["name"] or match["quoted"]
    if name:
        return lambda values: [v[name] for v in _flat(values) if v.__class__ is dict and name in v]
    if match["star"]:
        return _flat
    if match["index"]:
        return _indexed(int(match["index"]))
    key, wanted = match["key"].strip(), match["value"].strip().strip("\"'")
    return lambda values: [v for v in _flat(values) if v.__class__ is dict and str(v.get(key)) == wanted]


def _indexed(index: int) -> Step:
    def step(values: list[Any]) -> list[Any]:
        lists = [value if value.__class__ is list else [value] for value in values]
        return [items[index] for items in lists if -len(items) <= index < len(items)]

    return step
