"""The words of the partner's report: how his rows fared, and his next steps.

The words are true for the counts: none, some or all of the rows went in. They name no command and no setting."""

from collections.abc import Mapping
from typing import Any

from syncd.values import plural

#: Action of a change → heading of its list.
ACTIONS = {
    "created": "New jobs",
    "updated": "Changed jobs",
    "reactivated": "Jobs that are back",
    "archived": "Jobs that left the board",
}
#: Count → its words. ``missing`` and ``warnings`` are said elsewhere.
_COUNTS = {
    "read": "rows read",
    "created": "new jobs",
    "updated": "jobs changed",
    "reactivated": "jobs back",
    "unchanged": "as before",
    "replaced": "with a later row of the same id",
    "rejected": "not taken",
    "suppressed": "taken down by the board",
    "expired": "closed or past their close date",
    "filtered": "not for this board",
    "archived": "jobs left the board",
}
#: Rows that are in: their jobs are as the rows say.
_IN = ("created", "updated", "reactivated", "unchanged")
_LEFT_OUT = ("suppressed", "expired", "filtered")
_NOTHING_TO_DO = "You need not do anything."


def of(report: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    """Return the tone (a class of the style sheet), the headline, and the next steps, a sentence each."""
    say = _STATES.get(report["state"])
    return say(report) if say is not None else ("calm", "This file is being worked on", [])


def counts(report: Mapping[str, Any]) -> dict[str, int]:
    """Return the words and the number of each count that is not 0."""
    numbers, whole = report["counts"], report["state"] != "failed"
    return {
        words: numbers[name]
        for name, words in _COUNTS.items()
        if numbers.get(name) or (whole and name == "read")
    }


def _rows(report: Mapping[str, Any]) -> str:
    """Return the result in words: ``110 of 120 rows went in, 10 were not taken``."""
    numbers = report["counts"]
    read, refused = numbers["read"], numbers["rejected"]
    inside = sum(numbers.get(name, 0) for name in _IN)
    left = sum(numbers.get(name, 0) for name in _LEFT_OUT)
    if not read:
        return "The file had no rows"
    if inside == read:
        return "The one row went in" if read == 1 else f"All {read:,} rows went in"
    if refused == read:
        return "The one row was not taken" if read == 1 else f"None of the {read:,} rows went in"
    parts = [f"{inside:,} of {plural(read, 'row')} went in"]
    parts += [f"{refused:,} {'was' if refused == 1 else 'were'} not taken"] if refused else []
    parts += [f"{left:,} {'was' if left == 1 else 'were'} left out"] if left else []
    if replaced := numbers.get("replaced"):
        parts.append(
            f"{replaced:,} {'has' if replaced == 1 else 'have'} a later row with the same id, which counts"
        )
    return ", ".join(parts)


def _applied(report: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    refused, read = report["counts"]["rejected"], report["counts"]["read"]
    tone = "good" if not refused and report["withheld"] is None else "bad" if refused == read else "warn"
    withheld = _not_archived(report)
    steps = [*withheld, *_correct(report)] if refused else withheld or [_NOTHING_TO_DO]
    return tone, _rows(report), steps


def _not_archived(report: Mapping[str, Any]) -> list[str]:
    if report["withheld"] is None:
        return []
    stay = "Jobs that are not in this file stay on the board"
    return [f"{stay}, because it may not be whole: {report['withheld']}. Send the whole file; it decides."]


def _correct(report: Mapping[str, Any]) -> list[str]:
    """Return the next steps for rejected rows."""
    kept = "The jobs of rows that were not taken stay as they were."
    if report["rejectedFile"] is None:
        return [kept, "Correct these rows in your system and send the file again."]
    return [
        kept,
        f"The rows that were not taken are in the file {report['rejectedFile']} beside this page, each with what is wrong.",
        "Correct them there and send that file under any name: it only adds and changes jobs. Or correct them in your"
        " system; your next file has them then.",
    ]


def _held(report: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    again = "Another file can be sent at any time; it takes the place of this one."
    whole = "If your files have all of your jobs each time, the next one takes the place of this one."
    refused = report["counts"]["rejected"]
    if report["holds"] == "archive":
        stay = "Jobs that this file would take off the board are still there until somebody at the job board has looked."
        headline = f"{_rows(report)}; the rest of the file is being looked at"
        if not report["counts"]["read"]:
            headline = "The file had no rows and is being looked at"
        return "wait", headline, [stay, *(_correct(report) if refused else []), again]
    waits = "Nothing of it has gone in yet: somebody at the job board looks at it first. Your jobs stay as they are."
    steps = _correct(report)[1:] if refused else []
    return "wait", "Your file is being looked at", [waits, *steps, whole]


def _failed(report: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    headline, step = (
        "Nothing of this file could be used",
        "Correct what is wrong and send the whole file again.",
    )
    if report["reason"] is None:
        headline, step = "The file could not be processed", "Send it again, or ask the job board about it."
    return "bad", headline, ["Your jobs stay as they were.", step]


def _rejected(report: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    again = "Send a corrected file, or ask the job board about it."
    if report["holds"] == "archive":
        stay = "Jobs that it would have taken off the board stay."
        return "calm", f"{_rows(report)}; the rest of the file was declined", [stay, again]
    return "calm", "Your file was looked at and declined", ["Nothing of it went in; your jobs stay.", again]


def _superseded(report: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    if report["holds"] == "archive":
        return "calm", f"{_rows(report)}; a newer file took its place", [_NOTHING_TO_DO]
    return "calm", "Not used: a newer file took its place", [_NOTHING_TO_DO]


def _unchanged(report: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    return "good", "The same file as last time: there was nothing to do", [_NOTHING_TO_DO]


_STATES = {
    "succeeded": _applied,
    "partial": _applied,
    "held": _held,
    "failed": _failed,
    "rejected": _rejected,
    "superseded": _superseded,
    "unchanged": _unchanged,
}
