"""The two reports beside a run's file, as JSON and as a page (docs/reconciliation.md "After a run").

The page has no script, loads nothing from another address, and every value of the file is escaped. Its headline and the next
steps are from ``words``, all other words from ``templates/report.html.j2``."""

import os
import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from syncd.errors import Problem, UnusableFolder, shared_problem
from syncd.store import Store, Tx, runs
from syncd.sync import files, folders
from syncd.sync.report.files import words
from syncd.sync.report.kinds import Kind, Kinds
from syncd.sync.report.reports import for_partner, partner_report, write_json
from syncd.values import local_time

#: Rows of one kind on the page, and of all kinds of one list; the JSON report has all.
MAX_KIND_ROWS, MAX_LIST_ROWS = 1000, 10_000
#: Characters that change the direction of writing, that are invisible, or that control a terminal.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufffe\uffff]"
)


def visible(value: object) -> object:
    """Return text with such characters spelled out (``\\u202e``), and other values as they are."""
    if not isinstance(value, str) or (value.isascii() and value.isprintable()):
        return value
    shown = _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", value)
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

#: Jobs that would be archived on the page.
MAX_GOING = 500
#: Texts or values of one kind in its heading.
MAX_CAUSES = 6
_UNITS = ("bytes", "KB", "MB", "GB", "TB")


#: A kind, and the first of its rows.
_Group = tuple[Kind, list[dict[str, Any]]]


class _Groups:
    """Rows by kind. All together keep at most ``MAX_LIST_ROWS`` rows."""

    def __init__(self) -> None:
        self.kinds = Kinds()
        self._rows: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
        self._kept = 0

    def keep(self, kind: Kind, row: dict[str, Any]) -> None:
        rows = self._rows[id(kind)]
        if len(rows) < MAX_KIND_ROWS and self._kept < MAX_LIST_ROWS:
            rows.append(row)
            self._kept += 1

    def most_frequent_first(self) -> list[_Group]:
        return [(kind, self._rows[id(kind)]) for kind in self.kinds.by_frequency()]


def render_html(report: Mapping[str, Any], zone: tzinfo = UTC) -> str:
    """Return the page for a partner's report (``reports.partner_report``), whose iterators are read to the end. ``zone``: of its
    times."""
    tone, headline, next_steps = words.of(report)
    changes = _changes(report["changes"])
    return _ENV.get_template("report.html.j2").render(
        run=report,
        when=lambda at: local_time(datetime.fromisoformat(at), zone) if at else "not yet",
        tone=tone,
        headline=headline,
        next_steps=next_steps,
        errors=_errors(report["rejectedRows"]),
        going=report["wouldArchive"],
        max_going=MAX_GOING,
        max_causes=MAX_CAUSES,
        warnings=_warnings(report["warnings"]),
        changes=changes,
        actions=words.ACTIONS,
        listed_changes=sum(kind.rows for kind, _ in changes),
        counts=words.counts(report),
    )


def _errors(rows: Iterable[dict[str, Any]]) -> list[_Group]:
    """Return the rejected rows by field and code of a problem. A row with several problems is in several groups."""
    groups = _Groups()
    for row in rows:
        problems = [
            shared_problem(error["pointer"], error["code"], for_partner(error["detail"]), error["value"])
            for error in row["errors"]
        ]
        by_kind: dict[int, tuple[Kind, list[Problem]]] = {}
        for kind, problem in groups.kinds.add_errors(row["record"], problems):
            by_kind.setdefault(id(kind), (kind, []))[1].append(problem)
        for kind, own in by_kind.values():
            groups.keep(kind, row | {"problems": own})
    return groups.most_frequent_first()


def _warnings(rows: Iterable[dict[str, Any]]) -> list[_Group]:
    groups = _Groups()
    for row in rows:
        detail = for_partner(row["detail"])
        kind = groups.kinds.add_warning(row["code"], detail, row["record"])
        groups.keep(kind, row | {"detail": detail})
    return groups.most_frequent_first()


def _changes(rows: Iterable[dict[str, Any]]) -> list[_Group]:
    """Return the changes by action."""
    groups = _Groups()
    for row in rows:
        groups.keep(groups.kinds.add_warning(row["action"], ""), row)
    return groups.most_frequent_first()


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


@cache
def stylesheet() -> str:
    """Return the stylesheet of reports and of the operator's pages."""
    return (_TEMPLATES / "style.css").read_text("utf-8")


@cache
def style_source() -> str:
    """Return the stylesheet's hash, by which the Content-Security-Policy of a page allows it and no other."""
    return f"'sha256-{b64encode(sha256(stylesheet().encode()).digest()).decode()}'"


_ENV.globals.update(style_source=style_source(), stylesheet=Markup(stylesheet()))  # noqa: S704 - a file of ours
_ENV.filters.update(thousands="{:,}".format, size=size, field=_field)


# -- files ----------------------------------------------------------------------------------------------------


def written_reports(store: Store, run_id: int, rejected_file: str | None = None) -> dict[str, files.Content]:
    """Return, by the ending that each report's name adds to the file's, the function that writes the report: it raises
    NotFound, StoreError and OSError. ``rejected_file``: the name of the file of rejected records beside them."""

    def write_data(file: IO[bytes]) -> None:
        store.read(lambda tx: write_json(partner_report(tx, run_id, rejected_file), file.write, lines=True))

    def write_html(file: IO[bytes]) -> None:
        store.read(lambda tx: write_page(tx, run_id, rejected_file, file))

    return {".report.json": write_data, ".report.html": write_html}


def write_page(tx: Tx, run_id: int, rejected_file: str | None, file: IO[bytes]) -> None:
    """Write the partner's report as a page. Raises NotFound."""
    file.write(render_html(partner_report(tx, run_id, rejected_file), tx.now.zone).encode("utf-8", "replace"))


def refresh_reports(store: Store, folder: Path, run_id: int) -> None:
    """Write the reports of a filed run again, since its state has changed. ``folder`` is DROP/FEED. Reports that are gone
    or are not syncd's own are left alone, and so are all in a folder that cannot be used. Raises NotFound, OSError."""
    file = store.read(lambda tx: runs.get(tx, run_id)).file
    for sub in (folders.DONE, folders.FAILED):
        with (
            suppress(FileNotFoundError, UnusableFolder),
            folders.open_subfolder(folder, sub) as target,
            folders.ensure_subfolder(folder, folders.CLAIMED) as private,
            folders.moving_to(folder / sub),
        ):
            there = os.listdir(target)
            for name in there:
                if files.is_filed_as(name, run_id, file):
                    rejected = files.rejected_beside(name, there)
                    reports = written_reports(store, run_id, name + rejected if rejected else None)
                    for suffix, content in reports.items():
                        files.replace_own_file(private, content, target, name + suffix)
