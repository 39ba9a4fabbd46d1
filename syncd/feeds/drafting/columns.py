"""What a look at a file shows: its columns, and its format."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from syncd.errors import FeedError
from syncd.feeds.drafting.preset_match import Evidence, RecordSet
from syncd.feeds.drafting.value_looks import kinds_of
from syncd.feeds.readers import Format, ReadSpec

#: The most samples of a column that are kept, and the most different values that are counted.
SAMPLES, DIFFERENT = 3, 20_000
#: The most different short texts without a digit that are kept of a column.
_PLAIN_TEXTS = 6
_DIGIT = re.compile(r"\d")


@dataclass(slots=True)
class Column:
    """One place in the records.

    ``selector`` is written as in a mapping. ``filled`` is the number of records with a value there, ``values`` that of all
    values (a list has several); ``kinds`` counts what they look like. ``texts`` are some short values without a digit.
    ``longest`` and ``total`` are in characters; ``different`` is the number of different values, up to a limit."""

    selector: str
    filled: int = 0
    values: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    samples: list[str] = field(default_factory=list)
    texts: Counter[str] = field(default_factory=Counter)
    longest: int = 0
    total: int = 0
    _seen: set[int] = field(default_factory=set)

    @property
    def different(self) -> int:
        return len(self._seen)

    @property
    def average(self) -> float:
        return self.total / self.values if self.values else 0.0

    def share(self, *kinds: str) -> float:
        """Return the share of the values that are of the commonest of these kinds."""
        return max((self.kinds[kind] for kind in kinds), default=0) / self.values if self.values else 0.0

    def add(self, text: str) -> None:
        self.values += 1
        self.total += len(text)
        self.longest = max(self.longest, len(text))
        self.kinds.update(kinds_of(text))
        if len(text) <= 40 and (
            text in self.texts or (len(self.texts) < _PLAIN_TEXTS and not _DIGIT.search(text))
        ):
            self.texts[text] += 1
        mark = hash(text)
        if mark not in self._seen:
            if len(self._seen) < DIFFERENT:
                self._seen.add(mark)
            if len(self.samples) < SAMPLES:
                self.samples.append(text[:2000])


@dataclass(slots=True)
class Survey:
    """What was found. ``spec`` is how the file is read (None: the reader finds out); ``path`` where the records are;
    ``more``: there are more records than were looked at; ``broken``: why reading stopped early."""

    format: Format
    spec: ReadSpec
    path: str
    encoding: str
    delimiter: str | None
    records: int = 0
    unreadable: int = 0
    columns: dict[str, Column] = field(default_factory=dict)
    fields: dict[str, int] = field(default_factory=dict)
    more: bool = False
    broken: FeedError | None = None

    def evidence(self) -> Evidence:
        return Evidence(self.format, (RecordSet(self.path, self.records, self.fields),))
