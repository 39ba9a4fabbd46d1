"""The navigation: one row for each page that stands in it, in order."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """``path`` is below the prefix; a page whose path begins with it is in this section."""

    path: str
    label: str


NAVIGATION = (
    Entry("/", "Overview"),
    Entry("/runs", "Runs"),
    Entry("/jobs", "Jobs"),
    Entry("/employers", "Employers"),
    Entry("/preview", "Preview"),
    Entry("/service", "Service"),
)


def section_of(path: str) -> str:
    """Return the path of the entry that a page belongs to, "" if it is in none. A feed is reached from the overview."""
    if path.startswith("/feeds/"):
        return "/"
    inside = [entry.path for entry in NAVIGATION if path == entry.path or path.startswith(entry.path + "/")]
    return max(inside, key=len, default="")
