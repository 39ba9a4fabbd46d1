"""A value within a longer text, between two marks: "Closing date: 2027-01-31" (docs/feeds.md "Sources")."""

import re
from collections.abc import Callable

from syncd.feeds.mapping.transforms.html import CELL, lines
from syncd.feeds.text import meant

#: White space in ``lines``: within a line (the end of a cell, too), and such as ends the text behind a mark.
_BLANK, _LINE_END = f"[ {CELL}]", f"[\n{CELL}]"


def text_behind(after: str, before: str | None) -> Callable[[str], object | None]:
    """Return a function from a text to its part behind the mark ``after``, up to the mark ``before`` or the end of the line.
    Tags of HTML are line ends. A text without the mark, or with nothing behind it, gives None."""
    mark = after.strip(" \t")
    colon = ":" if mark.endswith(":") else ":?"
    word = r"(?<!\w)" if mark[0].isalnum() else ""
    words = _pattern(mark.removesuffix(":").rstrip(" \t"))
    begin = re.compile(f"{word}{words}{_BLANK}?{colon}{_BLANK}?", re.IGNORECASE)
    end = re.compile(_LINE_END if before is None else _pattern(before), re.IGNORECASE)
    line_end = re.compile(_LINE_END)

    def behind(markup: str) -> object | None:
        text, more = lines(markup), True
        for match in begin.finditer(text):
            stop = end.search(text, match.end()) if more else None
            more = stop is not None  # if there is none, none follows a later mark
            stop = stop or line_end.search(text, match.end())
            part = meant(text[match.end() : stop.start() if stop else None])
            if part is not None:
                return part
        return None

    return behind


def _pattern(mark: str) -> str:
    """Return the pattern of a mark, in which blanks and line ends may be of any kind and number."""
    parts = re.split(r"(\s+)", mark)
    return "".join(
        f"{_LINE_END}+" if "\n" in part else _BLANK if part.isspace() else re.escape(part) for part in parts
    )
