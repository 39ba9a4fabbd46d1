"""A report as a page: no script, nothing loaded from another address, every value of the file escaped.

The page shows the data of ``reports.report``; ``templates/report.html.j2`` has its words and style."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from syncd.feeds.mapping import ROWS_HINT

#: The most rows of one kind on the page; the JSON report has more.
PER_KIND = 1000
#: Characters that change the direction of writing, that are invisible, or that control a terminal.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufffe\uffff]"
)


def visible(value: object) -> object:
    """Return text with such characters spelled out (``\\u202e``), and other values as they are."""
    if not isinstance(value, str) or (value.isascii() and value.isprintable()):
        return value
    shown = _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", value)
    return type(value)(shown)


_ENV = Environment(
    finalize=visible,
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)

#: State → (tone, headline). The tone is a class of the style sheet.
_STATES = {
    "claimed": ("wait", "The file is about to be read"),
    "reading": ("wait", "The file is being read"),
    "applying": ("wait", "The rows are being written"),
    "archiving": ("wait", "Jobs that are no longer in the file are being archived"),
    "succeeded": ("good", "Every row went in"),
    "partial": ("warn", "Some rows were rejected; all others went in"),
    "failed": ("bad", "Nothing of this file could be used"),
    "unchanged": ("good", "The same file as last time: there was nothing to do"),
    "superseded": ("calm", "Not run: a newer file took its place"),
    "rejected": ("calm", "Declined by a person"),
}
_HELD = {
    "archive": ("wait", "The rows went in; archiving waits for your decision"),
    "all": ("wait", "Nothing was applied: the whole file waits for your decision"),
}
#: The most jobs that would be archived on the page.
LISTED = 500
_UNITS = ("bytes", "KB", "MB", "GB", "TB")


@dataclass(slots=True)
class Group:
    """Rows, warnings or changes of one kind. ``example`` is the problem of the first; ``rows`` has the first of
    ``count``."""

    title: str
    code: str
    example: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    count: int = 0

    def add(self, row: dict[str, Any]) -> None:
        self.count += 1
        if self.count <= PER_KIND:
            self.rows.append(row)


def render_html(report: Mapping[str, Any]) -> str:
    """Return the page for a report (``reports.report``)."""
    tone, headline = _headline(report)
    return _ENV.get_template("report.html.j2").render(
        run=report,
        tone=tone,
        headline=headline,
        errors=_most_frequent_first(_errors(report["rejectedRows"])),
        going=_going(report["wouldArchive"]),
        warnings=_most_frequent_first(
            _grouped(report["warnings"], lambda row: (row["code"], row["code"], row["detail"]))
        ),
        changes=_grouped(report["changes"], lambda row: (row["action"], row["action"], "")),
        counts={name: number for name, number in report["counts"].items() if number or name == "read"},
        changed=sum(report["counts"][name] for name in ("created", "updated", "reactivated", "archived")),
    )


def _headline(report: Mapping[str, Any]) -> tuple[str, str]:
    if report["state"] == "held":
        return _HELD[report["holds"] or "all"]
    return _STATES.get(report["state"], ("calm", str(report["state"])))


def _going(would_archive: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the first jobs that would be archived, and how many more there are; None if there are none."""
    if not would_archive or not would_archive["total"]:
        return None
    shown = would_archive["jobs"][:LISTED]
    total = would_archive["total"]
    return {"total": total, "jobs": shown, "more": total - len(shown)}


def _errors(rows: list[dict[str, Any]]) -> list[Group]:
    """Return the rejected rows by field and code of a problem. A row with several problems is in several groups."""
    found = ({**row, "error": _for_partner(error)} for row in rows for error in row["errors"])
    return _grouped(
        found, lambda row: (_field(row["error"]["pointer"]), row["error"]["code"], row["error"]["detail"])
    )


def _for_partner(error: dict[str, Any]) -> dict[str, Any]:
    """Return an error without what only the operator can do about it."""
    return {**error, "detail": error["detail"].removesuffix(ROWS_HINT)}


def _grouped(
    rows: Iterable[dict[str, Any]], kind: Callable[[dict[str, Any]], tuple[str, str, str]]
) -> list[Group]:
    """Return the rows by title and code, which ``kind`` gives with an example. Groups are in the order of their first
    rows."""
    groups: dict[tuple[str, str], Group] = {}
    for row in rows:
        title, code, example = kind(row)
        groups.setdefault((title, code), Group(title, code, example)).add(row)
    return list(groups.values())


def _most_frequent_first(groups: list[Group]) -> list[Group]:
    return sorted(groups, key=lambda group: -group.count)


def _field(pointer: str) -> str:
    """Return the field of a pointer without positions: ``/locations/0/description`` → ``locations › description``."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    return " › ".join(step for step in steps if not step.isdigit()) or "whole record"


def _thousands(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _size(number: float) -> str:
    for unit in _UNITS:
        if number < 1000 or unit == _UNITS[-1]:
            return f"{number:.0f} {unit}" if unit == "bytes" or number >= 100 else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError("the last unit has no limit")


def _when(instant: str | None) -> str:
    return instant.replace("T", " ").replace("Z", " UTC") if instant else "not yet"


_ENV.filters.update(thousands=_thousands, size=_size, when=_when)
