"""How a feed file is read: the ``[read]`` section of its configuration, and the names that columns are known by."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal, NamedTuple

from syncd.domain import FeedLimits
from syncd.errors import FeedError

Format = Literal["csv", "xml", "json", "jsonl"]

#: A function from the digests of the next records to those that are known (their rows need no parsing).
Known = Callable[[list[bytes]], Collection[bytes]]


@dataclass(frozen=True, slots=True)
class ReadSpec:
    """The ``[read]`` section. None: find it out from the content.

    ``records`` is an XML element path (``/source/job``), or a JSON path to the array (``data.jobs``) or to all members
    of an object (``data.jobs.*``); CSV has none. ``encoding`` wins over the file's own declaration. ``sheet`` is the
    name of a spreadsheet's sheet (None: the first that is not hidden). ``recover``: XML is read leniently, and nothing
    may be archived from it.

    ``outside``: the mapping looks at more of the file than the record (``../@country``), so what stands before the
    records counts as part of each of them. Where no selector does, it must be False, or a date in the feed's header
    makes every row look new each time."""

    format: Format | None = None
    records: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    recover: bool = False
    outside: bool = True
    sheet: str | None = None


class ReadOptions(NamedTuple):
    """What a reader is given besides the bytes.

    ``slicing``: records of XML may come as Slices. For a file in an archive, ``before`` is the number of records in the
    files before it, and ``like`` their format."""

    spec: ReadSpec
    limits: FeedLimits
    known: Known | None = None
    slicing: bool = False
    before: int = 0
    like: Format | None = None


def header_key(name: str) -> str:
    """Return what a CSV column is known by: its name without case and surrounding space."""
    return name.strip().casefold()


def element_path(text: str) -> tuple[str, ...]:
    """Return the steps of ``/source/job``, without namespace prefixes (``*`` matches any name). Raise ValueError for
    what is not a path."""
    steps = tuple(step.rsplit(":", 1)[-1].strip() for step in text.strip().strip("/").split("/"))
    if not all(
        step == "*" or step.replace("-", "").replace("_", "").replace(".", "").isalnum() for step in steps
    ):
        raise ValueError(f"not a path of element names: {text!r}")
    return steps


#: The last step of a JSON path: each member of the object there is a record.
EACH = "*"


def member_path(text: str) -> tuple[str, ...]:
    """Return the names in ``data.jobs`` (or ``$.data.jobs[*]``, ``/data/jobs``). ``$`` alone is the root itself, and
    ``*`` at the end (``data.jobs.*``, or alone) each member of an object.

    Raise ValueError for what is not a path."""
    bare = text.strip().removeprefix("$").removesuffix("[*]").removesuffix("[]").strip("./")
    steps = tuple(bare.replace("/", ".").split(".")) if bare else ()
    if any(not step or "[" in step for step in steps):
        raise ValueError(f"not a path of member names: {text!r}")
    if EACH in steps[:-1]:
        raise ValueError(f"not a path of member names: {text!r}; * is for the end of one")
    return steps


def asked_path(records: str, parse: Callable[[str], tuple[str, ...]]) -> tuple[str, ...]:
    """Return ``[read] records`` as the steps of a path in the file's own format, which the setting may not have been
    written for. Raise FeedError ``no_records_path``."""
    try:
        return parse(records)
    except ValueError as error:
        raise FeedError("no_records_path", f"[read] records is {error}") from None
