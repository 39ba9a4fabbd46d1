"""The words of the partner's report: how his rows fared, and his next steps.

The words are true for the counts: none, some or all of the rows went in. They name no command and no setting."""

from collections.abc import Mapping
from typing import Any

from syncd.languages import Language

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
    "replaced": "with a later row of the same reference number",
    "rejected": "not taken",
    "suppressed": "taken down by the board",
    "expired": "closed or past their closing date",
    "filtered": "not for this board",
    "archived": "jobs left the board",
}
#: Rows that are in: their jobs are as the rows say.
_IN = ("created", "updated", "reactivated", "unchanged")
_LEFT_OUT = ("suppressed", "expired", "filtered")
_NOTHING_TO_DO = "You need not do anything."


def of(report: Mapping[str, Any], say: Language) -> tuple[str, str, list[str]]:
    """Return the tone (a class of the style sheet), the headline, and the next steps, a sentence each."""
    words_of = _STATES.get(report["state"])
    return (
        words_of(report, say) if words_of is not None else ("calm", say("This file is being worked on"), [])
    )


def counts(report: Mapping[str, Any], say: Language) -> dict[str, int]:
    """Return the words and the number of each count that is not 0."""
    numbers, whole = report["counts"], report["state"] != "failed"
    return {
        say(words): numbers[name]
        for name, words in _COUNTS.items()
        if numbers.get(name) or (whole and name == "read")
    }


def _rows(report: Mapping[str, Any], say: Language) -> str:
    """Return the result in words: ``110 of 120 rows went in, 10 were not taken``."""
    numbers = report["counts"]
    read, refused = numbers["read"], numbers["rejected"]
    inside = sum(numbers.get(name, 0) for name in _IN)
    left = sum(numbers.get(name, 0) for name in _LEFT_OUT)
    if not read:
        return say("The file had no rows")
    if inside == read:
        return say.count("The one row went in", "All {number} rows went in", read)
    if refused == read:
        return say.count("The one row was not taken", "None of the {number} rows went in", read)
    parts = [
        say.count(
            "{inside} of {number} row went in",
            "{inside} of {number} rows went in",
            read,
            inside=say.number(inside),
        )
    ]
    parts += [say.count("{number} was not taken", "{number} were not taken", refused)] if refused else []
    parts += [say.count("{number} was left out", "{number} were left out", left)] if left else []
    if replaced := numbers.get("replaced"):
        one = "{number} has a later row with the same reference number, which counts"
        many = "{number} have a later row with the same reference number, which counts"
        parts.append(say.count(one, many, replaced))
    return ", ".join(parts)


def _applied(report: Mapping[str, Any], say: Language) -> tuple[str, str, list[str]]:
    refused, read = report["counts"]["rejected"], report["counts"]["read"]
    tone = "good" if not refused and report["withheld"] is None else "bad" if refused == read else "warn"
    stay = "Jobs that are not in this file stay on the board, because it may not be whole. Send the whole file; it decides."
    withheld = [say(stay)] if report["withheld"] is not None else []
    steps = [*withheld, *_correct(report, say)] if refused else withheld or [say(_NOTHING_TO_DO)]
    return tone, _rows(report, say), steps


def _correct(report: Mapping[str, Any], say: Language) -> list[str]:
    """Return the next steps for rejected rows."""
    kept = say("The jobs of rows that were not taken stay as they were.")
    if report["rejectedFile"] is None:
        return [kept, say("Correct these rows in your system and send the file again.")]
    beside = "The rows that were not taken are in the file {file} beside this page, each with what is wrong."
    correct = (
        "Correct them there and send that file under any name: it only adds and changes jobs. Or correct them in your system;"
        " your next file has them then."
    )
    return [kept, say(beside, file=report["rejectedFile"]), say(correct)]


def _held(report: Mapping[str, Any], say: Language) -> tuple[str, str, list[str]]:
    refused = report["counts"]["rejected"]
    if report["holds"] == "archive":
        stay = "Jobs that this file would take off the board are still there until somebody at the job board has looked."
        again = say("Another file can be sent at any time; it takes the place of this one.")
        headline = say("{rows}; the rest of the file is being looked at", rows=_rows(report, say))
        if not report["counts"]["read"]:
            headline = say("The file had no rows and is being looked at")
        return "wait", headline, [say(stay), *(_correct(report, say) if refused else []), again]
    waits = "Nothing of it has gone in yet: somebody at the job board looks at it first. Your jobs stay as they are."
    whole = say("If your files have all of your jobs each time, the next one takes the place of this one.")
    steps = _correct(report, say)[1:] if refused else []
    return "wait", say("Your file is being looked at"), [say(waits), *steps, whole]


def _failed(report: Mapping[str, Any], say: Language) -> tuple[str, str, list[str]]:
    headline, step = (
        "Nothing of this file could be used",
        "Correct what is wrong and send the whole file again.",
    )
    if report["reason"] is None:
        headline, step = "The file could not be processed", "Send it again, or ask the job board about it."
    return "bad", say(headline), [say("Your jobs stay as they were."), say(step)]


def _rejected(report: Mapping[str, Any], say: Language) -> tuple[str, str, list[str]]:
    again = say("Send a corrected file, or ask the job board about it.")
    if report["holds"] == "archive":
        stay = say("Jobs that it would have taken off the board stay.")
        return (
            "calm",
            say("{rows}; the rest of the file was declined", rows=_rows(report, say)),
            [stay, again],
        )
    return (
        "calm",
        say("Your file was looked at and declined"),
        [say("Nothing of it went in; your jobs stay."), again],
    )


def _superseded(report: Mapping[str, Any], say: Language) -> tuple[str, str, list[str]]:
    headline = say("Not used: a newer file took its place")
    if report["holds"] == "archive":
        headline = say("{rows}; a newer file took its place", rows=_rows(report, say))
    return "calm", headline, [say(_NOTHING_TO_DO)]


def _unchanged(report: Mapping[str, Any], say: Language) -> tuple[str, str, list[str]]:
    return "good", say("The same file as last time: there was nothing to do"), [say(_NOTHING_TO_DO)]


_STATES = {
    "succeeded": _applied,
    "partial": _applied,
    "held": _held,
    "failed": _failed,
    "rejected": _rejected,
    "superseded": _superseded,
    "unchanged": _unchanged,
}
