"""The shape of a file: the names of its columns, elements or members. A name that the mapping uses and that is gone is the most
frequent accident of all (docs/reconciliation.md "When a run stops short").

Of XML and JSON the names are those in the first records that are read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from syncd.domain import MAX_LISTED_NAMES, Shape
from syncd.feeds.mapping import Mapping
from syncd.feeds.readers import FeedReader, FlatRecord, Format, Record, Slice

#: The records whose names are taken. A file of known records alone has fewer, or none.
SAMPLE = 100
#: The fewest records that say that a name is gone.
MIN_RECORDS = 5
_TAG = re.compile(rb"<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")
_NOUNS: dict[Format, str] = {"csv": "column", "xml": "element", "json": "member", "jsonl": "member"}


class NameSample:
    """Takes the names of the first records of a file."""

    def __init__(self) -> None:
        self.records = 0
        self._counts: Counter[str] = Counter()

    def add(self, record: Record) -> None:
        if self.records < SAMPLE and record.item is not None:
            self.records += 1
            self._counts.update(_names_of(record.item))

    def names(self, reader: FeedReader) -> Names:
        """Return the names of the file, of which all records were read."""
        if reader.header is not None:
            columns = tuple(name for name in reader.header if name.strip())
            return Names(columns, columns, complete=True)
        usual = tuple(name for name, count in self._counts.items() if 2 * count >= self.records)
        return Names(usual, tuple(self._counts), complete=self.records >= MIN_RECORDS)


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a file: the ``usual`` ones, which most records have, in order, and ``all`` of them. ``complete``: there are
    enough records to say that a name is gone."""

    usual: tuple[str, ...]
    all: Sequence[str]
    complete: bool

    def shape(self, before: Sequence[str], mapping: Mapping, form: Format) -> Shape | None:
        """Return the change since the feed's last used file, which had the names ``before``."""
        gone = mapping.gone(before, self.all, form) if self.complete else []
        if not gone:
            return None
        new = [name for name in self.usual if name not in before]
        successors = {}
        for name in gone:  # that at its place, the only one, or one that is like it
            at = before.index(name)
            at_its_place = [other for other in self.usual[at : at + 1] if other in new]
            alone = new if len(gone) == len(new) == 1 else []
            for successor in [*at_its_place, *alone, *get_close_matches(name, new, 1)][:1]:
                successors[name] = successor
        lines = mapping.lines_with(successors, self.all, form)[:MAX_LISTED_NAMES] if successors else []
        return Shape(tuple(gone), tuple(new), _NOUNS[form], tuple(lines))


def _names_of(item: Any) -> list[str]:
    """Return the names of a record, on all levels, each once, in order."""
    if isinstance(item, Slice):
        return [*dict.fromkeys(name.decode() for name in _TAG.findall(item.data))]
    if isinstance(item, (dict, list)):
        names: dict[str, None] = {}
        values = [item]
        for value in values:  # those of further levels are added meanwhile
            if isinstance(value, dict):
                names |= dict.fromkeys(value)
                values += value.values()
            elif isinstance(value, list):
                values += value
        return [*names]
    element = item.element() if isinstance(item, FlatRecord) else item
    tags = (node.tag for node in element.iter() if isinstance(node.tag, str))
    return [*dict.fromkeys(tag.rpartition("}")[2] for tag in tags)]
