"""The markup around an XML record, for a file that has only some records of a feed.

The namespaces of a record are declared there, and a mapping may look there (``../@country``). Nothing is changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from lxml import etree

from syncd.feeds.readers.records import Slice
from syncd.feeds.readers.xml.elements import local

#: More elements than this are not the head of a feed.
_MOST = 200


def enclosing_markup(record: etree._Element | Slice) -> tuple[str, str]:
    """Return the start tags above ``record``, with the elements that precede it on each level (but no other records), and
    the end tags; nothing for a record that is the root. ``record`` must be the reader's current one, or a Slice."""
    if isinstance(record, Slice):
        parent, child, tag = cast("etree._Element", record.parent), None, record.tag
        chain = [parent, *parent.iterancestors()][::-1]
    else:
        child, tag = record, local(record)
        chain = [*record.iterancestors()][::-1]
    before: list[str] = []
    after: list[str] = []
    for parent, below in zip(chain, [*chain, child][1:], strict=True):
        start, name = _start_tag(parent)
        before += [start, *_preceding(parent, below, tag)]
        after.append(f"</{name}>")
    return "\n".join([*before, ""]), "\n".join([*after[::-1], ""])


def _start_tag(element: etree._Element) -> tuple[str, str]:
    """The tag with its attributes and all namespaces in force, and the element's name as it is written."""
    shell = etree.Element(element.tag, element.attrib, nsmap=element.nsmap)  # type: ignore[arg-type]
    text: str = etree.tostring(shell, encoding="unicode")
    name = re.match(r"<([^\s/>]+)", text)
    assert name is not None
    return text.removesuffix("/>") + ">", name[1]


def _preceding(parent: etree._Element, child: etree._Element | None, record_tag: str) -> Iterator[str]:
    """The elements before ``child``, except those with the record's name: these are other records, and what the reader puts
    in place of records that it does not parse."""
    for count, sibling in enumerate(parent.iterchildren()):
        if sibling is child or count >= _MOST:
            return
        if local(sibling) != record_tag:
            yield etree.tostring(sibling, encoding="unicode", with_tail=False)
