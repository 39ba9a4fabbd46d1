"""The values above the records, where the records are lists in the items of a list: a status, an id, a date beside each list.

In XML ``../Status`` reads an element before the records. No selector of JSON leaves a record."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from syncd.feeds.drafting.columns import Column
from syncd.feeds.mapping import flag_statuses
from syncd.feeds.readers import ITEM, WITHIN, walk
from syncd.feeds.readers.xml import local, names, new_parser
from syncd.feeds.text import meant, spelled

#: Fields that an item may have for all of its records, and those that only an item of one record has.
_SHARED = ("status", "closeDate", "city", "province", "location", "country", "categories", "positionType")
_OWN = ("status", "closeDate", "referenceId")
#: The most records that are looked at, and the deepest member of an item.
_MAX_RECORDS, _MAX_STEPS = 2000, 3


@dataclass(slots=True)
class Items:
    """``readable`` are the columns of the items that a selector of the record reads, ``unread`` the others. ``place``: that of
    the items, None where one of them has several records."""

    readable: dict[str, Column] = field(default_factory=dict)
    unread: dict[str, Column] = field(default_factory=dict)
    place: str | None = None

    @property
    def are_records(self) -> bool:
        """Return whether each item should be read as a record: it has but one, and a value that the record lacks."""
        return self.place is not None and any(_has(column, _OWN) for column in self.unread.values())


def _has(column: Column, fields: Iterable[str]) -> bool:
    flag = "status" in fields and flag_statuses(column.selector) is not None
    return flag or any(column.rank(name) is not None for name in fields)


def _add(columns: dict[str, Column], selector: str, value: object) -> None:
    if (scalar := meant(value)) is not None:
        column = columns.setdefault(selector, Column(selector))
        column.filled += 1
        column.add(spelled(scalar))


def items_of_json(head: bytes, path: str) -> Items:
    """Return the items around the records at ``path`` (``groups[*].jobs``)."""
    above, within, below = path.rpartition(WITHIN)
    if not within:
        return Items()
    items = Items()
    at = (*filter(None, above.replace(WITHIN, f".{ITEM}").split(".")), ITEM)
    records = (*at, *filter(None, below.split(".")), ITEM)
    in_item = most = 0
    for steps, event, value in walk(head):
        if steps == at:
            in_item = 0
        elif steps == records:
            in_item += 1
            most = max(most, in_item)
        inside = steps[len(at) :] if steps[: len(at)] == at else ()
        if 0 < len(inside) <= _MAX_STEPS and ITEM not in inside and event not in ("start_map", "start_array"):
            _add(items.unread, ".".join(inside), value)
    items.place = above if most == 1 and WITHIN not in above else None
    return items


def items_of_xml(head: bytes, path: str) -> Items:
    """Return the items around the records at ``path`` (``/feed/group/job``), of which there are several."""
    steps = tuple(path.strip("/").split("/"))
    items = Items()
    if len(steps) < 3:
        return items
    parser = new_parser(None, recover=True)
    with suppress(etree.XMLSyntaxError):
        parser.feed(head)
    root: Any = next((element for _, element in parser.read_events()), None)
    found = [] if root is None else [e for e in root.iter(f"{{*}}{steps[-1]}") if names(e) == steps]
    chains = [[*record.iterancestors()][:-1] for record in found[:_MAX_RECORDS]]
    for up in range(len(steps) - 2):
        holders = [chain[up] for chain in chains]
        alone = len({*holders}) == len(holders)
        if len({*holders}) < 2:
            break
        if alone:
            items.place = "/" + "/".join(steps[: len(steps) - 1 - up])
        for record, chain in zip(found, chains, strict=False):
            _read_item(items, "../" * (up + 1), chain[up], chain[up - 1] if up else record, alone=alone)
    return items


def _read_item(items: Items, up: str, item: Any, below: Any, *, alone: bool) -> None:
    fields = (*_SHARED, "referenceId") if alone else _SHARED
    columns = items.readable
    texts = [(f"@{name.rpartition('}')[2]}", value) for name, value in item.attrib.items()]
    for child in item:
        if child is below:
            texts.append(("", None))
        elif child.tag.__class__ is str and not len(child):
            texts.append((local(child), child.text))
    for name, value in texts:
        if not name:
            columns = items.unread
        elif _has(Column(name), fields):
            _add(columns, up + name if columns is items.readable else name, value)
