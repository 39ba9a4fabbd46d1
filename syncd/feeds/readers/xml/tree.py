"""The part of an XML document that is kept in memory: the parents of the records, and what stands before the first one."""

from __future__ import annotations

from lxml import etree

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.spec import ReadSpec
from syncd.feeds.readers.xml.discovery import FoundRecords
from syncd.feeds.readers.xml.elements import depth_of, inherited, local, matches, names


class RecordTree:
    """Decides which elements are records, and frees those that are done."""

    def __init__(self, found: FoundRecords, spec: ReadSpec) -> None:
        self._path, self._home, self._outside = found.path, found.inherited, spec.outside
        self._parent: etree._Element | None = None
        self._last: etree._Element | None = None
        self._kept: list[etree._Element] = []
        self._found_any = False
        self._inherited: tuple[object, ...] = ()
        self._at_home = False

    @property
    def path(self) -> tuple[str, ...]:
        return self._path

    @property
    def parent(self) -> etree._Element | None:
        """The element that holds the records."""
        return self._parent

    @property
    def inherited(self) -> tuple[object, ...]:
        """What the parent and the elements above it add to the meaning of a record."""
        return self._inherited

    @property
    def at_home(self) -> bool:
        """Whether the parent adds the same as that of the first record."""
        return self._at_home

    def is_record(self, element: etree._Element) -> bool:
        """Return whether an element that has ended is a record; its parent then holds the records from now on."""
        parent = element.getparent()
        if parent is not None and parent is self._parent:
            return self._path[-1] in ("*", local(element))
        if not matches(self._path, names(element)):
            return False
        self._adopt(element)
        return True

    def free_before(self, element: etree._Element) -> None:
        """Free what stands before ``element``, which is the last record so far."""
        self._drop_before(element)
        self._last = element

    def check_depth(self, element: etree._Element, limits: FeedLimits, line: int) -> None:
        """Raise FeedError ``limit_exceeded`` for a record that is nested too deep."""
        if depth_of(element) > limits.depth - len(self._path) + 1:
            detail = f"nested deeper than {limits.depth} ([limits] depth)"
            raise FeedError("limit_exceeded", detail, line=line)

    def _adopt(self, element: etree._Element) -> None:
        """Take the parent of ``element`` as the one that holds the records. What stands before the very first record stays,
        for selectors that look there."""
        for above in (element, *element.iterancestors()):
            if not self._found_any:
                self._kept.extend(above.itersiblings(preceding=True))
            elif above is not element:
                self._drop_before(above)
        self._found_any = True
        self._parent = element.getparent()
        self._inherited = inherited(self._parent, attributes=self._outside)
        self._at_home = self._inherited == self._home

    def _drop_before(self, element: etree._Element) -> None:
        parent = element.getparent()
        if self._last is not None and parent is not None and element.getprevious() is self._last:
            parent.remove(self._last)  # nothing but what is kept was left before it
            return
        while (previous := element.getprevious()) is not None and parent is not None:
            if any(previous is kept for kept in self._kept):
                break
            parent.remove(previous)
