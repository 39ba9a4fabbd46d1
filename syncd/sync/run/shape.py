"""The shape of a file: the names of its columns, elements or members. A name that the mapping uses and that is gone is the most
frequent accident of all (docs/reconciliation.md "When a run stops short").

Of XML and JSON the names are those in the first records that are read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from syncd.feeds.readers import FeedReader, FlatRecord, Format, Record, Slice

#: The records whose names are taken. A file of known records alone has fewer, or none.
SAMPLE = 100
#: The fewest records that say that a name is gone, and the most names that a message lists.
MIN_RECORDS, MAX_LISTED = 5, 5
_TAG = re.compile(rb"<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")
#: A column, an element or a member, in words.
_NOUNS: dict[Format, tuple[str, str]] = {
    "csv": ("column", "columns"),
    "xml": ("element", "elements"),
    "json": ("member", "members"),
    "jsonl": ("member", "members"),
}


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
            return Names(columns, frozenset(columns), complete=True)
        usual = tuple(name for name, count in self._counts.items() if 2 * count >= self.records)
        return Names(usual, frozenset(self._counts), complete=self.records >= MIN_RECORDS)


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a file: the ``usual`` ones, which most records have, in order, and ``all`` of them. ``complete``: there are
    enough records to say that a name is gone."""

    usual: tuple[str, ...]
    all: Collection[str]
    complete: bool

    def gone(self, before: Sequence[str], used: Collection[str]) -> list[str]:
        """Return the usual names of the file ``before`` that are ``used`` and that no record has any more."""
        return [name for name in before if name in used and name not in self.all] if self.complete else []

    def new(self, before: Sequence[str]) -> list[str]:
        """Return the names that the file ``before`` did not have."""
        return [name for name in self.usual if name not in before]


def gone_in_words(gone: Sequence[str], new: Sequence[str], form: Format) -> str:
    """Return the sentence that says which names are gone, and which are new."""
    noun = _NOUNS[form][len(gone) > 1]
    more = f"; new in it: {_listed(new)}" if new else ""
    return f"the file has no {noun} {_listed(gone)} any more{more}"


def _listed(names: Sequence[str]) -> str:
    listed = ", ".join(f"`{name}`" for name in names[:MAX_LISTED])
    return f"{listed} and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else listed


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
