"""How to read a feed file: the ``[read]`` section of its configuration, and the names that columns are
known by.
"""

from __future__ import annotations

from dataclasses import dataclass

from syncd.feeds.records import Format


@dataclass(frozen=True, slots=True)
class ReadSpec:
    """None means: find it out from the content.

    ``records``: XML element path (``/source/job``), JSON path to the array (``data.jobs``); CSV has none.
    ``encoding`` wins over the file's own declaration. ``sheet``: the name of a spreadsheet's sheet (None: the
    first that is not hidden). ``recover``: XML is read leniently, and nothing may
    be archived from it. ``outside``: the mapping looks at more of the file than the record itself
    (``../@country``), so what stands before the records counts as part of each of them; where no selector
    does, say False, or a date in the feed's header makes every row look new each time."""

    format: Format | None = None
    records: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    recover: bool = False
    outside: bool = True
    sheet: str | None = None


def header_key(name: str) -> str:
    """What a CSV column is known by: its name without case and surrounding space."""
    return name.strip().casefold()


def element_path(text: str) -> tuple[str, ...]:
    """``/source/job`` as its steps, namespace prefixes dropped (``*`` matches any name). Raises ValueError
    for what is no path.
    """
    steps = tuple(step.rsplit(":", 1)[-1].strip() for step in text.strip().strip("/").split("/"))
    if not all(
        step == "*" or step.replace("-", "").replace("_", "").replace(".", "").isalnum() for step in steps
    ):
        raise ValueError(f"not a path of element names: {text!r}")
    return steps


def member_path(text: str) -> tuple[str, ...]:
    """``data.jobs`` (or ``$.data.jobs[*]``, ``/data/jobs``) as its member names; ``$`` alone is the root
    itself.
    """
    bare = text.strip().removeprefix("$").removesuffix("[*]").removesuffix("[]").strip("./")
    steps = tuple(bare.replace("/", ".").split(".")) if bare else ()
    if any(not step or "[" in step for step in steps):
        raise ValueError(f"not a path of member names: {text!r}")
    return steps
