"""The two reports beside a run's file, as JSON and as a page (docs/reconciliation.md "After a run").

The page has no script, loads nothing from another address, and every value of the file is escaped. Its headline and the next
steps are from ``sentences``, all other words from ``templates/report.html.j2``."""

import os
import re
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from syncd.domain import RunState
from syncd.errors import Problem, UnusableFolder, shared_problem
from syncd.languages import Language
from syncd.store import Store, Tx, runs
from syncd.sync import files, folders
from syncd.sync.report import sentences
from syncd.sync.report.kinds import Kind, Kinds
from syncd.sync.report.letter import Letter, letter_of
from syncd.sync.report.reports import partner_report, write_json
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
#: Sentences or values of one kind in its heading; rows that a remark names.
MAX_CAUSES, MAX_ROWS_NAMED = 6, 10
_UNITS = ("bytes", "KB", "MB", "GB", "TB")


@dataclass(slots=True)
class _Group:
    """A kind of problem and the first of its rows. ``column`` is the partner's name of the field, if it is known, and ``field``
    that of the service; ``lines`` are sentences, the values that they are about among them; ``one``: it is one sentence."""

    kind: Kind
    rows: list[dict[str, Any]]
    column: str | None = None
    field: str = ""
    lines: Sequence[str] = ()
    one: bool = True


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
        return [_Group(kind, self._rows[id(kind)]) for kind in self.kinds.by_frequency()]


def render_html(report: Mapping[str, Any], letter: Letter, zone: tzinfo = UTC) -> str:
    """Return the page for a partner's report (``reports.partner_report``), whose iterators are read to the end. ``zone``: of its
    times."""
    say, reason = letter.say, report["reason"]
    tone, headline, next_steps = sentences.outcome(report, say)
    if reason is not None and report["state"] == RunState.FAILED:
        reason = sentences.file_fault(letter, reason)
    elif report["shape"]["gone"]:
        reason = _shape(report["shape"], say)
    errors = _errors(report["rejectedRows"], letter)
    unknown = [
        (letter.column(f"/{name}") or letter.field(f"/{name}"), values)
        for name, values in report["unknownValues"].items()
    ]
    remarks = _remarks(report["warnings"], letter)
    changes = _changes(report["changes"], letter)
    return rendered(
        "report.html.j2",
        run=report,
        say=say,
        tone=tone,
        headline=headline,
        reason=reason,
        next_steps=next_steps,
        ended=_when(report["endedAt"], zone, say),
        taken=_when(report["claimedAt"], zone, say),
        size=size(report["size"]) if say.name == "en" else _french_size(report["size"]),
        errors=errors,
        unknown=unknown,
        going=report["wouldArchive"],
        max_going=MAX_GOING,
        remarks=remarks,
        changes=changes,
        listed_changes=sum(number for _, _, number in changes),
        counts=sentences.counts(report, say),
    )


def _shape(shape: Mapping[str, Sequence[str]], say: Language) -> str:
    """Return the sentence about names that are gone from a file, and new ones."""
    gone = say(
        "These names of columns were in your last file and are gone: {names}.", names=", ".join(shape["gone"])
    )
    new = say("New in it: {names}.", names=", ".join(shape["new"])) if shape["new"] else ""
    return f"{gone} {new}".rstrip()


def _errors(rows: Iterable[dict[str, Any]], letter: Letter) -> list[_Group]:
    """Return the rejected rows by field and code of a problem. A row with several problems is in several groups."""
    groups = _Groups()
    for row in rows:
        # two that are the same in words are one
        distinct = dict.fromkeys(
            shared_problem(pointer, code, sentences.problem(letter, pointer, code, detail), value)
            for pointer, code, detail, value in (error.values() for error in row["errors"])
        )
        problems = [*distinct]
        by_kind: dict[int, tuple[Kind, list[Problem]]] = {}
        for kind, problem in groups.kinds.add_errors(row["record"], problems):
            by_kind.setdefault(id(kind), (kind, []))[1].append(problem)
        for kind, own in by_kind.values():
            groups.keep(kind, row | {"problems": own})
    listed = groups.most_frequent_first()
    for group in listed:
        pointer = group.kind.pointer
        group.column, group.field = letter.column(pointer), letter.field(pointer)
        texts = Counter[str]()
        for (text, _), number in group.kind.causes.items():
            texts[text] += number
        group.one = len(texts) == 1
        number_of = letter.say.number
        group.lines = [
            text if group.one else f"{number_of(n)} × {text}" for text, n in texts.most_common(MAX_CAUSES)
        ]
        if group.one:
            values = [(value, n) for (_, value), n in group.kind.causes.most_common(MAX_CAUSES) if value]
            shown = [
                letter.say("“{value}” {number} ×", value=value, number=number_of(n)) for value, n in values
            ]
            group.lines += [", ".join(shown)] if shown else []
    return listed


def _remarks(warnings: Iterable[dict[str, Any]], letter: Letter) -> list[str]:
    """Return a line for the warnings of each sentence: how often, and the first rows that they are about."""
    rows: defaultdict[str, list[object]] = defaultdict(list)
    for warning in warnings:
        rows[sentences.remark(letter, warning["code"])].append(warning["record"])
    say, lines = letter.say, []
    for sentence, records in sorted(rows.items(), key=lambda item: -len(item[1])):
        first = [str(record) for record in records[:MAX_ROWS_NAMED] if record]
        line = f"{say.number(len(records))} × {sentence}"
        if first and len(records) <= MAX_ROWS_NAMED:
            line += " " + say("Rows: {rows}.", rows=", ".join(first))
        lines.append(line)
    return lines


def _changes(
    rows: Iterable[dict[str, Any]], letter: Letter
) -> list[tuple[str, list[tuple[object, list[str]]], int]]:
    """Return the changes by action: its heading, the first of them with the names of their fields, and their number."""
    groups = _Groups()
    for row in rows:
        groups.keep(groups.kinds.add_warning(row["action"], ""), row)
    return [
        (
            letter.say(sentences.ACTIONS.get(group.kind.code, "Changed jobs")),
            [
                (row["referenceId"], [letter.column(f"/{name}") or name for name in map(str, row["fields"])])
                for row in group.rows
            ],
            group.kind.rows,
        )
        for group in groups.most_frequent_first()
    ]


def size(number: float) -> str:
    """Return a number of bytes as people read it."""
    for unit in _UNITS:
        if number < 1000 or unit == _UNITS[-1]:
            return f"{number:.0f} {unit}" if unit == "bytes" or number >= 100 else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError("the last unit has no limit")


def _french_size(number: float) -> str:
    amount, _, unit = size(number).partition(" ")
    return f"{amount.replace('.', ',')} {'octets' if unit == 'bytes' else unit.replace('B', 'o')}"


def _when(instant: str | None, zone: tzinfo, say: Language) -> str:
    return local_time(datetime.fromisoformat(instant), zone) if instant else say("not yet")


def rendered(template: str, **values: Any) -> str:
    return _ENV.get_template(template).render(**values)


@cache
def stylesheet() -> str:
    """Return the stylesheet of reports and of the operator's pages."""
    return (_TEMPLATES / "style.css").read_text("utf-8")


@cache
def style_source() -> str:
    """Return the stylesheet's hash, by which the Content-Security-Policy of a page allows it and no other."""
    return f"'sha256-{b64encode(sha256(stylesheet().encode()).digest()).decode()}'"


_ENV.globals.update(style_source=style_source(), stylesheet=Markup(stylesheet()))  # noqa: S704 - a file of ours


# -- files ----------------------------------------------------------------------------------------------------


def written_reports(store: Store, run_id: int, rejected_file: str | None = None) -> dict[str, files.Content]:
    """Return, by the ending that each report's name adds to the file's, the function that writes the report: it raises
    NotFound, StoreError and OSError. ``rejected_file``: the name of the file of rejected records beside them."""
    return {
        ".report.json": lambda file: store.read(
            lambda tx: write_json(partner_report(tx, run_id, rejected_file), file.write, lines=True)
        ),
        ".report.html": lambda file: store.read(lambda tx: write_page(tx, run_id, rejected_file, file)),
    }


def write_page(tx: Tx, run_id: int, rejected_file: str | None, file: IO[bytes]) -> None:
    """Write the partner's report as a page. Raises NotFound."""
    report = partner_report(tx, run_id, rejected_file)
    file.write(render_html(report, letter_of(tx, report["feed"]), tx.now.zone).encode("utf-8", "replace"))


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
                        if files.is_own_file(target, name + suffix):
                            with suppress(FileExistsError):
                                files.place_report(private, content, target, name + suffix)
