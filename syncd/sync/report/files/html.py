"""The partner's report as a page: no script, nothing loaded from another address, every value of the file escaped.

The page shows the data of ``reports.partner_report``. ``words`` says what happened and what to do next,
``templates/report.html.j2`` has the style and all other words."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from syncd.errors import Problem, shared_problem
from syncd.sync.report.files import words
from syncd.sync.report.kinds import Kind, Kinds
from syncd.sync.report.reports import for_partner

#: The most rows of one kind on the page; the JSON report has all.
PER_KIND = 1000
#: The most rows of all kinds of one list.
PER_LIST = 10_000
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


_TEMPLATES = Path(__file__).parent / "templates"
_ENV = Environment(
    finalize=visible,
    loader=FileSystemLoader(_TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)

#: The most jobs that would be archived on the page.
LISTED = 500
#: The most texts or values of one kind in its heading.
CAUSES = 6
_UNITS = ("bytes", "KB", "MB", "GB", "TB")


@dataclass(slots=True)
class Group:
    """Rows of one kind: the first of them, and how many there are."""

    title: str
    code: str = ""
    kind: Kind | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    count: int = 0

    @property
    def causes(self) -> list[str]:
        return self.kind.described(CAUSES) if self.kind is not None else []


class _Groups:
    """Groups by key, in the order of their first rows. All together keep at most ``PER_LIST`` rows."""

    def __init__(self) -> None:
        self._groups: dict[object, Group] = {}
        self._kept = 0

    def add(self, key: object, new: Callable[[], Group], row: Callable[[], dict[str, Any]]) -> None:
        """Add a row to the group of ``key``, which is made by ``new`` if there is none yet; ``row`` makes a row that is kept."""
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = new()
        group.count += 1
        if group.count <= PER_KIND and self._kept < PER_LIST:
            group.rows.append(row())
            self._kept += 1

    def all(self) -> list[Group]:
        return list(self._groups.values())


def render_html(report: Mapping[str, Any]) -> str:
    """Return the page for a partner's report (``reports.partner_report``), whose iterators are read to the end."""
    tone, headline, next_steps = words.of(report)
    changes = _changes(report["changes"])
    return _ENV.get_template("report.html.j2").render(
        run=report,
        tone=tone,
        headline=headline,
        next_steps=next_steps,
        errors=_errors(report["rejectedRows"]),
        going=_going(report["wouldArchive"]),
        warnings=_warnings(report["warnings"]),
        changes=changes,
        listed_changes=sum(group.count for group in changes),
        counts=words.counts(report),
    )


def _going(would_archive: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the first jobs that would be archived, and how many more there are; None if there are none."""
    if not would_archive or not would_archive["total"]:
        return None
    shown = would_archive["jobs"][:LISTED]
    total = would_archive["total"]
    return {"total": total, "jobs": shown, "more": total - len(shown)}


def _errors(rows: Iterable[dict[str, Any]]) -> list[Group]:
    """Return the rejected rows by field and code of a problem. A row with several problems is in several groups."""
    kinds, page = Kinds(), _Groups()
    for row in rows:
        problems = [
            shared_problem(error["pointer"], error["code"], for_partner(error["detail"]), error["value"])
            for error in row["errors"]
        ]
        found: dict[int, tuple[Kind, list[Problem]]] = {}
        for kind, problem in kinds.add_errors(row["record"], problems):
            found.setdefault(id(kind), (kind, []))[1].append(problem)
        for key, (kind, own) in found.items():
            page.add(key, partial(_error_group, kind), partial(dict, row, problems=own))
    return _most_frequent_first(page.all())


def _error_group(kind: Kind) -> Group:
    return Group(_field(kind.pointer), kind.code, kind)


def _warnings(rows: Iterable[dict[str, Any]]) -> list[Group]:
    kinds, page = Kinds(), _Groups()
    for row in rows:
        detail = for_partner(row["detail"])
        kind = kinds.add_warning(row["code"], detail, row["record"])
        page.add(id(kind), partial(Group, kind.code, kind.code, kind), partial(dict, row, detail=detail))
    return _most_frequent_first(page.all())


def _changes(rows: Iterable[dict[str, Any]]) -> list[Group]:
    """Return the changes by action."""
    page = _Groups()
    for row in rows:
        action = row["action"]
        page.add(action, partial(Group, words.ACTIONS.get(action, action)), partial(dict, row))
    return page.all()


def _most_frequent_first(groups: list[Group]) -> list[Group]:
    return sorted(groups, key=lambda group: -group.count)


def _field(pointer: str) -> str:
    """Return the field of a pointer without positions: ``/locations/description`` → ``locations › description``."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    return " › ".join(step for step in steps if step) or "whole record"


def size(number: float) -> str:
    """Return a number of bytes as people read it."""
    for unit in _UNITS:
        if number < 1000 or unit == _UNITS[-1]:
            return f"{number:.0f} {unit}" if unit == "bytes" or number >= 100 else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError("the last unit has no limit")


def _when(instant: str | None) -> str:
    return instant.replace("T", " ").replace("Z", " UTC") if instant else "not yet"


@cache
def stylesheet() -> str:
    """Return the stylesheet of reports and of the operator's pages."""
    return (_TEMPLATES / "style.css").read_text("utf-8")


@cache
def style_source() -> str:
    """Return what allows a page that has the stylesheet inside it to use it, and no other: its hash, as a
    Content-Security-Policy names it."""
    return f"'sha256-{b64encode(sha256(stylesheet().encode()).digest()).decode()}'"


_ENV.globals.update(style_source=style_source(), stylesheet=Markup(stylesheet()))  # noqa: S704 - a file of ours
_ENV.filters.update(thousands="{:,}".format, size=size, when=_when)
