"""The shape of a file: the names of its columns, elements or members. A name that the mapping uses and that is gone is the most
frequent accident of all (docs/reconciliation.md "When a run stops short").

Of XML and JSON the names are those in the first records that are read."""

import re
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from syncd.domain import MAX_LISTED_NAMES, Shape
from syncd.feeds.drafting import may_hide
from syncd.feeds.mapping import Mapping
from syncd.feeds.readers import FeedReader, FlatRecord, Format, Record, Slice

#: The records whose names are taken. A file of known records alone has fewer, or none.
SAMPLE = 100
#: The fewest records that say that a name is gone.
MIN_RECORDS = 5
_TAG = re.compile(rb"<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")
_NOUNS: dict[Format, str] = {"csv": "column", "xml": "element", "json": "member", "jsonl": "member"}


class FileNames:
    """The names of a file: its columns, or those in its first records, which ``add`` takes."""

    def __init__(self, reader: FeedReader) -> None:
        self._reader, self._records = reader, 0
        self._counts: Counter[str] = Counter()

    def add(self, record: Record) -> None:
        if self._records < SAMPLE and record.item is not None:
            self._records += 1
            self._counts.update(_names_of(record.item))

    @property
    def usual(self) -> list[str]:
        """The columns, or the names that most records have, in order."""
        if self._reader.header is not None:
            return [name for name in self._reader.header if name.strip()]
        return [name for name, count in self._counts.items() if 2 * count >= self._records]

    def shape(self, before: Sequence[str], mapping: Mapping, form: Format) -> Shape | None:
        """Return the change since the feed's last used file, which had the names ``before``. Too few records say of no name that
        it is gone. Where none is, new ones count that the mapping does not use and that may speak of jobs that are not live."""
        usual, header = self.usual, self._reader.header
        names = [*self._counts] if header is None else usual
        gone = [] if header is None and self._records < MIN_RECORDS else mapping.gone(before, names, form)
        new = [name for name in usual if name not in before] if before else []
        if not gone:
            hiding = [name for name in mapping.unused(usual, form) if name in new and may_hide(name)]
            return Shape((), tuple(hiding), _NOUNS[form]) if hiding else None
        successors = {}
        for name in gone:  # that at its place, the only one, or one that is like it
            at = before.index(name)
            at_its_place = [other for other in usual[at : at + 1] if other in new]
            alone = new if len(gone) == len(new) == 1 else []
            for successor in [*at_its_place, *alone, *get_close_matches(name, new, 1)][:1]:
                successors[name] = successor
        lines = mapping.lines_with(successors, names, form)[:MAX_LISTED_NAMES] if successors else []
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
