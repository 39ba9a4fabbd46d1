"""XML records: children by local name in one pass, XPath where a name is not enough."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from html import escape
from typing import Any

from lxml import etree

from syncd.feeds.readers import FlatRecord, add_named
from syncd.feeds.text import meant

_NAME = r"[^\W\d][\w.-]*"
_ONE_NAME = re.compile(rf"{_NAME}\Z")
_TOKEN = re.compile(
    rf"(?P<text>\"[^\"]*\"|'[^']*')|(?P<name>{_NAME}(?::(?!:)(?:{_NAME}|\*))?)|(?P<number>\d+(?:\.\d+)?|\.\d+)"
    r"|(?P<mark>::|\.\.|//|!=|<=|>=|[@$()\[\].,/|+\-=<>*])|(?P<space>\s+)|(?P<fault>.)"
)
_OPERATORS = frozenset(("and", "or", "div", "mod"))
_OPERAND_ENDS = frozenset((")", "]", ".", "..", "*"))
_STRING = etree.XPath("string()")

_Every = Callable[["XmlNode"], list[Any]]
Compiled = tuple[_Every, _Every, bool]


class XmlNode:
    """An element (or FlatRecord) and its children by local name, which are found at the first use.

    A child is text, an element that has children, or a list of these where the name repeats. Where no child has the
    exact name, one whose name differs only in case is taken. Valid as long as the element is."""

    __slots__ = ("_children", "_element", "_folded")

    def __init__(self, item: Any) -> None:
        self._element = item
        self._children: dict[str, Any] | None = item.texts if item.__class__ is FlatRecord else None
        self._folded: Mapping[str, str] | None = None

    @property
    def element(self) -> Any:
        self._element = element_of(self._element)
        return self._element

    def get(self, name: str, folded: str = "") -> Any:
        children = self._children
        if children is None:
            children = self._children = _by_name(self._element)
        value = children.get(name)
        if value is not None or not folded:
            return value
        names = self._folded
        actual = self.called(folded) if names is None else names.get(folded)
        return children.get(actual) if actual else None

    def called(self, folded: str) -> str:
        """Return the name of the child that is ``folded`` in lower case (of several that one, or the first), or ""."""
        if self._folded is None:
            self._folded = _by_folded(tuple(self.children()))
        return self._folded.get(folded, "")

    def children(self) -> dict[str, Any]:
        self.get("")
        return self._children or {}


def element_of(item: Any) -> Any:
    return item.element() if item.__class__ is FlatRecord else item


@lru_cache(maxsize=1024)  # records of a feed have few shapes
def _by_folded(names: tuple[str, ...]) -> dict[str, str]:
    by_folded = {name.lower(): name for name in reversed(names)}
    return by_folded | {name: name for name in names if name.lower() == name}


def _by_name(element: Any) -> dict[str, Any]:
    children: dict[str, Any] = {}
    for child in element:
        tag = child.tag
        if tag.__class__ is not str:
            continue  # a comment or processing instruction
        name = tag if tag[0] != "{" else tag.rpartition("}")[2]
        value = child if len(child) else (child.text or "")
        if name in children:
            add_named(children, name, value)
        else:  # as most
            children[name] = value
    return children


def text_of(value: Any, markup: bool = False) -> Any:
    """Return the text of a value of a node or an XPath; with ``markup`` the inner markup of an element with children."""
    if value.__class__ is str or isinstance(value, bool | float):
        return value
    if isinstance(value, XmlNode):
        value = value.element
    if isinstance(value, str):
        return str(value)
    return inner_markup(value) if markup and len(value) else str(_STRING(value))


def inner_markup(element: Any) -> str:
    parts = [escape(element.text or "", quote=False)]
    parts += [etree.tostring(child, encoding="unicode", method="html") for child in element]
    return "".join(parts)


def compile_xpath(text: str, markup: bool) -> Compiled:
    """Return values, nodes and outside of a Selector. Raise ValueError for a text that is not a relative XPath."""
    if _ONE_NAME.match(text):
        return _child(text, markup)
    find = _xpath(text)

    def every(node: XmlNode) -> list[object]:
        return [v for v in (meant(text_of(value, markup)) for value in find(node.element)) if v is not None]

    def nodes(node: XmlNode) -> list[Any]:
        return [XmlNode(value) for value in find(node.element) if not isinstance(value, str | bool | float)]

    outside = re.search(r"\.\.|\b(?:ancestor|parent|preceding|following)\b", text)
    return every, nodes, bool(outside)


def _child(name: str, markup: bool) -> Compiled:
    """Return the same for the common case, a child's name: a look-up in a dict."""
    folded = name.lower()

    def every(node: XmlNode) -> list[object]:
        value = node.get(name, folded)
        if value.__class__ is str:
            text = meant(value)
            return [] if text is None else [text]
        if value is None:
            return []
        values = value if value.__class__ is list else (value,)
        return [v for v in (meant(text_of(child, markup)) for child in values) if v is not None]

    def nodes(node: XmlNode) -> list[Any]:
        actual = name if name in node.children() else node.called(folded)
        return [XmlNode(child) for child in node.element.iterfind("{*}" + actual)] if actual else []

    return every, nodes, False


def _xpath(text: str) -> Callable[[Any], list[Any]]:
    if text.startswith("/"):
        raise ValueError("must be relative to the record: it may not begin with /")
    try:
        compiled = etree.XPath(namespace_blind(text), smart_strings=False)
        compiled(etree.Element("record"))  # an unknown function or prefix shows only now
    except etree.XPathError as error:
        raise ValueError(f"is not an XPath: {error}") from None

    def find(element: Any) -> list[Any]:
        values = compiled(element)
        if isinstance(values, float):
            return [f"{values:.15g}"]  # without ".0"
        return values if isinstance(values, list) else [values]

    return find


def namespace_blind(text: str) -> str:
    """Return an XPath whose names match in any namespace: ``a/b`` becomes ``*[local-name()='a']/*[local-name()='b']``. Of the
    attributes that a name matches, one without a namespace counts."""
    tokens = [match for match in _TOKEN.finditer(text) if match.lastgroup != "space"]
    out = []
    for i, token in enumerate(tokens):
        if token.lastgroup == "fault":
            raise ValueError(f"is not an XPath: {text[token.start() :]!r} is not understood")
        name, before = token[0], tokens[i - 1] if i else None
        mark = before[0] if before else ""
        after = tokens[i + 1][0] if i + 1 < len(tokens) else ""
        attribute = mark == "@" or (mark == "::" and tokens[i - 2][0] == "attribute")
        operand = before and (before.lastgroup in ("name", "number", "text") or mark in _OPERAND_ENDS)
        if token.lastgroup != "name" or after in ("(", "::"):
            out.append(name)
        elif mark == "$" or (
            name in _OPERATORS and operand and not attribute
        ):  # a name after an operand (XPath 1.0, 3.7)
            out.append(f" {name} ")
        else:
            of = "name" if ":" in name else "local-name"
            alone = f" and (name()='{name}' or not(../@{name}))" if attribute and of == "local-name" else ""
            out.append(f"*[{of}()='{name}'{alone}]")
    return "".join(out)
